//! An agent with only the tools of MCP, and one with only a shell and `drawloom help agents`: each gets a build
//! planned, a person approves it, and the agent reads its diff.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::build_fixture::{BuildFixture, PROMPT, well};
use crate::mcp_client::{McpTestClient, SESSIONS, STATELESS};

/// Waits until the agent sees a status; the result of its last look.
fn wait(client: &mut McpTestClient, id: &str, status: &str) -> Value {
    let begun = Instant::now();
    loop {
        let shown = client.call("get_build", json!({ "id": id }));
        if shown["status"] == status {
            return shown;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{shown}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn check_tools(revision: &str) {
    let yard = BuildFixture::new(well());
    let mut client = McpTestClient::start(&yard.project, "mcp --tools build", revision);
    let asked = client.call("plan_build", json!({ "prompt": PROMPT }));
    let id = asked["build"].as_str().unwrap().to_owned();
    let planned = wait(&mut client, &id, "plan_ready");
    let next = planned["next"].as_str().unwrap();
    let approve = format!("builds approve {id}");
    assert!(next.contains(&approve), "{next}");
    let refused = client.refused("approve_build", json!({ "id": id }));
    assert!(refused.contains("only a person"), "{refused}");
    assert!(refused.contains(&approve), "{refused}");
    // The person does what the sentence says.
    yard.ends(&approve, 0);
    let built = wait(&mut client, &id, "completed");
    assert!(built["next"].as_str().unwrap().contains("build_diff"));
    let changes = client.call("build_diff", json!({ "id": id }));
    let changes = changes["diffs"].to_string();
    assert!(changes.contains("+better"), "{changes}");
    assert_eq!(client.close(), 0);
}

#[test]
fn an_agent_with_only_tools_gets_a_build_in_the_revision_without_sessions() {
    check_tools(STATELESS);
}

#[test]
fn an_agent_with_only_tools_gets_a_build_in_the_revision_with_sessions() {
    check_tools(SESSIONS);
}

/// Every command is one of the page's, with its words filled in.
#[test]
fn an_agent_with_only_a_shell_gets_a_build() {
    let yard = BuildFixture::new(well());
    let page = yard.ends("help agents", 0).out;
    let says = |command: &str| assert!(page.contains(command), "{command}: {page}");
    says("drawloom build \"what to change\" --plan-only --json");
    let asked = yard.ends(&format!("build '{PROMPT}' --plan-only --json"), 0);
    assert!(asked.out.contains("plan_ready"), "{}", asked.out);
    let id = yard.last()["id"].as_str().unwrap().to_owned();
    assert!(asked.out.contains(&id), "{}", asked.out);
    says("drawloom builds show ID --json");
    let shown = yard.ends(&format!("builds show {id} --json"), 0);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert!(shown["plan"].is_object(), "{shown}");
    says("a person runs: drawloom builds approve ID");
    yard.ends(&format!("builds approve {id}"), 0);
    says("drawloom builds diff ID");
    let changes = yard.ends(&format!("builds diff {id}"), 0).out;
    assert!(changes.contains("+better"), "{changes}");
}
