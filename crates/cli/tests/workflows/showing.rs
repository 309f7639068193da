//! What `tasks show`, `runs show` and `tasks answer` say of a task and a run.

use serde_json::json;

use crate::weave::{bare, diagram, document};

#[test]
fn a_task_that_waits_for_its_retry_does_not_wait_for_a_person() {
    let project = bare();
    let slow = json!({
        "handler": "command", "timeout": "200ms", "retry": { "attempts": 2, "delay": "1h", "maxDelay": "1h" },
        "config": { "run": "sleep 9" },
    });
    project.write("slow.mmd", &diagram(" A[One]", &[("A", slow)]));
    assert_eq!(project.run("workflow start slow.mmd").exit, 0);
    assert_eq!(project.run("worker --until-idle --max-wait 100ms").exit, 1);
    let shown = project.run("tasks show last/A");
    assert!(
        shown.out.contains("is pending, tried again at 20"),
        "{}",
        shown.out
    );
    for piece in ["waits for a person", "answer:"] {
        assert!(!shown.out.contains(piece), "{}", shown.out);
    }
}

#[test]
fn an_answer_that_ends_the_run_says_so() {
    let project = bare();
    project.write("ask.mmd", &diagram(" A(Look)", &[]));
    assert_eq!(project.run("workflow start ask.mmd").exit, 0);
    let done = project.run("tasks answer last/A yes");
    assert!(done.err.contains("the run is completed"), "{}", done.err);
    assert_eq!(project.run("workflow start ask.mmd").exit, 0);
    let failed = project.run("tasks answer last/A --fail no");
    assert!(!failed.err.contains("a worker goes on"), "{}", failed.err);
}

#[test]
fn times_have_one_name_in_every_document() {
    let project = bare();
    project.write("ask.mmd", &diagram(" A(Look)", &[]));
    assert_eq!(project.run("workflow start ask.mmd").exit, 0);
    let shown = document(&project.run("runs show last --json"));
    assert!(shown["run"]["created_ms"].is_u64());
    assert!(shown["tasks"][0]["created_ms"].is_u64());
    assert!(shown["events"][0]["at_ms"].is_u64());
    assert_eq!(shown["events"][0]["at_ms"], shown["events"][0]["atMs"]);
    assert_eq!(project.run("users add ann --email ann@example.com").exit, 0);
    let listed = document(&project.run("users list --json"));
    assert!(listed["users"][0]["created_ms"].is_u64(), "{listed}");
}
