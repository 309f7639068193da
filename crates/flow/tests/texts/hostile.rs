//! Texts that were damaged: nothing panics, and every problem is inside of its text.

use flow::{CheckSurroundings, parse};

use crate::{SEED, found};

/// Pieces that mean something to the grammar, the config block or the expressions.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "%%",
    "%% ",
    "\n",
    "\r\n",
    "-->|",
    "|",
    "{{",
    "}}",
    "@A:",
    "&",
    "~~~",
    "subgraph S\n",
    "end\n",
    "\\u00e4",
    "\\",
    "é",
    "\u{1f9f5}",
    "Join ",
    "=== END_CONFIG ===",
];

/// Chance from a seed.
fn next(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap()
}

#[test]
fn damaged_texts_are_read_or_refused_with_places_inside() {
    let starts: Vec<usize> = SEED.char_indices().map(|(at, _)| at).collect();
    let mut state = 1;
    for round in 0..1_500 {
        let mut text = SEED.to_owned();
        for _ in 0..=next(&mut state) % 3 {
            let from = starts[next(&mut state) % starts.len()].min(text.len());
            let upto = (from + next(&mut state) % 12).min(text.len());
            let whole = |at: usize| text.is_char_boundary(at);
            if !whole(from) || !whole(upto) {
                continue;
            }
            let piece = PIECES[next(&mut state) % PIECES.len()];
            text.replace_range(from..upto, piece);
        }
        for problem in found(&text) {
            let line = text.lines().nth(problem.line - 1).unwrap_or("");
            let lines = text.matches('\n').count() + 1;
            assert!(problem.line <= lines, "{round}\n{text}");
            assert!(
                problem.column <= line.chars().count() + 1,
                "{round}: {problem:?}\n{text}"
            );
            let excerpt = problem.excerpt(&text);
            assert!(
                excerpt.caret <= excerpt.text.chars().count(),
                "{round}: {problem:?}"
            );
            assert!(!problem.report("w", &text).is_empty());
        }
        if let Ok(workflow) = parse(&text) {
            let _ = flow::check(&workflow, &CheckSurroundings::default());
            assert_eq!(workflow.source(), text);
        }
    }
}
