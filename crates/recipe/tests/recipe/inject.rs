//! Injection into files of the project.

use crate::check::{Case, steps};
use recipe::RecipeErrorKind;

fn inject(attributes: &str, body: &str, target: &str) -> Case {
    steps("  - template: t\n")
        .template(
            "t.jig",
            &format!("---\nto: target\ninject: true\n{attributes}---\n{body}"),
        )
        .file("target", target)
}

#[track_caller]
fn check(attributes: &str, target: &str, expected: &str) {
    let ran = inject(attributes, "NEW {{ 1 + 1 }}\n", target).run();
    ran.done();
    assert_eq!(ran.text("target"), expected, "{attributes:?}");
    let dir = ran.into_dir();
    let again = steps("  - template: t\n").run_in(dir);
    again.done();
    assert_eq!(
        again.text("target"),
        expected,
        "injecting twice is injecting once"
    );
    assert_eq!(again.statuses(), "unchanged target");
}

#[test]
fn every_place_is_found() {
    check("before: b\n", "a\nb\nc\n", "a\nNEW 2\nb\nc\n");
    check("after: b\n", "a\nb\nc\n", "a\nb\nNEW 2\nc\n");
    check("after: '^c'\n", "a\nb\nc", "a\nb\nc\nNEW 2");
    check("after: 'a\\nb'\n", "a\nb\nc\n", "a\nb\nNEW 2\nc\n");
    check("before: 'b\\s+c'\n", "a\nb\n\nc\n", "a\nNEW 2\nb\n\nc\n");
    check("at_line: 0\n", "a\nb\n", "NEW 2\na\nb\n");
    check("at_line: 2\n", "a\nb\n", "a\nb\nNEW 2\n");
    check("prepend: true\n", "a\n", "NEW 2\na\n");
    check("append: true\n", "a\n", "a\nNEW 2\n");
    check("append: true\n", "a", "a\nNEW 2");
    check("append: true\n", "", "NEW 2\n");
    check("after: b\n", "a\r\nb\r\nc\r\n", "a\r\nb\r\nNEW 2\r\nc\r\n");
    check("after: (?<=x)b\n", "ab\nxb\n", "ab\nxb\nNEW 2\n");
}

#[test]
fn several_injections_into_one_file_all_arrive() {
    let case = || {
        steps("  - template: t\n    forEach: ['one', 'two']\n  - template: u\n")
            .template(
                "t.jig",
                "---\nto: target\ninject: true\nafter: // routes\n---\nadd {{ item }}\n",
            )
            .template(
                "u.jig",
                "---\nto: target\ninject: true\nbefore: '// end'\n---\nlast\n",
            )
            .file("target", "// routes\n// end\n")
    };
    let ran = case().run();
    let expected = "// routes\nadd two\nadd one\nlast\n// end\n";
    ran.assert_files(&[("target", expected)]);
    let again = case().run_in(ran.into_dir());
    again.assert_files(&[("target", expected)]);
}

#[test]
fn skip_if_looks_into_the_target() {
    let ran = inject(
        "after: a\nskip_if: 'import .* from'\n",
        "x\n",
        "a\nimport b from c\n",
    )
    .run();
    assert_eq!(ran.statuses(), "skipped target");
    let ran = inject("after: a\nskip_if: 'import .* from'\n", "x\n", "a\n").run();
    ran.assert_files(&[("target", "a\nx\n")]);
}

#[test]
fn no_place_is_an_error_with_the_place_that_named_it() {
    for (attributes, expected) in [
        (
            "after: nowhere\n",
            "t.jig:4:8: `target` has no line that matches `nowhere`",
        ),
        (
            "before: '^nowhere$'\n",
            "t.jig:4:9: `target` has no line that matches",
        ),
        ("at_line: 9\n", "`target` has 1 lines, and `at_line` is 9"),
    ] {
        let ran = inject(attributes, "x\n", "a\n").run();
        let error = ran.failed();
        assert_eq!(error.kind(), RecipeErrorKind::Inject);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let ran = steps("  - template: t\n")
        .template(
            "t.jig",
            "---\nto: none\ninject: true\nappend: true\n---\nx\n",
        )
        .run();
    assert!(
        ran.failed()
            .to_string()
            .contains("there is no `none` to inject into")
    );
}
