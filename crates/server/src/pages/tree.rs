//! Values as trees that fold, with a search in them, their JSON, and a button that copies it.

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{VALUE_BYTES_MAX, head, text_block};

/// How many entries a tree shows before the rest is left to the raw text.
const ENTRIES_MAX: usize = 200;
/// How deep a tree is open at first.
const OPEN_DEPTH: usize = 2;
/// From how many entries on a tree has a field to search in it.
const SEARCHED_MIN: usize = 8;

/// Returns an object or an array as a tree.
pub(super) fn markup(value: &Value) -> Markup {
    let raw = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut left = ENTRIES_MAX;
    let shown = branch(value, 0, &mut left);
    html! {
        div class="value" {
            div class="tree" {
                div class="tools needs-js" {
                    @if ENTRIES_MAX - left >= SEARCHED_MIN { input type="search" data-find placeholder="Find" aria-label="Find in this value"; }
                    button class="copy" type="button" data-copy-raw aria-label="Copy as JSON" title="Copy as JSON" {}
                }
                (shown)
            }
            @if left == 0 { p class="hint" { "The first " (ENTRIES_MAX) " entries. The JSON has more." } }
            details class="raw" { summary class="small muted" { "JSON" } (text_block(&raw)) }
        }
    }
}

/// Returns the entries of an object or an array, each with its value or with a branch that folds.
fn branch(value: &Value, depth: usize, left: &mut usize) -> Markup {
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, inner)| (name.clone(), inner))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, inner)| (at.to_string(), inner))
            .collect(),
        _ => Vec::new(),
    };
    html! {
        ul {
            @for (name, inner) in &entries {
                @if take_one(left) { li { (leaf(name, inner, (depth, &mut *left))) } }
            }
        }
    }
}

fn take_one(left: &mut usize) -> bool {
    let has_one = *left > 0;
    *left = left.saturating_sub(1);
    has_one
}

fn leaf(name: &str, value: &Value, (depth, left): (usize, &mut usize)) -> Markup {
    let size = match value {
        Value::Object(map) => map.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    html! {
        @if size > 0 {
            details open[depth < OPEN_DEPTH && size <= 12] {
                summary { span class="key" { (name) } " " span class="muted small" { (size) } }
                (branch(value, depth + 1, left))
            }
        } @else {
            span class="key" { (name) } " "
            @match value {
                Value::String(text) => span dir="auto" class="said-by" { (head(text, VALUE_BYTES_MAX)) },
                other => code { (other.to_string()) },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tree_has_its_values_its_json_and_a_search_where_it_is_long() {
        let check = |value: Value, present: &[&str], absent: &[&str]| {
            let shown = markup(&value).into_string();
            for part in present {
                assert!(shown.contains(part), "{part}: {shown}");
            }
            for part in absent {
                assert!(!shown.contains(part), "{part}: {shown}");
            }
        };
        check(
            json!({"a": "<b>"}),
            &["&lt;b&gt;", "data-copy-raw"],
            &["<b>", "data-find"],
        );
        let many: Vec<usize> = (0..SEARCHED_MIN).collect();
        check(json!(many), &["data-find"], &["The first"]);
        let more: Vec<usize> = (0..ENTRIES_MAX + 1).collect();
        check(json!(more), &["The first 200 entries"], &[]);
    }
}
