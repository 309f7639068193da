//! Searching file contents: linear time, ignore-aware, bounded, in a fixed order.
//!
//! The stages, each in its own file: `pattern` compiles the query, `crew` walks the tree with
//! several threads, `lines` takes the matching lines out of one file, `found` keeps the first
//! results in tree order, so that the answer does not depend on which thread was faster.

mod pattern;
mod pool;
mod results;
mod sink;

use std::time::Instant;

use super::{IgnoredFiles, Workspace};
use crate::descent::kind_of;
use crate::{Error, PathKind, RelPath, WorkspaceErrorKind};
use pattern::SearchPattern;
use pool::{SearchPool, SearchStart};

pub use pattern::PATTERN_BYTES_MAX;
pub use results::{ContentMatches, FileHits, HitLine, LineKind, SearchStop, SkippedFile};

/// The most lines of context a search gives around a match.
const CONTEXT_LINES_MAX: usize = 50;

/// The syntax of a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PatternSyntax {
    /// As a regular expression, without look-around and back-references.
    #[default]
    Regex,
    /// As the text itself.
    Literal,
}

/// The treatment of upper and lower case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchCase {
    /// `a` does not find `A`.
    #[default]
    Sensitive,
    /// `a` finds `A`.
    Insensitive,
    /// `a` finds `A`, unless the pattern has an upper-case letter.
    Smart,
}

/// The pattern to search for, and the files to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentQuery {
    /// The pattern that a line must contain. It never matches across lines.
    pub pattern: String,
    /// The syntax of the pattern.
    pub syntax: PatternSyntax,
    /// The treatment of upper and lower case.
    pub case: SearchCase,
    /// The directory, or the one file, to search.
    pub path: RelPath,
    /// Only files that match one of these, except those that match one after `!`. A glob without
    /// `/` matches at any depth, others from the root or from `path`.
    pub globs: Vec<String>,
    /// The treatment of files that `.gitignore` names.
    pub ignored: IgnoredFiles,
    /// Number of lines shown before and after a match.
    pub context_lines: usize,
    /// The most matching lines to return.
    pub results_max: usize,
}

impl ContentQuery {
    /// Creates a query for a regular expression in all files.
    #[must_use]
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            syntax: PatternSyntax::default(),
            case: SearchCase::default(),
            path: RelPath::root(),
            globs: Vec::new(),
            ignored: IgnoredFiles::default(),
            context_lines: 0,
            results_max: 200,
        }
    }
}

impl Workspace {
    /// Returns the matching lines, the first `results_max` in tree order. Skips binary files,
    /// symlinks and unreadable files. A limit that is reached ends the search and is named in the
    /// result.
    pub fn search(&self, query: &ContentQuery) -> Result<ContentMatches, Error> {
        let started = Instant::now();
        let pattern = SearchPattern::new(query)?;
        let place = self.locate(&query.path)?;
        let start = match place.found.as_ref().map(kind_of) {
            Some(PathKind::Dir) => SearchStart::Dir(place.path),
            Some(PathKind::File) => SearchStart::File(place.path),
            Some(_) => return Err(crate::root::special(&query.path)),
            None => {
                return Err(Error::new(
                    WorkspaceErrorKind::NotFound,
                    format!("there is no `{}` to search in", query.path),
                ));
            }
        };
        let deadline = started + self.limits.search_time_max;
        SearchPool::new(self, query, &pattern, deadline).run(start)
    }
}
