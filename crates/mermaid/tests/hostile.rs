//! Hostile texts: a clear error or a diagram, and soon.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, and reads its own fixtures"
)]

use std::time::{Duration, Instant};

/// Generous for a debug build on a busy machine: what is quadratic takes minutes.
const SECONDS_MAX: u64 = 20;

/// How long a run of one unit is.
const RUN_BYTES: usize = 60_000;

/// Everything that opens, closes, begins or ends something.
#[rustfmt::skip]
const UNITS: [&str; 95] = [
    "[", "(", "{", "\"", "`", "\"`", "|", ">", "<", "-", "=", ".", "~", "@", "#", "&", ";", ":",
    "%", "%%", "/", "\\", "\n", " ", "\n ", " \n", "x", "o", "A", "é", "😀", "end\n", "end ", "}",
    "]", ")", "A[", "A[[", "A(((", "A[\"", "A@{", "A@{ \"", "@{", "e@", "-- ", "== ", "-. ",
    "A-- x", "A -- ", "A-->|", "A-->|x", "%%{", "%%{a", "%%{init:", "}%%", "---\n", "--- \n", "<a",
    "<a b=\"", "<a b=\"c\">", "style a:#b;", "classDef a:#b;\n", "accTitle:", "accDescr{",
    "accDescr {\n", "click ", "click a ", "call ", "call a(", "direction ", "direction TB",
    "subgraph", "subgraph ", "subgraph a[", "linkStyle 0,", "a,", "#a", "#a;", "} \n", "}\n\n",
    "%% x\n", "\n%%\n", "A & ", "A-->B & ", "A:::b ", "A~~~", "~~ ", "x-- ", "A(-", "A(- ", "A[/",
    "A[/ ", "\u{2028}", "a@b ", "a@{b ",
];

#[test]
fn nested_subgraphs_are_refused_with_the_limit_named() {
    let source = format!("graph TD\n{}", "subgraph a\n".repeat(100_000));
    let error = check(&source).unwrap_err();
    assert!(error.contains("SUBGRAPH_DEPTH_MAX = 200"), "{error}");
}

#[test]
fn an_unfinished_chain_of_megabytes_is_refused() {
    let error = check(&format!("graph TD\n{}", "A-->".repeat(500_000))).unwrap_err();
    assert!(error.contains("EDGES_MAX = 100000"), "{error}");
    let error = check(&format!("graph TD\n{}", "A-->".repeat(50_000))).unwrap_err();
    assert!(error.contains("Expected a node"), "{error}");
}

#[test]
fn megabytes_of_statements_stay_below_a_limit() {
    let error = check(&format!("graph TD\n{}", "A-->B\n".repeat(200_000))).unwrap_err();
    assert!(error.contains("STATEMENTS_MAX = 100000"), "{error}");
    assert_eq!(error.matches("x.mmd").count(), 1, "{error}");
}

#[test]
fn a_product_of_many_nodes_is_refused_before_it_is_built() {
    let group = vec!["A"; 50_000].join(" & ");
    let error = check(&format!("graph TD\n{group} --> {group}")).unwrap_err();
    assert!(error.contains("EDGES_MAX"), "{error}");
}

#[test]
fn aliases_that_multiply_are_refused_with_the_limit_named() {
    let mut source = "graph TD\nA@{\n  a0: &a0 [x]\n".to_owned();
    for at in 1..30 {
        let list = vec![format!("*a{}", at - 1); 10].join(", ");
        source.push_str(&format!("  a{at}: &a{at} [{list}]\n"));
    }
    let error = check(&format!("{source}}}")).unwrap_err();
    assert!(error.contains("YAML_VALUES_MAX = 100000"), "{error}");
}

#[test]
fn data_that_nests_is_refused_with_the_limit_named() {
    let lists = "[".repeat(150) + &"]".repeat(150);
    let error = check(&format!("graph TD\nA@{{ a: {lists} }}")).unwrap_err();
    assert!(error.contains("YAML_DEPTH_MAX = 100"), "{error}");
    let source = format!("graph TD\nA@{{ a: {} }}", "[".repeat(100_000));
    assert!(check(&source).is_err());
}

#[test]
fn a_text_beyond_the_limit_is_not_read() {
    let error = check(&" ".repeat(mermaid::SOURCE_BYTES_MAX + 1)).unwrap_err();
    assert!(error.contains("SOURCE_BYTES_MAX"), "{error}");
}

#[test]
fn runs_of_one_character_end_soon() {
    for unit in UNITS {
        let count = RUN_BYTES / unit.len();
        for prefix in [
            "graph TD\n",
            "",
            "graph TD\nA[",
            "graph TD\nA -- ",
            "graph TD\nA[/",
            "graph TD\nA(-",
        ] {
            let _ = check(&format!("{prefix}{}", unit.repeat(count)));
        }
    }
}

#[test]
fn unclosed_things_say_where_they_were_opened() {
    for (source, place) in [
        ("graph TD\nA[never closed\nB-->C\n", (2, 2)),
        ("graph TD\nA --> B(\"never closed\nB-->C\n", (2, 8)),
        ("graph TD\nA -->|never closed\nB-->C\n", (2, 6)),
        ("graph TD\nsubgraph one\nA-->B\n", (2, 1)),
    ] {
        let error = mermaid::parse(source).unwrap_err();
        let problem = &error.problems()[0];
        assert_eq!(
            (problem.line, problem.column),
            place,
            "{}",
            error.report("x.mmd")
        );
    }
}

fn check(source: &str) -> Result<usize, String> {
    let start = Instant::now();
    let outcome = mermaid::parse(source);
    let taken = start.elapsed();
    let shown: String = source.chars().take(40).collect();
    assert!(
        taken < Duration::from_secs(SECONDS_MAX),
        "{taken:?} for {shown:?}"
    );
    match outcome {
        Ok(document) => Ok(document.diagram().nodes.len()),
        Err(error) => {
            let report = error.report("x.mmd");
            assert!(report.len() < 20_000, "a report of {} bytes", report.len());
            Err(report)
        }
    }
}
