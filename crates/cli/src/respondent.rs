//! The person at the terminal as the one who answers: on a line, from a list, or in an editor.

use std::io::{self, BufRead as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use clap::builder::styling::Style;
use dialoguer::theme::ColorfulTheme;
use dialoguer::{Editor, Input, MultiSelect, Select, Sort};
use prompt::{AnswerKind, Question};
use serde_json::Value;
use transport::{Person, PersonQuestion};

use crate::arguments::HEADING;
use crate::terminal_person::CommandEcho;
use crate::{interrupt, output};

/// Separates the answer from the text the editor shows below it.
const CUT: &str = "------------------------ >8 ------------------------";
/// Ends an answer of several lines.
const END: &str = ".";
/// Interval at which a waiting prompt checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);
const DIMMED: Style = Style::new().dimmed();

/// Asks a person one question after the other on the terminal.
pub(crate) struct TerminalRespondent {
    editor: Option<String>,
    /// Contexts for all questions are shown once.
    contexts_shown: bool,
}

impl TerminalRespondent {
    pub(crate) fn new(editor: Option<String>) -> Self {
        Self {
            editor,
            contexts_shown: false,
        }
    }

    /// Returns the person, if one can be asked.
    pub(crate) fn if_there(&mut self, echo: CommandEcho) -> Option<&mut dyn Person> {
        let is_there = echo == CommandEcho::Lines && output::has_person();
        is_there.then_some(self as &mut dyn Person)
    }

    fn present(&mut self, asked: &PersonQuestion<'_>) {
        if let Some(refused) = asked.refused {
            output::say(refused.why);
            return;
        }
        if !self.contexts_shown {
            self.contexts_shown = true;
            for context in asked.contexts {
                output::say(format!("\n{DIMMED}{context}{DIMMED:#}"));
            }
        }
        let question = asked.question;
        let optional = if question.required { "" } else { ", optional" };
        output::say(format!(
            "\n{HEADING}{}{HEADING:#} {DIMMED}({} of {}{optional}){DIMMED:#}",
            question.key, asked.number, asked.count
        ));
        if let Some(feedback) = asked.feedback {
            output::say(feedback);
        }
        for text in details(question) {
            output::say(text);
        }
    }

    fn long(&self, asked: &PersonQuestion<'_>) -> Option<String> {
        if let Some(editor) = &self.editor {
            match edit(editor, asked) {
                Ok(text) => return text,
                Err(error) => output::say(format!("note: `{editor}` cannot be opened: {error}")),
            }
        }
        output::say(format!(
            "{DIMMED}(several lines; a line with only `{END}` ends the answer){DIMMED:#}"
        ));
        lines()
    }
}

impl Person for TerminalRespondent {
    fn ask(&mut self, asked: &PersonQuestion<'_>) -> Option<String> {
        interrupt::watch();
        self.present(asked);
        let question = asked.question;
        let answered = match &question.kind {
            AnswerKind::Boolean => one_of(question, &[Value::Bool(true), Value::Bool(false)]),
            AnswerKind::Select { from } => one_of(question, from),
            AnswerKind::Pick { from } => some_of(question, from),
            AnswerKind::Order { from } => in_order(question, from),
            _ if asked.is_long() => return self.long(asked),
            _ => line(asked),
        };
        // Without an answer, for any reason, no further question is asked.
        answered.ok()
    }
}

/// Returns the lines of a question, in the order they are read.
fn details(question: &Question) -> Vec<String> {
    let mut texts = question.contexts.clone();
    texts.push(question.prompt.clone());
    texts.push(question.format.clone());
    let examples = question.examples.iter();
    texts.extend(examples.map(|example| {
        // The first of several lines gets the same indentation as the others.
        let between = if example.contains('\n') { '\n' } else { ' ' };
        format!("{DIMMED}for example:{DIMMED:#}{between}{example}")
    }));
    texts.extend(
        question
            .schema
            .as_ref()
            .map(|schema| format!("{DIMMED}as JSON, by this schema:{DIMMED:#} {schema}")),
    );
    texts.retain(|text| !text.trim().is_empty());
    texts
}

fn line(asked: &PersonQuestion<'_>) -> dialoguer::Result<String> {
    let theme = ColorfulTheme::default();
    let mut input = Input::<String>::with_theme(&theme)
        .with_prompt(&asked.question.key)
        .allow_empty(true);
    if let Some(refused) = asked.refused {
        input = input.with_initial_text(refused.typed);
    }
    input.interact_text()
}

/// Shows a choice that is text unchanged, any other as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn one_of(question: &Question, from: &[Value]) -> dialoguer::Result<String> {
    let theme = ColorfulTheme::default();
    let mut items: Vec<String> = from.iter().map(shown).collect();
    if !question.required {
        items.push("(leave it out)".to_owned());
    }
    let chosen = Select::with_theme(&theme)
        .with_prompt(&question.key)
        .items(&items)
        .default(0)
        .interact()?;
    Ok(from.get(chosen).map(Value::to_string).unwrap_or_default())
}

