//! Sums up the spending in the ledger.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{Span, Timestamp};
use llm::budget::SpentTotal;
use llm::{CallCost, Usage};

use super::cost_log::{self, CostEntry, utc};
use crate::{AppErrorCode, Error, Project};

/// Grouping of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpendGrouping {
    Day,
    Model,
    Purpose,
}

/// One sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpendSum {
    pub name: String,
    pub usage: Usage,
    pub spent: SpentTotal,
}

impl SpendSum {
    fn add(&mut self, line: &CostEntry) {
        self.usage += line.usage;
        self.spent.add(line.usage.total(), line.cost());
    }

    pub fn cost(&self) -> CallCost {
        self.spent.cost()
    }
}

/// All sums, and everything together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpendReport {
    pub since: Option<Date>,
    pub sums: Vec<SpendSum>,
    pub total: SpendSum,
    /// Lines of the ledger that are not calls: a process died while writing, or a person edited the
    /// file.
    pub unreadable: usize,
}

/// Adds up the calls since a day, that day included.
pub fn sheet(
    project: &Project,
    since: Option<Date>,
    by: SpendGrouping,
) -> Result<SpendReport, Error> {
    let mut sheet = SpendReport {
        since,
        ..SpendReport::default()
    };
    let mut sums: BTreeMap<String, SpendSum> = BTreeMap::new();
    for day in cost_log::days(&project.root)? {
        if since.is_some_and(|since| day < since) {
            continue;
        }
        let page = cost_log::page(&project.root, day)?;
        sheet.unreadable += page.unreadable;
        for line in &page.lines {
            let name = match by {
                SpendGrouping::Day => day.to_string(),
                SpendGrouping::Model => format!("{}/{}", line.provider.name(), line.model),
                SpendGrouping::Purpose => line.purpose.clone(),
            };
            sums.entry(name).or_default().add(line);
            sheet.total.add(line);
        }
    }
    sheet.sums = sums
        .into_iter()
        .map(|(name, sum)| SpendSum { name, ..sum })
        .collect();
    Ok(sheet)
}

/// Returns the day that `today`, `7d`, `2w` or `2026-11-01` means.
pub fn since(text: &str) -> Result<Date, Error> {
    let today = utc(Timestamp::now()).date();
    let text = text.trim();
    let back = |number: &str, days: i64| {
        let count: i64 = number.parse().ok()?;
        let span = Span::new().try_days(count.checked_mul(days)?).ok()?;
        today.checked_sub(span).ok()
    };
    let day = match text {
        "today" => Some(today),
        "yesterday" => back("1", 1),
        _ => match (text.strip_suffix('d'), text.strip_suffix('w')) {
            (Some(days), _) => back(days, 1),
            (_, Some(weeks)) => back(weeks, 7),
            _ => text.parse().ok(),
        },
    };
    day.ok_or_else(|| {
        Error::new(AppErrorCode::Usage, format!("`{text}` is not a day"))
            .hint("write `today`, a number of days or weeks such as `7d` or `2w`, or `2026-11-01`")
    })
}
