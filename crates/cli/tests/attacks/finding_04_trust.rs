//! Finding 4, second half: a clone ran commands and sent any variable before its user had seen it.

use std::io::Read as _;
use std::net::TcpListener;

use crate::victim::{VictimProject, for_every_user};

const COMMAND: &str = "[ai]\nmode = 'command'\ncommand_mode = 'per-block'\ncommand = \"sh -c 'touch ran.txt; echo hi'\"\n";

const WORKFLOW: &str = "graph TD\n    A[Run]\n%% === WORKFLOW_CONFIG ===\n%% @A: { \"handler\": \"command\", \
                        \"config\": { \"run\": \"touch ran.txt\" } }\n%% === END_CONFIG ===\n";

/// A command in the clone must be refused with what it would do, and must have done nothing.
#[track_caller]
fn refused(victim: &VictimProject, line: &str, says: &[&str]) {
    let ran = victim.check(
        "project",
        line,
        1,
        &["E_UNTRUSTED", "drawloom", "trust", "--trust"],
    );
    for piece in says {
        assert!(ran.err.contains(piece), "{piece}: {}", ran.err);
    }
    assert!(!victim.exists("project/ran.txt"), "{line}: {}", ran.err);
}

#[test]
fn a_program_that_answers_is_shown_first() {
    for_every_user(|victim| {
        victim.write("project/drawloom.toml", COMMAND);
        refused(victim, "ai ask hello", &["ai.command", "touch ran.txt"]);
        // For this once.
        victim.check("project", "ai ask hello --trust", 0, &["hi"]);
        std::fs::remove_file(victim.path("project/ran.txt")).unwrap();
        refused(victim, "ai ask hello", &["ai.command"]);
    });
}

#[test]
fn a_shown_command_is_trusted_until_it_changes() {
    for_every_user(|victim| {
        victim.write("project/drawloom.toml", COMMAND);
        victim.check(
            "project",
            "trust",
            0,
            &["ai.command", "touch ran.txt", "Trusted"],
        );
        victim.check("project", "ai ask hello", 0, &["hi"]);
        std::fs::remove_file(victim.path("project/ran.txt")).unwrap();
        // What acts in no way changes nothing.
        victim.write(
            "project/drawloom.toml",
            &format!("{COMMAND}timeout_ms = 9000\n"),
        );
        victim.check("project", "ai ask hello", 0, &["hi"]);
        std::fs::remove_file(victim.path("project/ran.txt")).unwrap();
        let changed = COMMAND.replace("echo hi", "touch more.txt");
        victim.write("project/drawloom.toml", &changed);
        refused(
            victim,
            "ai ask hello",
            &["has changed", "touch more.txt", "before:", "echo hi"],
        );
        let listed = victim.check("project", "trust list", 0, &[]);
        assert!(listed.out.contains("/project"), "{}", listed.out);
        let kept = victim.path("home/.local/state/drawloom/trust");
        for file in std::fs::read_dir(kept).unwrap() {
            use std::os::unix::fs::PermissionsExt;
            let mode = file.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        victim.write("project/drawloom.toml", COMMAND);
        victim.check("project", "trust revoke", 0, &["No longer trusted"]);
        refused(victim, "ai ask hello", &["ai.command"]);
    });
}

#[test]
fn no_variable_is_sent_to_an_address_of_the_clone() {
    for_every_user(|victim| {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let port = server.local_addr().unwrap().port();
        let settings = format!(
            "[ai]\nprovider = 'compatible'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:{port}/v1'\n\
             api_key = '$CANARY_KEY'\n"
        );
        victim.write("project/drawloom.toml", &settings);
        for line in ["ai ask hi", "ai models"] {
            let mut command = victim.command("project", line);
            let ran = command.env("CANARY_KEY", "canary").output().unwrap();
            let err = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert_eq!(ran.status.code(), Some(1), "{line}: {err}");
            for piece in ["E_UNTRUSTED", "ai.base_url", "CANARY_KEY"] {
                assert!(err.contains(piece), "{piece}: {err}");
            }
            let mut heard = [0; 64];
            let asked = server
                .accept()
                .map(|(mut stream, _)| stream.read(&mut heard));
            assert!(asked.is_err(), "{line} connected");
        }
    });
}

#[test]
fn recipes_and_workflows_with_commands_are_shown_first() {
    for_every_user(|victim| {
        victim.write(
            "project/.drawloom/recipes/x/recipe.yml",
            "name: x\nsteps:\n  - command: touch ran.txt\n",
        );
        victim.write(
            "project/.drawloom/recipes/y/recipe.yml",
            "name: y\nsteps:\n  - template: y\n",
        );
        let template = "---\nto: y.txt\nsh: touch ran.txt\n---\ny\n";
        victim.write("project/.drawloom/recipes/y/templates/y.jig", template);
        victim.write("project/.drawloom/workflows/w.mmd", WORKFLOW);
        refused(victim, "run x", &[".drawloom/recipes/x", "touch ran.txt"]);
        refused(victim, "run y", &["touch ran.txt"]);
        refused(
            victim,
            "workflow start w",
            &[".drawloom/workflows/w.mmd", "touch ran.txt"],
        );
        let says = ["recipes/x", "recipes/y", "workflows/w.mmd", "touch ran.txt"];
        victim.check("project", "trust", 0, &says);
        victim.check("project", "run x", 0, &[]);
        assert!(victim.exists("project/ran.txt"));
        victim.check("project", "run y", 0, &["y.txt"]);
    });
}

const TASK: &str = r#"{ "subtask_id": "t", "type": "validation",
    "validation_criteria": [{ "run": "touch ran.txt" }, "touch ran.txt"] }"#;

