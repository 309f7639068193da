//! Prepares a text as Mermaid does before it parses: every cut remembers where the rest came from.
//!
//! Front matter, directives and comments are cut out, line ends become `\n`, and a few characters
//! that the grammar would trip over are dropped. The grammar then reads the cleaned text, and
//! [`CleanText::span`] maps every place in it back to the source.

use std::ops::Range;

use crate::chars::{is_space, is_word, stops_dot};
use crate::span::Span;
use crate::syntax::{CommentLine, FrontMatter};

/// A text with parts cut out, and the way back to the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct CleanText {
    pub(crate) text: String,
    /// The start of each uncut piece, here and in the source.
    pieces: Vec<(usize, usize)>,
    source_bytes: usize,
}

/// Everything that was cut out and means something.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceTrivia {
    pub(crate) front_matter: Option<FrontMatter>,
    pub(crate) directives: Vec<Span>,
    pub(crate) comments: Vec<CommentLine>,
}

/// Cleans a source in the order Mermaid does it.
pub(crate) fn clean(source: &str) -> (CleanText, SourceTrivia) {
    let mut trivia = SourceTrivia::default();
    let text = normal_lines(source);
    let text = text.cut_front_matter(&mut trivia);
    let text = text.cut_directives(&mut trivia);
    let text = text.cut_comments(&mut trivia);
    let text = text.cut_leading_space();
    let text = text.cut_semicolon_after("style");
    let text = text.cut_semicolon_after("classDef");
    let mut text = text;
    text.text.push('\n');
    (text.cut_space_after_braces(), trivia)
}

/// Gives every line that [`clean`] takes a semicolon from one more, so that it reads as it is.
pub(crate) fn with_semicolons_to_lose(text: &str) -> String {
    // The last cut is undone first.
    one_more_semicolon(&one_more_semicolon(text, "classDef"), "style")
}

fn one_more_semicolon(text: &str, word: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive(stops_dot) {
        let (before, after) = line.split_at(colour_semicolon(line, word).unwrap_or(0));
        out.push_str(before);
        if !before.is_empty() {
            out.push(';');
        }
        out.push_str(after);
    }
    out
}

impl CleanText {
    /// Maps a place in the cleaned text to the source.
    pub(crate) fn source_at(&self, at: usize) -> usize {
        let index = self.pieces.partition_point(|piece| piece.0 <= at);
        let (here, there) = match index.checked_sub(1).and_then(|i| self.pieces.get(i)) {
            Some(piece) => *piece,
            None => (at, self.pieces.first().map_or(0, |piece| piece.1)),
        };
        (there + (at - here)).min(self.source_bytes)
    }

    /// Maps a range of the cleaned text to the source.
    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        let start = self.source_at(range.start);
        if range.is_empty() {
            return Span { start, end: start };
        }
        let end = (self.source_at(range.end - 1) + 1).min(self.source_bytes);
        Span { start, end }
    }

    /// Returns the cleaned text of a span of the source.
    pub(crate) fn of(&self, span: Span) -> String {
        let mut out = String::new();
        let after = self.pieces.partition_point(|piece| piece.1 <= span.start);
        for at in after.saturating_sub(1)..self.pieces.len() {
            let (here, there) = self.pieces[at];
            if there >= span.end {
                break;
            }
            let next = self.pieces.get(at + 1);
            let end = next.map_or(self.text.len(), |piece| piece.0);
            let start = here + span.start.saturating_sub(there);
            let end = end.min(here + (span.end - there));
            out.push_str(self.text.get(start..end).unwrap_or(""));
        }
        out
    }

    fn without(&self, cuts: &[Range<usize>]) -> CleanText {
        let mut kept = CleanText {
            source_bytes: self.source_bytes,
            ..CleanText::default()
        };
        let mut from = 0;
        let end = self.text.len();
        for cut in cuts.iter().chain(std::iter::once(&(end..end))) {
            self.keep(from..cut.start, &mut kept);
            from = cut.end;
        }
        kept
    }

    fn keep(&self, range: Range<usize>, kept: &mut CleanText) {
        if range.is_empty() {
            return;
        }
        let after = self.pieces.partition_point(|piece| piece.0 <= range.start);
        let first = after.saturating_sub(1);
        for (here, there) in self.pieces.get(first..).unwrap_or_default() {
            if *here >= range.end {
                break;
            }
            let start = (*here).max(range.start);
            let piece = (
                kept.text.len() + start - range.start,
                there + (start - here),
            );
            kept.pieces.push(piece);
        }
        kept.text.push_str(&self.text[range]);
    }

    fn cut_front_matter(self, trivia: &mut SourceTrivia) -> CleanText {
        let Some(found) = crate::front_matter::find(&self.text) else {
            return self;
        };
        trivia.front_matter = Some(FrontMatter {
            span: self.span(0..found.end),
            body: found.body,
        });
        self.without(&[Range {
            start: 0,
            end: found.end,
        }])
    }

    /// Cuts out `%%{ … }%%`, which may span lines; without its end it takes the rest of the text.
    fn cut_directives(self, trivia: &mut SourceTrivia) -> CleanText {
        let mut cuts = Vec::new();
        let mut from = 0;
        while let Some(found) = self.text[from..].find("%%{") {
            let start = from + found;
            from = match directive_end(&self.text, start + 3) {
                Some(end) => {
                    cuts.push(start..end);
                    trivia.directives.push(self.span(start..end));
                    end
                }
                None => start + 3,
            };
        }
        self.without(&cuts)
    }

    /// Whole lines of `%%` and at least one more character; blank lines before them go too.
    fn cut_comments(self, trivia: &mut SourceTrivia) -> CleanText {
        let mut cuts = Vec::new();
        let text = &self.text;
        let mut line = 0;
        while line < text.len() {
            let start = skip_space(text, line);
            let rest = &text[start..];
            let body = rest.strip_prefix("%%").unwrap_or("");
            let bytes = body.find('\n').unwrap_or(body.len());
            if bytes == 0 || body.starts_with('{') {
                line = start
                    + rest.find(stops_dot).map_or(rest.len(), |end| {
                        end + rest[end..].chars().next().map_or(1, char::len_utf8)
                    });
                continue;
            }
            let end = start + 2 + bytes;
            trivia.comments.push(CommentLine {
                span: self.span(start..end),
                text: body[..bytes].to_owned(),
            });
            let next = (end + 1).min(text.len());
            cuts.push(line..next);
            line = next;
        }
        self.without(&cuts)
    }

    fn cut_leading_space(self) -> CleanText {
        let end = skip_space(&self.text, 0);
        self.without(&[Range { start: 0, end }])
    }

    /// Cuts the last semicolon of a line with `style … : … # … ;`, so that a colour is no entity
    /// code.
    fn cut_semicolon_after(self, word: &str) -> CleanText {
        let mut cuts = Vec::new();
        let mut start = 0;
        for line in self.text.split(stops_dot) {
            if let Some(at) = colour_semicolon(line, word) {
                cuts.push(start + at..start + at + 1);
            }
            let end = start + line.len();
            start = end + self.text[end..].chars().next().map_or(0, char::len_utf8);
        }
        self.without(&cuts)
    }

    fn cut_space_after_braces(self) -> CleanText {
        let mut cuts = Vec::new();
        let mut from = 0;
        while let Some(found) = self.text[from..].find('}') {
            let start = from + found + 1;
            from = skip_space(&self.text, start);
            if let Some(newline) = self.text[start..from].rfind('\n') {
                cuts.push(start..start + newline);
            }
        }
        self.without(&cuts)
    }
}

