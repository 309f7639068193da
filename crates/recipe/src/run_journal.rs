//! Runs that were killed while their commands ran: a journal notes their progress, so that the user
//! can resume or undo them.
//!
//! Files are applied together or not at all, but commands run after them and can be killed with the
//! whole process. So a run with commands keeps a journal under `.drawloom/unfinished/`: the files
//! as they were, and which commands began and ended. The end of the run removes it. A journal whose
//! run no longer holds the writer lock is a run that was cut off; `resume` runs what is left,
//! `undo` puts the files back.
//!
//! The journal decides nothing about what is run: resuming decides the recipe again, with the
//! values and answers of the journal, and only skips commands that had ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use workspace::{ChangeSet, PathChange, RelPath, Root};

use crate::conflict::OnConflict;
use crate::effect::CommandTree;
use crate::error::{Error, RecipeErrorKind};
use crate::generation_record::{RECORDS_DIR, RecordedAnswer};
use crate::host::RecipeHost;
use crate::request::RecipeRunRequest;
use crate::run;

/// Folder of the journals of runs.
pub(crate) const UNFINISHED_DIR: &str = ".drawloom/unfinished";
const VERSION: u32 = 1;
/// Largest number of journals of one project that are read.
const UNFINISHED_MAX: usize = 100;

/// The first line of a journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunJournalHeader {
    pub(crate) version: u32,
    /// The recipe's name, and where it is.
    pub(crate) recipe: String,
    pub(crate) id: String,
    /// The command line of the run.
    pub(crate) command: String,
    /// The writer that runs it.
    pub(crate) token: String,
    pub(crate) values: Map<String, Value>,
    pub(crate) answers: Map<String, Value>,
    /// True if steps depend on output of commands, so that the rest cannot be decided alone.
    pub(crate) has_barriers: bool,
}

/// The lines after it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
enum RunJournalEntry {
    /// The files that are about to be written, and their old contents.
    Files {
        files: Vec<FileEntry>,
    },
    Commands {
        commands: Vec<CommandEntry>,
    },
    /// The files are written; these directories were made for them.
    Applied {
        directories: Vec<RelPath>,
    },
    Started {
        id: usize,
    },
    Ended {
        id: usize,
        succeeded: bool,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct FileEntry {
    path: RelPath,
    /// In hexadecimal digits, because it may be no text; `None` where nothing was.
    before: Option<String>,
    /// The hash of the new content; `None` if the file is deleted.
    after: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CommandEntry {
    id: usize,
    step: String,
    command: String,
}

/// Writes the journal of a run in progress.
pub(crate) struct RunJournal<'r> {
    root: &'r Root,
    header: RunJournalHeader,
    path: Option<RelPath>,
}

impl<'r> RunJournal<'r> {
    pub(crate) fn new(root: &'r Root, header: RunJournalHeader) -> Self {
        Self {
            root,
            header,
            path: None,
        }
    }

    /// Continues the journal of a run that is resumed.
    pub(crate) fn taken_over(root: &'r Root, unfinished: &UnfinishedRun) -> Self {
        Self {
            root,
            header: unfinished.header.clone(),
            path: Some(unfinished.path.clone()),
        }
    }

    pub(crate) fn token(&self) -> &str {
        &self.header.token
    }

    /// Notes effects before they are performed.
    pub(crate) fn plan(
        &mut self,
        changes: &ChangeSet,
        originals: &BTreeMap<RelPath, Option<Vec<u8>>>,
        runs: &[CommandTree],
    ) -> Result<(), Error> {
        let mut files = Vec::new();
        for (path, change) in changes.iter() {
            let after = match change {
                PathChange::Write { bytes, .. } => Some(digest(bytes)),
                PathChange::Delete => None,
                _ => continue,
            };
            let before = originals.get(path).and_then(Option::as_deref).map(to_hex);
            files.push(FileEntry {
                path: path.clone(),
                before,
                after,
            });
        }
        let commands = runs.iter().flat_map(CommandTree::commands);
        let commands = commands.map(|command| CommandEntry {
            id: command.id,
            step: command.step.clone(),
            command: command.what.line(),
        });
        let commands = commands.collect();
        self.note(&RunJournalEntry::Files { files })?;
        self.note(&RunJournalEntry::Commands { commands })
    }

    pub(crate) fn applied(&mut self, directories: &[RelPath]) -> Result<(), Error> {
        let directories = directories.to_vec();
        self.note(&RunJournalEntry::Applied { directories })
    }

    pub(crate) fn started(&mut self, id: usize) -> Result<(), Error> {
        self.note(&RunJournalEntry::Started { id })
    }

    pub(crate) fn ended(&mut self, id: usize, succeeded: bool) -> Result<(), Error> {
        self.note(&RunJournalEntry::Ended { id, succeeded })
    }

    /// Removes the journal, because the run is over.
    pub(crate) fn close(&mut self) -> Result<(), Error> {
        match self.path.take() {
            Some(path) => Ok(self.root.remove_own(&path)?),
            None => Ok(()),
        }
    }

    fn note(&mut self, entry: &RunJournalEntry) -> Result<(), Error> {
        let path = match &self.path {
            Some(path) => path.clone(),
            None => self.begin()?,
        };
        Ok(self.root.append_line(&path, &line(entry)?)?)
    }

    fn begin(&mut self) -> Result<RelPath, Error> {
        let text = format!("{}\n", line(&self.header)?);
        for number in 1..UNFINISHED_MAX {
            let token = &self.header.token;
            let path = RelPath::parse(&format!("{UNFINISHED_DIR}/{token}-{number}.jsonl"))?;
            if self.root.create_new(&path, &text)? {
                self.path = Some(path.clone());
                return Ok(path);
            }
        }
        let message = format!("`{UNFINISHED_DIR}` has more than UNFINISHED_MAX = {UNFINISHED_MAX}");
        Err(Error::new(RecipeErrorKind::Limit, message)
            .hint("settle them with `drawloom run --undo`"))
    }
}

/// A run that was cut off.
#[derive(Clone, Debug)]
pub struct UnfinishedRun {
    header: RunJournalHeader,
    path: RelPath,
    files: Vec<(RelPath, Option<Vec<u8>>, Option<String>)>,
    directories: Vec<RelPath>,
    commands: Vec<UnfinishedCommand>,
}

/// One of its commands, and how far it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnfinishedCommand {
    #[serde(skip)]
    pub(crate) id: usize,
    pub step: String,
    pub command: String,
    pub state: CommandState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandState {
    NotStarted,
    /// It was running when the run was cut off; how far it came is not known.
    Interrupted,
    Done,
    Failed,
}

/// Report about an undone run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UndoReport {
    pub put_back: Vec<RelPath>,
    /// Changed since the run wrote them, and so left as they are.
    pub left: Vec<RelPath>,
    /// Commands that ran; undoing restores files, but not their other effects.
    pub ran: Vec<String>,
}

impl UnfinishedRun {
    pub fn recipe(&self) -> &str {
        &self.header.recipe
    }

