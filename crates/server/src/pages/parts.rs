//! Small pieces that many pages share: states, times, money, values.

use flow::engine::{HoldKind, RunStatus, SpentAmount, TaskRow, TaskStatus};
use maud::{Markup, html};
use serde_json::Value;

use super::tree;
use crate::problem::{ApiProblem, ProblemCode};

/// How much of a value a page shows, in bytes.
pub(super) const VALUE_BYTES_MAX: usize = 8_000;
/// How much of a line in a list is shown, in characters.
const LINE_CHARS_MAX: usize = 140;

/// The look of a state: shape and colour come from the class, the word is written.
pub(super) fn state(class: &str, word: &str) -> Markup {
    html! { span class={ "st " (class) } { (word) } }
}

pub(super) fn run_state(status: RunStatus) -> Markup {
    let class = match status {
        RunStatus::Running => "run",
        RunStatus::Paused => "hold",
        RunStatus::Completed => "ok",
        RunStatus::Failed => "bad",
        RunStatus::Cancelled => "idle",
    };
    state(class, status.name())
}

pub(super) fn task_state(task: &TaskRow) -> Markup {
    let (class, word) = task_words(task);
    state(class, word)
}

/// The class and the word for how far a task has come.
pub(super) fn task_words(task: &TaskRow) -> (&'static str, &'static str) {
    match task.status {
        TaskStatus::Pending if task.execution == flow::ExecutionMode::Manual => ("wait", "asked"),
        TaskStatus::Pending => ("idle", "ready"),
        TaskStatus::InProgress => ("run", "running"),
        TaskStatus::Waiting => ("wait", "waiting"),
        TaskStatus::OnHold => match task.hold.as_ref().map(|hold| hold.kind) {
            Some(HoldKind::Review) => ("hold", "to review"),
            Some(HoldKind::Asked) => ("wait", "asked"),
            Some(HoldKind::Budget) => ("hold", "over budget"),
            Some(HoldKind::Failed) => ("bad", "failed, on hold"),
            Some(HoldKind::Timeout) => ("hold", "overdue"),
            _ => ("hold", "on hold"),
        },
        TaskStatus::Completed => ("ok", "done"),
        TaskStatus::Failed => ("bad", "failed"),
        TaskStatus::Cancelled => ("idle", "cancelled"),
    }
}

/// Returns whether a task waits for a person.
pub(super) fn waits_for_person(task: &TaskRow) -> bool {
    let is_manual =
        task.status == TaskStatus::Pending && task.execution == flow::ExecutionMode::Manual;
    is_manual || task.status == TaskStatus::OnHold
}

/// A time as people say it, with the exact one on hover.
pub(super) fn when(at_ms: u64, now_ms: u64) -> Markup {
    let exact = exact_time(at_ms);
    let words = match now_ms.checked_sub(at_ms) {
        Some(past) if past < 10_000 => "just now".to_owned(),
        Some(past) => format!("{} ago", span(past)),
        None => format!("in {}", span(at_ms - now_ms)),
    };
    html! { time class="num" datetime=(exact) title=(exact) { (words) } }
}

pub(super) fn exact_time(at_ms: u64) -> String {
    let read = i64::try_from(at_ms).ok();
    let time = read.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}

/// The day of a time, as fields of forms write it.
pub(super) fn day_text(at_ms: u64) -> String {
    exact_time(at_ms).chars().take(10).collect()
}

/// Reads a day of a form; the last second of it counts.
pub(super) fn read_day(text: &str) -> Result<u64, ApiProblem> {
    let day: Option<jiff::civil::Date> = text.parse().ok();
    let end = day.and_then(|day| {
        let end = day.at(23, 59, 59, 0).to_zoned(jiff::tz::TimeZone::UTC);
        u64::try_from(end.ok()?.timestamp().as_millisecond()).ok()
    });
    end.ok_or_else(|| {
        let message = format!("`{text}` is no day");
        ApiProblem::new(ProblemCode::Invalid, message).hint("write it as 2026-11-30")
    })
}

