//! Edits that touch nothing else.

use flow::parse;
use serde_json::json;

use crate::SEED;

#[test]
fn an_edit_changes_the_lines_of_its_step_and_no_other() {
    let workflow = parse(SEED).unwrap();
    let edited = workflow
        .with_config(
            &"E".into(),
            Some("{\n  \"stepType\": \"decision\",\n\n  \"description\": \"x\"\n}"),
        )
        .unwrap();
    let expected = SEED.replace(
        "%% @E: { \"stepType\": \"decision\" }",
        "%% @E: {\n%%   \"stepType\": \"decision\",\n%% \n%%   \"description\": \"x\"\n%% }",
    );
    assert_eq!(edited.source(), expected);
    let value = json!({ "stepType": "decision" });
    assert_eq!(
        edited
            .with_config_value(&"E".into(), &value)
            .unwrap()
            .source(),
        SEED
    );
    let prompt = json!({ "execution": "manual", "prompt": "a\n\"b\" %% {{output}}" });
    let manual = workflow.with_config_value(&"K".into(), &prompt).unwrap();
    let step = manual.step(&"K".into()).unwrap();
    assert_eq!(
        step.config.prompt.as_deref(),
        Some("a\n\"b\" %% {{output}}")
    );
    let (before, after) = (SEED.lines().count(), manual.source().lines().count());
    assert_eq!(before - 1, after);
    // No config at all, and a first one.
    let gone = workflow.with_config(&"J".into(), None).unwrap();
    assert_eq!(
        gone.source(),
        SEED.replace("%% @J: { \"stepType\": \"decision\" }\n", "")
    );
    let bare = parse("graph TD\n A[x]").unwrap();
    let added = bare
        .with_config_value(&"A".into(), &json!({ "prompt": "p" }))
        .unwrap();
    assert_eq!(
        added.source(),
        "graph TD\n A[x]\n\n%% === WORKFLOW_CONFIG ===\n%% @A: { \"prompt\": \"p\" }\n%% === END_CONFIG ===\n"
    );
    assert_ne!(added.hash(), bare.hash());
}
