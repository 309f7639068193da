//! Values kept apart from the author's text, for texts that a shell will read.
//!
//! A text for a shell may hold no value: whatever is printed is put into a list, and a mark with its
//! number stands in its place. The marks are characters that Unicode keeps out of all text; where
//! the author's text or a value has them all the same, nothing can be told apart and
//! [`split_apart`] says so.

use crate::node::{Body, Node};

const OPEN: char = '\u{fdd2}';
const CLOSE: char = '\u{fdd3}';

/// A value that a template printed, and the expression it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    pub source: String,
    pub text: String,
}

/// A part of a text rendered by [`Engine::render_apart`](crate::Engine::render_apart).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderedPart<'t> {
    Text(&'t str),
    /// The number of a value.
    Value(usize),
}

/// The values of one render.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    pub(crate) values: Vec<Printed>,
}

impl Apart {
    /// Keeps a value and gives the mark that stands for it.
    pub(crate) fn keep(&mut self, source: &str, text: String) -> String {
        let mark = format!("{OPEN}{}{CLOSE}", self.values.len());
        self.values.push(Printed {
            source: source.trim().to_owned(),
            text,
        });
        mark
    }

    pub(crate) fn outline(body: &Body) -> (String, Vec<Printed>) {
        let mut apart = Apart::default();
        let mut text = String::new();
        apart.walk(body, &mut text);
        (text, apart.values)
    }

    fn walk(&mut self, body: &Body, out: &mut String) {
        for node in body {
            match node {
                Node::Text(text) => out.push_str(text),
                Node::Emit(code) => out.push_str(&self.keep(&code.origin.text, String::new())),
                Node::If(node) => {
                    let branches = node.branches.iter().map(|branch| &branch.body);
                    for body in branches.chain(&node.otherwise) {
                        self.walk(body, out);
                    }
                }
                Node::Each(each) => {
                    self.walk(&each.body, out);
                    if let Some(body) = &each.otherwise {
                        self.walk(body, out);
                    }
                }
                Node::Ai(_) => out.push_str(&self.keep("@ai", String::new())),
                // What these print is known only when they run, and judged then.
                Node::Let(_)
                | Node::Eval(_)
                | Node::Include(_)
                | Node::Component(_)
                | Node::Inject(_)
                | Node::Stack(_)
                | Node::Push(_)
                | Node::NewError(_)
                | Node::AiPart(_) => {}
            }
        }
    }
}

/// Splits a text at the marks of its values. Nothing where a mark cannot be one of ours: the author's
/// text has such characters itself, or a value (a component's text) has values in it.
pub fn split_apart<'t>(text: &'t str, values: &[Printed]) -> Option<Vec<RenderedPart<'t>>> {
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
