//! Edge's `truncate` and `excerpt`: text cut to a number of characters, markup not counted.

use super::js_text::{is_line_end, trim, units};

/// Where text may be cut and what then follows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// In UTF-16 units, as JavaScript counts. Any number a template may give: below one, one
    /// character stays; not a number is no limit.
    pub length: f64,
    pub at: CutAt,
    pub suffix: String,
}

/// Where a cut may fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutAt {
    /// At the limit exactly.
    Character,
    /// Behind the word the limit falls into.
    WordEnd,
}

/// Cuts text, keeps its tags and closes those the cut leaves open.
#[must_use]
pub fn truncate(text: &str, cut: &Cut) -> String {
    let text = trim(text);
    if text.is_empty() || units(text) as f64 <= cut.length {
        return text.to_owned();
    }
    run(&join_paragraphs(text), cut, Tags::Keep)
}

/// Cuts text without its tags and comments.
#[must_use]
pub fn excerpt(text: &str, cut: &Cut) -> String {
    let text = trim(text);
    if text.is_empty() {
        return String::new();
    }
    let text = breaks_to_spaces(text);
    let text = without(&text, comment);
    let text = without(&text, tag);
    let text = mark_paragraphs(&join_paragraphs(&text));
    run(&text, cut, Tags::Drop)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tags {
    Keep,
    Drop,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    TagName,
    TagRest,
}

const CLOSES_ITSELF: [&str; 16] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "menuitem",
    "meta", "param", "source", "track", "wbr",
];

/// What the walk over the text has seen so far.
struct Walk {
    out: String,
    state: State,
    tag: String,
    open: Vec<String>,
    counted: usize,
}

impl Walk {
    fn step(&mut self, c: char, tags: Tags) {
        let was_text = self.state == State::Text;
        match c {
            '<' if was_text => {
                self.state = State::TagName;
                self.tag.clear();
            }
            '>' if !was_text => self.end_tag(tags),
            '<' | '>' => {}
            ' ' if self.state == State::TagName => self.state = State::TagRest,
            _ if was_text => self.counted += c.len_utf16(),
            _ if self.state == State::TagName => self.tag.push(c),
            _ => {}
        }
        let is_sign = matches!(c, '<' | '>');
        if tags == Tags::Keep || (was_text && !is_sign) {
            self.out.push(c);
        }
    }

    fn end_tag(&mut self, tags: Tags) {
        self.state = State::Text;
        let tag = self.tag.to_lowercase();
        if tag == "/p" && tags == Tags::Drop {
            self.out.push(' ');
        }
        if CLOSES_ITSELF.contains(&tag.as_str()) {
            return;
        }
        if tag.contains('/') {
            self.open.pop();
        } else {
            self.open.push(tag);
        }
    }

    fn close_open_tags(&mut self) {
        while let Some(tag) = self.open.pop() {
            if tag != "!--" {
                self.out.push_str("</");
                self.out.push_str(&tag);
                self.out.push('>');
            }
        }
    }
}

fn run(text: &str, cut: &Cut, tags: Tags) -> String {
    let mut walk = Walk {
        out: String::with_capacity(text.len()),
        state: State::Text,
        tag: String::new(),
        open: Vec::new(),
        counted: 0,
    };
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        walk.step(c, tags);
        let next = rest.clone().next();
        let may_cut =
            cut.at == CutAt::Character || !is_inside_word(c) || !next.is_some_and(is_inside_word);
        if walk.counted as f64 >= cut.length && may_cut {
            break;
        }
    }
    if tags == Tags::Keep {
        walk.close_open_tags();
    }
    let mut out = walk.out;
    if !rest.as_str().is_empty() {
        let tail = out.len().saturating_sub("</p>".len());
        let ends_paragraph = out
            .get(tail..)
            .is_some_and(|end| end.eq_ignore_ascii_case("</p>"));
        out.insert_str(if ends_paragraph { tail } else { out.len() }, &cut.suffix);
    }
    trim(&out).to_owned()
}

