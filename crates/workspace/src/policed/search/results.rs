//! The results of a search: keeps the first ones in tree order.

use std::collections::BTreeMap;

use crate::RelPath;

/// The most skipped files that are named.
const SKIPPED_NAMED_MAX: usize = 100;

/// Tells a matching line from one beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// It matches.
    Match,
    /// A line shown for context.
    Context,
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitLine {
    /// Counted from 1.
    pub number: u64,
    /// The line without its end; the part around the match if it is very long.
    pub text: String,
    /// Tells whether it matches.
    pub kind: LineKind,
    /// True if a part of the line was left out (`search_line_bytes_max`).
    pub cut: bool,
}

/// The lines found in one file, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHits {
    /// The file, without symlinks.
    pub path: RelPath,
    /// Its lines, matches and context.
    pub lines: Vec<HitLine>,
}

/// A skipped file, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// The file or directory.
    pub path: RelPath,
    /// The reason, as a clause.
    pub why: String,
}

/// The limit that ended a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStop {
    /// There are more matches than `results_max`.
    Results,
    /// `search_bytes_max` bytes were read.
    Bytes,
    /// `search_time_max` has passed.
    Time,
    /// The walk has read `walk_entries_max` entries.
    Entries,
}

impl SearchStop {
    /// The name of the limit.
    #[must_use]
    pub fn limit(self) -> &'static str {
        match self {
            Self::Results => "results_max",
            Self::Bytes => "search_bytes_max",
            Self::Time => "search_time_max",
            Self::Entries => "walk_entries_max",
        }
    }
}

/// The results of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContentMatches {
    /// Files with matches, in tree order.
    pub files: Vec<FileHits>,
    /// Number of matching lines in them.
    pub matches: usize,
    /// Number of files searched.
    pub searched: usize,
    /// Files too large, unreadable, or hard links with names elsewhere; in tree
    /// order, the first hundred.
    pub skipped: Vec<SkippedFile>,
    /// The reason why there may be more; `None` if the search was complete.
    pub stop: Option<SearchStop>,
}

/// Keeps no more than the first `results_max` matches in tree order, in whichever order they
/// arrive.
pub(super) struct MatchCollector {
    results_max: usize,
    files: BTreeMap<RelPath, (Vec<HitLine>, usize)>,
    matches: usize,
    /// Files after this one are not needed any more.
    bound: Option<RelPath>,
    skipped: BTreeMap<RelPath, String>,
}

impl MatchCollector {
    pub(super) fn new(results_max: usize) -> Self {
        Self {
            results_max,
            files: BTreeMap::new(),
            matches: 0,
            bound: None,
            skipped: BTreeMap::new(),
        }
    }

    pub(super) fn bound(&self) -> Option<&RelPath> {
        self.bound.as_ref()
    }

    pub(super) fn add(&mut self, path: RelPath, lines: Vec<HitLine>) {
        let matches = lines
            .iter()
            .filter(|line| line.kind == LineKind::Match)
            .count();
        self.files.insert(path, (lines, matches));
        self.matches += matches;
        // One match too many shows that there are more.
        while self.matches > self.results_max {
            let Some((last, (_, matches))) = self.files.last_key_value() else {
                return;
            };
            self.bound = Some(last.clone());
            if self.matches - matches <= self.results_max {
                return;
            }
            self.matches -= matches;
            self.files.pop_last();
        }
    }

    pub(super) fn skip(&mut self, path: RelPath, why: String) {
        self.skipped.insert(path, why);
        if self.skipped.len() > SKIPPED_NAMED_MAX {
            self.skipped.pop_last();
        }
    }

    pub(super) fn finish(self, searched: usize, stop: Option<SearchStop>) -> ContentMatches {
        let mut left = self.results_max;
        let mut files = Vec::with_capacity(self.files.len());
        for (path, (mut lines, matches)) in self.files {
            if matches > left {
                cut_after(&mut lines, left);
            }
            left = left.saturating_sub(matches);
            if !lines.is_empty() {
                files.push(FileHits { path, lines });
            }
        }
        let more = self.matches > self.results_max;
        ContentMatches {
            files,
            matches: self.matches.min(self.results_max),
            searched,
            skipped: self
                .skipped
                .into_iter()
                .map(|(path, why)| SkippedFile { path, why })
                .collect(),
            stop: stop.or(more.then_some(SearchStop::Results)),
        }
    }
}

/// Keeps the first `count` matches and the context up to them.
fn cut_after(lines: &mut Vec<HitLine>, count: usize) {
    let mut seen = 0;
    let keep = lines
        .iter()
        .position(|line| {
            seen += usize::from(line.kind == LineKind::Match);
            seen == count
        })
        .map_or(0, |index| index + 1);
    lines.truncate(if count == 0 { 0 } else { keep });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(matches: usize) -> Vec<HitLine> {
        let line = |number| HitLine {
            number,
            text: String::new(),
            kind: LineKind::Match,
            cut: false,
        };
        (1..=matches as u64).map(line).collect()
    }

    /// The first matches in tree order remain, in whichever order files arrive.
    #[test]
    fn the_order_of_arrival_does_not_show() {
        let files = [("a", 2), ("b", 1), ("c/d", 3), ("e", 2)];
        let expected = [("a", 2), ("b", 1), ("c/d", 1)];
        for turn in 0..files.len() {
            for reversed in [false, true] {
                let mut order = files;
                order.rotate_left(turn);
                if reversed {
                    order.reverse();
                }
                let mut collector = MatchCollector::new(4);
                for (path, matches) in order {
                    let path = RelPath::parse(path).unwrap();
                    if collector.bound().is_none_or(|bound| path <= *bound) {
                        collector.add(path, lines(matches));
                    }
                }
                let found = collector.finish(4, None);
                let kept: Vec<(&str, usize)> = found
                    .files
                    .iter()
                    .map(|file| (file.path.as_str(), file.lines.len()))
                    .collect();
                assert_eq!(kept, expected, "{order:?}");
                assert_eq!(found.stop, Some(SearchStop::Results));
            }
        }
    }

    #[test]
    fn exactly_as_many_as_wanted_is_all_there_is() {
        let mut collector = MatchCollector::new(2);
        collector.add(RelPath::parse("a").unwrap(), lines(2));
        assert_eq!(collector.finish(1, None).stop, None);
    }
}
