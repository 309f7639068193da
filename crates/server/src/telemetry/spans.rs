//! Spans in the JSON form of OTLP.
//!
//! Ids follow from names: every process that sees an event makes the same span, and the span of a run may
//! be sent after those of its attempts.

use flow::TaskId;
use flow::engine::{CallRow, EventKind, RunEvent, RunRow, StatusMove};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The kind of a span that calls no other service.
const INTERNAL: u8 = 1;
/// The kind of a span that does.
const CLIENT: u8 = 3;
/// The status of a span that failed.
const FAILED: u8 = 2;
/// The longest name of a model that is sent.
const NAME_CHARS_MAX: usize = 200;

/// The span of a run that has ended.
pub(super) fn of_run(row: &RunRow, event: &RunEvent) -> Value {
    let run = row.id.to_string();
    let workflow = row.name.as_deref().unwrap_or("workflow");
    let mut attributes = vec![
        text("drawloom.run", &run),
        text("drawloom.workflow", workflow),
    ];
    let mut is_good = true;
    if let EventKind::RunEnded { status, .. } = &event.what {
        attributes.push(text("drawloom.status", status.name()));
        is_good = status.name() != "failed";
    }
    let mut span = span(&run, &format!("run {workflow}"));
    span["spanId"] = json!(run_id(&run));
    finish(&mut span, row.created_ms, event.at_ms, attributes, is_good);
    if let Some(parent) = &row.parent {
        // The run of a step of another run is a trace of its own, which leads to the other.
        let other = parent.run.to_string();
        span["links"] = json!([{ "traceId": trace_id(&other), "spanId": run_id(&other) }]);
    }
    span
}

/// The span of an attempt that has ended; none for other events.
pub(super) fn of_attempt(event: &RunEvent, begun_ms: u64) -> Option<Value> {
    let EventKind::TaskMoved {
        task,
        by,
        attempt,
        class,
        spent,
        ..
    } = &event.what
    else {
        return None;
    };
    let run = event.run.to_string();
    let mut attributes = vec![
        text("drawloom.run", &run),
        text("drawloom.task", &task.to_string()),
        number("drawloom.attempt", u64::from(*attempt)),
        text("drawloom.status", by.to().name()),
    ];
    if let Some(class) = class {
        attributes.push(text("error.type", class.name()));
    }
    if let Some(spent) = spent {
        attributes.push(number("drawloom.tokens", spent.tokens));
        attributes.push(number("drawloom.cost_micros", spent.micros));
    }
    let mut span = span(&run, &format!("attempt {}", step_of(task)));
    span["spanId"] = json!(attempt_id(task, event.seq));
    span["parentSpanId"] = json!(run_id(&run));
    let is_good = class.is_none() && *by != StatusMove::Fail;
    finish(&mut span, begun_ms, event.at_ms, attributes, is_good);
    Some(span)
}

/// The span of a call of a model.
pub(super) fn of_call(row: &CallRow) -> Value {
    let run = row.task.run.to_string();
    let call = &row.call;
    let model: String = call
        .by
        .as_deref()
        .unwrap_or("unknown")
        .chars()
        .take(NAME_CHARS_MAX)
        .collect();
    let attributes = vec![
        text("drawloom.run", &run),
        text("drawloom.task", &row.task.to_string()),
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.response.model", &model),
        number("gen_ai.usage.input_tokens", call.usage.input_tokens),
        number("gen_ai.usage.output_tokens", call.usage.output_tokens),
    ];
    let mut span = span(&run, &format!("chat {model}"));
    span["kind"] = json!(CLIENT);
    span["spanId"] = json!(id(
        &["call", &row.task.to_string(), &row.seq.to_string()],
        8
    ));
    span["parentSpanId"] = json!(attempt_id(&row.task, row.seq));
    finish(&mut span, call.begun_ms, call.ended_ms, attributes, true);
    span
}

/// The message with these spans.
pub(super) fn message(spans: Vec<Value>) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        text("service.name", "drawloom"),
        text("service.version", version),
    ];
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": { "name": "drawloom", "version": version }, "spans": spans }],
    }] })
}

fn span(run: &str, name: &str) -> Value {
    json!({ "traceId": trace_id(run), "name": name, "kind": INTERNAL })
}

fn finish(span: &mut Value, begun_ms: u64, ended_ms: u64, attributes: Vec<Value>, is_good: bool) {
    let nanos = |ms: u64| (u128::from(ms) * 1_000_000).to_string();
    span["startTimeUnixNano"] = json!(nanos(begun_ms.min(ended_ms)));
    span["endTimeUnixNano"] = json!(nanos(ended_ms));
    span["attributes"] = json!(attributes);
    if !is_good {
        span["status"] = json!({ "code": FAILED });
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// A whole number, which OTLP writes as a text.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// The name of a task's step, without its run.
fn step_of(task: &TaskId) -> String {
    let name = task.to_string();
    match name.split_once('/') {
        Some((_, step)) => step.to_owned(),
        None => name,
    }
}

fn trace_id(run: &str) -> String {
    id(&["trace", run], 16)
}

fn run_id(run: &str) -> String {
    id(&["run", run], 8)
}

fn attempt_id(task: &TaskId, seq: u64) -> String {
    id(&["attempt", &task.to_string(), &seq.to_string()], 8)
}

/// An id of some bytes, as hexadecimal digits.
fn id(parts: &[&str], bytes: usize) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    let digits = digest.finalize();
    digits
        .iter()
        .take(bytes)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use flow::engine::{CallUsage, ModelCall};

    use super::*;

    #[test]
    fn the_span_of_a_call_has_its_model_and_times_and_no_word_of_it() {
        let secret = "sk-secret";
        let row = CallRow {
            task: "r/A".parse().unwrap(),
            seq: 4,
            attempt: 1,
            call: ModelCall {
                by: Some("claude".to_owned()),
                layers: Vec::new(),
                replies: vec![secret.to_owned()],
                summary: Some(secret.to_owned()),
                confidence: None,
                suggested_tags: Vec::new(),
                suggested_next_stage: None,
                usage: CallUsage {
                    input_tokens: 7,
                    output_tokens: 9,
                },
                begun_ms: 1_000,
                ended_ms: 2_500,
            },
        };
        let span = of_call(&row);
        assert!(!span.to_string().contains(secret), "{span}");
        assert_eq!(span["startTimeUnixNano"], "1000000000");
        assert_eq!(span["endTimeUnixNano"], "2500000000");
        assert_eq!(span["parentSpanId"], attempt_id(&row.task, 4));
        assert_eq!(span["traceId"], trace_id("r"));
        assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        assert!(
            span.to_string()
                .contains("{\"key\":\"gen_ai.usage.input_tokens\",\"value\":{\"intValue\":\"7\"}}")
        );
    }
}
