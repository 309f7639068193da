//! An outside agent, such as `claude -p {prompt}`, in the place of a model.
//!
//! It works in a copy of the project, with its own tools. Its changes are read from the copy and
//! become calls of our own tools, so that the same loop checks every change against the same
//! policy, performs and stores the allowed ones, and reports the refused ones. The copy has the
//! files that a model may read and git does not ignore, and is deleted afterwards. Where no tools
//! are offered, such as for a plan, only the program's answer counts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use exec::{
    AGENT_MARKERS, ChildEnvironment, CommandCancel, CommandOutcome, CommandStatus, Invocation,
};
use llm::{
    AiErrorCode, ChatRole, Error, MessagePart, Model, ModelFuture, ModelObserver, ModelRequest,
    ModelResponse, Provider, StopReason, ToolArguments, ToolCall, Usage,
};
use serde_json::{Value, json};
use transport::{ARGUMENT_BYTES_MAX, CommandPlan};
use workspace::{
    AccessPolicy, ChangeSet, Durability, PathChange, PathKind, PolicySettings, RelPath, Root,
};
use workspace::{WalkOptions, Workspace, fs};

/// Number of changes in one turn; further ones go into the next turn.
const CALLS_PER_TURN: usize = 50;
/// Placeholder of the prompt in a command line.
const PLACEHOLDER: &str = "{prompt}";
/// Text before the task in the program's prompt.
const PREFACE: &str = "You are in a copy of the project, in the current directory. Do the task below \
by changing files here directly, with your own means: tools that are named below and that you do not \
have do not matter. Your changes are read from this directory afterwards and checked. Do not commit. \
When you are done, say in a few sentences what you did.";

/// Text before the task if only the program's answer counts.
const QUESTION_PREFACE: &str = "You are in a copy of the project, in the current directory, to look \
at. Answer what is asked below, and print nothing else than the answer. Do not change files: only \
what you print is read.";

/// A program that works like an agent.
pub(super) struct ExternalAgent {
    pub(super) plan: CommandPlan,
    pub(super) folder: PathBuf,
    pub(super) policy: PolicySettings,
    pub(super) files: workspace::Limits,
    /// Changes that did not fit into the last turn.
    pub(super) left: Mutex<Vec<ExternalEdit>>,
}

/// One thing the program changed.
#[derive(Clone, Debug)]
pub(super) enum ExternalEdit {
    Write(RelPath, String),
    Delete(RelPath),
}

impl Model for ExternalAgent {
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _observer: &'a mut dyn ModelObserver,
    ) -> ModelFuture<'a> {
        Box::pin(self.answer(request))
    }
}

impl ExternalAgent {
    async fn answer(&self, request: &ModelRequest) -> Result<ModelResponse, Error> {
        let last = request.messages.last();
        let parts = last
            .map(|message| message.parts.as_slice())
            .unwrap_or_default();
        let has_results = parts
            .iter()
            .any(|part| matches!(part, MessagePart::ToolResult(_)));
        let was_told = parts
            .iter()
            .any(|part| matches!(part, MessagePart::Text(_)));
        if has_results && !was_told {
            let left = std::mem::take(&mut *self.left());
            return Ok(self.response(request, said(request), left));
        }
        // Dropped with the future: when the caller stops waiting, the program ends.
        let guard = AgentCancelGuard(CommandCancel::default());
        let work = ExternalRun {
            plan: self.plan.clone(),
            folder: self.folder.clone(),
            policy: self.policy.clone(),
            files: self.files,
            prompt: prompt(request),
            cancel: guard.0.clone(),
        };
        let done = tokio::task::spawn_blocking(move || work.carry_out()).await;
        let (text, edits) = done.unwrap_or_else(|cause| {
            let what = format!("the work in the copy broke down: {cause}");
            Err(Error::new(
                AiErrorCode::TransportFailed,
                what,
                "Report this.",
            ))
        })?;
        // A plan is only text, so edits that the program made while planning are discarded.
        let edits = match may_write(request) {
            true => edits,
            false => Vec::new(),
        };
        Ok(self.response(request, text, edits))
    }

