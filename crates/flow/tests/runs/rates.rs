//! How many tasks of a handler or a model begin within a span of time.

use flow::engine::{EngineCommand, RefusalKind};
use flow::{RateLimit, RateScope, StepHandler};
use serde_json::json;

use crate::script::{Stage, with};

const LINES: &str =
    "H[Call] --> Z[End]\n C[Run] --> Z\n G[Write] --> Z\n P[Other model] --> Z\n N[Nothing] --> Z";
const STEPS: [(&str, &str); 5] = [
    (
        "H",
        "{ \"handler\": \"http\", \"config\": { \"url\": \"https://example.org\" } }",
    ),
    (
        "C",
        "{ \"handler\": \"command\", \"config\": { \"run\": \"true\" } }",
    ),
    ("G", "{ \"handler\": \"code_generation\" }"),
    (
        "P",
        "{ \"handler\": \"code_generation\", \"config\": { \"model_preference\": { \"model\": \"small\" } } }",
    ),
    ("N", "{ \"handler\": \"no_op\" }"),
];

fn limit(name: &str, scope: RateScope, max: u32) -> RateLimit {
    RateLimit {
        name: name.to_owned(),
        scope,
        max,
        per_ms: 1_000,
    }
}

fn model(name: &str, handlers: &[StepHandler]) -> RateScope {
    RateScope::Model {
        name: name.to_owned(),
        handlers: handlers.to_vec(),
    }
}

/// Claims tasks one after the other at the times that are said. Those in brackets have to wait.
#[track_caller]
fn check(rates: &[RateLimit], claims: &str) {
    let source = with(LINES, &STEPS);
    let mut stage = Stage::new(&[("main", &source)], json!({}));
    let begun_ms = stage.now_ms;
    for word in claims.split_whitespace() {
        let (word, waits) = match word
            .strip_prefix('(')
            .and_then(|word| word.strip_suffix(')'))
        {
            Some(inner) => (inner, true),
            None => (word, false),
        };
        let (step, at_ms) = word.split_once('@').unwrap();
        let claim = EngineCommand::Claim {
            task: format!("r/{step}").parse().unwrap(),
            worker: "w".to_owned(),
            lease_ms: 60_000,
            rates: rates.to_vec(),
        };
        let now_ms = begun_ms + at_ms.parse::<u64>().unwrap();
        let workflow = &stage.workflows["main"];
        let executed = stage.memory.execute(workflow, &claim, now_ms);
        let kind = executed.err().map(|refusal| refusal.kind);
        let expected = waits.then_some(RefusalKind::NoRoom);
        assert_eq!(kind, expected, "{word} of {claims}");
    }
}

#[test]
fn tasks_of_a_handler_begin_no_faster_than_its_limit() {
    let http = limit("calls", RateScope::Handler(StepHandler::Http), 1);
    let agents = limit("agents", RateScope::Handler(StepHandler::CodeGeneration), 1);
    check(std::slice::from_ref(&http), "H@0 C@0 G@0 P@0 N@0");
    check(
        std::slice::from_ref(&agents),
        "G@0 (P@0) (P@999) C@999 P@1000",
    );
    check(&[http, agents], "P@5 H@5 (G@900) G@1005");
}

#[test]
fn tasks_that_ask_a_model_begin_no_faster_than_its_limit() {
    let large = limit("large", model("large", &[StepHandler::CodeGeneration]), 1);
    let small = limit("small", model("small", &[]), 1);
    // A step that names another model is not counted with those that name none.
    check(std::slice::from_ref(&large), "G@0 P@0");
    check(std::slice::from_ref(&small), "P@0 G@0");
    let both = limit("all", model("small", &[StepHandler::CodeGeneration]), 1);
    check(&[both], "P@0 (G@10) G@1000");
    // A task that one limit holds up does not count for another.
    let agents = limit("agents", RateScope::Handler(StepHandler::CodeGeneration), 2);
    check(&[agents, large, small], "G@0 P@1");
}

#[test]
fn what_has_begun_counts_until_its_span_is_over() {
    let wide = limit("agents", RateScope::Handler(StepHandler::CodeGeneration), 2);
    check(&[wide], "G@0 P@400");
    let narrow = RateLimit {
        per_ms: 500,
        ..limit("agents", RateScope::Handler(StepHandler::CodeGeneration), 1)
    };
    check(&[narrow], "G@0 (P@499) P@500");
}
