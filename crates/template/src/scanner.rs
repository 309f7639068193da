//! Finds where an argument list, an interpolation or a comment ends.
//!
//! Edge counts brackets without looking at strings. Here strings, template literals, regular
//! expressions and block comments are understood first; only where that reading never ends does
//! the scanner fall back to Edge's counting, so that everything Edge reads is read here too.

use std::borrow::Cow;

use crate::lines::{Lines, is_blank, is_space, units};

/// What ends the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    /// `)`
    Arguments,
    /// `}}`
    Mustache,
    /// `}}}`
    SafeMustache,
    /// `--}}`
    Comment,
}

/// The text up to its end, and what follows on the same line.
pub(crate) struct Scanned<'s> {
    pub(crate) text: Cow<'s, str>,
    pub(crate) rest: &'s str,
    pub(crate) line: u32,
    /// The column at which `rest` begins.
    pub(crate) column: u32,
}

/// The text never ends; where Edge says so.
pub(crate) struct Endless {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Where scanning begins.
#[derive(Clone, Copy)]
pub(crate) struct Start<'s> {
    pub(crate) text: &'s str,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// How often a text may be read a second time; a bound on hostile input.
const RESCANS_MAX: u32 = 8;

/// Scans texts of one template.
pub(crate) struct Scanner {
    rescans: u32,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self { rescans: 0 }
    }

    /// Reads from `start` to `close`, over as many of `lines` as it takes.
    pub(crate) fn scan<'s>(
        &mut self,
        start: Start<'s>,
        close: Close,
        lines: &mut Lines<'s>,
    ) -> Result<Scanned<'s>, Endless> {
        let [first, second] = match close {
            Close::Comment => [Reading::Counting, Reading::Plain],
            _ => [Reading::Javascript, Reading::Counting],
        };
        let mut ahead = lines.clone();
        let endless = match scan_as(first, start, close, &mut ahead) {
            Ok(scanned) => {
                *lines = ahead;
                return Ok(scanned);
            }
            Err(endless) => endless,
        };
        if self.rescans < RESCANS_MAX {
            self.rescans += 1;
            let mut ahead = lines.clone();
            if let Ok(scanned) = scan_as(second, start, close, &mut ahead) {
                *lines = ahead;
                return Ok(scanned);
            }
        }
        Err(endless)
    }
}

impl Close {
    fn pattern(self) -> &'static [u8] {
        match self {
            Close::Arguments => b")",
            Close::Mustache => b"}}",
            Close::SafeMustache => b"}}}",
            Close::Comment => b"--}}",
        }
    }

    /// The brackets that nest.
    fn brackets(self) -> (u8, u8) {
        match self {
            Close::Arguments => (b'(', b')'),
            _ => (b'{', b'}'),
        }
    }
}

