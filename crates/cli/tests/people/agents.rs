//! Agents: prompts from the command line and from files, beside those of the settings, known to
//! workflows.

use crate::project::CliProject;
use crate::{document, done, refused};

const WORKFLOW: &str = "graph TD\n    A[Review]\n\n%% === WORKFLOW_CONFIG ===\n\
    %% @A: { \"handler\": \"no_op\", \"defaultAssigneeId\": \"code-reviewer\" }\n\
    %% === END_CONFIG ===\n";

#[test]
fn prompts_come_from_the_command_line_and_from_files() {
    let project = CliProject::with(&[("prompts/r.md", "You review.\nBe kind.\n")]);
    let line = "agents add code-reviewer --name 'Code Review Agent' --prompt @prompts/r.md --json";
    let agent = document(&project, line);
    assert_eq!(agent["agentPrompt"], "You review.\nBe kind.\n");
    assert_eq!(agent["isAgent"], true);
    assert_eq!(agent["email"], serde_json::Value::Null);
    let listed = done(&project, "agents list").out;
    assert_eq!(
        listed,
        "code-reviewer  active  Code Review Agent  You review.…\n"
    );
    let edited = document(
        &project,
        "agents edit code-reviewer --prompt Shorter. --json",
    );
    assert_eq!(edited["agentPrompt"], "Shorter.");
    assert_eq!(edited["displayName"], "Code Review Agent");
}

#[test]
fn wrong_uses_say_what_to_do_and_change_nothing() {
    let settings = "[agents.declared]\nname = \"Declared\"\nprompt = \"From the file.\"\n";
    let project = CliProject::with(&[("drawloom.toml", settings)]);
    for (line, exit, says) in [
        ("agents add a", 64, &["--prompt"][..]),
        ("agents add a --prompt ''", 64, &["needs a prompt"]),
        (
            "agents add a --prompt @missing.md",
            1,
            &["no file missing.md"],
        ),
        (
            "agents add declared --prompt X",
            1,
            &["drawloom.toml has an agent `declared`"],
        ),
        (
            "agents edit a --prompt X",
            1,
            &["no agent `a`", "agents list"],
        ),
    ] {
        refused(&project, line, exit, says);
    }
    let listed = done(&project, "agents list").out;
    assert_eq!(
        listed,
        "declared  drawloom.toml  Declared  From the file.\n"
    );
}

#[test]
fn workflows_know_agents_that_were_added_and_are_active() {
    check_known(&CliProject::empty());
}

pub(crate) fn check_known(project: &CliProject) {
    project.write("w.mmd", WORKFLOW);
    let starts = || project.run("workflow start w.mmd --wait --json");
    let unknown = starts();
    assert_eq!(unknown.exit, 1, "{}", unknown.err);
    assert!(unknown.err.contains("code-reviewer"), "{}", unknown.err);
    done(project, "agents add code-reviewer --prompt 'You review.'");
    let known = starts();
    assert_eq!(known.exit, 0, "{}", known.err);
    done(project, "workflow check w.mmd");
    let exported = document(project, "workflow export w.mmd");
    assert_eq!(exported["agents"][0]["agentPrompt"], "You review.");
    done(project, "agents edit code-reviewer --inactive");
    assert_eq!(starts().exit, 1);
    assert_eq!(project.run("workflow check w.mmd").exit, 1);
}

#[test]
fn an_unreachable_server_is_reported_by_the_command_that_needs_it() {
    let settings = "[workflows]\ndatabase = \"postgres://nobody:geheim@127.0.0.1:1/none\"\n\n\
                    [agents.code-reviewer]\nprompt = \"You review.\"\n";
    let project = CliProject::with(&[("drawloom.toml", settings), ("w.mmd", WORKFLOW)]);
    // Reading a file needs no server.
    done(&project, "workflow check w.mmd");
    for line in [
        "agents list",
        "users add a --email a@x.org",
        "schedules list",
        "runs list",
    ] {
        refused(
            &project,
            line,
            1,
            &["none at 127.0.0.1:1", "cannot be reached"],
        );
        assert!(!project.run(line).err.contains("geheim"), "{line}");
    }
}
