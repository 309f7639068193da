//! Files that exist: identical, different, forced, skipped, asked about.

use crate::check::{Case, Person, steps};
use recipe::{
    ConflictDecision, FileStatus, OnConflict, RecipeErrorKind, RecipeRunMode, RecipeRunOutcome,
};

fn case() -> Case {
    steps("  - template: [a, b, c]\n  - command: touch ran\n")
        .template("a.jig", "---\nto: a\n---\nnew a\n")
        .template("b.jig", "---\nto: b\n---\nnew b\n")
        .template("c.jig", "---\nto: c\n---\nsame\n")
        .file("a", "old a\n")
        .file("b", "old b\n")
        .file("c", "same\n")
}

#[test]
fn without_a_person_all_conflicts_are_listed_and_nothing_is_done() {
    for policy in [OnConflict::Ask, OnConflict::Fail] {
        let ran = case().with(|request| request.conflicts = policy).run();
        ran.is_untouched();
        let Ok(RecipeRunOutcome::Conflicts(conflicts)) = &ran.outcome else {
            panic!("{:?}", ran.outcome)
        };
        let paths: Vec<&str> = conflicts
            .iter()
            .map(|conflict| conflict.path.as_str())
            .collect();
        assert_eq!(paths, ["a", "b"]);
        assert!(
            conflicts[0].diff.contains("-old a\n+new a\n"),
            "{}",
            conflicts[0].diff
        );
    }
}

#[test]
fn force_overwrites_and_skip_keeps() {
    let ran = case()
        .with(|request| request.conflicts = OnConflict::Force)
        .run();
    assert_eq!(ran.statuses(), "forced a, forced b, unchanged c");
    assert_eq!(ran.text("a"), "new a\n");
    let ran = case()
        .with(|request| request.conflicts = OnConflict::Skip)
        .run();
    assert_eq!(ran.statuses(), "skipped a, skipped b, unchanged c");
    assert_eq!(ran.text("a"), "old a\n");
    assert!(ran.exists("ran"));
}

#[test]
fn a_person_decides_or_stops() {
    let person = |decision| Person {
        decision: Some(decision),
        ..Person::default()
    };
    let ran = case().person(person(ConflictDecision::Overwrite)).run();
    assert_eq!(ran.text("b"), "new b\n");
    let ran = case().person(person(ConflictDecision::Skip)).run();
    assert_eq!(ran.text("b"), "old b\n");
    let ran = case().person(person(ConflictDecision::Abort)).run();
    assert_eq!(ran.failed().kind(), RecipeErrorKind::Aborted);
}

#[test]
fn a_skipped_file_is_still_what_later_steps_inject_into() {
    let ran = steps("  - template: [a, b]\n")
        .template("a.jig", "---\nto: a\n---\nnew\n")
        .template(
            "b.jig",
            "---\nto: a\ninject: true\nappend: true\n---\nadded\n",
        )
        .file("a", "old\n")
        .with(|request| request.conflicts = OnConflict::Skip)
        .run();
    ran.assert_files(&[("a", "old\nadded\n")]);
}

#[test]
fn frontmatter_can_force_and_line_ends_are_no_difference() {
    let ran = steps("  - template: [a, b]\n")
        .template("a.jig", "---\nto: a\nforce: true\n---\nx\ny\n")
        .template("b.jig", "---\nto: b\n---\nx\ny\n")
        .file("a", "1\r\n2\r\n")
        .file("b", "x\r\ny\r\n")
        .run();
    ran.assert_files(&[("a", "x\r\ny\r\n"), ("b", "x\r\ny\r\n")]);
    assert_eq!(ran.statuses(), "forced a, unchanged b");
}

#[test]
fn a_dry_run_shows_conflicts() {
    let ran = case()
        .with(|request| request.mode = RecipeRunMode::DryRun)
        .run();
    let plan = ran.shown();
    assert_eq!(plan.conflicts.len(), 2);
    assert_eq!(plan.files[0].status, FileStatus::Conflict);
    assert!(plan.files[0].diff.contains("+new a"));
}

#[test]
fn two_templates_for_one_file_are_a_mistake() {
    let ran = steps("  - name: one\n    template: a\n  - name: two\n    template: b\n")
        .template("a.jig", "---\nto: x\n---\na\n")
        .template("b.jig", "---\nto: x\n---\nb\n")
        .run();
    let text = ran.failed().to_string();
    assert!(text.contains("step `one` and step `two`"), "{text}");
}
