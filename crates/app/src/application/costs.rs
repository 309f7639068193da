//! Costs of runs, by day, run, workflow, step, model and person.

use std::collections::HashMap;

use flow::RunId;
use jiff::civil::Date;
use store::{CostDays, CostKind, CostSum};

use super::UseCases;
use super::access::Permission;
use crate::people::explained;
use crate::{AppErrorCode, Error};

/// The most days that are added up at once.
pub const COST_DAYS_MAX: u64 = 400;
/// The most sums of one page.
pub const COST_PAGE_MAX: usize = 500;

/// Costs that are wanted.
#[derive(Clone, Debug)]
pub struct CostRequest {
    pub by: CostKind,
    /// The first day (UTC); nothing for the last thirty days.
    pub since: Option<Date>,
    /// The last day (UTC); nothing for today.
    pub until: Option<Date>,
    /// The last line of the page before, for costs by run.
    pub after: Option<CostSum>,
    /// At most [`COST_PAGE_MAX`].
    pub max: usize,
}

impl CostRequest {
    /// Asks for the last thirty days.
    pub fn by(by: CostKind) -> CostRequest {
        CostRequest {
            by,
            since: None,
            until: None,
            after: None,
            max: COST_PAGE_MAX,
        }
    }
}

/// Costs of some days.
#[derive(Clone, Debug)]
pub struct CostReport {
    pub since: Date,
    pub until: Date,
    pub lines: Vec<CostLine>,
    /// Everything that was spent in these days.
    pub total: CostSum,
    /// Leads to the next page of costs by run; nothing behind the last one.
    pub next: Option<CostSum>,
}

/// A sum of costs with its name.
#[derive(Clone, Debug)]
pub struct CostLine {
    /// The day, for costs by day and by run.
    pub day: Option<Date>,
    /// The day, the title of the run, or the name of the workflow, step, model or person.
    pub title: String,
    pub sum: CostSum,
}

impl UseCases {
    /// Adds up what attempts of runs have cost. The ledger of `drawloom cost` has calls outside of runs
    /// as well.
    pub async fn costs(&self, request: &CostRequest) -> Result<CostReport, Error> {
        self.permit(Permission::Look)?;
        let today = day_of(self.app().now_ms() / 86_400_000);
        let until = request.until.unwrap_or(today);
        let month = jiff::Span::new().days(29);
        let since = request.since.unwrap_or(until.saturating_sub(month));
        let days = CostDays {
            first: number_of(since)?,
            last: number_of(until)?,
        };
        if days.last.saturating_sub(days.first) >= COST_DAYS_MAX {
            let message =
                format!("{since} to {until} are more than COST_DAYS_MAX = {COST_DAYS_MAX} days");
            return Err(Error::new(AppErrorCode::Limit, message).hint("ask for a shorter time"));
        }
        let ports = self.app().ports();
        let max = request.max.clamp(1, COST_PAGE_MAX);
        let listed = match (&request.after, request.by) {
            (Some(after), CostKind::Run) => ports.run_costs_after(days, after, max).await,
            _ => ports.cost_sums(request.by, days, max).await,
        };
        let sums = listed.map_err(explained)?;
        let is_full = request.by == CostKind::Run && sums.len() == max;
        Ok(CostReport {
            since,
            until,
            next: sums.last().filter(|_| is_full).cloned(),
            total: ports.cost_total(days).await.map_err(explained)?,
            lines: self.cost_lines(request.by, sums).await?,
        })
    }

    async fn cost_lines(&self, by: CostKind, sums: Vec<CostSum>) -> Result<Vec<CostLine>, Error> {
        let titles = match by {
            CostKind::Run => self.run_titles(&sums).await?,
            _ => HashMap::new(),
        };
        let lines = sums.into_iter().map(|sum| {
            let day = sum.day.map(day_of);
            let title = match (by, day) {
                (CostKind::Day, Some(day)) => day.to_string(),
                _ => titles.get(&sum.name).unwrap_or(&sum.name).clone(),
            };
            CostLine { day, title, sum }
        });
        Ok(lines.collect())
    }

    async fn run_titles(&self, sums: &[CostSum]) -> Result<HashMap<String, String>, Error> {
        let ids: Vec<RunId> = sums
            .iter()
            .map(|sum| RunId::new(sum.name.as_str()))
            .collect();
        let runs = self.app().ports().runs_of(&ids).await.map_err(explained)?;
        let titles = runs
            .into_iter()
            .filter_map(|run| Some((run.id.to_string(), run.name?)));
        Ok(titles.collect())
    }
}

fn day_of(number: u64) -> Date {
    let days = i64::try_from(number).unwrap_or(0).min(1_000_000);
    Date::constant(1970, 1, 1).saturating_add(jiff::Span::new().days(days))
}

fn number_of(day: Date) -> Result<u64, Error> {
    let since = day.since(Date::constant(1970, 1, 1)).ok();
    let number = since.and_then(|span| u64::try_from(span.get_days()).ok());
    number.ok_or_else(|| {
        let message = format!("`{day}` is before 1970-01-01");
        Error::new(AppErrorCode::Usage, message).hint("costs are kept from the first run on")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        for (number, text) in [(0, "1970-01-01"), (20_775, "2026-11-18")] {
            assert_eq!(day_of(number).to_string(), text);
            assert_eq!(number_of(text.parse().unwrap()).unwrap(), number);
        }
        assert!(number_of("1969-12-31".parse().unwrap()).is_err());
    }
}
