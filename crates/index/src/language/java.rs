//! Java: reads the exports of a file, and resolves its imports.
//!
//! Exports are the top-level types of the file, whatever their visibility: most of a project's uses
//! are inside a package. Their members come with them.
//!
//! Types of the own package need no import, and an import with a star names none; so every
//! capitalised word that no import explains is a request, spelled `.Name`, that means a file only if
//! such a type is in one of those packages.

mod types;

#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;

use super::facts_builder::FactsBuilder;
use super::tokens::{LexerDialect, SourceTokens};
use super::{ExportKind, ImportKind, ImportResolver, SourceFacts};
use crate::project::IndexedProject;
use workspace::RelPath;

/// The most parts a dotted name has; longer ones are not read to the end.
const PARTS_MAX: usize = 32;

pub(super) fn facts(_path: &RelPath, text: &str) -> SourceFacts {
    let tokens = SourceTokens::read(text, LexerDialect::Java);
    let mut walk = JavaReader {
        tokens: &tokens,
        gather: FactsBuilder::new(text),
        package: None,
        explained: FxHashSet::default(),
    };
    walk.declarations();
    walk.uses();
    walk.gather.finish(walk.package)
}

pub(super) fn resolver<'p>(project: &'p IndexedProject<'p>) -> Box<dyn ImportResolver + 'p> {
    Box::new(types::JavaTypes::new(project))
}

struct JavaReader<'w, 'a> {
    tokens: &'w SourceTokens<'a>,
    gather: FactsBuilder<'a>,
    package: Option<String>,
    /// Names that an import brought in or the file defines.
    explained: FxHashSet<&'a str>,
}

impl<'a> JavaReader<'_, 'a> {
    fn declarations(&mut self) {
        let tokens = self.tokens;
        let mut at = 0;
        while at < tokens.len() {
            let next = at + 1;
            at = match tokens.word(at) {
                "package" if self.package.is_none() => {
                    let (name, end) = self.dotted(next);
                    self.package = Some(name);
                    end
                }
                "import" => self.import(next),
                "class" => self.define(next, ExportKind::Class),
                "record" if tokens.mark(at + 2) == b'(' || tokens.mark(at + 2) == b'<' => {
                    self.define(next, ExportKind::Class)
                }
                "interface" => self.define(next, ExportKind::Type),
                "enum" => self.define(next, ExportKind::Enum),
                "module" if tokens.mark(tokens.len().saturating_sub(1)) == b'}' => {
                    self.module(next)
                }
                _ => tokens.after(at),
            };
        }
    }

    fn define(&mut self, at: usize, kind: ExportKind) -> usize {
        let name = self.tokens.word(at);
        self.explained.insert(name);
        self.gather.export(name, kind, self.offset(at));
        at + 1
    }

    /// `module a.b { … }`.
    fn module(&mut self, at: usize) -> usize {
        let (name, end) = self.dotted(at);
        if self.tokens.mark(end) == b'{' {
            self.gather
                .export(&name, ExportKind::Module, self.offset(at));
        }
        end
    }

    fn import(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let is_static = tokens.word(at) == "static";
        let from = at + usize::from(is_static || tokens.word(at) == "module");
        let (mut name, end) = self.dotted(from);
        if tokens.mark(end) == b'*' {
            name.push('*');
        } else if !is_static && end > from {
            self.explained.insert(tokens.word(end - 1));
        }
        self.gather
            .import(name, ImportKind::Static, self.offset(from));
        end
    }

    /// A dotted name, with its last dot if a star follows, and the place after it.
    fn dotted(&self, from: usize) -> (String, usize) {
        let tokens = self.tokens;
        let mut name = String::new();
        let mut at = from;
        while !tokens.word(at).is_empty() && at < from + 2 * PARTS_MAX {
            name.push_str(tokens.word(at));
            at += 1;
            if tokens.mark(at) != b'.' {
                break;
            }
            name.push('.');
            at += 1;
        }
        (name, at)
    }

    /// Adds the types that are used without an import.
    fn uses(&mut self) {
        let tokens = self.tokens;
        let mut at = 0;
        while at < tokens.len() {
            let word = tokens.word(at);
            if word.is_empty() || at > 0 && tokens.mark(at - 1) == b'.' {
                at += 1;
                continue;
            }
            if is_type(word) {
                if self.explained.insert(word) {
                    self.gather
                        .import(format!(".{word}"), ImportKind::Static, self.offset(at));
                }
                at += 1;
            } else if matches!(word, "import" | "package") {
                at = self.dotted(at + 1).1;
            } else {
                at = self.qualified(at);
            }
        }
    }

    /// Reads `a.b.Type` in the middle of code: at least two lower-case words, then a type.
    fn qualified(&mut self, from: usize) -> usize {
        let tokens = self.tokens;
        let mut name = String::new();
        let mut at = from;
        while tokens.mark(at + 1) == b'.'
            && !tokens.word(at).is_empty()
            && !is_type(tokens.word(at))
        {
            if at >= from + 2 * PARTS_MAX {
                return at;
            }
            name.push_str(tokens.word(at));
            name.push('.');
            at += 2;
        }
        if at >= from + 4 && is_type(tokens.word(at)) {
            name.push_str(tokens.word(at));
            self.gather
                .import(name, ImportKind::Static, self.offset(from));
        }
        at + 1
    }

    fn offset(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |token| token.start as usize)
    }
}

/// Returns true if a word is spelled like a type.
fn is_type(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
}
