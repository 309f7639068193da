//! Writes rows of workflows to PostgreSQL: all of them with one statement, each column as an array.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;

use flow::engine::{RowChanges, SlotRow, TaskRow, TimerRow};
use flow::{RunId, TaskId};
use serde::Serialize;

use super::connection::{BoundValues, CommitWitness, LostCommitPolicy, TransactionMarker};
use super::integer;
use super::workflows::PostgresRows;
use crate::error::Result;
use crate::search::{bounded, words_of};
use crate::workflows::columns::{self, TaskColumns};
use crate::workflows::derived::DerivedRows;
use crate::workflows::event_pages::pages;
use crate::workflows::shorthand;

/// Says whether to send other workers a hint that a task is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerHint {
    No,
    Yes,
}

impl PostgresRows {
    /// Writes every kind of row in one statement, because each statement takes a round trip.
    pub(super) async fn write_all(&mut self, changes: &RowChanges, hint: WorkerHint) -> Result<()> {
        let sql = match (is_beginning(changes), hint) {
            (false, WorkerHint::No) => PUT,
            (false, WorkerHint::Yes) => PUT_AND_HINT,
            (true, WorkerHint::No) => PUT_NEW,
            (true, WorkerHint::Yes) => PUT_NEW_AND_HINT,
        };
        let (values, witness) = self.values(changes)?;
        let named = self.line.fetch(sql, values).await?;
        self.write_derived(changes).await?;
        let names: Vec<String> = self.line.column(&named, 0)?;
        // Every change of a run is an event, which can be the witness. The other rows may be
        // written twice without harm.
        if let (Some(name), Some(witness)) = (names.into_iter().next(), witness) {
            self.doubt = LostCommitPolicy::Named(TransactionMarker::Both(name, witness));
        }
        Ok(())
    }

    /// Writes what readers look at, as the last statement of its transaction: sums of costs are shared
    /// by all workers, and each has a sum to itself until it commits.
    async fn write_derived(&mut self, changes: &RowChanges) -> Result<()> {
        let derived = DerivedRows::of(changes, &mut self.scribe);
        if !derived.is_empty() {
            self.line
                .fetch(PUT_DERIVED, derived_values(&derived))
                .await?;
        }
        Ok(())
    }

