//! Questions of a run to a person, and the answer: a choice, a text, JSON, a file, or names with
//! values.

use dialoguer::theme::ColorfulTheme;
use dialoguer::{Input, Select};
use flow::engine::{EngineCommand, TaskAnswer, TaskRow};
use serde_json::{Map, Value, json};

use super::database_args::{input_value, text_of, value_of};
use super::is_for_people;
use super::view::{answer_words, quoted};
use crate::exit::CliError;
use crate::output;
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

/// Returns the question, and the command that answers it.
pub(crate) fn how_to_answer(use_cases: &TerminalUseCases, task: &TaskRow) -> String {
    let asked = asked(use_cases, task);
    let words = words(use_cases, task);
    output::harmless(&format!("{asked}\n  answer: drawloom tasks answer {words}"))
}

/// Asks for every task; says whether all were answered.
pub(super) fn answer_all(
    use_cases: &TerminalUseCases,
    tasks: &[TaskRow],
) -> Result<bool, CliError> {
    for task in tasks.iter().filter(|task| is_for_people(task)) {
        if !ask(use_cases, task)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Asks the person at the terminal until the answer fits; says whether there is one.
pub(crate) fn ask(use_cases: &TerminalUseCases, task: &TaskRow) -> Result<bool, CliError> {
    output::say(output::harmless(&asked(use_cases, task)));
    let schema = schema(use_cases, task);
    let choices = schema.as_ref().and_then(choices);
    loop {
        let given = match &choices {
            Some(choices) => chosen(choices),
            None => typed(),
        };
        let output = match given {
            Ok(Some(output)) => output,
            Ok(None) => return Ok(false),
            Err(trouble) => {
                output::trouble(&trouble, output::OutputFormat::Text);
                continue;
            }
        };
        let answer = EngineCommand::Answer {
            task: task.id.clone(),
            by: use_cases.person(),
            answer: TaskAnswer::Done { output },
        };
        match use_cases.wait(use_cases.execute(answer)) {
            Ok(()) => return Ok(true),
            Err(error) => output::say(output::harmless(&error.to_string())),
        }
    }
}

/// Reads an answer from the words of a command line: NAME=VALUE for all of them, or one that is
/// JSON, a text, @FILE or - for stdin. An answer that looks like JSON must parse: one with a slip
/// in it is not taken for a text.
pub(crate) fn answer_value(session: &CliSession, words: &[String]) -> Result<Value, CliError> {
    let [one] = words else {
        return Ok(input_value(session, None, words)?.unwrap_or_default());
    };
    if one.starts_with('@') || one == "-" {
        let (text, origin) = text_of(session, one)?;
        return whole(&text, &origin);
    }
    match is_named(one) {
        true => Ok(input_value(session, None, words)?.unwrap_or_default()),
        false => whole(one, "the command line"),
    }
}

/// Names the person a task waits for, and the question.
fn asked(use_cases: &TerminalUseCases, task: &TaskRow) -> String {
    let who = task.assignee.as_deref().unwrap_or("a person");
    let mut text = format!("{} waits for {who}", task.id);
    if let Some(hold) = &task.hold {
        text.push_str(&format!(" ({})", hold.reason));
    }
    let prompt = use_cases.wait(use_cases.prompt(task)).unwrap_or_default();
    for line in prompt.lines() {
        text.push_str(&format!("\n    {line}"));
    }
    text
}

fn words(use_cases: &TerminalUseCases, task: &TaskRow) -> String {
    let known = step(use_cases, task, |step| answer_words(step, &task.id));
    known.unwrap_or_else(|| format!("{} '…'", quoted(&task.id)))
}

fn schema(use_cases: &TerminalUseCases, task: &TaskRow) -> Option<Value> {
    step(use_cases, task, |step| step.config.output_schema.clone())?
}

/// Something about the step of a task.
fn step<T>(
    use_cases: &TerminalUseCases,
    task: &TaskRow,
    about: impl FnOnce(&flow::WorkflowStep) -> T,
) -> Option<T> {
    let run = use_cases.wait(use_cases.run(&task.id.run)).ok().flatten()?;
    let workflow = use_cases.wait(use_cases.workflow(&run)).ok()?;
    workflow.step(&task.id.step).map(about)
}

fn chosen(choices: &[(String, Value)]) -> Result<Option<Value>, CliError> {
    let names = choices.iter().map(|(name, _)| output::harmless(name));
    let open = std::iter::once("(leave it open)".to_owned());
    let asked = Select::with_theme(&ColorfulTheme::default())
        .with_prompt("Your answer")
        .items(names.chain(open).collect::<Vec<_>>())
        .default(0)
        .interact_opt();
    let at = asked.ok().flatten();
    Ok(at
        .and_then(|at| choices.get(at))
        .map(|(_, value)| value.clone()))
}

fn typed() -> Result<Option<Value>, CliError> {
    let asked = Input::<String>::with_theme(&ColorfulTheme::default())
        .with_prompt("Your answer (a text, JSON or name=value; empty: later)")
        .allow_empty(true)
        .interact_text();
    let text = asked.unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(None);
    }
    let words = shlex::split(&text).filter(|words| words.iter().all(|word| is_named(word)));
    match words {
        Some(words) => Ok(Some(named(&words))),
        None => whole(&text, "what you typed").map(Some),
    }
}

/// Returns the possible answers, if the schema lists them.
fn choices(schema: &Value) -> Option<Vec<(String, Value)>> {
    if let Some(listed) = schema["enum"].as_array() {
        let name = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        return Some(
            listed
                .iter()
                .map(|value| (name(value), value.clone()))
                .collect(),
        );
    }
    if schema["type"] == "boolean" {
        return Some(vec![
            ("yes".to_owned(), json!(true)),
            ("no".to_owned(), json!(false)),
        ]);
    }
    let fields = schema["properties"].as_object()?;
    let (name, field) = fields.iter().next().filter(|_| fields.len() == 1)?;
    let inner = choices(field)?.into_iter();
    let wrapped = inner.map(|(label, value)| (format!("{name}: {label}"), json!({ name: value })));
    Some(wrapped.collect())
}

fn whole(text: &str, origin: &str) -> Result<Value, CliError> {
    let trimmed = text.trim();
    match serde_json::from_str(trimmed) {
        Ok(value) => Ok(value),
        Err(cause) if trimmed.starts_with(['{', '[', '"']) => Err(CliError::failed(
            "E_DATA",
            format!("the answer from {origin} looks like JSON but does not parse: {cause}"),
        )
        .hint("correct it, or write a text that does not begin with {, [ or \"")),
        Err(_) => Ok(Value::String(
            text.trim_end_matches(['\r', '\n']).to_owned(),
        )),
    }
}

fn named(words: &[String]) -> Value {
    let pairs = words.iter().filter_map(|word| word.split_once('='));
    let fields: Map<String, Value> = pairs
        .map(|(name, text)| (name.to_owned(), value_of(text)))
        .collect();
    Value::Object(fields)
}

/// True if a word is NAME=VALUE.
fn is_named(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{choices, whole};

    #[test]
    fn what_begins_like_json_is_json_or_a_mistake() {
        for (text, expected) in [
            ("{\"a\": 1}", Some(json!({"a": 1}))),
            (" 7 ", Some(json!(7))),
            ("fine\n", Some(json!("fine"))),
            ("it's {fine}", Some(json!("it's {fine}"))),
            ("{\"a\": tru}", None),
            ("[1, 2", None),
        ] {
            assert_eq!(whole(text, "x").ok(), expected, "{text}");
        }
    }

    #[test]
    fn answers_are_chosen_where_the_schema_lists_them() {
        let verdict = json!({"properties": {"verdict": {"enum": ["approve", "reject"]}}});
        let listed = choices(&verdict).unwrap();
        assert_eq!(
            listed[0],
            ("verdict: approve".to_owned(), json!({"verdict": "approve"}))
        );
        assert_eq!(choices(&json!({"type": "boolean"})).unwrap().len(), 2);
        assert_eq!(choices(&json!({"type": "string"})), None);
        let two = json!({"properties": {"a": {"type": "boolean"}, "b": {}}});
        assert_eq!(choices(&two), None);
    }
}
