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
        match line.tag {
            Tag::Context => render_line(text, line, Style::new()),
            Tag::Removed => render_line(text, line, REMOVED),
            Tag::Added => render_line(text, line, ADDED),
        }
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
        assert!(
            styled.contains("\u{1b}[1m\u{1b}[4m"),
            "the changed word stands out: {styled:?}"
        );
    }
}
