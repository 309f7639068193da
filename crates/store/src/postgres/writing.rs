//! Rows of workflows go into PostgreSQL: all of them with one statement, each column as an array.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;

use flow::engine::{Changes, TaskRow, TimerRow};
use flow::{RunId, TaskId};
use serde::Serialize;

use super::integer;
use super::line::{Doubt, Mark, Values, Witness};
use super::workflows::Rows;
use crate::error::Result;
use crate::workflows::columns::{self, TaskColumns};
use crate::workflows::pages::pages;
use crate::workflows::shorthand;

/// Whether others are told that something is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    No,
    Yes,
}

impl Rows {
    /// Every kind of row in one statement, because each takes a trip to the server and back.
    pub(super) async fn write_all(&mut self, changes: &Changes, hint: Hint) -> Result<()> {
        let sql = match (is_beginning(changes), hint) {
            (false, Hint::No) => PUT,
            (false, Hint::Yes) => PUT_AND_HINT,
            (true, Hint::No) => PUT_NEW,
            (true, Hint::Yes) => PUT_NEW_AND_HINT,
        };
        let (values, witness) = self.values(changes)?;
        let named = self.line.fetch(sql, values).await?;
        let names: Vec<String> = self.line.column(&named, 0)?;
        // Whatever happens to a run is an event. The rest can be done twice.
        if let (Some(name), Some(witness)) = (names.into_iter().next(), witness) {
            self.doubt = Doubt::Named(Mark::Both(name, witness));
        }
        Ok(())
    }

    /// The same if the runs have come no further than is known. Says whether it was done.
    pub(super) async fn write_all_if(
        &mut self,
        changes: &Changes,
        known: &[(RunId, u64)],
        sql: &'static str,
    ) -> Result<bool> {
        let (values, witness) = self.values(changes)?;
        let values = values
            .and(strings(known.iter().map(|(run, _)| run)))
            .and(numbers(known.iter().map(|(_, seq)| *seq)));
        let Some(witness) = witness else {
            return Ok(false);
        };
        let answered = self.line.fetch_or_look(sql, values, witness).await?;
        match answered {
            Some(rows) => Ok(self.line.column(&rows, 0)?.first() == Some(&true)),
            None => Ok(true),
        }
    }

    /// Both ways.
    pub(super) async fn write_nothing(&mut self) -> Result<()> {
        let nothing = Changes::default();
        self.write_all(&nothing, Hint::No).await?;
        let (values, _) = self.values(&nothing)?;
        let values = values.and(Vec::<String>::new()).and(Vec::<i64>::new());
        self.line.fetch(PUT_IF, values).await?;
        Ok(())
    }

    fn values(&mut self, changes: &Changes) -> Result<(Values, Option<Witness>)> {
        let values = self.add_runs(Values::default(), changes)?;
        let values = self.add_tasks(values, &changes.tasks)?;
        let values = values.and(strings(&changes.taken));
        let values = self.add_groups(values, changes)?;
        let values = self.add_timers(values, changes)?;
        let pages = pages(&changes.events, |event| self.scribe.body(event))?;
        let witness = pages.last().map(|page| Witness {
            run: page.run.clone(),
            seq: integer(page.seq),
            body: page.body.clone(),
        });
        let values = values
            .and(list(pages.iter().map(|page| page.run.as_str())))
            .and(numbers(pages.iter().map(|page| page.seq)))
            .and(list(pages.into_iter().map(|page| page.body)))
            .and(self.bodies(&changes.notices)?);
        let values = self.add_lists(values, changes);
        Ok((self.add_calls(values, changes)?, witness))
    }

    /// What lists are read by, beside the rows themselves.
    fn add_lists(&mut self, values: Values, changes: &Changes) -> Values {
        let begun: HashSet<&RunId> = changes.inputs.iter().map(|(run, _)| run).collect();
        let new = changes.runs.iter().filter(|row| begun.contains(&row.id));
        let tags = new.flat_map(|row| row.tags.iter().map(move |tag| (row, tag)));
        let tags: Vec<_> = tags.collect();
        values
            .and(list(changes.runs.iter().map(|row| row.parent.is_none())))
            .and(strings(changes.notices.iter().map(|notice| &notice.run)))
            .and(list(tags.iter().map(|(_, tag)| self.scribe.text(tag))))
            .and(numbers(tags.iter().map(|(row, _)| row.created_ms)))
            .and(strings(tags.iter().map(|(row, _)| &row.id)))
    }