fn normal_lines(source: &str) -> CleanText {
    let whole = CleanText {
        text: source.to_owned(),
        pieces: vec![(0, 0)],
        source_bytes: source.len(),
    };
    let cuts: Vec<Range<usize>> = source
        .match_indices("\r\n")
        .map(|(at, _)| at..at + 1)
        .collect();
    let mut clean = whole.without(&cuts);
    clean.text = single_quoted_attributes(&clean.text.replace('\r', "\n"));
    clean
}

/// Inside an HTML tag, `name="value"` becomes `name='value'`.
fn single_quoted_attributes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let (before, tag) = rest.split_at(open + 1);
        out.push_str(before);
        rest = tag;
        let name = tag.len() - tag.trim_start_matches(is_word).len();
        if name == 0 {
            continue;
        }
        let Some(close) = tag.find('>') else {
            break;
        };
        if close < name {
            continue;
        }
        out.push_str(&tag[..name]);
        push_attributes(&mut out, &tag[name..close]);
        rest = &tag[close..];
    }
    out.push_str(rest);
    out
}

fn push_attributes(out: &mut String, mut attributes: &str) {
    while let Some(open) = attributes.find("=\"") {
        let value = &attributes[open + 2..];
        let Some(close) = value.find('"') else {
            break;
        };
        out.push_str(&attributes[..open]);
        out.push_str("='");
        out.push_str(&value[..close]);
        out.push('\'');
        attributes = &value[close + 1..];
    }
    out.push_str(attributes);
}

/// Returns the end of a directive whose `%%{` ends at `at`, if a name follows.
fn directive_end(text: &str, at: usize) -> Option<usize> {
    let name = skip_space(text, at);
    let after_name = skip_word(text, name);
    if after_name == name {
        return None;
    }
    let colon = skip_space(text, after_name);
    let mut end = if text[colon..].starts_with(':') {
        colon + 1
    } else {
        after_name
    };
    end = skip_space(text, end);
    let after_word = skip_word(text, end);
    end = if after_word > end {
        after_word
    } else {
        let rest = &text[end..];
        let close = rest.find("}%%").unwrap_or(rest.len());
        let stop = rest[..close].find(['\u{2028}', '\u{2029}']);
        end + stop.unwrap_or(close)
    };
    end = skip_space(text, end);
    Some(if text[end..].starts_with("}%%") {
        end + 3
    } else {
        end
    })
}

/// Returns the place of the last semicolon of a line, if the line sets a colour in the given
/// statement.
fn colour_semicolon(line: &str, word: &str) -> Option<usize> {
    let end = line.rfind(';')?;
    let from = line.find(word)? + word.len();
    let body = line.get(from..end)?;
    let mut colon = false;
    for c in body.chars() {
        match c {
            ':' => colon = true,
            '#' if colon => return Some(end),
            c if is_space(c) => colon = false,
            _ => {}
        }
    }
    None
}

fn skip_space(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    at + rest.find(|c| !is_space(c)).unwrap_or(rest.len())
}

fn skip_word(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    at + rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}
