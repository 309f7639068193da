//! The resources of the API, one file each: routes first, then handlers, then documents.

pub(crate) mod audit;
pub(crate) mod builder;
mod bulk;
pub(crate) mod callbacks;
mod comparing;
pub(crate) mod costs;
pub(crate) mod docs;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod notices;
pub(crate) mod people;
pub(crate) mod questions;
pub(crate) mod recipes;
pub(crate) mod runs;
pub(crate) mod schedules;
pub(crate) mod session;
pub(crate) mod task_acts;
pub(crate) mod task_notes;
pub(crate) mod tasks;
pub(crate) mod tokens;
pub(crate) mod views;
pub(crate) mod webhooks;
pub(crate) mod workflows;

use serde_json::{Value, json};

use crate::cursor;
use crate::request::{ApiReply, ApiRequest};

/// A page of a list: the items, and where the next page begins.
fn page(asked: &ApiRequest, items: Vec<Value>, next: Option<String>) -> ApiReply {
    let Some(next) = next else {
        return ApiReply::json(json!({ "items": items, "nextCursor": null }));
    };
    let mut query: Vec<String> = asked
        .query
        .iter()
        .filter(|(name, _)| name.as_str() != "cursor")
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    query.push(format!("cursor={next}"));
    let link = format!("<?{}>; rel=\"next\"", query.join("&"));
    ApiReply::json(json!({ "items": items, "nextCursor": next })).header("link", &link)
}

/// A text as it is written in a query or a path.
pub(crate) fn encoded(text: &str) -> String {
    let mut written = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                written.push(char::from(byte));
            }
            _ => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

/// Cuts a page off a list that was read one item further, and writes where the next one begins.
fn cut<T, P: serde::Serialize>(
    mut rows: Vec<T>,
    max: usize,
    place: impl Fn(&T) -> P,
) -> (Vec<T>, Option<String>) {
    if rows.len() <= max {
        return (rows, None);
    }
    rows.truncate(max);
    let next = rows.last().map(|last| cursor::write(&place(last)));
    (rows, next)
}
