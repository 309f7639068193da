//! Words for what is wrong: what was expected, what was found, and what the writer likely meant.

use crate::chars::{is_space, is_word};
use crate::clean::CleanText;
use crate::error::{ProblemKind, SpanProblem};
use crate::span::Span;
use crate::token::{DiagramToken, DiagramTokenKind};

/// Characters of the offending text that a message quotes.
const FOUND_CHARS_MAX: usize = 24;

pub(crate) fn expected(what: &str, token: DiagramToken, clean: &CleanText) -> String {
    let found = match token.kind {
        DiagramTokenKind::End | DiagramTokenKind::Eof => "the end of the text".to_owned(),
        DiagramTokenKind::Newline | DiagramTokenKind::NoDir => "the end of the line".to_owned(),
        DiagramTokenKind::Space => "a space".to_owned(),
        _ => quoted(clean.text.get(token.start..).unwrap_or(""), token),
    };
    format!("Expected {what}, found {found}.")
}

fn quoted(rest: &str, token: DiagramToken) -> String {
    let bytes = (token.end - token.start).max(1);
    let rest = rest.trim_start_matches(is_space);
    let line = rest.lines().next().unwrap_or("");
    let mut shown: String = line
        .char_indices()
        .take_while(|(at, _)| *at < bytes)
        .map(|(_, c)| c)
        .take(FOUND_CHARS_MAX)
        .collect();
    if shown.is_empty() {
        shown = line.chars().take(1).collect();
    }
    format!("`{}`", shown.trim_end())
}

pub(crate) fn no_header(text: &str, span: Span) -> SpanProblem {
    let first = text.lines().next().unwrap_or("").trim();
    let word = first.split_whitespace().next().unwrap_or("");
    let lower = word.to_ascii_lowercase();
    let hint = if first.is_empty() {
        "begin with a header line such as `flowchart TD`".to_owned()
    } else if first.starts_with("---") {
        "front matter is `---` alone on the first line, YAML, and `---` alone on a line".to_owned()
    } else if word.starts_with("```") {
        "leave out the Markdown fence around the diagram".to_owned()
    } else if lower.starts_with("graph") || lower.starts_with("flowchart") {
        "write `graph` or `flowchart` in lower case, then a space and a direction".to_owned()
    } else if OTHERS.contains(&word) {
        format!("`{word}` is another kind of diagram; only flowcharts are read")
    } else {
        "begin with a header line such as `flowchart TD`".to_owned()
    };
    let message = "The text does not begin with `graph` or `flowchart`.";
    SpanProblem::new(ProblemKind::Header, message, span).hint(hint)
}

const OTHERS: [&str; 12] = [
    "sequenceDiagram",
    "classDiagram",
    "stateDiagram",
    "stateDiagram-v2",
    "erDiagram",
    "gantt",
    "pie",
    "journey",
    "gitGraph",
    "mindmap",
    "timeline",
    "swimlane-beta",
];

pub(crate) fn no_direction(rest: &str, span: Span) -> SpanProblem {
    let line = rest.lines().next().unwrap_or("").trim();
    let word: String = line.chars().take_while(|c| is_word(*c)).collect();
    let upper = word.to_ascii_uppercase();
    let message = "Expected a direction or a line break after `graph` or `flowchart`.";
    let fault = SpanProblem::new(ProblemKind::Header, message, span);
    if ["TD", "TB", "BT", "LR", "RL"].contains(&upper.as_str()) && word != upper {
        return fault.hint(format!("directions are upper case: `{upper}`"));
    }
    fault.hint("a direction is TD, TB, BT, LR or RL; statements begin on the next line")
}