fn scan_as<'s>(
    reading: Reading,
    start: Start<'s>,
    close: Close,
    lines: &mut Lines<'s>,
) -> Result<Scanned<'s>, Endless> {
    let mut state = State::new(reading, close);
    if let Some(end) = state.feed(start.text) {
        let rest = &start.text[end + close.pattern().len()..];
        return Ok(Scanned {
            text: Cow::Borrowed(&start.text[..end]),
            rest,
            line: start.line,
            column: start.column + units(&start.text[..start.text.len() - rest.len()]),
        });
    }
    // Lines of nothing but space are kept as empty lines, as Edge does.
    let kept = |line: &'s str| if is_blank(line) { "" } else { line };
    let mut text = kept(start.text).to_owned();
    let mut at = (start.line, start.column);
    for (number, line) in lines.by_ref() {
        at = (number, 0);
        text.push('\n');
        match state.feed(line) {
            None => text.push_str(kept(line)),
            Some(end) => {
                text.push_str(&line[..end]);
                let rest = &line[end + close.pattern().len()..];
                return Ok(Scanned {
                    text: Cow::Owned(text),
                    rest,
                    line: number,
                    column: units(&line[..line.len() - rest.len()]),
                });
            }
        }
    }
    Err(Endless {
        line: at.0,
        column: at.1,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Strings, regular expressions and comments are understood.
    Javascript,
    /// Brackets are counted wherever they stand.
    Counting,
    /// The first closing pattern ends the text.
    Plain,
}

/// What the scanner is inside of, between lines.
enum Inside {
    Code,
    TemplateLiteral,
    BlockComment,
}

struct State {
    reading: Reading,
    close: Close,
    depth: i64,
    inside: Inside,
    /// One entry per open `${`: the braces open inside of it.
    substitutions: Vec<u32>,
    /// The last byte of code before the current line, to tell a division from a regular expression.
    before_line: u8,
    /// What did not end on this line, and need not be looked for again.
    open_on_line: Vec<u8>,
}

impl State {
    fn new(reading: Reading, close: Close) -> Self {
        State {
            reading,
            close,
            depth: 0,
            inside: Inside::Code,
            substitutions: Vec::new(),
            before_line: 0,
            open_on_line: Vec::new(),
        }
    }

    /// Reads one line; the offset of the closing pattern when it stands there.
    fn feed(&mut self, line: &str) -> Option<usize> {
        let bytes = line.as_bytes();
        self.open_on_line.clear();
        let mut at = 0;
        while at < bytes.len() {
            match self.inside {
                Inside::TemplateLiteral => at = self.template_literal(bytes, at),
                Inside::BlockComment => match find(bytes, at, b"*/") {
                    Some(end) => {
                        self.inside = Inside::Code;
                        at = end + 2;
                    }
                    None => at = bytes.len(),
                },
                Inside::Code => match self.code(line, at) {
                    Step::Closed => return Some(at),
                    Step::To(next) => at = next,
                },
            }
        }
        if let Some(last) = line.trim_end_matches(is_space).as_bytes().last() {
            self.before_line = *last;
        }
        None
    }

    fn code(&mut self, line: &str, at: usize) -> Step {
        let bytes = line.as_bytes();
        let byte = bytes[at];
        let at_depth = self.depth == 0 || self.reading == Reading::Plain;
        if at_depth
            && self.substitutions.is_empty()
            && bytes[at..].starts_with(self.close.pattern())
        {
            return Step::Closed;
        }
        if self.reading == Reading::Javascript
            && let Some(next) = self.javascript(line, at)
        {
            return Step::To(next);
        }
        if self.substitutions.is_empty() {
            let (open, close) = self.close.brackets();
            if byte == open {
                self.depth += 1;
            } else if byte == close {
                self.depth -= 1;
            }
        }
        Step::To(at + 1)
    }

    /// Steps over what JavaScript would not read as brackets.
    fn javascript(&mut self, line: &str, at: usize) -> Option<usize> {
        let bytes = line.as_bytes();
        match bytes[at] {
            quote @ (b'"' | b'\'') => self.whole(bytes, at, quote, end_of_string),
            b'`' if !self.open_on_line.contains(&b'`') => {
                self.inside = Inside::TemplateLiteral;
                Some(at + 1)
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                self.inside = Inside::BlockComment;
                Some(at + 2)
            }
            // What follows a line comment is counted but not understood: Edge closes there too.
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                self.open_on_line.extend([b'"', b'\'', b'/', b'`']);
                Some(at + 2)
            }
            b'/' if self.regex_may_start(&line[..at]) => {
                self.whole(bytes, at, b'/', |bytes, at, _| end_of_regex(bytes, at))
            }
            b'{' => {
                if let Some(braces) = self.substitutions.last_mut() {
                    *braces += 1;
                }
                None
            }
            b'}' => match self.substitutions.last_mut() {
                Some(0) => {
                    self.substitutions.pop();
                    self.inside = Inside::TemplateLiteral;
                    Some(at + 1)
                }
                Some(braces) => {
                    *braces -= 1;
                    None
                }
                None => None,
            },
            _ => None,
        }
    }

    /// Steps over something that must end on its line; otherwise its first byte is an ordinary one.
    fn whole(
        &mut self,
        bytes: &[u8],
        at: usize,
        kind: u8,
        end: impl Fn(&[u8], usize, u8) -> Option<usize>,
    ) -> Option<usize> {
        if self.open_on_line.contains(&kind) {
            return None;
        }
        let found = end(bytes, at + 1, kind);
        if found.is_none() {
            self.open_on_line.push(kind);
        }
        found
    }

    fn template_literal(&mut self, bytes: &[u8], mut at: usize) -> usize {
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 2,
                b'`' => {
                    self.inside = Inside::Code;
                    return at + 1;
                }
                b'$' if bytes.get(at + 1) == Some(&b'{') => {
                    self.inside = Inside::Code;
                    self.substitutions.push(0);
                    return at + 2;
                }
                _ => at += 1,
            }
        }
        bytes.len()
    }

    /// Whether a slash after `before` begins a regular expression rather than divides.
    fn regex_may_start(&self, before: &str) -> bool {
        const OPERATOR_WORDS: [&str; 8] = [
            "await",
            "delete",
            "in",
            "instanceof",
            "new",
            "return",
            "typeof",
            "void",
        ];
        let before = before.trim_end_matches(is_space);
        let Some(last) = before.as_bytes().last() else {
            return !is_operand_end(self.before_line);
        };
        if !is_operand_end(*last) {
            return true;
        }
        let word = before.rfind(|c: char| !is_word(c)).map_or(before, |at| {
            let after = at + before[at..].chars().next().map_or(1, char::len_utf8);
            &before[after..]
        });
        OPERATOR_WORDS.contains(&word)
    }
}

enum Step {
    Closed,
    To(usize),
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Whether a value ends with this byte, so that a slash after it divides.
fn is_operand_end(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte >= 0x80
        || matches!(byte, b'_' | b'$' | b')' | b']' | b'}' | b'"' | b'\'' | b'`')
}

fn find(bytes: &[u8], from: usize, pattern: &[u8]) -> Option<usize> {
    let found = bytes[from..]
        .windows(pattern.len())
        .position(|window| window == pattern);
    found.map(|at| from + at)
}

fn end_of_string(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

fn end_of_regex(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut in_class = false;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}
