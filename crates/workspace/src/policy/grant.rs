//! What an approved plan permits: per file, what may become of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::RelPath;

/// What may become of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Made where nothing is; and changed afterwards, by the job that made it.
    Create,
    /// Replaced where it is.
    Modify,
    /// Removed.
    Delete,
}

impl Action {
    /// The word for it in a sentence.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Modify => "modify",
            Self::Delete => "delete",
        }
    }
}

/// The files of an approved plan. Paths are exact: a permission is not folded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grant {
    files: BTreeMap<RelPath, BTreeSet<Action>>,
}

impl Grant {
    /// Permits nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Permits `action` on `path`, beside what is permitted already.
    #[must_use]
    pub fn with(mut self, path: RelPath, action: Action) -> Self {
        self.permit(path, action);
        self
    }

    /// As [`Grant::with`], in place.
    pub fn permit(&mut self, path: RelPath, action: Action) {
        self.files.entry(path).or_default().insert(action);
    }

    /// Permits to move a file: `from` may go, `to` may come.
    pub fn permit_rename(&mut self, from: RelPath, to: RelPath) {
        self.permit(from, Action::Delete);
        self.permit(to, Action::Create);
    }

    /// The files and what may become of them, in tree order.
    pub fn iter(&self) -> impl Iterator<Item = (&RelPath, &BTreeSet<Action>)> {
        self.files.iter()
    }

    /// What may become of exactly this path.
    pub(crate) fn of(&self, path: &RelPath) -> Option<&BTreeSet<Action>> {
        self.files.get(path)
    }

    /// Whether `dir` is on the way to a file that may be made.
    pub(crate) fn needs_dir(&self, dir: &RelPath) -> bool {
        self.files
            .iter()
            .any(|(path, actions)| actions.contains(&Action::Create) && path.is_within(dir))
    }
}
