//! The items of a foreach: a grid by state, one item with its value, and another try for those that failed.

use app::ItemsRequest;
use flow::engine::{EngineCommand, GroupRow, ItemRow, ItemStatus, TaskRow, TaskStatus};
use flow::{StepId, TaskId};
use maud::{Markup, html};

use super::parts::{count, line, state, task_state, value, value_line};
use super::visit::PageVisit;
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

/// How many items a page of the grid shows.
const CELLS_MAX: usize = 200;
/// How many characters of an item's value a cell tells.
const VALUE_CHARS_MAX: usize = 40;
/// How many items are tried again by one click.
const RETRIED_MAX: usize = 1_000;

/// A foreach of a run, with the page of its items that the address asks for.
pub(super) struct ItemsPanel {
    step: StepId,
    name: String,
    group: GroupRow,
    items: Vec<ItemRow>,
    next: Option<u32>,
    /// Only items of this status.
    status: Option<ItemStatus>,
    /// The item that is open, with its tasks.
    open: Option<(ItemRow, Vec<TaskRow>)>,
}

/// The class, the word and the word in addresses of an item's status.
fn words(status: ItemStatus) -> (&'static str, &'static str) {
    match status {
        ItemStatus::Waiting => ("idle", "waiting"),
        ItemStatus::Running => ("run", "running"),
        ItemStatus::Succeeded => ("ok", "done"),
        ItemStatus::Failed => ("bad", "failed"),
        ItemStatus::Skipped => ("hold", "skipped"),
    }
}

const STATUSES: [ItemStatus; 5] = [
    ItemStatus::Failed,
    ItemStatus::Running,
    ItemStatus::Waiting,
    ItemStatus::Succeeded,
    ItemStatus::Skipped,
];

/// How many items are in which state: `9 done, 1 failed`.
pub(super) fn counts(group: &GroupRow) -> String {
    let ended = group.succeeded + group.failed + group.running;
    let parts = [
        (group.succeeded, "done"),
        (group.failed, "failed"),
        (group.running, "running"),
        (group.total.saturating_sub(ended), "waiting"),
    ];
    let words: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    match words.is_empty() {
        true => "no items".to_owned(),
        false => words.join(", "),
    }
}

impl ItemsPanel {
    /// Reads the items of a foreach; those of another one than the address names begin with the first.
    pub(super) async fn of(
        visit: &PageVisit,
        (step, name): (&StepId, &str),
        group: GroupRow,
    ) -> Result<ItemsPanel, ApiProblem> {
        let is_meant = visit.query.get("of").is_none_or(|of| of == step.as_str());
        let query = |key: &str| visit.query.text(key).filter(|_| is_meant);
        let status =
            query("items").and_then(|word| STATUSES.into_iter().find(|one| words(*one).1 == word));
        let after = query("from").and_then(|text| text.parse().ok());
        let (items, next) = match status {
            Some(_) => {
                let request = ItemsRequest {
                    foreach: group.id.clone(),
                    status,
                    after,
                    max: app::ITEMS_PAGE_MAX,
                };
                let found = visit.use_cases.run_items(&request).await?;
                let rows = found.items.into_iter().map(|view| view.item).collect();
                (rows, found.next)
            }
            None => {
                let ports = visit.state.app().ports();
                let listed = ports.items(&group.id, after, CELLS_MAX).await;
                let items: Vec<ItemRow> = listed.map_err(app::Error::from)?;
                let next = items.last().filter(|_| items.len() == CELLS_MAX);
                let next = next.map(|item| item.index);
                (items, next)
            }
        };
        let open = match query("item").and_then(|text| text.parse::<u32>().ok()) {
            Some(number) => item(visit, &group.id, number).await?,
            None => None,
        };
        Ok(ItemsPanel {
            step: step.clone(),
            name: name.to_owned(),
            group,
            items,
            next,
            status,
            open,
        })
    }

    fn link(&self, parts: &str) -> String {
        let status = self
            .status
            .map_or_else(String::new, |status| format!("&items={}", words(status).1));
        format!(
            "?of={}{status}{parts}#items-{}",
            encoded(self.step.as_str()),
            encoded(self.step.as_str())
        )
    }

