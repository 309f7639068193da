//! The last conversation of `drawloom ai ask`, kept so that `--continue` can go on with it.

use serde::{Deserialize, Serialize};
use workspace::{ExistingFile, RelPath};

use crate::{AppErrorCode, Error, Project, ignoring};

/// File of the last conversation.
pub const CONVERSATION_FILE: &str = ".drawloom/asked/last.json";
/// Turns beyond this many bytes are left out, the oldest first.
pub const CONVERSATION_BYTES_MAX: usize = 256 * 1024;

/// Questions that were asked one after the other, with their answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskHistory {
    /// Instructions for every question of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    #[serde(default)]
    pub turns: Vec<AskTurn>,
}

/// One question and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskTurn {
    pub question: String,
    pub answer: String,
}

impl AskHistory {
    /// Reads the last conversation of a project.
    pub fn last(project: &Project) -> Result<Self, Error> {
        let path = RelPath::parse(CONVERSATION_FILE)?;
        let Some(text) = project.root.read_text(&path)? else {
            let error = Error::new(
                AppErrorCode::Data,
                "there is no conversation to continue here",
            );
            return Err(error.hint("ask the first question without `--continue`"));
        };
        serde_json::from_str(&text).map_err(|cause| {
            let message = format!("{CONVERSATION_FILE} cannot be read: {cause}");
            Error::new(AppErrorCode::Data, message).hint("remove the file, and begin anew")
        })
    }

    /// Adds a turn, and drops the oldest ones that no longer fit.
    pub fn add(&mut self, question: &str, answer: &str) {
        self.turns.push(AskTurn {
            question: question.to_owned(),
            answer: answer.to_owned(),
        });
        let bytes = |turn: &AskTurn| turn.question.len() + turn.answer.len();
        let mut total: usize = self.turns.iter().map(bytes).sum();
        while total > CONVERSATION_BYTES_MAX && !self.turns.is_empty() {
            total -= bytes(&self.turns.remove(0));
        }
    }

    /// Keeps the conversation for its owner only, out of git.
    pub fn keep(&self, project: &Project) -> Result<(), Error> {
        let path = RelPath::parse(CONVERSATION_FILE)?;
        let text = serde_json::to_string_pretty(self)
            .map_err(|cause| Error::new(AppErrorCode::Data, cause.to_string()))?;
        project
            .root
            .write_private(&path, text.as_bytes(), ExistingFile::Replace)?;
        ignoring::ignore_private(&project.root)
    }

    /// Returns the texts that go before the next question.
    pub(super) fn contexts(&self) -> Vec<String> {
        let mut contexts: Vec<String> = self.system.iter().cloned().collect();
        if !self.turns.is_empty() {
            let mut text = String::from("The conversation so far:\n");
            for turn in &self.turns {
                text.push_str(&format!(
                    "\nQuestion:\n\n{}\n\nAnswer:\n\n{}\n",
                    turn.question.trim(),
                    turn.answer.trim()
                ));
            }
            contexts.push(text);
        }
        contexts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_turns_make_room() {
        let mut history = AskHistory::default();
        for number in 0..3 {
            history.add(
                &number.to_string(),
                &"x".repeat(CONVERSATION_BYTES_MAX / 2 - 10),
            );
        }
        let left: Vec<&str> = history
            .turns
            .iter()
            .map(|turn| turn.question.as_str())
            .collect();
        assert_eq!(left, ["1", "2"]);
        history.add("long", &"x".repeat(CONVERSATION_BYTES_MAX + 1));
        assert_eq!(history.turns, []);
    }
}
