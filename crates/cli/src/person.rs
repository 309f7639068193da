//! The person at the terminal: asked for values, shown differences, told what happens.

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
}

impl Person {
    pub(crate) fn new(echo: Echo) -> Self {
        Self {
            is_there: echo == Echo::Lines && output::has_person(),
            echo,
            progress: None,
        }
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
        interrupt::watch();
        if let Some(refused) = &ask.refused {
            output::say(format!("`{}` {refused}", ask.name));
        }
        answered(put(ask))
    }

    fn resolve(&mut self, conflict: &Conflict) -> Option<Decision> {
        if !self.is_there {
            return None;
        }
        interrupt::watch();
        let path = conflict.path.as_str();
        let difference = Diff::between(Some(&conflict.existing), Some(&conflict.proposed));
        output::say(format!("\n{path} exists and would change:\n"));
        output::say(diff::render(&difference, path).trim_end());
        let choices = ["Overwrite it", "Keep it as it is", "Stop, write nothing"];
        let theme = ColorfulTheme::default();
        let chosen = Select::with_theme(&theme)
            .with_prompt(format!("What shall become of {path}?"))
            .items(choices)
            .default(1)
            .interact_opt();
        Some(match answered(chosen)? {
            Some(0) => Decision::Overwrite,
            Some(1) => Decision::Skip,
            _ => Decision::Abort,
        })
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::CommandStarted { step, command } => {
                interrupt::command_started();
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
                self.say(format!("put {files} files back as they were"));
            }
            Event::FilesApplied { .. } => {}
        }
    }
}

/// An answer, or nothing when the terminal went away; Ctrl-C ends the process.
fn answered<T>(asked: dialoguer::Result<T>) -> Option<T> {
    match asked {
        Ok(answer) => Some(answer),
        Err(dialoguer::Error::IO(cause)) if cause.kind() == std::io::ErrorKind::Interrupted => {
            interrupt::leave()
        }
        Err(_) => None,
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
                .items(choices);
            let chosen = select.default(default.unwrap_or(0)).interact()?;
            Ok(Value::String(choices[chosen].clone()))
        }
        AskKind::MultiSelect(choices) => {
            let prompt = format!("{prompt} (space chooses, return confirms)");
            let default = ask.default.as_ref().and_then(Value::as_array);
            let is_default = |choice: &String| {
                default.is_some_and(|list| list.iter().any(|item| item == choice.as_str()))
            };
            let items = choices.iter().map(|choice| (choice, is_default(choice)));
            let chosen = MultiSelect::with_theme(&theme)
                .with_prompt(prompt)
                .items_checked(items);
            let chosen = chosen.interact()?.into_iter();
            Ok(chosen
                .map(|index| Value::String(choices[index].clone()))
                .collect())
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
        AskKind::List => " (several, with commas)",
        AskKind::Object => " (a JSON object)",
        _ => "",
    };
    let such_as = ask
        .suggestion
        .as_ref()
        .map(|value| format!(" (such as {})", shown(value)));
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
