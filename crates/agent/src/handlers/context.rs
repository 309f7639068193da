//! The context of a task: its input artifacts as labelled blocks, within a budget.
//!
//! Nothing here is fatal. What is missing, denied or unreadable is a labelled note, what is too
//! long loses its middle, and the place says how much went. Files are read only through the policed
//! workspace, so a task file cannot show a model what its tools may not read.

use serde::{Deserialize, Serialize};
use workspace::{PathKind, RelPath, Workspace, WorkspaceErrorKind};

use super::handler_context::{HandlerContext, TaskLimits};
use super::prompt::fenced;
use super::{TaskInput, tree};
use crate::task::TaskName;

/// The largest file read into the context; the model can read parts of larger ones.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Less than this of an artifact is of no use.
const SHARE_BYTES_MIN: usize = 200;

/// The result of an earlier task, for the model to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierResult {
    /// The task.
    pub task: TaskName,
    /// Words for people.
    pub name: String,
    /// The model's last words in it.
    pub content: String,
}

/// An input artifact that the model was not shown as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextNote {
    /// The artifact, as the task names it.
    pub artifact: String,
    /// The kind of problem.
    pub kind: NoteKind,
    /// The same as a sentence.
    pub message: String,
}

/// A problem with an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// It does not exist.
    Missing,
    /// The policy refuses it, or it is not a path inside the project.
    Denied,
    /// It is no text, too large, or the system refused.
    Unreadable,
    /// Its middle is left out.
    Shortened,
    /// All of it is left out.
    LeftOut,
}

/// The text shown to the model, and the problems met while gathering it.
pub(super) struct TaskContext {
    pub(super) text: String,
    pub(super) notes: Vec<ContextNote>,
    pub(super) artifacts: usize,
    pub(super) tokens: usize,
}

/// One block of the context.
struct ContextBlock {
    artifact: String,
    label: String,
    language: String,
    body: Result<String, NoteKind>,
    note: Option<String>,
}

/// Reads everything the order names.
pub(super) fn gather(bench: &HandlerContext<'_>, order: TaskInput<'_>) -> TaskContext {
    let mut pieces: Vec<ContextBlock> = order.earlier.iter().map(earlier_piece).collect();
    let mut seen: Vec<&str> = Vec::new();
    for artifact in &order.task.input_artifacts {
        if !seen.contains(&artifact.as_str()) {
            seen.push(artifact);
            pieces.push(piece(bench.workspace, artifact, bench.task_limits));
        }
    }
    fit(pieces, bench.task_limits)
}

fn earlier_piece(earlier: &EarlierResult) -> ContextBlock {
    ContextBlock {
        artifact: format!("task {}", earlier.task),
        label: format!(
            "Result of the earlier task `{}` ({})",
            earlier.task, earlier.name
        ),
        language: String::new(),
        body: Ok(earlier.content.clone()),
        note: None,
    }
}

fn piece(workspace: &Workspace, artifact: &str, limits: &TaskLimits) -> ContextBlock {
    let refused = |kind: NoteKind, why: String| ContextBlock {
        artifact: artifact.to_owned(),
        label: format!("`{artifact}`"),
        language: String::new(),
        body: Err(kind),
        note: Some(why),
    };
    let failed = |error: &workspace::Error| {
        let kind = match error.kind() {
            WorkspaceErrorKind::Denied
            | WorkspaceErrorKind::Escape
            | WorkspaceErrorKind::InvalidPath => NoteKind::Denied,
            _ => NoteKind::Unreadable,
        };
        refused(kind, error.to_string())
    };
    let path = match RelPath::parse(artifact) {
        Ok(path) => path,
        Err(error) => return failed(&error),
    };
    match workspace.kind(&path) {
        Ok(None) => refused(NoteKind::Missing, format!("there is no `{path}`")),
        Ok(Some(PathKind::Dir)) => match tree::render(workspace, &path, limits.tree_entries_max) {
            Ok((body, note)) => ContextBlock {
                artifact: artifact.to_owned(),
                label: format!("Directory `{path}`"),
                language: String::new(),
                body: Ok(body),
                note,
            },
            Err(error) => failed(&error),
        },
        Ok(Some(_)) => match read(workspace, &path) {
            Ok(body) => ContextBlock {
                artifact: artifact.to_owned(),
                label: match body.lines().count() {
                    1 => format!("File `{path}` (1 line)"),
                    lines => format!("File `{path}` ({lines} lines)"),
                },
                language: path.extension().unwrap_or_default().to_owned(),
                body: Ok(body),
                note: None,
            },
            Err(error) => failed(&error),
        },
        Err(error) => failed(&error),
    }
}

