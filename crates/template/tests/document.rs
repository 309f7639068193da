//! The built-in prompt document renders as it should look.

#![allow(clippy::unwrap_used, reason = "a broken template is a failed test")]

use std::rc::Rc;

use prompt::{
    AnswerKind, DOCUMENT_TEMPLATE, DocumentInput, Question, QuestionSource, Questionnaire,
};
use serde_json::json;
use template::{MapLoader, RenderInput, TemplateEngine, TemplateLayout};

fn document(questionnaire: &Questionnaire, input: &DocumentInput) -> String {
    let data = prompt::document::data(questionnaire, input);
    let engine = TemplateEngine::new(Rc::new(MapLoader::new())).strict();
    let rendered = engine
        .render_text(&RenderInput {
            name: "document.jig",
            text: DOCUMENT_TEMPLATE,
            layout: TemplateLayout::Jig,
            state: &expr::JsObject::from_json_map(data.as_object().unwrap()),
            answers: &Default::default(),
        })
        .unwrap();
    assert_eq!(
        rendered.undefined,
        [],
        "every name of the document is defined"
    );
    rendered.text
}

fn question(key: &str, line: u32) -> Question {
    let mut question = Question::new(
        key,
        QuestionSource {
            file: "card.jig".to_owned(),
            line,
        },
    );
    question.prompt = format!("What about `{key}`?\nBe brief.");
    question
}

#[test]
fn the_document_looks_as_kept() {
    let mut questionnaire = Questionnaire::new();
    questionnaire.add_context("The project uses React.\nAnd Tailwind.");
    questionnaire.add_context("Second context.");
    let mut first = question("mainFields", 2);
    first.contexts = vec!["Fields: id, name".to_owned()];
    first.format = "A JSON array.".to_owned();
    first.examples = vec!["[\"id\"]".to_owned(), "[\"name\"]".to_owned()];
    first.kind = AnswerKind::Pick {
        from: vec![json!("id"), json!("name")],
    };
    questionnaire.ask(first).unwrap();
    let mut second = question("code", 9);
    second.kind = AnswerKind::Code {
        language: Some("ts".to_owned()),
    };
    second.schema = Some(json!({ "type": "string" }));
    second.required = false;
    questionnaire.ask(second).unwrap();
    let input = DocumentInput {
        title: None,
        command: "drawloom run card --answers answers.json".to_owned(),
        answers_path: "answers.json".to_owned(),
        provided: vec![("model".to_owned(), json!("Customer"))],
    };
    assert_eq!(
        document(&questionnaire, &input),
        include_str!("data/document.md")
    );
    let mut small = Questionnaire::new();
    small.ask(question("only", 1)).unwrap();
    let input = DocumentInput {
        provided: Vec::new(),
        ..input
    };
    assert_eq!(
        document(&small, &input),
        include_str!("data/document-small.md")
    );
}
