//! Stacks: text pushed from anywhere, printed at the position of `@stack`.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use indexmap::IndexMap;

use crate::layout;
use crate::node::OutputPlacement;

/// Delimiters of a stack's number in the output until the stack is filled: noncharacters, which
/// Unicode keeps out of all text.
const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';

/// A `@pushOnceTo`: its file and position.
type PushSource = (Rc<str>, (u32, u32));

#[derive(Default)]
pub(crate) struct StackTexts {
    declared: IndexMap<Rc<str>, StackLines>,
    pushed: HashMap<Rc<str>, Vec<String>>,
    sources: HashSet<(Rc<str>, PushSource)>,
}

/// Line break and indentation of a stack's text.
#[derive(Default)]
struct StackLines {
    newline: bool,
    indent: Box<str>,
}

impl StackTexts {
    /// Declares a stack and returns its placeholder; `None` if it exists already.
    pub(crate) fn declare(&mut self, name: &Rc<str>, placing: &OutputPlacement) -> Option<String> {
        if self.declared.contains_key(name) {
            return None;
        }
        let number = self.declared.len();
        let lines = match placing {
            OutputPlacement::Inline => StackLines::default(),
            OutputPlacement::Lines { newline, indent } => StackLines {
                newline: *newline,
                indent: indent.clone(),
            },
        };
        self.declared.insert(name.clone(), lines);
        Some(format!("{OPEN}{number}{CLOSE}"))
    }

    /// Adds text to a stack; text with a source only once.
    pub(crate) fn push(&mut self, name: &Rc<str>, source: Option<PushSource>, text: String) {
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
        // Pushed text may contain the placeholder of another stack, so the rest is a list of texts,
        // each with the position read so far.
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

    /// Takes a stack's text; `None` after the first time.
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
