//! A review: a person's decision on each hunk of a build before anything is pushed.
//!
//! Pure: hunks out of a unified diff, decisions about them, and a file without its rejected hunks.
//! A comment goes back to the model as a repair; the program removes a rejected hunk, and the
//! checks run again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use workspace::RelPath;

use crate::error::{BuildErrorKind, Error};
use crate::result::FileDiff;

/// The most characters of one comment.
pub(crate) const COMMENT_CHARS_MAX: usize = 4_000;

/// One hunk of a build's diff. A file without hunks (binary, moved, mode) counts as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewHunk {
    /// The file.
    pub path: RelPath,
    /// The hunk's number in the file, from 1.
    pub number: usize,
    /// Number of hunks in the file.
    pub count: usize,
    /// Its lines, the `@@` line first.
    pub text: String,
}

/// A person's decision on one hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HunkRemark {
    /// The file.
    pub path: RelPath,
    /// The hunk's number in the file, from 1; absent for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<usize>,
    /// The decision.
    #[serde(flatten)]
    pub decision: HunkDecision,
}

/// The decision on a hunk. A hunk without a remark is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum HunkDecision {
    /// The hunk stays.
    Accept,
    /// The hunk is removed.
    Reject,
    /// The model gets this comment and continues.
    Comment {
        /// The problem, or the wish.
        text: String,
    },
}

/// The decisions and comments of one review.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct BuildReview {
    /// About single hunks and files.
    pub remarks: Vec<HunkRemark>,
    /// About the work as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl BuildReview {
    /// Returns true if the work is accepted unchanged.
    pub(crate) fn accepts_all(&self) -> bool {
        let accepts = |remark: &HunkRemark| remark.decision == HunkDecision::Accept;
        self.comment.is_none() && self.remarks.iter().all(accepts)
    }

    /// Returns true if the model gets a comment.
    pub fn has_comments(&self) -> bool {
        let comments =
            |remark: &HunkRemark| matches!(remark.decision, HunkDecision::Comment { .. });
        self.comment.is_some() || self.remarks.iter().any(comments)
    }

    /// Returns the numbers of a file's rejected hunks; `count` is the number of its hunks.
    pub(crate) fn rejected(&self, path: &RelPath, count: usize) -> BTreeSet<usize> {
        let mut rejected = BTreeSet::new();
        for remark in self.remarks.iter().filter(|remark| remark.path == *path) {
            if remark.decision != HunkDecision::Reject {
                continue;
            }
            match remark.number {
                Some(number) => rejected.extend([number]),
                None => rejected.extend(1..=count),
            }
        }
        rejected
    }

    /// Refuses remarks on hunks that are not in the diff, and empty comments.
    pub(crate) fn check(&self, hunks: &[ReviewHunk]) -> Result<(), Error> {
        let invalid = |message: String| Err(Error::new(BuildErrorKind::Invalid, message));
        for remark in &self.remarks {
            let (path, number) = (&remark.path, remark.number);
            let is_there = |hunk: &ReviewHunk| {
                hunk.path == *path && number.is_none_or(|number| number == hunk.number)
            };
            if !hunks.iter().any(is_there) {
                let which = number.map_or(String::new(), |number| format!(" hunk {number} of"));
                return invalid(format!(
                    "the build has no{which} `{path}`; `drawloom builds review ID --json` lists the hunks"
                ));
            }
        }
        let texts = self
            .remarks
            .iter()
            .filter_map(|remark| match &remark.decision {
                HunkDecision::Comment { text } => Some(text),
                HunkDecision::Accept | HunkDecision::Reject => None,
            });
        for text in texts.chain(&self.comment) {
            let characters = text.trim().chars().count();
            if characters == 0 || characters > COMMENT_CHARS_MAX {
                return invalid(format!(
                    "a comment has between 1 and {COMMENT_CHARS_MAX} characters (COMMENT_CHARS_MAX), \
                     and this one has {characters}"
                ));
            }
        }
        Ok(())
    }
}

/// The hunks of a build's diffs, in their order.
pub fn hunks(diffs: &[FileDiff]) -> Vec<ReviewHunk> {
    diffs.iter().flat_map(hunks_of).collect()
}

