//! The mode `off` on a real terminal: the person is asked, corrected, and kept.

use serde_json::json;

use crate::project::ProgramOutput;
use crate::test_project::{FIRST, TestProject, expected, file, written};

const DOWN: &str = "\u{1b}[B";

/// Runs on a terminal: waits for each text and types the reply beside it.
fn on_terminal(shop: &TestProject, line: &str, script: &[(&str, &str)]) -> ProgramOutput {
    let drawloom = shop.command(line);
    let mut command = std::process::Command::new("python3");
    command
        .arg(file("tests/ai/data/on_terminal.py"))
        .arg(json!(script).to_string())
        .arg(drawloom.get_program())
        .args(drawloom.get_args())
        .current_dir(shop.project.path())
        .env_remove("EDITOR")
        .env_remove("VISUAL")
        .env("TERM", "xterm");
    for (name, value) in drawloom.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let ran = ProgramOutput::from(command.output().unwrap());
    assert!(!ran.err.contains("never shown"), "{}\n{}", ran.err, ran.out);
    ran
}

fn off() -> TestProject {
    TestProject::with("[ai]\nmode = \"off\"\n")
}

#[test]
fn each_question_is_asked_in_its_own_way() {
    let shop = off();
    let pick = format!("{DOWN} {DOWN} \r");
    let ran = on_terminal(
        &shop,
        "run card Customer",
        &[
            (
                "a line with only `.` ends the answer",
                "return <Card/>;\n.\n",
            ),
            ("space to select", &pick),
            ("Is the list paged?", "\r"),
            (
                "Write a caption for name and email.",
                "Name and email of a \"customer\".\r",
            ),
        ],
    );
    assert_eq!(ran.exit, 0, "{}", ran.out);
    assert_eq!(written(&shop.project), expected());
    assert!(
        ran.out.contains("Customer is a table of a shop."),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("(1 of 3)"), "{}", ran.out);
}

#[test]
fn a_long_answer_is_written_in_the_editor() {
    let shop = off().variable(
        "EDITOR",
        format!(
            "python3 '{}' 'return <Card/>;'",
            file("tests/ai/data/editor.py")
        ),
    );
    shop.project.write(
        "some.json",
        &FIRST.replace(", \"body\": \"return <Card/>;\"", ""),
    );
    let script = [("Write a caption", "Name and email of a \"customer\".\r")];
    let ran = on_terminal(&shop, "run card Customer --answers some.json", &script);
    assert_eq!(ran.exit, 0, "{}", ran.out);
    assert_eq!(written(&shop.project), expected());
}

#[test]
fn an_answer_that_does_not_fit_is_asked_again() {
    let shop = off();
    shop.project.write("some.json", FIRST);
    let script = [
        ("Write a caption", "\r"),
        (
            "An answer is needed.",
            "Name and email of a \"customer\".\r",
        ),
    ];
    let ran = on_terminal(&shop, "run card Customer --answers some.json", &script);
    assert_eq!(ran.exit, 0, "{}", ran.out);
    assert_eq!(written(&shop.project), expected());
}

#[test]
fn leaving_keeps_the_answers_so_far() {
    for leaving in ["Is the list paged?", "Write a caption"] {
        let shop = off();
        let pick = format!("{DOWN} {DOWN} \r");
        let mut script = vec![
            (
                "a line with only `.` ends the answer",
                "return <Card/>;\n.\n",
            ),
            ("space to select", pick.as_str()),
        ];
        if leaving != "Is the list paged?" {
            script.push(("Is the list paged?", "\r"));
        }
        script.push((leaving, "\u{3}"));
        let ran = on_terminal(&shop, "run card Customer", &script);
        assert_eq!(ran.exit, 130, "{}", ran.out);
        assert!(
            ran.out.contains("stopped: nothing was written"),
            "{}",
            ran.out
        );
        assert!(
            ran.out.contains("answers are saved in .drawloom/answers/"),
            "{}",
            ran.out
        );
        assert!(written(&shop.project).is_empty());
        let kept = shop.only_file(".drawloom/answers");
        shop.project.write(
            "rest.json",
            r#"{"paged": true, "caption": "Name and email of a \"customer\"."}"#,
        );
        shop.generates(&format!(
            "run card Customer --answers {kept} --answers rest.json"
        ));
    }
}

#[test]
fn leaving_in_the_middle_of_a_long_answer_is_prompt() {
    let shop = off();
    let began = std::time::Instant::now();
    let script = [("a line with only `.` ends the answer", "return\n\u{3}")];
    let ran = on_terminal(&shop, "run card Customer", &script);
    assert_eq!(ran.exit, 130, "{}", ran.out);
    assert!(began.elapsed().as_secs() < 4, "{:?}", began.elapsed());
    assert!(written(&shop.project).is_empty());
}

#[test]
fn one_question_is_asked_of_the_person() {
    let script = [("Two and two?", "Four.\r")];
    let ran = on_terminal(&off(), "ai ask 'Two and two?'", &script);
    assert_eq!(ran.exit, 0, "{}", ran.out);
    assert!(ran.out.trim_end().ends_with("Four."), "{}", ran.out);
}

#[test]
fn leaving_at_a_conflict_keeps_the_answers() {
    let shop = TestProject::with("[ai]\nmode = \"off\"\n");
    shop.project.write("src/customer.tsx", "mine\n");
    shop.project.write("some.json", FIRST);
    let script = [
        ("Write a caption", "Name and email of a \"customer\".\r"),
        ("What should happen to", "\u{3}"),
    ];
    let ran = on_terminal(&shop, "run card Customer --answers some.json", &script);
    assert_eq!(ran.exit, 130, "{}", ran.out);
    assert!(
        ran.out.contains("answers are saved in .drawloom/answers/"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("interrupted"), "{}", ran.out);
}
