//! What steps hand to later steps, and commands that must run before deciding goes on.

use crate::check::steps;
use recipe::{RecipeErrorKind, RecipeRunMode};
use serde_json::json;

const VERSION: &str = "  - name: ask
    command: echo 1.2.3
    exports: { version: result.stdout.trim(), code: result.exitCode }
  - name: use
    template: use
";

#[test]
fn a_command_can_decide_what_a_template_says() {
    let ran = steps(VERSION)
        .template("use.jig", "{{ version }} {{ code + 1 }}\n")
        .run();
    ran.assert_files(&[("use", "1.2.3 1\n")]);
}

#[test]
fn files_before_a_needed_command_are_there_for_it() {
    let ran = steps("  - template: a\n  - name: ask\n    command: wc -c < a\n    exports: { size: 'Number(result.stdout)' }\n  - template: b\n    when: size > 3\n")
        .template("a.jig", "12345\n")
        .template("b.jig", "{{ size }}\n")
        .run();
    ran.assert_files(&[("a", "12345\n"), ("b", "6\n")]);
}

#[test]
fn a_failure_after_a_needed_command_still_puts_files_back() {
    let ran = steps("  - template: a\n  - name: ask\n    command: echo x\n    exports: { x: result.stdout }\n  - template: b\n  - command: exit 1\n")
        .template("a.jig", "a\n")
        .template("b.jig", "{{ x }}\n")
        .run();
    assert_eq!(ran.failed().kind(), RecipeErrorKind::Command);
    let ran = steps("  - template: a\n  - name: ask\n    command: echo x\n    exports: { x: result.stdout }\n  - template: missing\n    when: x\n")
        .template("a.jig", "a\n")
        .run();
    assert_eq!(ran.failed().kind(), RecipeErrorKind::NotFound);
}

#[test]
fn nothing_runs_in_the_first_pass_or_in_a_dry_run() {
    let case = || {
        steps("  - name: ask\n    command: touch ran; echo yes\n    exports: { go: result.stdout.trim() }\n  - template: a\n    when: go === 'yes'\n")
            .template("a.jig", "---\nto: a\n---\n@ai('k')\n@prompt()\nAbout {{ go }}?\n@end\n@end\n")
    };
    let ran = case().run();
    ran.is_untouched();
    let document = &ran.needed().document;
    assert!(
        document.contains("<go, known once `ask` has run>"),
        "{document}"
    );
    let ran = case()
        .with(|r| r.mode = RecipeRunMode::DryRun)
        .answers(json!({ "k": "v" }))
        .run();
    ran.is_untouched();
    assert!(ran.shown().files[0].provisional);
    let ran = case().answers(json!({ "k": "v" })).run();
    ran.assert_files(&[("a", "v\n")]);
}

#[test]
fn exports_in_parallel_are_there_after_the_group() {
    let ran = steps("  - parallel:\n      - { name: a, command: echo A, exports: { a: result.stdout.trim() } }\n      - { name: b, command: echo B, exports: { b: result.stdout.trim() } }\n  - template: both\n")
        .template("both.jig", "{{ a }}{{ b }}\n")
        .run();
    ran.assert_files(&[("both", "AB\n")]);
}

#[test]
fn exports_for_each_item_make_a_list() {
    let ran = steps("  - name: sizes\n    command: echo {{ item }}{{ item }}\n    forEach: ['a', 'b']\n    exports: { twice: result.stdout.trim() }\n  - template: t\n")
        .template("t.jig", "{{ twice.join('-') }}\n")
        .run();
    ran.assert_files(&[("t", "aa-bb\n")]);
}

#[test]
fn results_of_other_tools_and_provided_values_are_exported_at_once() {
    let ran = steps("  - name: one\n    template: one\n    exports: { made: result.files.length, text: 'n={{ result.files.length }}' }\n  - template: two\n")
        .template("one.jig", "{{ provide('color', ['red']) }}x\n")
        .template("two.jig", "{{ made + 1 }} {{ text }} {{ color[0] }}\n")
        .run();
    ran.assert_files(&[("two", "2 n=1 red\n")]);
}

#[test]
fn an_action_reads_and_writes_json() {
    let script = "#!/bin/sh\ninput=$(cat)\ncase \"$input\" in *'\"who\":\"me\"'*) ;; *) exit 9;; esac\necho talking >&2\ncat <<'END'\n{\"exports\": {\"n\": 7}, \"files\": {\"made/x\": \"from action\\n\"}}\nEND\n";
    let ran = steps("  - name: act\n    action: [sh, .drawloom/recipes/it/act.sh]\n    parameters: { who: 'm{{ \"e\" }}' }\n    exports: { n: result.exports.n }\n  - template: t\n")
        .file(".drawloom/recipes/it/act.sh", script)
        .template("t.jig", "{{ n + 1 }}\n")
        .run();
    ran.assert_files(&[("t", "8\n"), ("made/x", "from action\n")]);
    let bad = steps("  - name: act\n    action: echo no json\n").run();
    assert!(
        bad.failed().to_string().contains("printed no JSON"),
        "{}",
        bad.failed()
    );
    let escaping =
        steps("  - name: act\n    action: ['echo', '{\"files\": {\"../x\": \"\"}}']\n").run();
    assert_eq!(escaping.failed().kind(), RecipeErrorKind::Path);
}
