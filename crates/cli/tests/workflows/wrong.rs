//! Wrong uses: each says where and what to do, and begins nothing.

use crate::project::ExpectedText::{Has, Nothing};
use crate::project::{ExpectedRun, check};
use crate::workflow_fixture::bare;

#[test]
fn what_cannot_run_is_refused_before_it_begins() {
    let project = bare();
    let block = |config: &str| {
        format!(
            "graph TD\n A[One] --> B[Two]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"
        )
    };
    project.write("broken.mmd", "graph TD\n A[One --> B\n");
    project.write(
        "handler.mmd",
        &block(r#"{ "handler": "command", "config": { "rum": "ls" } }"#),
    );
    project.write(
        "agent.mmd",
        &block(r#"{ "defaultAssigneeId": "nobody-known" }"#),
    );
    project.write("id.mmd", &block("{}").replace("@A", "@X"));
    project.write("json.mmd", &block(r#"{ "promt": "x" }"#));
    project.write("fine.mmd", &block(r#"{ "handler": "no_op" }"#));
    project.write("half.jsonl", "{\"n\": 1}\n{\n");
    for (line, exit, says) in [
        ("workflow check broken.mmd", 1, &["broken.mmd:2", "^"][..]),
        ("workflow start broken.mmd --wait", 1, &["broken.mmd:2"]),
        (
            "workflow check handler.mmd",
            1,
            &["did you mean `run`?", "handler.mmd:4"],
        ),
        (
            "workflow check agent.mmd",
            1,
            &["nobody-known", "agent.mmd:4:31", "^^^^^^^^^^^^^^"],
        ),
        ("workflow check id.mmd", 1, &["`X`", "id.mmd:4:4", "^^"]),
        (
            "workflow check json.mmd",
            1,
            &["json.mmd:4:10", "^^^^^^^", "did you mean `prompt`?"],
        ),
        (
            "workflow check gone.mmd",
            1,
            &["no file and no workflow `gone.mmd`"],
        ),
        ("workflow start fine.mmd --input '{'", 1, &["not JSON"]),
        ("workflow start fine.mmd word", 64, &["NAME=VALUE"]),
        (
            "workflow start fine.mmd --inputs half.jsonl",
            1,
            &["half.jsonl:2", "no run was started"],
        ),
        (
            "workflow start fine.mmd --database mysql://x",
            64,
            &["is not a database that Drawloom knows"],
        ),
        ("runs show nothing", 1, &["there is no run `nothing`"]),
        ("tasks answer nothing x", 1, &["there is no run `nothing`"]),
        (
            "tasks answer last/A",
            1,
            &["there is no run of a workflow yet", "drawloom run FILE.mmd"],
        ),
        ("worker --lease 1", 64, &["such as 30s"]),
    ] {
        let err = Has(says);
        let out = Nothing;
        check(&project, line, ExpectedRun { exit, out, err });
    }
    let runs = project.run("runs list --json");
    assert!(runs.out.contains("\"runs\": []"), "{}", runs.out);
}
