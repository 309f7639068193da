//! Writes rows of workflows to PostgreSQL: all of them with one statement, each column as an array
//! (`written_columns` has the list of columns).

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;

use flow::engine::{RowChanges, SlotRow, TaskRow, TimerRow};
use flow::{RunId, TaskId};
use serde::Serialize;
use sqlx::{Encode, Postgres, Type};

use super::connection::{BoundValues, CommitWitness, LostCommitPolicy, TransactionMarker};
use super::integer;
use super::workflows::PostgresRows;
use super::written_columns::{PUT, PUT_AND_HINT, PUT_DERIVED, PUT_IF, PUT_NEW, PUT_NEW_AND_HINT};
use crate::error::Result;
use crate::search::{bounded, words_of};
use crate::workflows::columns::{self, TaskColumns};
use crate::workflows::derived::DerivedRows;
use crate::workflows::event_pages::pages;
use crate::workflows::{RowEncoder, shorthand};

/// Says whether to send other workers a hint that a task is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerHint {
    No,
    Yes,
}

impl PostgresRows {
    /// Writes every kind of row in one statement, because each statement takes a round trip.
    pub(super) async fn write_all(&mut self, changes: &RowChanges, hint: WorkerHint) -> Result<()> {
        let sql: &'static str = match (is_beginning(changes), hint) {
            (false, WorkerHint::No) => &PUT,
            (false, WorkerHint::Yes) => &PUT_AND_HINT,
            (true, WorkerHint::No) => &PUT_NEW,
            (true, WorkerHint::Yes) => &PUT_NEW_AND_HINT,
        };
        let (values, witness) = RowValues(&mut self.encoder).of(changes)?;
        let named = self.line.fetch(sql, values.bound).await?;
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
        let derived = DerivedRows::of(changes, &mut self.encoder);
        if !derived.is_empty() {
            self.line
                .fetch(&PUT_DERIVED, derived_values(&derived).bound)
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
        let (values, witness) = RowValues(&mut self.encoder).of(changes)?;
        let values = values.expecting(known);
        let Some(witness) = witness else {
            return Ok(false);
        };
        let answered = self.line.fetch_or_look(sql, values.bound, witness).await?;
        match answered {
            Some(rows) => Ok(self.line.column(&rows, 0)?.first() == Some(&true)),
            None => Ok(true),
        }
    }

    /// Prepares both variants of the statement by running them without rows.
    pub(super) async fn write_nothing(&mut self) -> Result<()> {
        let nothing = RowChanges::default();
        self.write_all(&nothing, WorkerHint::No).await?;
        let (values, _) = RowValues(&mut self.encoder).of(&nothing)?;
        self.line
            .fetch(&PUT_IF, values.expecting(&[]).bound)
            .await?;
        Ok(())
    }
}

/// Makes the values of rows; secrets are removed on the way.
struct RowValues<'e>(&'e mut RowEncoder);

