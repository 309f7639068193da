//! Regular expressions with JavaScript's syntax and a bounded running time.

use std::cell::Cell;

/// A compiled regular expression.
pub struct Regex {
    pub(crate) source: Box<str>,
    pub(crate) flags: Box<str>,
    pub(crate) last_index: Cell<usize>,
}
