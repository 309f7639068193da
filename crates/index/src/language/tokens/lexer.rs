//! The one pass over the bytes: reads literals, comments and directives, and pairs brackets as they
//! close.

use std::ops::Range;

use super::{LexerDialect, OPEN, SourceToken, SourceTokenKind, is_word};

/// The tokens and directives of a text.
pub(super) struct LexedSource {
    pub(super) list: Vec<SourceToken>,
    pub(super) directives: Vec<Range<usize>>,
}

/// Splits a text into tokens. Text beyond 4 GiB is not read; the index has a smaller limit anyway.
pub(super) fn lex(bytes: &[u8], dialect: LexerDialect) -> LexedSource {
    let mut lexer = SourceLexer {
        bytes,
        at: 0,
        dialect,
        list: Vec::with_capacity(bytes.len() / 4),
        directives: Vec::new(),
        open: Vec::new(),
        open_counts: [0; 3],
        branches: Vec::new(),
    };
    lexer.run();
    LexedSource {
        list: lexer.list,
        directives: lexer.directives,
    }
}

/// An `#if` that is open: how many brackets were open before it.
struct OpenConditional {
    depth: usize,
}

struct SourceLexer<'a> {
    bytes: &'a [u8],
    at: usize,
    dialect: LexerDialect,
    list: Vec<SourceToken>,
    directives: Vec<Range<usize>>,
    open: Vec<u32>,
    /// Number of open brackets of each kind, so that a stray closing one costs nothing.
    open_counts: [u32; 3],
    branches: Vec<OpenConditional>,
}

