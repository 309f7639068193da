//! An outside agent, such as `claude -p {prompt}`, in the place of a model.
//!
//! It works in a copy of the project, with its own tools. What it changed there is read from the
//! copy and becomes calls of our own tools, so that the same loop judges every change by the same
//! policy, performs what is allowed, keeps it, and says what is refused. The copy has what a model
//! may read and git does not ignore, and is thrown away. Where no tools are offered, such as for a
//! plan, only what the program says counts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use exec::{AGENT_MARKERS, Cancel, Env, Invocation, Outcome, Status};
use llm::{
    Arguments, Code, Error, Model, Observer, Part, Pending, Provider, Request, Response, Role,
    Stop, ToolCall, Usage,
};
use serde_json::{Value, json};
use transport::{ARGUMENT_BYTES_MAX, CommandPlan};
use workspace::{Change, ChangeSet, Durability, Kind, Policy, PolicySettings, RelPath, Root};
use workspace::{WalkOptions, Workspace, fs};

/// Changes in one turn; what is more goes into the next.
const CALLS_PER_TURN: usize = 50;
/// Where the prompt goes in a command line.
const PLACEHOLDER: &str = "{prompt}";
/// What the program is told before the task.
const PREFACE: &str = "You are in a copy of the project, in the current directory. Do the task below \
by changing files here directly, with your own means: tools that are named below and that you do not \
have do not matter. Your changes are read from this directory afterwards and checked. Do not commit. \
When you are done, say in a few sentences what you did.";

/// What it is told where only its answer counts.
const QUESTION_PREFACE: &str = "You are in a copy of the project, in the current directory, to look \
at. Answer what is asked below, and print nothing else than the answer. Do not change files: only \
what you print is read.";

/// A program that works like an agent.
pub(super) struct Outside {
    pub(super) plan: CommandPlan,
    pub(super) folder: PathBuf,
    pub(super) policy: PolicySettings,
    pub(super) files: workspace::Limits,
    /// Changes that did not fit into the last turn.
    pub(super) left: Mutex<Vec<Edit>>,
}

/// One thing the program changed.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    Write(RelPath, String),
    Delete(RelPath),
}

impl Model for Outside {
    fn respond<'a>(&'a self, request: &'a Request, _observer: &'a mut dyn Observer) -> Pending<'a> {
        Box::pin(self.answer(request))
    }
}

impl Outside {
    async fn answer(&self, request: &Request) -> Result<Response, Error> {
        let last = request.messages.last();
        let parts = last
            .map(|message| message.parts.as_slice())
            .unwrap_or_default();
        let has_results = parts.iter().any(|part| matches!(part, Part::ToolResult(_)));
        let was_told = parts.iter().any(|part| matches!(part, Part::Text(_)));
        if has_results && !was_told {
            let left = std::mem::take(&mut *self.left());
            return Ok(self.response(request, said(request), left));
        }
        // Dropped with the future: whoever no longer waits ends the program.
        let guard = CancelOnDrop(Cancel::default());
        let work = Work {
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
            Err(Error::new(Code::TransportFailed, what, "Report this."))
        })?;
        // A plan is words; whoever begins to carry it out has nobody's leave yet.
        let edits = match may_write(request) {
            true => edits,
            false => Vec::new(),
        };
        Ok(self.response(request, text, edits))
    }

    /// What was said, with as many changes as one turn takes.
    fn response(&self, request: &Request, text: String, mut edits: Vec<Edit>) -> Response {
        let later = edits.split_off(edits.len().min(CALLS_PER_TURN));
        *self.left() = later;
        let turn = request.messages.len();
        let calls = edits.iter().enumerate().map(|(index, edit)| {
            let (name, arguments) = edit.call();
            Part::ToolCall(ToolCall {
                id: format!("change-{turn}-{index}"),
                name: name.to_owned(),
                arguments: Arguments::read(arguments.to_string()),
                signature: None,
            })
        });
        let parts: Vec<Part> = std::iter::once(Part::Text(text)).chain(calls).collect();
        Response {
            stop: if parts.len() > 1 {
                Stop::ToolUse
            } else {
                Stop::EndTurn
            },
            parts,
            usage: Usage::default(),
            billed_micro_usd: None,
            provider: Provider::Compatible,
            model: self.plan.words.program.clone(),
            id: None,
        }
    }

    fn left(&self) -> std::sync::MutexGuard<'_, Vec<Edit>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Edit {
    fn call(&self) -> (&'static str, Value) {
        match self {
            Edit::Write(path, text) => (
                "write_file",
                json!({"path": path.as_str(), "content": text}),
            ),
            Edit::Delete(path) => {
                let diff = format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n");
                ("apply_diff", json!({"diff": diff}))
            }
        }
    }
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Whether whoever is asked may change files, or only look at them.
fn may_write(request: &Request) -> bool {
    request.tools.iter().any(|tool| tool.name == "write_file")
}

