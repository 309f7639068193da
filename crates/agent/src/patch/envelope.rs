//! Reads `*** Begin Patch` envelopes: files added, deleted, updated and moved.

use super::{HunkLine, LineSign, PatchAction, PatchHunk, PatchSection};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// True if the text is in this language. Some models forget the first line.
pub(super) fn is_one(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    first.is_some_and(|line| {
        line == BEGIN
            || [ADD, DELETE, UPDATE]
                .iter()
                .any(|word| line.starts_with(word))
    })
}

pub(super) fn read(text: &str) -> Result<Vec<PatchSection>, String> {
    let mut reader = EnvelopeReader {
        lines: text.split('\n').collect(),
        at: 0,
    };
    // The text's last line feed ends a line; it does not begin an empty one.
    if reader.lines.last() == Some(&"") {
        reader.lines.pop();
    }
    let mut sections = Vec::new();
    while let Some(line) = reader.next() {
        let line = line.trim();
        if line.is_empty() || line == BEGIN {
            continue;
        }
        if line == END {
            break;
        }
        sections.push(reader.section(line)?);
    }
    Ok(sections)
}

struct EnvelopeReader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> EnvelopeReader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let line = self.lines.get(self.at).copied();
        self.at += 1;
        line
    }

    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    /// True at a line that ends the current section.
    fn peek_header(&self) -> bool {
        self.peek().is_none_or(|line| {
            let line = line.trim_end();
            line == END
                || [ADD, DELETE, UPDATE]
                    .iter()
                    .any(|word| line.starts_with(word))
        })
    }

    fn section(&mut self, header: &str) -> Result<PatchSection, String> {
        let named = |word: &str| header.strip_prefix(word).map(|path| path.trim().to_owned());
        if let Some(path) = named(ADD) {
            let content = self.added(&path)?;
            return Ok(PatchSection {
                path,
                action: PatchAction::Add { content },
            });
        }
        if let Some(path) = named(DELETE) {
            let hunks = Vec::new();
            return Ok(PatchSection {
                path,
                action: PatchAction::Delete { hunks },
            });
        }
        if let Some(path) = named(UPDATE) {
            let action = self.update(&path)?;
            return Ok(PatchSection { path, action });
        }
        Err(format!(
            "Line {} of the patch is not understood: {header:?}. Expected `{ADD} PATH`, `{UPDATE} \
             PATH`, `{DELETE} PATH` or `{END}`.",
            self.at
        ))
    }

    fn added(&mut self, path: &str) -> Result<String, String> {
        let mut content = String::new();
        while !self.peek_header() {
            let line = self.next().unwrap_or_default();
            let Some(text) = line.strip_prefix('+') else {
                if line.trim().is_empty() && self.peek_header() {
                    break;
                }
                return Err(format!(
                    "Line {} of the patch, in the added file `{path}`, does not begin with `+`: {line:?}.",
                    self.at
                ));
            };
            content.push_str(text);
            content.push('\n');
        }
        Ok(content)
    }

    fn update(&mut self, path: &str) -> Result<PatchAction, String> {
        let mut move_to = None;
        if let Some(to) = self.peek().and_then(|line| line.strip_prefix(MOVE)) {
            move_to = Some(to.trim().to_owned());
            self.at += 1;
        }
        let mut hunks = Vec::new();
        while !self.peek_header() {
            let hunk = self.hunk(path)?;
            if !hunk.lines.is_empty() {
                hunks.push(hunk);
            } else if !hunk.anchors.is_empty() {
                return Err(format!(
                    "A hunk of `{path}` has an `@@` line and no lines after it."
                ));
            }
        }
        if hunks.is_empty() && move_to.is_none() {
            return Err(format!("The section of `{path}` has no hunks."));
        }
        Ok(PatchAction::Update { hunks, move_to })
    }

    /// Reads a hunk: `@@` lines, then lines with signs, up to the next `@@` or header.
    fn hunk(&mut self, path: &str) -> Result<PatchHunk, String> {
        let mut hunk = PatchHunk::default();
        while let Some(anchor) = self.peek().and_then(anchor) {
            self.at += 1;
            if !anchor.is_empty() {
                hunk.anchors.push(anchor);
            }
        }
        while !self.peek_header() {
            let Some(line) = self.peek() else { break };
            if line.trim_end() == END_OF_FILE {
                self.at += 1;
                hunk.at_end = true;
                break;
            }
            if anchor(line).is_some() {
                break;
            }
            self.at += 1;
            hunk.lines.push(self.signed(line, path)?);
        }
        Ok(hunk)
    }

    fn signed(&self, line: &str, path: &str) -> Result<HunkLine, String> {
        let (sign, text) = match line.chars().next() {
            Some('+') => (LineSign::New, &line[1..]),
            Some('-') => (LineSign::Old, &line[1..]),
            Some(' ') => (LineSign::Same, &line[1..]),
            None | Some('\r') => (LineSign::Same, line),
            Some(_) => {
                return Err(format!(
                    "Line {} of the patch, in `{path}`, begins with neither ` `, `+` nor `-`: {line:?}.",
                    self.at
                ));
            }
        };
        Ok(HunkLine {
            sign,
            text: text.to_owned(),
            unended: false,
        })
    }
}

/// Returns the text after `@@`; line counts in it are not an anchor.
fn anchor(line: &str) -> Option<String> {
    let rest = line.strip_prefix("@@")?;
    let rest = match rest.trim_start().strip_prefix('-') {
        Some(counts) if counts.contains("@@") => rest.rsplit("@@").next().unwrap_or_default(),
        _ => rest,
    };
    Some(rest.strip_prefix(' ').unwrap_or(rest).trim_end().to_owned())
}
