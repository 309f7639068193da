//! Steering: runs are cancelled, paused, pinned to their text.

use serde_json::json;

use crate::script::{EACH, Stage, check, with};

#[test]
fn cancelling_stops_everything_and_refuses_what_comes_after() {
    let workflow = with(
        EACH,
        &[
            ("C", "{\"itemsPath\": \"output\", \"prompt\": \"x\"}"),
            ("J", "{\"timeout\": 10}"),
        ],
    );
    check(
        &workflow,
        "done A [1,2,3]\n claim C[0]/C\n fail C[1]/C timeout\n cancel\n refused stale_fence late C[0]/C 1 1
         refused stale_fence beat C[0]/C 1\n refused wrong_status cancel\n wait 100000\n fire
         expect reason Enough.",
        "A:completed C:cancelled C[0]/C:cancelled C[1]/C:cancelled C[2]/C:cancelled run:cancelled",
    );
}

#[test]
fn a_paused_run_is_not_claimed_from_and_ends_what_is_under_way() {
    check(
        "graph TD\n A[One] --> B[Two]",
        "claim A\n pause\n late A 1 1\n refused not_ready take B\n refused wrong_status retry A\n resume\n refused wrong_status resume\n done B 1",
        "A:completed B:completed run:completed",
    );
}

#[test]
fn a_run_is_pinned_to_its_text() {
    let mut stage = Stage::new(&[("main", "graph TD\n A[x] --> B[y]")], json!({}));
    let other = flow::parse("graph TD\n A[x] --> C[z]").unwrap();
    let claim = flow::engine::EngineCommand::Claim {
        task: "r/A".parse().unwrap(),
        worker: "w".to_owned(),
        lease_ms: 1,
        rates: Vec::new(),
    };
    let refusal = stage.memory.execute(&other, &claim, 2_000).unwrap_err();
    assert_eq!(refusal.kind, flow::engine::RefusalKind::WrongWorkflow);
}

#[test]
fn a_second_start_is_refused_and_so_is_what_is_not_there() {
    let mut stage = Stage::new(&[("main", "graph TD\n A[x]")], json!({}));
    let start = flow::engine::EngineCommand::Start(flow::engine::RunStart::new("r", json!({})));
    let refusal = stage.execute(&start).unwrap_err();
    assert_eq!(json!(refusal.kind), "already_started");
    for line in [
        "refused no_such_task take Nowhere",
        "refused no_such_task retry A~2",
        "refused stale_fence late A 0 1",
        "refused wrong_status answer A 1",
    ] {
        stage.line(line);
    }
}
