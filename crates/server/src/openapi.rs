//! The OpenAPI document, made from the table of routes.

use axum::http::Method;
use serde_json::{Map, Value, json};

use crate::fields::answer_schema;
use crate::problem::ProblemCode;
use crate::state::ServerLimits;
use crate::table::{ApiRoute, RouteAccess, routes};

/// Returns the description of every route.
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes() {
        let path = paths.entry(route.full_path()).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation(&route);
    }
    json!({
        "openapi": "3.2.0",
        "info": {
            "title": "Drawloom",
            "version": "1",
            "description": "Workflows, recipes and builds. Errors are problem documents (RFC 9457).",
        },
        "paths": paths,
        "components": {
            "schemas": { "Problem": problem_schema() },
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": "drawloom_session" },
            },
        },
    })
}

fn operation(route: &ApiRoute) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "tags": [route.resource()],
        "responses": responses(route),
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    if let Some(schema) = route.body {
        operation["requestBody"] = json!({
            "required": !route.has_optional_body,
            "content": { "application/json": { "schema": schema() } },
        });
    }
    operation["security"] = match route.access {
        RouteAccess::Everybody => json!([]),
        _ => json!([{ "token": [] }, { "session": [] }]),
    };
    if let RouteAccess::Needs(action) = route.access {
        operation["x-least-role"] = json!(action.least_role().as_str());
    }
    operation
}

/// `GET /runs/{run}/events` is `getRunsRunEvents`.
fn operation_id(route: &ApiRoute) -> String {
    let mut id = route.method.as_str().to_lowercase();
    for word in route.path.split(|c: char| !c.is_ascii_alphanumeric()) {
        let mut letters = word.chars();
        if let Some(first) = letters.next() {
            id.push(first.to_ascii_uppercase());
            id.push_str(letters.as_str());
        }
    }
    id
}

fn parameters(route: &ApiRoute) -> Vec<Value> {
    let text = json!({ "type": "string" });
    let names = route.path.split('/').filter_map(|word| {
        let inside = word.strip_prefix('{')?;
        inside.strip_suffix('}')
    });
    let mut parameters: Vec<Value> = names
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": text }))
        .collect();
    parameters.extend(route.query.iter().map(|(name, meaning)| {
        let schema = parameter_schema(route, name);
        let mut parameter =
            json!({ "name": name, "in": "query", "description": meaning, "schema": schema });
        if matches!(*name, "from" | "to") {
            parameter["required"] = json!(true);
        }
        parameter
    }));
    if route.needs_match {
        parameters.push(json!({
            "name": "If-Match", "in": "header", "required": true,
            "schema": { "type": "string", "pattern": "^\"[^\"]*\"$" },
            "description": "the ETag that the edit has seen",
        }));
    }
    if route.method == Method::POST && route.keeps_answers && route.access != RouteAccess::Everybody
    {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header",
            "schema": { "type": "string", "pattern": "^[!-~]{1,255}$" },
            "description": "a repetition with the same key is answered as the first was, for 24 hours",
        }));
    }
    parameters
}

/// The schema of a parameter: the same name means the same everywhere.
fn parameter_schema(route: &ApiRoute, name: &str) -> Value {
    let words = |words: &[&str]| json!({ "type": "string", "enum": words });
    match name {
        "limit" => json!({
            "type": "integer", "minimum": 1, "maximum": ServerLimits::default().page_items_max,
        }),
        "sinceMs" | "beforeMs" | "afterSeq" | "before" => json!({
            "type": "integer", "minimum": 0, "maximum": u64::MAX,
        }),
        "from" | "to" => json!({ "type": "integer", "minimum": 1, "maximum": u64::MAX }),
        "since" | "until" => json!({ "type": "string", "format": "date" }),
        "list" => words(&["runs", "tasks"]),
        "kind" if route.resource() == "questions" => words(&crate::api::questions::KINDS),
        "kind" => words(&app::ResultKind::ALL.map(app::ResultKind::as_str)),
        "by" => words(&store::CostKind::ALL.map(store::CostKind::as_str)),
        "all" | "anybody" | "count" | "ended" | "top" | "waiting" => json!({ "type": "boolean" }),
        "status" => match route.resource() {
            "runs" => words(&["running", "paused", "completed", "failed", "cancelled"]),
            "tasks" => {
                let all = flow::engine::TaskStatus::ALL;
                words(&all.map(flow::engine::TaskStatus::name))
            }
            _ => words(&builder::JobStatus::ALL.map(builder::JobStatus::as_str)),
        },
        "user" => {
            json!({ "type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64 })
        }
        _ => json!({ "type": "string" }),
    }
}

fn responses(route: &ApiRoute) -> Value {
    let mut responses = Map::new();
    let (status, media) = route.answer;
    let mut answer = json!({ "description": "Done." });
    match media {
        "" => {}
        "application/json" => {
            answer["content"] = json!({ media: { "schema": answer_schema(route) } });
        }
        "text/event-stream" => {
            answer["content"] = json!({ media: { "itemSchema": {
                "type": "object",
                "properties": {
                    "id": { "type": "string" }, "event": { "type": "string" },
                    "data": { "type": "string" },
                },
            } } });
        }
        _ => answer["content"] = json!({ media: { "schema": { "type": "string" } } }),
    }
    responses.insert(status.to_string(), answer.clone());
    if route.needs_match && route.path == "/workflows/{name}" {
        responses.insert("201".to_owned(), answer);
    }
    for code in problems(route) {
        let (_, status, title) = code.about();
        responses.entry(status.to_string()).or_insert_with(|| {
            json!({
                "description": title,
                "content": { "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" },
                } },
            })
        });
    }
    Value::Object(responses)
}

/// The problems that a route can answer with.
fn problems(route: &ApiRoute) -> Vec<ProblemCode> {
    let is_open = route.access == RouteAccess::Everybody;
    let has_path = route.path.contains('{');
    let is_change = !route.method.is_safe();
    let fits = |code: &ProblemCode| match code {
        ProblemCode::BadRequest
        | ProblemCode::MethodNotAllowed
        | ProblemCode::TooMany
        | ProblemCode::WrongHost
        | ProblemCode::TooLarge
        | ProblemCode::TooSlow
        | ProblemCode::Internal
        | ProblemCode::Unavailable => true,
        ProblemCode::Unauthorized => !is_open || route.path == "/session",
        ProblemCode::Forbidden => !is_open || is_change,
        ProblemCode::CrossSite => is_change,
        ProblemCode::NotFound => has_path || is_change || !route.query.is_empty(),
        ProblemCode::Conflict | ProblemCode::KeyInUse => is_change,
        ProblemCode::Stale | ProblemCode::MatchRequired => route.needs_match,
        ProblemCode::MediaType => route.body.is_some(),
        ProblemCode::Invalid | ProblemCode::KeyReused => {
            is_change || has_path || !route.query.is_empty()
        }
    };
    ProblemCode::ALL.into_iter().filter(fits).collect()
}

fn problem_schema() -> Value {
    let codes: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.about().0).collect();
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "instance", "code", "requestId"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "instance": { "type": "string" },
            "code": { "type": "string", "enum": codes },
            "requestId": { "type": "string" },
            "hint": { "type": "string" },
            "errors": { "type": "array", "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": { "pointer": { "type": "string" }, "detail": { "type": "string" } },
            } },
        },
    })
}
