//! The settings of the server: models, budgets, schedules, webhooks and limits. Keys by name only.

use app::Permission;
use maud::{Markup, html};
use store::{DeliveryStatus, Schedule};

use super::frame::{NavPage, page};
use super::parts::{count, line, state, when};
use super::visit::{PageResult, PageVisit};
use crate::problem::{ApiProblem, ProblemCode};

/// How many messages of a webhook are shown.
const DELIVERIES_MAX: usize = 5;

pub(super) async fn show(visit: PageVisit) -> PageResult {
    let schedules = visit.use_cases.schedules().await?;
    let webhooks = webhook_card(&visit).await?;
    let model = visit.use_cases.project().settings.ai.model.clone();
    let title = match (&model, schedules.len()) {
        (None, 0) => "No model is set up, and nothing starts by itself".to_owned(),
        (None, number) => format!("No model is set up; {}", starting(number)),
        (Some(model), 0) => format!("{model} answers, and nothing starts by itself"),
        (Some(model), number) => format!("{model} answers; {}", starting(number)),
    };
    let body = html! {
        div class="head" { div { h1 dir="auto" { (title) } p class="muted" { "Settings are in " code { "drawloom.toml" } "; keys are named here, never shown." } } }
        div class="split split-run" {
            div { (model_card(&visit)) (schedule_card(&visit, &schedules)) (webhooks) }
            div { (worker_card(&visit)) (limit_card(&visit)) }
        }
    };
    Ok(page(&visit, NavPage::Settings, &title, &body).await)
}

fn starting(number: usize) -> String {
    count(number, "schedule starts runs", "schedules start runs")
}

/// The models that are asked, and where their keys come from.
fn model_card(visit: &PageVisit) -> Markup {
    let ai = &visit.use_cases.project().settings.ai;
    let key = match (&ai.api_key, ai.provider) {
        (Some(key), _) => Some(match key.variable() {
            Some(name) => format!("from the variable {name}"),
            None => "in the settings file".to_owned(),
        }),
        (None, Some(provider)) if provider.needs_key() => Some(format!(
            "from the variable {}",
            provider.key_variables().join(" or ")
        )),
        (None, _) => None,
    };
    let purposes = [
        ("for plans", &ai.models.plan),
        ("for code", &ai.models.generate),
        ("for answers", &ai.models.answer),
    ];
    html! {
        section class="card" {
            h2 { "Models" }
            @if ai.provider.is_none() && ai.command.is_none() && ai.stdio_command.is_none() {
                p class="muted" { "Nothing is set up: steps and questions for a model wait for a person. In " code { "drawloom.toml" } ":" }
                pre { "[ai]\nprovider = \"anthropic\"\nmodel = \"…\"\napi_key = \"$ANTHROPIC_API_KEY\"" }
            }
            dl class="facts" {
                dt { "answers come" } dd { (ai.mode.name()) }
                @if let Some(provider) = ai.provider { dt { "provider" } dd { (provider.name()) @if let Some(address) = &ai.base_url { " at " code { (line(address)) } } } }
                @if let Some(model) = &ai.model { dt { "model" } dd dir="auto" { (model) } }
                @for (word, model) in purposes { @if let Some(model) = model { dt { (word) } dd dir="auto" { (model) } } }
                @if !ai.fallbacks.is_empty() { dt { "where it fails" } dd dir="auto" { (ai.fallbacks.join(", ")) } }
                @if let Some(key) = key { dt { "key" } dd { (key) } }
                @if ai.command.is_some() || ai.stdio_command.is_some() { dt { "program" } dd { "one of the settings answers" } }
            }
        }
    }
}

/// Lists what runs may use, and how many tasks this server works on at a time.
fn worker_card(visit: &PageVisit) -> Markup {
    let settings = &visit.use_cases.project().settings.workflows;
    let usd =
        |amount: Option<f64>| amount.map_or("no limit".to_owned(), |most| format!("${most:.2}"));
    let kept = match (settings.keep_days, settings.keep_runs) {
        (None, None) => "for ever".to_owned(),
        (Some(days), None) => format!(
            "for {}",
            count(usize::try_from(days).unwrap_or(usize::MAX), "day", "days")
        ),
        (None, Some(runs)) => format!("the newest {runs}"),
        (Some(days), Some(runs)) => format!("for {days} days, at least the newest {runs}"),
    };
    html! {
        section class="card" {
            h2 { "Runs" }
            dl class="facts" {
                dt { "tasks at a time" } dd class="num" { (settings.concurrency) }
                dt { "a run may cost" } dd class="num" { (usd(settings.run_usd_max)) }
                dt { "a day may cost" } dd class="num" { (usd(settings.day_usd_max)) }
                dt { "ended runs are kept" } dd { (kept) }
                @for name in settings.rates.keys() { dt { "rate" } dd { code { (line(name)) } } }
                @for (name, rule) in &settings.notify { dt { "notice" } dd { code { (line(name)) } " " span class="small muted" { @if rule.on.is_empty() { "on everything" } @else { "on " (rule.on.join(", ").replace('_', " ")) } } } }
            }
        }
    }
}