fn read(workspace: &Workspace, path: &RelPath) -> Result<String, workspace::Error> {
    let bytes = workspace
        .read_at_most(path, FILE_BYTES_MAX)?
        .unwrap_or_default();
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        // For the words of its error.
        Err(_) => Ok(workspace.read_text(path)?.unwrap_or_default()),
    }
}

/// Cuts the pieces to the budget: short ones stay whole, long ones share what is left.
fn fit(pieces: Vec<ContextBlock>, limits: &TaskLimits) -> TaskContext {
    let bytes_max = diagnostics::bytes_of_tokens(limits.context_tokens_max);
    let frame =
        |piece: &ContextBlock| piece.label.len() + piece.note.as_ref().map_or(0, String::len) + 24;
    let frames: usize = pieces.iter().map(frame).sum();
    let sizes: Vec<usize> = pieces
        .iter()
        .map(|piece| piece.body.as_ref().map_or(0, String::len))
        .collect();
    let share = share(sizes, bytes_max.saturating_sub(frames));
    let mut context = TaskContext {
        text: String::new(),
        notes: Vec::new(),
        artifacts: pieces.len(),
        tokens: 0,
    };
    for piece in pieces {
        put(&mut context, piece, share, limits.context_tokens_max);
    }
    context.tokens = diagnostics::tokens_of_bytes(context.text.len());
    context
}

fn put(context: &mut TaskContext, piece: ContextBlock, share: usize, tokens_max: usize) {
    let mut note = |kind: NoteKind, message: &str| {
        context.notes.push(ContextNote {
            artifact: piece.artifact.clone(),
            kind,
            message: message.to_owned(),
        });
    };
    let label = &piece.label;
    let body = match &piece.body {
        Ok(body) => body,
        Err(kind) => {
            let why = piece.note.unwrap_or_default();
            note(*kind, &why);
            let word = match kind {
                NoteKind::Missing => "not found",
                NoteKind::Denied => "denied",
                _ => "not readable",
            };
            context
                .text
                .push_str(&format!("### {label}: {word}\n\n{why}\n\n"));
            return;
        }
    };
    if let Some(why) = &piece.note {
        note(NoteKind::Shortened, why);
    }
    if body.len() <= share {
        context.text.push_str(&format!(
            "### {label}\n\n{}\n",
            fenced(&piece.language, body)
        ));
        return;
    }
    if share < SHARE_BYTES_MIN {
        let why = format!(
            "left out, all {} lines: there is no room (agent.context_tokens_max = {tokens_max})",
            body.lines().count()
        );
        note(NoteKind::LeftOut, &why);
        context
            .text
            .push_str(&format!("### {label}: left out\n\n{why}\n\n"));
        return;
    }
    let (shortened, why) = shorten(body, share, tokens_max);
    note(NoteKind::Shortened, &why);
    let block = fenced(&piece.language, &shortened);
    context
        .text
        .push_str(&format!("### {label}, shortened: {why}\n\n{block}\n"));
}

/// Returns the size to which long pieces are cut so that all fit.
fn share(mut sizes: Vec<usize>, room: usize) -> usize {
    sizes.sort_unstable();
    let mut left = room;
    for (at, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - at);
        if *size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

/// Returns a text without the lines in its middle, and how many those were.
fn shorten(body: &str, bytes: usize, tokens_max: usize) -> (String, String) {
    let lines: Vec<&str> = body.lines().collect();
    let fitting = |lines: &mut dyn Iterator<Item = &&str>, room: usize| {
        let mut used = 0;
        lines
            .take_while(|line| {
                used += line.len() + 1;
                used <= room
            })
            .count()
    };
    // The beginning says more about a file than its end.
    let head = fitting(&mut lines.iter(), bytes / 3 * 2);
    let tail = fitting(&mut lines.iter().rev(), bytes / 3).min(lines.len() - head);
    let left_out = lines.len() - head - tail;
    let why = format!(
        "{left_out} of {} lines are left out (agent.context_tokens_max = {tokens_max})",
        lines.len()
    );
    let mut text = lines[..head].join("\n");
    text.push_str(&format!(
        "\n[… lines {} to {} left out …]\n",
        head + 1,
        head + left_out
    ));
    text.push_str(&lines[lines.len() - tail..].join("\n"));
    (text, why)
}
