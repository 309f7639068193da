//! Answers of a run that did not come to its end, kept so that nobody pays for them twice.

use jiff::Timestamp;
use prompt::Answers;
use workspace::{ChangeSet, RelPath};

use super::ledger::utc;
use crate::{Error, Project};

/// Where answers are kept.
pub const ANSWERS_DIR: &str = ".drawloom/answers";

/// Several runs may end in the same second, though hardly as many as this.
const NAMES_MAX: u32 = 1_000;

/// A file with answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// From the project's folder.
    pub path: RelPath,
    pub count: usize,
}

/// Writes the answers to a file of their own.
pub(super) fn keep(project: &Project, answers: &Answers) -> Result<Kept, Error> {
    let time = utc(Timestamp::now())
        .strftime("%Y-%m-%d-%H%M%S")
        .to_string();
    let mut path = RelPath::parse(&format!("{ANSWERS_DIR}/{time}.json"))?;
    for number in 2..NAMES_MAX {
        if !project.root.exists(&path)? {
            break;
        }
        path = RelPath::parse(&format!("{ANSWERS_DIR}/{time}-{number}.json"))?;
    }
    let mut changes = ChangeSet::new();
    changes.write(path.clone(), answers.to_json());
    project.root.apply(&changes)?;
    Ok(Kept {
        path,
        count: answers.len(),
    })
}
