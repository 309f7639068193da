//! The matching lines of one file.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::results::{HitLine, LineKind};

/// Collects the matching lines of one file from a searcher.
pub(super) struct MatchSink<'m> {
    matcher: &'m RegexMatcher,
    line_bytes_max: usize,
    /// Number of matches still to collect; one file never has more than the whole answer.
    matches_left: usize,
    pub(super) lines: Vec<HitLine>,
    pub(super) is_binary: bool,
}

impl<'m> MatchSink<'m> {
    pub(super) fn new(matcher: &'m RegexMatcher, line_bytes_max: usize, matches: usize) -> Self {
        Self {
            matcher,
            line_bytes_max,
            matches_left: matches,
            lines: Vec::new(),
            is_binary: false,
        }
    }

    fn take(&mut self, bytes: &[u8], number: Option<u64>, kind: LineKind) {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let cut = line.len() > self.line_bytes_max;
        let shown = if cut { self.window(line, kind) } else { line };
        self.lines.push(HitLine {
            number: number.unwrap_or(0),
            text: String::from_utf8_lossy(shown).into_owned(),
            kind,
            cut,
        });
    }

    /// The part of a long line around its first match.
    fn window<'l>(&self, line: &'l [u8], kind: LineKind) -> &'l [u8] {
        let at = match kind {
            LineKind::Match => self
                .matcher
                .find(line)
                .ok()
                .flatten()
                .map_or(0, |m| m.start()),
            LineKind::Context => 0,
        };
        let start = at.saturating_sub(self.line_bytes_max / 4);
        let start = start.min(line.len().saturating_sub(self.line_bytes_max));
        let start = on_boundary(line, start);
        let end = on_boundary(line, (start + self.line_bytes_max).min(line.len()));
        line.get(start..end).unwrap_or_default()
    }
}

impl Sink for MatchSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.matches_left == 0 {
            return Ok(false);
        }
        self.matches_left -= 1;
        self.take(found.bytes(), found.line_number(), LineKind::Match);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.take(found.bytes(), found.line_number(), LineKind::Context);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Returns the nearest place at or before `index` that cuts no character.
fn on_boundary(line: &[u8], index: usize) -> usize {
    let is_inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let start = index.saturating_sub(3);
    (start..=index)
        .rev()
        .find(|&at| !is_inside(at))
        .unwrap_or(index)
}
