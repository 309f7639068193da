//! Help, version and wrong usage: the right stream, and 64 where clap would say 2.

use crate::project::ExpectedText::{Exactly, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

#[track_caller]
fn check_usage_error(line: &str, says: &[&str]) {
    let expect = ExpectedRun {
        exit: 64,
        out: Nothing,
        err: Has(says),
    };
    check(&CliProject::empty(), line, expect);
}

#[track_caller]
fn check_shown(line: &str, says: &[&str]) {
    check(
        &CliProject::empty(),
        line,
        ExpectedRun {
            exit: 0,
            out: Has(says),
            err: Nothing,
        },
    );
}

#[test]
fn help_and_version_are_data() {
    let version = concat!("drawloom ", env!("CARGO_PKG_VERSION"), "\n");
    let expect = ExpectedRun {
        exit: 0,
        out: Exactly(version),
        err: Nothing,
    };
    check(&CliProject::empty(), "--version", expect);
    check_shown(
        "--help",
        &[
            "Usage: drawloom",
            "Generate:",
            "  run ",
            "Set up:",
            "Exit codes: ",
        ],
    );
    check_shown("-h", &["Usage: drawloom", "Generate:"]);
    check_shown(
        "run --help",
        &["Run a recipe", "Questions:", "--answers", "Examples:"],
    );
    check_shown("kit add --help", &["--rev", "Examples:"]);
}

#[test]
fn wrong_usage_is_64_and_never_2() {
    check_usage_error("", &["Usage: drawloom"]);
    check_usage_error("recpe", &["unrecognized subcommand 'recpe'", "'recipe'"]);
    check_usage_error("run", &["there are no recipes here"]);
    check_usage_error("run --nmae x hello", &["unexpected argument '--nmae'"]);
    check_usage_error("kit", &["Usage: drawloom kit"]);
    check_usage_error("doctor --force", &["unexpected argument '--force'"]);
    check_usage_error(
        "run hello --force --skip-existing",
        &["--force", "--skip-existing"],
    );
    check_usage_error(
        "run hello --ask anyone",
        &["invalid value 'anyone'", "person"],
    );
    check_usage_error(
        "run hello --answers",
        &["a value is required for '--answers"],
    );
    check_usage_error("completions tcsh", &["invalid value 'tcsh'"]);
    check_usage_error("man no such", &["there is no command `no such`"]);
}

#[test]
fn wrong_usage_with_json_is_one_document() {
    let ran = check(
        &CliProject::empty(),
        "recipe list --json --all",
        ExpectedRun {
            exit: 64,
            out: Nothing,
            err: Has(&["E_USAGE"]),
        },
    );
    let document: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(document["error"]["code"], "E_USAGE");
    assert_eq!(
        document["error"]["message"],
        "unexpected argument '--all' found"
    );
}

#[test]
fn completions_and_manual_pages_are_data() {
    check_shown("completions bash", &["_drawloom()", "recipe"]);
    check_shown("completions zsh", &["#compdef drawloom"]);
    check_shown("completions fish", &["complete -c drawloom"]);
    check_shown("man", &[".TH drawloom 1", "drawloom\\-run(1)"]);
    check_shown("man kit add", &[".TH drawloom-kit-add 1"]);
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let project = CliProject::empty();
    let mut command = project.command("completions bash");
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let project = CliProject::empty();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = project
        .command("completions bash")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot write to stdout"), "{said}");
}
