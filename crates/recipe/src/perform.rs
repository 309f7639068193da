//! Performing: files first and all at once, then commands; and everything back when one fails.

mod execute;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use workspace::{Change, ChangeSet, RelPath, Root};

use crate::conflict::Conflict;
use crate::effect::{Command, Run, Write};
use crate::error::{Error, Kind};
use crate::host::{Decision, Event, Host};
use crate::request::Request;
use crate::unfinished::{RunJournal, Unfinished, remove_empty};

/// Whether recipes from outside the project may run commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    #[default]
    Asked,
    Given,
}

/// Which recipes of the project itself may run commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OwnRecipes {
    /// All of them: the project is the user's own, or trusted.
    #[default]
    Trusted,
    /// Those with these manifests.
    Only(BTreeSet<String>),
}

impl OwnRecipes {
    pub(crate) fn allow(&self, command: &Command) -> bool {
        match self {
            Self::Trusted => true,
            Self::Only(files) => command.outside || files.contains(&command.file),
        }
    }
}

/// What a command gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandResult {
    pub(crate) exit_code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command that ran, for the report.
#[derive(Clone, Debug, Serialize)]
pub struct CommandReport {
    pub step: String,
    pub command: String,
    /// Absent when it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub succeeded: bool,
    pub duration_ms: u64,
}

/// Does what was decided, and remembers how to put files back.
pub(crate) struct Performer<'h> {
    root: &'h Root,
    host: &'h mut dyn Host,
    trust: Trust,
    own: OwnRecipes,
    cancel: Option<exec::Cancel>,
    journal: RunJournal<'h>,
    /// The writer whose lock this run holds, for commands that run drawloom again.
    token: String,
    results: HashMap<usize, CommandResult>,
    reports: Vec<CommandReport>,
    originals: BTreeMap<RelPath, Option<Vec<u8>>>,
    made: Vec<RelPath>,
}

impl<'h> Performer<'h> {
    pub(crate) fn new(
        root: &'h Root,
        host: &'h mut dyn Host,
        request: &Request,
        journal: RunJournal<'h>,
    ) -> Self {
        Self {
            root,
            host,
            trust: request.trust,
            own: request.own_recipes.clone(),
            cancel: request.cancel.clone(),
            token: journal.token().to_owned(),
            journal,
            results: HashMap::new(),
            reports: Vec::new(),
            originals: BTreeMap::new(),
            made: Vec::new(),
        }
    }

    /// Knows how to put back what an earlier process of the same run has written.
    pub(crate) fn take_over(&mut self, unfinished: &Unfinished, token: &str) {
        self.originals = unfinished.originals();
        self.made = unfinished.directories().to_vec();
        token.clone_into(&mut self.token);
    }

    /// Applies the files, then runs the commands.
    pub(crate) fn perform(&mut self, changes: &ChangeSet, runs: &[Run]) -> Result<(), Error> {
        let commands = || runs.iter().flat_map(Run::commands);
        check_trust(commands().filter_map(Guarded::command), self.trust)?;
        check_own(commands(), &self.own)?;
        // Without commands nothing can fail after the files, which are written together or not at all.
        if !runs.is_empty() {
            self.keep_originals(changes)?;
            self.journal.plan(changes, &self.originals, runs)?;
        }
        self.apply(changes)?;
        if runs.is_empty() {
            return Ok(());
        }
        self.journal.applied(&self.made)?;
        self.run(runs)
    }

    /// Runs commands whose files are in place already.
    pub(crate) fn resume(&mut self, runs: &[Run]) -> Result<(), Error> {
        self.run(runs)
    }

    pub(crate) fn result(&self, command: usize) -> Option<&CommandResult> {
        self.results.get(&command)
    }

    pub(crate) fn resolve(&mut self, conflict: &Conflict) -> Option<Decision> {
        self.host.resolve(conflict)
    }

    /// Refuses a file that was not known when the plan was checked.
    pub(crate) fn check_write(&self, path: &RelPath, step: &str, why: &str) -> Result<(), Error> {
        let what = format!("write {path}: {why}");
        check_trust(std::iter::once(Guarded { what, step }), self.trust)
    }

    /// The run has come to its end: nothing is left to be settled.
    pub(crate) fn into_reports(mut self) -> Result<Vec<CommandReport>, Error> {
        self.journal.close()?;
        Ok(self.reports)
    }

