//! The compiled query: the matcher of lines and the filter of files.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use super::{ContentQuery, PatternSyntax, SearchCase};
use crate::{Error, RelPath, WorkspaceErrorKind};

/// The longest pattern.
pub const PATTERN_BYTES_MAX: usize = 64 * 1024;
/// The most memory a compiled pattern may take.
const PATTERN_COMPILED_BYTES_MAX: usize = 10 * 1024 * 1024;
/// The greatest nesting of groups in a pattern.
const PATTERN_DEPTH_MAX: u32 = 100;
/// The most globs in one query.
const SEARCH_GLOBS_MAX: usize = 200;

pub(super) struct SearchPattern {
    pub(super) matcher: RegexMatcher,
    wanted: Option<GlobSet>,
    unwanted: GlobSet,
    start: RelPath,
}

impl SearchPattern {
    pub(super) fn new(query: &ContentQuery) -> Result<Self, Error> {
        let (unwanted, wanted): (Vec<&str>, Vec<&str>) = query
            .globs
            .iter()
            .map(String::as_str)
            .partition(|glob| glob.starts_with('!'));
        if query.globs.len() > SEARCH_GLOBS_MAX {
            return Err(Error::new(
                WorkspaceErrorKind::Limit,
                format!(
                    "{} globs are more than SEARCH_GLOBS_MAX ({SEARCH_GLOBS_MAX})",
                    query.globs.len()
                ),
            ));
        }
        let unwanted = unwanted.iter().map(|glob| glob.trim_start_matches('!'));
        Ok(Self {
            matcher: matcher(query)?,
            wanted: match wanted.as_slice() {
                [] => None,
                globs => Some(glob_set(globs.iter().copied())?),
            },
            unwanted: glob_set(unwanted)?,
            start: query.path.clone(),
        })
    }

    /// Returns true if the file should be searched.
    pub(super) fn takes(&self, path: &RelPath) -> bool {
        if self.wanted.is_none() && self.unwanted.is_empty() {
            return true;
        }
        let below = path.strip_prefix(&self.start);
        let below = below.as_ref().unwrap_or(path).as_str();
        let matches = |set: &GlobSet| set.is_match(path.as_str()) || set.is_match(below);
        self.wanted.as_ref().is_none_or(matches) && !matches(&self.unwanted)
    }
}

fn matcher(query: &ContentQuery) -> Result<RegexMatcher, Error> {
    let pattern = &query.pattern;
    let refused = |why: String| Err(Error::new(WorkspaceErrorKind::Pattern, why));
    if pattern.is_empty() {
        return refused("the pattern is empty; say what to look for".to_owned());
    }
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(Error::new(
            WorkspaceErrorKind::Limit,
            format!(
                "the pattern has {} bytes, more than PATTERN_BYTES_MAX ({PATTERN_BYTES_MAX})",
                pattern.len()
            ),
        ));
    }
    let built = RegexMatcherBuilder::new()
        .fixed_strings(query.syntax == PatternSyntax::Literal)
        .case_insensitive(query.case == SearchCase::Insensitive)
        .case_smart(query.case == SearchCase::Smart)
        .multi_line(true)
        .crlf(true)
        .size_limit(PATTERN_COMPILED_BYTES_MAX)
        .dfa_size_limit(PATTERN_COMPILED_BYTES_MAX)
        .nest_limit(PATTERN_DEPTH_MAX)
        .build(pattern);
    match built {
        Ok(matcher) => Ok(matcher),
        Err(error) => refused(format!(
            "the pattern cannot be used: {error}; it is a regular expression for single lines, without \
             look-around and back-references; to find the text itself, search for it literally"
        )),
    }
}

fn glob_set<'g>(globs: impl Iterator<Item = &'g str>) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let bare = glob.strip_prefix("./").unwrap_or(glob);
        let spelled = match bare.strip_prefix('/') {
            Some(anchored) => anchored.to_owned(),
            None if bare.contains('/') => bare.to_owned(),
            None => format!("**/{bare}"),
        };
        let built = GlobBuilder::new(&spelled).literal_separator(true).build();
        set.add(built.map_err(|error| invalid(glob, &error))?);
    }
    set.build().map_err(|error| invalid("all together", &error))
}

fn invalid(glob: &str, error: &globset::Error) -> Error {
    Error::new(
        WorkspaceErrorKind::Pattern,
        format!("{glob:?} is not a glob: {}", error.kind()),
    )
}
