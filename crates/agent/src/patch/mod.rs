//! Patches as models write them: unified diffs and `*** Begin Patch` envelopes, read and applied.
//!
//! Pure: texts in, texts and a report out. `envelope` and `unified` read the two languages into
//! one [`PatchSection`] per file; `lines` is a text with its line ends; `seek` finds where the old lines
//! of a hunk are, in four falling strictnesses; `place` puts a file's hunks in.

mod apply_hunks;
mod envelope;
mod lines;
mod match_lines;
mod unified;

pub(crate) mod nearest;

#[cfg(test)]
mod tests;

pub(crate) use apply_hunks::{HunkReport, apply};
pub(crate) use lines::{FileLines, dominant_ending};

/// The largest patch that is read.
pub(crate) const PATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The change a patch makes to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatchSection {
    pub(crate) path: String,
    pub(crate) action: PatchAction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatchAction {
    /// A file that is not there yet.
    Add { content: String },
    /// No file any more. A unified diff also says what was in it.
    Delete { hunks: Vec<PatchHunk> },
    Update {
        hunks: Vec<PatchHunk>,
        move_to: Option<String>,
    },
}

/// Lines to find and what to put in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchHunk {
    /// Lines that come somewhere before it, outermost first.
    pub(crate) anchors: Vec<String>,
    /// First old line by the patch's own count, from 0.
    pub(crate) stated: Option<usize>,
    pub(crate) lines: Vec<HunkLine>,
    /// True if it must end where the file ends.
    pub(crate) at_end: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HunkLine {
    pub(crate) sign: LineSign,
    /// Without its line feed; a carriage return stays.
    pub(crate) text: String,
    /// Said to be the last of its file, without a line feed.
    pub(crate) unended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineSign {
    Same,
    Old,
    New,
}

impl PatchHunk {
    /// Returns the lines that have to be there.
    pub(crate) fn old(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.sign != LineSign::New)
    }

    fn new_side(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.sign != LineSign::Old)
    }

    fn says_how_it_ends(&self) -> bool {
        self.lines.iter().any(|line| line.unended)
    }
}

/// Reads a patch of either language. `path` names the file of a diff that does not.
pub(crate) fn read(text: &str, path: Option<&str>) -> Result<Vec<PatchSection>, String> {
    if text.len() > PATCH_BYTES_MAX {
        return Err(format!(
            "The patch has {} bytes, more than PATCH_BYTES_MAX ({PATCH_BYTES_MAX}). Send it in pieces.",
            text.len()
        ));
    }
    let text = unwrapped(text);
    let sections = if envelope::is_one(text) {
        envelope::read(text)?
    } else {
        unified::read(text, path)?
    };
    if sections.is_empty() {
        return Err(
            "The patch changes nothing: it has no file section with a hunk in it.".to_owned(),
        );
    }
    Ok(sections)
}

/// Models put patches into code fences and here-documents; the patch is what is inside.
fn unwrapped(text: &str) -> &str {
    let trimmed = text.trim_start_matches(['\n', '\r']);
    let Some((first, rest)) = trimmed.split_once('\n') else {
        return trimmed;
    };
    let first = first.trim();
    let last_line_is = |rest: &str, word: &str| {
        rest.trim_end()
            .strip_suffix(word)
            .is_some_and(|before| before.ends_with('\n'))
    };
    let inside = |rest: &'_ str, word: &str| rest.trim_end().len() - word.len();
    if first.starts_with("```") && last_line_is(rest, "```") {
        return &rest[..inside(rest, "```")];
    }
    if let Some((_, word)) = first.split_once("<<") {
        let word = word.trim().trim_matches(['\'', '"', '-']);
        if !word.is_empty() && last_line_is(rest, word) {
            return &rest[..inside(rest, word)];
        }
    }
    trimmed
}
