//! An error shows its place, a caret, and the correct form.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and reads its own fixtures"
)]

/// The report of a text that is no diagram.
fn report(source: &str) -> String {
    match mermaid::parse(source) {
        Ok(document) => panic!("accepted: {:?}", document.diagram()),
        Err(error) => error.report("x.mmd"),
    }
}

/// The first problem's place, and a part of its message or hint.
fn check(source: &str, line: usize, column: usize, part: &str) {
    let shown = report(source);
    assert!(
        shown.starts_with(&format!("x.mmd:{line}:{column}: ")),
        "{shown}"
    );
    assert!(shown.contains(part), "{shown}");
}

#[test]
fn a_problem_shows_its_line_and_a_caret() {
    let shown = report("graph TD\n  A[one] -> B\n");
    assert_eq!(
        shown,
        "x.mmd:2:10: Expected a link, `&`, `;` or the end of the line, found `-`.\n  |\n2 |   A[one] -> B\n  |          ^\n  = hint: a link has two dashes: `-->`\n"
    );
}

#[test]
fn several_problems_are_told_at_once() {
    let source = "graph TD\nA -> B\nC --> D\nE [x]\nend --> F\nG{a(b}\nH\n";
    let error = mermaid::parse(source).unwrap_err();
    let lines: Vec<usize> = error
        .problems()
        .iter()
        .map(|problem| problem.line)
        .collect();
    assert_eq!(lines, [2, 4, 5, 6], "{}", error.report("x.mmd"));
    assert!(error.to_string().ends_with("(and 3 more)"), "{error}");
}

#[test]
fn lines_are_counted_in_the_text_as_it_was_written() {
    check(
        "---\ntitle: x\n---\n%% c\n\n%%{init: {}}%%\ngraph TD\r\n%% c\r\nA{x}   \n\n\n  B => C",
        12,
        5,
        "`==>`",
    );
}

#[test]
fn the_commonest_mistakes_get_a_hint() {
    for (source, line, column, part) in [
        ("", 1, 1, "flowchart TD"),
        ("A-->B", 1, 1, "header line"),
        ("Graph TD\nA", 1, 1, "lower case"),
        ("sequenceDiagram\nA->>B: x", 1, 1, "another kind of diagram"),
        ("```mermaid\ngraph TD\n```", 1, 1, "Markdown fence"),
        ("graph td\nA", 1, 6, "upper case: `TD`"),
        ("graph TD A-->B", 1, 10, "line of its own"),
        ("graph TD\nA --> end", 2, 7, "`end` is reserved"),
        ("graph TD\nend", 2, 1, "closes nothing"),
        ("graph TD\nA --> class", 2, 7, "`class` is reserved"),
        ("graph TD\nA-->B %% note", 2, 7, "a line of its own"),
        ("graph TD\n# note\nA", 2, 3, "begins with `%%`"),
        ("graph TD\nA [x]", 2, 3, "remove the space"),
        ("graph TD\nA B", 2, 3, "no spaces"),
        ("graph TD\nA[f(x)]", 2, 4, "in quotes"),
        ("graph TD\nA[x \"y\"]", 2, 6, "quoted as a whole"),
        ("graph TD\nA[]", 2, 3, "empty"),
        ("graph TD\nA --> 😀", 2, 7, "`id[\"😀\"]`"),
        ("graph TD\nA → B", 2, 3, "`-->`"),
        ("graph TD\nA[“x”] --> B[“y”\n", 2, 13, "never closed"),
        ("graph TD\nA -- yes B\n", 2, 3, "never ends"),
        ("graph TD\nA x-- t --> B\n", 2, 2, "do not fit"),
        (
            "graph TD\nA@{ shape: dimond }",
            2,
            2,
            "did you mean `diamond`?",
        ),
        ("graph TD\nA@{ label: [ }", 2, 2, "YAML"),
        (
            "graph TD\nA@{ shape: hex\n  label: x\n}",
            2,
            2,
            "on a line of its own",
        ),
        ("graph TD\nA@{ label: !x }", 2, 2, "unknown tag `!x`"),
        ("graph TD\nA@{ w: 1, w: 2 }", 2, 2, "`w` is given twice"),
        ("graph TD\nA@{\n\tw: 1\n}", 2, 2, "a tab cannot indent"),
        ("graph TD\nA@{\n  : 1\n}", 2, 2, "no key before it"),
        (
            "graph TD\nA@{ label: \"x }\nB",
            2,
            2,
            "`@{` is never closed",
        ),
        ("graph TD\n-->B", 2, 1, "Expected a node"),
        ("\"\"graph TD\nA", 1, 3, "does not begin with `graph`"),
        (
            "graph TD\nA-->B\nlinkStyle 3 stroke:red",
            3,
            11,
            "counted from 0",
        ),
        ("graph TD\nsubgraph\nA\nend", 2, 9, "subgraph one [Title]"),
        ("---\ntitle: [x\n---\ngraph TD\nA", 1, 1, "front matter"),
        ("graph TD\nclass A, B hot", 2, 11, "`class A,B name`"),
    ] {
        check(source, line, column, part);
    }
}

#[test]
fn a_long_line_is_cut_around_the_caret() {
    let source = format!("graph TD\n{} -> B{}", "A".repeat(500), "C".repeat(500));
    let shown = report(&source);
    assert!(
        shown.lines().all(|line| line.chars().count() < 130),
        "{shown}"
    );
    let lines: Vec<&str> = shown.lines().collect();
    let caret = lines[3].find('^').unwrap();
    assert_eq!(
        lines[2].chars().nth(lines[3][..caret].chars().count()),
        Some('-'),
        "{shown}"
    );
}