fn some_of(question: &Question, from: &[Value]) -> dialoguer::Result<String> {
    let theme = ColorfulTheme::default();
    let chosen = MultiSelect::with_theme(&theme)
        .with_prompt(format!(
            "{} (space to select, enter to confirm)",
            question.key
        ))
        .items(from.iter().map(shown))
        .interact()?;
    let picked = chosen.into_iter().filter_map(|at| from.get(at).cloned());
    Ok(Value::Array(picked.collect()).to_string())
}

fn in_order(question: &Question, from: &[Value]) -> dialoguer::Result<String> {
    let theme = ColorfulTheme::default();
    let order = Sort::with_theme(&theme)
        .with_prompt(format!(
            "{} (space to pick up, arrows to move, enter to confirm)",
            question.key
        ))
        .items(from.iter().map(shown))
        .interact()?;
    let sorted = order.into_iter().filter_map(|at| from.get(at).cloned());
    Ok(Value::Array(sorted.collect()).to_string())
}

/// Several lines, typed here. `None` when the input ends without any.
fn lines() -> Option<String> {
    let (sender, receiver) = mpsc::channel();
    // A thread, because reading does not end when the person presses Ctrl-C.
    std::thread::spawn(move || {
        let mut text = String::new();
        let mut is_ended = false;
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if line == END {
                is_ended = true;
                break;
            }
            text.push_str(&line);
            text.push('\n');
        }
        // The receiver is gone when the person has left.
        let _ = sender.send((is_ended || !text.is_empty()).then_some(text));
    });
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(text) => return text,
            Err(RecvTimeoutError::Timeout) if !interrupt::was_interrupted() => {}
            Err(_) => return None,
        }
    }
}

/// Opens the editor and returns the saved answer; `None` if nothing was saved.
fn edit(editor: &str, asked: &PersonQuestion<'_>) -> dialoguer::Result<Option<String>> {
    let question = asked.question;
    let typed = asked.refused.map_or("", |refused| refused.typed);
    let mut about = vec![format!("Question `{}`", question.key)];
    about.extend(asked.refused.map(|refused| refused.why.to_owned()));
    about.extend(asked.feedback.map(str::to_owned));
    about.extend(details(question));
    let about = anstream::adapter::strip_str(&about.join("\n\n")).to_string();
    let text = format!(
        "{typed}\n{CUT}\nThe answer goes above this line; the text below is not read.\n\n{about}\n"
    );
    let mut opened = Editor::new();
    opened
        .executable(editor)
        .extension(extension(&question.kind));
    let saved = opened.edit(&text)?;
    Ok(saved.map(|text| {
        let answer = text.split(CUT).next().unwrap_or_default();
        answer.trim_end().to_owned()
    }))
}

/// Returns a file extension, so that the editor highlights the answer.
fn extension(kind: &AnswerKind) -> &'static str {
    match kind {
        AnswerKind::Json | AnswerKind::List => ".json",
        AnswerKind::Code { language } => match language.as_deref() {
            Some("ts" | "typescript") => ".ts",
            Some("tsx") => ".tsx",
            Some("js" | "javascript") => ".js",
            Some("rust" | "rs") => ".rs",
            Some("python" | "py") => ".py",
            _ => ".txt",
        },
        _ => ".md",
    }
}