    /// The grid with its filters. `may_retry` shows the button that tries failed items again.
    pub(super) fn markup(&self, may_retry: bool, action: &str) -> Markup {
        let of = encoded(self.step.as_str());
        html! {
            section class="card" data-live={ "items-" (self.step.as_str()) } id={ "items-" (self.step.as_str()) } {
                h2 dir="auto" { (line(&self.name)) ": " (count(self.group.total as usize, "item", "items")) }
                (self.bar())
                div class="chips" {
                    a class="chip" href={ "?of=" (of) } aria-current=[self.status.is_none().then_some("true")] { "all" }
                    @for status in STATUSES {
                        a class="chip" href={ "?of=" (of) "&items=" (words(status).1) } aria-current=[(self.status == Some(status)).then_some("true")] { (words(status).1) }
                    }
                }
                @if self.items.is_empty() { p class="muted" { "None." } }
                div class="grid" {
                    @for item in &self.items {
                        @let (class, word) = words(item.status);
                        a class={ "st " (class) } data-wrong[item.status == ItemStatus::Failed] href=(self.link(&format!("&item={}", item.index)))
                            title={ "item " (item.index + 1) ", " (word) ": " (short(&item.value)) } aria-label={ "item " (item.index + 1) ", " (word) } {}
                    }
                }
                div class="actions small" {
                    @if let Some(next) = self.next { a class="btn" rel="next" href=(self.link(&format!("&from={next}"))) { "The next ones" } }
                    @if self.group.failed > 0 {
                        span { kbd { "]" } " goes to the next that failed" }
                        @if may_retry {
                            form method="post" action=(action) { input type="hidden" name="of" value=(self.group.id); button name="act" value="retry-items" { "Try the failed ones again" } }
                        }
                    }
                }
                @if let Some((item, tasks)) = &self.open { (open_item(item, tasks)) }
            }
        }
    }

    /// How much of it is done, as a bar; the words beside it say the same.
    fn bar(&self) -> Markup {
        let total = u64::from(self.group.total).max(1);
        let wide = |number: u32| u64::from(number) * 300 / total;
        let (done, failed, running) = (
            wide(self.group.succeeded),
            wide(self.group.failed),
            wide(self.group.running),
        );
        html! {
            p class="small muted num" { (counts(&self.group)) }
            svg class="bars progress" viewBox="0 0 300 6" preserveAspectRatio="none" aria-hidden="true" {
                rect class="ok" x="0" y="0" width=(done) height="6" {}
                rect class="bad" x=(done) y="0" width=(failed) height="6" {}
                rect class="run" x=(done + failed) y="0" width=(running) height="6" {}
            }
        }
    }
}

/// The beginning of an item's value: a page has many of them.
fn short(value: &serde_json::Value) -> String {
    value_line(value).chars().take(VALUE_CHARS_MAX).collect()
}

async fn item(
    visit: &PageVisit,
    foreach: &TaskId,
    number: u32,
) -> Result<Option<(ItemRow, Vec<TaskRow>)>, ApiProblem> {
    let request = ItemsRequest {
        foreach: foreach.clone(),
        status: None,
        after: number.checked_sub(1),
        max: 1,
    };
    let found = visit.use_cases.run_items(&request).await?;
    let found = found.items.into_iter().next();
    Ok(found
        .filter(|view| view.item.index == number)
        .map(|view| (view.item, view.steps)))
}

fn open_item(item: &ItemRow, tasks: &[TaskRow]) -> Markup {
    let (class, word) = words(item.status);
    html! {
        div class="item-open" {
            h3 { "Item " (item.index + 1) " " (state(class, word)) }
            @if let Some(failure) = &item.failure { p class="why bad small" dir="auto" { (failure.class.name()) ": " (line(&failure.message)) } }
            (value(&item.value))
            ul class="plain" {
                @for task in tasks {
                    li { (task_state(task)) " " a href={ "/tasks/" (encoded(&task.id.to_string())) } { (task.id.step.as_str()) }
                        @if let Some(output) = &task.output { " " code dir="auto" { (value_line(output)) } } }
                }
            }
        }
    }
}

/// Tries the failed items of a foreach again, each from the step that failed. Returns how many were, and how
/// many could not be.
pub(super) async fn retry_failed(
    visit: &PageVisit,
    foreach: &str,
) -> Result<(usize, usize), ApiProblem> {
    let foreach = visit.use_cases.task(foreach).await?.id;
    let (mut done, mut missed) = (0, 0);
    let mut after = None;
    while done + missed < RETRIED_MAX {
        let request = ItemsRequest {
            foreach: foreach.clone(),
            status: Some(ItemStatus::Failed),
            after,
            max: app::ITEMS_PAGE_MAX,
        };
        let page = visit.use_cases.run_items(&request).await?;
        for view in &page.items {
            let failed = view
                .steps
                .iter()
                .find(|task| matches!(task.status, TaskStatus::Failed | TaskStatus::OnHold));
            let command = failed.map(|task| match task.status {
                TaskStatus::OnHold => EngineCommand::Retry {
                    task: task.id.clone(),
                    with: None,
                },
                _ => EngineCommand::Rerun {
                    task: task.id.clone(),
                },
            });
            let is_done = match command {
                Some(command) => visit.use_cases.execute(command).await.is_ok(),
                None => false,
            };
            match is_done {
                true => done += 1,
                false => missed += 1,
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    match done + missed {
        0 => Err(ApiProblem::new(
            ProblemCode::Conflict,
            "no item has failed any more",
        )),
        _ => Ok((done, missed)),
    }
}
