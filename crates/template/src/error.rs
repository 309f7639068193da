//! The one error of the template language: a code to branch on, a place, and how it reads.

use std::fmt;

/// Number of links of an include chain that an error remembers.
const CHAIN_LINKS_MAX: usize = 8;
/// Number of characters of a source line that an error shows.
const EXCERPT_CHARS_MAX: usize = 120;

/// An error in a template, with its position.
///
/// Lines count from 1 and columns from 0 in UTF-16 units, as Edge counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<TemplateErrorDetail>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct TemplateErrorDetail {
    code: &'static str,
    message: String,
    place: TemplatePosition,
    excerpt: Vec<(u32, String)>,
    chain: Vec<ChainLink>,
    chain_cut: usize,
    hint: Option<String>,
}

/// A position in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplatePosition {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// One step on the way to the place of an error: an include, a component or a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainLink {
    pub what: &'static str,
    pub place: TemplatePosition,
}

/// An error found while reading one template; the caller adds the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompileFault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) hint: Option<String>,
}

impl CompileFault {
    pub(crate) fn new(code: &'static str, message: impl Into<String>, at: (u32, u32)) -> Self {
        CompileFault {
            code,
            message: message.into(),
            line: at.0,
            column: at.1,
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Makes an error of a file, with the lines around it.
    pub(crate) fn in_file(self, file: &str, source: &str) -> Error {
        let place = TemplatePosition {
            file: file.to_owned(),
            line: self.line,
            column: self.column,
        };
        Error(Box::new(TemplateErrorDetail {
            code: self.code,
            message: self.message,
            excerpt: excerpt(source, self.line),
            place,
            chain: Vec::new(),
            chain_cut: 0,
            hint: self.hint,
        }))
    }
}

impl Error {
    /// Returns the code, such as `E_UNCLOSED_TAG`.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn file(&self) -> &str {
        &self.0.place.file
    }

    /// Returns the line, counted from 1; 0 if the error belongs to no line.
    pub fn line(&self) -> u32 {
        self.0.place.line
    }

    /// Returns the column, counted from 0.
    pub fn column(&self) -> u32 {
        self.0.place.column
    }

    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the source line of the error.
    pub fn excerpt(&self) -> Option<&str> {
        let line = self.line();
        let shown = self.0.excerpt.iter().find(|(number, _)| *number == line);
        shown.map(|(_, text)| text.as_str())
    }

    /// Returns the includes that led here, innermost first.
    pub fn chain(&self) -> &[ChainLink] {
        &self.0.chain
    }

    /// Returns true if a limit was hit, which no missing answer can excuse.
    pub(crate) fn is_limit(&self) -> bool {
        self.0.code == "E_LIMIT_EXCEEDED"
    }

    pub(crate) fn moved(mut self, place: TemplatePosition) -> Self {
        self.0.excerpt.clear();
        self.0.place = place;
        self
    }

    pub(crate) fn reached_by(mut self, what: &'static str, place: TemplatePosition) -> Self {
        if self.0.chain.len() < CHAIN_LINKS_MAX {
            self.0.chain.push(ChainLink { what, place });
        } else {
            self.0.chain_cut += 1;
        }
        self
    }

    /// Prints the error on several lines: message, place, the source with a caret, the chain of
    /// includes.
    pub fn report(&self) -> String {
        let detail = &*self.0;
        let mut text = format!("{}: {}\n", detail.code, detail.message);
        text.push_str(&format!("  --> {}\n", detail.place));
        let width = detail
            .excerpt
            .last()
            .map_or(1, |(number, _)| number.to_string().len());
        if !detail.excerpt.is_empty() {
            text.push_str(&format!(" {:width$} |\n", ""));
        }
        for (number, line) in &detail.excerpt {
            text.push_str(&format!(" {number:width$} | {}\n", shortened(line)));
            if *number == detail.place.line {
                let pad = caret_pad(line, detail.place.column);
                text.push_str(&format!(" {:width$} | {pad}^\n", ""));
            }
        }
        for link in &detail.chain {
            text.push_str(&format!("  = {} at {}\n", link.what, link.place));
        }
        if detail.chain_cut > 0 {
            text.push_str(&format!("  = and {} more levels\n", detail.chain_cut));
        }
        if let Some(hint) = &detail.hint {
            text.push_str(&format!("  = hint: {hint}\n"));
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.0.place, self.0.code, self.0.message)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for TemplatePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{}:{}", self.file, line, self.column),
        }
    }
}

/// Returns the line itself and one on either side.
fn excerpt(source: &str, line: u32) -> Vec<(u32, String)> {
    if line == 0 {
        return Vec::new();
    }
    crate::lines::NumberedLines::new(source)
        .skip_while(|(number, _)| *number + 1 < line)
        .take_while(|(number, _)| *number <= line + 1)
        .filter(|(number, text)| *number == line || !text.trim().is_empty())
        .map(|(number, text)| (number, text.to_owned()))
        .collect()
}

fn shortened(line: &str) -> String {
    let mut short: String = line.chars().take(EXCERPT_CHARS_MAX).collect();
    if line.chars().nth(EXCERPT_CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}

/// Returns the padding before the caret: a tab for a tab, so that the caret is below its column.
fn caret_pad(line: &str, column: u32) -> String {
    let mut units = 0;
    line.chars()
        .take_while(|c| {
            units += u32::try_from(c.len_utf16()).unwrap_or(1);
            units <= column
        })
        .take(EXCERPT_CHARS_MAX)
        .map(|c| if c == '\t' { '\t' } else { ' ' })
        .collect()
}
