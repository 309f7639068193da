//! The examples of the language reference print what it says they print.

#![allow(
    clippy::unwrap_used,
    reason = "a document without examples is a failed test"
)]

use std::rc::Rc;

use template::{MapLoader, RenderInput, TemplateEngine, TemplateLayout};

const DOCS: &str = include_str!("../../../docs/templates.md");

/// The fenced blocks of the document: the text after the fence, and the body.
fn blocks() -> Vec<(&'static str, String)> {
    let mut blocks = Vec::new();
    let mut lines = DOCS.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let text = lines.by_ref().take_while(|line| *line != "```");
            blocks.push((info, text.map(|line| format!("{line}\n")).collect()));
        }
    }
    blocks
}

#[test]
fn examples_print_what_is_shown() {
    let blocks = blocks();
    let (_, data) = blocks.iter().find(|(info, _)| *info == "json").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let engine = TemplateEngine::new(Rc::new(MapLoader::new()));
    let mut examples = 0;
    for pair in blocks.windows(2) {
        let [(info @ ("jig" | "edge"), template), ("text", expected)] = pair else {
            continue;
        };
        let layout = if *info == "jig" {
            TemplateLayout::Jig
        } else {
            TemplateLayout::Edge
        };
        let rendered = engine.render_text(&RenderInput {
            name: "example",
            text: template,
            layout,
            state: &expr::JsObject::from_json_map(data.as_object().unwrap()),
            answers: &Default::default(),
        });
        let text = rendered.map_or_else(|error| error.report(), |rendered| rendered.text);
        assert_eq!(text, *expected, "{template}");
        examples += 1;
    }
    assert!(examples >= 7, "only {examples} examples were found");
}
