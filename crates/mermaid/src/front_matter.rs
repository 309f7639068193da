//! Front matter: the YAML between `---` lines at the very beginning of a text.

use crate::chars::is_space;

/// A block of front matter at the beginning of a text.
pub(crate) struct FrontMatterBlock {
    pub(crate) body: String,
    /// The start of the diagram.
    pub(crate) end: usize,
}

/// Finds front matter; the opening fence takes the blank lines after it.
///
/// The longest opening that leaves a closing fence behind wins, then the nearest closing fence: a
/// fence right after the opening one is content when a later fence closes the block.
pub(crate) fn find(text: &str) -> Option<FrontMatterBlock> {
    let indent = text.len() - text.trim_start_matches(|c| is_space(c) && c != '\n').len();
    let fence = format!("\n{}---", &text[..indent]);
    let after = text[indent..].strip_prefix("---")?;
    let opening = indent + 3;
    let space = after.find(|c| !is_space(c)).unwrap_or(after.len());
    let first = opening + after[..space].find('\n')?;
    let last = last_fence(text, &fence, first + 1)?;
    let opened = text[opening..(opening + space).min(last)].rfind('\n');
    let body = opened.map_or(first, |at| opening + at) + 1;
    let mut from = body;
    while let Some(found) = text[from..].find(&fence) {
        let close = from + found;
        if let Some(end) = closed(text, close + fence.len()) {
            return Some(FrontMatterBlock {
                body: dedent(&text[body..close], &text[..indent]),
                end,
            });
        }
        from = close + 1;
    }
    None
}

fn last_fence(text: &str, fence: &str, from: usize) -> Option<usize> {
    text.get(from..)?
        .rmatch_indices(fence)
        .map(|(at, _)| from + at)
        .find(|at| closed(text, at + fence.len()).is_some())
}

/// Returns the end of a closing fence: behind the last line break of the space after it.
fn closed(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let space = rest.find(|c| !is_space(c)).unwrap_or(rest.len());
    let last = rest[..space].rfind('\n')?;
    Some(at + last + 1)
}

fn dedent(body: &str, indent: &str) -> String {
    if indent.is_empty() {
        return body.to_owned();
    }
    let lines = body.split('\n');
    let lines = lines.map(|line| line.strip_prefix(indent).unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}
