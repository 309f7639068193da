//! Spending: by day as a chart, by workflow, step, model, person and run, budgets and a forecast.

use app::ai::cost::{self, SpendGrouping};
use app::{CostReport, CostRequest};
use maud::{Markup, html};
use store::CostKind;

use super::frame::{NavPage, page};
use super::parts::{count, line, money};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

/// How many lines a table has.
const LINES_MAX: usize = 50;
/// The kinds of sums, with the words of their tables.
const KINDS: [(CostKind, &str); 6] = [
    (CostKind::Workflow, "workflow"),
    (CostKind::Step, "step"),
    (CostKind::Model, "model"),
    (CostKind::Person, "person or agent"),
    (CostKind::Run, "run"),
    (CostKind::Day, "day"),
];
/// The spans of days, with their words.
const SPANS: [(u16, &str); 3] = [(1, "yesterday and today"), (29, "30 days"), (89, "90 days")];

/// Shows the costs of some days.
pub(super) async fn show(visit: PageVisit) -> PageResult {
    let kind = visit.query.text("by");
    let kind = kind.and_then(|word| KINDS.into_iter().find(|(one, _)| one.as_str() == word));
    let (kind, word) = kind.unwrap_or(KINDS[0]);
    let days = visit.query.text("days").and_then(|text| text.parse().ok());
    let (days, _) = SPANS
        .into_iter()
        .find(|(known, _)| Some(*known) == days)
        .unwrap_or(SPANS[1]);
    let request = |by| -> Result<CostRequest, ApiProblem> {
        Ok(CostRequest {
            since: Some(first_day(visit.now_ms, days)?),
            max: LINES_MAX,
            ..CostRequest::by(by)
        })
    };
    let daily = CostRequest {
        max: app::COST_PAGE_MAX,
        ..request(CostKind::Day)?
    };
    let daily = visit.use_cases.costs(&daily).await?;
    let sums = visit.use_cases.costs(&request(kind)?).await?;
    let ledger = cost::sheet(visit.use_cases.project(), None, SpendGrouping::Day)?;
    let total = &daily.total;
    let title = match (total.micros, total.tokens) {
        (0, 0) => "Nothing was spent in these days".to_owned(),
        (micros, _) => format!(
            "{} in the last {}",
            money(micros),
            count(usize::from(days) + 1, "day", "days")
        ),
    };
    let link = |by: &str, days: u16| format!("/costs?by={}&days={days}", encoded(by));
    let body = html! {
        div class="head" { div { h1 { (title) }
            p class="muted" { (count(total.attempts as usize, "attempt", "attempts")) " of runs that were paid for, " (total.tokens) " tokens." } } }
        div class="chips" { @for (number, words) in SPANS { a class="chip" href=(link(kind.as_str(), number)) aria-current=[(number == days).then_some("true")] { (words) } } }
        div class="split split-run" {
            div {
                (chart(&daily))
                section class="card" {
                    div class="chips" { @for (one, words) in KINDS { a class="chip" href=(link(one.as_str(), days)) aria-current=[(one == kind).then_some("true")] { "by " (words) } } }
                    (table(word, &sums, kind))
                }
            }
            div {
                (budgets(&visit, &daily))
                (all_calls(&ledger))
            }
        }
    };
    Ok(page(&visit, NavPage::Costs, &title, &body).await)
}

fn first_day(now_ms: u64, days: u16) -> Result<jiff::civil::Date, ApiProblem> {
    let now = i64::try_from(now_ms).ok();
    let now = now.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let today = now.map(|now| now.to_zoned(jiff::tz::TimeZone::UTC).date());
    let first = today.and_then(|today| {
        today
            .checked_sub(jiff::Span::new().days(i64::from(days)))
            .ok()
    });
    first.ok_or_else(|| ApiProblem::new(ProblemCode::Internal, "the clock tells no day"))
}

/// A bar for each day, as high as what it cost; by tokens where nothing has a price.
fn chart(daily: &CostReport) -> Markup {
    let mut days: Vec<_> = daily.lines.iter().collect();
    days.reverse();
    let is_priced = days.iter().any(|day| day.sum.micros > 0);
    let amount = |day: &app::CostLine| match is_priced {
        true => day.sum.micros,
        false => day.sum.tokens,
    };
    let most = days.iter().map(|day| amount(day)).max().unwrap_or(0).max(1);
    let wide = 480 / days.len().clamp(30, 90);
    html! {
        @if !days.is_empty() {
            section class="card" {
                h2 { @if is_priced { "Cost by day" } @else { "Tokens by day" } }
                svg class="chart" viewBox="0 0 480 150" role="img" aria-label={ "The last " (count(days.len(), "day", "days")) " with costs; the table by day has the numbers" } {
                    line x1="0" y1="130" x2="480" y2="130" {}
                    @for (at, day) in days.iter().enumerate() {
                        @let high = (amount(day) * 110 / most).max(1);
                        rect x=(at * wide + 1) y=(130 - high) width=(wide.saturating_sub(2).max(2)) height=(high) rx="2" { title { (day.title) ": " (money(day.sum.micros)) ", " (day.sum.tokens) " tokens" } }
                    }
                    @if let (Some(first), Some(last)) = (days.first(), days.last()) {
                        text x="2" y="146" { (first.title) }
                        @if days.len() > 12 { text class="end" x=(days.len() * wide) y="146" { (last.title) } }
                    }
                }
            }
        }
    }
}

