//! An agent that has only the tools, in both eras of the protocol.

use serde_json::{Value, json};

use crate::client::{McpTestClient, SESSIONS, STATELESS};
use crate::project;

/// Recipe → questions → answers → files.
fn check_recipe(revision: &str) {
    let project = project();
    let mut client = McpTestClient::start(&project, "mcp", revision);
    let listed = client.call("list_recipes", json!({}));
    assert_eq!(listed["recipes"][0]["name"], "note", "{listed}");
    let values = json!({ "title": "Looms" });
    let asked = client.call("run_recipe", json!({ "name": "note", "values": values }));
    assert_eq!(asked["status"], "answers_needed", "{asked}");
    assert!(asked["request"].to_string().contains("summary"), "{asked}");
    assert!(!project.path().join("note.md").exists());
    let answers = json!({ "summary": "They weave." });
    let preview = json!({ "name": "note", "values": values, "answers": answers, "dry_run": true });
    let shown = client.call("run_recipe", preview);
    assert_eq!(shown["status"], "preview", "{shown}");
    assert!(!project.path().join("note.md").exists());
    let run = json!({ "name": "note", "values": values, "answers": answers });
    let done = client.call("run_recipe", run);
    assert_eq!(done["status"], "done", "{done}");
    assert!(project.read("note.md").contains("They weave."));
    assert_eq!(client.close(), 0);
}

#[test]
fn a_recipe_is_run_with_questions_by_clients_with_sessions() {
    check_recipe(SESSIONS);
}

#[test]
fn a_recipe_is_run_with_questions_by_stateless_clients() {
    check_recipe(STATELESS);
}

/// A run parks at a person's step, the agent may not answer it, the person does, the run ends.
fn check_workflow(revision: &str) {
    let project = project();
    let mut client = McpTestClient::start(&project, "mcp", revision);
    let listed = client.call("list_workflows", json!({}));
    assert_eq!(listed["workflows"][0]["name"], "review", "{listed}");
    let run = client.call(
        "start_run",
        json!({ "workflow": "review", "wait_seconds": 20 }),
    );
    assert_eq!(run["status"], "running", "{run}");
    let waits = &run["waits_for"][0];
    assert_eq!(waits["prompt"], "Is it good?", "{run}");
    let task = waits["task"].as_str().unwrap().to_owned();
    let refused = client.refused("answer_task", json!({ "id": task, "output": "yes" }));
    assert!(refused.contains("may not answer"), "{refused}");
    assert!(refused.contains("drawloom tasks answer"), "{refused}");
    let answered = project.run(&format!("tasks answer {task} yes"));
    assert_eq!(answered.exit, 0, "{}", answered.err);
    let id = json!({ "id": run["run"] });
    let ended = (0..200).find_map(|_| {
        let run = client.call("get_run", id.clone());
        std::thread::sleep(std::time::Duration::from_millis(50));
        (run["status"] == "completed").then_some(run)
    });
    let ended = ended.unwrap_or_else(|| panic!("the run did not end"));
    assert_eq!(ended["steps"].as_array().map(Vec::len), Some(3), "{ended}");
    assert_eq!(client.close(), 0);
}

#[test]
fn a_run_waits_for_a_person_and_goes_on_for_clients_with_sessions() {
    check_workflow(SESSIONS);
}

#[test]
fn a_run_waits_for_a_person_and_goes_on_for_stateless_clients() {
    check_workflow(STATELESS);
}

#[test]
fn a_run_is_cancelled() {
    let project = project();
    let mut client = McpTestClient::start(&project, "mcp", SESSIONS);
    let run = client.call("start_run", json!({ "workflow": "review" }));
    let cancel = json!({ "id": run["run"], "action": "cancel" });
    let cancelled = client.call("control_run", cancel);
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
}

#[test]
fn a_workflow_is_checked_saved_and_explained() {
    let project = project();
    let mut client = McpTestClient::start(&project, "mcp --tools author", SESSIONS);
    let wrong = client.call("check_workflow", json!({ "mermaid": "flowchart TD\n  A[" }));
    assert_eq!(wrong["can_run"], false, "{wrong}");
    assert_eq!(wrong["problems"][0]["line"], 2, "{wrong}");
    let step = json!({ "workflow": "review", "step": "B" });
    let explained = client.call("explain_step", step);
    assert_eq!(explained["prompt"], "Is it good?", "{explained}");
    let text = project
        .read(".drawloom/workflows/review.mmd")
        .replace("good", "fine");
    let blind = json!({ "name": "review", "mermaid": text, "message": "words" });
    client.refused("save_workflow", blind);
    let save =
        json!({ "name": "review", "mermaid": text, "seen": explained["hash"], "message": "words" });
    let saved = client.call("save_workflow", save);
    assert_eq!(saved["version"], 1, "{saved}");
    assert!(
        project
            .read(".drawloom/workflows/review.mmd")
            .contains("Is it fine?")
    );
}

#[test]
fn the_project_is_inspected() {
    let project = project();
    project.write(
        "src/a.ts",
        "import { b } from './b';\nexport const a = b;\n",
    );
    project.write("src/b.ts", "export const b = 1;\n");
    let mut client = McpTestClient::start(&project, "mcp --tools look", SESSIONS);
    let index = client.call("project_index", json!({ "budget": 500 }));
    assert!(
        index["index"].as_str().unwrap().contains("src/a.ts"),
        "{index}"
    );
    let reached = client.call("impact", json!({ "files": ["src/b.ts"] }));
    assert_eq!(reached["files"][0]["path"], "src/a.ts", "{reached}");
}

#[test]
fn resources_and_prompts_are_listed_and_read() {
    let project = project();
    let mut client = McpTestClient::start(&project, "mcp", SESSIONS);
    let listed = client.request("resources/list", json!({}));
    let listed = listed["result"]["resources"].to_string();
    assert!(listed.contains("drawloom://workflow/review"), "{listed}");
    let uri = json!({ "uri": "drawloom://workflow/review" });
    let read = client.request("resources/read", uri);
    assert_eq!(read["result"]["contents"][0]["text"], crate::REVIEW);
    let prompts = client.request("prompts/list", json!({}));
    let names: Vec<&Value> = prompts["result"]["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| &prompt["name"])
        .collect();
    assert_eq!(names, ["write_workflow", "write_recipe", "explain_run"]);
    let get = json!({ "name": "explain_run", "arguments": { "run": "last" } });
    let got = client.request("prompts/get", get);
    let text = got["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(text.ends_with("run: last\n"), "{text}");
}

#[test]
fn agents_with_only_a_shell_have_a_page() {
    let project = project();
    let page = project.run("help agents");
    assert_eq!(page.exit, 0, "{}", page.err);
    assert!(page.out.contains("--answers answers.json"), "{}", page.out);
}