    /// Makes the response: the program's text, with as many edits as one turn takes.
    fn response(
        &self,
        request: &ModelRequest,
        text: String,
        mut edits: Vec<ExternalEdit>,
    ) -> ModelResponse {
        let later = edits.split_off(edits.len().min(CALLS_PER_TURN));
        *self.left() = later;
        let turn = request.messages.len();
        let calls = edits.iter().enumerate().map(|(index, edit)| {
            let (name, arguments) = edit.call();
            MessagePart::ToolCall(ToolCall {
                id: format!("change-{turn}-{index}"),
                name: name.to_owned(),
                arguments: ToolArguments::read(arguments.to_string()),
                signature: None,
            })
        });
        let parts: Vec<MessagePart> = std::iter::once(MessagePart::Text(text))
            .chain(calls)
            .collect();
        ModelResponse {
            stop: if parts.len() > 1 {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            },
            parts,
            usage: Usage::default(),
            billed_micro_usd: None,
            provider: Provider::Compatible,
            model: self.plan.words.program.clone(),
            id: None,
        }
    }

    fn left(&self) -> std::sync::MutexGuard<'_, Vec<ExternalEdit>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ExternalEdit {
    fn call(&self) -> (&'static str, Value) {
        match self {
            ExternalEdit::Write(path, text) => (
                "write_file",
                json!({"path": path.as_str(), "content": text}),
            ),
            ExternalEdit::Delete(path) => {
                let diff = format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n");
                ("apply_diff", json!({"diff": diff}))
            }
        }
    }
}

struct AgentCancelGuard(CommandCancel);

impl Drop for AgentCancelGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Returns true if the request allows changes to files.
fn may_write(request: &ModelRequest) -> bool {
    request.tools.iter().any(|tool| tool.name == "write_file")
}

/// Writes the whole conversation as one prompt, because the program remembers nothing.
fn prompt(request: &ModelRequest) -> String {
    let preface = match may_write(request) {
        true => PREFACE,
        false => QUESTION_PREFACE,
    };
    let mut texts = vec![preface.to_owned()];
    texts.extend(request.system.iter().map(|block| block.text.clone()));
    for message in &request.messages {
        for part in &message.parts {
            match (message.role, part) {
                (ChatRole::User, MessagePart::Text(text)) => texts.push(text.clone()),
                (ChatRole::Assistant, MessagePart::Text(text)) => {
                    texts.push(format!("You said:\n{text}"))
                }
                _ => {}
            }
        }
    }
    texts.join("\n\n")
}

