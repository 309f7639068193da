//! Reads the names that a Rust file exports.
//!
//! Items are found by `pub` outside of any bracket: bodies, fields and expressions are all inside
//! brackets, which are skipped as a whole.

use super::super::ExportKind;
use super::super::facts_builder::FactsBuilder;
use super::super::tokens::{SourceTokenKind, SourceTokens};
use super::uses::leaves;

/// The content of the current brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BracketContent {
    /// Items: a file, a module, a block of `extern`, the argument of a macro.
    Items,
    /// Blocks of items, under conditions: `cfg_if!`.
    Blocks,
}

/// Brackets that are being read.
struct BracketFrame {
    inside: BracketContent,
    close: usize,
    /// Length of the name of the module around.
    prefix: usize,
}

/// Adds every name that other files can write.
pub(super) fn exports(tokens: &SourceTokens<'_>, gather: &mut FactsBuilder<'_>) {
    RustItemReader {
        tokens,
        gather,
        frames: Vec::new(),
        prefix: String::new(),
        is_macro_exported: false,
    }
    .run();
}

struct RustItemReader<'w, 'a, 'g> {
    tokens: &'w SourceTokens<'a>,
    gather: &'w mut FactsBuilder<'g>,
    frames: Vec<BracketFrame>,
    /// The names of the modules around, each followed by `::`.
    prefix: String,
    /// True right after `#[macro_export]`.
    is_macro_exported: bool,
}

impl RustItemReader<'_, '_, '_> {
    fn run(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            while let Some(frame) = self.frames.pop_if(|frame| at >= frame.close) {
                self.prefix.truncate(frame.prefix);
            }
            at = self.step(at);
        }
    }

    /// Reads the item here, and returns the place after it.
    fn step(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let word = tokens.word(at);
        match tokens.mark(at) {
            b'#' => return self.attribute(at),
            b'{' if self.frames.last().map(|frame| frame.inside)
                == Some(BracketContent::Blocks) =>
            {
                return self.enter(at, BracketContent::Items);
            }
            0 => {}
            _ => return tokens.after(at),
        }
        match word {
            "pub" => self.visible(at),
            "macro_rules" if tokens.mark(at + 1) == b'!' => {
                if std::mem::take(&mut self.is_macro_exported) {
                    self.take(at + 2, ExportKind::Function);
                }
                tokens.after(at + 3)
            }
            "extern" => {
                let block =
                    at + 1 + usize::from(tokens.kind(at + 1) == Some(SourceTokenKind::Text));
                if tokens.mark(block) == b'{' {
                    self.enter(block, BracketContent::Items)
                } else {
                    at + 1
                }
            }
            "" => at + 1,
            _ if tokens.mark(at + 1) == b'!' && matches!(tokens.mark(at + 2), b'{' | b'(') => {
                let inside = if word == "cfg_if" {
                    BracketContent::Blocks
                } else {
                    BracketContent::Items
                };
                self.enter(at + 2, inside)
            }
            _ => at + 1,
        }
    }

    /// Enters a bracket; one that is never closed reaches to the end of the text.
    fn enter(&mut self, open: usize, inside: BracketContent) -> usize {
        self.frames.push(BracketFrame {
            inside,
            close: self.tokens.close(open).unwrap_or(self.tokens.len()),
            prefix: self.prefix.len(),
        });
        open + 1
    }

    fn attribute(&mut self, at: usize) -> usize {
        let open = at + 1 + usize::from(self.tokens.mark(at + 1) == b'!');
        if self.tokens.mark(open) != b'[' {
            return at + 1;
        }
        let end = self.tokens.after(open);
        // Inside a condition it is deeper: `#[cfg_attr(feature = "x", macro_export)]`.
        if matches!(self.tokens.word(open + 1), "macro_export" | "cfg_attr") {
            self.is_macro_exported |=
                (open..end).any(|inner| self.tokens.word(inner) == "macro_export");
        }
        end
    }

    /// Reads an item that begins with `pub`.
    fn visible(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let mut at = at + 1;
        if tokens.mark(at) == b'(' {
            if tokens.word(at + 1) == "self" {
                return tokens.after(at);
            }
            at = tokens.after(at);
        }
        at = self.qualifiers(at);
        let kind = match tokens.word(at) {
            "fn" | "macro" => ExportKind::Function,
            "struct" | "union" => ExportKind::Class,
            "enum" => ExportKind::Enum,
            "trait" | "type" => ExportKind::Type,
            "mod" => return self.module(at + 1),
            "use" => return self.reexports(at + 1),
            "const" | "static" => {
                let name = at + 1 + usize::from(matches!(tokens.word(at + 1), "mut" | "ref"));
                self.take(name, ExportKind::Value);
                return name + 1;
            }
            "crate" => {
                let name = if tokens.word(at + 2) == "as" {
                    at + 3
                } else {
                    at + 1
                };
                self.take(name, ExportKind::Reexport);
                return name + 1;
            }
            _ => return at,
        };
        self.take(at + 1, kind);
        at + 2
    }

    /// Past `unsafe`, `const` before `fn`, `extern "C"` and the like.
    fn qualifiers(&self, at: usize) -> usize {
        let tokens = self.tokens;
        let mut at = at;
        loop {
            match tokens.word(at) {
                "unsafe" | "async" | "safe" | "default" | "auto" | "gen" => at += 1,
                "extern" => {
                    at += 1 + usize::from(tokens.kind(at + 1) == Some(SourceTokenKind::Text))
                }
                "const" if matches!(tokens.word(at + 1), "fn" | "unsafe" | "async" | "extern") => {
                    at += 1;
                }
                _ => return at,
            }
        }
    }

    fn module(&mut self, at: usize) -> usize {
        self.take(at, ExportKind::Module);
        let name = self.tokens.word(at);
        if self.tokens.mark(at + 1) != b'{' || name.is_empty() {
            return at + 1;
        }
        let next = self.enter(at + 1, BracketContent::Items);
        // Longer names are not kept anyway.
        if self.prefix.len() < 1024 {
            self.prefix.push_str(name);
            self.prefix.push_str("::");
        }
        next
    }

    fn reexports(&mut self, at: usize) -> usize {
        let (leaves, end) = leaves(self.tokens, at);
        for leaf in leaves {
            if let Some(name) = leaf.name() {
                self.offer(name, ExportKind::Reexport, leaf.at);
            }
        }
        end
    }

    /// Exports the word here as a name.
    fn take(&mut self, at: usize, kind: ExportKind) {
        self.offer(self.tokens.word(at), kind, at);
    }

    fn offer(&mut self, name: &str, kind: ExportKind, at: usize) {
        // `$name` is a macro's parameter, and `_` is not a name.
        let is_name =
            !matches!(name, "" | "_" | "self" | "super" | "crate") && !name.starts_with('$');
        let Some(token) = self.tokens.get(at).filter(|_| is_name) else {
            return;
        };
        let offset = token.start as usize;
        if self.prefix.is_empty() {
            self.gather.export(name, kind, offset);
        } else {
            let full = format!("{}{name}", self.prefix);
            self.gather.export(&full, kind, offset);
        }
    }
}
