//! Every bad input is reported with file, line, excerpt and a hint; the reports are snapshots.

use crate::check::{Case, recipe, steps};
use serde_json::json;

/// What a case reports, whether it fails while loading or while running.
#[track_caller]
fn check(name: &str, case: Case) {
    let ran = case.run();
    let report = ran
        .failed()
        .report()
        .replace(&ran.path().display().to_string(), "<project>");
    insta::assert_snapshot!(name, report);
}

#[test]
fn manifests() {
    check(
        "broken_yaml",
        recipe("name: it\nsteps:\n  - name: a\n     command: b\n"),
    );
    check(
        "unquoted_mustache",
        recipe("name: it\nsteps:\n  - command: {{ name }} --x\n"),
    );
    check("not_a_map", recipe("- a\n"));
    check("empty", recipe(""));
    check(
        "everything_wrong_at_once",
        recipe(
            "nmae: it\nversion: [1]\nhooks: {}\nvariables:\n  1st: {}\n  size: { type: nubmer }\n  color: { type: enum }\n  n: { type: number, requird: true, min: 3, max: 1 }\n  r: { required: true, default: x }\n  p: { position: 0 }\n  q: { position: 0 }\nsteps:\n  - name: a\n    comand: x\n  - name: b\n    tool: templat\n    template: t\n  - name: c\n    command: x\n    dependson: [b]\n    timeout: soon\n    retries: -1\n  - name: c\n    tool: ai\n    prompt: x\n  - command: [a]\n  - template: t\n    when: [x]\n",
        ),
    );
    check(
        "two_steps_of_one_name",
        steps("  - name: a\n    command: x\n  - name: a\n    command: y\n"),
    );
    check(
        "cyclic_dependencies",
        steps(
            "  - name: a\n    command: x\n    dependsOn: [c]\n  - name: b\n    command: y\n    dependsOn: [a]\n  - name: c\n    command: z\n    dependsOn: b\n",
        ),
    );
    check(
        "unknown_dependency",
        steps(
            "  - name: build\n    command: x\n  - name: b\n    command: y\n    dependsOn: [biuld]\n",
        ),
    );
    check("no_steps", recipe("name: it\nsteps: []\n"));
    check(
        "as_without_for_each",
        steps("  - command: x\n    as: item\n    parallel: maybe\n"),
    );
}

#[test]
fn questions() {
    check(
        "everything_wrong_with_a_question",
        steps(
            "  - name: a\n    tool: ai\n    promt: x\n  - name: b\n    prompt: x\n    model: gpt\n    type: jsn\n    key: k\n    output: { key: l, tpye: text }\n  - name: c\n    prompt: x\n    context: { fromSteps: [a], overflow: summarize, projectConfig: [tsconfg] }\n    guardrails: { syntax: typescrpt, allowedImports: [a], onFailure: retry, minLength: 9, maxLength: 1 }\n  - name: d\n    prompt: x\n    type: select\n    after: y\n  - name: e\n    prompt: x\n    promptFile: y\n    from: [1]\n    examples: [{ input: y }]\n    variable: 1st\n",
        ),
    );
}

#[test]
fn templates() {
    check(
        "missing_template",
        steps("  - template: pgae\n").template("page.jig", ""),
    );
    check("no_templates_at_all", steps("  - template: page\n"));
    check(
        "unknown_frontmatter_key",
        steps("  - template: t\n").template("t.jig", "---\nto: a\nunless_exist: true\n---\nx\n"),
    );
    check(
        "broken_frontmatter",
        steps("  - template: t\n").template("t.jig", "---\nto: a\n  force: true\n---\nx\n"),
    );
    check(
        "broken_body",
        steps("  - template: t\n").template("t.jig", "---\nto: a\n---\none\n@if(x\ntwo\n@end\n"),
    );
    check(
        "failing_expression",
        steps("  - template: t\n").template("t.jig", "---\nto: a\n---\n{{ null.x }}\n"),
    );
    check(
        "failing_condition",
        steps("  - template: t\n    when: nothing.there\n").template("t.jig", ""),
    );
    check(
        "broken_condition",
        steps("  - template: t\n    when: 'a ==='\n").template("t.jig", ""),
    );
    check(
        "for_each_of_a_number",
        steps("  - template: t\n    forEach: 1 + 1\n").template("t.jig", ""),
    );
    check(
        "broken_default",
        recipe(
            "name: it\nvariables:\n  n: { type: number, default: many }\nsteps:\n  - command: x\n",
        ),
    );
    check(
        "partial_missing",
        steps("  - template: t\n").template("t.jig", "---\nto: a\n---\n@include('none')\n"),
    );
}

#[test]
fn paths() {
    let to = |to: &str| {
        steps("  - template: t\n")
            .template("t.jig", &format!("---\nforce: true\nto: {to}\n---\nx\n"))
    };
    check("to_leaves_by_dots", to("../outside.txt"));
    check("to_is_absolute", to("/etc/passwd"));
    check("to_in_git", to(".git/hooks/pre-commit"));
    check("to_is_a_directory", to("src").file("src/a", ""));
    check(
        "patch_leaves",
        steps("  - file: ../a.json\n    merge: { a: 1 }\n"),
    );
    check("directory_leaves", steps("  - paths: [a, b/../../c]\n"));
}

#[test]
fn a_symlink_that_leaves_the_project_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
    crate::check::write(
        dir.path(),
        ".drawloom/recipes/it/recipe.yml",
        "name: it\nsteps:\n  - template: t\n",
    );
    crate::check::write(
        dir.path(),
        ".drawloom/recipes/it/t.jig",
        "---\nto: link/x\n---\nx\n",
    );
    let ran = steps("").run_in(dir);
    let report = ran
        .failed()
        .report()
        .replace(&outside.path().display().to_string(), "<outside>");
    insta::assert_snapshot!("symlink_leaves", report);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn answers() {
    let asking = || {
        steps("  - template: t\n").template(
            "t.jig",
            "@ai('fields')\n@prompt()\nWhich?\n@end\n@output({ type: 'pick', from: ['a', 'b'] })\n@end\n@end\n@ai('yes')\n@prompt()\nReally?\n@end\n@output({ type: 'boolean' })\n@end\n@end\n",
        )
    };
    check(
        "answers_of_wrong_types",
        asking().answers(json!({ "fields": ["a", "c"], "yes": "maybe" })),
    );
    check(
        "answers_nobody_asked_for",
        asking().answers(json!({ "fields": ["a"], "yes": true, "feilds": 1 })),
    );
    check(
        "answers_to_an_old_request",
        asking().answers(json!({ "$request": "0123456789ab", "fields": ["a"], "yes": true })),
    );
}

#[test]
fn kits_are_checked_like_recipes() {
    let error =
        recipe::kits::parse_kit("kit.yml", "name: k\ncookboks: [a]\nhelpers: x\n").unwrap_err();
    insta::assert_snapshot!("kit", error.report());
}

#[test]
fn validate_reports_everything_without_running() {
    let ran = steps(
        "  - template: [a, b, none]\n  - template: c\n    when: 'x ==='\n  - recipe: nobody\n",
    )
    .template("a.jig", "---\nfroce: true\n---\n")
    .template("b.jig", "@if(\n")
    .template("c.jig", "{{ fine }}\n")
    .run();
    let root = workspace::Root::open(ran.path()).unwrap();
    let path = ran.path().join(".drawloom/recipes/it");
    let error = recipe::validate(&path, &root).unwrap_err();
    insta::assert_snapshot!("validate", error.report());
}
