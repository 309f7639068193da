//! Puts the hunks of one file in, or says which of them has no place.

use serde::Serialize;
use serde_json::{Value, json};

use super::lines::{FileLines, bare};
use super::match_lines::{MatchStrictness, PLACES_MAX, places};
use super::nearest::nearest;
use super::{HunkLine, LineSign, PatchHunk};

/// The position a hunk was applied at, and the match that found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HunkReport {
    /// Counts from 1.
    hunk: usize,
    /// The line of the old file where the hunk begins, from 1.
    line: usize,
    /// Distance from the line the patch names.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<i64>,
    matched: MatchStrictness,
    /// White space added to the new lines, or removed from them, to fit the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    reindented: Option<String>,
}

/// A hunk without a place: an object with `error` and what helps to mend it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HunkMismatch(pub(crate) Value);

/// Applies every hunk to the text, or none.
pub(crate) fn apply(
    text: &str,
    hunks: &[PatchHunk],
) -> Result<(String, Vec<HunkReport>), HunkMismatch> {
    let file = FileLines::of(text);
    let mut found = Vec::new();
    let (mut from, mut drift) = (0, 0_i64);
    for (at, hunk) in hunks.iter().enumerate() {
        let place = find(&file, hunk, from, drift).map_err(|miss| miss.at(at + 1, hunks.len()))?;
        if let Some(stated) = hunk.stated {
            drift = signed(place.at) - signed(stated);
        }
        from = place.at + place.old_len;
        found.push(place);
    }
    let mut out = PatchedText::new(&file);
    let mut reports = Vec::new();
    for (at, (hunk, place)) in hunks.iter().zip(&found).enumerate() {
        out.copy_until(place.at);
        let shift = IndentShift::of(&file, hunk, place);
        out.put(hunk, place, &shift);
        reports.push(HunkReport {
            hunk: at + 1,
            line: place.at + 1,
            offset: hunk
                .stated
                .map(|stated| signed(place.at) - signed(stated))
                .filter(|offset| *offset != 0),
            matched: place.strictness,
            reindented: shift.words(),
        });
    }
    Ok((out.finish(), reports))
}

struct HunkMatch {
    at: usize,
    old_len: usize,
    strictness: MatchStrictness,
    /// Lines at the end of the hunk that the file has no counterpart for.
    dropped: usize,
}

/// Why a hunk has no place.
enum MatchFailure {
    Missing(Value),
    Ambiguous(Vec<usize>),
    NoAnchor(String, Value),
}

impl MatchFailure {
    fn at(self, number: usize, of: usize) -> HunkMismatch {
        let which = format!("Hunk {number} of {of}");
        HunkMismatch(match self {
            MatchFailure::Missing(nearest) => json!({
                "error": format!("{which}: its context and removed lines are not in the file (after the hunks before it). Nothing was written."),
                "nearest": nearest,
            }),
            MatchFailure::Ambiguous(lines) => {
                let lines: Vec<String> = lines.iter().map(|line| (line + 1).to_string()).collect();
                let more = if lines.len() >= PLACES_MAX {
                    ", …"
                } else {
                    ""
                };
                json!({
                    "error": format!(
                        "{which}: its lines fit at several places (lines {}{more}). Add more context \
                         lines, or an `@@` line that names what they are in. Nothing was written.",
                        lines.join(", ")
                    ),
                })
            }
            MatchFailure::NoAnchor(anchor, nearest) => json!({
                "error": format!("{which}: the `@@` line `{anchor}` is not in the file. Nothing was written."),
                "nearest": nearest,
            }),
        })
    }
}

fn find(
    file: &FileLines<'_>,
    hunk: &PatchHunk,
    from: usize,
    drift: i64,
) -> Result<HunkMatch, MatchFailure> {
    let (from, anchored) = after_anchors(file, hunk, from)?;
    let old: Vec<&str> = hunk.old().map(|line| line.text.as_str()).collect();
    if old.is_empty() {
        let at = match hunk.stated {
            Some(stated) => stated.min(file.len()).max(from),
            None if anchored => from,
            None => file.len(),
        };
        return Ok(HunkMatch {
            at,
            old_len: 0,
            strictness: MatchStrictness::Exact,
            dropped: 0,
        });
    }
    let search = HunkSearch {
        file,
        hunk,
        from,
        drift,
        anchored,
    };
    if let Some(found) = search.look(&old, 0)? {
        return Ok(found);
    }
    // Models end hunks with an empty line that is not in the file.
    let last_is_blank = hunk
        .lines
        .last()
        .is_some_and(|line| line.sign == LineSign::Same && line.text.trim().is_empty());
    if last_is_blank
        && old.len() > 1
        && let Some(found) = search.look(&old[..old.len() - 1], 1)?
    {
        return Ok(found);
    }
    Err(MatchFailure::Missing(nearest(file, &old)))
}