fn limit_card(visit: &PageVisit) -> Markup {
    let limits = visit.state.limits();
    let facts = [
        (
            "bytes of a request",
            "body_bytes_max",
            limits.body_bytes_max.to_string(),
        ),
        (
            "items of a page",
            "page_items_max",
            limits.page_items_max.to_string(),
        ),
        (
            "runs of one request",
            "runs_at_once_max",
            limits.runs_at_once_max.to_string(),
        ),
        (
            "streams of a person",
            "streams_per_user_max",
            limits.streams_per_user_max.to_string(),
        ),
        (
            "requests a second",
            "requests_per_second_max",
            limits.requests_per_second_max.to_string(),
        ),
        (
            "sign-ins a minute",
            "sign_ins_per_minute_max",
            limits.sign_ins_per_minute_max.to_string(),
        ),
    ];
    html! {
        section class="card" { h2 { "Limits of this server" } dl class="facts" { @for (words, name, number) in &facts { dt title=(name) { (words) } dd class="num" { (number) " " code class="muted" { (name) } } } } }
    }
}

fn schedule_card(visit: &PageVisit, schedules: &[Schedule]) -> Markup {
    html! {
        section class="card" {
            h2 { "Schedules" }
            @if schedules.is_empty() { p class="muted" { "None. Add one with" } pre { "drawloom schedules add NAME WORKFLOW '0 6 * * *'" } }
            @for schedule in schedules {
                form class="inline" method="post" action="/settings/schedules" {
                    input type="hidden" name="slug" value=(schedule.slug.as_str());
                    @if schedule.is_enabled { (state("ok", "on")) } @else { (state("idle", "off")) } " "
                    strong { (schedule.slug.as_str()) } " " code { (schedule.cron) } " "
                    span class="small muted" { (schedule.workflow) " · " (schedule.time_zone) @if let Some(next) = schedule.next_ms { " · next " (when(next, visit.now_ms)) } }
                    @if visit.may(Permission::ManageSchedules) { " " button class="quiet" name="on" value=(!schedule.is_enabled) { @if schedule.is_enabled { "Switch off" } @else { "Switch on" } } }
                }
            }
        }
    }
}

/// The webhooks with their last messages, for those who may change them.
async fn webhook_card(visit: &PageVisit) -> Result<Markup, ApiProblem> {
    if !visit.may(Permission::ManageWebhooks) {
        return Ok(html! {});
    }
    let mut shown = Vec::new();
    for webhook in visit.use_cases.webhooks().await? {
        let sent = visit
            .use_cases
            .webhook_deliveries(webhook.id, None, DELIVERIES_MAX)
            .await?;
        shown.push((webhook, sent));
    }
    Ok(html! {
        section class="card" {
            h2 { "Webhooks" }
            @if shown.is_empty() { p class="muted" { "None. Programs add them with " code { "POST /api/v1/webhooks" } "." } }
            @for (webhook, sent) in &shown {
                div class="check" {
                    p { @if webhook.is_enabled { (state("ok", "on")) } @else { (state("idle", "off")) } " " code dir="auto" { (line(&webhook.url)) } " " span class="small muted" dir="auto" { (line(&webhook.description)) @if !webhook.events.is_empty() { " · " (webhook.events.join(", ")) } } }
                    ul class="plain" {
                        @for one in sent {
                            @let class = match one.status { DeliveryStatus::Delivered => "ok", DeliveryStatus::Waiting => "wait", DeliveryStatus::Failed => "bad" };
                            li class="small" { (state(class, one.status.as_str())) " " (when(one.created_ms, visit.now_ms)) " · " (count(usize::try_from(one.attempts).unwrap_or(usize::MAX), "attempt", "attempts"))
                                @if let Some(status) = one.last_status { " · HTTP " (status) }
                                @if let Some(error) = &one.last_error { " · " span dir="auto" { (line(error)) } } }
                        }
                    }
                }
            }
        }
    })
}

pub(super) async fn switch_schedule(visit: PageVisit) -> PageResult {
    let name = visit.form.required("slug")?.to_owned();
    let invalid = |cause: store::Error| ApiProblem::new(ProblemCode::Invalid, cause.to_string());
    let slug = name.parse().map_err(invalid)?;
    let is_on = visit.form.get("on") == Some("true");
    visit.use_cases.enable_schedule(&slug, is_on).await?;
    visit
        .done(("schedules.switch", &name), "/settings", "switched")
        .await
}
