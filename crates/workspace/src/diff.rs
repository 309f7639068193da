//! Differences between two contents: as unified text, as counts, and as lines
//! with tags for whoever wants to colour them.

use std::fmt::Write;
use std::time::{Duration, Instant};

use similar::{ChangeTag, TextDiff};

/// Contents over this size are not compared line by line.
pub const DIFF_BYTES_MAX: usize = 4 * 1024 * 1024;
/// After this long the comparison settles for a correct but longer diff, and
/// after the same time again the rest of it gets no word emphasis.
pub const DIFF_TIME_MAX: Duration = Duration::from_millis(500);
/// Unchanged lines shown around a change.
pub const CONTEXT_LINES: usize = 3;
/// Lines over this size get no word emphasis.
const EMPHASIS_BYTES_MAX: usize = 2_000;

/// The difference between an old and a new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// Whether there were and will be contents at all.
    pub presence: Presence,
    /// What can be shown.
    pub body: Body,
}

/// Which of the two contents exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Only the new one.
    Created,
    /// Both.
    Changed,
    /// Only the old one.
    Deleted,
}

/// The comparison itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Line by line; no hunks when nothing differs.
    Lines(Vec<Hunk>),
    /// One of them is not UTF-8 text, and they differ.
    Binary,
    /// One of them is over [`DIFF_BYTES_MAX`], and they differ.
    TooLarge,
}

/// A run of changed lines with the unchanged ones around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The `@@ -1,3 +1,4 @@` line.
    pub header: String,
    /// The lines in order.
    pub lines: Vec<Line>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where the line is from.
    pub tag: Tag,
    /// Its number in the old content, from 1.
    pub old_number: Option<usize>,
    /// Its number in the new content, from 1.
    pub new_number: Option<usize>,
    /// Its text in pieces, without the line feed.
    pub parts: Vec<Part>,
    /// Whether the content ends here without a line feed.
    pub ends_bare: bool,
}

/// Where a line is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// In both.
    Context,
    /// Only in the old content.
    Removed,
    /// Only in the new content.
    Added,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The text.
    pub text: String,
    /// Whether it is what differs from the line's counterpart.
    pub emphasised: bool,
}

/// How many lines come and go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Lines only in the new content.
    pub added: usize,
    /// Lines only in the old content.
    pub removed: usize,
}

/// The unified diff of two texts, empty when they are equal.
#[must_use]
pub fn unified(old: &str, new: &str, path: &str) -> String {
    Diff::between(Some(old.as_bytes()), Some(new.as_bytes())).unified(path)
}

impl Diff {
    /// Compares two contents; `None` is a file that is not there.
    #[must_use]
    pub fn between(old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let presence = match (old, new) {
            (None, _) => Presence::Created,
            (_, None) => Presence::Deleted,
            _ => Presence::Changed,
        };
        let body = compare(old.unwrap_or_default(), new.unwrap_or_default());
        Self { presence, body }
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.presence == Presence::Changed
            && matches!(&self.body, Body::Lines(hunks) if hunks.is_empty())
    }

    /// The lines that come and go; zero when there is no line-by-line diff.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        if let Body::Lines(hunks) = &self.body {
            for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
                match line.tag {
                    Tag::Context => {}
                    Tag::Removed => summary.removed += 1,
                    Tag::Added => summary.added += 1,
                }
            }
        }
        summary
    }

    /// The two lines above the hunks, with git's `a/` and `b/`.
    #[must_use]
    pub fn header(&self, path: &str) -> String {
        let (old, new) = match self.presence {
            Presence::Created => ("/dev/null".to_owned(), format!("b/{path}")),
            Presence::Changed => (format!("a/{path}"), format!("b/{path}")),
            Presence::Deleted => (format!("a/{path}"), "/dev/null".to_owned()),
        };
        format!("--- {old}\n+++ {new}\n")
    }

    /// The whole as text that `patch` and `git apply` read.
    #[must_use]
    pub fn unified(&self, path: &str) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut text = self.header(path);
        let hunks = match &self.body {
            Body::Lines(hunks) => hunks,
            Body::Binary => {
                text.push_str("(not text; the contents differ)\n");
                return text;
            }
            Body::TooLarge => {
                // Writing to a string cannot fail, so the result says nothing.
                writeln!(
                    text,
                    "(over DIFF_BYTES_MAX, {DIFF_BYTES_MAX} bytes; the contents differ)"
                )
                .ok();
                return text;
            }
        };
        for hunk in hunks {
            text.push_str(&hunk.header);
            text.push('\n');
            for line in &hunk.lines {
                text.push(line.tag.sign());
                line.parts.iter().for_each(|part| text.push_str(&part.text));
                text.push('\n');
                if line.ends_bare {
                    text.push_str("\\ No newline at end of file\n");
                }
            }
        }
        text
    }
}

impl Tag {
    /// The first column of a unified diff.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

impl Line {
    /// The text of all parts.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

fn compare(old: &[u8], new: &[u8]) -> Body {
    if old == new {
        return Body::Lines(Vec::new());
    }
    if old.len().max(new.len()) > DIFF_BYTES_MAX {
        return Body::TooLarge;
    }
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        return Body::Binary;
    };
    if old.contains('\0') || new.contains('\0') {
        return Body::Binary;
    }
    let (old_lines, new_lines) = (lines(old), lines(new));
    let diff = TextDiff::configure()
        .timeout(DIFF_TIME_MAX)
        .diff_slices(&old_lines, &new_lines);
    let deadline = Instant::now() + DIFF_TIME_MAX;
    let mut unified = diff.unified_diff();
    let hunks = unified.context_radius(CONTEXT_LINES).iter_hunks();
    Body::Lines(
        hunks
            .map(|hunk| read_hunk(&diff, &hunk, deadline))
            .collect(),
    )
}

/// Only a line feed ends a line: a lone carriage return does not, for `patch`.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn read_hunk(
    diff: &TextDiff<'_, '_, str>,
    hunk: &similar::udiff::UnifiedDiffHunk<'_, '_, '_, str>,
    deadline: Instant,
) -> Hunk {
    let mut lines = Vec::new();
    for op in hunk.ops() {
        for change in diff.iter_inline_changes_deadline(op, Some(deadline)) {
            let tag = match change.tag() {
                ChangeTag::Equal => Tag::Context,
                ChangeTag::Delete => Tag::Removed,
                ChangeTag::Insert => Tag::Added,
            };
            let parts = change
                .values()
                .iter()
                .map(|(emphasised, text)| (*emphasised, *text));
            let (parts, ends_bare) = read_parts(parts);
            lines.push(Line {
                tag,
                old_number: change.old_index().map(|index| index + 1),
                new_number: change.new_index().map(|index| index + 1),
                parts,
                ends_bare,
            });
        }
    }
    Hunk {
        header: hunk.header().to_string(),
        lines,
    }
}

/// The parts without the line feed, and whether there was none.
fn read_parts<'a>(parts: impl Iterator<Item = (bool, &'a str)>) -> (Vec<Part>, bool) {
    let mut ends_bare = true;
    let mut read = Vec::new();
    for (emphasised, text) in parts {
        let text = match text.strip_suffix('\n') {
            Some(text) => {
                ends_bare = false;
                text
            }
            None => text,
        };
        if !text.is_empty() {
            let text = text.to_owned();
            read.push(Part { text, emphasised });
        }
    }
    let bytes: usize = read.iter().map(|part: &Part| part.text.len()).sum();
    if bytes > EMPHASIS_BYTES_MAX {
        read.iter_mut().for_each(|part| part.emphasised = false);
    }
    (read, ends_bare)
}
