//! What `tasks show`, `runs show` and `tasks answer` say of a task and a run.

use serde_json::json;

use crate::workflow_fixture::{bare, diagram, document};

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

#[test]
fn a_step_knows_its_agent_by_name() {
    let project = bare();
    let settings = project.read("drawloom.toml");
    let agent = "[agents.rev]\nname = \"Code Review Agent\"\nprompt = \"You review.\"\n";
    project.write("drawloom.toml", &format!("{settings}\n{agent}"));
    let step = json!({
        "handler": "command", "defaultAssigneeId": "rev",
        "config": { "run": "echo {{agent.id}} {{agent.name}} {{agent.displayName}}" },
    });
    project.write("a.mmd", &diagram(" A[One]", &[("A", step)]));
    let ran = project.run("workflow start a.mmd --wait");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let shown = document(&project.run("tasks show last/A --json"));
    assert_eq!(
        shown["task"]["output"]["stdout"],
        "rev Code Review Agent Code Review Agent\n"
    );
}

#[test]
fn an_item_is_in_its_prompt_whatever_the_prompt_contains() {
    let project = bare();
    let each = json!({ "itemsPath": "input.xs", "itemVariable": "fruit", "prompt": "Look at it." });
    project.write(
        "e.mmd",
        &diagram(
            " E[[Each: Fruit]] --> J[Join]",
            &[("E", each), ("J", json!({ "handler": "no_op" }))],
        ),
    );
    let ran = project.run("workflow start e.mmd --wait xs='[\"apple\",\"pear\"]'");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    for (item, fruit, other) in [(0, "apple", "pear"), (1, "pear", "apple")] {
        let shown = project.run(&format!("tasks show 'last/E[{item}]/E'"));
        assert!(shown.out.contains(fruit), "{}", shown.out);
        assert!(!shown.out.contains(other), "{}", shown.out);
    }
}

#[test]
fn progress_of_a_foreach_in_a_foreach_names_the_step_and_not_one_of_its_items() {
    let project = bare();
    let outer = json!({ "itemsPath": "input.xs", "itemVariable": "x" });
    let inner = json!({ "itemsPath": "x", "itemVariable": "y", "handler": "no_op" });
    let nothing = json!({ "handler": "no_op" });
    project.write(
        "n.mmd",
        &diagram(
            " A[[Each: Outer]] --> B[[Each: Inner]]\n B --> C[Join inner]\n C --> D[Join outer]",
            &[
                ("A", outer),
                ("B", inner),
                ("C", nothing.clone()),
                ("D", nothing),
            ],
        ),
    );
    let ran = project.run("workflow start n.mmd --wait xs='[[1,2],[3,4]]'");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(ran.err.contains("⧉ B: 4 of 4 done"), "{}", ran.err);
    let progress = ran.err.lines().filter(|line| line.ends_with(" done"));
    assert!(
        progress.clone().all(|line| !line.contains('[')),
        "{}",
        ran.err
    );
}

#[test]
fn an_answer_of_the_wanted_shape_is_shown_with_the_question() {
    let project = bare();
    let schema = json!({
        "type": "object", "required": ["ok", "verdict"],
        "properties": { "ok": { "type": "boolean" }, "verdict": { "enum": ["ship", "stop"] } },
    });
    let ask = json!({ "prompt": "Ship it?", "outputSchema": schema });
    project.write("q.mmd", &diagram(" P(Approve)", &[("P", ask)]));
    assert_eq!(project.run("workflow start q.mmd").exit, 0);
    let shown = project.run("tasks show last/P");
    for piece in ["drawloom tasks answer", "ok=", "verdict=ship"] {
        assert!(shown.out.contains(piece), "{piece}: {}", shown.out);
    }
}

/// In a prompt, `{{input.score}}` is looked up in the output of the step before as well: the person who starts
/// the run is not told to give it. In the first step, and in a condition, only the run's own input has it.
#[test]
fn an_input_that_the_step_before_may_give_is_not_asked_for() {
    let project = bare();
    let score = json!({ "handler": "no_op", "config": { "output": { "score": 60 } } });
    let ask = json!({ "prompt": "Score: {{input.score}}/100" });
    let text = diagram(" A[One] --> G(Look)", &[("A", score), ("G", ask.clone())]);
    project.write("score.mmd", &text);
    let started = project.run("workflow start score.mmd --wait");
    assert_eq!(started.exit, 2, "{}", started.err);
    assert!(started.err.contains("Score: 60/100"), "{}", started.err);
    assert!(!started.err.contains("is not given"), "{}", started.err);
    project.write("first.mmd", &diagram(" G(Look)", &[("G", ask)]));
    let started = project.run("workflow start first.mmd");
    let warned = "the workflow reads `input.score`, which is not given";
    assert!(started.err.contains(warned), "{}", started.err);
}

#[test]
fn a_command_that_fails_without_a_word_is_told_in_a_whole_sentence() {
    let project = bare();
    let fails = json!({ "handler": "command", "config": { "run": "exit 3" } });
    project.write("fails.mmd", &diagram(" A[One]", &[("A", fails)]));
    let ran = project.run("workflow start fails.mmd --wait");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    assert!(ran.err.contains("`exit 3` exited with 3.\n"), "{}", ran.err);
}
