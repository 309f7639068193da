//! Rust: what a file defines for others, and which files its imports mean.
//!
//! Exports are the names that other files can write: `pub` items of the file's module and of the
//! visible modules written inside it (as `inner::name`), what `pub use` hands on, and macros under
//! `#[macro_export]`. `pub(crate)` and `pub(super)` count: a project's own files use them. Methods,
//! fields and variants do not; they come with their type.
//!
//! Imports are `mod x;`, every `use`, every path such as `crate::a::b()` in the middle of code, and
//! `include!`, `include_str!` and `include_bytes!`. They are spelled from the file's own module,
//! whatever inline module they stand in.

mod items;
mod modules;
mod packages;
mod paths;
mod uses;

#[cfg(test)]
mod tests;

use super::gather::Gather;
use super::tokens::{Dialect, Tokens};
use super::{Facts, Resolver};
use crate::RelPath;
use crate::index::project::Project;

pub(super) fn facts(path: &RelPath, text: &str) -> Facts {
    let tokens = Tokens::read(text, Dialect::Rust);
    let mut gather = Gather::new(text);
    items::exports(&tokens, &mut gather);
    paths::imports(path, &tokens, &mut gather);
    gather.finish(None)
}

pub(super) fn resolver<'p>(project: &'p Project<'p>) -> Box<dyn Resolver + 'p> {
    Box::new(modules::Modules::new(project))
}
