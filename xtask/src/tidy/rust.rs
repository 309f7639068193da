//! A Rust file read three ways: as syntax, as the lines that hold code, and as its comments.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{LineColumn, TokenStream, TokenTree};

use super::finding::{Finding, Rule};
use super::tree::TextFile;

pub(crate) struct Source<'a> {
    pub(crate) file: &'a TextFile,
    pub(crate) syntax: syn::File,
    /// Lines (from 1) that hold a token other than a doc comment.
    code_lines: BTreeSet<usize>,
    /// The comments between the tokens, doc comments included, with the line each starts on.
    pub(crate) comments: Vec<(usize, String)>,
    /// The texts of string literals, with the line each starts on.
    pub(crate) strings: Vec<(usize, String)>,
    pub(crate) identifiers: BTreeSet<String>,
}

impl<'a> Source<'a> {
    pub(crate) fn parse(file: &'a TextFile) -> Result<Self, Finding> {
        let tokens = TokenStream::from_str(&file.text)
            .map_err(|error| broken(file, error.span().start().line, &error.to_string()))?;
        let syntax = syn::parse_file(&file.text)
            .map_err(|error| broken(file, error.span().start().line, &error.to_string()))?;
        let mut lines = Lines::new(&file.text);
        lines.read(tokens);
        lines.finish();
        Ok(Self {
            file,
            syntax,
            code_lines: lines.code,
            comments: lines.comments,
            strings: lines.strings,
            identifiers: lines.identifiers,
        })
    }

    /// Counts the lines of code between an opening and a closing brace.
    pub(crate) fn code_lines_between(&self, open: usize, close: usize) -> usize {
        let lines = self.code_lines.range(open..=close);
        lines
            .filter(|line| **line != open && **line != close)
            .count()
    }
}

fn broken(file: &TextFile, line: usize, error: &str) -> Finding {
    Finding::new(
        &file.path,
        line,
        Rule::BrokenRust,
        format!("mend the syntax: {error}"),
    )
}

/// Walks the tokens in order; the text they leave out is white space and comments.
struct Lines<'a> {
    text: Vec<&'a str>,
    code: BTreeSet<usize>,
    comments: Vec<(usize, String)>,
    strings: Vec<(usize, String)>,
    identifiers: BTreeSet<String>,
    end: LineColumn,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let end = LineColumn { line: 1, column: 0 };
        Self {
            text: text.lines().collect(),
            code: BTreeSet::new(),
            comments: Vec::new(),
            strings: Vec::new(),
            identifiers: BTreeSet::new(),
            end,
        }
    }

    fn read(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    self.token(group.span_open().start(), group.span_open().end());
                    self.read(group.stream());
                    self.token(group.span_close().start(), group.span_close().end());
                }
                other => {
                    self.string(&other);
                    if let TokenTree::Ident(name) = &other {
                        self.identifiers.insert(name.to_string());
                    }
                    self.token(other.span().start(), other.span().end());
                }
            }
        }
    }

    /// A doc comment arrives as several tokens that all claim the comment's own place.
    fn token(&mut self, start: LineColumn, end: LineColumn) {
        if end <= self.end {
            return;
        }
        self.comment(self.end, start);
        if self.starts_doc_comment(start) {
            self.comment(start, end);
        } else {
            self.code.extend(start.line..=end.line);
        }
        self.end = end;
    }

    fn string(&mut self, token: &TokenTree) {
        let start = token.span().start();
        if let TokenTree::Literal(literal) = token
            && !self.starts_doc_comment(start)
            && let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
        {
            self.strings.push((start.line, text.value()));
        }
    }

    fn starts_doc_comment(&self, at: LineColumn) -> bool {
        let line = self
            .text
            .get(at.line.saturating_sub(1))
            .copied()
            .unwrap_or_default();
        let rest: String = line.chars().skip(at.column).take(3).collect();
        ["///", "//!", "/**", "/*!"].contains(&rest.as_str())
    }

    fn comment(&mut self, from: LineColumn, to: LineColumn) {
        for number in from.line..=to.line {
            let Some(line) = self.text.get(number - 1) else {
                break;
            };
            let first = if number == from.line { from.column } else { 0 };
            let last = if number == to.line {
                to.column
            } else {
                usize::MAX
            };
            let part: String = line.chars().take(last).skip(first).collect();
            if !part.trim().is_empty() {
                self.comments.push((number, part));
            }
        }
    }

    fn finish(&mut self) {
        let end = LineColumn {
            line: self.text.len() + 1,
            column: 0,
        };
        self.comment(self.end, end);
    }
}