/// Returns the program's last message.
fn said(request: &ModelRequest) -> String {
    let mut messages = request.messages.iter().rev();
    let last = messages.find(|message| message.role == ChatRole::Assistant);
    let parts = last
        .map(|message| message.parts.as_slice())
        .unwrap_or_default();
    let texts = parts.iter().filter_map(|part| match part {
        MessagePart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// One run of the program in a copy.
struct ExternalRun {
    plan: CommandPlan,
    folder: PathBuf,
    policy: PolicySettings,
    files: workspace::Limits,
    prompt: String,
    cancel: CommandCancel,
}

type FileContents = BTreeMap<RelPath, Vec<u8>>;

impl ExternalRun {
    fn carry_out(&self) -> Result<(String, Vec<ExternalEdit>), Error> {
        let scratch = fs::scratch_dir().map_err(|cause| copying(&cause))?;
        let before = self.copy(scratch.path()).map_err(|cause| copying(&cause))?;
        let outcome = exec::run(&self.invocation(scratch.path())).map_err(|cause| {
            Error::new(
                AiErrorCode::TransportFailed,
                cause.to_string(),
                "`ai.command` names it.",
            )
        })?;
        if outcome.status != CommandStatus::Exited(0) {
            return Err(self.failed(&outcome));
        }
        let after = everything(scratch.path()).map_err(|cause| copying(&cause))?;
        let (edits, notes) = compare(&before, after);
        let mut text = outcome.stdout_text().trim().to_owned();
        if text.is_empty() {
            text = format!("`{}` is done and said nothing.", self.plan.words.program);
        }
        for note in notes {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        Ok((text, edits))
    }

    /// Copies what a model may read. Files that are too large stay behind and count as unchanged.
    fn copy(&self, to: &std::path::Path) -> Result<FileContents, workspace::Error> {
        let policy = AccessPolicy::new(&self.policy)?;
        let project = Workspace::open(&self.folder, policy, self.files)?;
        let root = Root::open(&self.folder)?;
        let tree = project.walk(&WalkOptions::new(RelPath::root()))?;
        let mut files = FileContents::new();
        let mut changes = ChangeSet::new();
        for entry in tree
            .entries
            .into_iter()
            .filter(|entry| entry.kind == PathKind::File && !is_kept_out(&entry.path))
        {
            let Ok(Some(bytes)) = project.read(&entry.path) else {
                continue;
            };
            let executable = root.is_executable(&entry.path)?;
            let change = PathChange::Write {
                bytes: bytes.clone(),
                executable,
            };
            changes.put(entry.path.clone(), change);
            files.insert(entry.path, bytes);
        }
        Root::open(to)?.apply_surviving(&changes, Durability::Kill)?;
        Ok(files)
    }

    fn invocation(&self, cwd: &std::path::Path) -> Invocation {
        let words = &self.plan.words;
        let invocation = Invocation::new(&words.program)
            .cwd(cwd)
            .env(ChildEnvironment::default().remove_all(AGENT_MARKERS))
            .timeout(self.plan.timeout)
            .output_bytes_max(self.plan.output_bytes_max)
            .cancel(self.cancel.clone());
        let takes_argument = words
            .arguments
            .iter()
            .any(|word| word.contains(PLACEHOLDER));
        if takes_argument && self.prompt.len() < ARGUMENT_BYTES_MAX && !self.prompt.contains('\0') {
            let filled = words
                .arguments
                .iter()
                .map(|word| word.replace(PLACEHOLDER, &self.prompt));
            return invocation.args(filled);
        }
        let plain = words.arguments.iter().filter(|word| *word != PLACEHOLDER);
        invocation.args(plain).stdin(self.prompt.as_str())
    }

    fn failed(&self, outcome: &CommandOutcome) -> Error {
        let program = &self.plan.words.program;
        let said = outcome.stderr_text();
        let last = said
            .trim()
            .lines()
            .last()
            .unwrap_or("it said nothing")
            .to_owned();
        Error::new(
            AiErrorCode::TransportFailed,
            format!("`{program}` {} ({last})", outcome.status),
            "None of its changes were taken over. Correct `ai.command`, or resume to try again.",
        )
    }
}

fn copying(cause: &workspace::Error) -> Error {
    Error::new(
        AiErrorCode::TransportFailed,
        format!("the copy of the project could not be made or read: {cause}"),
        "Make room in the directory for temporary files, and resume.",
    )
}

/// Returns true if a file is ours or git's own: it stays out of the copy, and changes to it are
/// ignored.
fn is_kept_out(path: &RelPath) -> bool {
    matches!(path.names().next(), Some(".git" | ".drawloom"))
}

/// Reads all plain files of the copy, except ours and git's own.
fn everything(copy: &std::path::Path) -> Result<FileContents, workspace::Error> {
    let root = Root::open(copy)?;
    let mut files = FileContents::new();
    for entry in root.walk(&RelPath::root())? {
        if entry.kind != PathKind::File || is_kept_out(&entry.path) {
            continue;
        }
        if let Some(bytes) = root.read(&entry.path)? {
            files.insert(entry.path, bytes);
        }
    }
    Ok(files)
}

/// Returns the edits between two states of the files, and sentences about changes that cannot be
/// taken over.
fn compare(before: &FileContents, after: FileContents) -> (Vec<ExternalEdit>, Vec<String>) {
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let mut edits: Vec<ExternalEdit> = gone
        .map(|path| ExternalEdit::Delete(path.clone()))
        .collect();
    let mut notes = Vec::new();
    for (path, bytes) in after {
        if before.get(&path) == Some(&bytes) {
            continue;
        }
        match String::from_utf8(bytes) {
            Ok(text) => edits.push(ExternalEdit::Write(path, text)),
            Err(_) => notes.push(format!("Not taken over: `{path}` is not a text.")),
        }
    }
    (edits, notes)
}
