//! C and C++: what a file defines for others, and which files its imports mean.
//!
//! A header offers what it declares: functions, types, variables, macros. A source file offers what
//! it defines and does not keep to itself with `static` or a namespace without a name. Names in
//! namespaces are spelled out (`ns::Class`), and so are methods that stand outside their class
//! (`Class::method`); what stands inside a class comes with it.
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

use super::gather::Gather;
use super::tokens::{Dialect, Tokens};
use super::{Facts, Resolver};
use crate::RelPath;
use crate::index::project::Project;

pub(super) fn facts(path: &RelPath, text: &str) -> Facts {
    let tokens = Tokens::read(text, Dialect::C);
    let mut gather = Gather::new(text);
    let role = role(path);
    directives::read(&tokens, role, &mut gather);
    declarations::read(&tokens, role, &mut gather);
    gather.finish(None)
}

pub(super) fn resolver<'p>(project: &'p Project<'p>) -> Box<dyn Resolver + 'p> {
    Box::new(includes::Includes::new(project))
}

/// What a file is to others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Header,
    /// A source file of C.
    C,
    /// A source file of C++, where constants are its own.
    Cpp,
}

/// What a file is, by its name: whatever is not compiled by itself is there to be included.
fn role(path: &RelPath) -> Role {
    match path.extension() {
        Some("c") => Role::C,
        Some("cc" | "cpp" | "cxx" | "c++") => Role::Cpp,
        _ => Role::Header,
    }
}
