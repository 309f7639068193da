//! C and C++: reads the exports of a file, and resolves its imports.
//!
//! A header exports its declarations: functions, types, variables, macros. A source file exports
//! its definitions, except those hidden by `static` or an unnamed namespace. Names in namespaces
//! are spelled out (`ns::Class`), and so are methods outside their class (`Class::method`); members
//! inside a class come with it.
//!
//! Without the compiler's command line nothing here is certain: of a condition's branches both are
//! read unless they open different brackets, macros are not expanded, and the directories of
//! headers are guessed from the tree.

mod declarations;
mod directives;
mod includes;
mod tags;
mod words;

#[cfg(test)]
mod tests;

use super::facts_builder::FactsBuilder;
use super::tokens::{LexerDialect, SourceTokens};
use super::{ImportResolver, SourceFacts};
use crate::project::IndexedProject;
use workspace::RelPath;

pub(super) fn facts(path: &RelPath, text: &str) -> SourceFacts {
    let tokens = SourceTokens::read(text, LexerDialect::C);
    let mut gather = FactsBuilder::new(text);
    let role = role(path);
    directives::read(&tokens, role, &mut gather);
    declarations::read(&tokens, role, &mut gather);
    gather.finish(None)
}

pub(super) fn resolver<'p>(project: &'p IndexedProject<'p>) -> Box<dyn ImportResolver + 'p> {
    Box::new(includes::IncludeIndex::new(project))
}

/// The kind of a C file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CFileKind {
    Header,
    /// A source file of C.
    C,
    /// A source file of C++, in which constants are private to the file.
    Cpp,
}

/// Returns the kind of a file, by its name: a file that is not compiled by itself exists to be
/// included.
fn role(path: &RelPath) -> CFileKind {
    match path.extension() {
        Some("c") => CFileKind::C,
        Some("cc" | "cpp" | "cxx" | "c++") => CFileKind::Cpp,
        _ => CFileKind::Header,
    }
}
