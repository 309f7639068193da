//! Sessions that follow each other: an agent that comes back is the same agent.

use serde_json::{Value, json};

use crate::client::{McpTestClient, SESSIONS, STATELESS};
use crate::project;
use crate::project::CliProject;

/// The step is assigned to the agent by its name, so that only the run's starter is an obstacle.
const OWN: &str = "\
flowchart TD
  A(Say it) --> B[Done]
%% === WORKFLOW_CONFIG ===
%% @A: { \"prompt\": \"Say it.\", \"defaultAssigneeId\": \"agent\" }
%% @B: { \"handler\": \"no_op\" }
%% === END_CONFIG ===
";

fn waiting_task(client: &mut McpTestClient, run: &Value) -> String {
    let found = (0..200).find_map(|_| {
        let shown = client.call("get_run", json!({ "id": run }));
        std::thread::sleep(std::time::Duration::from_millis(50));
        shown["waits_for"][0]["task"].as_str().map(str::to_owned)
    });
    found.unwrap_or_else(|| panic!("nothing waits"))
}

#[test]
fn an_agent_answers_no_task_of_a_run_that_an_earlier_session_started() {
    let project = CliProject::with(&[(".drawloom/workflows/own.mmd", OWN)]);
    let mut first = McpTestClient::start(&project, "mcp", SESSIONS);
    let run = first.call(
        "start_run",
        json!({ "workflow": "own", "wait_seconds": 20 }),
    );
    let task = waiting_task(&mut first, &run["run"]);
    assert_eq!(first.close(), 0);
    let mut second = McpTestClient::start(&project, "mcp", STATELESS);
    let answer = json!({ "id": task, "output": "done" });
    let refused = second.refused("answer_task", answer);
    assert!(refused.contains("you started this run"), "{refused}");
    // The same step of a run that a person has started is the agent's to answer.
    let started = project.run("workflow start own --json");
    assert_eq!(started.exit, 0, "{}", started.err);
    let task = waiting_task(&mut second, &json!("last"));
    let answered = second.call("answer_task", json!({ "id": task, "output": "done" }));
    assert!(
        answered["waits_for"].as_array().unwrap().is_empty(),
        "{answered}"
    );
}

#[test]
fn missing_values_are_asked_for_by_a_form_and_never_an_approval() {
    let project = project();
    let mut client = McpTestClient::start(&project, "mcp", STATELESS);
    let call = json!({ "name": "run_recipe", "arguments": { "name": "note" } });
    // A client that cannot show forms is told in words.
    let told = client.request("tools/call", call.clone());
    assert!(told["result"]["resultType"] != "input_required", "{told}");
    client.capabilities = json!({ "elicitation": { "form": {} } });
    let asked = client.request("tools/call", call);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let form = &asked["result"]["inputRequests"]["values"]["params"];
    assert_eq!(
        form["requestedSchema"]["required"],
        json!(["title"]),
        "{asked}"
    );
    let retry = |action: &str| {
        json!({
            "name": "run_recipe", "arguments": { "name": "note" },
            "inputResponses": { "values": { "action": action, "content": { "title": "Looms", "force": true } } },
        })
    };
    let declined = client.request("tools/call", retry("decline"));
    assert_eq!(declined["result"]["isError"], true, "{declined}");
    let given = client.request("tools/call", retry("accept"));
    let given = &given["result"]["structuredContent"];
    assert_eq!(given["status"], "answers_needed", "{given}");
    assert!(given.to_string().contains("Looms"), "{given}");
}
