//! The frame around every page: navigation with counts, search, the live mark, the person.

use app::InboxScope;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use flow::engine::RunStatus;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use store::RunFilter;

use super::assets;
use super::parts::count;
use super::visit::PageVisit;

/// The most that a count in the navigation counts up to.
const COUNTED_MAX: usize = 99;

const LOGO: &str = r#"<svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true"><path d="M3 4v12M8 4v12M13 4v12M17.5 4v12" opacity=".45"/><path d="M1 7h5M9.5 7h6M1 13h2.5M6 13h5M15 13h4"/></svg>"#;

/// A page of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NavPage {
    Inbox,
    Tasks,
    Runs,
    Workflows,
    Builds,
    Recipes,
    People,
    Costs,
    Activity,
    Settings,
    Health,
}

impl NavPage {
    const ALL: [NavPage; 11] = [
        NavPage::Inbox,
        NavPage::Tasks,
        NavPage::Runs,
        NavPage::Workflows,
        NavPage::Builds,
        NavPage::Recipes,
        NavPage::People,
        NavPage::Costs,
        NavPage::Activity,
        NavPage::Settings,
        NavPage::Health,
    ];

    fn link(self) -> (&'static str, &'static str) {
        match self {
            NavPage::Inbox => ("Inbox", "/inbox"),
            NavPage::Tasks => ("Tasks", "/tasks"),
            NavPage::Runs => ("Runs", "/runs"),
            NavPage::Workflows => ("Workflows", "/workflows"),
            NavPage::Builds => ("Builds", "/builds"),
            NavPage::Recipes => ("Recipes", "/recipes"),
            NavPage::People => ("People", "/people"),
            NavPage::Costs => ("Costs", "/costs"),
            NavPage::Activity => ("Activity", "/activity"),
            NavPage::Settings => ("Settings", "/settings"),
            NavPage::Health => ("Health", "/health"),
        }
    }
}

/// The sentence that a page shows after something was done, with the numbers of the address.
fn said(visit: &PageVisit) -> Option<String> {
    let number = |name: &str| visit.query.get(name).and_then(|text| text.parse().ok());
    let done: usize = number("n").unwrap_or(0);
    let missed = match number("missed").unwrap_or(0) {
        0 => String::new(),
        missed => format!(
            " {} passed over: they had changed meanwhile.",
            count(missed, "was", "were")
        ),
    };
    let words = visit.query.get("said")?;
    Some(match words {
        "answered-all" => format!(
            "Your answer is kept for {}.{missed}",
            count(done, "task", "tasks")
        ),
        "runs-changed" => format!("{} changed.{missed}", count(done, "run is", "runs are")),
        "items-retried" => format!(
            "{} tried again.{missed}",
            count(done, "item is", "items are")
        ),
        "tasks-changed" => format!("{} changed.{missed}", count(done, "task is", "tasks are")),
        words => sentence(words)?.to_owned(),
    })
}

fn sentence(said: &str) -> Option<&'static str> {
    Some(match said {
        "answered" => "Your answer is kept, and the run goes on.",
        "failed" => "The task is marked as impossible, with your reason.",
        "retried" => "The task is tried again.",
        "assigned" => "The task has its new assignee.",
        "commented" => "Your comment is kept.",
        "started" => "The run has begun.",
        "cancelled" => "The run is cancelled.",
        "paused" => "The run is paused: nothing new begins.",
        "resumed" => "The run goes on.",
        "rerun" => "The step and everything after it run again.",
        "saved" => "Saved as a new version.",
        "asked" => "The build is asked for; its plan is being made.",
        "approved" => "The plan is approved, and is being built.",
        "rejected" => "The build has ended without building.",
        "ended" => "The build is cancelled.",
        "added" => "Added.",
        "edited" => "Your changes are kept.",
        "activated" => "They can sign in and be asked again.",
        "deactivated" => "They are signed out and are asked nothing any more.",
        "signed-out" => "The session has ended.",
        "created" => "The task is added.",
        "view-saved" => "The view is kept; it is beside the filters.",
        "view-removed" => "The view is gone.",
        "imported" => "The workflow is imported.",
        "copied" => "The copy is saved under its own name.",
        "reviewed" => "Your review is sent; the build goes on.",
        "retried-build" => "The build continues.",
        "published" => "The build is being published.",
        "followed" => "The wish is kept; a plan for it is being made.",
        "revoked" => "The token is revoked.",
        "removed" => "The sample data is gone.",
        "switched" => "The schedule is switched.",
        _ => return None,
    })
}

