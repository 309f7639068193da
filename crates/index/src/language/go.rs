//! Go: reads the exports of a file, and resolves its imports.
//!
//! Exports are the capitalised functions, types, variables and constants of the package, and the
//! capitalised methods of capitalised types as `Type.Method`: a method may be in another file than
//! its type, and a file of methods would otherwise export nothing.
//!
//! A package is a directory, so an import means all of its files but the tests. Files of one package
//! see each other without saying so; only tests are known to need the files beside them.

mod packages;

#[cfg(test)]
mod tests;

use super::facts_builder::FactsBuilder;
use super::tokens::{LexerDialect, SourceTokenKind, SourceTokens};
use super::{ExportKind, ImportKind, ImportResolver, SourceFacts};
use crate::project::IndexedProject;
use workspace::RelPath;

pub(super) fn facts(path: &RelPath, text: &str) -> SourceFacts {
    let tokens = SourceTokens::read(text, LexerDialect::Go);
    let mut walk = GoReader {
        tokens: &tokens,
        gather: FactsBuilder::new(text),
        package: None,
        is_test: is_test(path.as_str()),
    };
    let mut at = 0;
    while at < tokens.len() {
        at = walk.step(at);
    }
    walk.gather.finish(walk.package.map(str::to_owned))
}

pub(super) fn resolver<'p>(project: &'p IndexedProject<'p>) -> Box<dyn ImportResolver + 'p> {
    Box::new(packages::GoModules::new(project))
}

fn is_test(path: &str) -> bool {
    path.ends_with("_test.go")
}

struct GoReader<'w, 'a> {
    tokens: &'w SourceTokens<'a>,
    gather: FactsBuilder<'a>,
    package: Option<&'a str>,
    is_test: bool,
}

impl<'a> GoReader<'_, 'a> {
    fn step(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        match tokens.word(at) {
            "package" if self.package.is_none() => {
                let name = tokens.word(at + 1);
                self.package = Some(name);
                if self.is_test && !name.ends_with("_test") {
                    self.gather
                        .import(".".to_owned(), ImportKind::Static, self.offset(at));
                }
                at + 2
            }
            "import" => self.specs(at, Self::import),
            "func" if self.begins_statement(at) => self.function(at + 1),
            "type" => self.specs(at, Self::kind_of),
            "var" | "const" => self.specs(at, Self::values),
            _ => tokens.after(at),
        }
    }

    /// The one thing that a keyword declares, or each one in its brackets.
    fn specs(&mut self, at: usize, read: fn(&mut Self, usize)) -> usize {
        let tokens = self.tokens;
        let open = at + 1;
        if tokens.mark(open) != b'(' {
            read(self, open);
            return at + 1;
        }
        let end = tokens.after(open);
        let mut inner = open + 1;
        let mut starts = true;
        while inner < end {
            if starts || self.begins_spec(inner) {
                read(self, inner);
            }
            starts = tokens.mark(inner) == b';';
            inner = tokens.after(inner);
        }
        end
    }

    /// Returns true if a declaration may begin here. A `func` elsewhere is a type or a value.
    fn begins_statement(&self, at: usize) -> bool {
        at == 0 || self.tokens.mark(at - 1) == b';' || self.begins_spec(at)
    }

    /// Returns true if a line break ended the spec before: not after a comma or an operator.
    fn begins_spec(&self, at: usize) -> bool {
        let tokens = self.tokens;
        let (Some(before), Some(this)) = (tokens.get(at - 1), tokens.get(at)) else {
            return false;
        };
        let between = tokens.text.get(before.end as usize..this.start as usize);
        let ends = before.kind != SourceTokenKind::Mark
            || matches!(tokens.mark(at - 1), b')' | b']' | b'}');
        ends && between.is_some_and(|between| between.contains('\n'))
    }

    fn import(&mut self, at: usize) {
        // The path follows a name, a dot or nothing.
        let path = (at..at + 2).find_map(|at| Some((self.tokens.string(at)?, at)));
        if let Some((path, at)) = path.filter(|(path, _)| *path != "C") {
            let offset = self.offset(at);
            self.gather
                .import(path.to_owned(), ImportKind::Static, offset);
        }
    }

    fn kind_of(&mut self, at: usize) {
        let tokens = self.tokens;
        let mut after = at + 1;
        if tokens.mark(after) == b'[' {
            after = tokens.after(after);
        }
        let kind = match tokens.word(after) {
            "struct" => ExportKind::Class,
            _ => ExportKind::Type,
        };
        self.take(at, kind);
    }

    fn values(&mut self, at: usize) {
        let mut at = at;
        loop {
            self.take(at, ExportKind::Value);
            if self.tokens.mark(at + 1) != b',' {
                return;
            }
            at += 2;
        }
    }

    fn function(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        if tokens.mark(at) != b'(' {
            self.take(at, ExportKind::Function);
            return at + 1;
        }
        let name = tokens.after(at);
        let receiver = self.receiver(at);
        if is_exported(receiver) && is_exported(tokens.word(name)) {
            let full = format!("{receiver}.{}", tokens.word(name));
            self.gather
                .export(&full, ExportKind::Function, self.offset(name));
        }
        name + 1
    }

    /// Returns the type in `(s *Type[K])`: the last word outside of its parameters.
    fn receiver(&self, open: usize) -> &'a str {
        let tokens = self.tokens;
        let close = tokens.close(open).unwrap_or(open);
        let mut found = "";
        let mut at = open + 1;
        while at < close {
            if !tokens.word(at).is_empty() {
                found = tokens.word(at);
            }
            at = if tokens.mark(at) == b'(' {
                at + 1
            } else {
                tokens.after(at)
            };
        }
        found
    }

    fn take(&mut self, at: usize, kind: ExportKind) {
        let name = self.tokens.word(at);
        if is_exported(name) {
            self.gather.export(name, kind, self.offset(at));
        }
    }

    fn offset(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |token| token.start as usize)
    }
}

fn is_exported(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}
