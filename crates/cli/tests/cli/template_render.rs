//! `template render`: the result and nothing else, or an error with its place.

use std::io::Write as _;
use std::process::Stdio;

use crate::project::ExpectedText::{Anything, Exactly, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

#[track_caller]
fn check_text(files: &[(&str, &str)], line: &str, expected: &str) {
    let expect = ExpectedRun {
        exit: 0,
        out: Exactly(expected),
        err: Nothing,
    };
    check(
        &CliProject::with(files),
        &format!("template render {line}"),
        expect,
    );
}

#[track_caller]
fn check_error(files: &[(&str, &str)], line: &str, says: &[&str]) {
    let expect = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(says),
    };
    check(
        &CliProject::with(files),
        &format!("template render {line}"),
        expect,
    );
}

#[test]
fn the_result_is_printed_byte_for_byte() {
    check_text(
        &[("a.edge", "Hello {{ name }}")],
        "a.edge --data '{\"name\":\"Ada\"}'",
        "Hello Ada",
    );
    check_text(
        &[("a.jig", "\u{1b}[1m{{ x }}\u{1b}[0m\n")],
        "a.jig --data '{\"x\":1}'",
        "\u{1b}[1m1\u{1b}[0m\n",
    );
    check_text(
        &[("a.jig", "x"), ("d.json", "{\"x\":1}")],
        "a.jig --data @d.json",
        "x",
    );
    check_text(&[("a.jig", "")], "a.jig", "");
}

#[test]
fn data_can_come_from_stdin() {
    let project = CliProject::with(&[("a.jig", "{{ x }}")]);
    let mut command = project.command("template render a.jig --data -");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"{\"x\": [1, 2]}")
        .unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"1,2");
}

#[test]
fn partials_and_components_come_from_the_folder() {
    let files = [
        ("page.edge", "@include('part')\n@!card({ title: 'T' })"),
        ("parts/part.edge", "part"),
        ("parts/components/card.edge", "<{{ title }}>"),
    ];
    check_text(&files, "page.edge --templates parts", "part\n<T>");
    check_error(&files, "page.edge", &["part"]);
}

#[test]
fn an_error_has_code_file_line_column_and_excerpt() {
    check_error(
        &[("dir/a.edge", "one\n{{ (function(){return 1})() }}\n")],
        "dir/a.edge",
        &[
            "error[E_UNALLOWED_EXPRESSION]",
            "dir/a.edge:2:4",
            "2 | {{ (function(){return 1})() }}",
            "^",
        ],
    );
    check_error(
        &[("a.edge", "@if(x)\n")],
        "a.edge",
        &["error[E_UNCLOSED_TAG]", "a.edge:1:"],
    );
    check_error(
        &[("a.edge", "@include('b')"), ("b.edge", "x\n{{ y.z }}")],
        "a.edge",
        &["E_", "b.edge:2", "include", "a.edge:1"],
    );
}

#[test]
fn strict_lists_every_undefined_name() {
    let files = [("a.jig", "{{ one }}\n{{ two }} {{ known }}\n")];
    check_error(
        &files,
        "a.jig --strict --data '{\"known\":1}'",
        &[
            "`one` is not defined",
            "a.jig:1:",
            "`two` is not defined",
            "a.jig:2:",
        ],
    );
    check_text(
        &files,
        "a.jig --data '{\"known\":1}'",
        "undefined\nundefined 1\n",
    );
}

#[test]
fn wrong_input_says_what_is_wrong() {
    let files = [("a.jig", "x"), ("bad.json", "{\n \"a\": ,\n}")];
    check_error(&files, "nowhere.jig", &["there is no file nowhere.jig"]);
    check_error(
        &files,
        "a.jig --data @none.json",
        &["there is no file none.json"],
    );
    check_error(
        &files,
        "a.jig --data @bad.json",
        &["E_DATA", "bad.json:2:7"],
    );
    check_error(&files, "a.jig --data '[1]'", &["not a JSON object"]);
    check_error(
        &files,
        "a.jig --templates none",
        &["there is no folder none"],
    );
}

#[test]
fn a_template_that_never_ends_is_stopped() {
    let files = [("a.edge", "@include('a')")];
    check_error(&files, "a.edge", &["E_"]);
    let project = CliProject::with(&[
        ("a.jig", "{{ 'x'.repeat(100000000) }}"),
        ("drawloom.toml", "[limits]\nstring_bytes_max = 1000\n"),
    ]);
    let expect = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["string_bytes_max"]),
    };
    check(&project, "template render a.jig", expect);
}

#[test]
fn questions_are_left_empty_and_mentioned() {
    let template = "a\n@ai()\n@prompt()\nq\n@end\n@output({ key: 'k' })\n@end\n@end\nb\n";
    let project = CliProject::with(&[("a.jig", template)]);
    let expect = ExpectedRun {
        exit: 0,
        out: Anything,
        err: Has(&["1 `@ai` block was left empty"]),
    };
    check(&project, "template render a.jig", expect);
}