/// Guesses what the writer of a misplaced token meant.
pub(crate) fn for_token(text: &str, token: DiagramToken) -> Option<String> {
    let rest = &text[token.start..];
    let line_start = text[..token.start].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[line_start..token.start];
    let mark = rest.trim_start();
    let known = [
        ("->", "a link has two dashes: `-->`"),
        ("=>", "a thick link has two equals signs: `==>`"),
        ("~~", "an invisible link has three waves: `~~~`"),
    ];
    for (wrong, hint) in known {
        if mark.starts_with(wrong) && !mark.starts_with("~~~") {
            return Some(hint.to_owned());
        }
    }
    if mark.starts_with("%%") && !before.trim().is_empty() {
        return Some("a comment needs a line of its own".to_owned());
    }
    let line = text[line_start..].trim_start();
    if line.starts_with("//") || line.starts_with('#') {
        return Some("a comment begins with `%%`".to_owned());
    }
    if let Some(word) = reserved(token.kind, mark) {
        return Some(word);
    }
    match token.kind {
        DiagramTokenKind::SquareOpen
        | DiagramTokenKind::ParenOpen
        | DiagramTokenKind::BraceOpen
            if before.ends_with(is_space) =>
        {
            Some("remove the space between the node's id and its bracket".to_owned())
        }
        DiagramTokenKind::Str | DiagramTokenKind::MdStr => {
            Some("a label goes into brackets: `id[\"label\"]`".to_owned())
        }
        DiagramTokenKind::Unknown => unknown(mark),
        kind if kind.is_id() && before.ends_with(is_space) => Some(
            "an id has no spaces: write `id[\"label with spaces\"]`, or a link between two nodes"
                .to_owned(),
        ),
        _ => None,
    }
}

fn reserved(kind: DiagramTokenKind, mark: &str) -> Option<String> {
    let word: String = mark.chars().take_while(|c| is_word(*c)).collect();
    match kind {
        DiagramTokenKind::EndWord => Some("`end` is reserved: as an id, write `End`".to_owned()),
        DiagramTokenKind::Graph
        | DiagramTokenKind::Subgraph
        | DiagramTokenKind::Style
        | DiagramTokenKind::LinkStyle
        | DiagramTokenKind::Interpolate
        | DiagramTokenKind::ClassDef
        | DiagramTokenKind::Class
        | DiagramTokenKind::LinkTarget => Some(format!("`{word}` is reserved: choose another id")),
        _ => None,
    }
}

fn unknown(mark: &str) -> Option<String> {
    let first = mark.chars().next()?;
    Some(match first {
        '“' | '”' | '„' | '«' | '»' => "use straight quotes: `\"`".to_owned(),
        '→' | '⟶' | '⇒' => "a link is written `-->`".to_owned(),
        ']' | ')' | '}' => format!("nothing is open here that `{first}` could close"),
        '#' => "an entity code is allowed in a label, not in an id".to_owned(),
        '=' => "an id has no `=`; a thick link is `==>`".to_owned(),
        c if c.is_ascii() => format!("an id cannot contain `{c}`: write `id[\"label\"]`"),
        c => format!("an id cannot contain `{c}`; a label can: `id[\"{c}\"]`"),
    })
}

/// Makes the fault of a label that is empty, or has something in it that needs quotes.
pub(crate) fn bad_text(
    from_open: &str,
    found: DiagramToken,
    span: Span,
    empty: bool,
) -> SpanProblem {
    let fault = |message: String| SpanProblem::new(ProblemKind::Syntax, message, span);
    if matches!(found.kind, DiagramTokenKind::Str | DiagramTokenKind::MdStr) {
        return fault("A label is either quoted as a whole or not at all.".to_owned())
            .hint("inside quotes, write `#quot;` for a quote");
    }
    if empty && found.kind != DiagramTokenKind::Unknown {
        return fault("The label is empty.".to_owned())
            .hint("write at least a space: `id[ ]`, or leave the brackets out");
    }
    let mark = from_open.chars().next().unwrap_or('[');
    fault("A bracket inside a label, or the wrong bracket at its end.".to_owned()).hint(format!(
        "put the label in quotes: `{mark}\"…\"`, and close what was opened"
    ))
}