impl RowValues<'_> {
    fn of(&mut self, changes: &RowChanges) -> Result<(ColumnValues, Option<CommitWitness>)> {
        let values = self.add_runs(ColumnValues::default(), changes)?;
        let values = self.add_tasks(values, &changes.tasks)?;
        let values = add_ready(values, &changes.tasks);
        let values = values.list("taken").add("task", strings(&changes.taken));
        let values = self.add_groups(values, changes)?;
        let values = self.add_timers(values, changes)?;
        let pages = pages(&changes.events, |event| self.0.body(event))?;
        let witness = pages.last().map(|page| CommitWitness {
            run: page.run.clone(),
            seq: integer(page.seq),
            body: page.body.clone(),
        });
        let values = values
            .list("events")
            .add("run", list(pages.iter().map(|page| page.run.as_str())))
            .add("seq", numbers(pages.iter().map(|page| page.seq)))
            .add("body", list(pages.into_iter().map(|page| page.body)))
            .list("notices")
            .add("body", self.bodies(&changes.notices)?)
            .add(
                "run",
                strings(changes.notices.iter().map(|notice| &notice.run)),
            );
        let values = self.add_tags(values, changes);
        let values = self.add_calls(values, changes)?;
        Ok((add_slots(values, changes), witness))
    }

    fn add_tags(&mut self, values: ColumnValues, changes: &RowChanges) -> ColumnValues {
        let begun: HashSet<&RunId> = changes.inputs.iter().map(|(run, _)| run).collect();
        let new = changes.runs.iter().filter(|row| begun.contains(&row.id));
        let tags = new.flat_map(|row| row.tags.iter().map(move |tag| (row, tag)));
        let tags: Vec<_> = tags.collect();
        values
            .list("tags")
            .add("tag", list(tags.iter().map(|(_, tag)| self.0.text(tag))))
            .add(
                "created_ms",
                numbers(tags.iter().map(|(row, _)| row.created_ms)),
            )
            .add("run", strings(tags.iter().map(|(row, _)| &row.id)))
    }

    fn add_calls(&mut self, values: ColumnValues, changes: &RowChanges) -> Result<ColumnValues> {
        let calls = &changes.calls;
        Ok(values
            .list("calls")
            .add("run", list(calls.iter().map(|row| row.task.run.as_str())))
            .add("seq", numbers(calls.iter().map(|row| row.seq)))
            .add("task", strings(calls.iter().map(|row| &row.task)))
            .add("body", self.bodies(calls)?))
    }

    fn add_runs(&mut self, values: ColumnValues, changes: &RowChanges) -> Result<ColumnValues> {
        let rows = &changes.runs;
        let given = changes.inputs.iter().map(|(run, input)| (run, input));
        let given: HashMap<_, _> = given.collect();
        let inputs = rows.iter().map(|row| {
            let input = given.get(&row.id);
            input.map(|input| self.0.body(input)).transpose()
        });
        let inputs = inputs.collect::<Result<Vec<Option<String>>>>()?;
        Ok(values
            .list("runs")
            .add("id", list(rows.iter().map(|row| row.id.as_str())))
            .add(
                "workflow",
                list(rows.iter().map(|row| row.workflow.as_str())),
            )
            .add("status", list(rows.iter().map(|row| row.status.name())))
            .add("created_ms", numbers(rows.iter().map(|row| row.created_ms)))
            .add("body", self.bodies(rows.iter().map(|row| &**row))?)
            .add("input", inputs)
            .add("is_top", list(rows.iter().map(|row| row.parent.is_none()))))
    }

    fn add_tasks(&mut self, values: ColumnValues, rows: &[Arc<TaskRow>]) -> Result<ColumnValues> {
        let named: Vec<IndexedTask<'_>> = rows.iter().map(|row| IndexedTask::of(row)).collect();
        let columns = || named.iter().map(|named| &named.columns);
        Ok(values
            .list("tasks")
            .add("id", list(named.iter().map(IndexedTask::name)))
            .add("run", list(rows.iter().map(|row| row.id.run.as_str())))
            .add("path", strings(rows.iter().map(|row| &row.id.path)))
            .add("place", list(columns().map(|task| task.place.as_str())))
            .add(
                "visit",
                numbers(rows.iter().map(|row| u64::from(row.id.visit))),
            )
            .add("status", list(rows.iter().map(|row| row.status.name())))
            .add(
                "assignee",
                list(rows.iter().map(|row| row.assignee.as_deref())),
            )
            .add(
                "ready_ms",
                list(columns().map(|task| task.ready_ms.map(integer))),
            )
            .add(
                "lease_ms",
                list(columns().map(|task| task.lease_ms.map(integer))),
            )
            .add("fence", numbers(rows.iter().map(|row| row.fence)))
            .add("is_active", list(columns().map(|task| task.is_active)))
            .add("body", self.short_bodies(rows)?)
            .add("slot", list(columns().map(|task| task.slot.as_deref())))
            .add("rank", list(columns().map(|task| task.rank))))
    }

    fn add_groups(&mut self, values: ColumnValues, changes: &RowChanges) -> Result<ColumnValues> {
        let RowChanges { groups, items, .. } = changes;
        Ok(values
            .list("groups")
            .add("id", strings(groups.iter().map(|row| &row.id)))
            .add("body", self.bodies(groups.iter().map(|row| &**row))?)
            .list("items")
            .add("group", repeated(items.iter().map(|row| &row.group)))
            .add(
                "index",
                numbers(items.iter().map(|row| u64::from(row.index))),
            )
            .add("body", self.bodies(items.iter().map(|row| &**row))?))
    }

    fn add_timers(&mut self, values: ColumnValues, changes: &RowChanges) -> Result<ColumnValues> {
        let gone = changes.timers.iter().filter(|(_, row)| row.is_none());
        let (runs, keys): (Vec<String>, Vec<String>) = gone
            .map(|((run, key), _)| (run.to_string(), key.clone()))
            .unzip();
        let rows = changes.timers.iter();
        let rows: Vec<&TimerRow> = rows.filter_map(|(_, row)| row.as_deref()).collect();
        Ok(values
            .list("ended_timers")
            .add("run", runs)
            .add("key", keys)
            .list("timers")
            .add("run", strings(rows.iter().map(|row| &row.run)))
            .add("key", strings(rows.iter().map(|row| &row.key)))
            .add("at_ms", numbers(rows.iter().map(|row| row.at_ms)))
            .add("body", self.bodies(rows)?))
    }

    /// Encodes the documents of tasks, shortened.
    fn short_bodies(&mut self, rows: &[Arc<TaskRow>]) -> Result<Vec<String>> {
        let bodies = rows.iter().map(|row| {
            let body = self.0.body(&**row)?;
            Ok(shorthand::TASKS.shorten_whole(row.id.run.as_str(), &body))
        });
        bodies.collect()
    }

    fn bodies<T: Serialize>(&mut self, rows: impl IntoIterator<Item = T>) -> Result<Vec<String>> {
        let rows = rows.into_iter();
        rows.map(|row| self.0.body(&row)).collect()
    }
}

