//! Keeps the answers of a run that failed, so that the user does not pay for them twice.

use jiff::Timestamp;
use prompt::Answers;
use workspace::{ExistingFile, RelPath};

use super::cost_log::utc;
use crate::{AppErrorCode, Error, Project, ignoring};

/// Folder of the kept answers.
pub const ANSWERS_DIR: &str = ".drawloom/answers";

/// Several runs may end in the same second, though hardly as many as this.
const NAMES_MAX: u32 = 1_000;

/// A file with answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedAnswers {
    /// From the project's folder.
    pub path: RelPath,
    pub count: usize,
}

/// Keeps the answers of a run that was undone; `None` if it had no answers.
pub fn keep_answers(
    project: &Project,
    answers: &serde_json::Map<String, serde_json::Value>,
) -> Result<Option<SavedAnswers>, Error> {
    let known = answers.iter().filter(|(_, value)| !value.is_null());
    let known: serde_json::Map<_, _> = known
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if known.is_empty() {
        return Ok(None);
    }
    let text = serde_json::Value::Object(known).to_string();
    let answers = Answers::read(&text, ANSWERS_DIR)
        .map_err(|error| Error::new(AppErrorCode::Data, error.to_string()))?;
    keep(project, &answers).map(Some)
}

/// Writes the answers to a file of their own.
pub(super) fn keep(project: &Project, answers: &Answers) -> Result<SavedAnswers, Error> {
    let time = utc(Timestamp::now())
        .strftime("%Y-%m-%d-%H%M%S")
        .to_string();
    let text = answers.to_json();
    for number in 1..NAMES_MAX {
        let name = match number {
            1 => time.clone(),
            number => format!("{time}-{number}"),
        };
        let path = RelPath::parse(&format!("{ANSWERS_DIR}/{name}.json"))?;
        // Several processes may end in the same second: one of them gets the name.
        if project
            .root
            .write_private(&path, text.as_bytes(), ExistingFile::Keep)?
        {
            ignoring::ignore_private(&project.root)?;
            let count = answers.len();
            return Ok(SavedAnswers { path, count });
        }
    }
    let message =
        format!("{ANSWERS_DIR} has more than NAMES_MAX ({NAMES_MAX}) files of one second");
    Err(Error::new(AppErrorCode::Limit, message).hint("remove those that are not needed"))
}