impl SourceLexer<'_> {
    fn run(&mut self) {
        while self.at < self.bytes.len() && self.at < OPEN as usize {
            let start = self.at;
            let byte = self.bytes[start];
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0x0c | 0x0b => self.at += 1,
                b'/' if self.peek(1) == b'/' => self.skip_line_comment(),
                b'/' if self.peek(1) == b'*' => self.skip_block_comment(),
                b'#' if self.dialect == LexerDialect::C && self.is_first_on_line() => {
                    self.directive()
                }
                b'"' | b'\'' | b'`' => self.quote(start),
                b'0'..=b'9' => self.number(),
                _ if is_word(byte) => self.word(),
                _ => self.mark(byte),
            }
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: SourceTokenKind, start: usize) {
        self.list.push(SourceToken {
            start: start as u32,
            end: self.at.min(self.bytes.len()) as u32,
            pair: OPEN,
            kind,
        });
    }

    fn mark(&mut self, byte: u8) {
        let start = self.at;
        self.at += 1;
        self.push(SourceTokenKind::Mark, start);
        let this = self.list.len() as u32 - 1;
        match byte {
            b'(' | b'[' | b'{' => {
                self.open.push(this);
                self.open_counts[bracket(byte)] += 1;
            }
            b')' | b']' | b'}' if self.open_counts[bracket(byte)] > 0 => self.close(byte, this),
            _ => {}
        }
    }

    /// Pairs a closing bracket; those of another kind that were left open inside stay unpaired.
    fn close(&mut self, byte: u8, this: u32) {
        while let Some(open) = self.open.pop() {
            let opener = self.bytes[self.list[open as usize].start as usize];
            self.open_counts[bracket(opener)] -= 1;
            if bracket(opener) == bracket(byte) {
                self.list[open as usize].pair = this;
                return;
            }
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while self.at < self.bytes.len() && is_word(self.bytes[self.at]) {
            self.at += 1;
        }
        let next = self.peek(0);
        if matches!(next, b'"' | b'\'' | b'#') && self.prefixed(start, next) {
            return;
        }
        self.push(SourceTokenKind::Word, start);
    }

    /// Reads a word that is the prefix of a literal, such as `br#"` or `u8R"(`, or of a raw name,
    /// `r#type`.
    fn prefixed(&mut self, start: usize, next: u8) -> bool {
        let prefix = &self.bytes[start..self.at];
        match (self.dialect, prefix, next) {
            (LexerDialect::Rust, b"r" | b"br" | b"cr", b'"' | b'#') => self.raw_rust(start),
            (LexerDialect::Rust, b"b" | b"c", b'"') | (LexerDialect::Rust, b"b", b'\'') => {
                self.quote(start);
                true
            }
            (LexerDialect::C, b"R" | b"LR" | b"uR" | b"UR" | b"u8R", b'"') => {
                self.raw_c(start);
                true
            }
            (LexerDialect::C, b"L" | b"u" | b"U" | b"u8", b'"' | b'\'') => {
                self.quote(start);
                true
            }
            _ => false,
        }
    }

    fn raw_rust(&mut self, start: usize) -> bool {
        let mut hashes = 0;
        while self.peek(hashes) == b'#' {
            hashes += 1;
        }
        if self.peek(hashes) != b'"' {
            // `r#type`: the name follows.
            if hashes == 1 && self.bytes[start..self.at] == *b"r" && is_word(self.peek(1)) {
                self.at += 1;
                self.word();
                return true;
            }
            return false;
        }
        self.at += hashes + 1;
        loop {
            match find(self.bytes, self.at, b'"') {
                None => {
                    self.at = self.bytes.len();
                    break;
                }
                Some(quote) => {
                    self.at = quote + 1;
                    if (0..hashes).all(|nth| self.peek(nth) == b'#') {
                        self.at += hashes;
                        break;
                    }
                }
            }
        }
        self.push(SourceTokenKind::Text, start);
        true
    }

    /// `R"name( … )name"`.
    fn raw_c(&mut self, start: usize) {
        let from = self.at + 1;
        let name_end = (from..self.bytes.len().min(from + 17))
            .find(|at| self.bytes[*at] == b'(')
            .unwrap_or(from);
        let name = &self.bytes[from..name_end];
        let mut at = name_end;
        self.at = loop {
            match find(self.bytes, at, b')') {
                None => break self.bytes.len(),
                Some(found) => {
                    at = found + 1;
                    let rest = &self.bytes[at..];
                    if rest.starts_with(name) && rest.get(name.len()) == Some(&b'"') {
                        break at + name.len() + 1;
                    }
                }
            }
        };
        self.push(SourceTokenKind::Text, start);
    }

    /// Reads a literal that opens here.
    fn quote(&mut self, start: usize) {
        let quote = self.bytes[self.at];
        match (self.dialect, quote) {
            (LexerDialect::Rust, b'\'') => return self.rust_quote(start),
            (LexerDialect::Go, b'`') => {
                self.at = find(self.bytes, self.at + 1, b'`').map_or(self.bytes.len(), |at| at + 1);
                return self.push(SourceTokenKind::Text, start);
            }
            (_, b'`') => return self.mark(quote),
            (LexerDialect::Java, b'"') if self.bytes[self.at..].starts_with(b"\"\"\"") => {
                self.at += 3;
                self.skip_text_block();
                return self.push(SourceTokenKind::Text, start);
            }
            _ => {}
        }
        self.at += 1;
        self.skip_quoted(quote);
        let kind = if quote == b'"' {
            SourceTokenKind::Text
        } else {
            SourceTokenKind::Value
        };
        self.push(kind, start);
    }

    /// To after the closing quote. Outside of Rust a literal ends with its line.
    fn skip_quoted(&mut self, quote: u8) {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\\' => self.at += 2,
                b'\n' if self.dialect != LexerDialect::Rust => return,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return;
                    }
                }
            }
        }
        self.at = self.bytes.len();
    }

    fn skip_text_block(&mut self) {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\\' => self.at += 2,
                b'"' if self.bytes[self.at..].starts_with(b"\"\"\"") => {
                    self.at += 3;
                    return;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.bytes.len();
    }

    /// A character, or a lifetime or label.
    fn rust_quote(&mut self, start: usize) {
        self.at += 1;
        let first = self.peek(0);
        if first == b'\\' {
            self.skip_quoted(b'\'');
            return self.push(SourceTokenKind::Value, start);
        }
        let width = match first {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            _ => 1,
        };
        if self.peek(width) == b'\'' {
            self.at += width + 1;
        } else {
            while self.at < self.bytes.len() && is_word(self.bytes[self.at]) {
                self.at += 1;
            }
        }
        self.push(SourceTokenKind::Value, start);
    }

    fn number(&mut self) {
        let start = self.at;
        while self.at < self.bytes.len() {
            let byte = self.bytes[self.at];
            let inside = is_word(byte)
                || byte == b'.' && self.peek(1).is_ascii_digit()
                || byte == b'\'' && self.dialect == LexerDialect::C && is_word(self.peek(1));
            if !inside {
                break;
            }
            self.at += 1;
        }
        self.push(SourceTokenKind::Value, start);
    }

    fn skip_line_comment(&mut self) {
        loop {
            let end = find(self.bytes, self.at, b'\n').unwrap_or(self.bytes.len());
            let continued =
                self.dialect == LexerDialect::C && ends_in_backslash(&self.bytes[self.at..end]);
            self.at = (end + 1).min(self.bytes.len());
            if !continued || self.at >= self.bytes.len() {
                return;
            }
        }
    }

    fn skip_block_comment(&mut self) {
        self.at += 2;
        let mut depth = 1_usize;
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'*' if self.peek(1) == b'/' => {
                    self.at += 2;
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                b'/' if self.dialect == LexerDialect::Rust && self.peek(1) == b'*' => {
                    self.at += 2;
                    depth += 1;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.bytes.len();
    }

    /// Returns true if only blanks precede this place on its line.
    fn is_first_on_line(&self) -> bool {
        self.bytes[..self.at]
            .iter()
            .rev()
            .find(|byte| !matches!(byte, b' ' | b'\t'))
            .is_none_or(|byte| *byte == b'\n')
    }

    fn directive(&mut self) {
        let start = self.at;
        self.skip_directive();
        self.directives.push(start..self.at);
        let line = &self.bytes[start + 1..self.at];
        let line = line.trim_ascii_start();
        let name_end = line
            .iter()
            .position(|byte| !is_word(*byte))
            .unwrap_or(line.len());
        match &line[..name_end] {
            b"if" | b"ifdef" | b"ifndef" => {
                self.branches.push(OpenConditional {
                    depth: self.open.len(),
                });
                if line[name_end..].trim_ascii() == b"0" {
                    self.skip_branch();
                }
            }
            b"else" | b"elif" | b"elifdef" | b"elifndef" => {
                // Both branches open the same bracket, as in two spellings of a function's head:
                // counted twice, it would swallow the rest of the file.
                let depth = self.branches.last().map(|branch| branch.depth);
                if depth.is_some_and(|depth| depth != self.open.len()) {
                    self.skip_branch();
                }
            }
            b"endif" => {
                self.branches.pop();
            }
            _ => {}
        }
    }

    /// Skips to the end of the directive's line; a backslash continues it, and a block comment is
    /// part of it.
    fn skip_directive(&mut self) {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\n' => return,
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => self.at += 3,
                b'/' if self.peek(1) == b'*' => self.skip_block_comment(),
                _ => self.at += 1,
            }
        }
    }

    /// To the directive that ends this branch of a condition.
    fn skip_branch(&mut self) {
        let mut depth = 0_usize;
        while let Some(newline) = find(self.bytes, self.at, b'\n') {
            self.at = newline + 1;
            let line_end = find(self.bytes, self.at, b'\n').unwrap_or(self.bytes.len());
            let line = self.bytes[self.at..line_end].trim_ascii_start();
            let Some(line) = line.strip_prefix(b"#") else {
                continue;
            };
            let line = line.trim_ascii_start();
            if line.starts_with(b"if") {
                depth += 1;
            } else if line.starts_with(b"endif") {
                if depth == 0 {
                    return;
                }
                depth -= 1;
            } else if depth == 0 && (line.starts_with(b"else") || line.starts_with(b"elif")) {
                return;
            }
        }
        self.at = self.bytes.len();
    }
}

fn bracket(byte: u8) -> usize {
    match byte {
        b'(' | b')' => 0,
        b'[' | b']' => 1,
        _ => 2,
    }
}

fn find(bytes: &[u8], from: usize, wanted: u8) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter()
        .position(|byte| *byte == wanted)
        .map(|at| from + at)
}

fn ends_in_backslash(line: &[u8]) -> bool {
    line.strip_suffix(b"\r").unwrap_or(line).ends_with(b"\\")
}
