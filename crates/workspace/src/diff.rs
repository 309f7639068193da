//! Differences between two contents: as unified text, as counts, and as tagged lines that a caller
//! can colour.

use std::fmt::Write;
use std::time::{Duration, Instant};

use similar::{ChangeTag, TextDiff};

/// Contents over this size are not compared line by line.
pub const DIFF_BYTES_MAX: usize = 4 * 1024 * 1024;
/// After this time the comparison accepts a correct but longer diff, and after the same time again
/// the rest gets no word emphasis.
pub(crate) const DIFF_TIME_MAX: Duration = Duration::from_millis(500);
/// Unchanged lines shown around a change.
pub(crate) const CONTEXT_LINES: usize = 3;
/// Lines over this size get no word emphasis.
const EMPHASIS_BYTES_MAX: usize = 2_000;

/// The difference between an old and a new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentDiff {
    /// Tells which of the two contents exist.
    pub presence: DiffKind,
    /// The comparison, as far as it can be shown.
    pub body: DiffBody,
}

/// Tells which of the two contents exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffKind {
    /// Only the new one.
    Created,
    /// Both.
    Changed,
    /// Only the old one.
    Deleted,
}

/// The comparison itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffBody {
    /// Line by line; without hunks if nothing differs.
    Lines(Vec<DiffHunk>),
    /// One of them is not UTF-8 text, and they differ.
    Binary,
    /// One of them is over [`DIFF_BYTES_MAX`], and they differ.
    TooLarge,
}

/// A run of changed lines with the unchanged ones around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk {
    /// The `@@ -1,3 +1,4 @@` line.
    pub header: String,
    /// The lines in order.
    pub lines: Vec<DiffLine>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// The side the line is from.
    pub tag: LineOrigin,
    /// Its number in the old content, from 1.
    pub old_number: Option<usize>,
    /// Its number in the new content, from 1.
    pub new_number: Option<usize>,
    /// Its text in pieces, without the line feed.
    pub parts: Vec<LinePart>,
    /// True if the content ends here without a line feed.
    pub ends_bare: bool,
}

/// The side a line is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOrigin {
    /// In both.
    Context,
    /// Only in the old content.
    Removed,
    /// Only in the new content.
    Added,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePart {
    /// The text.
    pub text: String,
    /// True if this part differs from the line's counterpart.
    pub emphasised: bool,
}

/// Number of added and removed lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiffSummary {
    /// Lines only in the new content.
    pub added: usize,
    /// Lines only in the old content.
    pub removed: usize,
}

/// The unified diff of two texts, empty when they are equal.
#[must_use]
pub fn unified(old: &str, new: &str, path: &str) -> String {
    ContentDiff::between(Some(old.as_bytes()), Some(new.as_bytes())).unified(path)
}

impl ContentDiff {
    /// Compares two contents; `None` is a file that does not exist.
    #[must_use]
    pub fn between(old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let presence = match (old, new) {
            (None, _) => DiffKind::Created,
            (_, None) => DiffKind::Deleted,
            _ => DiffKind::Changed,
        };
        let body = compare(old.unwrap_or_default(), new.unwrap_or_default());
        Self { presence, body }
    }

    /// Returns true if nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.presence == DiffKind::Changed
            && matches!(&self.body, DiffBody::Lines(hunks) if hunks.is_empty())
    }

    /// Counts the added and removed lines; zero if there is no line-by-line diff.
    #[must_use]
    pub fn summary(&self) -> DiffSummary {
        let mut summary = DiffSummary::default();
        if let DiffBody::Lines(hunks) = &self.body {
            for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
                match line.tag {
                    LineOrigin::Context => {}
                    LineOrigin::Removed => summary.removed += 1,
                    LineOrigin::Added => summary.added += 1,
                }
            }
        }
        summary
    }

    /// The two lines above the hunks, with git's `a/` and `b/`.
    #[must_use]
    pub fn header(&self, path: &str) -> String {
        let (old, new) = match self.presence {
            DiffKind::Created => ("/dev/null".to_owned(), format!("b/{path}")),
            DiffKind::Changed => (format!("a/{path}"), format!("b/{path}")),
            DiffKind::Deleted => (format!("a/{path}"), "/dev/null".to_owned()),
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
            DiffBody::Lines(hunks) => hunks,
            DiffBody::Binary => {
                text.push_str("(not text; the contents differ)\n");
                return text;
            }
            DiffBody::TooLarge => {
                // Writing to a string cannot fail.
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

impl LineOrigin {
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

impl DiffLine {
    /// The text of all parts.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

fn compare(old: &[u8], new: &[u8]) -> DiffBody {
    if old == new {
        return DiffBody::Lines(Vec::new());
    }
    if old.len().max(new.len()) > DIFF_BYTES_MAX {
        return DiffBody::TooLarge;
    }
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        return DiffBody::Binary;
    };
    if old.contains('\0') || new.contains('\0') {
        return DiffBody::Binary;
    }
    let (old_lines, new_lines) = (lines(old), lines(new));
    let diff = TextDiff::configure()
        .timeout(DIFF_TIME_MAX)
        .diff_slices(&old_lines, &new_lines);
    let deadline = Instant::now() + DIFF_TIME_MAX;
    let mut unified = diff.unified_diff();
    let hunks = unified.context_radius(CONTEXT_LINES).iter_hunks();
    DiffBody::Lines(
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
) -> DiffHunk {
    let mut lines = Vec::new();
    for op in hunk.ops() {
        for change in diff.iter_inline_changes_deadline(op, Some(deadline)) {
            let tag = match change.tag() {
                ChangeTag::Equal => LineOrigin::Context,
                ChangeTag::Delete => LineOrigin::Removed,
                ChangeTag::Insert => LineOrigin::Added,
            };
            let parts = change
                .values()
                .iter()
                .map(|(emphasised, text)| (*emphasised, *text));
            let (parts, ends_bare) = read_parts(parts);
            lines.push(DiffLine {
                tag,
                old_number: change.old_index().map(|index| index + 1),
                new_number: change.new_index().map(|index| index + 1),
                parts,
                ends_bare,
            });
        }
    }
    DiffHunk {
        header: hunk.header().to_string(),
        lines,
    }
}

/// Returns the parts without the line feed, and whether it was missing.
fn read_parts<'a>(parts: impl Iterator<Item = (bool, &'a str)>) -> (Vec<LinePart>, bool) {
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
            read.push(LinePart { text, emphasised });
        }
    }
    let bytes: usize = read.iter().map(|part: &LinePart| part.text.len()).sum();
    if bytes > EMPHASIS_BYTES_MAX {
        read.iter_mut().for_each(|part| part.emphasised = false);
    }
    (read, ends_bare)
}
