//! Performing: files first and all at once, then commands; and everything back when one fails.

mod execute;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use workspace::{ChangeSet, PathChange, RelPath, Root};

use crate::conflict::FileConflict;
use crate::effect::{CommandTree, FileWrite, StepCommand};
use crate::error::{Error, RecipeErrorKind};
use crate::generation_record::RECORDS_DIR;
use crate::host::{ConflictDecision, RecipeEvent, RecipeHost};
use crate::request::RecipeRunRequest;
use crate::run_journal::{RunJournal, UnfinishedRun, remove_empty};

/// Decides if recipes from outside the project may run commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecipeTrust {
    #[default]
    Asked,
    Given,
}

/// The recipes of the project itself that may run commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OwnRecipes {
    /// All of them: the project is the user's own, or trusted.
    #[default]
    Trusted,
    /// Those with these manifests.
    Only(BTreeSet<String>),
}

impl OwnRecipes {
    pub(crate) fn allow(&self, command: &StepCommand) -> bool {
        match self {
            Self::Trusted => true,
            Self::Only(files) => command.outside || files.contains(&command.file),
        }
    }
}

/// Result of a command.
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

/// Performs the decided effects, and remembers how to restore the files.
pub(crate) struct EffectPerformer<'h> {
    root: &'h Root,
    host: &'h mut dyn RecipeHost,
    trust: RecipeTrust,
    own: OwnRecipes,
    cancel: Option<exec::CommandCancel>,
    journal: RunJournal<'h>,
    /// The writer whose lock this run holds, for commands that run drawloom again.
    token: String,
    results: HashMap<usize, CommandResult>,
    reports: Vec<CommandReport>,
    originals: BTreeMap<RelPath, Option<Vec<u8>>>,
    made: Vec<RelPath>,
}

impl<'h> EffectPerformer<'h> {
    pub(crate) fn new(
        root: &'h Root,
        host: &'h mut dyn RecipeHost,
        request: &RecipeRunRequest,
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
    pub(crate) fn take_over(&mut self, unfinished: &UnfinishedRun, token: &str) {
        self.originals = unfinished.originals();
        self.made = unfinished.directories().to_vec();
        token.clone_into(&mut self.token);
    }

    /// Applies the files, then runs the commands.
    pub(crate) fn perform(
        &mut self,
        changes: &ChangeSet,
        runs: &[CommandTree],
    ) -> Result<(), Error> {
        let commands = || runs.iter().flat_map(CommandTree::commands);
        check_trust(commands().filter_map(GuardedAction::command), self.trust)?;
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
    pub(crate) fn resume(&mut self, runs: &[CommandTree]) -> Result<(), Error> {
        self.run(runs)
    }

    pub(crate) fn result(&self, command: usize) -> Option<&CommandResult> {
        self.results.get(&command)
    }

    pub(crate) fn resolve(&mut self, conflict: &FileConflict) -> Option<ConflictDecision> {
        self.host.resolve(conflict)
    }

    /// Refuses a file that was not known when the plan was checked.
    pub(crate) fn check_write(&self, path: &RelPath, step: &str, why: &str) -> Result<(), Error> {
        let what = format!("write {path}: {why}");
        check_trust(std::iter::once(GuardedAction { what, step }), self.trust)
    }

    /// Ends the run and removes its journal; returns the reports.
    pub(crate) fn into_reports(mut self) -> Result<Vec<CommandReport>, Error> {
        self.journal.close()?;
        Ok(self.reports)
    }

    fn keep_originals(&mut self, changes: &ChangeSet) -> Result<(), Error> {
        for (path, change) in changes.iter() {
            let written = matches!(change, PathChange::Write { .. } | PathChange::Delete);
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
        let (created, changed) = (count(&applied.created), count(&applied.replaced));
        self.host
            .event(RecipeEvent::FilesApplied { created, changed });
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
                self.host.event(RecipeEvent::RolledBack { files });
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
        let mut put_back = 0;
        for (path, original) in originals {
            let current = self.root.read(&path)?;
            if current == original {
                continue;
            }
            put_back += usize::from(!is_record(&path));
            changes.put(
                path,
                match original {
                    Some(bytes) => PathChange::Write {
                        bytes,
                        executable: false,
                    },
                    None => PathChange::Delete,
                },
            );
        }
        self.root.apply(&changes)?;
        remove_empty(self.root, std::mem::take(&mut self.made))?;
        Ok(put_back)
    }
}

/// Counts the files that are the user's; our own records are not worth a word.
fn count(paths: &[RelPath]) -> usize {
    paths.iter().filter(|path| !is_record(path)).count()
}

fn is_record(path: &RelPath) -> bool {
    path.as_path().starts_with(RECORDS_DIR)
}

/// Something a recipe from outside needs trust for.
pub(crate) struct GuardedAction<'g> {
    what: String,
    step: &'g str,
}

impl<'g> GuardedAction<'g> {
    pub(crate) fn command(command: &'g StepCommand) -> Option<Self> {
        let (what, step) = (command.what.line(), command.step.as_str());
        command.outside.then_some(Self { what, step })
    }

    pub(crate) fn write(write: &'g FileWrite) -> Option<Self> {
        let why = write.needs_trust.as_ref()?;
        let (what, step) = (format!("write {}: {why}", write.path), write.step.as_str());
        Some(Self { what, step })
    }
}

/// Refuses commands of the project's own recipes that the user has not trusted.
pub(crate) fn check_own<'c>(
    mut commands: impl Iterator<Item = &'c StepCommand>,
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
    let error = Error::new(RecipeErrorKind::UntrustedOwn, message);
    Err(error.hint(format!(
        "look at it, then run `drawloom trust {}`, or use `--trust` once",
        command.file
    )))
}

/// Refuses what recipes from outside may not do before a person has trusted them, and lists it.
pub(crate) fn check_trust<'g>(
    guarded: impl Iterator<Item = GuardedAction<'g>>,
    trust: RecipeTrust,
) -> Result<(), Error> {
    if trust == RecipeTrust::Given {
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
    Err(Error::new(RecipeErrorKind::Untrusted, message)
        .hint("look at them, then run again with --trust to allow them"))
}
