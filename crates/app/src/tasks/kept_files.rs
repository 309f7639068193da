//! The files that an agent's task has written, stored with its turns, where another machine may go on.
//!
//! A task works in the project itself, so that a file is put back only where it is missing or still as
//! the task found it: what a person has changed meanwhile stays.

use std::collections::BTreeMap;

use agent::{
    AgentErrorKind, ConversationTurn, JournalFuture, ToolAction, TurnHistory, TurnJournal, TurnNote,
};
use llm::MessagePart;
use sha2::{Digest as _, Sha256};
use store::{RunFile, RunFileStore};
use workspace::{ChangeSet, PathChange, PathKind, RelPath, Root};

use crate::Error;

/// Stands for a file that was there before the task and was not looked at then.
const UNSEEN: &str = "unseen";
/// The marks that patches write before the path of a file.
const PATCH_MARKS: [&str; 5] = [
    "*** Update File: ",
    "*** Delete File: ",
    "*** Add File: ",
    "--- a/",
    "+++ b/",
];

/// A journal that stores the files that a turn has written before the turn itself.
pub(super) struct FilingConversation<'a> {
    journal: Box<dyn TurnJournal + 'a>,
    files: RunFileStore,
    root: Root,
    /// The digests of the files that the task found at the paths that it may write; `None` for no file.
    found: BTreeMap<String, Option<String>>,
}

impl<'a> FilingConversation<'a> {
    pub(super) fn new(
        journal: Box<dyn TurnJournal + 'a>,
        files: RunFileStore,
        root: Root,
    ) -> FilingConversation<'a> {
        FilingConversation {
            journal,
            files,
            root,
            found: BTreeMap::new(),
        }
    }

    /// Looks at the files that the calls of a reply name, before the calls are made.
    fn look(&mut self, note: &TurnNote) {
        let TurnNote::Replied { reply } = note else {
            return;
        };
        for part in &reply.answer.parts {
            let MessagePart::ToolCall(call) = part else {
                continue;
            };
            let Ok(fields) = call.arguments.value() else {
                continue;
            };
            let texts = fields.values().filter_map(serde_json::Value::as_str);
            let named = texts.flat_map(|text| {
                let patched = text.lines().filter_map(path_in_patch);
                patched.chain([text])
            });
            for path in named.filter_map(|path| RelPath::parse(path).ok()) {
                let content = self.root.read(&path);
                // A folder or a link is no file that a tool writes.
                if let Ok(content) = content {
                    let found = content.map(|content| digest(&content));
                    self.found.entry(path.to_string()).or_insert(found);
                }
            }
        }
    }

    async fn store(&mut self, deeds: &[ToolAction]) -> Result<(), agent::Error> {
        let files = self.written(deeds).map_err(|error| failed(&error))?;
        let kept = self.files.keep(&files).await;
        kept.map_err(|error| failed(&error.into()))
    }

    fn written(&self, deeds: &[ToolAction]) -> Result<Vec<RunFile>, Error> {
        let mut files = Vec::new();
        for deed in deeds {
            let ToolAction::Wrote { path, change, .. } = deed else {
                continue;
            };
            let content = match self.root.kind(path)? {
                Some(PathKind::File) => self.root.read(path)?,
                _ => None,
            };
            let found = self.found.get(path.as_str()).cloned();
            files.push(RunFile {
                path: path.to_string(),
                is_executable: content.is_some() && self.root.is_executable(path)?,
                content,
                before: match change {
                    agent::FileChangeKind::Created => None,
                    _ => found.unwrap_or_else(|| Some(UNSEEN.to_owned())),
                },
            });
        }
        Ok(files)
    }
}

impl TurnJournal for FilingConversation<'_> {
    fn load(&mut self) -> JournalFuture<'_, TurnHistory> {
        self.journal.load()
    }

    fn note<'a>(&'a mut self, note: &'a TurnNote) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            self.look(note);
            if let TurnNote::Ended { deeds, .. } = note {
                self.store(deeds).await?;
            }
            self.journal.note(note).await
        })
    }

    fn commit<'a>(&'a mut self, turn: &'a ConversationTurn) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            self.store(&turn.deeds).await?;
            self.journal.commit(turn).await
        })
    }
}

fn path_in_patch(line: &str) -> Option<&str> {
    let path = PATCH_MARKS
        .iter()
        .find_map(|mark| line.strip_prefix(mark))?;
    Some(path.trim())
}

fn digest(content: &[u8]) -> String {
    let bytes = Sha256::digest(content);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failed(error: &Error) -> agent::Error {
    let message = format!("the files of the task cannot be stored: {error}");
    agent::Error::new(AgentErrorKind::Journal, message)
}

/// Puts files that tasks have written into this checkout, of each path as it was written last; returns a
/// sentence for each that was changed meanwhile.
pub(super) fn restore(files: Vec<RunFile>, root: &Root) -> Result<Vec<String>, Error> {
    let mut by_path: BTreeMap<String, Vec<RunFile>> = BTreeMap::new();
    for file in files {
        by_path.entry(file.path.clone()).or_default().push(file);
    }
    let mut changes = ChangeSet::new();
    let mut left = Vec::new();
    for mut written in by_path.into_values() {
        let Some(file) = written.pop() else { continue };
        let path = RelPath::parse(&file.path)?;
        let present = match root.kind(&path)? {
            Some(PathKind::File) => root.read(&path)?,
            Some(_) => Some(Vec::new()),
            None => None,
        };
        if present == file.content {
            continue;
        }
        let is_as_found = match &present {
            None => true,
            Some(present) => {
                let digest = digest(present);
                let mut found = written.iter().chain([&file]);
                found.any(|file| file.before.as_ref() == Some(&digest))
                    || written
                        .iter()
                        .any(|file| file.content.as_ref() == Some(present))
            }
        };
        if !is_as_found {
            left.push(format!(
                "{path} is neither as the task left it nor as it found it, and stays as it is"
            ));
            continue;
        }
        let change = match file.content {
            Some(bytes) => PathChange::Write {
                bytes,
                executable: file.is_executable,
            },
            None => PathChange::Delete,
        };
        changes.put(path, change);
    }
    if !changes.is_empty() {
        root.apply(&changes)?;
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_patches() {
        let check =
            |line: &str, path: Option<&str>| assert_eq!(path_in_patch(line), path, "{line}");
        check("*** Update File: src/a.rs", Some("src/a.rs"));
        check("+++ b/src/a.rs", Some("src/a.rs"));
        check("+ added", None);
    }
}