    fn add_calls(&mut self, values: Values, changes: &Changes) -> Result<Values> {
        let calls = &changes.calls;
        Ok(values
            .and(list(calls.iter().map(|row| row.task.run.as_str())))
            .and(numbers(calls.iter().map(|row| row.seq)))
            .and(strings(calls.iter().map(|row| &row.task)))
            .and(self.bodies(calls)?))
    }

    fn add_runs(&mut self, values: Values, changes: &Changes) -> Result<Values> {
        let rows = &changes.runs;
        let given = changes.inputs.iter().map(|(run, input)| (run, input));
        let given: HashMap<_, _> = given.collect();
        let inputs = rows.iter().map(|row| {
            let input = given.get(&row.id);
            input.map(|input| self.scribe.body(input)).transpose()
        });
        let inputs = inputs.collect::<Result<Vec<Option<String>>>>()?;
        Ok(values
            .and(list(rows.iter().map(|row| row.id.as_str())))
            .and(list(rows.iter().map(|row| row.workflow.as_str())))
            .and(list(rows.iter().map(|row| row.status.name())))
            .and(numbers(rows.iter().map(|row| row.created_ms)))
            .and(self.bodies(rows.iter().map(|row| &**row))?)
            .and(inputs))
    }

    fn add_tasks(&mut self, values: Values, rows: &[Arc<TaskRow>]) -> Result<Values> {
        let named: Vec<Named<'_>> = rows.iter().map(|row| Named::of(row)).collect();
        let is_ready = |named: &&Named<'_>| named.columns.ready_ms.is_some();
        let ready: Vec<&Named<'_>> = named.iter().filter(is_ready).collect();
        let maybe = |number: Option<u64>| number.map(integer);
        let values = values
            .and(list(named.iter().map(Named::name)))
            .and(list(rows.iter().map(|row| row.id.run.as_str())))
            .and(strings(rows.iter().map(|row| &row.id.path)))
            .and(list(named.iter().map(|named| named.columns.place.as_str())))
            .and(numbers(rows.iter().map(|row| u64::from(row.id.visit))))
            .and(list(rows.iter().map(|row| row.status.name())))
            .and(list(rows.iter().map(|row| row.assignee.as_deref())))
            .and(list(
                named.iter().map(|named| maybe(named.columns.ready_ms)),
            ))
            .and(list(
                named.iter().map(|named| maybe(named.columns.lease_ms)),
            ))
            .and(numbers(rows.iter().map(|row| row.fence)))
            .and(list(named.iter().map(|named| named.columns.is_active)))
            .and(self.short_bodies(rows)?)
            .and(list(ready.iter().map(|named| named.name())))
            .and(list(ready.iter().map(|named| named.row.id.run.as_str())))
            .and(numbers(
                ready.iter().filter_map(|named| named.columns.ready_ms),
            ))
            .and(list(
                ready.iter().map(|named| named.row.assignee.as_deref()),
            ));
        Ok(values)
    }

    fn add_groups(&mut self, values: Values, changes: &Changes) -> Result<Values> {
        let Changes { groups, items, .. } = changes;
        Ok(values
            .and(strings(groups.iter().map(|row| &row.id)))
            .and(self.bodies(groups.iter().map(|row| &**row))?)
            .and(repeated(items.iter().map(|row| &row.group)))
            .and(numbers(items.iter().map(|row| u64::from(row.index))))
            .and(self.bodies(items.iter().map(|row| &**row))?))
    }