    /// Returns the recipe's path: in the project, or absolute.
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Returns the command line of the run.
    pub fn command(&self) -> &str {
        &self.header.command
    }

    pub fn commands(&self) -> &[UnfinishedCommand] {
        &self.commands
    }

    /// Returns the files it wrote, its own record left out.
    pub fn files(&self) -> impl Iterator<Item = &RelPath> {
        let paths = self.files.iter().map(|(path, ..)| path);
        paths.filter(|path| !path.as_str().starts_with(RECORDS_DIR))
    }

    /// Returns the answers given so far, so that a resumed run does not pay for them again.
    pub fn answers(&self) -> &Map<String, Value> {
        &self.header.answers
    }

    pub(crate) fn remembered(&self) -> BTreeMap<String, RecordedAnswer> {
        let answers = self.header.answers.iter().map(|(key, value)| {
            let (value, question) = (value.clone(), None);
            (key.clone(), RecordedAnswer { value, question })
        });
        answers.collect()
    }

    pub(crate) fn values(&self) -> &Map<String, Value> {
        &self.header.values
    }

    /// Returns true if the remaining commands can run without the ones before them.
    pub fn can_resume(&self) -> bool {
        !self.header.has_barriers
    }

    pub(crate) fn is_done(&self, command: usize) -> bool {
        let mut commands = self.commands.iter();
        commands.any(|one| one.id == command && one.state == CommandState::Done)
    }

    /// Returns the files as they were before the run, to decide it again in the same surroundings.
    pub(crate) fn before(&self) -> ChangeSet {
        let files = self.files.iter();
        let changes = files.map(|(path, before, _)| (path.clone(), change_to(before.as_deref())));
        changes.collect()
    }

    pub(crate) fn originals(&self) -> BTreeMap<RelPath, Option<Vec<u8>>> {
        let files = self.files.iter();
        files
            .map(|(path, before, _)| (path.clone(), before.clone()))
            .collect()
    }

