//! A difference as it is shown: unified, coloured, with the words that changed standing out.

use std::fmt::Write as _;

use clap::builder::styling::{AnsiColor, Style};
use workspace::diff::{ContentDiff, DiffBody, DiffHunk, DiffLine, LineOrigin};

use crate::output::quoted;

const HEADER: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const HUNK: Style = AnsiColor::Cyan.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

/// Renders the unified diff; without its styles `patch` can read it.
pub(crate) fn render(diff: &ContentDiff, path: &str) -> String {
    let DiffBody::Lines(hunks) = &diff.body else {
        return diff.unified(path);
    };
    if diff.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for line in diff.header(path).lines() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{HEADER}{}{HEADER:#}", quoted(line));
    }
    for hunk in hunks {
        render_hunk(&mut text, hunk);
    }
    text
}

fn render_hunk(text: &mut String, hunk: &DiffHunk) {
    let _ = writeln!(text, "{HUNK}{}{HUNK:#}", quoted(&hunk.header));
    for line in &hunk.lines {
        render_line(text, line, style_of(line.tag));
    }
}

fn render_line(text: &mut String, line: &DiffLine, style: Style) {
    let _ = write!(text, "{style}{}", line.tag.sign());
    for part in &line.parts {
        let shown = quoted(&part.text);
        match part.emphasised {
            true => {
                let strong = style.bold().underline();
                let _ = write!(text, "{strong}{shown}{strong:#}{style}");
            }
            false => text.push_str(&shown),
        }
    }
    let _ = writeln!(text, "{style:#}");
    if line.ends_bare {
        text.push_str("\\ No newline at end of file\n");
    }
}

/// Colours a unified diff that is already text.
pub(crate) fn colored(unified: &str) -> String {
    let mut text = String::new();
    let unified = quoted(unified);
    let mut lines = unified.split_inclusive('\n').peekable();
    let mut in_header = true;
    while let Some(line) = lines.next() {
        let bare = line.trim_end_matches('\n');
        // The next file of several.
        in_header |= line.starts_with("diff --git ");
        if line.starts_with("@@") {
            in_header = false;
            let _ = writeln!(text, "{HUNK}{bare}{HUNK:#}");
        } else if in_header {
            let style = match line.starts_with("index ") {
                true => DIMMED,
                false => HEADER,
            };
            let _ = writeln!(text, "{style}{bare}{style:#}");
        } else if is_change(line) {
            let mut block = line.to_owned();
            while let Some(next) = lines.next_if(|next| is_change(next)) {
                block.push_str(next);
            }
            text.push_str(&colored_block(&block));
        } else {
            text.push_str(line);
        }
    }
    text
}

fn is_change(line: &str) -> bool {
    line.starts_with(['-', '+', '\\'])
}