/// A span of time in its largest unit.
pub(super) fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms} ms"),
        1..10 => format!("{}.{} s", seconds, (ms % 1_000) / 100),
        10..100 => format!("{seconds} s"),
        100..6_000 => format!("{} min", seconds / 60),
        6_000..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Writes a price in words; empty if nothing was paid.
pub(super) fn spent(spent: SpentAmount) -> Option<String> {
    let tokens = (spent.tokens > 0).then(|| format!("{} tokens", spent.tokens));
    let money = (spent.micros > 0).then(|| money(spent.micros));
    match (money, tokens) {
        (Some(money), Some(tokens)) => Some(format!("{money}, {tokens}")),
        (money, tokens) => money.or(tokens),
    }
}

pub(super) fn money(micros: u64) -> String {
    match micros {
        0 => "$0".to_owned(),
        1..10_000 => format!("${:.4}", micros as f64 / 1e6),
        _ => format!("${:.2}", micros as f64 / 1e6),
    }
}

/// The part of an id that people compare.
pub(super) fn short_id(id: &str) -> &str {
    let at = id.char_indices().rev().nth(7).map_or(0, |(at, _)| at);
    id.get(at..).unwrap_or(id)
}

/// An id as people compare it, with the whole of it on hover and a button that copies it.
pub(super) fn id(id: &str) -> Markup {
    html! { code title=(id) { (short_id(id)) } (copy(id, "the id")) }
}

/// A button that copies a text; pages without scripts have none.
pub(super) fn copy(text: &str, what: &str) -> Markup {
    let label = format!("Copy {what}");
    html! { button class="copy needs-js" type="button" data-copy=(text) aria-label=(label) title=(label) {} }
}

/// A value in full, up to a limit: text as text, everything else as a tree that folds, with its JSON below.
pub(super) fn value(value: &Value) -> Markup {
    match value {
        Value::String(text) => text_block(text),
        Value::Null => html! { span class="muted" { "nothing" } },
        Value::Object(map) if !map.is_empty() => tree::markup(value),
        Value::Array(items) if !items.is_empty() => tree::markup(value),
        other => text_block(&other.to_string()),
    }
}

/// A text as it was written, up to a limit.
pub(super) fn text_block(text: &str) -> Markup {
    let shown = head(text, VALUE_BYTES_MAX);
    html! {
        pre dir="auto" { (shown) }
        @if shown.len() < text.len() {
            p class="hint" { "The first " (shown.len()) " of " (text.len()) " bytes. The API has all of it." }
        }
    }
}

/// A value on one line of a list.
pub(super) fn value_line(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    line(&text)
}

/// The beginning of a text, on one line.
pub(super) fn line(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut written = String::new();
    for word in words.by_ref() {
        if !written.is_empty() {
            written.push(' ');
        }
        written.push_str(word);
        if written.chars().count() > LINE_CHARS_MAX {
            let cut: String = written.chars().take(LINE_CHARS_MAX).collect();
            return format!("{cut}…");
        }
    }
    written
}

pub(super) fn head(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// An empty list that says what to do next.
pub(super) fn empty(title: &str, body: &Markup) -> Markup {
    html! {
        section class="card empty" {
            h2 { (title) }
            (body)
        }
    }
}

/// A word with its number.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}

/// An address that may become a link: of the web, and nothing else.
pub(super) fn is_web_link(address: &str) -> bool {
    address.starts_with("https://") || address.starts_with("http://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_in_their_largest_unit() {
        for (ms, words) in [
            (12, "12 ms"),
            (1_250, "1.2 s"),
            (59_000, "59 s"),
            (240_000, "4 min"),
            (7_200_000, "2 h"),
            (400_000_000, "4 days"),
        ] {
            assert_eq!(span(ms), words);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(head("ünï", 2), "ü");
        assert_eq!(head("ünï", 3), "ün");
        assert!(line(&"word ".repeat(200)).ends_with('…'));
    }

    #[test]
    fn only_addresses_of_the_web_become_links() {
        for (address, is_link) in [
            ("https://example.org/pull/1", true),
            ("http://127.0.0.1/x", true),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("//evil.example", false),
        ] {
            assert_eq!(is_web_link(address), is_link, "{address}");
        }
    }
}