#[test]
fn tasks_plans_and_checks_of_steps_are_shown_first() {
    for_every_user(|victim| {
        victim.write("project/drawloom.toml", "");
        victim.write("project/t.json", TASK);
        let plan = format!(r#"{{ "goal": "g", "tasks": [{TASK}] }}"#);
        victim.write("project/p.json", &plan);
        let step = WORKFLOW.replace(
            r#""handler": "command", "config": { "run": "touch ran.txt" }"#,
            r#""handler": "validation", "config": { "validation_criteria": [{ "run": "touch ran.txt" }] }"#,
        );
        victim.write("project/.drawloom/workflows/v.mmd", &step);
        refused(
            victim,
            "task run t.json",
            &["t.json: t", "touch ran.txt", "trust t.json"],
        );
        refused(
            victim,
            "plan run p.json",
            &["p.json: t", "touch ran.txt", "trust p.json"],
        );
        refused(
            victim,
            "workflow start v --wait",
            &["workflows/v.mmd", "touch ran.txt"],
        );
        victim.check("project", "trust t.json", 0, &["t.json: t", "Trusted"]);
        let ran = victim.run("project", "task run t.json");
        assert!(!ran.err.contains("E_UNTRUSTED"), "{}", ran.err);
        assert!(victim.exists("project/ran.txt"), "{}", ran.err);
        std::fs::remove_file(victim.path("project/ran.txt")).unwrap();
        let changed = TASK.replace("touch ran.txt", "touch ran.txt more.txt");
        victim.write("project/t.json", &changed);
        refused(
            victim,
            "task run t.json",
            &["has changed", "more.txt", "before:"],
        );
    });
}

#[test]
fn looking_needs_no_trust() {
    for_every_user(|victim| {
        victim.write("project/drawloom.toml", COMMAND);
        victim.write(
            "project/.drawloom/recipes/x/recipe.yml",
            "name: x\nsteps:\n  - command: touch ran.txt\n",
        );
        victim.write("project/.drawloom/workflows/w.mmd", WORKFLOW);
        for line in [
            "recipe list",
            "recipe info x",
            "recipe validate x",
            "run x --dry-run",
            "index",
            "workflow check w",
            "workflow show w",
            "runs list",
            "cost",
            "kit list",
            "trust show",
        ] {
            victim.check("project", line, 0, &[]);
            assert!(!victim.exists("project/ran.txt"), "{line}");
        }
        let doctor = victim.run("project", "doctor");
        assert!(!doctor.err.contains("E_UNTRUSTED") && !victim.exists("project/ran.txt"));
    });
}

#[test]
fn a_project_that_only_writes_files_is_never_asked_about() {
    for_every_user(|victim| {
        victim.write(
            "project/.drawloom/recipes/x/recipe.yml",
            "name: x\nsteps:\n  - template: x\n",
        );
        victim.write(
            "project/.drawloom/recipes/x/templates/x.jig",
            "---\nto: x.txt\n---\nx\n",
        );
        victim.check("project", "run x", 0, &["x.txt"]);
        victim.check("project", "trust", 0, &["nothing to trust"]);
    });
}

#[test]
fn what_the_user_made_here_stays_trusted_and_a_clone_in_its_place_is_not() {
    for_every_user(|victim| {
        victim.check("project", "init", 0, &[]);
        victim.write("project/drawloom.toml", COMMAND);
        victim.check("project", "ai ask hello", 0, &["hi"]);
        // Another folder under the same name.
        let (old, new) = (victim.path("project"), victim.path("old"));
        std::fs::rename(&old, &new).unwrap();
        victim.make_dir("project");
        victim.write("project/drawloom.toml", COMMAND);
        refused(victim, "ai ask hello", &["ai.command"]);
        // `init` does not make a clone one's own.
        victim.check("project", "init", 0, &[]);
        refused(victim, "ai ask hello", &["ai.command"]);
        victim.check("project", "trust --always", 0, &["Trusted permanently"]);
        victim.write("project/drawloom.toml", &COMMAND.replace("hi", "ho"));
        victim.check("project", "ai ask hello", 0, &["ho"]);
    });
}

#[test]
fn a_command_that_is_notified_is_shown_first() {
    const NOTIFY: &str = "[notify.x]\ncommand = 'touch ran.txt'\n";
    const PLAIN: &str = "graph TD\n    A[Run]\n%% === WORKFLOW_CONFIG ===\n%% @A: { \"handler\": \"no_op\" }\n\
                         %% === END_CONFIG ===\n";
    for_every_user(|victim| {
        victim.write("project/drawloom.toml", NOTIFY);
        victim.write("project/plain.mmd", PLAIN);
        let line = "workflow start plain.mmd --wait";
        refused(victim, line, &["notify.x", "touch ran.txt"]);
    });
}
