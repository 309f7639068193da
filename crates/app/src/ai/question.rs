//! Puts one question to the configured transport, for `drawloom ai ask`.

use std::rc::Rc;

use prompt::{AnswerKind, DocumentInput, Question, QuestionSource, Questionnaire, document};
use serde_json::Value;
use template::{MapLoader, TemplateEngine, TemplateLayout};
use transport::{AskResolution, AskSpending, DeferReason};

use super::{AnswerRequest, AskHistory, LazyAnswerer};
use crate::{AppErrorCode, Error};

/// The only key there is.
const KEY: &str = "answer";
const TITLE: &str = "A question";
/// The lines of the built-in document from which it speaks of files and of commands to run.
const GENERATOR: &str = "A generator needs the answers below before it can write its files.\n";
const HANDOVER: &str = "\n## Instructions\n";

/// Result of a question.
#[derive(Debug)]
pub enum QuestionReply {
    Answered {
        text: String,
        spending: AskSpending,
    },
    /// No transport answers here; the user can give the document to a person or a model.
    Deferred {
        document: String,
    },
    /// The person at the terminal left.
    Left,
}

/// Asks a question, with the conversation so far.
pub fn ask(
    answerer: &mut LazyAnswerer<'_>,
    text: &str,
    history: &AskHistory,
) -> Result<QuestionReply, Error> {
    let mut questionnaire = questionnaire(text)?;
    for context in history.contexts() {
        questionnaire.add_context(&context);
    }
    let document = document(&questionnaire)?;
    put(answerer, &questionnaire, document)
}

/// Asks with a text that says everything itself, also how to reply: nothing is put around it.
pub fn ask_whole(answerer: &mut LazyAnswerer<'_>, text: &str) -> Result<QuestionReply, Error> {
    let questionnaire = questionnaire(text)?;
    let asked = questionnaire.questions().next();
    let document = asked.map_or_else(String::new, |question| question.prompt.clone());
    put(answerer, &questionnaire, document)
}

fn put(
    answerer: &mut LazyAnswerer<'_>,
    questionnaire: &Questionnaire,
    document: String,
) -> Result<QuestionReply, Error> {
    let resolved = answerer.resolve(&AnswerRequest {
        questionnaire,
        document: &document,
        feedback: None,
    })?;
    Ok(match resolved {
        AskResolution::Resolved(answers, spending) => {
            let text = match answers.get(KEY) {
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
                None => String::new(),
            };
            QuestionReply::Answered { text, spending }
        }
        AskResolution::Deferred(DeferReason::PersonLeft { .. }) => QuestionReply::Left,
        AskResolution::Deferred(_) => QuestionReply::Deferred { document },
    })
}

fn questionnaire(text: &str) -> Result<Questionnaire, Error> {
    let source = QuestionSource {
        file: "the command line".to_owned(),
        line: 1,
    };
    let mut question = Question::new(KEY, source);
    question.prompt = text.to_owned();
    question.kind = AnswerKind::Text;
    let mut questionnaire = Questionnaire::new();
    let asked = questionnaire.ask(question);
    asked.map_err(|error| Error::new(AppErrorCode::Limit, error.to_string()))?;
    Ok(questionnaire)
}

fn document(questionnaire: &Questionnaire) -> Result<String, Error> {
    let input = DocumentInput {
        title: Some(TITLE.to_owned()),
        ..DocumentInput::default()
    };
    let template = prompt::DOCUMENT_TEMPLATE;
    let template = template.split(HANDOVER).next().unwrap_or(template);
    // No generator waits for this answer.
    let template = template.replace(GENERATOR, "");
    let engine = TemplateEngine::new(Rc::new(MapLoader::new()));
    let compiled = engine.compile("document.jig", &template, TemplateLayout::Jig)?;
    let state = match document::data(questionnaire, &input) {
        Value::Object(map) => expr::JsObject::from_json_map(&map),
        _ => expr::JsObject::new(),
    };
    Ok(engine.render(&compiled, &state, &Default::default())?.text)
}
