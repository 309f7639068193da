//! The permission of an approved plan: the allowed actions of each file.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::RelPath;

/// An action on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantedAction {
    /// Created if it does not exist; and changed afterwards by the same job.
    Create,
    /// Replaced in place.
    Modify,
    /// Removed.
    Delete,
}

impl GrantedAction {
    /// The verb in a sentence.
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
pub struct WriteGrant {
    files: BTreeMap<RelPath, BTreeSet<GrantedAction>>,
}

impl WriteGrant {
    /// Permits nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Permits `action` on `path`, beside the actions permitted already.
    #[must_use]
    pub fn with(mut self, path: RelPath, action: GrantedAction) -> Self {
        self.permit(path, action);
        self
    }

    /// As [`WriteGrant::with`], in place.
    pub fn permit(&mut self, path: RelPath, action: GrantedAction) {
        self.files.entry(path).or_default().insert(action);
    }

    /// Permits moving a file: deleting `from` and creating `to`.
    pub fn permit_rename(&mut self, from: RelPath, to: RelPath) {
        self.permit(from, GrantedAction::Delete);
        self.permit(to, GrantedAction::Create);
    }

    /// The files with their permitted actions, in tree order.
    pub fn iter(&self) -> impl Iterator<Item = (&RelPath, &BTreeSet<GrantedAction>)> {
        self.files.iter()
    }

    /// The permitted actions of exactly this path.
    pub(crate) fn of(&self, path: &RelPath) -> Option<&BTreeSet<GrantedAction>> {
        self.files.get(path)
    }

    /// Returns true if `dir` is on the way to a file that may be made.
    pub(crate) fn needs_dir(&self, dir: &RelPath) -> bool {
        self.files
            .iter()
            .any(|(path, actions)| actions.contains(&GrantedAction::Create) && path.is_within(dir))
    }
}
