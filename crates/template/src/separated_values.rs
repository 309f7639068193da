//! Values kept apart from the author's text, for texts that a shell will read.
//!
//! A text for a shell must not contain values: each printed value goes into a list, and a mark with
//! its number takes its place. The marks are characters that Unicode keeps out of all text; if the
//! author's text or a value contains them all the same, the parts cannot be told apart and
//! [`split_apart`] returns `None`.

use crate::node::{NodeList, TemplateNode};

const OPEN: char = '\u{fdd2}';
const CLOSE: char = '\u{fdd3}';

/// A value that a template printed, and the expression it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedValue {
    pub source: String,
    pub text: String,
}

/// A part of a text rendered by [`TemplateEngine::render_apart`](crate::TemplateEngine::render_apart).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderedPart<'t> {
    Text(&'t str),
    /// The number of a value.
    Value(usize),
}

/// The values of one render.
#[derive(Debug, Default)]
pub(crate) struct SeparatedValues {
    pub(crate) values: Vec<PrintedValue>,
}

impl SeparatedValues {
    /// Keeps a value and returns its mark.
    pub(crate) fn keep(&mut self, source: &str, text: String) -> String {
        let mark = format!("{OPEN}{}{CLOSE}", self.values.len());
        self.values.push(PrintedValue {
            source: source.trim().to_owned(),
            text,
        });
        mark
    }

    pub(crate) fn outline(body: &NodeList) -> (String, Vec<PrintedValue>) {
        let mut apart = SeparatedValues::default();
        let mut text = String::new();
        apart.walk(body, &mut text);
        (text, apart.values)
    }

    fn walk(&mut self, body: &NodeList, out: &mut String) {
        for node in body {
            match node {
                TemplateNode::Text(text) => out.push_str(text),
                TemplateNode::Emit(code) => {
                    out.push_str(&self.keep(&code.origin.text, String::new()))
                }
                TemplateNode::If(node) => {
                    let branches = node.branches.iter().map(|branch| &branch.body);
                    for body in branches.chain(&node.otherwise) {
                        self.walk(body, out);
                    }
                }
                TemplateNode::Each(each) => {
                    self.walk(&each.body, out);
                    if let Some(body) = &each.otherwise {
                        self.walk(body, out);
                    }
                }
                TemplateNode::Ai(_) => out.push_str(&self.keep("@ai", String::new())),
                // The output of these is known only when they run; it is checked then.
                TemplateNode::Let(_)
                | TemplateNode::Eval(_)
                | TemplateNode::Include(_)
                | TemplateNode::Component(_)
                | TemplateNode::Inject(_)
                | TemplateNode::Stack(_)
                | TemplateNode::Push(_)
                | TemplateNode::NewError(_)
                | TemplateNode::AiPart(_) => {}
            }
        }
    }
}

/// Splits a text at the marks of its values. `None` if a mark is not ours: the author's text
/// contains such characters itself, or a value (a component's text) contains values.
pub fn split_apart<'t>(text: &'t str, values: &[PrintedValue]) -> Option<Vec<RenderedPart<'t>>> {
    let marks = [OPEN, CLOSE];
    if values.iter().any(|value| value.text.contains(marks)) {
        return None;
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(marks) {
        let inside = rest[at..].strip_prefix(OPEN)?;
        let (number, after) = inside.split_once(CLOSE)?;
        let number: usize = number
            .parse()
            .ok()
            .filter(|number| *number < values.len())?;
        if at > 0 {
            parts.push(RenderedPart::Text(&rest[..at]));
        }
        parts.push(RenderedPart::Value(number));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(RenderedPart::Text(rest));
    }
    Some(parts)
}
