//! The person at the terminal: asked for values, shown differences, told what happens.

use std::time::{Duration, Instant};

use dialoguer::theme::ColorfulTheme;
use dialoguer::{Confirm, Input, MultiSelect, Select};
use recipe::{
    AskKind, ConflictDecision, FileConflict, RecipeEvent, RecipeHost, ValueCheck, VariablePrompt,
};
use serde_json::Value;
use workspace::diff::ContentDiff;

use crate::output::OutputFormat;
use crate::progress::ProgressSpinner;
use crate::{diff, interrupt, output};

/// Shows or hides the output of a recipe's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEcho {
    /// Their lines go to stderr as they come.
    Lines,
    /// The result is for a program; only it is printed.
    Nothing,
}

impl From<OutputFormat> for CommandEcho {
    fn from(form: OutputFormat) -> Self {
        match form {
            OutputFormat::Text => Self::Lines,
            OutputFormat::Json => Self::Nothing,
        }
    }
}

/// Answers a run's questions if a person is at the terminal, and shows its progress.
pub(crate) struct TerminalPerson {
    is_there: bool,
    echo: CommandEcho,
    progress: Option<ProgressSpinner>,
    /// Number of files written and not yet reported; the end of the run names them.
    written: usize,
    /// The decision for every further file that exists and differs.
    for_all: Option<ConflictDecision>,
    waiting_since: Option<Instant>,
}

/// A shorter wait for another writer is not worth a line.
const QUIET_WAIT: Duration = Duration::from_secs(1);

impl TerminalPerson {
    pub(crate) fn new(echo: CommandEcho) -> Self {
        Self {
            is_there: echo == CommandEcho::Lines && output::has_person(),
            echo,
            progress: None,
            written: 0,
            for_all: None,
            waiting_since: None,
        }
    }

    /// Says once for whom the run waits; after that the line on the terminal shows that it still does.
    fn wait(&mut self, command: Option<&str>, pid: Option<u32>) {
        let since = self.waiting_since.get_or_insert_with(Instant::now);
        if since.elapsed() < QUIET_WAIT || self.progress.is_some() {
            return;
        }
        let who = match (command, pid) {
            (Some(command), Some(pid)) => format!("`{command}` (process {pid})"),
            _ => "another process".to_owned(),
        };
        self.say(format!(
            "waiting for {who}, which is writing to this project"
        ));
        self.progress = Some(ProgressSpinner::start(format!("waiting for {who}")));
    }

    fn say(&self, text: impl AsRef<str>) {
        if self.echo == CommandEcho::Lines {
            output::say(text);
        }
    }
}

impl RecipeHost for TerminalPerson {
    fn ask(&mut self, ask: &VariablePrompt, check: &ValueCheck<'_>) -> Option<Value> {
        if !self.is_there {
            return None;
        }
        let _busy = interrupt::InterruptGuard::start();
        answered(&put(ask, check))
    }

    fn resolve(&mut self, conflict: &FileConflict) -> Option<ConflictDecision> {
        if !self.is_there {
            return None;
        }
        if let Some(decision) = self.for_all {
            return Some(decision);
        }
        let _busy = interrupt::InterruptGuard::start();
        let path = conflict.path.as_str();
        let difference = ContentDiff::between(Some(&conflict.existing), Some(&conflict.proposed));
        output::say(format!("\n{path} exists and would change:\n"));
        output::say(diff::render(&difference, path).trim_end());
        let theme = ColorfulTheme::default();
        let chosen = Select::with_theme(&theme)
            .with_prompt(format!("What should happen to {path}?"))
            .items(CHOICES)
            .default(1)
            .interact_opt();
        let decision = match answered(&chosen) {
            Some(Some(0 | 2)) => ConflictDecision::Overwrite,
            Some(Some(1 | 3)) => ConflictDecision::Skip,
            _ => ConflictDecision::Abort,
        };
        if matches!(chosen, Ok(Some(2 | 3))) {
            self.for_all = Some(decision);
        }
        Some(decision)
    }

    fn event(&mut self, event: RecipeEvent<'_>) {
        match event {
            RecipeEvent::WaitingForWriter { command, pid } => self.wait(command, pid),
            RecipeEvent::WriterLocked => {
                self.progress = None;
                self.waiting_since = None;
            }
            RecipeEvent::CommandStarted { step, command } => {
                interrupt::command_started();
                match std::mem::take(&mut self.written) {
                    0 => {}
                    1 => self.say("wrote     1 file"),
                    files => self.say(format!("wrote     {files} files")),
                }
                self.say(format!("run       {command}  ({step})"));
                self.progress = Some(ProgressSpinner::start(format!("running {command}")));
            }
            RecipeEvent::CommandLine { line, .. } => {
                // A command that prints shows by itself that it lives.
                self.progress = None;
                self.say(format!("  {line}"));
            }
            RecipeEvent::CommandFinished {
                command, succeeded, ..
            } => {
                self.progress = None;
                interrupt::command_finished();
                if !succeeded {
                    self.say(format!("failed    {command}"));
                }
            }
            RecipeEvent::RolledBack { files } => {
                let done = match files {
                    1 => "put 1 file back as it was".to_owned(),
                    files => format!("put {files} files back as they were"),
                };
                match interrupt::was_interrupted() && self.echo == CommandEcho::Lines {
                    true => {
                        interrupt::told();
                        self.say(format!("stopped: {done}"));
                    }
                    false => self.say(done),
                }
            }
            RecipeEvent::FilesApplied { created, changed } => self.written += created + changed,
        }
    }
}