/// Returns the line after the hunk's anchors, and whether there were any.
fn after_anchors(
    file: &FileLines<'_>,
    hunk: &PatchHunk,
    from: usize,
) -> Result<(usize, bool), MatchFailure> {
    let mut from = from;
    for anchor in &hunk.anchors {
        let found = MatchStrictness::ALL.iter().find_map(|strictness| {
            let at = places(file, &[anchor.as_str()], from, *strictness);
            at.first().copied()
        });
        // A part of a line will do: headers of functions are long.
        let found = found.or_else(|| {
            let wanted = anchor.trim();
            (from..file.len()).find(|at| file.bare(*at).contains(wanted))
        });
        let Some(at) = found else {
            return Err(MatchFailure::NoAnchor(
                anchor.clone(),
                nearest(file, &[anchor.as_str()]),
            ));
        };
        from = at + 1;
    }
    Ok((from, !hunk.anchors.is_empty()))
}

struct HunkSearch<'a, 'f> {
    file: &'a FileLines<'f>,
    hunk: &'a PatchHunk,
    from: usize,
    drift: i64,
    anchored: bool,
}

impl HunkSearch<'_, '_> {
    /// Returns the only place at the strictest comparison that finds any.
    fn look(&self, old: &[&str], dropped: usize) -> Result<Option<HunkMatch>, MatchFailure> {
        for strictness in MatchStrictness::ALL {
            let mut found = self.places(old, strictness);
            if self.hunk.at_end {
                found.retain(|at| at + old.len() == self.file.len());
            }
            let at = match found.as_slice() {
                [] => continue,
                [at] => *at,
                [first, ..] if self.anchored => *first,
                several => match self.stated_one(old, strictness) {
                    Some(at) => at,
                    None => return Err(MatchFailure::Ambiguous(several.to_vec())),
                },
            };
            return Ok(Some(HunkMatch {
                at,
                old_len: old.len(),
                strictness,
                dropped,
            }));
        }
        Ok(None)
    }

    fn places(&self, old: &[&str], strictness: MatchStrictness) -> Vec<usize> {
        let from = match self.hunk.at_end {
            // Only the end counts, however often the lines are there before.
            true => self.file.len().saturating_sub(old.len()).max(self.from),
            false => self.from,
        };
        places(self.file, old, from, strictness)
    }

    /// Returns the place the patch names, moved as far as the hunk before it was, if the lines are
    /// there.
    fn stated_one(&self, old: &[&str], strictness: MatchStrictness) -> Option<usize> {
        let stated = usize::try_from(signed(self.hunk.stated?) + self.drift).ok()?;
        if stated < self.from || stated + old.len() > self.file.len() {
            return None;
        }
        let fits = (stated..)
            .zip(old)
            .all(|(at, line)| strictness.same(self.file.bare(at), bare(line)));
        fits.then_some(stated)
    }
}

/// The indentation to add or remove where the hunk's own is off throughout.
enum IndentShift {
    None,
    Add(String),
    Remove(String),
}

impl IndentShift {
    fn of(file: &FileLines<'_>, hunk: &PatchHunk, place: &HunkMatch) -> IndentShift {
        if place.strictness < MatchStrictness::WhiteSpace {
            return IndentShift::None;
        }
        let pairs: Vec<(&str, &str)> = hunk
            .old()
            .take(place.old_len)
            .zip(place.at..)
            .map(|(line, at)| (file.bare(at), bare(&line.text)))
            .filter(|(ours, _)| !ours.trim().is_empty())
            .map(|(ours, theirs)| (indent(ours), indent(theirs)))
            .collect();
        let Some((ours, theirs)) = pairs.first() else {
            return IndentShift::None;
        };
        if let Some(more) = ours.strip_suffix(theirs).filter(|more| !more.is_empty())
            && pairs
                .iter()
                .all(|(ours, theirs)| ours.strip_suffix(theirs) == Some(more))
        {
            return IndentShift::Add(more.to_owned());
        }
        if let Some(more) = theirs.strip_suffix(ours).filter(|more| !more.is_empty())
            && pairs
                .iter()
                .all(|(ours, theirs)| theirs.strip_suffix(ours) == Some(more))
        {
            return IndentShift::Remove(more.to_owned());
        }
        IndentShift::None
    }

