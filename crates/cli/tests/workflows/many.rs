//! Many runs begun by one command.

use serde_json::{Value, json};

use crate::workflow_fixture::{bare, diagram, document, lines};

#[test]
fn every_line_of_a_file_begins_a_run() {
    let project = bare();
    let hands_on = json!({ "handler": "no_op", "config": { "output": "{{ input.n * 2 }}" } });
    project.write("double.mmd", &diagram(" A[Double]", &[("A", hands_on)]));
    let inputs: String = (0..40).map(|n| format!("{{\"n\": {n}}}\n\n")).collect();
    project.write("inputs.jsonl", &inputs);
    let begun = project.run("workflow start double.mmd --inputs inputs.jsonl --json --tag many");
    assert_eq!(begun.exit, 0, "{}", begun.err);
    let runs: Vec<Value> = lines(&begun)
        .iter()
        .map(|line| line["run"].clone())
        .collect();
    assert_eq!(project.run("worker --until-idle").exit, 0);
    for (n, run) in runs.iter().enumerate() {
        let name = format!("tasks show {}/A --json", run.as_str().unwrap());
        let shown = document(&project.run(&name));
        assert_eq!(shown["task"]["output"], json!(n * 2), "{shown}");
    }
    assert_eq!(runs.len(), 40);
}
