//! One question, put to whoever is configured: what `drawloom ai ask` does.

use std::rc::Rc;

use prompt::{AnswerKind, DocumentInput, Question, Questionnaire, Source, document};
use serde_json::Value;
use template::{Engine, Layout, MapLoader};
use transport::{Reason, Resolution, Spending};

use super::{Answerer, Request};
use crate::{Code, Error};

/// The only key there is.
const KEY: &str = "answer";
const TITLE: &str = "A question";
/// Where the built-in document begins to speak of files and of commands to run.
const GENERATOR: &str = "A generator needs the answers below before it can write its files.\n";
const HANDOVER: &str = "\n## Instructions\n";

/// What came of a question.
#[derive(Debug)]
pub enum Reply {
    Answered {
        text: String,
        spending: Spending,
    },
    /// Nobody here answers; this would be for whoever does.
    Deferred {
        document: String,
    },
    /// The person at the terminal left.
    Left,
}

/// Asks.
pub fn ask(answerer: &mut Answerer<'_>, text: &str) -> Result<Reply, Error> {
    let questionnaire = questionnaire(text)?;
    let document = document(&questionnaire)?;
    put(answerer, &questionnaire, document)
}

/// Asks with a text that says everything itself, also how to reply: nothing is put around it.
pub fn ask_whole(answerer: &mut Answerer<'_>, text: &str) -> Result<Reply, Error> {
    let questionnaire = questionnaire(text)?;
    let asked = questionnaire.questions().next();
    let document = asked.map_or_else(String::new, |question| question.prompt.clone());
    put(answerer, &questionnaire, document)
}

fn put(
    answerer: &mut Answerer<'_>,
    questionnaire: &Questionnaire,
    document: String,
) -> Result<Reply, Error> {
    let resolved = answerer.resolve(&Request {
        questionnaire,
        document: &document,
        feedback: None,
    })?;
    Ok(match resolved {
        Resolution::Resolved(answers, spending) => {
            let text = match answers.get(KEY) {
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
                None => String::new(),
            };
            Reply::Answered { text, spending }
        }
        Resolution::Deferred(Reason::PersonLeft { .. }) => Reply::Left,
        Resolution::Deferred(_) => Reply::Deferred { document },
    })
}

fn questionnaire(text: &str) -> Result<Questionnaire, Error> {
    let source = Source {
        file: "the command line".to_owned(),
        line: 1,
    };
    let mut question = Question::new(KEY, source);
    question.prompt = text.to_owned();
    question.kind = AnswerKind::Text;
    let mut questionnaire = Questionnaire::new();
    let asked = questionnaire.ask(question);
    asked.map_err(|error| Error::new(Code::Limit, error.to_string()))?;
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
    let engine = Engine::new(Rc::new(MapLoader::new()));
    let compiled = engine.compile("document.jig", &template, Layout::Jig)?;
    let state = match document::data(questionnaire, &input) {
        Value::Object(map) => expr::Object::from_json_map(&map),
        _ => expr::Object::new(),
    };
    Ok(engine.render(&compiled, &state, &Default::default())?.text)
}
