//! `query`, `patch`, `ensure-dirs`, `install`: what they find and what they leave.

use crate::check::steps;
use recipe::{FileStatus, RecipeErrorKind, RecipeRunMode};

#[test]
fn query_reads_values_and_exports_them() {
    let ran = steps(
        "  - file: package.json\n    checks:\n      - { path: dependencies.react, export: react, exportExists: hasReact }\n      - { path: nope, exportExists: hasNope }\n\
         \x20 - name: q\n    tool: query\n    file: c.toml\n    expression: data.a.b.length\n    exports: { n: result.value }\n\
         \x20 - name: none\n    tool: query\n    file: none.yml\n    exports: { there: result.exists }\n\
         \x20 - template: t\n",
    )
    .file("package.json", "{ /* c */ \"dependencies\": { \"react\": \"19\" } }")
    .file("c.toml", "[a]\nb = [1, 2]\n")
    .template("t.jig", "{{ react }} {{ hasReact }} {{ hasNope }} {{ n }} {{ there }}\n")
    .run();
    ran.assert_files(&[("t", "19 true false 2 false\n")]);
}

#[test]
fn patch_merges_with_templates_and_keeps_comments() {
    let ran = steps(
        "  - file: tsconfig.json\n    merge: { compilerOptions: { 'strict': true, paths: '{{ [\"x\"] }}' } }\n\
         \x20 - name: y\n    file: a.yml\n    merge: { name: 'n-{{ 1 }}' }\n\
         \x20 - name: t\n    file: new.toml\n    merge: { a: { b: 1 } }\n\
         \x20 - name: again\n    file: a.yml\n    merge: { more: 2 }\n",
    )
    .file("tsconfig.json", "{\n  // keep\n  \"compilerOptions\": {}\n}\n")
    .file("a.yml", "# top\nname: x # why\n")
    .run();
    ran.assert_files(&[
        ("a.yml", "# top\nname: n-1 # why\nmore: 2\n"),
        ("new.toml", "[a]\nb = 1\n"),
    ]);
    let json = ran.text("tsconfig.json");
    assert!(
        json.contains("// keep") && json.contains("\"strict\": true"),
        "{json}"
    );
    assert_eq!(
        ran.statuses(),
        "modified tsconfig.json, modified a.yml, created new.toml"
    );
}

#[test]
fn patch_can_delete_and_append() {
    let ran = steps(
        "  - file: a.json\n    merge: { old: { $delete: true }, list: { $append: [b, c] } }\n",
    )
    .file(
        "a.json",
        "{\n  \"old\": 1,\n  \"list\": [\"a\", \"b\"]\n}\n",
    )
    .run();
    ran.done();
    let json: serde_json::Value = serde_json::from_str(&ran.text("a.json")).unwrap();
    assert_eq!(json, serde_json::json!({ "list": ["a", "b", "c"] }));
}

#[test]
fn a_broken_data_file_is_shown_at_its_place() {
    for tool in ["merge: { a: 1 }", "expression: data"] {
        let ran = steps(&format!("  - file: a.toml\n    {tool}\n"))
            .file("a.toml", "ok = 1\nbad =\n")
            .run();
        let found = &ran.failed().diagnostics()[0];
        assert_eq!(found.file.as_deref(), Some("a.toml"), "{found:?}");
        assert_eq!(found.place.unwrap().line, 2);
    }
}

#[test]
fn patch_can_insist_on_a_file() {
    let ran = steps("  - file: a.json\n    merge: { a: 1 }\n    createIfMissing: false\n").run();
    assert_eq!(ran.failed().kind(), RecipeErrorKind::NotFound);
}

#[test]
fn ensure_dirs_makes_what_is_missing() {
    let ran = steps("  - paths: [a/b, 'c-{{ 1 }}', there]\n")
        .file("there/x", "")
        .run();
    ran.done();
    assert!(ran.path().join("a/b").is_dir() && ran.path().join("c-1").is_dir());
    let made: Vec<String> = ran
        .done()
        .directories
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(made, ["a/b", "c-1"]);
    let ran = steps("  - paths: [there]\n").file("there", "a file").run();
    assert_eq!(ran.failed().kind(), RecipeErrorKind::Path);
}

#[test]
fn install_knows_the_package_manager_by_its_traces() {
    for (files, dev, expected) in [
        (&["package.json"][..], false, "npm install a b"),
        (
            &["package.json", "pnpm-lock.yaml"],
            true,
            "pnpm add --save-dev a b",
        ),
        (&["package.json", "yarn.lock"], false, "yarn add a b"),
        (&["bun.lock"], true, "bun add --dev a b"),
        (&["Cargo.toml"], true, "cargo add --dev a b"),
        (&["pyproject.toml"], false, "uv add a b"),
    ] {
        let mut case = steps(&format!("  - packages: [a, b]\n    dev: {dev}\n"))
            .with(|request| request.mode = RecipeRunMode::DryRun);
        for file in files {
            case = case.file(file, "");
        }
        let ran = case.run();
        assert_eq!(ran.shown().commands[0].command, expected);
    }
    let ran = steps("  - packages: [a]\n").run();
    assert!(
        ran.failed().to_string().contains("packageManager"),
        "{}",
        ran.failed()
    );
    let ran = steps("  - packages: ['--global']\n    packageManager: npm\n").run();
    assert!(ran.failed().to_string().contains("is an option"));
}

#[test]
fn patch_sees_what_earlier_steps_write() {
    let ran = steps("  - template: a.json\n  - file: a.json\n    merge: { b: 2 }\n")
        .template("a.json.jig", "{ \"a\": 1 }\n")
        .run();
    let json: serde_json::Value = serde_json::from_str(&ran.text("a.json")).unwrap();
    assert_eq!(json, serde_json::json!({ "a": 1, "b": 2 }));
    assert_eq!(ran.done().files[0].status, FileStatus::Created);
}
