//! Reads unified diffs, as `diff -u` and `git diff` write them and as models imitate them.

use super::{HunkLine, LineSign, PatchAction, PatchHunk, PatchSection};

const NO_NEWLINE: char = '\\';

pub(super) fn read(text: &str, path: Option<&str>) -> Result<Vec<PatchSection>, String> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    // The text's last line feed ends a line; it does not begin an empty one.
    if lines.last() == Some(&"") {
        lines.pop();
    }
    let mut reader = UnifiedReader { lines, at: 0 };
    let mut sections = Vec::new();
    while reader.at < reader.lines.len() {
        if let Some(section) = reader.section(path)? {
            sections.push(section);
        }
    }
    Ok(sections)
}

struct UnifiedReader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

/// The lines before the hunks of a file.
#[derive(Default)]
struct DiffHeader {
    old: Option<String>,
    new: Option<String>,
    renamed_from: Option<String>,
    renamed_to: Option<String>,
    deleted: bool,
    created: bool,
}

impl UnifiedReader<'_> {
    fn section(&mut self, path: Option<&str>) -> Result<Option<PatchSection>, String> {
        let heading = self.heading()?;
        let mut hunks = Vec::new();
        while self
            .lines
            .get(self.at)
            .is_some_and(|line| line.starts_with("@@"))
        {
            let hunk = self.hunk()?;
            if !hunk.lines.is_empty() {
                hunks.push(hunk);
            }
        }
        if hunks.is_empty() && heading.is_empty() {
            return Ok(None);
        }
        heading.section(hunks, path).map(Some)
    }

    /// Reads up to the first hunk, or up to where another file begins.
    fn heading(&mut self) -> Result<DiffHeader, String> {
        let mut heading = DiffHeader::default();
        while let Some(line) = self.lines.get(self.at) {
            let line = line.trim_end_matches('\r');
            if line.starts_with("@@") {
                break;
            }
            if line.starts_with("diff --git ") && !heading.is_empty() {
                break;
            }
            if let Some(old) = line.strip_prefix("--- ") {
                if heading.new.is_some() {
                    break;
                }
                heading.old = Some(file_name(old, "a/"));
            } else if let Some(new) = line.strip_prefix("+++ ") {
                heading.new = Some(file_name(new, "b/"));
            } else if let Some(from) = line.strip_prefix("rename from ") {
                heading.renamed_from = Some(from.to_owned());
            } else if let Some(to) = line.strip_prefix("rename to ") {
                heading.renamed_to = Some(to.to_owned());
            } else if line.starts_with("deleted file mode") {
                heading.deleted = true;
            } else if line.starts_with("new file mode") {
                heading.created = true;
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err(
                    "The patch holds binary data, which is not applied; write text files only."
                        .to_owned(),
                );
            } else if let Some(names) = line.strip_prefix("diff --git ") {
                heading.read_git_names(names);
            }
            self.at += 1;
        }
        Ok(heading)
    }

    fn hunk(&mut self) -> Result<PatchHunk, String> {
        let header = self.lines[self.at];
        let range = HunkRange::read(header);
        self.at += 1;
        let begin = self.at;
        if let Some(range) = &range
            && let Some(lines) = self.counted(range)
        {
            return Ok(PatchHunk {
                stated: Some(range.place()),
                lines,
                ..PatchHunk::default()
            });
        }
        // The counts are wrong or missing, as models' often are; then the lines tell.
        self.at = begin;
        let lines = self.uncounted()?;
        let anchors = match &range {
            Some(_) => Vec::new(),
            None => {
                let anchor = header.trim().trim_matches('@').trim();
                (!anchor.is_empty())
                    .then(|| anchor.to_owned())
                    .into_iter()
                    .collect()
            }
        };
        Ok(PatchHunk {
            anchors,
            stated: range.map(|range| range.place()),
            lines,
            at_end: false,
        })
    }

    /// Reads as many lines as the header says; `None` if the header cannot be right.
    fn counted(&mut self, range: &HunkRange) -> Option<Vec<HunkLine>> {
        let (mut old, mut new) = (range.old_count, range.new_count);
        let mut lines: Vec<HunkLine> = Vec::new();
        while old > 0 || new > 0 {
            let line = self.lines.get(self.at)?;
            self.at += 1;
            if line.starts_with(NO_NEWLINE) {
                lines.last_mut()?.unended = true;
                continue;
            }
            let line = signed(line)?;
            old = old.checked_sub(usize::from(line.sign != LineSign::New))?;
            new = new.checked_sub(usize::from(line.sign != LineSign::Old))?;
            lines.push(line);
        }
        if self
            .lines
            .get(self.at)
            .is_some_and(|line| line.starts_with(NO_NEWLINE))
        {
            lines.last_mut()?.unended = true;
            self.at += 1;
        }
        self.at_boundary().then_some(lines)
    }

    /// True if a hunk may end here.
    fn at_boundary(&self) -> bool {
        let rest = &self.lines[self.at.min(self.lines.len())..];
        match rest.iter().find(|line| !line.trim().is_empty()) {
            None => true,
            Some(line) => begins_elsewhere(line) || line.starts_with("--- "),
        }
    }

    fn uncounted(&mut self) -> Result<Vec<HunkLine>, String> {
        let mut lines: Vec<HunkLine> = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            let next = self.lines.get(self.at + 1);
            let new_file =
                line.starts_with("--- ") && next.is_some_and(|next| next.starts_with("+++ "));
            if begins_elsewhere(line) || new_file {
                break;
            }
            self.at += 1;
            if line.starts_with(NO_NEWLINE) {
                if let Some(last) = lines.last_mut() {
                    last.unended = true;
                }
                continue;
            }
            let Some(line) = signed(line) else {
                return Err(format!(
                    "Line {} of the patch begins with neither ` `, `+`, `-` nor `@@`: {line:?}.",
                    self.at
                ));
            };
            lines.push(line);
        }
        Ok(lines)
    }
}