    fn add_timers(&mut self, values: Values, changes: &Changes) -> Result<Values> {
        let gone = changes.timers.iter().filter(|(_, row)| row.is_none());
        let (runs, keys): (Vec<String>, Vec<String>) = gone
            .map(|((run, key), _)| (run.to_string(), key.clone()))
            .unzip();
        let rows = changes.timers.iter();
        let rows: Vec<&TimerRow> = rows.filter_map(|(_, row)| row.as_deref()).collect();
        Ok(values
            .and(runs)
            .and(keys)
            .and(strings(rows.iter().map(|row| &row.run)))
            .and(strings(rows.iter().map(|row| &row.key)))
            .and(numbers(rows.iter().map(|row| row.at_ms)))
            .and(self.bodies(rows)?))
    }

    /// The documents of tasks, written short.
    fn short_bodies(&mut self, rows: &[Arc<TaskRow>]) -> Result<Vec<String>> {
        let bodies = rows.iter().map(|row| {
            let body = self.scribe.body(&**row)?;
            Ok(shorthand::TASKS.shorten_whole(row.id.run.as_str(), &body))
        });
        bodies.collect()
    }

    fn bodies<T: Serialize>(&mut self, rows: impl IntoIterator<Item = T>) -> Result<Vec<String>> {
        let rows = rows.into_iter();
        rows.map(|row| self.scribe.body(&row)).collect()
    }
}

/// A task and what it is found by. Its name and its place are one text, mostly.
struct Named<'r> {
    row: &'r TaskRow,
    columns: TaskColumns,
    other_name: Option<String>,
}

impl<'r> Named<'r> {
    fn of(row: &'r TaskRow) -> Named<'r> {
        Named {
            row,
            columns: columns::task(row),
            other_name: (row.id.visit != 1).then(|| columns::text(&row.id)),
        }
    }

    fn name(&self) -> &str {
        self.other_name.as_deref().unwrap_or(&self.columns.place)
    }
}

/// The names of tasks, of which many in a row are one and the same.
fn repeated<'t>(tasks: impl Iterator<Item = &'t TaskId>) -> Vec<String> {
    let mut last: Option<(&TaskId, String)> = None;
    let named = tasks.map(|task| {
        let name = match last.take() {
            Some((same, name)) if same == task => name,
            _ => columns::text(task),
        };
        last.insert((task, name)).1.clone()
    });
    named.collect()
}

/// What is done about rows that may be there already.
macro_rules! if_known {
    (known, $clause:literal) => {
        $clause
    };
    (new, $clause:literal) => {
        ""
    };
}

