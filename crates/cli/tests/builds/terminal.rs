//! A person at a real terminal: the plan is shown, and approved, edited or dropped.

use std::process::Command;

use serde_json::{Value, json};

use crate::build_fixture::{BuildFixture, PROMPT, script, well};
use crate::model::ScriptedLine;
use crate::project::ProgramOutput;

const DOWN: &str = "\u{1b}[B";

/// Runs on a terminal on which this is typed after that was shown.
fn on_terminal(yard: &BuildFixture, line: &str, editor: &str, typed: Value) -> ProgramOutput {
    let drawloom = yard.command(line);
    let mut command = Command::new("python3");
    command
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/ai/data/on_terminal.py"
        ))
        .arg(typed.to_string())
        .arg(drawloom.get_program())
        .args(drawloom.get_args())
        .current_dir(yard.path())
        .envs(
            drawloom
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env_remove("VISUAL")
        .env_remove("GITHUB_TOKEN")
        .env("EDITOR", editor)
        .env("TERM", "xterm");
    ProgramOutput::from(command.output().unwrap())
}

#[test]
fn a_plan_is_shown_and_approved_and_the_work_is_watched() {
    let yard = BuildFixture::new(well());
    let typed = json!([
        ["What about this plan?", format!("{DOWN}\r")],
        // An Enter alone decides nothing.
        ["later? (a/r/c/all/l)", "\ra\r"],
    ]);
    let line = format!("build '{PROMPT}' --color never");
    let ran = on_terminal(&yard, &line, "true", typed);
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    let mut rest = ran.out.as_str();
    for piece in [
        "planning",
        "waits for your decision",
        "The file says something better.",
        "modify a.txt",
        "Approve it and build",
        "generating",
        "wrote     a.txt (+1 -1)",
        "validating",
        "Running the check `test`.",
        "waits for your review",
        "+better",
        "publishing",
        "is complete",
        "330 tokens",
    ] {
        let at = rest.find(piece);
        let at = at.unwrap_or_else(|| panic!("{piece:?}: {}", ran.out));
        rest = &rest[at + piece.len()..];
    }
}

#[test]
fn a_plan_is_rejected_or_left_for_later() {
    for (keys, status) in [
        (format!("{DOWN}{DOWN}{DOWN}\r"), "rejected"),
        (format!("{DOWN}{DOWN}{DOWN}{DOWN}\r"), "plan_ready"),
        // Nothing is chosen beforehand: neither Enter nor `y` and Enter approve.
        (format!("\r y\r {DOWN}{DOWN}{DOWN}{DOWN}\r"), "plan_ready"),
    ] {
        let yard = BuildFixture::new(well());
        let typed = json!([["What about this plan?", keys]]);
        let ran = on_terminal(&yard, &format!("build '{PROMPT}'"), "true", typed);
        assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
        assert_eq!(yard.last()["status"], status, "{}", ran.out);
    }
}

#[test]
fn a_plan_is_edited_until_it_can_be_carried_out() {
    let yard = BuildFixture::new(script(vec![
        ScriptedLine::Calls(vec![(
            "write_file",
            json!({"path": "b.txt", "content": "b\n"}),
        )]),
        ScriptedLine::Text("Done."),
    ]));
    // The first time it plans what cannot be, the second time what can.
    let editor = "#!/bin/sh\nif grep -q nowhere \"$1\"; then \
                  sed -i 's/nowhere.txt/b.txt/; s/modify/create/' \"$1\"; else \
                  sed -i 's/a.txt/nowhere.txt/' \"$1\"; fi\n";
    yard.project.write(".drawloom/editor.sh", editor);
    let path = yard.path().join(".drawloom/editor.sh");
    let editor = format!("sh '{}'", path.display());
    // The Enter after `y` must not fall upon the menu that follows.
    let typed = json!([
        ["What about this plan?", format!("{DOWN}{DOWN}\r")],
        ["Edit it again?", "y\r"],
        ["What about this plan?", format!("{DOWN}\r")],
        ["later? (a/r/c/all/l)", "all\r"],
    ]);
    let line = format!("build '{PROMPT}' --color never");
    let ran = on_terminal(&yard, &line, &editor, typed);
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("E_BUILD_PLAN"), "{}", ran.out);
    assert!(ran.out.contains("nowhere.txt"), "{}", ran.out);
    let branch = yard.last()["result"]["branch"].as_str().unwrap().to_owned();
    assert_eq!(yard.at(&branch, "b.txt"), "b");
}

#[test]
fn y_and_enter_after_an_edit_do_not_approve_the_plan() {
    let yard = BuildFixture::new(well());
    yard.project.write(
        ".drawloom/editor.sh",
        "#!/bin/sh\nsed -i 's/a.txt/nowhere.txt/' \"$1\"\n",
    );
    let path = yard.path().join(".drawloom/editor.sh");
    let typed = json!([
        ["What about this plan?", format!("{DOWN}{DOWN}\r")],
        ["Edit it again?", "n\r"],
        [
            "What about this plan?",
            format!("\ry\r{DOWN}{DOWN}{DOWN}{DOWN}\r")
        ],
    ]);
    let editor = format!("sh '{}'", path.display());
    let ran = on_terminal(&yard, &format!("build '{PROMPT}'"), &editor, typed);
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(yard.last()["status"], "plan_ready", "{}", ran.out);
}

#[test]
fn a_person_with_uncommitted_changes_is_asked_what_to_build_from() {
    for (keys, start, first_line) in [
        ("\r".to_owned(), "last-commit", "start"),
        (format!("{DOWN}\r"), "working-tree", "edited"),
    ] {
        let yard = BuildFixture::new(well());
        yard.project.write("a.txt", "edited\n");
        let before = yard.users();
        let typed = json!([
            ["Build from what?", keys],
            ["What about this plan?", format!("{DOWN}\r")],
            ["later? (a/r/c/all/l)", "a\r"],
        ]);
        let ran = on_terminal(&yard, &format!("build '{PROMPT}'"), "true", typed);
        assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
        let last = yard.last();
        assert_eq!(last["options"]["start"], start);
        let base = last["base"]["commit"].as_str().unwrap();
        assert_eq!(yard.at(base, "a.txt"), first_line);
        assert_eq!(yard.users(), before);
    }
}