    fn apply(&self, text: &str) -> String {
        match self {
            IndentShift::Add(more) if !text.trim().is_empty() => format!("{more}{text}"),
            IndentShift::Remove(more) => {
                text.strip_prefix(more.as_str()).unwrap_or(text).to_owned()
            }
            IndentShift::Add(_) | IndentShift::None => text.to_owned(),
        }
    }

    fn words(&self) -> Option<String> {
        match self {
            IndentShift::None => None,
            IndentShift::Add(more) => Some(format!("added lines were indented by {more:?}")),
            IndentShift::Remove(more) => {
                Some(format!("{more:?} was taken from the start of added lines"))
            }
        }
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The new text under way.
struct PatchedText<'a, 'f> {
    file: &'a FileLines<'f>,
    copied: usize,
    lines: Vec<String>,
    ended: bool,
}

impl<'a, 'f> PatchedText<'a, 'f> {
    fn new(file: &'a FileLines<'f>) -> PatchedText<'a, 'f> {
        PatchedText {
            file,
            copied: 0,
            lines: Vec::with_capacity(file.len()),
            ended: file.ended,
        }
    }

    fn copy_until(&mut self, at: usize) {
        let untouched = &self.file.lines[self.copied..at.max(self.copied)];
        self.lines
            .extend(untouched.iter().map(|line| (*line).to_owned()));
        self.copied = at.max(self.copied);
    }

    fn put(&mut self, hunk: &PatchHunk, place: &HunkMatch, shift: &IndentShift) {
        let verbatim = self.speaks_file_endings(hunk, place);
        let keep = hunk.lines.len() - place.dropped;
        for line in &hunk.lines[..keep] {
            match line.sign {
                // Context lines stay as the file has them.
                LineSign::Same => {
                    self.lines.push(self.file.lines[self.copied].to_owned());
                    self.copied += 1;
                }
                LineSign::Old => self.copied += 1,
                LineSign::New => self.lines.push(self.added(line, shift, verbatim)),
            }
        }
        if self.copied >= self.file.len() && hunk.says_how_it_ends() {
            self.ended = !hunk.new_side().last().is_some_and(|line| line.unended);
        }
    }

    /// True if the hunk's lines end as the file's do, so that added ones can be taken unchanged.
    fn speaks_file_endings(&self, hunk: &PatchHunk, place: &HunkMatch) -> bool {
        let mut old = hunk.old().take(place.old_len).zip(place.at..).peekable();
        if old.peek().is_none() {
            return hunk.lines.iter().any(|line| line.text.ends_with('\r'));
        }
        old.all(|(line, at)| {
            let ours = self.file.lines[at];
            ours.ends_with("\r\n") == line.text.ends_with('\r')
        })
    }

    fn added(&self, line: &HunkLine, shift: &IndentShift, verbatim: bool) -> String {
        if verbatim {
            return shift.apply(&line.text) + "\n";
        }
        shift.apply(bare(&line.text)) + self.file.ending
    }

    fn finish(mut self) -> String {
        self.copy_until(self.file.len());
        let last = self.lines.len().saturating_sub(1);
        let mut text = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            text.push_str(line);
            let has_end = line.ends_with('\n');
            if at < last && !has_end {
                text.push_str(self.file.ending);
            } else if at == last && has_end && !self.ended {
                text.truncate(
                    text.len() - (line.len() - bare_keeping_cr(line, self.file.ending).len()),
                );
            } else if at == last && !has_end && self.ended {
                text.push_str(self.file.ending);
            }
        }
        text
    }
}

/// Returns a line without its end, where a carriage return is part of the end only in files that
/// use it so.
fn bare_keeping_cr<'l>(line: &'l str, ending: &str) -> &'l str {
    line.strip_suffix(ending)
        .or_else(|| line.strip_suffix('\n'))
        .unwrap_or(line)
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
