//! Planted violations: each case is a small tree with one fault, and the findings it must bring.
// tidy: allow machine-path, because the faults planted here are quoted in full

use std::path::Path;

use super::check;

const LIB: &str = "//! Evaluates the one expression language.\n";
const MAP: &str = "# Map\n\nSee `crates/expr`.\n";

/// A tree without faults, overlaid with `planted`, must bring just the findings that start as expected.
#[track_caller]
fn check_tree(planted: &[(&str, &str)], expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let sound = [
        ("ARCHITECTURE.md", MAP),
        ("crates/expr/Cargo.toml", "[package]\nname = \"expr\"\n"),
        ("crates/expr/src/lib.rs", LIB),
    ];
    for (path, text) in sound.iter().chain(planted) {
        write(&folder.path().join(path), text);
    }
    let findings: Vec<String> = check(folder.path())
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(findings.len(), expected.len(), "{findings:#?}");
    for (finding, expected) in findings.iter().zip(expected) {
        assert!(
            finding.starts_with(expected),
            "expected {expected}\n   found {finding}"
        );
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\n\n{rest}")
}

fn source(rest: &str) -> String {
    format!("{LIB}\n{rest}")
}

/// A function with `lines` lines of code between its braces, and as many comments.
fn function(lines: usize) -> String {
    let body = "    // said for the reader\n    call();\n".repeat(lines);
    format!("fn long() {{\n{body}}}\n")
}

#[test]
fn this_repository_is_tidy() {
    let findings = check(&crate::workspace_root().unwrap()).unwrap();
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}

#[test]
fn a_sound_tree_has_no_findings() {
    check_tree(&[], &[]);
}

#[test]
fn an_arrow_that_points_up_is_found() {
    let text = manifest(
        "prompt",
        "[dependencies]\nserde = \"1\"\nexpr.workspace = true\n",
    );
    check_tree(
        &[("crates/prompt/Cargo.toml", &text)],
        &[
            "crates/prompt/Cargo.toml:6: arrow: `prompt` may not use `expr` (it may use nothing of ours)",
        ],
    );
}

#[test]
fn an_arrow_is_found_under_another_name_and_for_one_target() {
    let text = manifest(
        "flow",
        "[target.'cfg(unix)'.dependencies]\ndoor = { package = \"exec\", version = \"1\" }\n",
    );
    check_tree(
        &[("crates/flow/Cargo.toml", &text)],
        &["crates/flow/Cargo.toml:1: arrow: `flow` may not use `exec`"],
    );
}

#[test]
fn the_products_may_not_use_each_other() {
    let text = manifest("recipe", "[dependencies]\nflow.workspace = true\n");
    check_tree(
        &[("crates/recipe/Cargo.toml", &text)],
        &["crates/recipe/Cargo.toml:5: arrow: `recipe` may not use `flow`"],
    );
}

#[test]
fn an_allowed_arrow_and_a_dev_dependency_are_not_found() {
    let text = manifest(
        "template",
        "[dependencies]\nexpr.workspace = true\n\n[dev-dependencies]\nrecipe.workspace = true\n",
    );
    check_tree(&[("crates/template/Cargo.toml", &text)], &[]);
}

#[test]
fn testkit_is_for_tests_and_no_crate_uses_xtask() {
    let text = manifest(
        "exec",
        "[dependencies]\ntestkit.workspace = true\n\n[dev-dependencies]\nxtask.workspace = true\n",
    );
    check_tree(
        &[("crates/exec/Cargo.toml", &text)],
        &[
            "crates/exec/Cargo.toml:5: arrow: move `testkit` to [dev-dependencies]",
            "crates/exec/Cargo.toml:8: arrow: nothing may use `xtask`",
        ],
    );
}

#[test]
fn a_crate_outside_the_table_is_found() {
    check_tree(
        &[("crates/extra/Cargo.toml", &manifest("extra", ""))],
        &["crates/extra/Cargo.toml:1: arrow: give `extra` a row in the arrow table"],
    );
}

#[test]
fn a_crate_named_unlike_its_folder_is_found() {
    check_tree(
        &[("crates/exec/Cargo.toml", &manifest("runner", ""))],
        &["crates/exec/Cargo.toml:1: arrow: name the crate `exec`"],
    );
}

#[test]
fn a_file_without_an_opening_sentence_is_found() {
    let path = "crates/expr/src/value.rs";
    let cases = [
        ("use std::fmt;\n", "open the file"),
        ("// A comment is no sentence.\n", "open the file"),
        (
            "//! values of the language.\n",
            "start the opening sentence",
        ),
        ("//! Values of the language\n", "end the opening sentence"),
        ("//! Values.\n", "write a whole sentence"),
    ];
    for (text, advice) in cases {
        let expected = format!("crates/expr/src/value.rs:1: no-sentence: {advice}");
        check_tree(&[(path, text)], &[&expected]);
    }
    check_tree(
        &[(
            path,
            "//! The values, which\n//! are JSON's and more. Cheap to copy\n",
        )],
        &[],
    );
}

#[test]
fn a_long_file_is_found_unless_it_says_why() {
    let long = "const A: u8 = 1;\n".repeat(500);
    let path = "crates/expr/src/table.rs";
    check_tree(
        &[(path, &source(&long))],
        &["crates/expr/src/table.rs:1: long-file: 502 lines without its tests"],
    );
    let reason = "// tidy: allow long-file, because it is one table of data\n";
    check_tree(&[(path, &source(&format!("{reason}{long}")))], &[]);
}

#[test]
fn tests_do_not_make_a_file_long() {
    let tests = format!(
        "#[cfg(test)]\nmod tests {{\n{}}}\n",
        "    const A: u8 = 1;\n".repeat(600)
    );
    check_tree(&[("crates/expr/src/value.rs", &source(&tests))], &[]);
    let long = "const A: u8 = 1;\n".repeat(600);
    check_tree(&[("crates/expr/tests/value.rs", &source(&long))], &[]);
}

#[test]
fn a_long_function_is_found_by_its_lines_of_code() {
    let path = "crates/expr/src/value.rs";
    check_tree(&[(path, &source(&function(70)))], &[]);
    check_tree(
        &[(path, &source(&function(71)))],
        &["crates/expr/src/value.rs:3: long-function: `long` has 71 lines of code"],
    );
    let excused = "#[expect(clippy::too_many_lines, reason = \"one table\")]\n";
    check_tree(
        &[(path, &source(&format!("{excused}{}", function(71))))],
        &[],
    );
}

#[test]
fn a_wide_signature_is_found_in_functions_methods_and_traits() {
    let wide = "(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8)";
    let text =
        format!("fn a{wide} {{}}\nimpl X {{ fn b{wide} {{}} }}\ntrait Y {{ fn c{wide}; }}\n");
    check_tree(
        &[("crates/expr/src/value.rs", &source(&text))],
        &[
            "crates/expr/src/value.rs:3: wide-signature: `a` takes 6 parameters",
            "crates/expr/src/value.rs:4: wide-signature: `b` takes 6 parameters",
            "crates/expr/src/value.rs:5: wide-signature: `c` takes 6 parameters",
        ],
    );
}

#[test]
fn an_allowance_needs_a_known_rule_and_a_reason() {
    let cases = [
        (
            "// tidy: allow long-file",
            "write `tidy: allow RULE, because REASON`",
        ),
        (
            "// tidy: allow long-file, because yes",
            "say why in at least 3 words",
        ),
        (
            "// tidy: allow big-file, because it is one table",
            "there is no rule `big-file`",
        ),
        (
            "// tidy: allow arrow, because it was the short way",
            "`arrow` cannot be allowed",
        ),
    ];
    for (line, advice) in cases {
        let expected = format!("crates/expr/src/value.rs:3: allowance: {advice}");
        let text = source(&format!("{line}\n"));
        check_tree(&[("crates/expr/src/value.rs", &text)], &[&expected]);
    }
}

#[test]
fn names_that_say_nothing_are_found() {
    let text = source("struct JobManager;\nmod misc {}\nstruct ParserV2;\nstruct Commonality;\n");
    check_tree(
        &[("crates/expr/src/string_utils.rs", &text)],
        &[
            "crates/expr/src/string_utils.rs:1: forbidden-name: `string_utils` says `utils`",
            "crates/expr/src/string_utils.rs:3: forbidden-name: `JobManager` says `manager`",
            "crates/expr/src/string_utils.rs:4: forbidden-name: `misc` says `misc`",
            "crates/expr/src/string_utils.rs:5: forbidden-name: `ParserV2` says `v2`",
        ],
    );
}

#[test]
fn work_left_for_later_is_found_in_code_and_comments_only() {
    let text = source(
        "fn a() { todo!() }\n// TODO later\n#[test]\n#[ignore]\nfn b() {}\n/// FIXME: wrong.\nfn c() \
         {}\nconst TEXT: &str = \"// TODO is text here\";\n\
         #[ignore = \"root: it mounts a disk\"]\nfn d() {}\n#[ignore = \"later\"]\nfn e() {}\n",
    );
    check_tree(
        &[("crates/expr/src/value.rs", &text)],
        &[
            "crates/expr/src/value.rs:3: leftover: finish what `todo!` stands for",
            "crates/expr/src/value.rs:4: leftover: do what `TODO` says",
            "crates/expr/src/value.rs:6: leftover: fix the ignored test",
            "crates/expr/src/value.rs:8: leftover: do what `FIXME` says",
            "crates/expr/src/value.rs:13: leftover: fix the ignored test",
        ],
    );
}

#[test]
fn rust_that_does_not_parse_is_found() {
    check_tree(
        &[("crates/expr/src/value.rs", &source("fn a( {}\n"))],
        &["crates/expr/src/value.rs:"],
    );
}

#[test]
fn the_form_of_text_is_checked_but_not_in_test_data() {
    check_tree(
        &[("NOTES.md", "a line \nno end")],
        &[
            "NOTES.md:1: text-form: remove the white space",
            "NOTES.md:2: text-form: end the file",
        ],
    );
    let tab = source("const A: &str = \"\t\";\n");
    check_tree(
        &[("crates/expr/src/value.rs", &tab)],
        &["crates/expr/src/value.rs:3: text-form: write spaces"],
    );
    check_tree(
        &[("crates/expr/tests/data/golden.md", "a line \nno end")],
        &[],
    );
}

#[test]
fn paths_of_one_machine_are_found() {
    check_tree(
        &[(
            "docs/guide.md",
            "See /work/main/README.md.\nSee crates/work/a, ./root/b.\n",
        )],
        &["docs/guide.md:1: machine-path: `/work/` is a path of one machine"],
    );
}

#[test]
fn the_map_must_exist_be_short_and_point_at_what_is_there() {
    let long = "line\n".repeat(300);
    check_tree(
        &[("ARCHITECTURE.md", &long)],
        &["ARCHITECTURE.md:1: architecture: 300 lines"],
    );
    check_tree(
        &[(
            "ARCHITECTURE.md",
            "`crates/flow`, `crates/*`, `crates/expr/src/lib.rs`\n",
        )],
        &["ARCHITECTURE.md:1: broken-link: there is no `crates/flow`"],
    );
}

#[test]
fn links_lead_to_files_of_the_tree() {
    let text = "[map](../ARCHITECTURE.md#spines) [out](https://example.com)\n[gone](gone.md)\n\
                ```\n[code](never.md)\n```\nand `[span](never.md)`\n";
    check_tree(
        &[("docs/guide.md", text)],
        &["docs/guide.md:2: broken-link: there is no `docs/gone.md`"],
    );
}