impl DiffHeader {
    fn is_empty(&self) -> bool {
        self.old.is_none()
            && self.new.is_none()
            && self.renamed_to.is_none()
            && !self.deleted
            && !self.created
    }

    /// Reads `a/x b/x`: of use only where no `---` follows, as for an empty file.
    fn read_git_names(&mut self, names: &str) {
        if let Some((old, new)) = names.split_once(" b/") {
            self.renamed_from = Some(file_name(old, "a/"));
            self.renamed_to = None;
            if old.strip_prefix("a/") != Some(new) {
                self.renamed_to = Some(new.to_owned());
            }
        }
    }

    fn section(self, hunks: Vec<PatchHunk>, path: Option<&str>) -> Result<PatchSection, String> {
        const NOTHING: &str = "/dev/null";
        let named = |name: Option<String>| name.filter(|name| name != NOTHING);
        let deleted = self.deleted || self.new.as_deref() == Some(NOTHING);
        let created = self.created || self.old.as_deref() == Some(NOTHING);
        let old = named(self.old).or(self.renamed_from);
        let new = named(self.new);
        let moved = self.renamed_to.filter(|to| Some(to) != old.as_ref());
        let Some(name) =
            path.map(str::to_owned)
                .or(if created { new.or(old) } else { old.or(new) })
        else {
            return Err("The diff does not say which file it is for. Give `path`, or `---` and `+++` lines.".to_owned());
        };
        let action = if created {
            PatchAction::Add {
                content: added(&hunks)?,
            }
        } else if deleted {
            PatchAction::Delete { hunks }
        } else {
            PatchAction::Update {
                hunks,
                move_to: moved,
            }
        };
        Ok(PatchSection { path: name, action })
    }
}

/// Returns the content of a file that the diff makes.
fn added(hunks: &[PatchHunk]) -> Result<String, String> {
    let mut content = String::new();
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        if line.sign == LineSign::Old {
            return Err("The diff says the file is new and removes lines from it.".to_owned());
        }
        content.push_str(&line.text);
        if !line.unended {
            content.push('\n');
        }
    }
    Ok(content)
}

/// Returns a name without quotes, time stamp and the prefix git puts before it.
fn file_name(text: &str, prefix: &str) -> String {
    let name = text.split('\t').next().unwrap_or(text).trim();
    let name = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'))
        .unwrap_or(name);
    name.strip_prefix(prefix).unwrap_or(name).to_owned()
}

fn begins_elsewhere(line: &str) -> bool {
    line.starts_with("@@") || line.starts_with("diff --git ")
}

fn signed(line: &str) -> Option<HunkLine> {
    let (sign, text) = match line.chars().next() {
        Some('+') => (LineSign::New, &line[1..]),
        Some('-') => (LineSign::Old, &line[1..]),
        Some(' ') => (LineSign::Same, &line[1..]),
        // Editors and models drop the space of an empty line.
        None | Some('\r') => (LineSign::Same, line),
        Some(_) => return None,
    };
    Some(HunkLine {
        sign,
        text: text.to_owned(),
        unended: false,
    })
}

/// `@@ -old,count +new,count @@`.
struct HunkRange {
    old_start: usize,
    old_count: usize,
    new_count: usize,
}

impl HunkRange {
    fn read(header: &str) -> Option<HunkRange> {
        let inside = header.strip_prefix("@@")?.trim_start();
        let mut words = inside.split_whitespace();
        let (old_start, old_count) = pair(words.next()?.strip_prefix('-')?)?;
        let (_, new_count) = pair(words.next()?.strip_prefix('+')?)?;
        Some(HunkRange {
            old_start,
            old_count,
            new_count,
        })
    }

    /// Returns the first old line, from 0; a hunk without old lines goes after the line it names.
    fn place(&self) -> usize {
        match self.old_count {
            0 => self.old_start,
            _ => self.old_start.saturating_sub(1),
        }
    }
}

fn pair(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}