/// The values of a statement, each with the column it is for.
#[derive(Default)]
struct ColumnValues {
    bound: BoundValues,
    list: &'static str,
    /// The columns in the order of the values, as `list.column`; only tests read them.
    #[cfg(test)]
    columns: Vec<String>,
}

impl ColumnValues {
    /// Says which list of rows the next columns belong to.
    fn list(mut self, name: &'static str) -> ColumnValues {
        self.list = name;
        self
    }

    fn add<'q, T>(mut self, column: &'static str, values: Vec<T>) -> ColumnValues
    where
        Vec<T>: Encode<'q, Postgres> + Type<Postgres>,
    {
        self.note(column);
        self.bound = self.bound.and(values);
        self
    }

    #[cfg(test)]
    fn note(&mut self, column: &str) {
        self.columns.push(format!("{}.{column}", self.list));
    }

    #[cfg(not(test))]
    fn note(&mut self, _: &str) {}

    /// Adds the last events that the runs must still have.
    fn expecting(self, known: &[(RunId, u64)]) -> ColumnValues {
        self.list("expected")
            .add("id", strings(known.iter().map(|(run, _)| run)))
            .add("seq", numbers(known.iter().map(|(_, seq)| *seq)))
    }
}

fn derived_values(derived: &DerivedRows) -> ColumnValues {
    let (costs, documents) = (&derived.costs, &derived.documents);
    let texts = documents
        .iter()
        .map(|row| (bounded(&row.title), bounded(&row.body)));
    let texts: Vec<(String, String)> = texts.collect();
    let words = documents.iter().zip(&texts);
    let words = words.map(|(row, (title, body))| words_of(row.kind, title, body));
    let words: Vec<String> = words.collect();
    let (titles, bodies): (Vec<String>, Vec<String>) = texts.into_iter().unzip();
    let runs = documents.iter().map(|row| row.run.as_ref());
    let tasks = documents.iter().map(|row| row.task.as_ref());
    ColumnValues::default()
        .list("costs")
        .add("kind", list(costs.iter().map(|row| row.kind.as_str())))
        .add("day", numbers(costs.iter().map(|row| row.day)))
        .add(
            "name",
            list(costs.iter().map(|row| row.name.replace('\0', " "))),
        )
        .add("attempts", numbers(costs.iter().map(|row| row.attempts)))
        .add("tokens", numbers(costs.iter().map(|row| row.spent.tokens)))
        .add("micros", numbers(costs.iter().map(|row| row.spent.micros)))
        .list("documents")
        .add("kind", list(documents.iter().map(|row| row.kind.as_str())))
        .add("name", list(documents.iter().map(|row| row.name.clone())))
        .add("run", list(runs.map(|run| run.map(columns::text))))
        .add("task", list(tasks.map(|task| task.map(columns::text))))
        .add("title", titles)
        .add("body", bodies)
        .add("words", words)
        .add("at_ms", numbers(documents.iter().map(|row| row.at_ms)))
}