/// Everything that was asked, in order: the program remembers nothing.
fn prompt(request: &Request) -> String {
    let preface = match may_write(request) {
        true => PREFACE,
        false => QUESTION_PREFACE,
    };
    let mut texts = vec![preface.to_owned()];
    texts.extend(request.system.iter().map(|block| block.text.clone()));
    for message in &request.messages {
        for part in &message.parts {
            match (message.role, part) {
                (Role::User, Part::Text(text)) => texts.push(text.clone()),
                (Role::Assistant, Part::Text(text)) => texts.push(format!("You said:\n{text}")),
                _ => {}
            }
        }
    }
    texts.join("\n\n")
}

/// What the program said last.
fn said(request: &Request) -> String {
    let mut messages = request.messages.iter().rev();
    let last = messages.find(|message| message.role == Role::Assistant);
    let parts = last
        .map(|message| message.parts.as_slice())
        .unwrap_or_default();
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// One run of the program in a copy.
struct Work {
    plan: CommandPlan,
    folder: PathBuf,
    policy: PolicySettings,
    files: workspace::Limits,
    prompt: String,
    cancel: Cancel,
}

type Files = BTreeMap<RelPath, Vec<u8>>;

impl Work {
    fn carry_out(&self) -> Result<(String, Vec<Edit>), Error> {
        let scratch = fs::scratch_dir().map_err(|cause| copying(&cause))?;
        let before = self.copy(scratch.path()).map_err(|cause| copying(&cause))?;
        let outcome = exec::run(&self.invocation(scratch.path())).map_err(|cause| {
            Error::new(
                Code::TransportFailed,
                cause.to_string(),
                "`ai.command` names it.",
            )
        })?;
        if outcome.status != Status::Exited(0) {
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
    fn copy(&self, to: &std::path::Path) -> Result<Files, workspace::Error> {
        let policy = Policy::new(&self.policy)?;
        let project = Workspace::open(&self.folder, policy, self.files)?;
        let root = Root::open(&self.folder)?;
        let tree = project.walk(&WalkOptions::new(RelPath::root()))?;
        let mut files = Files::new();
        let mut changes = ChangeSet::new();
        for entry in tree
            .entries
            .into_iter()
            .filter(|entry| entry.kind == Kind::File)
        {
            let Ok(Some(bytes)) = project.read(&entry.path) else {
                continue;
            };
            let executable = root.is_executable(&entry.path)?;
            let change = Change::Write {
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
            .env(Env::default().remove_all(AGENT_MARKERS))
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

    fn failed(&self, outcome: &Outcome) -> Error {
        let program = &self.plan.words.program;
        let said = outcome.stderr_text();
        let last = said
            .trim()
            .lines()
            .last()
            .unwrap_or("it said nothing")
            .to_owned();
        Error::new(
            Code::TransportFailed,
            format!("`{program}` {} ({last})", outcome.status),
            "Nothing of what it changed was taken over. Mend `ai.command`, or resume to try again.",
        )
    }
}

fn copying(cause: &workspace::Error) -> Error {
    Error::new(
        Code::TransportFailed,
        format!("the copy of the project could not be made or read: {cause}"),
        "Make room in the directory for temporary files, and resume.",
    )
}

/// All plain files of the copy, ours and git's own left out.
fn everything(copy: &std::path::Path) -> Result<Files, workspace::Error> {
    let root = Root::open(copy)?;
    let mut files = Files::new();
    for entry in root.walk(&RelPath::root())? {
        let first = entry.path.names().next().unwrap_or_default();
        if entry.kind != Kind::File || first == ".git" || first == ".drawloom" {
            continue;
        }
        if let Some(bytes) = root.read(&entry.path)? {
            files.insert(entry.path, bytes);
        }
    }
    Ok(files)
}

/// What is different, and sentences about what cannot be taken over.
fn compare(before: &Files, after: Files) -> (Vec<Edit>, Vec<String>) {
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let mut edits: Vec<Edit> = gone.map(|path| Edit::Delete(path.clone())).collect();
    let mut notes = Vec::new();
    for (path, bytes) in after {
        if before.get(&path) == Some(&bytes) {
            continue;
        }
        match String::from_utf8(bytes) {
            Ok(text) => edits.push(Edit::Write(path, text)),
            Err(_) => notes.push(format!("Not taken over: `{path}` is not a text.")),
        }
    }
    (edits, notes)
}