    /// Writes all changes if the runs still have the events given in `known`, and tells whether it
    /// did.
    pub(super) async fn write_all_if(
        &mut self,
        changes: &RowChanges,
        known: &[(RunId, u64)],
        sql: &'static str,
    ) -> Result<bool> {
        if DerivedRows::are_implied(changes) {
            // They need a transaction around two statements.
            return Ok(false);
        }
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

    /// Prepares both variants of the statement by running them without rows.
    pub(super) async fn write_nothing(&mut self) -> Result<()> {
        let nothing = RowChanges::default();
        self.write_all(&nothing, WorkerHint::No).await?;
        let (values, _) = self.values(&nothing)?;
        let values = values.and(Vec::<String>::new()).and(Vec::<i64>::new());
        self.line.fetch(PUT_IF, values).await?;
        Ok(())
    }

    fn values(&mut self, changes: &RowChanges) -> Result<(BoundValues, Option<CommitWitness>)> {
        let values = self.add_runs(BoundValues::default(), changes)?;
        let values = self.add_tasks(values, &changes.tasks)?;
        let values = values.and(strings(&changes.taken));
        let values = self.add_groups(values, changes)?;
        let values = self.add_timers(values, changes)?;
        let pages = pages(&changes.events, |event| self.scribe.body(event))?;
        let witness = pages.last().map(|page| CommitWitness {
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
        let values = self.add_calls(values, changes)?;
        Ok((add_limits(values, changes), witness))
    }

    /// Adds the values of the tables that lists are read from.
    fn add_lists(&mut self, values: BoundValues, changes: &RowChanges) -> BoundValues {
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

    fn add_calls(&mut self, values: BoundValues, changes: &RowChanges) -> Result<BoundValues> {
        let calls = &changes.calls;
        Ok(values
            .and(list(calls.iter().map(|row| row.task.run.as_str())))
            .and(numbers(calls.iter().map(|row| row.seq)))
            .and(strings(calls.iter().map(|row| &row.task)))
            .and(self.bodies(calls)?))
    }

    fn add_runs(&mut self, values: BoundValues, changes: &RowChanges) -> Result<BoundValues> {
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

    fn add_tasks(&mut self, values: BoundValues, rows: &[Arc<TaskRow>]) -> Result<BoundValues> {
        let named: Vec<IndexedTask<'_>> = rows.iter().map(|row| IndexedTask::of(row)).collect();
        let is_ready = |named: &&IndexedTask<'_>| named.columns.ready_ms.is_some();
        let ready: Vec<&IndexedTask<'_>> = named.iter().filter(is_ready).collect();
        let maybe = |number: Option<u64>| number.map(integer);
        let values = values
            .and(list(named.iter().map(IndexedTask::name)))
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

    fn add_groups(&mut self, values: BoundValues, changes: &RowChanges) -> Result<BoundValues> {
        let RowChanges { groups, items, .. } = changes;
        Ok(values
            .and(strings(groups.iter().map(|row| &row.id)))
            .and(self.bodies(groups.iter().map(|row| &**row))?)
            .and(repeated(items.iter().map(|row| &row.group)))
            .and(numbers(items.iter().map(|row| u64::from(row.index))))
            .and(self.bodies(items.iter().map(|row| &**row))?))
    }

    fn add_timers(&mut self, values: BoundValues, changes: &RowChanges) -> Result<BoundValues> {
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

    /// Encodes the documents of tasks, shortened.
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

fn derived_values(derived: &DerivedRows) -> BoundValues {
    let (costs, documents) = (&derived.costs, &derived.documents);
    let texts = documents
        .iter()
        .map(|row| (bounded(&row.title), bounded(&row.body)));
    let texts: Vec<(String, String)> = texts.collect();
    let words = documents.iter().zip(&texts);
    let words = words.map(|(row, (title, body))| words_of(row.kind, title, body));
    let words: Vec<String> = words.collect();
    let (titles, bodies): (Vec<String>, Vec<String>) = texts.into_iter().unzip();
    BoundValues::default()
        .and(list(costs.iter().map(|row| row.kind.as_str())))
        .and(numbers(costs.iter().map(|row| row.day)))
        .and(list(costs.iter().map(|row| row.name.replace('\0', " "))))
        .and(numbers(costs.iter().map(|row| row.attempts)))
        .and(numbers(costs.iter().map(|row| row.spent.tokens)))
        .and(numbers(costs.iter().map(|row| row.spent.micros)))
        .and(list(documents.iter().map(|row| row.kind.as_str())))
        .and(list(documents.iter().map(|row| row.name.clone())))
        .and(list(
            documents
                .iter()
                .map(|row| row.run.as_ref().map(columns::text)),
        ))
        .and(list(
            documents
                .iter()
                .map(|row| row.task.as_ref().map(columns::text)),
        ))
        .and(titles)
        .and(bodies)
        .and(words)
        .and(numbers(documents.iter().map(|row| row.at_ms)))
}

/// Adds the values of the concurrency limits: the keys that tasks are claimed by, and the slots
/// held.
fn add_limits(values: BoundValues, changes: &RowChanges) -> BoundValues {
    let tasks: Vec<TaskColumns> = changes.tasks.iter().map(|row| columns::task(row)).collect();
    let ready: Vec<&TaskColumns> = tasks
        .iter()
        .filter(|task| task.ready_ms.is_some())
        .collect();
    let gone = changes.slots.iter().filter(|(_, row)| row.is_none());
    let (keys, holders): (Vec<String>, Vec<String>) = gone.map(|(key, _)| key.clone()).unzip();
    let rows = changes.slots.iter();
    let rows: Vec<&SlotRow> = rows.filter_map(|(_, row)| row.as_deref()).collect();
    values
        .and(list(tasks.iter().map(|task| task.slot.as_deref())))
        .and(list(tasks.iter().map(|task| task.rank)))
        .and(list(ready.iter().map(|task| task.slot.as_deref())))
        .and(list(ready.iter().map(|task| task.rank)))
        .and(keys)
        .and(holders)
        .and(strings(rows.iter().map(|row| &row.key)))
        .and(strings(rows.iter().map(|row| &row.holder)))
        .and(numbers(rows.iter().map(|row| u64::from(row.max))))
        .and(numbers(rows.iter().map(|row| row.since_ms)))
        .and(list(rows.iter().map(|row| row.is_held)))
}

/// A task and its key columns. Its name and its place are mostly the same text.
struct IndexedTask<'r> {
    row: &'r TaskRow,
    columns: TaskColumns,
    other_name: Option<String>,
}

impl<'r> IndexedTask<'r> {
    fn of(row: &'r TaskRow) -> IndexedTask<'r> {
        IndexedTask {
            row,
            columns: columns::task(row),
            other_name: (row.id.visit != 1).then(|| columns::text(&row.id)),
        }
    }

    fn name(&self) -> &str {
        self.other_name.as_deref().unwrap_or(&self.columns.place)
    }
}

/// Returns the names of tasks; neighbours are often the same and are encoded once.
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

/// The clause for rows that may exist already.
macro_rules! if_known {
    (known, $clause:literal) => {
        $clause
    };
    (new, $clause:literal) => {
        ""
    };
}

/// The statement that writes everything a transaction changes. `$if` is the condition where rows
/// are selected, `$and` the same where the query has a condition already.
macro_rules! put {
    ($known:ident, $before:literal, $if:literal, $and:literal) => {
        concat!(
            "WITH ",
            $before,
            "runs AS (INSERT INTO workflow_runs (id, workflow, status, created_ms, body, input, \
             is_top, stream_at) \
             SELECT new.*, pg_current_xact_id()::text::bigint FROM unnest($1::text[], $2::text[], \
             $3::text[], $4::bigint[], $5::text[], $6::text[], $39::boolean[]) AS new",
            $if,
            if_known!($known, " ON CONFLICT (id) DO UPDATE SET workflow = excluded.workflow, \
             status = excluded.status, body = excluded.body, \
             stream_at = greatest(workflow_runs.stream_at, excluded.stream_at)"),
            "), tasks AS (INSERT INTO workflow_tasks (id, run, path, place, visit, status, assignee, \
             ready_ms, lease_ms, fence, is_active, body, slot, rank) \
             SELECT * FROM unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], \
             $12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::bigint[], $17::boolean[], \
             $18::text[], $48::text[], $49::bigint[])",
            $if,
            if_known!($known, " ON CONFLICT (place, visit) DO UPDATE SET status = excluded.status, \
             assignee = excluded.assignee, ready_ms = excluded.ready_ms, lease_ms = excluded.lease_ms, \
             fence = excluded.fence, is_active = excluded.is_active, body = excluded.body, \
             slot = excluded.slot, rank = excluded.rank"),
            "), ready AS (INSERT INTO workflow_ready (task, run, ready_ms, assignee, slot, rank) \
             SELECT * FROM unnest($19::text[], $20::text[], $21::bigint[], $22::text[], $50::text[], \
             $51::bigint[])",
            $if,
            " ON CONFLICT (task) DO UPDATE \
             SET ready_ms = excluded.ready_ms, assignee = excluded.assignee, slot = excluded.slot, \
             rank = excluded.rank), \
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
            "), stream AS (INSERT INTO event_stream (stream_at, subject, seq) \
             SELECT greatest(pg_current_xact_id()::text::bigint, (SELECT past.stream_at \
             FROM workflow_runs AS past WHERE past.id = page.run)), page.run, page.seq \
             FROM unnest($35::text[], $36::bigint[]) AS page (run, seq)",
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
            "), left_slots AS (DELETE FROM workflow_slots \
             USING unnest($52::text[], $53::text[]) AS old (key, holder) \
             WHERE workflow_slots.key = old.key AND workflow_slots.holder = old.holder",
            $and,
            "), slots AS (INSERT INTO workflow_slots (key, holder, max, since_ms, is_held) \
             SELECT * FROM unnest($54::text[], $55::text[], $56::bigint[], $57::bigint[], \
             $58::boolean[])",
            $if,
            " ON CONFLICT (key, holder) DO UPDATE SET max = excluded.max, \
             since_ms = excluded.since_ms, is_held = excluded.is_held) "
        )
    };
}

/// The same statement with a condition: the runs must still have the events given as values 59 and
/// 60.
macro_rules! put_if {
    () => {
        put!(
            known,
            "held AS (SELECT held.id FROM workflow_runs AS held \
             JOIN unnest($59::text[], $60::bigint[]) AS known (id, seq) ON held.id = known.id \
             WHERE (held.body::json ->> 'seq')::bigint = known.seq \
             ORDER BY held.id FOR UPDATE OF held), \
             same AS (SELECT count(*) = cardinality($59::text[]) AS same FROM held), ",
            " WHERE (SELECT same FROM same)",
            " AND (SELECT same FROM same)"
        )
    };
}

/// These return the transaction's id.
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
/// Returns whether the condition held.
pub(super) const PUT_IF: &str = concat!(put_if!(), "SELECT same FROM same");
pub(super) const PUT_IF_AND_HINT: &str = concat!(
    put_if!(),
    "SELECT same, pg_notify('drawloom_ready', '') FROM same"
);
pub(super) const HINT: &str = "SELECT pg_notify('drawloom_ready', '')";

const PUT_DERIVED: &str = "WITH texts AS (INSERT INTO search_documents \
     (kind, name, run, task, title, body, words, at_ms) \
     SELECT * FROM unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::text[], \
     $12::text[], $13::text[], $14::bigint[]) ON CONFLICT (kind, name) DO NOTHING) \
     INSERT INTO cost_sums (kind, day, name, attempts, tokens, micros) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], \
     $6::bigint[]) ON CONFLICT (kind, day, name) DO UPDATE SET \
     attempts = cost_sums.attempts + excluded.attempts, tokens = cost_sums.tokens + excluded.tokens, \
     micros = cost_sums.micros + excluded.micros";

/// Tells whether all changes belong to new runs, which have no rows yet.
fn is_beginning(changes: &RowChanges) -> bool {
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
