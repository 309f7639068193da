//! Cuts Python text into logical lines of tokens, in one pass and without recursion.

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Mark,
    Text,
    Value,
}

#[derive(Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// A line as the language counts: brackets, backslashes and long strings join several.
pub(super) struct Line<'l, 'a> {
    text: &'a str,
    /// The column of the first token; a tab goes to the next multiple of eight.
    pub(super) indent: usize,
    tokens: &'l [Token],
}

impl<'l, 'a> Line<'l, 'a> {
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The word here, or nothing.
    pub(super) fn word(&self, at: usize) -> &'a str {
        match self.tokens.get(at) {
            Some(token) if token.kind == Kind::Word => self.slice(*token),
            _ => "",
        }
    }

    /// The punctuation here, or 0.
    pub(super) fn mark(&self, at: usize) -> u8 {
        match self.tokens.get(at) {
            Some(token) if token.kind == Kind::Mark => self.text.as_bytes()[token.start as usize],
            _ => 0,
        }
    }

    /// What stands inside the quotes of a string here, if it is no pattern to be filled.
    pub(super) fn string(&self, at: usize) -> Option<&'a str> {
        let token = self.tokens.get(at)?;
        if token.kind != Kind::Text {
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
    pub(super) fn part(&self, from: usize, to: usize) -> Line<'l, 'a> {
        Line {
            text: self.text,
            indent: self.indent,
            tokens: self.tokens.get(from..to).unwrap_or(&[]),
        }
    }

    /// The place after the bracket that opens here; the end if it is never closed.
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

    fn slice(&self, token: Token) -> &'a str {
        self.text
            .get(token.start as usize..token.end as usize)
            .unwrap_or("")
    }
}

/// Hands every logical line to `take`.
pub(super) fn each<'a>(text: &'a str, mut take: impl FnMut(&Line<'_, 'a>)) {
    let mut lexer = Lexer {
        bytes: text.as_bytes(),
        at: if text.starts_with('\u{feff}') { 3 } else { 0 },
        tokens: Vec::new(),
        depth: 0,
    };
    while lexer.at < lexer.bytes.len() {
        let indent = lexer.line();
        if !lexer.tokens.is_empty() {
            take(&Line {
                text,
                indent,
                tokens: &lexer.tokens,
            });
        }
    }
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    tokens: Vec<Token>,
    depth: usize,
}

impl Lexer<'_> {
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

    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.push(Token {
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

    /// Whether a definition or an import begins in the first column, where brackets are still open:
    /// then one was forgotten, and what follows is to be read all the same.
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
        self.push(Kind::Mark, self.at - 1);
    }

    fn number(&mut self) {
        let start = self.at;
        while is_word(self.peek(0)) || self.peek(0) == b'.' {
            self.at += 1;
        }
        self.push(Kind::Value, start);
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
        self.push(Kind::Word, start);
    }

    /// A string whose opening quote stands at the current place.
    fn string(&mut self, start: usize) {
        let is_formatted = is_formatted(&self.bytes[start..self.at]);
        let quote = Quote::at(self.bytes, self.at);
        self.at += quote.width;
        if is_formatted {
            self.skip_formatted(quote);
        } else {
            self.skip_plain(quote);
        }
        self.at = self.at.min(self.bytes.len());
        self.push(Kind::Text, start);
    }

    fn skip_plain(&mut self, quote: Quote) {
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

    /// A string with expressions in braces, which may hold strings in turn.
    fn skip_formatted(&mut self, quote: Quote) {
        let mut modes = vec![Mode::Literal(quote)];
        while let Some(mode) = modes.last_mut() {
            if self.at >= self.bytes.len() {
                return;
            }
            let byte = self.bytes[self.at];
            if byte == b'\n' && quote.width == 1 {
                return;
            }
            match mode {
                Mode::Literal(quote) if quote.ends(self.bytes, self.at) => {
                    self.at += quote.width;
                    modes.pop();
                    continue;
                }
                Mode::Literal(_) | Mode::Format => match byte {
                    b'\\' => self.at += 1,
                    b'{' if self.peek(1) == b'{' => self.at += 1,
                    b'{' => modes.push(Mode::Expression(0)),
                    b'}' if matches!(mode, Mode::Format) => {
                        modes.pop();
                    }
                    _ => {}
                },
                Mode::Expression(depth) => match byte {
                    b'(' | b'[' | b'{' => *depth += 1,
                    b')' | b']' => *depth = depth.saturating_sub(1),
                    b'}' if *depth > 0 => *depth -= 1,
                    b'}' => {
                        modes.pop();
                    }
                    b':' if *depth == 0 => *mode = Mode::Format,
                    b'"' | b'\'' => {
                        let inner = Quote::at(self.bytes, self.at);
                        self.at += inner.width;
                        modes.push(Mode::Literal(inner));
                        continue;
                    }
                    _ => {}
                },
            }
            self.at += 1;
        }
    }
}

/// Where in a formatted string a place is.
enum Mode {
    Literal(Quote),
    /// Between braces, with so many brackets open.
    Expression(usize),
    /// After the colon of an expression.
    Format,
}

/// The quote that ends a string.
#[derive(Clone, Copy)]
struct Quote {
    byte: u8,
    /// One or three.
    width: usize,
}

impl Quote {
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

/// Whether a string of this prefix holds expressions.
fn is_formatted(prefix: &[u8]) -> bool {
    prefix
        .iter()
        .any(|byte| matches!(byte, b'f' | b'F' | b't' | b'T'))
}

fn is_string_prefix(word: &[u8]) -> bool {
    word.iter()
        .all(|byte| matches!(byte.to_ascii_lowercase(), b'r' | b'b' | b'u' | b'f' | b't'))
}
