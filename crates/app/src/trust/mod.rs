//! Trust: before a project acts on the user's behalf, the user is shown what it would do, and decides.
//!
//! A project *acts* when it starts a program, runs a command, uses a key, sends something somewhere or
//! widens what a model may touch. The acts are data ([`ProjectAct`]); a gate in front of each of them
//! (`TrustGate::require`) asks whether the user has trusted exactly this. Three decisions count:
//!
//! 1. The folder was made here (`drawloom init`) or is trusted for good (`drawloom trust --always`).
//!    A clone that takes its place is another folder: its owner, number or birth time differ.
//! 2. What it does was shown and trusted (`drawloom trust`), act by act, by hash. What has changed
//!    since asks again.
//! 3. For this command only (`--trust`), or by the user's own settings (`trust.projects`).
//!
//! Looking needs no trust: no gate is passed by commands that only read.

mod act;
mod recipes;
mod settings;
mod store;
mod tasks;
mod workflows;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use workspace::ownership::FolderIdentity;

use crate::project::is_within;
use crate::{Error, ProcessEnvironment, Project};

pub use act::ProjectAct;
pub use recipes::{own_recipes, untrusted_recipe};
pub use store::{TrustDecision, TrustExtent, TrustStore};
pub(crate) use tasks::require_tasks;
pub(crate) use workflows::{new_acts, require_step, require_workflow};

/// The gate in front of everything that a project would do.
#[derive(Clone, Debug)]
pub struct TrustGate {
    folder: PathBuf,
    store: TrustStore,
    /// For this command only (`--trust`).
    is_once: bool,
    /// By the user's own settings.
    is_listed: bool,
    /// The acts that the project's settings ask for.
    settings: Vec<ProjectAct>,
}

/// The acts of a command that the user has not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedActs {
    pub folder: PathBuf,
    /// Each act that is not trusted, with the act of the same subject that was.
    pub acts: Vec<(ProjectAct, Option<ProjectAct>)>,
}

/// Extent of the user's trust in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustMode {
    /// Everything it does now; a change asks again.
    AsItIs,
    /// Everything in the folder, now and later.
    Always,
}

impl UntrustedActs {
    /// Returns the command that shows all of it and asks.
    pub fn command(&self) -> String {
        let mut words = vec!["drawloom".to_owned(), "--cwd".to_owned()];
        words.push(self.folder.display().to_string());
        words.push("trust".to_owned());
        let files: std::collections::BTreeSet<&String> = self
            .acts
            .iter()
            .filter_map(|(act, _)| act.file.as_ref())
            .collect();
        words.extend(files.into_iter().cloned());
        let joined = shlex::try_join(words.iter().map(String::as_str));
        joined.unwrap_or_else(|_| "drawloom trust".to_owned())
    }
}

impl fmt::Display for UntrustedActs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.folder.display();
        match self.acts.iter().any(|(_, before)| before.is_some()) {
            true => write!(
                f,
                "the project in {place} has changed since you trusted it:"
            )?,
            false => write!(f, "you have not trusted the project in {place} to do this:")?,
        }
        for (act, before) in &self.acts {
            for line in &act.does {
                write!(f, "\n  {} {line}", act.subject)?;
            }
            let before = before.iter().flat_map(|before| &before.does);
            for line in before.filter(|line| !act.does.contains(line)) {
                write!(f, "\n    before: {line}")?;
            }
        }
        Ok(())
    }
}

impl TrustGate {
    pub(crate) fn new(
        folder: &Path,
        settings_file: Option<&Path>,
        trusted: &[PathBuf],
        surroundings: &ProcessEnvironment,
    ) -> Result<Self, Error> {
        let trusted = surroundings.user_folders.expand(trusted);
        Ok(Self {
            folder: folder.to_owned(),
            store: TrustStore::new(surroundings),
            is_once: surroundings.trusts_once,
            is_listed: is_within(folder, &trusted),
            settings: settings::acts(settings_file)?,
        })
    }

    /// Trusts the project for the command at hand.
    pub fn trust_once(&mut self) {
        self.is_once = true;
    }

    /// Returns true if the user has given `--trust`, which counts for a recipe from outside as
    /// well.
    pub fn is_once(&self) -> bool {
        self.is_once
    }

    /// Returns true if the trust store need not be read.
    fn is_open(&self) -> bool {
        self.is_once || self.is_listed
    }

    /// Returns true if the user trusts the project whatever it does.
    pub(crate) fn trusts_all(&self) -> Result<bool, Error> {
        if self.is_open() {
            return Ok(true);
        }
        let decision = self.store.find(&self.folder)?;
        Ok(
            matches!(decision, Some(TrustDecision { extent: TrustExtent::Folder(made), .. }) if self.is_same_folder(&made)),
        )
    }

