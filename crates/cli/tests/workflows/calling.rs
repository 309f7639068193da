//! Steps that reach out: recipes, commands with values of others, calls with a call back.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use serde_json::json;

use crate::model::{ModelScript, ScriptedLine};
use crate::workflow_fixture::{bare, result, with_model};

fn one(config: &str) -> String {
    format!(
        "graph TD\n A[One]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"
    )
}

#[test]
fn a_recipe_runs_with_values_of_the_step() {
    let project = bare();
    project.write(
        ".drawloom/recipes/hi/recipe.yml",
        "name: hi\nvariables:\n  who: { type: string, required: true }\nsteps:\n  - tool: template\n    template: hi.jig\n",
    );
    project.write(
        ".drawloom/recipes/hi/hi.jig",
        "---\nto: hi.txt\n---\nHello {{ who }}!\n",
    );
    project.write(
        "r.mmd",
        &one(r#"{ "handler": "recipe", "config": { "recipe": "hi", "values": { "who": "{{input.name}}" } } }"#),
    );
    let ran = project.run("workflow start r.mmd --wait --json name=Ann");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(project.read("hi.txt"), "Hello Ann!\n");
}

#[test]
fn what_others_said_is_no_command() {
    let project = bare();
    project.write(
        "c.mmd",
        &one(r#"{ "handler": "command", "config": { "run": "printf %s {{input.text}}" } }"#),
    );
    let evil = "$(touch evil); touch evil '\"";
    let mut command = project.command("workflow start c.mmd --wait --json --input -");
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let input = json!({ "text": evil }).to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let ran = crate::project::ProgramOutput::from(child.wait_with_output().unwrap());
    assert_eq!(result(&ran)["output"]["stdout"], evil);
    assert!(!project.path().join("evil").exists());
}

#[test]
fn a_call_waits_for_the_one_who_has_its_token() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = vec![0; 8192];
        let count = stream.read(&mut bytes).unwrap();
        let head = String::from_utf8_lossy(&bytes[..count]).to_string();
        let body = r#"{"queued":true}"#;
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).unwrap();
        tell.send(head).unwrap();
    });
    let project = bare();
    let config = json!({
        "handler": "http", "awaitCallback": true,
        "config": { "url": url, "method": "POST", "body": { "n": "{{input.n}}" } },
    });
    project.write("h.mmd", &one(&config.to_string()));
    let ran = project.run("workflow start h.mmd --wait n=3");
    assert_eq!(ran.exit, 2, "{}{}", ran.out, ran.err);
    let head = told.recv().unwrap();
    assert!(head.contains(r#"{"n":3}"#), "{head}");
    let token = head
        .lines()
        .find_map(|line| line.strip_prefix("drawloom-callback-token: "))
        .unwrap_or_else(|| panic!("{head}"));
    let wrong = "0".repeat(token.len());
    assert_eq!(
        project
            .run(&format!("tasks answer last/A ok=true --token {wrong}"))
            .exit,
        1
    );
    assert_eq!(
        project
            .run(&format!("tasks answer last/A ok=true --token {token}"))
            .exit,
        0
    );
    let ran = project.run("runs resume last --wait --json");
    assert_eq!(result(&ran)["output"], json!({ "ok": true }), "{}", ran.err);
}

#[test]
fn a_subflow_is_a_run_of_its_own() {
    let project = bare();
    project.write(
        ".drawloom/workflows/child.mmd",
        &one(r#"{ "handler": "no_op", "config": { "output": "{{input.n * 2}}" } }"#),
    );
    project.write(
        "p.mmd",
        "graph TD\n S[[Run: child]] --> B[After]\n%% === WORKFLOW_CONFIG ===\n\
         %% @S: { \"subflowId\": \"child\", \"inputMapping\": { \"n\": \"input.n\" } }\n\
         %% @B: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n",
    );
    let ran = project.run("workflow start p.mmd --wait --json n=21");
    assert_eq!(result(&ran)["output"], json!(42), "{}{}", ran.out, ran.err);
}

#[test]
fn a_failure_in_a_subflow_takes_the_error_edge_of_its_step() {
    for (edge, exit, says) in [
        ("\n S -->|onError| X[Else]", 0, "else"),
        ("", 1, "is on hold: The run"),
    ] {
        let project = bare();
        project.write(
            ".drawloom/workflows/child.mmd",
            &one(r#"{ "handler": "command", "config": { "run": "exit 3" } }"#),
        );
        project.write(
            "p.mmd",
            &format!(
                "graph TD\n S[[Run: child]] --> B[After]{edge}\n%% === WORKFLOW_CONFIG ===\n\
                 %% @B: {{ \"handler\": \"no_op\" }}\n{}%% === END_CONFIG ===\n",
                match edge {
                    "" => "",
                    _ =>
                        "%% @X: { \"handler\": \"no_op\", \"config\": { \"output\": \"else\" } }\n",
                }
            ),
        );
        let ran = project.run("workflow start p.mmd --wait");
        assert_eq!(ran.exit, exit, "{}{}", ran.out, ran.err);
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains(says), "{says}: {told}");
    }
}

#[test]
fn a_run_waits_for_a_time_and_for_a_signal() {
    let project = bare();
    project.write(
        "w.mmd",
        "graph TD\n A[Wait: 200ms] --> W[Wait: the deploy] --> B[After]\n%% === WORKFLOW_CONFIG ===\n\
         %% @input: { \"type\": \"object\", \"required\": [\"repo\"], \"properties\": { \"repo\": { \"type\": \"string\" } } }\n\
         %% @W: { \"signal\": \"deployed\" }\n%% @B: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n",
    );
    let ran = project.run("workflow start w.mmd --wait");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    assert!(
        ran.err.contains("\"repo\" is a required property"),
        "{}",
        ran.err
    );
    let ran = project.run("workflow start w.mmd --wait repo=x");
    assert_eq!(ran.exit, 2, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("drawloom runs signal"), "{}", ran.err);
    assert_eq!(project.run("runs signal last nobody").exit, 1);
    assert_eq!(project.run("runs signal last deployed url=here").exit, 0);
    let ran = project.run("runs resume last --wait --json");
    assert_eq!(
        result(&ran)["output"],
        json!({ "url": "here" }),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn an_agent_writes_code_that_the_next_step_validates() {
    let call = (
        "write_file",
        json!({ "path": "made.txt", "content": "made\n" }),
    );
    let script: ModelScript = vec![(
        "",
        vec![
            ScriptedLine::Calls(vec![call]),
            ScriptedLine::Text("Written."),
        ],
    )];
    let (project, _model) = with_model(script);
    project.write(
        "g.mmd",
        "graph TD\n A[Write it] --> B[Validate it]\n%% === WORKFLOW_CONFIG ===\n\
         %% @A: { \"handler\": \"code_generation\", \"prompt\": \"Write {{input.file}}.\", \"config\": { \"output_artifacts\": [\"{{input.file}}\"] } }\n\
         %% @B: { \"handler\": \"validation\", \"config\": { \"validation_criteria\": [{ \"run\": \"grep -q made made.txt\" }] } }\n\
         %% === END_CONFIG ===\n",
    );
    let ran = project.run("workflow start g.mmd --wait --json file=made.txt");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(project.read("made.txt"), "made\n");
    let output = &result(&ran)["output"];
    assert_eq!(
        output["validation_details"]["overall_status"], "passed",
        "{output}"
    );
}
