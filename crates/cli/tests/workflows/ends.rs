//! Runs from their start to each of their ends.

use serde_json::json;

use crate::model::{ModelScript, ScriptedLine};
use crate::workflow_fixture::{bare, document, lines, reply, result, said, way, with_model};

const PR_REVIEW: &str = include_str!("data/pr-review.mmd");

/// A model that reviews with this score.
fn reviewers(score: u32, should_retry: bool) -> ModelScript {
    let step = |name: &str| -> &'static str { format!("Workflow Step: {name}").leak() };
    vec![
        (
            step("Fetch PR Details"),
            vec![reply(r#"{"title": "T", "author": "me"}"#)],
        ),
        (
            step("Get Changed Files"),
            vec![reply(r#"{"files": [{"path": "a.rs"}, {"path": "b.rs"}]}"#)],
        ),
        (
            step("Join Reviews"),
            vec![reply(
                &json!({ "score": score, "summary": "s" }).to_string(),
            )],
        ),
        (
            step("Review File"),
            vec![reply(r#"{"score": 80, "issues": []}"#)],
        ),
        (step("Auto Approve"), vec![reply("approved")]),
        (
            step("Request Changes"),
            vec![reply(&json!({ "shouldRetry": should_retry }).to_string())],
        ),
        (step("Merge PR"), vec![reply("merged")]),
        (step("Close PR"), vec![reply("closed")]),
    ]
}

#[test]
fn the_review_of_a_pull_request_comes_to_each_of_its_ends() {
    let begin = "A B C[0]/C C[1]/C C D";
    for (score, exit, end, output) in [
        (90, 0, "E>F F I", json!("merged")),
        (80, 0, "E>F F I", json!("merged")),
        (79, 2, "E>G", json!(null)),
        (49, 0, "E>H H J>K K", json!("closed")),
    ] {
        let (project, _model) = with_model(reviewers(score, false));
        project.write("pr.mmd", PR_REVIEW);
        let ran = project.run("workflow start pr.mmd --wait --json prNumber=7");
        assert_eq!(ran.exit, exit, "{}{}", ran.out, ran.err);
        let way = way(&ran);
        // Items end in whichever order.
        let way = way.replace("C[1]/C C[0]/C", "C[0]/C C[1]/C");
        assert_eq!(way, format!("{begin} {end}"), "score {score}");
        assert_eq!(result(&ran)["output"], output, "score {score}");
    }
}

#[test]
fn a_person_reviews_and_the_run_goes_on_where_it_was() {
    let (project, model) = with_model(reviewers(60, false));
    project.write("pr.mmd", PR_REVIEW);
    let ran = project.run("workflow start pr.mmd --wait prNumber=7");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(ran.err.contains("drawloom tasks answer"), "{}", ran.err);
    assert!(
        ran.err
            .contains("not output.score >= 80 (output.score = 60), output.score >= 50"),
        "{}",
        ran.err
    );
    let asked = model.received().len();
    assert_eq!(project.run("tasks answer last/G approved=true").exit, 0);
    let ran = project.run("runs resume last --wait --json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(result(&ran)["output"], "merged");
    assert_eq!(
        model.received().len(),
        asked + 1,
        "what was paid for is not asked again"
    );
    let task = document(&project.run("tasks show last/G --json"));
    assert_eq!(task["task"]["output"], json!({ "approved": true }));
}

#[test]
fn a_loop_that_does_not_end_pauses_the_run() {
    let (project, _model) = with_model(reviewers(10, true));
    let source = PR_REVIEW.replacen("%% @A: {", "%% @A: {\n%%   \"maxVisits\": 2,", 1);
    project.write("pr.mmd", &source);
    let ran = project.run("workflow start pr.mmd --wait --json prNumber=7");
    assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("maxVisits"), "{}", ran.err);
    assert!(way(&ran).contains("J>A A~2"), "{}", way(&ran));
}

#[test]
fn a_diagram_drawn_by_hand_runs_without_a_config() {
    let script: ModelScript = vec![
        ("**Title:** Write a poem", vec![reply("Roses are red.")]),
        ("**Title:** Translate it", vec![reply("Rosen sind rot.")]),
    ];
    let (project, model) = with_model(script);
    project.write(
        "poem.mmd",
        "flowchart LR\n  write[Write a poem] --> translate[Translate it]\n",
    );
    let ran = project.run("workflow start poem.mmd --wait");
    assert_eq!(
        (ran.exit, ran.out.as_str()),
        (0, "Rosen sind rot.\n"),
        "{}",
        ran.err
    );
    let second = model.received()[1].to_string();
    assert!(
        second.contains("Roses are red."),
        "the step before is told: {second}"
    );
}

#[test]
fn a_foreach_joins_every_item_once_and_in_order() {
    let project = bare();
    project.write(
        "each.mmd",
        "graph TD\n A[List] --> C[[Each: Item]]\n C --> W[Work]\n W --> D[Join]\n\
         %% === WORKFLOW_CONFIG ===\n\
         %% @A: { \"handler\": \"no_op\", \"config\": { \"output\": { \"items\": [5, 3, 1, 4, 2] } } }\n\
         %% @C: { \"itemsPath\": \"output.items\", \"itemVariable\": \"n\", \"handler\": \"no_op\", \"config\": { \"output\": \"{{n}}\" } }\n\
         %% @W: { \"handler\": \"command\", \"config\": { \"run\": \"sleep 0.0{{n}}; echo {{n * 10}}\", \"parse\": \"json\" } }\n\
         %% @D: { \"handler\": \"no_op\" }\n\
         %% === END_CONFIG ===\n",
    );
    let ran = project.run("workflow start each.mmd --wait --json");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let output = &result(&ran)["output"];
    assert_eq!(output["results"], json!([50, 30, 10, 40, 20]), "{output}");
    let ended = lines(&ran)
        .into_iter()
        .filter(|line| line["event"] == "item_ended");
    assert_eq!(ended.count(), 5);
}

#[test]
fn a_reply_that_cannot_be_read_is_corrected_twice_and_then_fails() {
    let mended = vec![ScriptedLine::Text("I did it!"), reply("fine")];
    let never = vec![ScriptedLine::Text("I did it!")];
    let continued = vec![said("PARTIAL", "half", "CONTINUE")];
    let script: ModelScript = vec![
        ("**Title:** Mended", mended),
        ("**Title:** Never", never),
        ("You asked for another turn", vec![reply("whole")]),
        ("**Title:** Turned", continued),
    ];
    let (project, model) = with_model(script);
    let once = "\n%% === WORKFLOW_CONFIG ===\n%% @A: { \"retry\": { \"attempts\": 1 } }\n%% === END_CONFIG ===\n";
    for (label, exit, output, calls) in [
        ("Mended", 0, json!("fine"), 2),
        ("Turned", 0, json!("whole"), 2),
        ("Never", 1, json!(null), 3),
    ] {
        let before = model.received().len();
        project.write("one.mmd", &format!("graph TD\n A[{label}]{once}"));
        let ran = project.run("workflow start one.mmd --wait --json");
        assert_eq!(ran.exit, exit, "{label}: {}{}", ran.out, ran.err);
        assert_eq!(model.received().len() - before, calls, "{label}");
        assert_eq!(result(&ran)["output"], output, "{label}");
    }
}
