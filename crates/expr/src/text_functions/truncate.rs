//! Edge's `truncate` and `excerpt`: text cut to a number of characters, markup not counted.

use super::js_text::{is_line_end, trim, units};

/// Position of a cut, and the text that follows it.
#[derive(Debug, Clone, PartialEq)]
pub struct TextCut {
    /// In UTF-16 units, as JavaScript counts. Any number a template may give: below one, one
    /// character stays; not a number is no limit.
    pub length: f64,
    pub at: CutAt,
    pub suffix: String,
}

/// The characters a cut may fall between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutAt {
    /// At the limit exactly.
    Character,
    /// Behind the word the limit falls into.
    WordEnd,
}

/// Cuts text, keeps its tags and closes those the cut leaves open.
#[must_use]
pub fn truncate(text: &str, cut: &TextCut) -> String {
    let text = trim(text);
    if text.is_empty() || units(text) as f64 <= cut.length {
        return text.to_owned();
    }
    run(&join_paragraphs(text), cut, TagHandling::Keep)
}

/// Cuts text without its tags and comments.
#[must_use]
pub fn excerpt(text: &str, cut: &TextCut) -> String {
    let text = trim(text);
    if text.is_empty() {
        return String::new();
    }
    let text = breaks_to_spaces(text);
    let text = without(&text, comment);
    let text = without(&text, tag);
    let text = mark_paragraphs(&join_paragraphs(&text));
    run(&text, cut, TagHandling::Drop)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TagHandling {
    Keep,
    Drop,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkupState {
    Text,
    TagName,
    TagRest,
}

const CLOSES_ITSELF: [&str; 16] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "menuitem",
    "meta", "param", "source", "track", "wbr",
];

/// State of the pass over the text.
struct TruncateState {
    out: String,
    state: MarkupState,
    tag: String,
    open: Vec<String>,
    counted: usize,
}

impl TruncateState {
    fn step(&mut self, c: char, tags: TagHandling) {
        let was_text = self.state == MarkupState::Text;
        match c {
            '<' if was_text => {
                self.state = MarkupState::TagName;
                self.tag.clear();
            }
            '>' if !was_text => self.end_tag(tags),
            '<' | '>' => {}
            ' ' if self.state == MarkupState::TagName => self.state = MarkupState::TagRest,
            _ if was_text => self.counted += c.len_utf16(),
            _ if self.state == MarkupState::TagName => self.tag.push(c),
            _ => {}
        }
        let is_sign = matches!(c, '<' | '>');
        if tags == TagHandling::Keep || (was_text && !is_sign) {
            self.out.push(c);
        }
    }

    fn end_tag(&mut self, tags: TagHandling) {
        self.state = MarkupState::Text;
        let tag = self.tag.to_lowercase();
        if tag == "/p" && tags == TagHandling::Drop {
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

fn run(text: &str, cut: &TextCut, tags: TagHandling) -> String {
    let mut walk = TruncateState {
        out: String::with_capacity(text.len()),
        state: MarkupState::Text,
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
    if tags == TagHandling::Keep {
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

/// Replaces `<br>` and `<br />` by spaces.
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

/// The text that starts at a `<`.
enum MarkupPiece {
    /// To be dropped, so many bytes.
    Markup(usize),
    /// To be kept; nothing that starts in so many bytes can be markup, which keeps the search
    /// linear in text made of `<`.
    Text(usize),
}

/// Removes the markup that `piece` finds at each `<`.
fn without(text: &str, piece: fn(&str) -> MarkupPiece) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('<') {
        out.push_str(&rest[..place]);
        rest = &rest[place..];
        match piece(rest) {
            MarkupPiece::Markup(len) => rest = &rest[len..],
            MarkupPiece::Text(len) => {
                out.push_str(&rest[..len]);
                rest = &rest[len..];
            }
        }
    }
    out + rest
}

/// Reads a comment on one line.
fn comment(text: &str) -> MarkupPiece {
    const OPEN: &str = "<!--";
    const CLOSE: &str = "-->";
    let Some(body) = text.strip_prefix(OPEN) else {
        return MarkupPiece::Text(1);
    };
    let Some(close) = body.find(CLOSE) else {
        return MarkupPiece::Text(text.len());
    };
    match body[..close].find(is_line_end) {
        Some(line_end) => MarkupPiece::Text(OPEN.len() + line_end),
        None => MarkupPiece::Markup(OPEN.len() + close + CLOSE.len()),
    }
}

/// Reads `<` to the next `>`, with something between.
fn tag(text: &str) -> MarkupPiece {
    match text.find('>') {
        None => MarkupPiece::Text(text.len()),
        Some(1) => MarkupPiece::Text(1),
        Some(close) => MarkupPiece::Markup(close + 1),
    }
}

/// Removes the line ends between paragraphs.
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

/// Returns the length of `\n` or `\r\n` at the start.
fn line_end_len(text: &str) -> Option<usize> {
    if text.starts_with('\n') {
        Some(1)
    } else {
        text.starts_with("\r\n").then_some(2)
    }
}

/// Makes paragraphs in text with blank lines: of a line before a blank one, and of the last line.
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