/// Answers with a page whose title says what is the case.
pub(super) async fn page(visit: &PageVisit, here: NavPage, title: &str, body: &Markup) -> Response {
    page_with(visit, StatusCode::OK, (here, title), body).await
}

/// The same with another status.
pub(super) async fn page_with(
    visit: &PageVisit,
    status: StatusCode,
    (here, title): (NavPage, &str),
    body: &Markup,
) -> Response {
    let running = RunFilter {
        status: Some(RunStatus::Running),
        is_top: true,
        ..RunFilter::default()
    };
    // A page is shown also where its counts cannot be read.
    let waiting = visit
        .use_cases
        .count_inbox_to(InboxScope::Mine, COUNTED_MAX + 1)
        .await;
    let running = visit.use_cases.count_runs(&running, COUNTED_MAX + 1).await;
    let counts = (waiting.unwrap_or(0), running.unwrap_or(0));
    let said = said(visit);
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                a class="skip" href="#main" { "Skip to the page" }
                (top(visit, here, counts.0))
                (navigation(here, counts))
                main id="main" {
                    @if let Some(said) = said { p class="said" role="status" { (said) } }
                    (body)
                }
                (keys())
            }
        }
    };
    (status, whole).into_response()
}

/// A page without navigation.
pub(super) fn bare(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body class="bare" { main id="main" { (body) } }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            title { (title) " · Drawloom" }
            link rel="icon" href=(assets::path("icon.svg")) type="image/svg+xml";
            link rel="stylesheet" href=(assets::path("style.css"));
            script type="module" src=(assets::path("main.js")) {}
        }
    }
}

fn top(visit: &PageVisit, here: NavPage, waiting: usize) -> Markup {
    let name = &visit.identity.display_name;
    let initials: String = name
        .split(|c: char| !c.is_alphanumeric())
        .filter_map(|word| word.chars().next())
        .take(2)
        .flat_map(char::to_uppercase)
        .collect();
    html! {
        header class="top" {
            // On a narrow screen the navigation folds behind this button.
            button class="fold-nav" type="button" popovertarget="side" aria-label={ "Pages; this is " (here.link().0) } {
                span aria-hidden="true" { "☰" }
                @if waiting > 0 { span class="count" aria-hidden="true" { (badge(waiting)) } }
            }
            a class="logo" href="/inbox" { (PreEscaped(LOGO)) span { "Drawloom" } }
            form class="search" role="search" action="/search" {
                input type="search" name="q" placeholder="Search runs, tasks and workflows" aria-label="Search"
                    value=(visit.query.get("q").unwrap_or_default());
                kbd aria-hidden="true" { "/" }
            }
            span class="live" id="live" data-state="off" role="status" hidden { "connecting" }
            details class="person" {
                summary title=(name) { span class="avatar" aria-hidden="true" { (initials) } span class="visually-hidden" { (name) } }
                div class="menu" {
                    p { strong { (name) } br; span class="muted" { (visit.identity.actor.role().as_str()) } }
                    form method="post" action="/logout" { button { "Sign out" } }
                }
            }
        }
    }
}

/// A number of the navigation, which is not counted to its end.
fn badge(number: usize) -> String {
    match number {
        0 => String::new(),
        number if number > COUNTED_MAX => format!("{COUNTED_MAX}+"),
        number => number.to_string(),
    }
}

fn navigation(here: NavPage, (waiting, running): (usize, usize)) -> Markup {
    html! {
        nav class="side" aria-label="Main" id="side" data-live="side" popover {
            @for one in NavPage::ALL {
                @let (word, link) = one.link();
                @if one == NavPage::People { hr; }
                a href=(link) aria-current=[(one == here).then_some("page")] {
                    (word)
                    span class="count" {
                        @if one == NavPage::Inbox { (badge(waiting)) }
                        @if one == NavPage::Runs { (badge(running)) }
                    }
                }
            }
        }
    }
}

fn keys() -> Markup {
    let all = [
        ("?", "show these keys"),
        ("/", "search"),
        ("j k", "next, previous in a list"),
        ("Enter", "open"),
        ("x", "tick, or take the tick away"),
        ("a", "answer with the first button, or approve"),
        ("e", "edit the answer or the plan"),
        ("r", "say that it cannot be done, or reject"),
        ("] [", "next, previous change or failed item"),
        ("g i", "inbox"),
        ("g r", "runs"),
        ("g w", "workflows"),
        ("g t", "tasks"),
        ("g b", "builds"),
        ("g p", "people"),
        ("g c", "costs"),
    ];
    html! {
        dialog id="keys" aria-label="Keys" {
            h2 { "Keys" }
            dl class="facts" {
                @for (key, what) in all { dt { kbd { (key) } } dd { (what) } }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}
