//! Where the old lines of a hunk are: four ways to compare, each less strict than the one before.

use serde::Serialize;

use super::lines::{Lines, bare};

/// How alike lines must be. Line ends are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Strictness {
    Exact,
    /// White space at the end of a line may differ.
    TrailingWhiteSpace,
    /// White space may differ anywhere.
    WhiteSpace,
    /// Besides, dashes, quotes and spaces may be other ones that look alike.
    LookAlikes,
}

impl Strictness {
    pub(crate) const ALL: [Strictness; 4] = [
        Strictness::Exact,
        Strictness::TrailingWhiteSpace,
        Strictness::WhiteSpace,
        Strictness::LookAlikes,
    ];

    pub(crate) fn same(self, a: &str, b: &str) -> bool {
        match self {
            Strictness::Exact => a == b,
            Strictness::TrailingWhiteSpace => a.trim_end() == b.trim_end(),
            Strictness::WhiteSpace => dense(a).eq(dense(b)),
            Strictness::LookAlikes => dense(a).flat_map(plain).eq(dense(b).flat_map(plain)),
        }
    }
}

/// Everywhere between `from` and the end where `wanted` is found at this strictness, up to `most`.
pub(crate) fn places(
    file: &Lines<'_>,
    wanted: &[&str],
    from: usize,
    strictness: Strictness,
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

/// The characters without any white space.
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

/// The plain character that looks most like it.
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
