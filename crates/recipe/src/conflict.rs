//! Files that exist and differ from what a template gives.

use serde::Serialize;
use workspace::RelPath;
use workspace::diff::ContentDiff;

use crate::error::{Error, RecipeErrorKind};
use crate::host::{ConflictDecision, ConflictDecisions, RecipeHost};

/// Policy for files that exist and differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Ask a person; without one, stop and list them all.
    #[default]
    Ask,
    Force,
    Skip,
    /// Stop and list them all.
    Fail,
}

/// One such file.
#[derive(Clone, Debug, Serialize)]
pub struct FileConflict {
    pub path: RelPath,
    /// The step that wants to write it.
    pub step: String,
    /// The difference between the existing file and the template's output, as a unified diff.
    pub diff: String,
    #[serde(skip)]
    pub existing: Vec<u8>,
    #[serde(skip)]
    pub proposed: Vec<u8>,
}

impl FileConflict {
    pub(crate) fn new(path: RelPath, step: &str, existing: Vec<u8>, proposed: Vec<u8>) -> Self {
        let diff = ContentDiff::between(Some(&existing), Some(&proposed)).unified(path.as_str());
        Self {
            path,
            step: step.to_owned(),
            diff,
            existing,
            proposed,
        }
    }
}

/// Result of asking about every conflict.
pub(crate) enum ConflictResolution {
    /// Every file has a decision.
    All,
    /// At least one file still has no decision.
    Open,
}

/// Gives every conflict a decision, by the flag or by asking.
pub(crate) fn settle(
    conflicts: &[FileConflict],
    policy: OnConflict,
    decisions: &mut ConflictDecisions,
    host: &mut dyn RecipeHost,
) -> Result<ConflictResolution, Error> {
    for conflict in conflicts {
        let decision = match policy {
            OnConflict::Force => Some(ConflictDecision::Overwrite),
            OnConflict::Skip => Some(ConflictDecision::Skip),
            OnConflict::Ask => host.resolve(conflict),
            OnConflict::Fail => None,
        };
        match decision {
            None => return Ok(ConflictResolution::Open),
            Some(ConflictDecision::Abort) => {
                return Err(Error::new(
                    RecipeErrorKind::Aborted,
                    "stopped; nothing was written",
                ));
            }
            Some(decision) => {
                decisions.insert(conflict.path.clone(), decision);
            }
        }
    }
    Ok(ConflictResolution::All)
}
