//! `drawloom schema`: what editors and models are given.

use serde_json::Value;

use crate::project::CliProject;

#[test]
fn the_schemas_are_json_and_know_every_key() {
    let project = CliProject::empty();
    for (kind, keys) in [
        (
            "task",
            &[
                "subtask_id",
                "type",
                "instructions",
                "validation_criteria",
                "model_preference",
            ][..],
        ),
        ("plan", &["goal", "tasks"][..]),
    ] {
        let ran = project.run(&format!("schema {kind}"));
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
        let schema: Value = serde_json::from_str(&ran.out).unwrap();
        assert!(
            schema["$schema"].as_str().unwrap().contains("2020-12"),
            "{kind}"
        );
        for key in keys {
            assert!(
                schema["properties"].get(key).is_some(),
                "{kind} lacks {key}"
            );
        }
    }
    assert!(project.tree().is_empty(), "a schema leaves no trace");
}
