//! Effects: what a run will do, as data. Deciding makes them, `perform` does them, a dry run shows them.

use std::time::Duration;

use expr::shell::FilledCommand;
use serde::Serialize;
use workspace::RelPath;

/// One thing a run does to the project, in the order it was decided.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum Effect {
    /// A file as it will be. Injections and patches are writes by the time they get here.
    Write(FileWrite),
    /// A directory that will exist.
    EnsureDir { path: RelPath, step: String },
    /// A file that already is as it should be.
    Unchanged {
        path: RelPath,
        step: String,
        /// The whole text, when a template gave it.
        #[serde(skip)]
        generated: Option<Vec<u8>>,
    },
    /// A file that is left alone.
    Skipped {
        path: String,
        reason: String,
        step: String,
    },
    /// Commands to run once the files are there.
    Run(CommandTree),
    /// Something to tell the user at the end.
    Message { text: String, step: String },
}

/// A file to write.
#[derive(Clone, Debug, Serialize)]
pub struct FileWrite {
    pub path: RelPath,
    #[serde(skip)]
    pub content: Vec<u8>,
    pub executable: bool,
    pub status: FileStatus,
    pub step: String,
    /// The content depends on what a command will print, so it is not final.
    pub provisional: bool,
    /// True if the whole file comes from a template, so that `update` can merge a newer one.
    #[serde(skip)]
    pub generated: bool,
    /// Reason why a recipe from outside needs trust for it: the file would run something later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_trust: Option<String>,
}

/// Fate of a file, in a report or in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileStatus {
    Created,
    /// Changed by a patch, or replaced because it may be.
    Modified,
    Injected,
    /// Replaced although it differed.
    Forced,
    Unchanged,
    Skipped,
    /// Exists and differs, and no decision was made yet.
    Conflict,
}

/// Commands in the shape they run in.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum CommandTree {
    One(Box<StepCommand>),
    /// One after the other.
    Sequence {
        sequence: Vec<CommandTree>,
    },
    /// At the same time, at most `limit` of them.
    Parallel {
        parallel: Vec<CommandTree>,
        limit: usize,
    },
}

/// One command.
#[derive(Clone, Debug, Serialize)]
pub struct StepCommand {
    #[serde(skip)]
    pub id: usize,
    pub step: String,
    pub what: CommandInvocation,
    /// The directory it runs in, seen from the project's root.
    pub cwd: RelPath,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    #[serde(skip)]
    pub stdin: Option<String>,
    #[serde(skip)]
    pub timeout: Option<Duration>,
    pub retries: u32,
    /// True if stdout is read by the recipe and not shown to people.
    #[serde(skip)]
    pub prints_data: bool,
    /// A failure is reported and the run goes on.
    pub continue_on_error: bool,
    /// It comes from a recipe that is not the project's own.
    pub outside: bool,
    /// The file that declares the step.
    pub file: String,
    pub line: u32,
}

/// The program or shell line a command starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CommandInvocation {
    /// A line for `sh`, with its values in variables. Shown as a person would type it.
    #[serde(serialize_with = "shown")]
    Shell(FilledCommand),
    Program(Vec<String>),
}

impl FileStatus {
    /// Returns the word that reports and `--json` use.
    pub fn as_str(self) -> &'static str {
        match self {
            FileStatus::Created => "created",
            FileStatus::Modified => "modified",
            FileStatus::Injected => "injected",
            FileStatus::Forced => "forced",
            FileStatus::Unchanged => "unchanged",
            FileStatus::Skipped => "skipped",
            FileStatus::Conflict => "conflict",
        }
    }
}

fn shown<S: serde::Serializer>(line: &FilledCommand, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&line.shown)
}

impl CommandInvocation {
    /// Returns the command as a person would type it.
    pub fn line(&self) -> String {
        match self {
            CommandInvocation::Shell(line) => line.shown.clone(),
            CommandInvocation::Program(words) => {
                let joined = shlex::try_join(words.iter().map(String::as_str));
                joined.unwrap_or_else(|_| words.join(" "))
            }
        }
    }
}

impl CommandTree {
    /// Returns every command, in order.
    pub fn commands(&self) -> Vec<&StepCommand> {
        match self {
            CommandTree::One(command) => vec![command],
            CommandTree::Sequence { sequence: runs }
            | CommandTree::Parallel { parallel: runs, .. } => {
                runs.iter().flat_map(CommandTree::commands).collect()
            }
        }
    }
}
