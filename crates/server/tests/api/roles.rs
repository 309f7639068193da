//! Every route with every role and method. The rows are written by hand: a route without one fails.

use std::collections::BTreeMap;

use app::people::UserRole;
use serde_json::{Value, json};

use crate::test_server::TestServer;

/// Each operation, and the roles that may use it by their first letters, from admin to viewer; `*` is
/// every caller, signed in or not.
const ROWS: &str = include_str!("roles.txt");

/// The methods that are tried on every path.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

fn rows() -> BTreeMap<(String, String), &'static str> {
    let rows = ROWS.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [method, path, roles] = words.as_slice() else {
            panic!("`{line}` is no row");
        };
        let method = method.to_lowercase();
        ((path.to_string(), method), *roles)
    });
    rows.collect()
}

/// Every operation of the description, by path and method.
fn operations() -> BTreeMap<(String, String), Value> {
    let document = server::openapi_document();
    let mut all = BTreeMap::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            all.insert((path.clone(), method.clone()), operation.clone());
        }
    }
    all
}

#[test]
fn every_route_has_a_row_and_every_row_a_route() {
    let rows: Vec<_> = rows().into_keys().collect();
    let routes: Vec<_> = operations().into_keys().collect();
    let missing: Vec<_> = routes.iter().filter(|one| !rows.contains(one)).collect();
    let extra: Vec<_> = rows.iter().filter(|one| !routes.contains(one)).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "without a row in roles.txt: {missing:?}; without a route: {extra:?}"
    );
}

#[tokio::test]
async fn every_route_is_open_only_to_its_roles() {
    let server = TestServer::start().await;
    let rows = rows();
    for ((path, method), operation) in operations() {
        let roles = rows[&(path.clone(), method.clone())];
        if path == "/api/v1/events" {
            continue;
        }
        let line = format!("{} {}", method.to_uppercase(), filled(&path));
        let stranger = server.send(&line, &[], None).await;
        if roles == "*" {
            assert_ne!(stranger.status, 500, "{line}: {stranger:?}");
            continue;
        }
        assert_eq!(stranger.status, 401, "{line} without a proof: {stranger:?}");
        for role in UserRole::ALL {
            let answered = server.ask(role, &line, body_of(&method)).await;
            let is_open = roles.contains(&role.as_str()[..1]);
            assert_eq!(
                answered.status != 403,
                is_open,
                "{line} as {role:?}: {answered:?}"
            );
            assert_ne!(answered.status, 500, "{line} as {role:?}: {answered:?}");
            let documented = &operation["responses"][answered.status.to_string()];
            assert!(
                !documented.is_null(),
                "{line} as {role:?}: {} is not documented",
                answered.status
            );
        }
    }
}

#[tokio::test]
async fn methods_that_a_path_does_not_have_are_refused() {
    let server = TestServer::start().await;
    let operations = operations();
    let mut paths: Vec<&String> = operations.keys().map(|(path, _)| path).collect();
    paths.dedup();
    for path in paths {
        let has = |method: &&str| operations.contains_key(&(path.clone(), (*method).to_owned()));
        let allowed: Vec<&str> = METHODS.into_iter().filter(has).collect();
        for method in METHODS.into_iter().filter(|method| !has(method)) {
            let line = format!("{} {}", method.to_uppercase(), filled(path));
            let answered = server.ask(UserRole::Admin, &line, body_of(method)).await;
            assert_eq!(answered.status, 405, "{line}: {answered:?}");
            let mut listed: Vec<String> = answered
                .header("allow")
                .split(", ")
                .map(str::to_lowercase)
                .collect();
            let mut expected = allowed.clone();
            listed.sort_unstable();
            expected.sort_unstable();
            assert_eq!(listed, expected, "{line}");
        }
    }
}

#[test]
fn a_viewer_can_do_nothing_but_look() {
    let rows = rows();
    let open = rows
        .iter()
        .filter(|((_, method), roles)| method != "get" && **roles != "*" && roles.contains('v'));
    let open: Vec<String> = open
        .map(|((path, method), _)| format!("{} {path}", method.to_uppercase()))
        .collect();
    // Their own access and views, and questions about a text that nothing is kept of.
    let mut expected = [
        "DELETE /api/v1/session",
        "DELETE /api/v1/sessions/{session}",
        "POST /api/v1/workflows/check",
        "POST /api/v1/workflows/draw",
        "DELETE /api/v1/tokens/{token}",
        "POST /api/v1/tokens",
        "POST /api/v1/views",
        "PATCH /api/v1/views/{view}",
        "DELETE /api/v1/views/{view}",
    ];
    let mut open = open;
    open.sort_unstable();
    expected.sort_unstable();
    assert_eq!(open, expected);
}

/// The path with names that name nothing.
fn filled(path: &str) -> String {
    let words = path.split('/').map(|word| match word.starts_with('{') {
        true => "0",
        false => word,
    });
    words.collect::<Vec<_>>().join("/")
}

fn body_of(method: &str) -> Value {
    match method {
        "get" | "delete" => Value::Null,
        _ => json!({}),
    }
}
