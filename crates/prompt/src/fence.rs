//! Markdown fences: finding, stripping, closing, and choosing one long enough.

/// Returns the inside of a text that is one fenced block and nothing else.
///
/// Blocks may be nested, as models nest them: a fence with an info string opens, a bare one closes
/// the innermost. Two blocks one after the other are not one block and are left alone.
pub(crate) fn strip_surrounding(text: &str) -> Option<&str> {
    let block = blocks(text.trim()).next()?;
    (block.before.trim().is_empty() && block.after.trim().is_empty()).then_some(block.inside)
}

/// Returns the inside of the only fenced block of a text that may have prose around it.
pub(crate) fn only_block(text: &str) -> Option<&str> {
    let mut blocks = blocks(text);
    let only = blocks.next()?;
    blocks.next().is_none().then_some(only.inside)
}

/// Makes a fence of backticks that none of the texts can close.
pub(crate) fn around<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let longest = texts.into_iter().map(longest_run).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

/// Makes an inline code span of the text, whatever backticks it contains.
pub(crate) fn span(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Closes a fence that the text left open, so that it cannot swallow the text after it.
pub(crate) fn closed(text: &str) -> String {
    let mut open: Option<CodeFence> = None;
    for fence in text.lines().filter_map(CodeFence::read) {
        open = match open {
            None => Some(fence),
            Some(opener) if fence.closes(&opener) => None,
            opener => opener,
        };
    }
    match open {
        None => text.to_owned(),
        Some(fence) => format!("{text}\n{}", fence.marker.to_string().repeat(fence.length)),
    }
}

struct CodeFence {
    marker: char,
    length: usize,
    bare: bool,
}

impl CodeFence {
    fn read(line: &str) -> Option<CodeFence> {
        let start = line.trim_start_matches(' ');
        if line.len() - start.len() > 3 {
            return None;
        }
        let marker = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let rest = start.trim_start_matches(marker);
        let length = start.len() - rest.len();
        let is_fence = length >= 3 && (marker == '~' || !rest.contains('`'));
        is_fence.then(|| CodeFence {
            marker,
            length,
            bare: rest.trim().is_empty(),
        })
    }

    fn closes(&self, opener: &CodeFence) -> bool {
        self.bare && self.marker == opener.marker && self.length >= opener.length
    }
}

struct FencedBlock<'a> {
    before: &'a str,
    inside: &'a str,
    after: &'a str,
}

/// Returns the outermost fenced blocks of a text, in order.
fn blocks(text: &str) -> impl Iterator<Item = FencedBlock<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let block = next_block(text, from)?;
        from = text.len() - block.after.len();
        Some(block)
    })
}

fn next_block(text: &str, from: usize) -> Option<FencedBlock<'_>> {
    let mut open: Vec<CodeFence> = Vec::new();
    let (mut opener_at, mut inside_at, mut at) = (from, from, from);
    for line in text[from..].split_inclusive('\n') {
        let line_at = at;
        at += line.len();
        let Some(fence) = CodeFence::read(line.trim_end_matches(['\n', '\r'])) else {
            continue;
        };
        match open.last() {
            None => {
                (opener_at, inside_at) = (line_at, at);
                open.push(fence);
            }
            Some(opener) if fence.closes(opener) => {
                open.pop();
                if open.is_empty() {
                    let inside = &text[inside_at..line_at];
                    let inside = inside.strip_suffix('\n').unwrap_or(inside);
                    return Some(FencedBlock {
                        before: &text[..opener_at],
                        inside: inside.strip_suffix('\r').unwrap_or(inside),
                        after: &text[at..],
                    });
                }
            }
            Some(opener) if !fence.bare && fence.marker == opener.marker => open.push(fence),
            Some(_) => {}
        }
    }
    None
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{around, closed, only_block, span, strip_surrounding};

    #[test]
    fn one_surrounding_fence_is_stripped_and_nothing_else() {
        for (given, expected) in [
            ("```ts\nlet a\n```", Some("let a")),
            ("\n```\r\na\r\nb\r\n```\r\n", Some("a\r\nb")),
            ("~~~\na\n~~~", Some("a")),
            ("```\n```", Some("")),
            ("````md\n```\nx\n```\n````", Some("```\nx\n```")),
            (
                "```md\n# t\n```sh\nls\n```\n```",
                Some("# t\n```sh\nls\n```"),
            ),
            ("  ```\n  a\n  ```", Some("  a")),
            ("```a\nx\n```\nand\n```b\ny\n```", None),
            ("text\n```\na\n```", None),
            ("```\na", None),
            ("```inline```", None),
            ("a", None),
            ("", None),
        ] {
            assert_eq!(strip_surrounding(given), expected, "{given:?}");
        }
    }

    #[test]
    fn the_only_block_is_found_in_prose() {
        assert_eq!(only_block("Here:\n```js\na\n```\nDone."), Some("a"));
        assert_eq!(only_block("```\na\n```\n```\nb\n```"), None);
        assert_eq!(only_block("none"), None);
    }

    #[test]
    fn fences_and_spans_outgrow_their_content() {
        assert_eq!(around(["a", "``` b"]), "````");
        assert_eq!(around([]), "```");
        assert_eq!(span("a"), "`a`");
        assert_eq!(span("`a"), "`` `a ``");
    }

    #[test]
    fn a_fence_left_open_is_closed() {
        for (given, expected) in [
            ("a", "a"),
            ("```\na\n```", "```\na\n```"),
            ("````\na\n```", "````\na\n```\n````"),
            ("~~~x\na", "~~~x\na\n~~~"),
        ] {
            assert_eq!(closed(given), expected, "{given:?}");
        }
    }
}