    pub(crate) fn directories(&self) -> &[RelPath] {
        &self.directories
    }
}

/// Lists the runs that were cut off, oldest first. Runs that are still at work are not among them.
pub fn unfinished(root: &Root) -> Result<Vec<UnfinishedRun>, Error> {
    let dir = RelPath::parse(UNFINISHED_DIR)?;
    if !root.is_dir(&dir)? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in root.list(&dir)?.into_iter().take(UNFINISHED_MAX) {
        if !entry.path.as_str().ends_with(".jsonl") {
            continue;
        }
        let Some(text) = root.read_text(&entry.path)? else {
            continue;
        };
        found.extend(read(entry.path, &text)?.filter(|one| !root.is_writing(&one.header.token)));
    }
    Ok(found)
}

/// Puts the files of a run that was cut off back as they were.
///
/// A file that is no longer as the run wrote it is left alone, unless the request says to force it:
/// the change may be the user's own.
pub fn undo(
    root: &Root,
    unfinished: &UnfinishedRun,
    request: &RecipeRunRequest,
    host: &mut dyn RecipeHost,
) -> Result<UndoReport, Error> {
    let lock = run::lock_writer(root, request, host)?;
    let force = request.conflicts == OnConflict::Force;
    let mut report = UndoReport::default();
    let mut changes = ChangeSet::new();
    for (path, before, after) in &unfinished.files {
        let current = root.read(path)?;
        if current == *before {
            continue;
        }
        if !force && current.as_deref().map(digest) != *after {
            report.left.push(path.clone());
            continue;
        }
        changes.put(path.clone(), change_to(before.as_deref()));
        report.put_back.push(path.clone());
    }
    let ran = unfinished.commands.iter();
    let ran = ran.filter(|command| command.state != CommandState::NotStarted);
    report.ran = ran.map(|command| command.command.clone()).collect();
    root.apply(&changes)?;
    remove_empty(root, unfinished.directories.clone())?;
    root.remove_own(&unfinished.path)?;
    drop(lock);
    Ok(report)
}

/// Removes directories, deepest first; what has been put into one since keeps it.
pub(crate) fn remove_empty(root: &Root, mut directories: Vec<RelPath>) -> Result<(), Error> {
    directories.sort();
    for dir in directories.into_iter().rev() {
        if root.is_dir(&dir)? && root.list(&dir)?.is_empty() {
            root.apply(&ChangeSet::from_iter([(dir, PathChange::DeleteTree)]))?;
        }
    }
    Ok(())
}

/// Reads a journal; `None` when the process died before its first line was whole.
fn read(path: RelPath, text: &str) -> Result<Option<UnfinishedRun>, Error> {
    let mut lines = text.lines();
    let Some(Ok(header)) = lines.next().map(serde_json::from_str::<RunJournalHeader>) else {
        return Ok(None);
    };
    if header.version != VERSION {
        let message = format!("`{path}` has version {}, not {VERSION}", header.version);
        return Err(Error::new(RecipeErrorKind::Unsupported, message)
            .hint("use the drawloom that wrote it"));
    }
    let mut unfinished = UnfinishedRun {
        header,
        path,
        files: Vec::new(),
        directories: Vec::new(),
        commands: Vec::new(),
    };
    // The last line may be torn; the effect it announces had not been performed yet, or only just.
    for entry in lines.filter_map(|line| serde_json::from_str(line).ok()) {
        unfinished.take(entry);
    }
    Ok(Some(unfinished))
}

impl UnfinishedRun {
    fn take(&mut self, entry: RunJournalEntry) {
        match entry {
            RunJournalEntry::Files { files } => {
                for FileEntry {
                    path,
                    before,
                    after,
                } in files
                {
                    let known = self.files.iter().position(|(known, ..)| *known == path);
                    match known {
                        // The first stage of a run saw the file as it was before.
                        Some(index) => self.files[index].2 = after,
                        None => {
                            let before = before.map(|digits| from_hex(&digits));
                            self.files.push((path, before, after));
                        }
                    }
                }
            }
            RunJournalEntry::Commands { commands } => {
                let planned = commands.into_iter().map(|command| UnfinishedCommand {
                    id: command.id,
                    step: command.step,
                    command: command.command,
                    state: CommandState::NotStarted,
                });
                self.commands.extend(planned);
            }
            RunJournalEntry::Applied { directories } => self.directories.extend(directories),
            RunJournalEntry::Started { id } => self.set(id, CommandState::Interrupted),
            RunJournalEntry::Ended {
                id,
                succeeded: true,
            } => self.set(id, CommandState::Done),
            RunJournalEntry::Ended { id, .. } => self.set(id, CommandState::Failed),
        }
    }

    fn set(&mut self, id: usize, state: CommandState) {
        if let Some(command) = self.commands.iter_mut().find(|command| command.id == id) {
            command.state = state;
        }
    }
}

fn change_to(before: Option<&[u8]>) -> PathChange {
    match before {
        Some(bytes) => PathChange::Write {
            bytes: bytes.to_vec(),
            executable: false,
        },
        None => PathChange::Delete,
    }
}

fn line(entry: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(entry).map_err(|error| Error::new(RecipeErrorKind::Io, error.to_string()))
}

fn digest(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.filter_map(byte).collect()
}