fn table(word: &str, sums: &CostReport, kind: CostKind) -> Markup {
    html! {
        @if sums.lines.is_empty() { p class="muted" { "No run has paid for anything in these days. Runs without a model cost nothing." } } @else {
            div class="scroll" { table class="table" {
                thead { tr { th scope="col" { (word) } th scope="col" class="num" { "attempts" } th scope="col" class="num" { "tokens" } th scope="col" class="num" { "cost" } } }
                tbody {
                    @for line_of in &sums.lines {
                        tr {
                            td dir="auto" {
                                @match kind {
                                    CostKind::Run => a href={ "/runs/" (encoded(&line_of.sum.name)) } { (line(&line_of.title)) },
                                    CostKind::Workflow => a href={ "/runs?workflow=" (encoded(&line_of.title)) } { (line(&line_of.title)) },
                                    _ => (line(&line_of.title)),
                                }
                                @if let (CostKind::Run, Some(day)) = (kind, line_of.day) { " " span class="muted small" { (day) } }
                            }
                            td class="num" { (line_of.sum.attempts) }
                            td class="num" { (line_of.sum.tokens) }
                            td class="num" { (money(line_of.sum.micros)) }
                        }
                    }
                    tr { th scope="row" { "all" } td class="num" { (sums.total.attempts) } td class="num" { (sums.total.tokens) } td class="num" { (money(sums.total.micros)) } }
                }
            } }
            @if sums.lines.len() >= LINES_MAX { p class="hint" { "The first " (LINES_MAX) ". The API has all of them." } }
        }
    }
}

/// The budgets of the settings, what is left of today's, and what a month like these days would cost.
fn budgets(visit: &PageVisit, daily: &CostReport) -> Markup {
    let settings = &visit.use_cases.project().settings.workflows;
    let newest = daily
        .lines
        .first()
        .filter(|day| day.day == Some(daily.until));
    let today = newest.map_or((0, 0), |day| (day.sum.micros, day.sum.tokens));
    let usd = |amount: f64| money((amount * 1e6) as u64);
    let left = |most: f64| (most - today.0 as f64 / 1e6).max(0.0);
    let span = daily.until.since(daily.since).ok();
    let number = span.map_or(1, |span| span.get_days().unsigned_abs() + 1);
    let month = daily.total.micros / u64::from(number) * 30;
    html! {
        section class="card" {
            h2 { "Budgets" }
            dl class="facts" {
                dt { "today so far" } dd class="num" { (money(today.0)) ", " (today.1) " tokens" }
                @if let Some(most) = settings.day_usd_max { dt { "a day may cost" } dd class="num" { (usd(most)) ", " (usd(left(most))) " left today" } }
                @if let Some(most) = settings.day_tokens_max { dt { "a day may use" } dd class="num" { (most) " tokens, " (most.saturating_sub(today.1)) " left today" } }
                @if let Some(most) = settings.run_usd_max { dt { "a run may cost" } dd class="num" { (usd(most)) } }
                @if let Some(most) = settings.run_tokens_max { dt { "a run may use" } dd class="num" { (most) " tokens" } }
                dt { "30 days like these" } dd class="num" { "about " (money(month)) }
            }
            @if settings.day_usd_max.is_none() && settings.run_usd_max.is_none() {
                p class="hint" { "No budget is set. In " code { "drawloom.toml" } ":" }
                pre { "[workflows]\nday_usd_max = 5.0\nrun_usd_max = 0.5" }
            }
            p class="hint" { "A step that would pass a budget waits in the inbox and asks." }
        }
    }
}

/// Everything in the ledger: calls outside of runs as well.
fn all_calls(ledger: &cost::SpendReport) -> Markup {
    html! {
        @if !ledger.sums.is_empty() {
            section class="card" {
                h2 { "All calls, builds and recipes too" }
                table class="table" {
                    thead { tr { th scope="col" { "day" } th scope="col" class="num" { "tokens" } th scope="col" class="num" { "cost" } } }
                    tbody {
                        @for sum in ledger.sums.iter().rev().take(14) { tr { td { (sum.name) } td class="num" { (sum.usage.total()) } td class="num" { (sum.cost().to_string()) } } }
                        tr { th scope="row" { "all" } td class="num" { (ledger.total.usage.total()) } td class="num" { (ledger.total.cost().to_string()) } }
                    }
                }
            }
        }
    }
}
