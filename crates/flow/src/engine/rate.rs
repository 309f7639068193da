//! How many tasks begin within a span of time: a row for each one that has begun, until the span is over.

use crate::engine::decision_context::{DecisionContext, DecisionResult};
use crate::engine::rows::{RowSource, SlotRow, TaskRow};
use crate::engine::{CommandRefusal, DecisionStop, RefusalKind};
use crate::limits::RateLimit;

impl<R: RowSource> DecisionContext<'_, R> {
    /// The limits that count a task which is to be claimed. Refused while one of them is reached.
    pub(crate) fn open_rates<'l>(
        &mut self,
        row: &TaskRow,
        rates: &'l [RateLimit],
    ) -> DecisionResult<R, Vec<&'l RateLimit>> {
        if rates.is_empty() {
            return Ok(Vec::new());
        }
        let Some(step) = self.workflow.step_of(row) else {
            return Ok(Vec::new());
        };
        let rates = rates.iter().filter(|rate| rate.counts(&step));
        let rates: Vec<&RateLimit> = rates.collect();
        for rate in &rates {
            let begun = self.begun(rate)?;
            if begun >= usize::try_from(rate.max).unwrap_or(usize::MAX) {
                let message = format!(
                    "The task `{}` waits: `{}` lets {} begin in {} ms.",
                    row.id, rate.name, rate.max, rate.per_ms
                );
                return Err(DecisionStop::Refused(CommandRefusal::new(
                    RefusalKind::NoRoom,
                    message,
                )));
            }
        }
        Ok(rates)
    }

    /// Notes that a task begins.
    pub(crate) fn count_begin(&mut self, row: &TaskRow, rates: &[&RateLimit]) {
        for rate in rates {
            let slot = SlotRow {
                key: rate.key(),
                holder: format!("{}#{}", row.id, row.fence),
                max: rate.max,
                since_ms: self.now_ms,
                is_held: true,
            };
            self.slots.put(slot.id(), slot);
        }
    }

    /// Counts the tasks that have begun within the span, and forgets those before it.
    fn begun(&mut self, rate: &RateLimit) -> DecisionResult<R, usize> {
        let rows = self.slots(&rate.key())?;
        let from_ms = self.now_ms.saturating_sub(rate.per_ms);
        let (within, over): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.since_ms > from_ms);
        for row in over {
            self.slots.set(row.id(), None);
        }
        Ok(within.len())
    }
}
