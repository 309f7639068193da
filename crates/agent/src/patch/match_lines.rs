//! Finds the old lines of a hunk: four ways to compare, each less strict than the one before.

use serde::Serialize;

use super::lines::{FileLines, bare};

/// The similarity required of two lines. Line ends are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MatchStrictness {
    Exact,
    /// White space at the end of a line may differ.
    TrailingWhiteSpace,
    /// White space may differ anywhere.
    WhiteSpace,
    /// Besides, dashes, quotes and spaces may be other ones that look alike.
    LookAlikes,
}

impl MatchStrictness {
    pub(crate) const ALL: [MatchStrictness; 4] = [
        MatchStrictness::Exact,
        MatchStrictness::TrailingWhiteSpace,
        MatchStrictness::WhiteSpace,
        MatchStrictness::LookAlikes,
    ];

    pub(crate) fn same(self, a: &str, b: &str) -> bool {
        match self {
            MatchStrictness::Exact => a == b,
            MatchStrictness::TrailingWhiteSpace => a.trim_end() == b.trim_end(),
            MatchStrictness::WhiteSpace => dense(a).eq(dense(b)),
            MatchStrictness::LookAlikes => dense(a).flat_map(plain).eq(dense(b).flat_map(plain)),
        }
    }
}

/// Everywhere between `from` and the end where `wanted` is found at this strictness, up to `most`.
pub(crate) fn places(
    file: &FileLines<'_>,
    wanted: &[&str],
    from: usize,
    strictness: MatchStrictness,
) -> Vec<usize> {
    let Some(last) = file.len().checked_sub(wanted.len()) else {
        return Vec::new();
    };
    let fits = |at: &usize| {
        let lines = (*at..).zip(wanted);
        lines
            .into_iter()
            .all(|(at, line)| strictness.same(file.bare(at), bare(line)))
    };
    (from..=last).filter(fits).take(PLACES_MAX).collect()
}

/// More than this many places are not counted: it is ambiguous already.
pub(crate) const PLACES_MAX: usize = 20;

/// Returns the characters without any white space.
fn dense(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars()
        .filter(|c| !c.is_whitespace() && !is_invisible(*c))
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{00ad}'
    )
}

/// Returns the plain character that looks most like it.
fn plain(c: char) -> impl Iterator<Item = char> {
    let text: &'static str = match c {
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '﹘' | '﹣' | '－' => "-",
        '‘' | '’' | '‚' | '‛' | '′' | '´' | '＇' => "'",
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' | '＂' => "\"",
        '…' => "...",
        '（' => "(",
        '）' => ")",
        '，' => ",",
        '：' => ":",
        '；' => ";",
        '！' => "!",
        '？' => "?",
        '×' => "x",
        _ => "",
    };
    let own = text.is_empty().then_some(c);
    own.into_iter().chain(text.chars())
}