    /// Refuses acts that the user has not trusted.
    pub(crate) fn require(&self, acts: Vec<ProjectAct>) -> Result<(), Error> {
        if acts.is_empty() || self.is_open() {
            return Ok(());
        }
        let known = match self
            .store
            .find(&self.folder)?
            .map(|decision| decision.extent)
        {
            Some(TrustExtent::Folder(made)) if self.is_same_folder(&made) => return Ok(()),
            Some(TrustExtent::Acts(known)) => known,
            _ => Vec::new(),
        };
        let is_known = |act: &ProjectAct| known.iter().any(|known| known.digest == act.digest);
        let before = |act: &ProjectAct| {
            known
                .iter()
                .find(|known| known.subject == act.subject)
                .cloned()
        };
        let missing: Vec<(ProjectAct, Option<ProjectAct>)> = acts
            .into_iter()
            .filter(|act| !is_known(act))
            .map(|act| (act.clone(), before(&act)))
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Error::Untrusted(Box::new(UntrustedActs {
                folder: self.folder.clone(),
                acts: missing,
            }))),
        }
    }

    /// Refuses what the project's settings ask for in sections that begin so.
    pub(crate) fn require_settings(&self, sections: &[&str]) -> Result<(), Error> {
        let is_meant = |act: &&ProjectAct| {
            sections
                .iter()
                .any(|section| act.subject.starts_with(section))
        };
        self.require(self.settings.iter().filter(is_meant).cloned().collect())
    }

    fn has_decision(&self) -> Result<bool, Error> {
        Ok(self.store.find(&self.folder)?.is_some())
    }

    fn is_same_folder(&self, made: &FolderIdentity) -> bool {
        FolderIdentity::of(&self.folder).is_ok_and(|now| now == *made)
    }
}

/// Lists everything the project would do, with the given recipes, workflows, tasks and plans.
pub fn acts(
    project: &Project,
    surroundings: &ProcessEnvironment,
    more: &[PathBuf],
) -> Result<Vec<ProjectAct>, Error> {
    let mut acts = project.trust.settings.clone();
    acts.extend(recipes::acts(project)?);
    acts.extend(workflows::acts(project)?);
    for path in more {
        let found = match path.extension().and_then(OsStr::to_str) {
            Some("mmd" | "mermaid") => workflows::acts_of_file(project, surroundings, path)?,
            Some("json") => tasks::acts_of_file(project, surroundings, path)?,
            _ => recipes::acts_of_path(project, surroundings, path)?,
        };
        acts.extend(
            found
                .into_iter()
                .filter(|act| !acts.contains(act))
                .collect::<Vec<_>>(),
        );
    }
    Ok(acts)
}

/// Returns those of these acts that are not trusted yet.
pub fn untrusted(
    project: &Project,
    acts: &[ProjectAct],
) -> Result<Vec<(ProjectAct, Option<ProjectAct>)>, Error> {
    match project.trust.require(acts.to_vec()) {
        Err(Error::Untrusted(untrusted)) => Ok(untrusted.acts),
        Err(other) => Err(other),
        Ok(()) => Ok(Vec::new()),
    }
}

/// Trusts a folder that its user has just made a project. If the decision cannot be stored, the
/// user is asked later like for any other project.
pub fn trust_made_here(folder: &Path, surroundings: &ProcessEnvironment) -> Result<(), Error> {
    match surroundings.user_folders.state.is_some() {
        true => trust(folder, surroundings, Vec::new(), TrustMode::Always),
        false => Ok(()),
    }
}

/// Adds to what the user trusts already; an act takes the place of the earlier one of its subject.
pub fn add(
    folder: &Path,
    surroundings: &ProcessEnvironment,
    acts: Vec<ProjectAct>,
    lasting: TrustMode,
) -> Result<(), Error> {
    let earlier = TrustStore::new(surroundings).find(folder)?;
    let mut all = match earlier.map(|decision| decision.extent) {
        Some(TrustExtent::Acts(known)) => known,
        _ => Vec::new(),
    };
    all.retain(|known| !acts.iter().any(|act| act.subject == known.subject));
    all.extend(acts);
    trust(folder, surroundings, all, lasting)
}

/// Keeps the user's decision.
pub fn trust(
    folder: &Path,
    surroundings: &ProcessEnvironment,
    acts: Vec<ProjectAct>,
    lasting: TrustMode,
) -> Result<(), Error> {
    let extent = match lasting {
        TrustMode::Always => TrustExtent::Folder(FolderIdentity::of(folder)?),
        TrustMode::AsItIs => TrustExtent::Acts(acts),
    };
    TrustStore::new(surroundings).keep(&TrustDecision {
        folder: folder.to_owned(),
        extent,
        decided_ms: surroundings.now_ms as u64,
    })
}
