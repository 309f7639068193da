//! Results of a search: runs, tasks with their outputs, replies and comments, workflows and recipes.

use app::{ResultKind, SearchRequest, SearchResult};
use maud::{Markup, html};

use super::frame::{NavPage, page};
use super::parts::{count, line, state, when};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;

/// How many results a page has.
const LISTED_MAX: usize = 30;

/// Shows what has all words of a text.
pub(super) async fn show(visit: PageVisit) -> PageResult {
    let text = visit.query.text("q").unwrap_or_default().to_owned();
    let kind = visit.query.text("kind").and_then(ResultKind::read);
    let request = SearchRequest {
        text: text.clone(),
        kind,
        after: visit
            .query
            .text("after")
            .and_then(|after| after.parse().ok()),
        max: LISTED_MAX,
    };
    let mut found = visit.use_cases.search(&request).await?;
    // An id, or its end, is no word of a text.
    if request.after.is_none() && !text.is_empty() {
        let by_id = by_id(&visit, &text).await;
        let is_new = |one: &SearchResult| !found.results.iter().any(|known| known.name == one.name);
        let by_id: Vec<SearchResult> = by_id.into_iter().filter(is_new).collect();
        found.results.splice(0..0, by_id);
    }
    let number = found.results.len();
    let title = match (text.as_str(), number, found.next) {
        ("", ..) => "What are you looking for?".to_owned(),
        (_, 0, _) => format!("Nothing has “{}” in it", line(&text)),
        (_, number, Some(_)) => format!("The newest {number} with “{}”", line(&text)),
        (_, number, None) => format!(
            "{} “{}”",
            count(number, "result has", "results have"),
            line(&text)
        ),
    };
    let body = html! {
        div class="head" { div { h1 dir="auto" { (title) } p class="muted" { "Names, prompts, outputs, replies and comments of runs and tasks; workflows and recipes. Words may be cut off." } } }
        (kinds(&text, kind))
        @if found.is_behind { p class="why" { "Older runs are still being read: search again in a moment." } }
        @if number > 0 {
            div class="list" data-keys="list" { @for one in &found.results { (row(one, visit.now_ms)) } }
            @if let Some(next) = found.next { p class="more" { a class="btn" rel="next" href={ "/search?q=" (encoded(&text)) "&kind=" (kind.map_or("", ResultKind::as_str)) "&after=" (next) } { "Older ones" } } }
        }
    };
    Ok(page(&visit, NavPage::Runs, &title, &body).await)
}

async fn by_id(visit: &PageVisit, text: &str) -> Vec<SearchResult> {
    let result = |kind, name: String, title: String, at_ms| SearchResult {
        kind,
        name,
        title,
        excerpt: String::new(),
        at_ms: Some(at_ms),
    };
    if text.contains('/') {
        let task = visit.use_cases.task(text).await.ok();
        let task = task.map(|task| {
            let title = task.id.step.as_str().to_owned();
            result(
                ResultKind::Task,
                task.id.to_string(),
                title,
                task.created_ms,
            )
        });
        return task.into_iter().collect();
    }
    let run = visit.use_cases.find(text).await.ok();
    let run = run.map(|run| {
        let title = run.name.clone().unwrap_or_else(|| "a run".to_owned());
        result(ResultKind::Run, run.id.to_string(), title, run.created_ms)
    });
    run.into_iter().collect()
}

fn kinds(text: &str, current: Option<ResultKind>) -> Markup {
    let link = |kind: &str| format!("/search?q={}&kind={kind}", encoded(text));
    html! {
        div class="chips" {
            a class="chip" href=(link("")) aria-current=[current.is_none().then_some("true")] { "everything" }
            @for kind in ResultKind::ALL {
                a class="chip" href=(link(kind.as_str())) aria-current=[(current == Some(kind)).then_some("true")] { (kind.as_str()) "s" }
            }
        }
    }
}

fn row(found: &SearchResult, now_ms: u64) -> Markup {
    let folder = match found.kind {
        ResultKind::Run => "runs",
        ResultKind::Task => "tasks",
        ResultKind::Workflow => "workflows",
        ResultKind::Recipe => "recipes",
    };
    html! {
        a class="row" href={ "/" (folder) "/" (encoded(&found.name)) } {
            strong dir="auto" { (line(&found.title)) }
            (state("idle", found.kind.as_str()))
            span class="small muted" dir="auto" { @if found.excerpt.is_empty() { span class="mono" { (line(&found.name)) } } @else { (line(&found.excerpt)) } }
            span class="small muted" { @if let Some(at_ms) = found.at_ms { (when(at_ms, now_ms)) } }
        }
    }
}
