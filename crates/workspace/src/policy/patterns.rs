//! The project's own lists: globs that refuse, and globs that lift a refusal.

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use unicode_normalization::UnicodeNormalization;

use crate::{Error, RelPath, WorkspaceErrorKind};

/// The most patterns in one list.
pub(crate) const POLICY_PATTERNS_MAX: usize = 1_000;

/// Patterns that refuse. They match in any case and any composition of accents, and refuse
/// everything below a match with it.
#[derive(Debug, Clone)]
pub(super) struct DenyPatterns {
    set: GlobSet,
    /// The pattern behind each glob of the set.
    patterns: Vec<String>,
}

impl DenyPatterns {
    pub(super) fn new(list: &str, patterns: &[String]) -> Result<Self, Error> {
        check_count(list, patterns)?;
        let mut set = GlobSetBuilder::new();
        let mut sources = Vec::new();
        for pattern in patterns {
            for spelled in spellings(pattern) {
                set.add(compile(list, pattern, &spelled, PatternCase::Any)?);
                sources.push(pattern.clone());
            }
        }
        let set = set
            .build()
            .map_err(|error| invalid(list, &patterns.join(", "), &error))?;
        Ok(Self {
            set,
            patterns: sources,
        })
    }

    pub(super) fn none() -> Self {
        Self {
            set: GlobSet::empty(),
            patterns: Vec::new(),
        }
    }

    pub(super) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(String::as_str)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The first pattern that matches the path in one of its two spellings.
    pub(super) fn find(&self, path: &RelPath, folded: &str) -> Option<&str> {
        if self.set.is_empty() {
            return None;
        }
        let composed: String = path.as_str().nfc().collect();
        [composed.as_str(), folded]
            .iter()
            .find_map(|text| self.set.matches(text).first().copied())
            .and_then(|index| self.patterns.get(index))
            .map(String::as_str)
    }
}

/// Patterns that lift a refusal. They are taken literally, including case, and lift only the names
/// they contain: `src/**` does not lift `src/.env`, `src/.env.test` lifts itself.
#[derive(Debug, Clone)]
pub(super) struct AllowPatterns {
    exceptions: Vec<AllowPattern>,
}

#[derive(Debug, Clone)]
struct AllowPattern {
    paths: Vec<GlobMatcher>,
    /// The parts of the pattern that are more than wildcards.
    names: Vec<GlobMatcher>,
}

impl AllowPatterns {
    pub(super) fn new(list: &str, patterns: &[String]) -> Result<Self, Error> {
        check_count(list, patterns)?;
        let exceptions = patterns
            .iter()
            .map(|pattern| AllowPattern::new(list, pattern));
        Ok(Self {
            exceptions: exceptions.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn none() -> Self {
        Self {
            exceptions: Vec::new(),
        }
    }

    /// The globs, as written or expanded.
    pub(super) fn globs(&self) -> impl Iterator<Item = &str> {
        let exceptions = self.exceptions.iter();
        exceptions.flat_map(|exception| exception.paths.iter().map(|path| path.glob().glob()))
    }

    /// Returns true if a refusal of `name`, a part of `path`, is lifted.
    pub(super) fn lift(&self, path: &RelPath, name: &str) -> bool {
        self.exceptions.iter().any(|exception| {
            exception.names.iter().any(|named| named.is_match(name))
                && exception
                    .paths
                    .iter()
                    .any(|paths| paths.is_match(path.as_str()))
        })
    }
}

impl AllowPattern {
    fn new(list: &str, pattern: &str) -> Result<Self, Error> {
        let literal = |glob: &String| {
            compile(list, pattern, glob, PatternCase::Exact).map(|glob| glob.compile_matcher())
        };
        let parts = pattern
            .split('/')
            .filter(|part| part.contains(char::is_alphanumeric));
        Ok(Self {
            paths: spellings(pattern)
                .iter()
                .map(literal)
                .collect::<Result<_, _>>()?,
            names: parts
                .map(|part| literal(&part.to_owned()))
                .collect::<Result<_, _>>()?,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternCase {
    Any,
    Exact,
}

/// Expands a pattern to globs: itself and everything below it, at any depth if it has no `/`.
fn spellings(pattern: &str) -> Vec<String> {
    let pattern: String = pattern.nfc().collect();
    let bare = pattern.strip_prefix("./").unwrap_or(&pattern);
    let bare = bare.strip_suffix("/**").unwrap_or(bare);
    let bare = bare.trim_end_matches('/');
    let anchored = match bare.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if bare.contains('/') || bare == "**" => bare.to_owned(),
        None => format!("**/{bare}"),
    };
    vec![format!("{anchored}/**"), anchored]
}

fn compile(list: &str, pattern: &str, glob: &str, case: PatternCase) -> Result<Glob, Error> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .case_insensitive(case == PatternCase::Any)
        .build()
        .map_err(|error| invalid(list, pattern, &error))
}

fn check_count(list: &str, patterns: &[String]) -> Result<(), Error> {
    if patterns.len() > POLICY_PATTERNS_MAX {
        return Err(Error::new(
            WorkspaceErrorKind::Limit,
            format!(
                "`{list}` has {} patterns, more than POLICY_PATTERNS_MAX ({POLICY_PATTERNS_MAX})",
                patterns.len()
            ),
        ));
    }
    Ok(())
}

fn invalid(list: &str, pattern: &str, error: &globset::Error) -> Error {
    Error::new(
        WorkspaceErrorKind::InvalidPath,
        format!(
            "`{list}` has a pattern that is not a glob, {pattern:?}: {}",
            error.kind()
        ),
    )
}
