//! The person at the terminal: asked for values, shown differences, told what happens.

use std::time::{Duration, Instant};

use dialoguer::theme::ColorfulTheme;
use dialoguer::{Confirm, Input, MultiSelect, Select};
use recipe::{Ask, AskKind, Conflict, Decision, Event, Host};
use serde_json::Value;
use workspace::diff::Diff;

use crate::output::Form;
use crate::progress::Progress;
use crate::{diff, interrupt, output};

/// Whether the commands of a recipe may show what they print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    /// Their lines go to stderr as they come.
    Lines,
    /// The result is for a program; nothing but it is said.
    Nothing,
}

impl From<Form> for Echo {
    fn from(form: Form) -> Self {
        match form {
            Form::Text => Self::Lines,
            Form::Json => Self::Nothing,
        }
    }
}

/// Answers a run's questions if somebody is there, and shows its progress.
pub(crate) struct Person {
    is_there: bool,
    echo: Echo,
    progress: Option<Progress>,
    /// Files that were written and not yet told; which ones is said at the end.
    written: usize,
    /// What to do about every further file that exists and differs.
    for_all: Option<Decision>,
    waiting_since: Option<Instant>,
}

/// A shorter wait for another writer is not worth a line.
const QUIET_WAIT: Duration = Duration::from_secs(1);

impl Person {
    pub(crate) fn new(echo: Echo) -> Self {
        Self {
            is_there: echo == Echo::Lines && output::has_person(),
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
        self.progress = Some(Progress::start(format!("waiting for {who}")));
    }

    fn say(&self, text: impl AsRef<str>) {
        if self.echo == Echo::Lines {
            output::say(text);
        }
    }
}

impl Host for Person {
    fn ask(&mut self, ask: &Ask) -> Option<Value> {
        if !self.is_there {
            return None;
        }
        let _busy = interrupt::Busy::start();
        if let Some(refused) = &ask.refused {
            output::say(format!("{}: it {refused}", ask.message));
        }
        answered(&put(ask))
    }

    fn resolve(&mut self, conflict: &Conflict) -> Option<Decision> {
        if !self.is_there {
            return None;
        }
        if let Some(decision) = self.for_all {
            return Some(decision);
        }
        let _busy = interrupt::Busy::start();
        let path = conflict.path.as_str();
        let difference = Diff::between(Some(&conflict.existing), Some(&conflict.proposed));
        output::say(format!("\n{path} exists and would change:\n"));
        output::say(diff::render(&difference, path).trim_end());
        let theme = ColorfulTheme::default();
        let chosen = Select::with_theme(&theme)
            .with_prompt(format!("What should happen to {path}?"))
            .items(CHOICES)
            .default(1)
            .interact_opt();
        let decision = match answered(&chosen) {
            Some(Some(0 | 2)) => Decision::Overwrite,
            Some(Some(1 | 3)) => Decision::Skip,
            _ => Decision::Abort,
        };
        if matches!(chosen, Ok(Some(2 | 3))) {
            self.for_all = Some(decision);
        }
        Some(decision)
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::WaitingForWriter { command, pid } => self.wait(command, pid),
            Event::WriterLocked => {
                self.progress = None;
                self.waiting_since = None;
            }
            Event::CommandStarted { step, command } => {
                interrupt::command_started();
                match std::mem::take(&mut self.written) {
                    0 => {}
                    1 => self.say("wrote     1 file"),
                    files => self.say(format!("wrote     {files} files")),
                }
                self.say(format!("run       {command}  ({step})"));
                self.progress = Some(Progress::start(format!("running {command}")));
            }
            Event::CommandLine { line, .. } => {
                // A command that prints shows by itself that it lives.
                self.progress = None;
                self.say(format!("  {line}"));
            }
            Event::CommandFinished {
                command, succeeded, ..
            } => {
                self.progress = None;
                interrupt::command_finished();
                if !succeeded {
                    self.say(format!("failed    {command}"));
                }
            }
            Event::RolledBack { files } => {
                self.say(match files {
                    1 => "put 1 file back as it was".to_owned(),
                    files => format!("put {files} files back as they were"),
                });
            }
            Event::FilesApplied { created, changed } => self.written += created + changed,
        }
    }
}

/// What can be done about a file that exists and differs.
const CHOICES: [&str; 5] = [
    "Overwrite it",
    "Keep it as it is",
    "Overwrite all that differ",
    "Keep all that exist",
    "Stop, write nothing",
];

/// An answer, or nothing when the terminal went away. Ctrl-C is no answer either, and stops the run,
/// which then keeps what was answered before.
fn answered<T: Clone>(asked: &dialoguer::Result<T>) -> Option<T> {
    match asked {
        Ok(answer) => Some(answer.clone()),
        Err(dialoguer::Error::IO(cause)) => {
            if cause.kind() == std::io::ErrorKind::Interrupted {
                interrupt::cancel().cancel();
            }
            None
        }
    }
}

fn put(ask: &Ask) -> dialoguer::Result<Value> {
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
        AskKind::MultiSelect(choices) => {
            let prompt = format!("{prompt} (space to select, enter to confirm)");
            let default = ask.default.as_ref().and_then(Value::as_array);
            let is_default = |choice: &String| {
                default.is_some_and(|list| list.iter().any(|item| item == choice.as_str()))
            };
            let named = ask.labels.iter().zip(choices);
            let items = named.map(|(label, choice)| (label, is_default(choice)));
            let chosen = MultiSelect::with_theme(&theme)
                .with_prompt(prompt)
                .items_checked(items);
            let chosen = chosen.interact()?.into_iter();
            Ok(chosen
                .map(|index| Value::String(choices[index].clone()))
                .collect())
        }
        AskKind::Text if ask.is_secret => {
            output::say(format!("{prompt} (not shown)"));
            let typed = dialoguer::console::Term::stderr().read_secure_line()?;
            Ok(Value::String(typed))
        }
        AskKind::Text | AskKind::Number | AskKind::List | AskKind::Object => {
            let mut input = Input::<String>::with_theme(&theme).with_prompt(prompt);
            if let Some(default) = &ask.default {
                input = input.default(shown(default));
            }
            Ok(typed(
                &ask.kind,
                input.allow_empty(ask.default.is_some()).interact_text()?,
            ))
        }
    }
}

fn prompt(ask: &Ask) -> String {
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

/// What was typed, as the kind of value that was asked for; whoever asked checks it.
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
