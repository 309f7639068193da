//! Failures: attempts, error edges, fallbacks, lost leases.

use crate::script::{check, with};

#[test]
fn retryable_failures_are_tried_again_after_a_while() {
    let workflow = "graph TD\n A[Try] --> B[Then]";
    check(
        workflow,
        "fail A timeout\n refused not_ready take A\n wait 5000\n fail A rate_limited\n wait 10000\n done A 1\n expect A attempt 3",
        "A:completed B:pending run:running",
    );
    check(
        workflow,
        "fail A timeout\n wait 5000\n fail A unavailable\n wait 10000\n fail A unparsable_reply No sense in it.
         expect A hold failed\n expect reason No sense in it.\n expect notices on_hold run_paused",
        "A:on_hold run:paused",
    );
    check(
        workflow,
        "fail A auth Who are you?\n expect A attempt 1",
        "A:on_hold run:paused",
    );
}

#[test]
fn after_the_last_attempt_come_the_error_edge_and_the_fallback() {
    let workflow = "graph TD\n A[Try] --> B[Then]\n A -->|onError| C[Mend]";
    check(
        workflow,
        "fail A auth Who are you?
         expect A output {\"error\": {\"class\": \"auth\", \"message\": \"Who are you?\", \"step\": \"A\", \"attempts\": 1}, \"output\": null}
         done C 1",
        "A:failed C:completed run:completed",
    );
    let fallback = with(
        "A[Try] --> B[Then]",
        &[("A", "{\"fallbackAssigneeId\": \"bob\"}")],
    );
    check(
        &fallback,
        "fail A failed\n expect A assignee bob\n done A 1",
        "A:completed B:pending run:running",
    );
    check(
        &fallback,
        "fail A failed\n fail A failed Again.\n expect reason Again.",
        "A:on_hold run:paused",
    );
    let fast = with(
        "A[Try] --> B[Then]\n X[Other]",
        &[("A", "{\"failFast\": true}")],
    );
    check(
        &fast,
        "fail A failed Gone.\n expect reason Gone.",
        "A:failed X:cancelled run:failed",
    );
}

#[test]
fn what_a_worker_gives_back_is_ready_at_once_and_has_lost_no_attempt() {
    check(
        "graph TD\n A[Try] --> B[Then]",
        "back A\n back A\n back A\n back A\n expect A attempt 0\n fail A timeout\n expect A attempt 1
         wait 5000\n back A\n done A 1\n expect A attempt 2",
        "A:completed B:pending run:running",
    );
}

#[test]
fn the_same_attempt_waits_the_same_time_everywhere() {
    let retry = flow::RetryPolicy::default();
    let task: flow::TaskId = "r/A".parse().unwrap();
    let waits: Vec<u64> = (1..=9)
        .map(|n| flow::engine::backoff_ms(&retry, &task, n))
        .collect();
    assert_eq!(
        waits,
        (1..=9)
            .map(|n| flow::engine::backoff_ms(&retry, &task, n))
            .collect::<Vec<_>>()
    );
    for (n, wait) in (0_u32..).zip(&waits) {
        let full = (5_000 << n).min(300_000);
        assert!((full / 2..=full).contains(wait), "{n}: {wait}");
    }
    let other: flow::TaskId = "r/B".parse().unwrap();
    assert_ne!(waits[3], flow::engine::backoff_ms(&retry, &other, 4));
}

#[test]
fn a_lost_lease_is_another_attempt_and_the_old_fence_is_refused() {
    check(
        "graph TD\n A[Try] --> B[Then]",
        "claim A\n refused wrong_status take A\n wait 60000\n expire\n refused stale_fence late A 1 1
         refused stale_fence beat A 1\n wait 5000\n claim A\n refused stale_fence late A 1 1
         beat A 2\n wait 59999\n expire\n late A 2 7\n refused stale_fence late A 2 7\n expect A output 7",
        "A:completed B:pending run:running",
    );
}

#[test]
fn an_error_edge_comes_before_the_fallback_and_the_fallback_before_the_hold() {
    let all = with(
        "A[Try] --> B[Then]\n A -->|onError| C[Mend]",
        &[("A", "{\"fallbackAssigneeId\": \"bob\"}")],
    );
    check(&all, "fail A failed", "A:failed C:pending run:running");
    // Each of the two assignees tries a retryable failure three times.
    let fallback = with(
        "A[Try] --> B[Then]",
        &[("A", "{\"fallbackAssigneeId\": \"bob\"}")],
    );
    let thrice =
        "fail A timeout\n wait 300000\n fail A unavailable\n wait 300000\n fail A lease_lost\n";
    check(
        &fallback,
        &format!(
            "{thrice} expect A assignee bob\n expect A attempt 0\n {thrice} expect A hold failed"
        ),
        "A:on_hold run:paused",
    );
    for class in ["failed", "invalid", "auth", "limit", "child"] {
        check(
            "graph TD\n A[Try]",
            &format!("fail A {class}\n expect A attempt 1"),
            "A:on_hold run:paused",
        );
    }
}

#[test]
fn a_step_says_which_failures_are_worth_another_attempt() {
    let again = "A:pending run:running";
    let held = "A:on_hold run:paused";
    for (retry, class, expected) in [
        ("", "exit", held),
        ("", "http4xx", held),
        ("", "timeout", again),
        ("\"retry\": {\"attempts\": 2}", "exit", again),
        ("\"retry\": {\"attempts\": 2}", "lease_lost", again),
        ("\"retry\": {\"attempts\": 2}", "failed", held),
        ("\"retry\": {\"attempts\": 2}", "http4xx", held),
        ("\"retry\": {\"attempts\": 1}", "exit", held),
        ("\"retry\": {\"on\": [\"failed\"]}", "failed", again),
        ("\"retry\": {\"on\": [\"failed\"]}", "timeout", held),
        (
            "\"retry\": {\"on\": [\"http4xx\", \"reply\"]}",
            "http4xx",
            again,
        ),
        (
            "\"retry\": {\"on\": [\"http4xx\", \"reply\"]}",
            "unparsable_reply",
            again,
        ),
        (
            "\"retry\": {\"on\": [\"unavailable\"]}",
            "rate_limited",
            again,
        ),
        ("\"retry\": {\"on\": [\"any\"]}", "auth", again),
        ("\"retry\": {\"on\": []}", "timeout", held),
    ] {
        let workflow = with("A[Try] --> B[Then]", &[("A", &format!("{{{retry}}}"))]);
        check(&workflow, &format!("fail A {class}"), expected);
    }
}

#[test]
fn attempts_come_slower_by_a_factor_up_to_a_limit() {
    let waits = |json: &str| {
        let retry: flow::RetryPolicy = serde_json::from_str(json).unwrap();
        let task: flow::TaskId = "r/A".parse().unwrap();
        (1..=4)
            .map(|n| flow::engine::backoff_ms(&retry, &task, n))
            .collect::<Vec<u64>>()
    };
    for (json, full) in [
        (
            "{\"delay\": \"1s\", \"factor\": 1}",
            [1_000, 1_000, 1_000, 1_000],
        ),
        (
            "{\"delay\": \"1s\", \"factor\": 3, \"max\": \"5s\"}",
            [1_000, 3_000, 5_000, 5_000],
        ),
        (
            "{\"delay\": \"1s\", \"maxDelay\": \"4s\"}",
            [1_000, 2_000, 4_000, 4_000],
        ),
    ] {
        for (wait, full) in waits(json).into_iter().zip(full) {
            assert!((full / 2..=full).contains(&wait), "{json}: {wait}");
        }
    }
}
