//! Three-way merge: combines two people's changes to one text, with git's markers at conflicts.

use diffy::{ConflictStyle, MergeOptions};

use crate::{Error, WorkspaceErrorKind};

/// Texts over this size are not merged.
pub(crate) const MERGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A text may differ from the base in a region of at most this many lines;
/// the cost of a merge grows with its square.
pub(crate) const MERGE_LINES_MAX: usize = 10_000;
/// The length of the markers, unless a text contains such lines itself.
const MARKER_LENGTH: usize = 7;

/// The outcome of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeResult {
    /// The text, with markers around conflicts.
    pub text: String,
    /// Number of conflicts.
    pub conflicts: usize,
}

/// The names after the markers.
#[derive(Debug, Clone, Copy)]
pub struct ConflictLabels<'a> {
    /// After `<<<<<<<`.
    pub ours: &'a str,
    /// After `|||||||`.
    pub base: &'a str,
    /// After `>>>>>>>`.
    pub theirs: &'a str,
}

impl Default for ConflictLabels<'_> {
    fn default() -> Self {
        Self {
            ours: "ours",
            base: "base",
            theirs: "theirs",
        }
    }
}

/// Merges `ours` and `theirs`, which both come from `base`.
pub fn three_way(base: &str, ours: &str, theirs: &str) -> Result<MergeResult, Error> {
    three_way_labelled(base, ours, theirs, ConflictLabels::default())
}

/// Works like [`three_way`], with names for the markers.
///
/// The result has the line endings of `ours`: if that is all LF or all CRLF, the other two are
/// converted to it first, so that an editor which changed only the endings does not make every line
/// conflict.
pub fn three_way_labelled(
    base: &str,
    ours: &str,
    theirs: &str,
    labels: ConflictLabels<'_>,
) -> Result<MergeResult, Error> {
    let longest = [base, ours, theirs].map(str::len).into_iter().max();
    if longest > Some(MERGE_BYTES_MAX) {
        return Err(Error::new(
            WorkspaceErrorKind::Limit,
            format!("a text to merge is larger than MERGE_BYTES_MAX ({MERGE_BYTES_MAX})"),
        ));
    }
    for other in [ours, theirs] {
        let differing = differing_lines(base, other);
        if differing > MERGE_LINES_MAX {
            return Err(Error::new(
                WorkspaceErrorKind::Limit,
                format!(
                    "the texts to merge differ over {differing} lines, more than \
                     MERGE_LINES_MAX ({MERGE_LINES_MAX})"
                ),
            ));
        }
    }
    let endings = LineEndings::of(ours).or(LineEndings::of(theirs));
    let Some(endings) = endings else {
        return Ok(merge([base, ours, theirs], labels, "\n"));
    };
    let plain = [base, ours, theirs].map(|text| text.replace("\r\n", "\n"));
    let [base, ours, theirs] = &plain;
    let mut merged = merge([base, ours, theirs], labels, "\n");
    if endings == LineEndings::CrLf {
        merged.text = merged.text.replace('\n', "\r\n");
    }
    Ok(merged)
}

/// Number of lines between the first and the last that differ.
fn differing_lines(base: &str, other: &str) -> usize {
    let (base_count, other_count) = (base.lines().count(), other.lines().count());
    let shorter = base_count.min(other_count);
    let alike =
        |pairs: &mut dyn Iterator<Item = (&str, &str)>| pairs.take_while(|(a, b)| a == b).count();
    let head = alike(&mut base.lines().zip(other.lines()));
    let tail = alike(
        &mut base
            .lines()
            .rev()
            .zip(other.lines().rev())
            .take(shorter - head),
    );
    base_count.max(other_count) - head - tail
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEndings {
    Lf,
    CrLf,
}

impl LineEndings {
    /// Returns the line endings of a text that has only one sort; `None` if it has both or no line.
    fn of(text: &str) -> Option<Self> {
        let all = text.matches('\n').count();
        match text.matches("\r\n").count() {
            _ if all == 0 => None,
            0 => Some(Self::Lf),
            count if count == all => Some(Self::CrLf),
            _ => None,
        }
    }
}

fn merge([base, ours, theirs]: [&str; 3], labels: ConflictLabels<'_>, ending: &str) -> MergeResult {
    // Longer than any such run in the texts, so that counting markers counts conflicts.
    let length = [base, ours, theirs]
        .into_iter()
        .flat_map(str::lines)
        .map(|line| {
            line.bytes()
                .take_while(|&byte| b"<|=>".contains(&byte))
                .count()
                + 1
        })
        .max()
        .unwrap_or(0)
        .max(MARKER_LENGTH);
    let merged = MergeOptions::new()
        .set_conflict_marker_length(length)
        .set_conflict_style(ConflictStyle::Diff3)
        .set_incomplete_hunk_style(diffy::IncompleteHunkStyle::Git)
        .merge(base, ours, theirs);
    match merged {
        Ok(text) => MergeResult { text, conflicts: 0 },
        Err(text) => label(&text, length, labels, ending),
    }
}

/// Counts the conflicts and puts our names after the markers.
fn label(text: &str, length: usize, labels: ConflictLabels<'_>, ending: &str) -> MergeResult {
    let marker = |sign: &str, label: &str| format!("{} {label}", sign.repeat(length));
    let (open, middle, close) = (
        marker("<", "ours"),
        marker("|", "original"),
        marker(">", "theirs"),
    );
    let mut labelled = String::with_capacity(text.len());
    let mut conflicts = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        let replaced = if bare == open {
            conflicts += 1;
            marker("<", labels.ours)
        } else if bare == middle {
            marker("|", labels.base)
        } else if bare == close {
            marker(">", labels.theirs)
        } else {
            labelled.push_str(line);
            continue;
        };
        labelled.push_str(&replaced);
        if line.ends_with('\n') {
            labelled.push_str(ending);
        }
    }
    MergeResult {
        text: labelled,
        conflicts,
    }
}
