//! A run over time: a bar for each task, and a grid of the items of a loop.

use std::collections::BTreeMap;

use flow::StepId;
use flow::engine::{TaskRow, TaskStatus};
use maud::{Markup, html};

use super::parts::{count, line, span, task_words, waits_for_person};
use crate::api::encoded;

/// How many bars are drawn.
const BARS_MAX: usize = 40;
/// How many items of one step have bars.
const ITEMS_MAX: usize = 4;
/// How many items a grid shows.
const CELLS_MAX: usize = 300;
/// The width of a bar's picture, in its own units.
const WIDTH: u64 = 1_000;
/// The least width of a bar.
const BAR_MIN: u64 = 6;

/// Draws when each task began and ended.
pub(super) fn bars(
    tasks: &[TaskRow],
    (from_ms, until_ms): (u64, u64),
    name: impl Fn(&StepId) -> String,
) -> Markup {
    let whole = until_ms.saturating_sub(from_ms).max(1);
    let at = |ms: u64| ms.saturating_sub(from_ms).min(whole) * WIDTH / whole;
    let mut items: BTreeMap<&StepId, usize> = BTreeMap::new();
    let mut shown: Vec<&TaskRow> = Vec::new();
    for task in tasks {
        let seen = items.entry(&task.id.step).or_default();
        *seen += 1;
        if task.id.path.items().is_empty() || *seen <= ITEMS_MAX {
            shown.push(task);
        }
    }
    shown.sort_by_key(|task| task.created_ms);
    shown.truncate(BARS_MAX);
    html! {
        ol class="timeline" aria-label={ "When each of " (count(shown.len(), "task", "tasks")) " began and ended" } {
            @for task in &shown {
                @let begin = at(task.created_ms);
                @let end = at(task.ended_ms.unwrap_or(until_ms));
                @let (class, word) = task_words(task);
                @let took = span(task.ended_ms.unwrap_or(until_ms).saturating_sub(task.created_ms));
                li {
                    span class="small" dir="auto" { (line(&name(&task.id.step))) }
                    svg class="bars" viewBox={ "0 0 " (WIDTH) " 10" } preserveAspectRatio="none" aria-hidden="true" {
                        rect class=(class) x=(begin.min(WIDTH - BAR_MIN)) y="0" width=((end - begin).max(BAR_MIN)) height="10" { title { (word) ", " (took) } }
                    }
                    span class="small muted num" { (took) span class="visually-hidden" { ", " (word) } }
                }
            }
        }
        @if tasks.len() > shown.len() { p class="hint" { (shown.len()) " of " (tasks.len()) " tasks: of each step inside of a loop the first " (ITEMS_MAX) "." } }
    }
}

/// The tasks of steps inside of a loop, by step.
pub(super) fn loops(tasks: &[TaskRow]) -> BTreeMap<&StepId, Vec<&TaskRow>> {
    let mut found: BTreeMap<&StepId, Vec<&TaskRow>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| !task.id.path.items().is_empty()) {
        found.entry(&task.id.step).or_default().push(task);
    }
    found.retain(|_, tasks| tasks.len() > 1);
    found
}

/// How many tasks are in which state: `12 done, 1 failed`.
pub(super) fn counts(tasks: &[&TaskRow]) -> String {
    let mut by_word: BTreeMap<&str, usize> = BTreeMap::new();
    for task in tasks {
        *by_word.entry(task_words(task).1).or_default() += 1;
    }
    let words: Vec<String> = by_word
        .iter()
        .map(|(word, number)| format!("{number} {word}"))
        .collect();
    words.join(", ")
}

/// A cell for every item, with the glyph of its state.
pub(super) fn grid(step: &str, tasks: &[&TaskRow]) -> Markup {
    let is_wrong = |task: &TaskRow| task.status == TaskStatus::Failed || waits_for_person(task);
    let wrong = tasks.iter().filter(|task| is_wrong(task)).count();
    let mut shown: Vec<&&TaskRow> = tasks.iter().collect();
    shown.sort_by_key(|task| task.id.path.last().map(|item| item.index));
    html! {
        section class="card" data-live={ "grid-" (step) } {
            h2 dir="auto" { (line(step)) ": " (counts(tasks)) }
            @if wrong > 0 {
                p class="small" { (count(wrong, "item needs a person", "items need a person")) " · " kbd { "]" } " goes to the next one" }
            }
            div class="grid" {
                @for task in shown.iter().take(CELLS_MAX) {
                    @let (class, word) = task_words(task);
                    @let number = task.id.path.last().map_or(0, |item| item.index + 1);
                    a class={ "st " (class) } data-wrong[is_wrong(task)] href={ "/tasks/" (encoded(&task.id.to_string())) } title={ "item " (number) ": " (word) } aria-label={ "item " (number) ": " (word) } {}
                }
            }
            @if shown.len() > CELLS_MAX { p class="hint" { "The first " (CELLS_MAX) " of " (shown.len()) " items." } }
        }
    }
}
