//! Searching file contents: linear time, ignore-aware, bounded, in a fixed order.
//!
//! The stages, each in its own file: `pattern` compiles what is looked for,
//! `crew` goes through the tree with several threads, `lines` takes the
//! matching lines out of one file, `found` keeps the first results in tree
//! order, so that the answer does not depend on which thread was faster.

mod crew;
mod found;
mod lines;
mod pattern;

use std::time::Instant;

use super::{Ignored, Workspace};
use crate::descent::kind_of;
use crate::{Error, ErrorKind, Kind, RelPath};
use crew::{Crew, Start};
use pattern::Pattern;

pub use found::{FileHits, Found, HitLine, LineKind, SearchStop, Skipped};
pub use pattern::PATTERN_BYTES_MAX;

/// The most lines of context a search gives around a match.
const CONTEXT_LINES_MAX: usize = 50;

/// How a pattern is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Syntax {
    /// As a regular expression, without look-around and back-references.
    #[default]
    Regex,
    /// As the text itself.
    Literal,
}

/// Whether `a` finds `A`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Case {
    /// It does not.
    #[default]
    Sensitive,
    /// It does.
    Insensitive,
    /// It does, unless the pattern has an upper-case letter.
    Smart,
}

/// What is looked for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// What a line must contain. It never matches across lines.
    pub pattern: String,
    /// How the pattern is read.
    pub syntax: Syntax,
    /// Whether `a` finds `A`.
    pub case: Case,
    /// The directory, or the one file, to look in.
    pub path: RelPath,
    /// Only files that match one of these; those that match one after `!` not.
    /// A glob without `/` matches at any depth, others from the root or from `path`.
    pub globs: Vec<String>,
    /// Whether what `.gitignore` files name is left out.
    pub ignored: Ignored,
    /// How many lines are shown before and after a match.
    pub context_lines: usize,
    /// How many matching lines are returned.
    pub results_max: usize,
}

impl Query {
    /// A regular expression, looked for everywhere.
    #[must_use]
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            syntax: Syntax::default(),
            case: Case::default(),
            path: RelPath::root(),
            globs: Vec::new(),
            ignored: Ignored::default(),
            context_lines: 0,
            results_max: 200,
        }
    }
}

impl Workspace {
    /// The lines that match, the first `results_max` in tree order. Binary
    /// files, symlinks and what may not be read are passed over. A limit that
    /// is hit ends the search and is named in the result.
    pub fn search(&self, query: &Query) -> Result<Found, Error> {
        let started = Instant::now();
        let pattern = Pattern::new(query)?;
        let place = self.locate(&query.path)?;
        let start = match place.found.as_ref().map(kind_of) {
            Some(Kind::Dir) => Start::Dir(place.path),
            Some(Kind::File) => Start::File(place.path),
            Some(_) => return Err(crate::root::special(&query.path)),
            None => {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!("there is no `{}` to search in", query.path),
                ));
            }
        };
        let deadline = started + self.limits.search_time_max;
        Crew::new(self, query, &pattern, deadline).run(start)
    }
}
