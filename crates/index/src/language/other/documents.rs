//! Documents and settings: headings and first-level keys.

use super::super::facts_builder::FactsBuilder;
use super::super::{ExportKind, ImportKind};
use super::{NAMES_MAX, lines};

/// The title and the chapters: headings of the first two levels.
pub(super) fn markdown(text: &str, gather: &mut FactsBuilder<'_>) {
    let mut fence: Option<&str> = None;
    let mut before: (usize, &str) = (0, "");
    let mut count = 0;
    let mut is_matter = text.starts_with("---\n") || text.starts_with("---\r\n");
    for (offset, line) in lines(text) {
        let trimmed = line.trim_start();
        if is_matter {
            is_matter = offset == 0 || trimmed.trim_end() != "---";
            continue;
        }
        if let Some(open) = fence {
            if trimmed.starts_with(open) && trimmed.trim_end().trim_matches(['`', '~']).is_empty() {
                fence = None;
            }
            continue;
        }
        if let Some(mark) = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark))
        {
            fence = Some(mark);
            continue;
        }
        let is_underline = trimmed.len() > 1
            && (trimmed.bytes().all(|byte| byte == b'=')
                || trimmed.bytes().all(|byte| byte == b'-'));
        let heading = match trimmed
            .strip_prefix("## ")
            .or_else(|| trimmed.strip_prefix("# "))
        {
            Some(heading) if line.len() - trimmed.len() < 4 => Some((offset, heading)),
            _ if is_underline && is_paragraph(before.1) => Some(before),
            _ => None,
        };
        if let Some((offset, heading)) = heading {
            gather.export(title(heading), ExportKind::Section, offset);
            count += 1;
        }
        if count >= NAMES_MAX {
            return;
        }
        before = (offset, line);
    }
}

fn is_paragraph(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with(['#', '-', '*', '>', '|', '+', '='])
}

/// Strips the closing marks of a heading.
fn title(heading: &str) -> &str {
    heading.trim().trim_end_matches('#').trim_end()
}

/// Lines that are underlined with signs, as in reStructuredText.
pub(super) fn underlined(text: &str, gather: &mut FactsBuilder<'_>) {
    let mut before: (usize, &str) = (0, "");
    let mut marks: Vec<u8> = Vec::new();
    for (offset, line) in lines(text) {
        let line = line.trim_end();
        let first = line.bytes().next().unwrap_or(0);
        let is_line = line.len() > 2
            && first.is_ascii_punctuation()
            && line.bytes().all(|byte| byte == first);
        if is_line && before.1.len() > 1 && before.1.chars().count() <= line.len() {
            if !marks.contains(&first) {
                marks.push(first);
            }
            // The title and the chapters.
            if marks.iter().position(|mark| *mark == first) < Some(2) {
                gather.export(before.1.trim(), ExportKind::Section, before.0);
            }
        }
        before = if is_line {
            (offset, "")
        } else {
            (offset, line)
        };
    }
}

/// The tables of TOML and the sections of INI files.
pub(super) fn tables(text: &str, gather: &mut FactsBuilder<'_>) {
    for (offset, line) in lines(text).filter(|(_, line)| line.starts_with('[')) {
        let name = line
            .trim_start_matches('[')
            .split(']')
            .next()
            .unwrap_or_default();
        let is_name = !name.contains(['"', '\'', ',', '{', '=']) || line.ends_with(']');
        if is_name {
            gather.export(name.trim(), ExportKind::Section, offset);
        }
    }
}

/// The keys of the first level.
pub(super) fn yaml(text: &str, gather: &mut FactsBuilder<'_>) {
    let mut count = 0;
    for (offset, line) in lines(text) {
        let is_key = line.starts_with(|first: char| {
            first.is_alphanumeric() || matches!(first, '_' | '"' | '\'')
        });
        let Some((key, rest)) = line.split_once(':').filter(|_| is_key) else {
            continue;
        };
        let key = key.trim().trim_matches(['"', '\'']);
        if (rest.is_empty() || rest.starts_with([' ', '\t']))
            && !key.contains("://")
            && count < NAMES_MAX
        {
            gather.export(key, ExportKind::Section, offset);
            count += 1;
        }
    }
}

/// The keys of the outermost object.
pub(super) fn json(text: &str, gather: &mut FactsBuilder<'_>) {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    let mut key: Option<(usize, usize)> = None;
    let mut count = 0;
    while at < bytes.len() && count < NAMES_MAX {
        match bytes[at] {
            b'"' => {
                let start = at + 1;
                at = start;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
                key = (depth == 1).then_some((start, at.min(bytes.len())));
            }
            b':' if depth == 1 => {
                if let Some(name) = key
                    .take()
                    .and_then(|(start, end)| Some((text.get(start..end)?, start)))
                {
                    gather.export(name.0, ExportKind::Section, name.1);
                    count += 1;
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            // A list has no keys.
            _ if depth == 0 && !bytes[at].is_ascii_whitespace() && bytes[at] != b'/' => return,
            _ => {}
        }
        at += 1;
        if depth == 1 && count == 0 && text.trim_start().starts_with('[') {
            return;
        }
    }
}

/// Reads the style sheets that this one imports first, and the variables and mixins it exports.
pub(super) fn styles(text: &str, gather: &mut FactsBuilder<'_>) {
    let mut count = 0;
    for (offset, line) in lines(text) {
        let word = line.trim_start();
        let asks = ["@import ", "@use ", "@forward "]
            .iter()
            .any(|at| word.starts_with(at));
        if asks {
            let quoted = word.split(['"', '\'']).nth(1).unwrap_or_default();
            if !quoted.contains("://") && !quoted.starts_with("sass:") {
                gather.import(quoted.to_owned(), ImportKind::Static, offset);
            }
        }
        if count >= NAMES_MAX {
            continue;
        }
        let name = match word
            .strip_prefix("@mixin ")
            .or_else(|| word.strip_prefix("@function "))
        {
            Some(rest) => rest.split(['(', ' ', '{']).next().unwrap_or_default(),
            None if line.starts_with('$') => line.split(':').next().unwrap_or_default().trim_end(),
            None => continue,
        };
        gather.export(name, ExportKind::Value, offset);
        count += 1;
    }
}
