//! The live view on a real terminal: what is done, line by line, and what it took so far.

use serde_json::json;

use crate::model::{FakeProvider, ScriptedFormat, ScriptedLine};
use crate::project::{CliProject, ProgramOutput};
use crate::task_fixture::{NO_SANDBOX, project};

/// Runs on a terminal without typing anything.
fn on_terminal(project: &CliProject, line: &str) -> ProgramOutput {
    let drawloom = project.command(line);
    let mut command = std::process::Command::new("python3");
    command
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/ai/data/on_terminal.py"
        ))
        .arg("[]")
        .arg(drawloom.get_program())
        .args(drawloom.get_args())
        .current_dir(project.path())
        .envs(
            drawloom
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("TERM", "xterm");
    ProgramOutput::from(command.output().unwrap())
}

#[test]
fn a_terminal_shows_what_the_model_does_and_what_it_took() {
    let script = vec![
        ScriptedLine::Calls(vec![
            ("list_files", json!({})),
            ("write_file", json!({"path": "a.txt", "content": "a\n"})),
            (
                "execute_command",
                json!({"command": "echo \"\u{1b}[31mred\"; sleep 0.3"}),
            ),
            ("read_file", json!({"path": ".env"})),
        ]),
        ScriptedLine::Text("Done."),
    ];
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, script);
    let project = project(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    let task = r#"{"subtask_id": "t", "type": "code_generation", "description": "Do it."}"#;
    project.write("task.json", task);
    project.write(".env", "TOKEN=x\n");
    let ran = on_terminal(&project, "task run task.json --color never");
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    for piece in [
        "turn 1: asking the model",
        "the model writes a call of write_file",
        "listed    .",
        "wrote     a.txt (new, +1)",
        "execute_command: echo",
        "ran       echo",
        "(exit 0, 0.",
        "refused   read_file: `.env` may not be read",
        "turn 2: asking the model · 110 tokens, cost unknown",
        "validation was skipped",
        "used      220 tokens, cost unknown",
    ] {
        assert!(ran.out.contains(piece), "{piece:?} is missing: {}", ran.out);
    }
    assert!(
        !ran.out.contains("\u{1b}[31mred"),
        "the command coloured our screen"
    );
}