/// Letters between which upstream does not cut; its range stops short of the first Latin-1 ones.
fn is_inside_word(c: char) -> bool {
    matches!(c, 'a'..='z' | 'A'..='Z' | '\'' | 'Ç'..='Ü' | 'ç'..='ö' | 'ø'..='ü')
}

/// `<br>` and `<br />` become spaces.
fn breaks_to_spaces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('<') {
        out.push_str(&rest[..place]);
        rest = &rest[place..];
        let len = ["<br>", "<br />"].iter().find_map(|tag| {
            let found = rest.get(..tag.len())?;
            found.eq_ignore_ascii_case(tag).then_some(tag.len())
        });
        out.push_str(if len.is_some() { " " } else { "<" });
        rest = &rest[len.unwrap_or(1)..];
    }
    out + rest
}

/// What starts at a `<`.
enum Piece {
    /// To be dropped, so many bytes.
    Markup(usize),
    /// To be kept; nothing that starts in so many bytes can be markup, which keeps the search
    /// linear in text made of `<`.
    Text(usize),
}

/// Text without the markup that `piece` finds at each `<`.
fn without(text: &str, piece: fn(&str) -> Piece) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('<') {
        out.push_str(&rest[..place]);
        rest = &rest[place..];
        match piece(rest) {
            Piece::Markup(len) => rest = &rest[len..],
            Piece::Text(len) => {
                out.push_str(&rest[..len]);
                rest = &rest[len..];
            }
        }
    }
    out + rest
}

/// A comment on one line.
fn comment(text: &str) -> Piece {
    const OPEN: &str = "<!--";
    const CLOSE: &str = "-->";
    let Some(body) = text.strip_prefix(OPEN) else {
        return Piece::Text(1);
    };
    let Some(close) = body.find(CLOSE) else {
        return Piece::Text(text.len());
    };
    match body[..close].find(is_line_end) {
        Some(line_end) => Piece::Text(OPEN.len() + line_end),
        None => Piece::Markup(OPEN.len() + close + CLOSE.len()),
    }
}

/// `<` to the next `>`, with something between.
fn tag(text: &str) -> Piece {
    match text.find('>') {
        None => Piece::Text(text.len()),
        Some(1) => Piece::Text(1),
        Some(close) => Piece::Markup(close + 1),
    }
}

/// Paragraphs on lines of their own come to stand side by side.
fn join_paragraphs(text: &str) -> String {
    const CLOSE: &str = "</p>";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(CLOSE) {
        let after = &rest[place + CLOSE.len()..];
        out.push_str(&rest[..place + CLOSE.len()]);
        let lines = line_ends_len(after);
        let joined = lines > 0 && after[lines..].starts_with("<p>");
        rest = if joined { &after[lines..] } else { after };
    }
    out + rest
}

fn line_ends_len(text: &str) -> usize {
    let mut len = 0;
    while let Some(one) = line_end_len(&text[len..]) {
        len += one;
    }
    len
}

/// The length of `\n` or `\r\n` at the start.
fn line_end_len(text: &str) -> Option<usize> {
    if text.starts_with('\n') {
        Some(1)
    } else {
        text.starts_with("\r\n").then_some(2)
    }
}

/// In text with blank lines, a line before a blank one, and the last line, become a paragraph.
fn mark_paragraphs(text: &str) -> String {
    if blank_line(text).is_none() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while !rest.is_empty() {
        let line_end = rest.find(is_line_end).unwrap_or(rest.len());
        let (line, after) = rest.split_at(line_end);
        let blank = if after.is_empty() {
            Some(0)
        } else {
            two_line_ends_len(after)
        };
        match blank {
            Some(len) if !line.is_empty() => {
                out.push_str("<p>");
                out.push_str(line);
                out.push_str("</p>");
                rest = &after[len..];
            }
            _ => {
                let step = after.chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..line_end + step]);
                rest = &after[step..];
            }
        }
    }
    out
}

fn blank_line(text: &str) -> Option<usize> {
    text.char_indices()
        .find(|(place, _)| two_line_ends_len(&text[*place..]).is_some())
        .map(|(place, _)| place)
}

fn two_line_ends_len(text: &str) -> Option<usize> {
    let first = line_end_len(text)?;
    Some(first + line_end_len(&text[first..])?)
}
