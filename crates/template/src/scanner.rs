//! Finds where an argument list, an interpolation or a comment ends.
//!
//! Edge counts brackets without looking at strings. Here strings, template literals, regular
//! expressions and block comments are understood first; only where that reading never ends does
//! the scanner fall back to Edge's counting, so that everything Edge reads is read here too.

use std::borrow::Cow;

use crate::lines::{NumberedLines, is_blank, is_space, units};

/// The pattern that ends the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosingPattern {
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
pub(crate) struct ScannedText<'s> {
    pub(crate) text: Cow<'s, str>,
    pub(crate) rest: &'s str,
    pub(crate) line: u32,
    /// The column at which `rest` begins.
    pub(crate) column: u32,
}

/// The text never ends; the position is the one Edge reports.
pub(crate) struct UnclosedText {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The text to scan and its position.
#[derive(Clone, Copy)]
pub(crate) struct ScanStart<'s> {
    pub(crate) text: &'s str,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Limit on second readings of a text; a bound on hostile input.
const RESCANS_MAX: u32 = 8;

/// Scans texts of one template.
pub(crate) struct TemplateScanner {
    rescans: u32,
}

impl TemplateScanner {
    pub(crate) fn new() -> Self {
        Self { rescans: 0 }
    }

    /// Reads from `start` to `close`, over as many of `lines` as it takes.
    pub(crate) fn scan<'s>(
        &mut self,
        start: ScanStart<'s>,
        close: ClosingPattern,
        lines: &mut NumberedLines<'s>,
    ) -> Result<ScannedText<'s>, UnclosedText> {
        let [first, second] = match close {
            ClosingPattern::Comment => [ScanMode::Counting, ScanMode::Plain],
            _ => [ScanMode::Javascript, ScanMode::Counting],
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

impl ClosingPattern {
    fn pattern(self) -> &'static [u8] {
        match self {
            ClosingPattern::Arguments => b")",
            ClosingPattern::Mustache => b"}}",
            ClosingPattern::SafeMustache => b"}}}",
            ClosingPattern::Comment => b"--}}",
        }
    }

    /// Returns the brackets that nest.
    fn brackets(self) -> (u8, u8) {
        match self {
            ClosingPattern::Arguments => (b'(', b')'),
            _ => (b'{', b'}'),
        }
    }
}

fn scan_as<'s>(
    reading: ScanMode,
    start: ScanStart<'s>,
    close: ClosingPattern,
    lines: &mut NumberedLines<'s>,
) -> Result<ScannedText<'s>, UnclosedText> {
    let mut state = ScanState::new(reading, close);
    if let Some(end) = state.feed(start.text) {
        let rest = &start.text[end + close.pattern().len()..];
        return Ok(ScannedText {
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
                return Ok(ScannedText {
                    text: Cow::Owned(text),
                    rest,
                    line: number,
                    column: units(&line[..line.len() - rest.len()]),
                });
            }
        }
    }
    Err(UnclosedText {
        line: at.0,
        column: at.1,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanMode {
    /// Strings, regular expressions and comments are understood.
    Javascript,
    /// Brackets are counted everywhere.
    Counting,
    /// The first closing pattern ends the text.
    Plain,
}

/// The construct that the scanner is inside of, between lines.
enum ScanRegion {
    Code,
    TemplateLiteral,
    BlockComment,
}

struct ScanState {
    reading: ScanMode,
    close: ClosingPattern,
    depth: i64,
    inside: ScanRegion,
    /// One entry per open `${`: the braces open inside of it.
    substitutions: Vec<u32>,
    /// The last byte of code before the current line, to tell a division from a regular expression.
    before_line: u8,
    /// Openers that found no end on this line, so that the search is not repeated.
    open_on_line: Vec<u8>,
}

impl ScanState {
    fn new(reading: ScanMode, close: ClosingPattern) -> Self {
        ScanState {
            reading,
            close,
            depth: 0,
            inside: ScanRegion::Code,
            substitutions: Vec::new(),
            before_line: 0,
            open_on_line: Vec::new(),
        }
    }

    /// Reads one line; returns the offset of the closing pattern if the line has it.
    fn feed(&mut self, line: &str) -> Option<usize> {
        let bytes = line.as_bytes();
        self.open_on_line.clear();
        let mut at = 0;
        while at < bytes.len() {
            match self.inside {
                ScanRegion::TemplateLiteral => at = self.template_literal(bytes, at),
                ScanRegion::BlockComment => match find(bytes, at, b"*/") {
                    Some(end) => {
                        self.inside = ScanRegion::Code;
                        at = end + 2;
                    }
                    None => at = bytes.len(),
                },
                ScanRegion::Code => match self.code(line, at) {
                    ScanStep::Closed => return Some(at),
                    ScanStep::To(next) => at = next,
                },
            }
        }
        if let Some(last) = line.trim_end_matches(is_space).as_bytes().last() {
            self.before_line = *last;
        }
        None
    }

    fn code(&mut self, line: &str, at: usize) -> ScanStep {
        let bytes = line.as_bytes();
        let byte = bytes[at];
        let at_depth = self.depth == 0 || self.reading == ScanMode::Plain;
        if at_depth
            && self.substitutions.is_empty()
            && bytes[at..].starts_with(self.close.pattern())
        {
            return ScanStep::Closed;
        }
        if self.reading == ScanMode::Javascript
            && let Some(next) = self.javascript(line, at)
        {
            return ScanStep::To(next);
        }
        if self.substitutions.is_empty() {
            let (open, close) = self.close.brackets();
            if byte == open {
                self.depth += 1;
            } else if byte == close {
                self.depth -= 1;
            }
        }
        ScanStep::To(at + 1)
    }

    /// Steps over what JavaScript would not read as brackets.
    fn javascript(&mut self, line: &str, at: usize) -> Option<usize> {
        let bytes = line.as_bytes();
        match bytes[at] {
            quote @ (b'"' | b'\'') => self.whole(bytes, at, quote, end_of_string),
            b'`' if !self.open_on_line.contains(&b'`') => {
                self.inside = ScanRegion::TemplateLiteral;
                Some(at + 1)
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                self.inside = ScanRegion::BlockComment;
                Some(at + 2)
            }
            // Text after a line comment is scanned for brackets only: Edge closes there too.
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
                    self.inside = ScanRegion::TemplateLiteral;
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
                    self.inside = ScanRegion::Code;
                    return at + 1;
                }
                b'$' if bytes.get(at + 1) == Some(&b'{') => {
                    self.inside = ScanRegion::Code;
                    self.substitutions.push(0);
                    return at + 2;
                }
                _ => at += 1,
            }
        }
        bytes.len()
    }

    /// Returns true if a slash after `before` begins a regular expression rather than divides.
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

enum ScanStep {
    Closed,
    To(usize),
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Returns true if a value ends with this byte, so that a slash after it divides.
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
