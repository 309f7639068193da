//! The built-in rules: finds the entry in the list of names that refuses a path.
//!
//! A rule applies to a name anywhere in a path: everything inside a refused directory is refused
//! with it. Names are compared folded.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::DenialRule;
use super::names::{NameEntry, READ, WRITE};
use crate::casefold;

/// Endings of files that only show the form of a secret file, or that are meant to be public.
const HARMLESS_ENDINGS: [&str; 5] = [".pub", ".example", ".sample", ".template", ".dist"];

/// `.env` and its kin, which no list of names can cover.
static ENVIRONMENT: NameEntry = NameEntry {
    pattern: ".env*",
    rule: DenialRule::Environment,
    reason: "holds settings that are secret",
};

/// A list of names, made ready for looking a name up.
struct NameList {
    /// All of it, in the order of the list.
    entries: &'static [NameEntry],
    exact: FxHashMap<&'static str, &'static NameEntry>,
    globs: Vec<(&'static str, &'static str, &'static NameEntry)>,
    paths: Vec<(Vec<&'static str>, &'static NameEntry)>,
}

static READ_LIST: LazyLock<NameList> = LazyLock::new(|| NameList::new(READ));
static WRITE_LIST: LazyLock<NameList> = LazyLock::new(|| NameList::new(WRITE));

/// Returns the entry against reading the last of these folded names, given the ones above it.
pub(super) fn against_reading(names: &[&str]) -> Option<&'static NameEntry> {
    let name = names.last()?;
    let original = casefold::original(name);
    let is_secret = is_environment(name)
        || is_environment(original)
        || casefold::is_short_name_of(name, ".env");
    if is_secret {
        return Some(&ENVIRONMENT);
    }
    READ_LIST.find(names, name, original)
}

/// The entry against writing it that is no entry against reading it.
pub(super) fn against_writing(names: &[&str]) -> Option<&'static NameEntry> {
    let name = names.last()?;
    WRITE_LIST.find(names, name, casefold::original(name))
}

impl NameList {
    fn new(entries: &'static [NameEntry]) -> Self {
        let mut list = Self {
            entries,
            exact: FxHashMap::default(),
            globs: Vec::new(),
            paths: Vec::new(),
        };
        for entry in entries {
            let pattern = entry.pattern;
            if pattern.contains('/') {
                list.paths.push((pattern.split('/').collect(), entry));
            } else if let Some((start, end)) = pattern.split_once('*') {
                list.globs.push((start, end, entry));
            } else {
                list.exact.insert(pattern, entry);
            }
        }
        list
    }

    /// Finds the entry for a name, for the name it is a copy of, or for the long form of a short
    /// name.
    fn find(&self, names: &[&str], name: &str, original: &str) -> Option<&'static NameEntry> {
        let known = |name: &str| self.exact.get(name).copied();
        known(name)
            .or_else(|| known(original).filter(|_| original.len() < name.len()))
            .or_else(|| self.by_short_name(name))
            .or_else(|| self.by_glob(name).or_else(|| self.by_glob(original)))
            .or_else(|| self.by_path(names))
    }

    fn by_short_name(&self, name: &str) -> Option<&'static NameEntry> {
        if !name.contains('~') {
            return None;
        }
        // Several long names have the same short one: the first of the list counts.
        let is_meant = |entry: &&NameEntry| {
            let pattern = entry.pattern;
            !pattern.contains(['*', '/']) && casefold::is_short_name_of(name, pattern)
        };
        self.entries.iter().find(is_meant)
    }

    fn by_glob(&self, name: &str) -> Option<&'static NameEntry> {
        let mut globs = self.globs.iter();
        let found = globs.find(|(start, end, _)| glob_matches(name, start, end));
        let found = found.map(|(_, _, entry)| *entry)?;
        let is_harmless = HARMLESS_ENDINGS.iter().any(|ending| name.ends_with(ending));
        (!is_harmless).then_some(found)
    }

    fn by_path(&self, names: &[&str]) -> Option<&'static NameEntry> {
        let mut paths = self.paths.iter();
        let found = paths.find(|(path, _)| ends_in(names, path));
        found.map(|(_, entry)| *entry)
    }
}

/// Returns true if a name is `start`, any text, `end`; a second `*` at the end also matches any
/// text.
fn glob_matches(name: &str, start: &str, end: &str) -> bool {
    match end.strip_suffix('*') {
        Some(middle) if !middle.is_empty() => name.starts_with(start) && name.contains(middle),
        _ => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

fn ends_in(names: &[&str], path: &[&str]) -> bool {
    let Some(above) = names.len().checked_sub(path.len()) else {
        return false;
    };
    let mut pairs = names[above..].iter().zip(path);
    pairs.all(|(name, known)| match known.split_once('*') {
        Some((start, end)) => glob_matches(name, start, end),
        None => name == known,
    })
}

fn is_environment(name: &str) -> bool {
    let example = [".example", ".sample"];
    if name.starts_with(".env") {
        return !example.iter().any(|ending| name.ends_with(ending));
    }
    match name.strip_suffix(".env") {
        Some(stem) => !matches!(stem, "example" | "sample"),
        None => false,
    }
}
