//! The values that expressions see at a task.

use serde_json::json;

use crate::script::{Stage, with};

#[test]
fn a_prompt_sees_what_the_table_says_and_nothing_else() {
    let workflow = with(
        "A[List] --> C[[Each: File]]\n C --> B[Do] --> D[More] --> J[Join] --> Z[End]",
        &[
            (
                "A",
                "{\"prompt\": \"{{input.who}} {{output}} {{run.id}} {{index}}\"}",
            ),
            (
                "C",
                "{\"itemsPath\": \"output.files\", \"itemVariable\": \"file\", \"prompt\": \"{{file.path}} {{index}}/{{total}} {{parentId}} {{output.n}}\"}",
            ),
            (
                "B",
                "{\"prompt\": \"{{file.path}} {{output.score}} {{steps.C.output.score}} {{steps.A.output.n}}\"}",
            ),
            (
                "D",
                "{\"prompt\": \"{{output}} {{steps.B.output}} {{agent.id}}\", \"defaultAssigneeId\": \"ann\"}",
            ),
            (
                "Z",
                "{\"prompt\": \"{{output.results.length}} {{steps.B.output}} {{steps.A.output.n + 1}}\"}",
            ),
        ],
    );
    let mut stage = Stage::new(&[("main", &workflow)], json!({ "who": "you" }));
    assert_eq!(stage.prompt("A"), "you {{output}} r {{index}}");
    stage.line("done A {\"n\": 4, \"files\": [{\"path\": \"a\"}, {\"path\": \"b\"}]}");
    assert_eq!(stage.prompt("C[1]/C"), "b 1/2 r/C 4");
    stage.line("done C[1]/C {\"score\": 9}");
    stage.line("done C[0]/C {\"score\": 1}");
    assert_eq!(stage.prompt("C[1]/B"), "b 9 9 4");
    stage.line("done C[1]/B \"x\"");
    stage.line("done C[0]/B \"y\"");
    assert_eq!(stage.prompt("C[1]/D"), "x x ann");
    stage.line("done C[1]/D 1");
    stage.line("done C[0]/D 1");
    assert_eq!(stage.prompt("Z"), "2 {{steps.B.output}} 5");
}
