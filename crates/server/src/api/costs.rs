//! Costs of runs, budgets that limit them, and search.

use app::{CostRequest, Permission, ResultKind, SearchRequest};
use axum::http::Method;
use serde_json::{Value, json};
use store::{CostKind, CostSum};

use super::page;
use crate::cursor;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess};

pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    vec![
        ApiRoute::new(
            Method::GET,
            "/costs",
            looks,
            "Adds up what attempts of runs have cost, by day unless `by` says otherwise.",
            |asked| Box::pin(costs(asked)),
        )
        .query(&[
            ("by", "day, run, workflow, step, model or person"),
            (
                "since",
                "the first day, such as 2026-11-01; 30 days ago if left out",
            ),
            ("until", "the last day; today if left out"),
            ("limit", "how many, at most page_items_max"),
            ("cursor", "nextCursor of the page before, for costs by run"),
        ])
        .answers(200, &["items", "nextCursor", "total", "since", "until"]),
        ApiRoute::new(
            Method::GET,
            "/budgets",
            looks,
            "Returns the most that a run and a day may cost, as the settings say.",
            |asked| Box::pin(budgets(asked)),
        )
        .answers(200, &["run", "day"]),
        ApiRoute::new(
            Method::GET,
            "/search",
            looks,
            "Finds runs, tasks, workflows and recipes that have all words.",
            |asked| Box::pin(search(asked)),
        )
        .query(&[
            ("q", "the words"),
            ("kind", "run, task, workflow or recipe"),
            ("limit", "how many, at most page_items_max"),
            ("cursor", "nextCursor of the page before"),
        ])
        .answers(200, &["items", "nextCursor", "isBehind"]),
    ]
}

async fn costs(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let by = match asked.query("by") {
        None => CostKind::Day,
        Some(word) => word_of(&CostKind::ALL, CostKind::as_str, ("by", word))?,
    };
    let after = cursor::read::<(Option<u64>, String, u64)>(&asked)?;
    let request = CostRequest {
        since: asked.query_as("since", "a day such as 2026-11-01")?,
        until: asked.query_as("until", "a day such as 2026-11-01")?,
        after: after.map(|(day, name, micros)| CostSum {
            day,
            name,
            micros,
            ..CostSum::default()
        }),
        max: cursor::page_items(&asked)?,
        ..CostRequest::by(by)
    };
    let report = asked.use_cases()?.costs(&request).await?;
    let next = report.next.as_ref();
    let next = next.map(|sum| cursor::write(&(sum.day, sum.name.as_str(), sum.micros)));
    let items = report.lines.iter().map(|line| {
        let mut shown = sum(&line.sum);
        shown["title"] = json!(line.title);
        shown["day"] = json!(line.day.map(|day| day.to_string()));
        shown["name"] = json!(line.sum.name);
        shown
    });
    let mut reply = page(&asked, items.collect(), next);
    if let crate::request::ReplyBody::Json(body) = &mut reply.body {
        body["total"] = sum(&report.total);
        body["since"] = json!(report.since.to_string());
        body["until"] = json!(report.until.to_string());
    }
    Ok(reply)
}

fn sum(sum: &CostSum) -> Value {
    json!({ "attempts": sum.attempts, "tokens": sum.tokens, "micros": sum.micros })
}

async fn budgets(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let settings = &use_cases.project().settings.workflows;
    let today = use_cases
        .costs(&CostRequest {
            max: 1,
            ..CostRequest::by(CostKind::Day)
        })
        .await?;
    let spent = today
        .lines
        .iter()
        .find(|line| line.day == Some(today.until))
        .map(|line| sum(&line.sum));
    Ok(ApiReply::json(json!({
        "run": { "tokensMax": settings.run_tokens_max, "usdMax": settings.run_usd_max },
        "day": {
            "tokensMax": settings.day_tokens_max, "usdMax": settings.day_usd_max,
            "spent": spent.unwrap_or_else(|| sum(&CostSum::default())),
        },
    })))
}

async fn search(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let kind = match asked.query("kind") {
        None => None,
        Some(word) => Some(word_of(
            &ResultKind::ALL,
            ResultKind::as_str,
            ("kind", word),
        )?),
    };
    let request = SearchRequest {
        text: asked.query("q").unwrap_or_default().to_owned(),
        kind,
        after: cursor::read::<u64>(&asked)?,
        max: cursor::page_items(&asked)?,
    };
    let found = asked.use_cases()?.search(&request).await?;
    let items = found.results.iter().map(|result| {
        json!({
            "kind": result.kind.as_str(), "name": result.name, "title": result.title,
            "excerpt": result.excerpt, "atMs": result.at_ms,
        })
    });
    let next = found.next.map(|next| cursor::write(&next));
    let mut reply = page(&asked, items.collect(), next);
    if let crate::request::ReplyBody::Json(body) = &mut reply.body {
        body["isBehind"] = json!(found.is_behind);
    }
    Ok(reply)
}

/// Reads a parameter that is one of some words.
fn word_of<T: Copy>(
    all: &[T],
    name: fn(T) -> &'static str,
    (parameter, word): (&str, &str),
) -> Result<T, ApiProblem> {
    let found = all.iter().copied().find(|one| name(*one) == word);
    found.ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        let message = format!("`{word}` cannot be used");
        ApiProblem::new(ProblemCode::BadRequest, message)
            .at(format!("/query/{parameter}"), words.join(", "))
    })
}
