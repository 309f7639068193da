//! Python: reads the exports of a file, and resolves its imports.
//!
//! If `__all__` is a literal, it lists the exports. Otherwise exports are the functions, classes,
//! assigned names and aliases at the top level, also under `if`, `try`, `with` and loops, that do
//! not begin with an underscore; also imports written `x as x`, and in an `__init__.py` the imports
//! from inside the package, because packages re-export names that way.
//!
//! Imports count anywhere, also inside functions. `from a.b import c` is spelled `a.b.c`: the
//! resolver finds out whether `c` is a module or a name in `a.b`.

mod lines;
mod modules;
mod names;

#[cfg(test)]
mod tests;

use super::{ImportResolver, SourceFacts};
use crate::project::IndexedProject;
use workspace::RelPath;

pub(super) fn facts(path: &RelPath, text: &str) -> SourceFacts {
    names::facts(path, text)
}

pub(super) fn resolver<'p>(project: &'p IndexedProject<'p>) -> Box<dyn ImportResolver + 'p> {
    Box::new(modules::PythonModules::new(project))
}
