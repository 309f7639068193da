//! The names a template declares and mentions, where the expressions alone do not say.

use std::collections::HashSet;
use std::rc::Rc;

use expr::Slot;

use super::{BlockNames, TemplateParser, VARIABLES_MAX};
use crate::error::CompileFault;
use crate::token::TemplateToken;

impl TemplateParser<'_> {
    pub(super) fn open_block(&mut self) {
        self.blocks.push(BlockNames::default());
    }

    /// Ends a branch. Reading one of its variables afterwards is an error, as in Edge, unless an
    /// outer variable has the same name: that one is meant again.
    pub(super) fn close_branch(&mut self) {
        let names = self.blocks.pop().unwrap_or_default().visible;
        let outer = |name: &Rc<str>| self.blocks.iter().any(|block| block.visible.contains(name));
        if names.iter().any(outer) {
            self.scope.pop_block();
        } else {
            self.scope.pop_block_keeping_names();
        }
    }

    pub(super) fn declare(&mut self, name: &str, at: (u32, u32)) -> Result<Slot, CompileFault> {
        self.count_variable(at)?;
        self.add_name(name.into());
        Ok(self.scope.declare(name))
    }

    pub(super) fn add_name(&mut self, name: Rc<str>) {
        if let Some(block) = self.blocks.last_mut() {
            block.visible.push(name);
        }
    }

    pub(super) fn count_variable(&mut self, at: (u32, u32)) -> Result<(), CompileFault> {
        self.variables += 1;
        if self.variables <= VARIABLES_MAX {
            return Ok(());
        }
        let message =
            format!("this template declares more than VARIABLES_MAX = {VARIABLES_MAX} variables");
        Err(CompileFault::new("E_LIMIT_EXCEEDED", message, at))
    }

    /// Returns every variable an include passes on, each name once.
    pub(super) fn visible_names(&self) -> Vec<Rc<str>> {
        let mut seen = HashSet::new();
        let names = self.blocks.iter().flat_map(|block| &block.visible);
        names
            .filter(|name| seen.insert((*name).clone()))
            .cloned()
            .collect()
    }

    /// Remembers which answers an expression reads, so that they can have stand-ins before they
    /// exist.
    pub(super) fn note_answers(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find("answers") {
            let before = rest[..at].chars().next_back();
            let after = &rest[at + "answers".len()..];
            rest = after;
            if before.is_some_and(|c| is_word(c) || c == '.') {
                continue;
            }
            if let Some(key) = property(after)
                && !self.answers.read.iter().any(|known| &**known == key)
            {
                self.answers.read.push(key.into());
            }
        }
    }
}

/// Returns the property read right after an object: `.key`, `?.key`, `["key"]`.
fn property(after: &str) -> Option<&str> {
    let after = after.trim_start();
    let after = after
        .strip_prefix("?.")
        .or_else(|| after.strip_prefix('.'))
        .unwrap_or(after);
    let name = word(after);
    if !name.is_empty() {
        return Some(name);
    }
    let inside = after.strip_prefix('[')?.trim_start();
    quoted(inside)
}

/// Returns the text of a string literal at the start of `text`, when it has no escapes.
pub(super) fn quoted(text: &str) -> Option<&str> {
    let quote = text
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let end = text[1..].find(quote)?;
    let inside = &text[1..1 + end];
    (!inside.contains(['\\', '$'])).then_some(inside)
}

/// Returns the identifier at the start of `text`, or an empty string.
pub(super) fn word(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Returns true if any expression among the tokens makes a function.
pub(super) fn has_function(tokens: &[TemplateToken<'_>]) -> bool {
    tokens.iter().any(|token| match token {
        TemplateToken::Mustache(source) => source.text.contains("=>"),
        TemplateToken::Tag(tag) => tag.argument.text.contains("=>") || has_function(&tag.children),
        _ => false,
    })
}

/// Returns the names that `pattern = value` declares.
pub(crate) fn bound_by_let(text: &str) -> Vec<&str> {
    let pattern = text.trim_start();
    if !pattern.starts_with(['{', '[']) {
        let name = word(pattern);
        return if name.is_empty() {
            Vec::new()
        } else {
            vec![name]
        };
    }
    let mut names = Vec::new();
    let mut depth = 0_usize;
    // Inside a default value, until the comma or bracket that ends it: the depth it began at.
    let mut default: Option<usize> = None;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => {
                depth = depth.saturating_sub(1);
                if default.is_some_and(|at| depth < at) {
                    default = None;
                }
                if depth == 0 {
                    break;
                }
            }
            ',' if default == Some(depth) => default = None,
            '=' if default.is_none() => default = Some(depth),
            '"' | '\'' | '`' => {
                let inside = &rest[1..];
                rest = inside.find(c).map_or("", |end| &inside[end..]);
            }
            c if is_word(c) => {
                let name = word(rest);
                let after = &rest[name.len()..];
                if default.is_none() && !after.trim_start().starts_with(':') {
                    names.push(name);
                }
                rest = after;
                continue;
            }
            _ => {}
        }
        rest = rest.get(c.len_utf8()..).unwrap_or("");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::bound_by_let;

    #[test]
    fn names_bound_by_let() {
        for (text, names) in [
            ("a = 1", vec!["a"]),
            (" $x=y=>y", vec!["$x"]),
            ("{a, b: c, ...rest} = o", vec!["a", "c", "rest"]),
            (
                "{a = b, 'k-1': {d}, e = {f: g}, h} = o",
                vec!["a", "d", "e", "h"],
            ),
            ("[a, , b = [c, d], ...e] = l", vec!["a", "b", "e"]),
            ("{a: [b, {c}] = [], d} = o", vec!["b", "c", "d"]),
            ("1 = 2", vec!["1"]),
            ("", vec![]),
        ] {
            assert_eq!(bound_by_let(text), names, "{text}");
        }
    }
}
