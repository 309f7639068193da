//! The document that asks the questions: the data its template is given, and the same as JSON.
//!
//! Rendering is the template crate's business; fences, code spans and wording that depend on the
//! questions are decided here, so that a template of the user's own stays simple.

use crate::answers::REQUEST_KEY;
use crate::fence;
use crate::questionnaire::{AnswerKind, Question, Questionnaire};
use crate::schema;
use serde_json::{Map, Value, json};

/// The built-in document, in the template language; `--prompt-template` replaces it.
pub const DOCUMENT_TEMPLATE: &str = include_str!("document.jig");

const TITLE: &str = "Drawloom AI Generation Request";

/// Parts of the document besides the questions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentInput {
    /// Replaces the usual title.
    pub title: Option<String>,
    /// The exact command that runs again with the answers.
    pub command: String,
    /// The file in which the command expects the answers.
    pub answers_path: String,
    /// Values already known, for reference.
    pub provided: Vec<(String, Value)>,
}

/// Returns the variables of the document template.
pub fn data(questionnaire: &Questionnaire, input: &DocumentInput) -> Value {
    let contexts: Vec<String> = questionnaire
        .contexts()
        .iter()
        .map(|c| fence::closed(c))
        .collect();
    let entries: Vec<Value> = questionnaire.questions().map(entry).collect();
    let has_context =
        !contexts.is_empty() || questionnaire.questions().any(|q| !q.contexts.is_empty());
    let skeleton = skeleton(questionnaire);
    let provided: Vec<Value> = input
        .provided
        .iter()
        .map(|(name, value)| json!({ "name": name, "providedValue": fence::span(&value.to_string()) }))
        .collect();
    json!({
        "title": input.title.as_deref().unwrap_or(TITLE),
        "requestId": questionnaire.request_id(),
        "hasContext": has_context,
        "hasGlobalContexts": !contexts.is_empty(),
        "globalContexts": contexts,
        "hasProvided": !provided.is_empty(),
        "providedVariables": provided,
        "entries": entries,
        "responseFence": fence::around([skeleton.as_str()]),
        "responseSchema": skeleton,
        "answersPath": input.answers_path,
        "answersPathSpan": fence::span(&input.answers_path),
        "originalCommand": input.command,
        "commandFence": fence::around([input.command.as_str()]),
    })
}

/// Returns the questions as data, with a JSON Schema for each answer and one for all of them.
pub fn json(questionnaire: &Questionnaire, input: &DocumentInput) -> Value {
    let questions: Vec<Value> = questionnaire.questions().map(question_json).collect();
    let provided: Map<String, Value> = input.provided.iter().cloned().collect();
    json!({
        "title": input.title.as_deref().unwrap_or(TITLE),
        "request": questionnaire.request_id(),
        "contexts": questionnaire.contexts(),
        "provided": provided,
        "questions": questions,
        "schema": schema::of_answers(questionnaire),
        "answersPath": input.answers_path,
        "command": input.command,
    })
}

/// Returns a code span of the text, whatever backticks it contains.
#[must_use]
pub fn code_span(text: &str) -> String {
    fence::span(text)
}

/// Puts a text in a fence that it cannot close, for contexts that carry files.
pub fn fenced(language: &str, text: &str) -> String {
    let fence = fence::around([text]);
    let is_ended = text.is_empty() || text.ends_with('\n');
    let end = if is_ended { "" } else { "\n" };
    format!("{fence}{}\n{text}{end}{fence}", info_string(Some(language)))
}

fn entry(question: &Question) -> Value {
    let contexts: Vec<String> = question.contexts.iter().map(|c| fence::closed(c)).collect();
    let choices: Vec<String> = question
        .kind
        .choices()
        .iter()
        .map(Value::to_string)
        .collect();
    let spans: Vec<String> = choices.iter().map(|choice| fence::span(choice)).collect();
    let schema = question.schema.as_ref().map(|own| format!("{own:#}"));
    json!({
        "key": question.key,
        "contexts": contexts,
        "hasContexts": !contexts.is_empty(),
        "prompt": fence::closed(&question.prompt),
        "hasPrompt": !question.prompt.is_empty(),
        "outputDescription": fence::closed(&question.format),
        "hasOutputDesc": !question.format.is_empty(),
        "kind": question.kind.name(),
        "typeHint": type_hint(question),
        "required": question.required,
        "language": info_string(question.kind.language()),
        "examples": question.examples,
        "hasExamples": !question.examples.is_empty(),
        "exampleFence": fence::around(question.examples.iter().map(String::as_str)),
        "allowedValues": choices,
        "allowedList": spans.join(", "),
        "hasAllowedValues": !spans.is_empty(),
        "hasSchema": schema.is_some(),
        "schemaFence": fence::around(schema.as_deref()),
        "schema": schema.unwrap_or_default(),
        "sourceFile": question.source.file,
        "line": question.source.line,
    })
}

fn question_json(question: &Question) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("key", json!(question.key));
    put("contexts", json!(question.contexts));
    put("prompt", json!(question.prompt));
    put("format", json!(question.format));
    put("examples", json!(question.examples));
    put("kind", json!(question.kind.name()));
    match &question.kind {
        AnswerKind::Code {
            language: Some(language),
        } => {
            put("language", json!(language));
        }
        AnswerKind::Select { from } | AnswerKind::Pick { from } | AnswerKind::Order { from } => {
            put("from", json!(from));
        }
        _ => {}
    }
    put("required", json!(question.required));
    put("schema", schema::of_question(question));
    if !question.guardrails.is_empty() {
        put("guardrails", question.guardrails.json());
    }
    if let Some(retries) = question.retries {
        put("retries", json!(retries));
    }
    put("source", json!(question.source));
    Value::Object(object)
}

/// Returns the kind of answer in the words of the document.
fn type_hint(question: &Question) -> String {
    let hint = match &question.kind {
        AnswerKind::Any if question.schema.is_some() => "JSON that matches the schema below",
        AnswerKind::Any => "text or any JSON value",
        AnswerKind::Text => "text (a JSON string)",
        AnswerKind::Code {
            language: Some(language),
        } => {
            return format!("{language} code (a JSON string)");
        }
        AnswerKind::Code { language: None } => "code (a JSON string)",
        AnswerKind::Json if question.schema.is_some() => "JSON that matches the schema below",
        AnswerKind::Json => "any JSON value",
        AnswerKind::Boolean => "`true` or `false`",
        AnswerKind::Select { .. } => "one of the allowed values",
        AnswerKind::Pick { .. } => "a JSON array of some of the allowed values, each at most once",
        AnswerKind::Order { .. } => {
            "a JSON array of all the allowed values, in the order you choose"
        }
        AnswerKind::Number => "a number",
        AnswerKind::List => "a JSON array",
    };
    match question.items.words() {
        Some(count) => format!("{hint}: {count}"),
        None => hint.to_owned(),
    }
}

/// Returns the word after an opening fence, made from the template's name for its language.
fn info_string(language: Option<&str>) -> String {
    let word = |c: &char| c.is_alphanumeric() || "+#._-".contains(*c);
    language
        .unwrap_or_default()
        .chars()
        .take_while(word)
        .collect()
}

/// Returns the object to fill in: each key with a placeholder, the request id as it must come back.
fn skeleton(questionnaire: &Questionnaire) -> String {
    let mut object = Map::new();
    object.insert(REQUEST_KEY.to_owned(), json!(questionnaire.request_id()));
    for question in questionnaire.questions() {
        object.insert(question.key.clone(), json!(question.placeholder()));
    }
    format!("{:#}", Value::Object(object))
}