/// Colours lines that replaced others: each is compared with the line it most likely was.
fn colored_block(block: &str) -> String {
    let lines: Vec<&str> = block.lines().collect();
    let sided = |sign: char| {
        let numbered = lines.iter().enumerate();
        let of_side = numbered.filter(move |(_, line)| line.starts_with(sign));
        of_side.map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let (old, new) = (sided('-'), sided('+'));
    let mut emphasised: Vec<Option<DiffLine>> = lines.iter().map(|_| None).collect();
    let mut first = 0;
    for at in old {
        let partners = new.iter().skip(first).take(PARTNERS_MAX).enumerate();
        let pairs = partners.filter_map(|(skipped, partner)| {
            let pair = compared(&lines[at][1..], &lines[*partner][1..])?;
            Some((skipped, *partner, pair))
        });
        let Some((skipped, partner, pair)) = pairs.max_by_key(|(_, _, pair)| pair.same_share)
        else {
            continue;
        };
        first += skipped + 1;
        emphasised[at] = Some(pair.old);
        emphasised[partner] = Some(pair.new);
    }
    let mut text = String::new();
    for (line, emphasised) in lines.iter().zip(&emphasised) {
        match emphasised {
            Some(parts) => render_line(&mut text, parts, style_of(parts.tag)),
            None => {
                let style = match line.chars().next() {
                    Some('-') => REMOVED,
                    Some('+') => ADDED,
                    _ => Style::new(),
                };
                let _ = writeln!(text, "{style}{line}{style:#}");
            }
        }
    }
    text
}

/// Number of added lines a removed one is compared with.
const PARTNERS_MAX: usize = 12;
/// The share of equal characters, in hundredths, from which two lines are the same one changed.
const SAME_SHARE_MIN: usize = 50;

/// A line before and after, with the words that differ.
struct ChangedPair {
    old: DiffLine,
    new: DiffLine,
    /// The equal part of both, in hundredths.
    same_share: usize,
}

/// Pairs two lines as one that was changed, if they are similar enough.
fn compared(old: &str, new: &str) -> Option<ChangedPair> {
    let with_end = |text: &str| format!("{text}\n").into_bytes();
    let again = ContentDiff::between(Some(&with_end(old)), Some(&with_end(new)));
    let DiffBody::Lines(hunks) = again.body else {
        return None;
    };
    let mut lines = hunks.into_iter().flat_map(|hunk| hunk.lines);
    let (old, new) = (lines.next()?, lines.next()?);
    if (old.tag, new.tag) != (LineOrigin::Removed, LineOrigin::Added) {
        return None;
    }
    let parts = || old.parts.iter().chain(&new.parts);
    let all: usize = parts().map(|part| part.text.trim().len()).sum();
    let same = parts().filter(|part| !part.emphasised);
    let same: usize = same.map(|part| part.text.trim().len()).sum();
    let is_marked = parts().any(|part| part.emphasised);
    let same_share = same * 100 / all.max(1);
    let pair = ChangedPair {
        old,
        new,
        same_share,
    };
    (is_marked && same_share >= SAME_SHARE_MIN).then_some(pair)
}

fn style_of(tag: LineOrigin) -> Style {
    match tag {
        LineOrigin::Context => Style::new(),
        LineOrigin::Removed => REMOVED,
        LineOrigin::Added => ADDED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_styles_it_is_the_unified_diff() {
        let old = "one\ntwo words here\nthree\n";
        let new = "one\ntwo other here\nthree";
        let diff = ContentDiff::between(Some(old.as_bytes()), Some(new.as_bytes()));
        let styled = render(&diff, "a.txt");
        let plain = anstream::adapter::strip_str(&styled).to_string();
        assert_eq!(plain, diff.unified("a.txt"));
        let again = colored(&diff.unified("a.txt"));
        assert_eq!(anstream::adapter::strip_str(&again).to_string(), plain);
        assert!(again.contains("\u{1b}[1m\u{1b}[4m"), "{again:?}");
        assert!(
            styled.contains("\u{1b}[1m\u{1b}[4m"),
            "the changed word stands out: {styled:?}"
        );
    }

    #[test]
    fn a_line_is_compared_with_the_one_it_became() {
        let unified = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,4 @@\n\
                       -def login(user, password):\n+from limit import allowed\n+\n\
                       +def login(user, password, attempts):\n same\n\
                       diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-one\n+other entirely\n\
                       \\ No newline at end of file\n";
        let styled = colored(unified);
        assert_eq!(anstream::adapter::strip_str(&styled).to_string(), unified);
        let line = |word: &str| styled.lines().find(|line| line.contains(word)).unwrap();
        let strong = "\u{1b}[1m\u{1b}[4m";
        assert!(line("attempts").contains(strong), "{styled:?}");
        assert!(!line("from limit").contains(strong), "{styled:?}");
        assert!(!line("entirely").contains(strong), "{styled:?}");
        assert!(line("diff --git a/b").contains("\u{1b}[1m"), "{styled:?}");
    }
}