/// Everything that a transaction changes, behind what comes before it. `$if` stands where rows are
/// chosen, `$and` where they are already.
macro_rules! put {
    ($known:ident, $before:literal, $if:literal, $and:literal) => {
        concat!(
            "WITH ",
            $before,
            "runs AS (INSERT INTO workflow_runs (id, workflow, status, created_ms, body, input, \
             is_top) \
             SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], \
             $6::text[], $39::boolean[])",
            $if,
            if_known!($known, " ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body"),
            "), tasks AS (INSERT INTO workflow_tasks (id, run, path, place, visit, status, assignee, \
             ready_ms, lease_ms, fence, is_active, body) \
             SELECT * FROM unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], \
             $12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::bigint[], $17::boolean[], \
             $18::text[])",
            $if,
            if_known!($known, " ON CONFLICT (place, visit) DO UPDATE SET status = excluded.status, \
             assignee = excluded.assignee, ready_ms = excluded.ready_ms, lease_ms = excluded.lease_ms, \
             fence = excluded.fence, is_active = excluded.is_active, body = excluded.body"),
            "), ready AS (INSERT INTO workflow_ready (task, run, ready_ms, assignee) \
             SELECT * FROM unnest($19::text[], $20::text[], $21::bigint[], $22::text[])",
            $if,
            " ON CONFLICT (task) DO UPDATE \
             SET ready_ms = excluded.ready_ms, assignee = excluded.assignee), \
             begun AS (DELETE FROM workflow_ready WHERE task = ANY($23::text[])",
            $and,
            "), groups AS (INSERT INTO workflow_groups (id, body) \
             SELECT * FROM unnest($24::text[], $25::text[])",
            $if,
            if_known!($known, " ON CONFLICT (id) DO UPDATE SET body = excluded.body"),
            "), items AS (INSERT INTO workflow_items (\"group\", \"index\", body) \
             SELECT * FROM unnest($26::text[], $27::bigint[], $28::text[])",
            $if,
            if_known!($known, " ON CONFLICT (\"group\", \"index\") DO UPDATE SET body = excluded.body"),
            "), gone AS (DELETE FROM workflow_timers \
             USING unnest($29::text[], $30::text[]) AS old (run, key) \
             WHERE workflow_timers.run = old.run AND workflow_timers.key = old.key",
            $and,
            "), timers AS (INSERT INTO workflow_timers (run, key, at_ms, body) \
             SELECT * FROM unnest($31::text[], $32::text[], $33::bigint[], $34::text[])",
            $if,
            " ON CONFLICT (run, key) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body), \
             events AS (INSERT INTO workflow_events (run, seq, body) \
             SELECT * FROM unnest($35::text[], $36::bigint[], $37::text[])",
            $if,
            "), notices AS (INSERT INTO workflow_notices (body, run) \
             SELECT * FROM unnest($38::text[], $40::text[])",
            $if,
            "), tags AS (INSERT INTO workflow_tags (tag, created_ms, run) \
             SELECT * FROM unnest($41::text[], $42::bigint[], $43::text[])",
            $if,
            " ON CONFLICT DO NOTHING), calls AS (INSERT INTO workflow_calls (run, seq, task, body) \
             SELECT * FROM unnest($44::text[], $45::bigint[], $46::text[], $47::text[])",
            $if,
            ") "
        )
    };
}

/// Only if the runs have come no further than is known.
macro_rules! put_if {
    () => {
        put!(
            known,
            "held AS (SELECT held.id FROM workflow_runs AS held \
             JOIN unnest($48::text[], $49::bigint[]) AS known (id, seq) ON held.id = known.id \
             WHERE (held.body::json ->> 'seq')::bigint = known.seq \
             ORDER BY held.id FOR UPDATE OF held), \
             same AS (SELECT count(*) = cardinality($48::text[]) AS same FROM held), ",
            " WHERE (SELECT same FROM same)",
            " AND (SELECT same FROM same)"
        )
    };
}

/// These give the transaction's name.
const PUT: &str = concat!(put!(known, "", "", ""), "SELECT pg_current_xact_id()::text");
const PUT_AND_HINT: &str = concat!(
    put!(known, "", "", ""),
    "SELECT pg_current_xact_id()::text, pg_notify('drawloom_ready', '')"
);
const PUT_NEW: &str = concat!(put!(new, "", "", ""), "SELECT pg_current_xact_id()::text");
const PUT_NEW_AND_HINT: &str = concat!(
    put!(new, "", "", ""),
    "SELECT pg_current_xact_id()::text, pg_notify('drawloom_ready', '')"
);
/// Gives whether it was.
pub(super) const PUT_IF: &str = concat!(put_if!(), "SELECT same FROM same");
pub(super) const PUT_IF_AND_HINT: &str = concat!(
    put_if!(),
    "SELECT same, pg_notify('drawloom_ready', '') FROM same"
);
pub(super) const HINT: &str = "SELECT pg_notify('drawloom_ready', '')";

/// Whether all of it is about runs that begin, which have no rows yet.
fn is_beginning(changes: &Changes) -> bool {
    let new: HashSet<&RunId> = changes.inputs.iter().map(|(run, _)| run).collect();
    !new.is_empty()
        && changes.runs.iter().all(|row| new.contains(&row.id))
        && changes.tasks.iter().all(|row| new.contains(&row.id.run))
}

fn list<T>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    values.into_iter().collect()
}

pub(super) fn strings<T: Display>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    let values = values.into_iter();
    values.map(|value| columns::text(&value)).collect()
}

pub(super) fn numbers(values: impl IntoIterator<Item = u64>) -> Vec<i64> {
    values.into_iter().map(integer).collect()
}
