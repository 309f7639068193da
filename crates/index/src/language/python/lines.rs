//! Cuts Python text into logical lines of tokens, in one pass and without recursion.

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PythonTokenKind {
    Word,
    Mark,
    Text,
    Value,
}

#[derive(Clone, Copy)]
pub(super) struct PythonToken {
    pub(super) kind: PythonTokenKind,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// A line as the language counts: brackets, backslashes and long strings join several.
pub(super) struct LogicalLine<'l, 'a> {
    text: &'a str,
    /// The column of the first token; a tab goes to the next multiple of eight.
    pub(super) indent: usize,
    tokens: &'l [PythonToken],
}

impl<'l, 'a> LogicalLine<'l, 'a> {
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the word here; empty if the token is not a word.
    pub(super) fn word(&self, at: usize) -> &'a str {
        match self.tokens.get(at) {
            Some(token) if token.kind == PythonTokenKind::Word => self.slice(*token),
            _ => "",
        }
    }

    /// The punctuation here, or 0.
    pub(super) fn mark(&self, at: usize) -> u8 {
        match self.tokens.get(at) {
            Some(token) if token.kind == PythonTokenKind::Mark => {
                self.text.as_bytes()[token.start as usize]
            }
            _ => 0,
        }
    }

    /// Returns the text inside the quotes of a string here, unless it is a format string.
    pub(super) fn string(&self, at: usize) -> Option<&'a str> {
        let token = self.tokens.get(at)?;
        if token.kind != PythonTokenKind::Text {
            return None;
        }
        let text = self.slice(*token);
        let prefix = text.find(['"', '\''])?;
        if is_formatted(&text.as_bytes()[..prefix]) {
            return None;
        }
        let text = &text[prefix..];
        let quotes = ["\"\"\"", "'''", "\"", "'"];
        let quote = quotes.into_iter().find(|quote| text.starts_with(quote))?;
        text.strip_prefix(quote)?.strip_suffix(quote)
    }

    pub(super) fn offset(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |token| token.start as usize)
    }

    /// Part of the line, with the same indent.
    pub(super) fn part(&self, from: usize, to: usize) -> LogicalLine<'l, 'a> {
        LogicalLine {
            text: self.text,
            indent: self.indent,
            tokens: self.tokens.get(from..to).unwrap_or(&[]),
        }
    }

    /// Returns the place after the bracket that opens here; the end if it is never closed.
    pub(super) fn after(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for next in at..self.tokens.len() {
            match self.mark(next) {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return next + 1;
                    }
                }
                _ if depth == 0 => return next + 1,
                _ => {}
            }
        }
        self.tokens.len()
    }

    fn slice(&self, token: PythonToken) -> &'a str {
        self.text
            .get(token.start as usize..token.end as usize)
            .unwrap_or("")
    }
}

/// Hands every logical line to `take`.
pub(super) fn each<'a>(text: &'a str, mut take: impl FnMut(&LogicalLine<'_, 'a>)) {
    let mut lexer = PythonLexer {
        bytes: text.as_bytes(),
        at: if text.starts_with('\u{feff}') { 3 } else { 0 },
        tokens: Vec::new(),
        depth: 0,
    };
    while lexer.at < lexer.bytes.len() {
        let indent = lexer.line();
        if !lexer.tokens.is_empty() {
            take(&LogicalLine {
                text,
                indent,
                tokens: &lexer.tokens,
            });
        }
    }
}

struct PythonLexer<'a> {
    bytes: &'a [u8],
    at: usize,
    tokens: Vec<PythonToken>,
    depth: usize,
}

