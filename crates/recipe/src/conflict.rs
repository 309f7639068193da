//! Files that exist and differ from what a template gives.

use serde::Serialize;
use workspace::RelPath;
use workspace::diff::Diff;

use crate::error::{Error, Kind};
use crate::host::{Decision, Decisions, Host};

/// What to do about files that exist and differ.
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
pub struct Conflict {
    pub path: RelPath,
    /// The step that wants to write it.
    pub step: String,
    /// From what is there to what the template gives, as a unified diff.
    pub diff: String,
    #[serde(skip)]
    pub existing: Vec<u8>,
    #[serde(skip)]
    pub proposed: Vec<u8>,
}

impl Conflict {
    pub(crate) fn new(path: RelPath, step: &str, existing: Vec<u8>, proposed: Vec<u8>) -> Self {
        let diff = Diff::between(Some(&existing), Some(&proposed)).unified(path.as_str());
        Self {
            path,
            step: step.to_owned(),
            diff,
            existing,
            proposed,
        }
    }
}

/// What came of asking.
pub(crate) enum Settled {
    /// Every file has a decision.
    All,
    /// Somebody must decide first.
    Open,
}

/// Gives every conflict a decision, by the flag or by asking.
pub(crate) fn settle(
    conflicts: &[Conflict],
    policy: OnConflict,
    decisions: &mut Decisions,
    host: &mut dyn Host,
) -> Result<Settled, Error> {
    for conflict in conflicts {
        let decision = match policy {
            OnConflict::Force => Some(Decision::Overwrite),
            OnConflict::Skip => Some(Decision::Skip),
            OnConflict::Ask => host.resolve(conflict),
            OnConflict::Fail => None,
        };
        match decision {
            None => return Ok(Settled::Open),
            Some(Decision::Abort) => {
                return Err(Error::new(Kind::Aborted, "stopped; nothing was written"));
            }
            Some(decision) => {
                decisions.insert(conflict.path.clone(), decision);
            }
        }
    }
    Ok(Settled::All)
}
