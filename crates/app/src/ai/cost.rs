//! What was spent, added up from the ledger.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{Span, Timestamp};
use llm::budget::Spent;
use llm::{Cost, Usage};

use super::ledger::{self, Line, utc};
use crate::{Code, Error, Project};

/// What the sums are by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Day,
    Model,
    Purpose,
}

/// One sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub name: String,
    pub usage: Usage,
    pub spent: Spent,
}

impl Sum {
    fn add(&mut self, line: &Line) {
        self.usage += line.usage;
        self.spent.add(line.usage.total(), line.cost());
    }

    pub fn cost(&self) -> Cost {
        self.spent.cost()
    }
}

/// All sums, and everything together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    pub since: Option<Date>,
    pub sums: Vec<Sum>,
    pub total: Sum,
    /// Lines of the ledger that are no calls: a process died while writing, or somebody edited it.
    pub unreadable: usize,
}

/// Adds up the calls since a day, that day included.
pub fn sheet(project: &Project, since: Option<Date>, by: By) -> Result<Sheet, Error> {
    let mut sheet = Sheet {
        since,
        ..Sheet::default()
    };
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for day in ledger::days(&project.root)? {
        if since.is_some_and(|since| day < since) {
            continue;
        }
        let page = ledger::page(&project.root, day)?;
        sheet.unreadable += page.unreadable;
        for line in &page.lines {
            let name = match by {
                By::Day => day.to_string(),
                By::Model => format!("{}/{}", line.provider.name(), line.model),
                By::Purpose => line.purpose.clone(),
            };
            sums.entry(name).or_default().add(line);
            sheet.total.add(line);
        }
    }
    sheet.sums = sums
        .into_iter()
        .map(|(name, sum)| Sum { name, ..sum })
        .collect();
    Ok(sheet)
}

/// The day that `today`, `7d`, `2w` or `2026-11-01` means.
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
        Error::new(Code::Data, format!("`{text}` is no day"))
            .hint("write `today`, a number of days or weeks such as `7d` or `2w`, or `2026-11-01`")
    })
}