impl PythonLexer<'_> {
    /// Reads one logical line; gives its indent.
    fn line(&mut self) -> usize {
        self.tokens.clear();
        self.depth = 0;
        let indent = self.indent();
        while self.at < self.bytes.len() {
            let start = self.at;
            match self.bytes[start] {
                b'\n' => {
                    self.at += 1;
                    if self.depth == 0 || self.begins_statement() {
                        return indent;
                    }
                }
                b' ' | b'\t' | b'\r' | 0x0c => self.at += 1,
                b'\\' => {
                    self.at += 1;
                    while matches!(self.peek(0), b'\r' | b'\n') {
                        self.at += 1;
                        if self.bytes[self.at - 1] == b'\n' {
                            break;
                        }
                    }
                }
                b'#' => {
                    while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
                        self.at += 1;
                    }
                }
                b'"' | b'\'' => self.string(start),
                b'0'..=b'9' => self.number(),
                byte if is_word(byte) => self.word(),
                byte => self.mark(byte),
            }
        }
        indent
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: PythonTokenKind, start: usize) {
        self.tokens.push(PythonToken {
            kind,
            start: u32::try_from(start).unwrap_or(u32::MAX),
            end: u32::try_from(self.at).unwrap_or(u32::MAX),
        });
    }

    fn indent(&mut self) -> usize {
        let mut indent = 0;
        loop {
            match self.peek(0) {
                b' ' => indent += 1,
                b'\t' => indent = (indent / 8 + 1) * 8,
                0x0c => indent = 0,
                _ => return indent,
            }
            self.at += 1;
        }
    }

    /// Returns true if a definition or an import begins in the first column while brackets are
    /// open: then a closing one was forgotten, and the rest should still be read.
    fn begins_statement(&self) -> bool {
        let rest = &self.bytes[self.at..];
        ["def ", "class ", "import ", "async def ", "@"]
            .iter()
            .any(|word| rest.starts_with(word.as_bytes()))
    }

    fn mark(&mut self, byte: u8) {
        match byte {
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.at += 1;
        self.push(PythonTokenKind::Mark, self.at - 1);
    }

    fn number(&mut self) {
        let start = self.at;
        while is_word(self.peek(0)) || self.peek(0) == b'.' {
            self.at += 1;
        }
        self.push(PythonTokenKind::Value, start);
    }

    fn word(&mut self) {
        let start = self.at;
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        let is_prefix = matches!(self.peek(0), b'"' | b'\'') && self.at - start <= 2;
        if is_prefix && is_string_prefix(&self.bytes[start..self.at]) {
            return self.string(start);
        }
        self.push(PythonTokenKind::Word, start);
    }

    /// Reads a string that opens here.
    fn string(&mut self, start: usize) {
        let is_formatted = is_formatted(&self.bytes[start..self.at]);
        let quote = StringQuote::at(self.bytes, self.at);
        self.at += quote.width;
        if is_formatted {
            self.skip_formatted(quote);
        } else {
            self.skip_plain(quote);
        }
        self.at = self.at.min(self.bytes.len());
        self.push(PythonTokenKind::Text, start);
    }

    fn skip_plain(&mut self, quote: StringQuote) {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\\' => self.at += 2,
                b'\n' if quote.width == 1 => return,
                _ if quote.ends(self.bytes, self.at) => {
                    self.at += quote.width;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    /// Skips a string with expressions in braces, which may contain strings in turn.
    fn skip_formatted(&mut self, quote: StringQuote) {
        let mut modes = vec![FStringState::Literal(quote)];
        while let Some(mode) = modes.last_mut() {
            if self.at >= self.bytes.len() {
                return;
            }
            let byte = self.bytes[self.at];
            if byte == b'\n' && quote.width == 1 {
                return;
            }
            match mode {
                FStringState::Literal(quote) if quote.ends(self.bytes, self.at) => {
                    self.at += quote.width;
                    modes.pop();
                    continue;
                }
                FStringState::Literal(_) | FStringState::Format => match byte {
                    b'\\' => self.at += 1,
                    b'{' if self.peek(1) == b'{' => self.at += 1,
                    b'{' => modes.push(FStringState::Expression(0)),
                    b'}' if matches!(mode, FStringState::Format) => {
                        modes.pop();
                    }
                    _ => {}
                },
                FStringState::Expression(depth) => match byte {
                    b'(' | b'[' | b'{' => *depth += 1,
                    b')' | b']' => *depth = depth.saturating_sub(1),
                    b'}' if *depth > 0 => *depth -= 1,
                    b'}' => {
                        modes.pop();
                    }
                    b':' if *depth == 0 => *mode = FStringState::Format,
                    b'"' | b'\'' => {
                        let inner = StringQuote::at(self.bytes, self.at);
                        self.at += inner.width;
                        modes.push(FStringState::Literal(inner));
                        continue;
                    }
                    _ => {}
                },
            }
            self.at += 1;
        }
    }
}

/// The state inside a format string.
enum FStringState {
    Literal(StringQuote),
    /// Between braces, with so many brackets open.
    Expression(usize),
    /// After the colon of an expression.
    Format,
}

/// The quote that ends a string.
#[derive(Clone, Copy)]
struct StringQuote {
    byte: u8,
    /// One or three.
    width: usize,
}

impl StringQuote {
    fn at(bytes: &[u8], at: usize) -> Self {
        let byte = bytes[at];
        let is_long = bytes[at..].starts_with(&[byte; 3]);
        Self {
            byte,
            width: if is_long { 3 } else { 1 },
        }
    }

    fn ends(self, bytes: &[u8], at: usize) -> bool {
        bytes[at] == self.byte && bytes[at..].starts_with(&[self.byte; 3][..self.width])
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns true if a string of this prefix holds expressions.
fn is_formatted(prefix: &[u8]) -> bool {
    prefix
        .iter()
        .any(|byte| matches!(byte, b'f' | b'F' | b't' | b'T'))
}

fn is_string_prefix(word: &[u8]) -> bool {
    word.iter()
        .all(|byte| matches!(byte.to_ascii_lowercase(), b'r' | b'b' | b'u' | b'f' | b't'))
}
