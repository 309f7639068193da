//! Stacks: text pushed from anywhere, printed where `@stack` stands.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use indexmap::IndexMap;

use crate::layout;
use crate::node::Placing;

/// What surrounds a stack's number in the output until it is filled: characters that Unicode
/// keeps out of all text.
const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';

/// A `@pushOnceTo`: its file and position.
type Source = (Rc<str>, (u32, u32));

#[derive(Default)]
pub(crate) struct Stacks {
    declared: IndexMap<Rc<str>, Lines>,
    pushed: HashMap<Rc<str>, Vec<String>>,
    sources: HashSet<(Rc<str>, Source)>,
}

/// How a stack's text is placed.
#[derive(Default)]
struct Lines {
    newline: bool,
    indent: Box<str>,
}

impl Stacks {
    /// Declares a stack and gives the text that holds its place; nothing when it exists already.
    pub(crate) fn declare(&mut self, name: &Rc<str>, placing: &Placing) -> Option<String> {
        if self.declared.contains_key(name) {
            return None;
        }
        let number = self.declared.len();
        let lines = match placing {
            Placing::Inline => Lines::default(),
            Placing::Lines { newline, indent } => Lines {
                newline: *newline,
                indent: indent.clone(),
            },
        };
        self.declared.insert(name.clone(), lines);
        Some(format!("{OPEN}{number}{CLOSE}"))
    }

    /// Adds text to a stack; text with a source only once.
    pub(crate) fn push(&mut self, name: &Rc<str>, source: Option<Source>, text: String) {
        if let Some(source) = source
            && !self.sources.insert((name.clone(), source))
        {
            return;
        }
        self.pushed.entry(name.clone()).or_default().push(text);
    }

    /// Puts every stack's text where it belongs.
    pub(crate) fn fill(mut self, text: String) -> String {
        if self.declared.is_empty() {
            return text;
        }
        let mut filled = String::with_capacity(text.len());
        // Pushed text may hold the place of another stack, so what is left is a list of texts, each
        // with how far it has been read.
        let mut left = vec![(text, 0)];
        while let Some((text, at)) = left.pop() {
            let rest = &text[at..];
            let Some(open) = rest.find(OPEN) else {
                filled.push_str(rest);
                continue;
            };
            filled.push_str(&rest[..open]);
            let inside = &rest[open + OPEN.len_utf8()..];
            let Some(close) = inside.find(CLOSE) else {
                filled.push_str(inside);
                continue;
            };
            let number = inside[..close].parse().ok();
            let after = text.len() - inside.len() + close + CLOSE.len_utf8();
            left.push((text, after));
            if let Some(pushed) = number.and_then(|number| self.take(number)) {
                left.push((pushed, 0));
            }
        }
        filled
    }

    /// A stack's text, the first time it is asked for.
    fn take(&mut self, number: usize) -> Option<String> {
        let (name, lines) = self.declared.get_index(number)?;
        let text = self.pushed.remove(name)?.join("\n");
        if text.is_empty() || (lines.indent.is_empty() && !lines.newline) {
            return Some(text);
        }
        let mut placed = String::from(if lines.newline { "\n" } else { "" });
        layout::indented(&text, &lines.indent, &mut placed);
        Some(placed)
    }
}