fn hunks_of(file: &FileDiff) -> Vec<ReviewHunk> {
    let mut texts: Vec<String> = Vec::new();
    for line in file.diff.split_inclusive('\n') {
        if line.starts_with("@@ ") {
            texts.push(String::new());
        }
        if let Some(text) = texts.last_mut() {
            text.push_str(line);
        }
    }
    if texts.is_empty() {
        texts.push(file.diff.clone());
    }
    let count = texts.len();
    let numbered = texts.into_iter().zip(1..);
    numbered
        .map(|(text, number)| ReviewHunk {
            path: file.path.clone(),
            number,
            count,
            text,
        })
        .collect()
}

/// Returns the old file with all hunks applied except the rejected ones; `None` if the diff does
/// not fit the text.
pub(crate) fn without_hunks(
    before: &str,
    file: &FileDiff,
    rejected: &BTreeSet<usize>,
) -> Option<String> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let mut text = String::new();
    let mut at = 0;
    for hunk in hunks_of(file) {
        let (first, count) = old_range(&hunk.text)?;
        // A hunk that only adds names the line before it.
        let first = if count == 0 {
            first
        } else {
            first.checked_sub(1)?
        };
        text.push_str(&old.get(at..first)?.concat());
        let end = first + count;
        if rejected.contains(&hunk.number) {
            text.push_str(&old.get(first..end)?.concat());
        } else {
            text.push_str(&new_lines(&hunk.text));
        }
        at = end;
    }
    text.push_str(&old.get(at..)?.concat());
    Some(text)
}

/// Returns the hunk's place in the old file: `@@ -3,2 +3,4 @@` is line 3 and two lines.
fn old_range(text: &str) -> Option<(usize, usize)> {
    let range = text.strip_prefix("@@ -")?.split(' ').next()?;
    match range.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((range.parse().ok()?, 1)),
    }
}

/// The lines of a hunk as the new file has them.
fn new_lines(text: &str) -> String {
    let mut new = String::new();
    let mut lines = text.split_inclusive('\n').skip(1).peekable();
    while let Some(line) = lines.next() {
        let is_bare = lines.peek().is_some_and(|next| next.starts_with('\\'));
        if let Some(kept) = line.strip_prefix(['+', ' ']) {
            let kept = if is_bare {
                kept.trim_end_matches('\n')
            } else {
                kept
            };
            new.push_str(kept);
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::{FileDiff, hunks, without_hunks};
    use workspace::RelPath;

    const OLD: &str = "one\ntwo\nthree\nfour\nfive\n";
    const DIFF: &str = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n@@ -4,2 +4,3 @@\n four\n five\n+six\n";

    fn file(diff: &str) -> FileDiff {
        FileDiff {
            path: RelPath::parse("a").unwrap(),
            diff: diff.to_owned(),
        }
    }

    #[track_caller]
    fn check(old: &str, diff: &str, rejected: &[usize], expected: Option<&str>) {
        let rejected = rejected.iter().copied().collect();
        let text = without_hunks(old, &file(diff), &rejected);
        assert_eq!(text.as_deref(), expected, "{rejected:?}");
    }

    #[test]
    fn a_hunk_that_is_turned_down_is_taken_out_and_the_others_stay() {
        check(OLD, DIFF, &[], Some("ONE\ntwo\nthree\nfour\nfive\nsix\n"));
        check(OLD, DIFF, &[1], Some("one\ntwo\nthree\nfour\nfive\nsix\n"));
        check(OLD, DIFF, &[2], Some("ONE\ntwo\nthree\nfour\nfive\n"));
        check(OLD, DIFF, &[1, 2], Some(OLD));
        check("one\n", DIFF, &[], None);
        let bare = "@@ -1 +1 @@\n-one\n+ONE\n\\ No newline at end of file\n";
        check("one\n", bare, &[], Some("ONE"));
        check("", "@@ -0,0 +1,2 @@\n+a\n+b\n", &[], Some("a\nb\n"));
    }

    #[test]
    fn hunks_are_numbered_by_file_and_a_binary_file_is_one() {
        let all = hunks(&[file(DIFF), file("Binary files differ\n")]);
        let numbers: Vec<_> = all.iter().map(|hunk| (hunk.number, hunk.count)).collect();
        assert_eq!(numbers, [(1, 2), (2, 2), (1, 1)]);
        assert!(
            all[0].text.starts_with("@@ -1,2 +1,2 @@\n-one"),
            "{}",
            all[0].text
        );
    }
}
