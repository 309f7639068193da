//! A difference as it is shown: unified, coloured, with the words that changed standing out.

use std::fmt::Write as _;

use clap::builder::styling::{AnsiColor, Style};
use workspace::diff::{Body, Diff, Hunk, Line, Tag};

const HEADER: Style = Style::new().bold();
const HUNK: Style = AnsiColor::Cyan.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

/// The unified diff; without its styles it is what `patch` reads.
pub(crate) fn render(diff: &Diff, path: &str) -> String {
    let Body::Lines(hunks) = &diff.body else {
        return diff.unified(path);
    };
    if diff.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for line in diff.header(path).lines() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{HEADER}{line}{HEADER:#}");
    }
    for hunk in hunks {
        render_hunk(&mut text, hunk);
    }
    text
}

fn render_hunk(text: &mut String, hunk: &Hunk) {
    let _ = writeln!(text, "{HUNK}{}{HUNK:#}", hunk.header);
    for line in &hunk.lines {
        render_line(text, line, style_of(line.tag));
    }
}

fn render_line(text: &mut String, line: &Line, style: Style) {
    let _ = write!(text, "{style}{}", line.tag.sign());
    for part in &line.parts {
        match part.emphasised {
            true => {
                let strong = style.bold().underline();
                let _ = write!(text, "{strong}{}{strong:#}{style}", part.text);
            }
            false => text.push_str(&part.text),
        }
    }
    let _ = writeln!(text, "{style:#}");
    if line.ends_bare {
        text.push_str("\\ No newline at end of file\n");
    }
}

/// A unified diff that is already text, coloured the same way.
pub(crate) fn colored(unified: &str) -> String {
    let mut text = String::new();
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
            let _ = writeln!(text, "{HEADER}{bare}{HEADER:#}");
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

/// Lines that were replaced; the words that differ are found by comparing the two sides again.
fn colored_block(block: &str) -> String {
    let (mut old, mut new) = (String::new(), String::new());
    let mut last_is_new = false;
    for line in block.split_inclusive('\n') {
        match line.split_at(1) {
            ("-", rest) => {
                old.push_str(rest);
                last_is_new = false;
            }
            ("+", rest) => {
                new.push_str(rest);
                last_is_new = true;
            }
            // "\ No newline at end of file" is about the line before it.
            _ => {
                let side = if last_is_new { &mut new } else { &mut old };
                side.pop();
            }
        }
    }
    let again = Diff::between(Some(old.as_bytes()), Some(new.as_bytes()));
    let mut emphasised = String::new();
    if let Body::Lines(hunks) = &again.body {
        for hunk in hunks {
            for line in &hunk.lines {
                render_line(&mut emphasised, line, style_of(line.tag));
            }
        }
    }
    if anstream::adapter::strip_str(&emphasised).to_string() == block {
        return emphasised;
    }
    let mut plain = String::new();
    for line in block.lines() {
        let style = match line.chars().next() {
            Some('-') => REMOVED,
            Some('+') => ADDED,
            _ => Style::new(),
        };
        let _ = writeln!(plain, "{style}{line}{style:#}");
    }
    plain
}

fn style_of(tag: Tag) -> Style {
    match tag {
        Tag::Context => Style::new(),
        Tag::Removed => REMOVED,
        Tag::Added => ADDED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_styles_it_is_the_unified_diff() {
        let old = "one\ntwo words here\nthree\n";
        let new = "one\ntwo other here\nthree";
        let diff = Diff::between(Some(old.as_bytes()), Some(new.as_bytes()));
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
}
