//! An error as it is shown: `error[E_…]`, the place, the line with a caret, and what to do next.

use std::fmt::Write as _;

use clap::builder::styling::{AnsiColor, Style};

use crate::exit::{CliError, CliProblem};
use crate::output::harmless;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const FRAME: Style = AnsiColor::Blue.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();
const BOLD: Style = Style::new().bold();

/// Renders the report of all problems, styled; the stream drops the styles where none belong.
pub(crate) fn render(trouble: &CliError) -> String {
    if let Some(shown) = &trouble.shown {
        return shown.trim_end().to_owned();
    }
    let reports = trouble
        .problems
        .iter()
        .map(|problem| one(problem, &trouble.code));
    let mut report = reports.collect::<Vec<_>>().join("\n\n");
    if let Some(note) = &trouble.note {
        report.push_str("\n\n");
        report.push_str(note.trim_end());
    }
    report
}

fn one(problem: &CliProblem, code: &str) -> String {
    let code = problem.code.as_deref().unwrap_or(code);
    let mut text = format!(
        "{ERROR}error[{code}]{ERROR:#}{BOLD}: {}{BOLD:#}",
        harmless(&problem.message)
    );
    let number = problem
        .line
        .map(|line| line.to_string())
        .unwrap_or_default();
    let gutter = " ".repeat(number.len().max(1));
    // Writing to a String cannot fail.
    if let Some(place) = place(problem) {
        let _ = write!(text, "\n{gutter}{FRAME}-->{FRAME:#} {place}");
    }
    if let Some(excerpt) = problem.excerpt.as_ref().filter(|_| problem.line.is_some()) {
        let (before, under) = caret(excerpt, problem);
        let excerpt = harmless(excerpt);
        let _ = write!(
            text,
            "\n{gutter} {FRAME}|{FRAME:#}\n{FRAME}{number:>width$} |{FRAME:#} {excerpt}\n\
             {gutter} {FRAME}|{FRAME:#} {before}{ERROR}{under}{ERROR:#}",
            width = gutter.len(),
        );
    }
    for note in problem.notes.iter().map(|note| harmless(note)) {
        let _ = write!(text, "\n{gutter} {FRAME}={FRAME:#} {note}");
    }
    if let Some(hint) = &problem.hint {
        let _ = write!(
            text,
            "\n{gutter} {FRAME}={FRAME:#} {HINT}hint{HINT:#}: {hint}"
        );
    }
    text
}

fn place(problem: &CliProblem) -> Option<String> {
    let file = problem.file.as_deref()?;
    Some(match (problem.line, problem.column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(line), None) => format!("{file}:{line}"),
        _ => file.to_owned(),
    })
}

/// Returns the text before the caret (a tab for a tab, so that it keeps its place), and the caret.
fn caret(excerpt: &str, problem: &CliProblem) -> (String, String) {
    let before = diagnostics::caret_padding(excerpt, problem.caret);
    let room = excerpt.chars().count().saturating_sub(problem.caret).max(1);
    (before, "^".repeat(problem.width.clamp(1, room)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::CliExit;

    #[test]
    fn a_report_shows_code_place_line_caret_and_hint() {
        let problem = CliProblem {
            code: None,
            message: "unknown key `nmae`".to_owned(),
            file: Some("recipe.yml".to_owned()),
            line: Some(12),
            column: Some(3),
            caret: 2,
            width: 4,
            excerpt: Some("\t nmae: x".to_owned()),
            notes: vec!["included at main.jig:1:0".to_owned()],
            hint: Some("did you mean `name`?".to_owned()),
            answer: None,
        };
        let trouble = CliError {
            exit: CliExit::Failed,
            code: "E_MANIFEST".to_owned(),
            problems: vec![problem],
            note: Some("Sorry.\n".to_owned()),
            shown: None,
            untrusted: None,
        };
        let plain = anstream::adapter::strip_str(&render(&trouble)).to_string();
        let expected = "\
error[E_MANIFEST]: unknown key `nmae`
  --> recipe.yml:12:3
   |
12 | \t nmae: x
   | \t ^^^^
   = included at main.jig:1:0
   = hint: did you mean `name`?

Sorry.";
        assert_eq!(plain, expected);
    }
}
