//! The files that fit a budget: the most important ones, in whole lines, always the same.

use diagnostics::tokens_of_bytes;
use index::{IndexFocus, SourceIndex};

use crate::project::{index, lines, path};

/// A project in which everything imports `base`, half of it `half`, and nothing the rest.
fn project() -> SourceIndex {
    let mut files = vec![
        (
            "src/base.ts".to_owned(),
            "export const base = 1;".to_owned(),
        ),
        (
            "src/half.ts".to_owned(),
            "export const half = 1;".to_owned(),
        ),
        (
            "src/login/limit.ts".to_owned(),
            "export class RateLimiter {}".to_owned(),
        ),
        ("README.md".to_owned(), "# Title\n".to_owned()),
    ];
    for n in 0..40 {
        let half = if n % 2 == 0 { "import '../half';" } else { "" };
        let text = format!("import '../base'; {half}\nexport const part{n} = {n};\n");
        files.push((format!("src/parts/part{n}.ts"), text));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    index(&files)
}

#[track_caller]
fn check(budget: usize, focus: &IndexFocus, expected: &[&str]) {
    let index = project();
    let text = index.render(Some(budget), focus);
    assert!(tokens_of_bytes(text.len()) <= budget, "{text}");
    let shown: Vec<&str> = text.lines().collect();
    assert_eq!(shown, expected);
}

#[test]
fn files_with_many_importers_come_first_and_are_shown_in_tree_order() {
    check(
        30,
        &IndexFocus::default(),
        &[
            "src/base.ts | base | 1 line",
            "src/half.ts | half | 1 line",
            "… 42 more files left out",
        ],
    );
}

#[test]
fn words_and_files_in_focus_come_before_importance() {
    let focus = IndexFocus::on("add rate limits to the login");
    check(
        30,
        &focus,
        &[
            "src/base.ts | base | 1 line",
            "src/login/limit.ts | RateLimiter | 1 line",
            "… 42 more files left out",
        ],
    );
    let focus = IndexFocus {
        paths: vec![path("src/parts/part8.ts")],
        ..IndexFocus::default()
    };
    check(
        40,
        &focus,
        &[
            "src/base.ts | base | 1 line",
            "src/half.ts | half | 1 line",
            "src/parts/part8.ts | part8 | 2 lines",
            "… 41 more files left out",
        ],
    );
}

#[test]
fn a_folder_can_be_all_that_is_shown() {
    let focus = IndexFocus {
        within: path("src/login"),
        ..IndexFocus::default()
    };
    check(100, &focus, &["src/login/limit.ts | RateLimiter | 1 line"]);
    let all = project().render(None, &focus);
    assert_eq!(all, "src/login/limit.ts | RateLimiter | 1 line\n");
}

#[test]
fn any_budget_is_kept_and_more_of_it_shows_no_less() {
    let index = project();
    let mut before = 0;
    for budget in 1..1_200 {
        let selection = index.select(Some(budget), &IndexFocus::default());
        let text = selection.to_string();
        let shown = selection.shown.len();
        assert!(
            shown == 0 || tokens_of_bytes(text.len()) <= budget,
            "{budget}: {text}"
        );
        assert!(shown >= before, "{budget}");
        assert_eq!(shown + selection.left_out, index.files().len());
        before = shown;
    }
    assert_eq!(before, index.files().len());
    assert_eq!(
        index
            .render(Some(100_000), &IndexFocus::default())
            .lines()
            .count(),
        lines(&index).len()
    );
}

#[test]
fn a_long_list_of_names_does_not_eat_the_budget() {
    let names: String = (0..500)
        .map(|n| format!("export const name{n} = {n};\n"))
        .collect();
    let index = index(&[
        ("a.ts", &names),
        ("b.ts", "import './a'; export const b = 1;"),
    ]);
    let text = index.render(Some(100), &IndexFocus::default());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("a.ts | name0, name1, "), "{text}");
    assert!(lines[0].ends_with(" more | 500 lines"), "{text}");
    assert_eq!(lines[1], "b.ts | b | 1 line");
}

#[test]
fn the_same_project_gives_the_same_text() {
    let first = project().render(Some(300), &IndexFocus::on("part base"));
    for _ in 0..5 {
        assert_eq!(
            project().render(Some(300), &IndexFocus::on("part base")),
            first
        );
    }
}
