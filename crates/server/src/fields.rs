//! The types of fields in answers: the same name means the same everywhere, with few exceptions.
//!
//! Clients are generated from this: a field without a type here could be anything for them.

use serde_json::{Map, Value, json};

use crate::table::ApiRoute;

/// Returns the schema of an answer: the fields that are always there, each with its type.
pub(crate) fn answer_schema(route: &ApiRoute) -> Value {
    let mut schema = object_schema(route.resource(), route.fields);
    if route.fields.contains(&"items") && !route.item_fields.is_empty() {
        let item = object_schema(route.resource(), route.item_fields);
        schema["properties"]["items"] = json!({ "type": "array", "items": item });
    }
    schema
}

/// An object that has these fields, and may have more.
fn object_schema(resource: &str, fields: &[&str]) -> Value {
    let mut schema = json!({ "type": "object" });
    if fields.is_empty() {
        return schema;
    }
    let properties: Map<String, Value> = fields
        .iter()
        .map(|name| ((*name).to_owned(), field_schema(resource, name)))
        .collect();
    schema["required"] = json!(fields);
    schema["properties"] = Value::Object(properties);
    schema
}

/// The type of a field. What can be anything, such as the output of a task, has none.
fn field_schema(resource: &str, name: &str) -> Value {
    let list = |of: &str| json!({ "type": "array", "items": { "type": of } });
    let tasks = || {
        let task = object_schema("tasks", &["id", "run", "step", "status"]);
        json!({ "type": "array", "items": task })
    };
    match (resource, name) {
        ("sessions" | "tokens" | "views" | "webhooks", "id") => json!({ "type": "integer" }),
        ("budgets", "run" | "day") => json!({ "type": "object" }),
        // A run of an older version has no name.
        ("runs", "workflow") => json!({ "type": ["string", "null"] }),
        ("counts", _) => json!({ "type": "integer" }),
        ("runs", "waiting") => tasks(),
        ("workflows", "starts") => {
            json!({ "type": ["array", "null"], "items": { "type": "string" } })
        }
        ("runs", "steps")
        | (_, "items" | "decisions" | "edges" | "failed" | "layers" | "problems" | "variables") => {
            list("object")
        }
        ("workflows", "steps") => {
            json!({ "type": ["array", "null"], "items": { "type": "object" } })
        }
        (_, "runs" | "done" | "tags" | "events") => list("string"),
        (_, "nextCursor") => json!({ "type": ["string", "null"] }),
        (_, "left" | "right" | "total" | "from" | "to" | "paths" | "filter") => {
            json!({ "type": "object" })
        }
        (
            _,
            "hasSameInput" | "hasSameText" | "isActive" | "isAgent" | "isBehind" | "isEnabled"
            | "isFine" | "isShared" | "wasSent",
        ) => json!({ "type": "boolean" }),
        (_, "acknowledged" | "createdMs" | "nextSeq" | "number" | "revision" | "seq") => {
            json!({ "type": "integer" })
        }
        (_, "output" | "input" | "schema") => json!({}),
        _ => json!({ "type": "string" }),
    }
}
