//! Rows and events as stores keep them, and several commands in one transaction.

use serde_json::json;

use crate::script::Stage;

#[test]
fn every_row_and_event_is_read_back_as_it_was_written() {
    let mut stage = Stage::new(&[("main", include_str!("../pr-review.mmd"))], json!({}));
    for line in [
        "done A {}",
        "done B {\"files\": [1, 2]}",
        "fail C[0]/C timeout",
        "claim C[1]/C",
    ] {
        stage.line(line);
    }
    fn same<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
        row: &T,
    ) {
        let text = serde_json::to_string(row).unwrap();
        assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *row);
    }
    let memory = &stage.memory;
    memory.runs.values().for_each(same);
    memory.tasks.values().for_each(same);
    memory.groups.values().for_each(same);
    memory.items.values().for_each(same);
    memory.events.values().flatten().for_each(same);
    memory.outbox.iter().for_each(same);
}

#[test]
fn commands_in_one_transaction_see_each_other_and_what_is_stored() {
    let source = "graph TD\n A[a] --> B[b] & C[c] & E[e]\n B --> D[d]\n C --> D\n E --> D";
    let mut stage = Stage::new(&[("main", source)], json!({}));
    for line in ["done A 1", "done B 1", "done C 1", "claim D", "claim E"] {
        stage.line(line);
    }
    let workflow = stage.workflows["main"].clone();
    let mut batch = flow::engine::RowCache::new();
    for task in ["r/D", "r/E"] {
        let command = flow::engine::EngineCommand::Report {
            task: task.parse().unwrap(),
            fence: 1,
            report: flow::engine::AttemptReport::completed(json!(1)),
        };
        for lookup in flow::engine::likely(&workflow, &command) {
            stage.memory.teach(&mut batch, lookup);
        }
        loop {
            match flow::engine::decide(&workflow, &mut batch, &command, 2_000) {
                Ok(decision) => break batch.commit(decision),
                Err(flow::engine::DecisionStop::Rows(lookup)) => {
                    stage.memory.teach(&mut batch, lookup)
                }
                Err(stop) => panic!("{stop:?}"),
            }
        }
    }
    let changes = batch.changes();
    assert_eq!(
        changes.runs.len(),
        1,
        "a row that changes twice is written once"
    );
    stage.memory.commit(changes);
    assert_eq!(
        stage.shown(),
        "A:completed B:completed C:completed D:completed D~2:pending D~3:pending E:completed run:running"
    );
}
