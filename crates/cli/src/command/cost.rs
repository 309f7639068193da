//! `drawloom cost`: what models have cost in this project.

use app::ai::cost::{self, SpendGrouping, SpendReport, SpendSum};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;
use crate::table;

/// Show what models have cost in this project
///
/// Every call of a provider's model is written to `.drawloom/ledger`, one file per day (UTC). A
/// call without a known price is counted as unknown, never as free: see `ai.prices`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom cost
  drawloom cost --since 7d --by model
  drawloom cost --since 2026-11-01 --json")]
pub(crate) struct CostArgs {
    /// The first day: `today`, `7d`, `2w`, `2026-11-01`
    #[arg(long, value_name = "DAY")]
    since: Option<String>,
    /// Group by: day, model or purpose
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value = "day",
        hide_possible_values = true
    )]
    by: ByFlag,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ByFlag {
    Day,
    Model,
    Purpose,
}

impl CostArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let since = self.since.as_deref().map(cost::since).transpose()?;
        let (by, title) = match self.by {
            ByFlag::Day => (SpendGrouping::Day, "day"),
            ByFlag::Model => (SpendGrouping::Model, "model"),
            ByFlag::Purpose => (SpendGrouping::Purpose, "purpose"),
        };
        let sheet = cost::sheet(&project, since, by)?;
        if self.json {
            output::json(&as_json(&sheet, title))?;
        } else if sheet.sums.is_empty() {
            output::say("no model was asked");
        } else {
            output::data(as_text(&sheet, title).as_bytes())?;
        }
        if sheet.unreadable > 0 && !self.json {
            output::say(format!(
                "note: {} of the ledger could not be read and {} left out",
                if sheet.unreadable == 1 {
                    "1 line".to_owned()
                } else {
                    format!("{} lines", sheet.unreadable)
                },
                if sheet.unreadable == 1 { "is" } else { "are" }
            ));
        }
        Ok(CliExit::Done)
    }
}

fn as_text(sheet: &SpendReport, title: &str) -> String {
    let titles = [
        title,
        "calls",
        "input",
        "output",
        "cache read",
        "cache write",
        "reasoning",
        "cost",
    ];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    rows.extend(sheet.sums.iter().map(|sum| row(&sum.name, sum)));
    if sheet.sums.len() > 1 {
        rows.push(row("total", &sheet.total));
    }
    table::render(&rows)
}

fn row(name: &str, sum: &SpendSum) -> Vec<String> {
    let usage = sum.usage;
    let mut cells = vec![name.to_owned(), sum.spent.calls.to_string()];
    let tokens = [
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
    ];
    cells.extend(tokens.map(|count| count.to_string()));
    cells.push(money(sum));
    cells
}

/// Returns the known sum, and the number of calls without a price.
fn money(sum: &SpendSum) -> String {
    let known = llm::CallCost::Known(sum.spent.micro_usd);
    match (sum.spent.unpriced_calls, sum.spent.calls) {
        (0, _) => known.to_string(),
        (unpriced, calls) if unpriced == calls => "unknown".to_owned(),
        (1, _) => format!("{known} + 1 call of unknown price"),
        (unpriced, _) => format!("{known} + {unpriced} calls of unknown price"),
    }
}

fn as_json(sheet: &SpendReport, title: &str) -> Value {
    let sums: Vec<Value> = sheet
        .sums
        .iter()
        .map(|sum| {
            let mut fields = serde_json::Map::new();
            fields.insert(title.to_owned(), json!(sum.name));
            fields.extend(sum_json(sum));
            Value::Object(fields)
        })
        .collect();
    json!({
        "since": sheet.since.map(|day| day.to_string()),
        "by": title,
        "sums": sums,
        "total": Value::Object(sum_json(&sheet.total)),
        "unreadable_lines": sheet.unreadable,
    })
}

fn sum_json(sum: &SpendSum) -> serde_json::Map<String, Value> {
    let spent = sum.spent;
    let fields = json!({
        "calls": spent.calls,
        "usage": sum.usage,
        "micro_usd": sum.cost().micro_usd(),
        "known_micro_usd": spent.micro_usd,
        "unpriced_calls": spent.unpriced_calls,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    }
}