/// The choices for a file that exists and differs.
const CHOICES: [&str; 5] = [
    "Overwrite it",
    "Keep it as it is",
    "Overwrite all that differ",
    "Keep all that exist",
    "Stop, write nothing",
];

/// Returns the answer, or `None` if the terminal is gone. Ctrl-C is no answer either, and stops the
/// run, which then saves the answers before it.
fn answered<T: Clone>(asked: &dialoguer::Result<T>) -> Option<T> {
    match asked {
        Ok(answer) => Some(answer.clone()),
        Err(dialoguer::Error::IO(cause)) => {
            if cause.kind() == std::io::ErrorKind::Interrupted {
                interrupt::question_ended();
            }
            None
        }
    }
}

/// Asks in the way that fits the kind of value. A wrong value is reported before the answer is
/// shown as accepted, and the question is asked again.
fn put(ask: &VariablePrompt, check: &ValueCheck<'_>) -> dialoguer::Result<Value> {
    let theme = ColorfulTheme::default();
    let prompt = prompt(ask);
    match &ask.kind {
        AskKind::Confirm => {
            let default = ask
                .default
                .as_ref()
                .and_then(Value::as_bool)
                .unwrap_or(false);
            let confirm = Confirm::with_theme(&theme)
                .with_prompt(prompt)
                .default(default);
            Ok(Value::Bool(confirm.interact()?))
        }
        AskKind::Select(choices) => {
            let default = ask.default.as_ref().and_then(Value::as_str);
            let default = choices
                .iter()
                .position(|choice| Some(choice.as_str()) == default);
            let select = Select::with_theme(&theme)
                .with_prompt(prompt)
                .items(&ask.labels);
            let chosen = select.default(default.unwrap_or(0)).interact()?;
            Ok(Value::String(choices[chosen].clone()))
        }
        AskKind::MultiSelect(choices) => put_several(ask, choices, check),
        AskKind::Text if ask.is_secret => loop {
            output::say(format!("{prompt} (not shown)"));
            let typed = dialoguer::console::Term::stderr().read_secure_line()?;
            let value = Value::String(typed);
            match check(&value) {
                Ok(()) => return Ok(value),
                Err(wrong) => say_wrong(ask, &wrong),
            }
        },
        AskKind::Text | AskKind::Number | AskKind::List | AskKind::Object => {
            let mut input = Input::<String>::with_theme(&theme).with_prompt(prompt);
            if let Some(default) = &ask.default {
                input = input.default(shown(default));
            }
            let input = input
                .allow_empty(ask.default.is_some())
                .validate_with(|text: &String| check(&typed(&ask.kind, text.clone())));
            Ok(typed(&ask.kind, input.interact_text()?))
        }
    }
}

fn put_several(
    ask: &VariablePrompt,
    choices: &[String],
    check: &ValueCheck<'_>,
) -> dialoguer::Result<Value> {
    let theme = ColorfulTheme::default();
    let prompt = format!("{} (space to select, enter to confirm)", prompt(ask));
    let default = ask.default.as_ref().and_then(Value::as_array);
    let is_default = |choice: &String| {
        default.is_some_and(|list| list.iter().any(|item| item == choice.as_str()))
    };
    loop {
        let named = ask.labels.iter().zip(choices);
        let items = named.map(|(label, choice)| (label, is_default(choice)));
        let chosen = MultiSelect::with_theme(&theme)
            .with_prompt(&prompt)
            .items_checked(items)
            .report(false)
            .interact()?;
        let labels: Vec<&str> = chosen.iter().map(|at| ask.labels[*at].as_str()).collect();
        let values = chosen.iter().map(|at| Value::String(choices[*at].clone()));
        let value: Value = values.collect();
        match check(&value) {
            Ok(()) => {
                output::say(format!("{} {}", ask.message, labels.join(", ")));
                return Ok(value);
            }
            Err(wrong) => say_wrong(ask, &wrong),
        }
    }
}

fn say_wrong(ask: &VariablePrompt, wrong: &str) {
    output::say(format!("{}: it {wrong}", ask.message));
}

fn prompt(ask: &VariablePrompt) -> String {
    let how = match ask.kind {
        AskKind::List => " (comma-separated)",
        AskKind::Object => " (a JSON object)",
        _ => "",
    };
    let such_as = ask
        .suggestion
        .as_ref()
        .map(|value| format!(" (e.g. {})", shown(value)));
    format!("{}{how}{}", ask.message, such_as.unwrap_or_default())
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Converts the typed text to the kind of value that was asked for; the caller checks it.
fn typed(kind: &AskKind, text: String) -> Value {
    match kind {
        AskKind::Number | AskKind::Object => {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        AskKind::List => {
            let items = text
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty());
            items.map(|item| Value::String(item.to_owned())).collect()
        }
        _ => Value::String(text),
    }
}