/// Adds the tasks that workers may claim.
fn add_ready(values: ColumnValues, rows: &[Arc<TaskRow>]) -> ColumnValues {
    let ready = rows.iter().map(|row| IndexedTask::of(row));
    let ready: Vec<IndexedTask<'_>> = ready
        .filter(|task| task.columns.ready_ms.is_some())
        .collect();
    values
        .list("ready")
        .add("task", list(ready.iter().map(IndexedTask::name)))
        .add(
            "run",
            list(ready.iter().map(|task| task.row.id.run.as_str())),
        )
        .add(
            "ready_ms",
            numbers(ready.iter().filter_map(|task| task.columns.ready_ms)),
        )
        .add(
            "assignee",
            list(ready.iter().map(|task| task.row.assignee.as_deref())),
        )
        .add(
            "slot",
            list(ready.iter().map(|task| task.columns.slot.as_deref())),
        )
        .add("rank", list(ready.iter().map(|task| task.columns.rank)))
}

/// Adds the concurrency slots.
fn add_slots(values: ColumnValues, changes: &RowChanges) -> ColumnValues {
    let gone = changes.slots.iter().filter(|(_, row)| row.is_none());
    let (keys, holders): (Vec<String>, Vec<String>) = gone.map(|(key, _)| key.clone()).unzip();
    let rows = changes.slots.iter();
    let rows: Vec<&SlotRow> = rows.filter_map(|(_, row)| row.as_deref()).collect();
    values
        .list("left_slots")
        .add("key", keys)
        .add("holder", holders)
        .list("slots")
        .add("key", strings(rows.iter().map(|row| &row.key)))
        .add("holder", strings(rows.iter().map(|row| &row.holder)))
        .add("max", numbers(rows.iter().map(|row| u64::from(row.max))))
        .add("since_ms", numbers(rows.iter().map(|row| row.since_ms)))
        .add("is_held", list(rows.iter().map(|row| row.is_held)))
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

#[cfg(test)]
mod tests {
    use flow::engine::RowChanges;

    use super::super::written_columns::{PutKind, derived_parameters, parameters};
    use super::*;

    #[test]
    fn the_values_are_in_the_order_of_the_columns() {
        let changes = RowChanges::default();
        let mut encoder = RowEncoder::new(None);
        let (values, _) = RowValues(&mut encoder).of(&changes).unwrap();
        assert_eq!(values.columns, parameters(PutKind::Known));
        let values = values.expecting(&[]);
        assert_eq!(values.columns, parameters(PutKind::IfUnchanged));
        let derived = DerivedRows::default();
        assert_eq!(derived_values(&derived).columns, derived_parameters());
    }
}