    fn keep_originals(&mut self, changes: &ChangeSet) -> Result<(), Error> {
        for (path, change) in changes.iter() {
            let written = matches!(change, Change::Write { .. } | Change::Delete);
            if written && !self.originals.contains_key(path) {
                self.originals.insert(path.clone(), self.root.read(path)?);
            }
        }
        Ok(())
    }

    fn apply(&mut self, changes: &ChangeSet) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        let applied = self.root.apply(changes)?;
        self.made.extend(applied.directories.iter().cloned());
        let (created, changed) = (applied.created.len(), applied.replaced.len());
        self.host.event(Event::FilesApplied { created, changed });
        Ok(())
    }

    /// Puts every file back as it was before the run; says what could not be undone.
    pub(crate) fn roll_back(&mut self) -> String {
        let ran: Vec<String> = self
            .reports
            .iter()
            .map(|report| format!("`{}`", report.command))
            .collect();
        let put_back = self.put_back();
        let settled = put_back.and_then(|files| self.journal.close().map(|()| files));
        let undone = match settled {
            Ok(0) => "Nothing was changed.".to_owned(),
            Ok(files) => {
                self.host.event(Event::RolledBack { files });
                format!("All files are as before the run ({files} put back).")
            }
            Err(error) => format!("The files could not be put back: {error}."),
        };
        match ran.is_empty() {
            true => undone,
            false => format!(
                "{undone} What {} did otherwise cannot be undone.",
                ran.join(", ")
            ),
        }
    }

    fn put_back(&mut self) -> Result<usize, Error> {
        let mut changes = ChangeSet::new();
        let originals = std::mem::take(&mut self.originals);
        for (path, original) in originals {
            let current = self.root.read(&path)?;
            if current == original {
                continue;
            }
            changes.put(
                path,
                match original {
                    Some(bytes) => Change::Write {
                        bytes,
                        executable: false,
                    },
                    None => Change::Delete,
                },
            );
        }
        self.root.apply(&changes)?;
        remove_empty(self.root, std::mem::take(&mut self.made))?;
        Ok(changes.len())
    }
}

/// Something a recipe from outside needs trust for.
pub(crate) struct Guarded<'g> {
    what: String,
    step: &'g str,
}

impl<'g> Guarded<'g> {
    pub(crate) fn command(command: &'g Command) -> Option<Self> {
        let (what, step) = (command.what.line(), command.step.as_str());
        command.outside.then_some(Self { what, step })
    }

    pub(crate) fn write(write: &'g Write) -> Option<Self> {
        let why = write.needs_trust.as_ref()?;
        let (what, step) = (format!("write {}: {why}", write.path), write.step.as_str());
        Some(Self { what, step })
    }
}

/// Refuses commands of the project's own recipes that the user has not trusted.
pub(crate) fn check_own<'c>(
    mut commands: impl Iterator<Item = &'c Command>,
    own: &OwnRecipes,
) -> Result<(), Error> {
    let Some(command) = commands.find(|command| !own.allow(command)) else {
        return Ok(());
    };
    let message = format!(
        "the recipe `{}` has not been trusted, and wants to run `{}` (step `{}`)",
        command.file,
        command.what.line(),
        command.step
    );
    let error = Error::new(Kind::UntrustedOwn, message);
    Err(error.hint(format!(
        "look at it, then run `drawloom trust {}`, or use `--trust` once",
        command.file
    )))
}

/// Refuses what recipes from outside may not do before a person has trusted them, and lists it.
pub(crate) fn check_trust<'g>(
    guarded: impl Iterator<Item = Guarded<'g>>,
    trust: Trust,
) -> Result<(), Error> {
    if trust == Trust::Given {
        return Ok(());
    }
    let listed: Vec<String> = guarded
        .map(|guarded| format!("\n  {} (step `{}`)", guarded.what, guarded.step))
        .collect();
    if listed.is_empty() {
        return Ok(());
    }
    let message = format!(
        "this recipe is not part of the project and wants to run commands, or to write files that \
         run later:{}",
        listed.concat()
    );
    Err(Error::new(Kind::Untrusted, message)
        .hint("look at them, then run again with --trust to allow them"))
}
