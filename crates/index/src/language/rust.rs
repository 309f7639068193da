//! Rust: reads the exports of a file, and resolves its imports.
//!
//! Exports are the names that other files can write: `pub` items of the file's module and of the
//! visible modules written inside it (as `inner::name`), names that `pub use` re-exports, and
//! macros under `#[macro_export]`. `pub(crate)` and `pub(super)` count: a project's own files use
//! them. Methods, fields and variants do not; they come with their type.
//!
//! Imports are `mod x;`, every `use`, every path such as `crate::a::b()` in the middle of code, and
//! `include!`, `include_str!` and `include_bytes!`. They are spelled from the file's own module,
//! even inside an inline module.

mod items;
mod modules;
mod packages;
mod paths;
mod uses;

#[cfg(test)]
mod tests;

use super::facts_builder::FactsBuilder;
use super::tokens::{LexerDialect, SourceTokens};
use super::{ImportResolver, SourceFacts};
use crate::project::IndexedProject;
use workspace::RelPath;

pub(super) fn facts(path: &RelPath, text: &str) -> SourceFacts {
    let tokens = SourceTokens::read(text, LexerDialect::Rust);
    let mut gather = FactsBuilder::new(text);
    items::exports(&tokens, &mut gather);
    paths::imports(path, &tokens, &mut gather);
    gather.finish(None)
}

pub(super) fn resolver<'p>(project: &'p IndexedProject<'p>) -> Box<dyn ImportResolver + 'p> {
    Box::new(modules::RustModules::new(project))
}
