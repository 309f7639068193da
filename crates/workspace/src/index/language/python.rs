//! Python: what a file defines for others, and which files its imports mean.
//!
//! Where `__all__` is a literal it is the answer. Otherwise exports are the functions, classes,
//! assigned names and aliases at the top level, also under `if`, `try`, `with` and loops, that do not
//! begin with an underscore; to these come imports written `x as x`, and in an `__init__.py` what is
//! imported from inside the package, for that is how packages hand their names on.
//!
//! Imports count wherever they stand, also inside functions. `from a.b import c` is spelled `a.b.c`:
//! whether `c` is a module or a name in `a.b` is for the resolver to see.

mod lines;
mod modules;
mod names;

#[cfg(test)]
mod tests;

use super::{Facts, Resolver};
use crate::RelPath;
use crate::index::project::Project;

pub(super) fn facts(path: &RelPath, text: &str) -> Facts {
    names::facts(path, text)
}

pub(super) fn resolver<'p>(project: &'p Project<'p>) -> Box<dyn Resolver + 'p> {
    Box::new(modules::Modules::new(project))
}
