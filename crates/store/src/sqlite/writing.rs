//! Writes rows of workflows to SQLite: many rows in one multi-row statement.

use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use flow::RunId;
use flow::engine::{
    CallRow, GroupRow, ItemRow, Notice, RowChanges, RunRow, SlotKey, SlotRow, TaskRow, TimerRow,
};
use serde::Serialize;
use sqlx::AssertSqlSafe;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments};

use super::rows::SqliteRows;
use super::{SecretScrub, integer};
use crate::error::Result;
use crate::search::{SearchDocument, bounded, words_of};
use crate::workflows::derived::{CostRow, DerivedRows};
use crate::workflows::event_pages::{EventPage, pages};
use crate::workflows::{RowEncoder, columns, shorthand};

/// The row counts of multi-row statements, the largest first. Every number of rows is a sum of a
/// few of these, so that only these statements are ever prepared.
const ROWS: [usize; 11] = [64, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1];

/// A statement with more rows than this is sent alone. Otherwise there would be as many kinds of
/// combined statements as there are sums of large numbers.
const ROWS_JOINED_MAX: usize = 16;

impl SqliteRows {
    pub(super) async fn write_all(&mut self, changes: &RowChanges) -> Result<()> {
        let pages = self.pages(changes)?;
        let derived = DerivedRows::of(changes, &mut self.statements.encoder);
        self.send(RowBatch::of(changes, &pages, &derived)).await
    }

    fn pages(&mut self, changes: &RowChanges) -> Result<Vec<EventPage>> {
        pages(&changes.events, |event| self.statements.encoder.body(event))
    }

    pub(super) async fn write_and_commit(&mut self, changes: &RowChanges) -> Result<()> {
        let pages = self.pages(changes)?;
        let derived = DerivedRows::of(changes, &mut self.statements.encoder);
        let mut load = RowBatch::of(changes, &pages, &derived);
        load.last = "COMMIT";
        self.send(load).await
    }

    pub(super) async fn drop_notices(&mut self, notices: &[u64]) -> Result<()> {
        let mut load = RowBatch::default();
        load.add(
            GONE_NOTICES,
            notices.iter().copied().map(RowWrite::GoneNotice),
        );
        self.send(load).await
    }

    async fn send(&mut self, mut load: RowBatch<'_>) -> Result<()> {
        let mut next = self.statements.fill(&mut load)?;
        while let Some(tray) = next {
            let (done, filled) = {
                let mut sending = pin!(tray.query().execute(&mut self.connection));
                // SQLite's thread works as soon as the statement is sent; meanwhile this thread
                // prepares the next rows.
                let early = poll_fn(|context| Poll::Ready(sending.as_mut().poll(context))).await;
                let filled = self.statements.fill(&mut load);
                let done = match early {
                    Poll::Ready(done) => done,
                    Poll::Pending => sending.await,
                };
                (done, filled)
            };
            done.map_err(|cause| self.fault().of(&cause))?;
            next = filled?;
        }
        Ok(())
    }
}

/// Rows to write, grouped by table.
#[derive(Default)]
struct RowBatch<'c> {
    kinds: VecDeque<(StatementTemplate, std::vec::IntoIter<RowWrite<'c>>)>,
    /// The end of the statement behind the last row.
    last: &'static str,
}

/// One row to write.
enum RowWrite<'c> {
    Run(&'c RunRow),
    Input(&'c RunId, &'c serde_json::Value),
    Task(&'c TaskRow),
    Group(&'c GroupRow),
    Item(&'c ItemRow),
    GoneTimer(&'c RunId, &'c str),
    Timer(&'c TimerRow),
    GoneSlot(&'c SlotKey),
    Slot(&'c SlotRow),
    Page(&'c EventPage),
    /// The position of a page in the one stream.
    Streamed(&'c EventPage),
    Tag(&'c RunRow, &'c str),
    Call(&'c CallRow),
    Notice(&'c Notice),
    GoneNotice(u64),
    Cost(&'c CostRow),
    Document(&'c SearchDocument),
}

impl<'c> RowBatch<'c> {
    fn of(
        changes: &'c RowChanges,
        pages: &'c [EventPage],
        derived: &'c DerivedRows,
    ) -> RowBatch<'c> {
        let mut load = RowBatch::default();
        load.add(RUNS, changes.runs.iter().map(|row| RowWrite::Run(row)));
        let inputs = changes.inputs.iter();
        load.add(
            INPUTS,
            inputs.map(|(run, input)| RowWrite::Input(run, input)),
        );
        let new = changes.runs.iter().filter(|row| is_new(changes, row));
        let tags = new.flat_map(|row| row.tags.iter().map(|tag| RowWrite::Tag(row, tag)));
        load.add(TAGS, tags);
        load.add(TASKS, changes.tasks.iter().map(|row| RowWrite::Task(row)));
        load.add(
            GROUPS,
            changes.groups.iter().map(|row| RowWrite::Group(row)),
        );
        load.add(ITEMS, changes.items.iter().map(|row| RowWrite::Item(row)));
        let gone = changes.timers.iter().filter(|(_, row)| row.is_none());
        let gone = gone.map(|((run, key), _)| RowWrite::GoneTimer(run, key));
        load.add(GONE_TIMERS, gone);
        let timers = changes.timers.iter().filter_map(|(_, row)| row.as_deref());
        load.add(TIMERS, timers.map(RowWrite::Timer));
        let gone = changes.slots.iter().filter(|(_, row)| row.is_none());
        load.add(GONE_SLOTS, gone.map(|(key, _)| RowWrite::GoneSlot(key)));
        let slots = changes.slots.iter().filter_map(|(_, row)| row.as_deref());
        load.add(SLOTS, slots.map(RowWrite::Slot));
        load.add(EVENTS, pages.iter().map(RowWrite::Page));
        load.add(STREAM, pages.iter().map(RowWrite::Streamed));
        load.add(CALLS, changes.calls.iter().map(RowWrite::Call));
        load.add(NOTICES, changes.notices.iter().map(RowWrite::Notice));
        load.add(COSTS, derived.costs.iter().map(RowWrite::Cost));
        load.add(DOCUMENTS, derived.documents.iter().map(RowWrite::Document));
        load
    }

    fn add(&mut self, target: StatementTemplate, rows: impl Iterator<Item = RowWrite<'c>>) {
        let rows: Vec<RowWrite<'c>> = rows.collect();
        if !rows.is_empty() {
            self.kinds.push_back((target, rows.into_iter()));
        }
    }
}

/// Statements to send to SQLite. Small ones are collected and sent together, because a round trip
/// to SQLite's thread costs as much as several of them.
#[derive(Default)]
struct StatementBuffer {
    sql: String,
    values: Vec<ColumnValue>,
}

impl StatementBuffer {
    fn query(self) -> Query<'static, Sqlite, SqliteArguments> {
        let mut query = sqlx::query(AssertSqlSafe(self.sql));
        for value in self.values {
            query = match value {
                ColumnValue::Text(text) => query.bind(text),
                ColumnValue::Integer(number) => query.bind(number),
                ColumnValue::Nothing => query.bind(None::<i64>),
            };
        }
        query
    }
}

/// Turns rows into statements and their values.
pub(super) struct StatementWriter {
    statements: StatementCache,
    pub(super) encoder: RowEncoder,
}

impl StatementWriter {
    pub(super) fn new(scrub: Option<SecretScrub>) -> StatementWriter {
        StatementWriter {
            statements: StatementCache::default(),
            encoder: RowEncoder::new(scrub),
        }
    }

    /// Returns the next statements of a batch of rows.
    fn fill(&mut self, load: &mut RowBatch<'_>) -> Result<Option<StatementBuffer>> {
        let mut tray = StatementBuffer::default();
        while let Some((target, rows)) = load.kinds.front_mut() {
            let fits = |size: &&usize| **size <= rows.len();
            let Some(size) = ROWS.iter().find(fits).copied() else {
                load.kinds.pop_front();
                continue;
            };
            let is_large = size > ROWS_JOINED_MAX;
            if is_large && !tray.sql.is_empty() {
                return Ok(Some(tray));
            }
            tray.sql.push_str(self.statements.of(*target, size));
            for row in rows.by_ref().take(size) {
                self.write_out(row, &mut tray.values)?;
            }
            if is_large {
                return Ok(Some(tray));
            }
        }
        tray.sql.push_str(std::mem::take(&mut load.last));
        Ok((!tray.sql.is_empty()).then_some(tray))
    }

    fn write_out(&mut self, row: RowWrite<'_>, values: &mut Vec<ColumnValue>) -> Result<()> {
        match row {
            RowWrite::Run(row) => values.extend([
                text(&row.id),
                text(&row.workflow),
                text(&row.status.name()),
                ColumnValue::of(row.created_ms),
                ColumnValue::Integer(i64::from(row.parent.is_none())),
                self.body(row)?,
            ]),
            RowWrite::Input(run, input) => values.extend([self.body(input)?, text(run)]),
            RowWrite::Task(row) => {
                let body = self.encoder.body(row)?;
                let body = shorthand::TASKS.shorten_whole(row.id.run.as_str(), &body);
                values.extend(task_columns(row, ColumnValue::Text(body)));
            }
            RowWrite::Group(row) => values.extend([text(&row.id), self.body(row)?]),
            RowWrite::Item(row) => {
                let index = ColumnValue::Integer(i64::from(row.index));
                values.extend([text(&row.group), index, self.body(row)?]);
            }
            RowWrite::GoneTimer(run, key) => values.extend([text(run), text(&key)]),
            RowWrite::Timer(row) => {
                let at_ms = ColumnValue::of(row.at_ms);
                values.extend([text(&row.run), text(&row.key), at_ms, self.body(row)?]);
            }
            RowWrite::GoneSlot((key, holder)) => values.extend([text(key), text(holder)]),
            RowWrite::Slot(row) => values.extend([
                text(&row.key),
                text(&row.holder),
                ColumnValue::Integer(i64::from(row.max)),
                ColumnValue::of(row.since_ms),
                ColumnValue::Integer(i64::from(row.is_held)),
            ]),
            RowWrite::Page(page) => values.extend([
                ColumnValue::Text(page.run.clone()),
                ColumnValue::of(page.seq),
                ColumnValue::Text(page.body.clone()),
            ]),
            RowWrite::Streamed(page) => {
                values.extend([
                    ColumnValue::Text(page.run.clone()),
                    ColumnValue::of(page.seq),
                ]);
            }
            RowWrite::Tag(row, tag) => {
                let tag = self.encoder.text(tag);
                values.extend([
                    ColumnValue::Text(tag),
                    ColumnValue::of(row.created_ms),
                    text(&row.id),
                ]);
            }
            RowWrite::Notice(row) => values.extend([text(&row.run), self.body(row)?]),
            RowWrite::Call(row) => values.extend([
                text(&row.task.run),
                ColumnValue::of(row.seq),
                text(&row.task),
                self.body(row)?,
            ]),
            RowWrite::GoneNotice(id) => values.push(ColumnValue::of(id)),
            RowWrite::Cost(row) => values.extend(cost_columns(row)),
            RowWrite::Document(row) => values.extend(document_columns(row)),
        }
        Ok(())
    }

    fn body<T: Serialize>(&mut self, row: &T) -> Result<ColumnValue> {
        self.encoder.body(row).map(ColumnValue::Text)
    }
}

/// The value of one column of one row.
enum ColumnValue {
    Text(String),
    Integer(i64),
    Nothing,
}

impl ColumnValue {
    fn of(count: u64) -> ColumnValue {
        ColumnValue::Integer(integer(count))
    }

    fn maybe(count: Option<u64>) -> ColumnValue {
        count.map_or(ColumnValue::Nothing, ColumnValue::of)
    }
}

fn text(value: &impl Display) -> ColumnValue {
    ColumnValue::Text(columns::text(value))
}

/// A statement for one table: the text before the rows, one row's placeholders, and the text
/// behind.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct StatementTemplate {
    head: &'static str,
    row: &'static str,
    tail: &'static str,
}

/// The statement texts built so far, by template and number of rows.
#[derive(Default)]
struct StatementCache(HashMap<(StatementTemplate, usize), String>);

impl StatementCache {
    fn of(&mut self, target: StatementTemplate, rows: usize) -> &str {
        self.0.entry((target, rows)).or_insert_with(|| {
            let values = vec![target.row; rows].join(", ");
            format!("{} {values} {};\n", target.head, target.tail)
        })
    }
}

const RUNS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_runs (id, workflow, status, created_ms, is_top, body) VALUES",
    row: "(?, ?, ?, ?, ?, ?)",
    tail: "ON CONFLICT (id) DO UPDATE SET workflow = excluded.workflow, \
           status = excluded.status, body = excluded.body",
};
const INPUTS: StatementTemplate = StatementTemplate {
    head: "WITH new (input, run) AS (VALUES",
    row: "(?, ?)",
    tail: ") UPDATE workflow_runs SET input = new.input FROM new WHERE workflow_runs.id = new.run",
};
const TASKS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_tasks \
           (run, path, place, visit, status, assignee, ready_ms, lease_ms, fence, is_active, slot, \
           rank, body) VALUES",
    row: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    tail: "ON CONFLICT (place, visit) DO UPDATE SET status = excluded.status, \
           assignee = excluded.assignee, ready_ms = excluded.ready_ms, \
           lease_ms = excluded.lease_ms, fence = excluded.fence, is_active = excluded.is_active, \
           slot = excluded.slot, rank = excluded.rank, body = excluded.body",
};
const TAGS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_tags (tag, created_ms, run) VALUES",
    row: "(?, ?, ?)",
    tail: "ON CONFLICT DO NOTHING",
};
const GROUPS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_groups (id, body) VALUES",
    row: "(?, ?)",
    tail: "ON CONFLICT (id) DO UPDATE SET body = excluded.body",
};
const ITEMS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_items (\"group\", \"index\", body) VALUES",
    row: "(?, ?, ?)",
    tail: "ON CONFLICT (\"group\", \"index\") DO UPDATE SET body = excluded.body",
};
const GONE_TIMERS: StatementTemplate = StatementTemplate {
    head: "DELETE FROM workflow_timers WHERE (run, key) IN (VALUES",
    row: "(?, ?)",
    tail: ")",
};
const TIMERS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_timers (run, key, at_ms, body) VALUES",
    row: "(?, ?, ?, ?)",
    tail: "ON CONFLICT (run, key) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body",
};
const GONE_SLOTS: StatementTemplate = StatementTemplate {
    head: "DELETE FROM workflow_slots WHERE (key, holder) IN (VALUES",
    row: "(?, ?)",
    tail: ")",
};
const SLOTS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_slots (key, holder, max, since_ms, is_held) VALUES",
    row: "(?, ?, ?, ?, ?)",
    tail: "ON CONFLICT (key, holder) DO UPDATE SET max = excluded.max, \
           since_ms = excluded.since_ms, is_held = excluded.is_held",
};
const EVENTS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_events (run, seq, body) VALUES",
    row: "(?, ?, ?)",
    tail: "",
};
const STREAM: StatementTemplate = StatementTemplate {
    head: "INSERT INTO event_stream (subject, seq) VALUES",
    row: "(?, ?)",
    tail: "",
};
const CALLS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_calls (run, seq, task, body) VALUES",
    row: "(?, ?, ?, ?)",
    tail: "",
};
const NOTICES: StatementTemplate = StatementTemplate {
    head: "INSERT INTO workflow_notices (run, body) VALUES",
    row: "(?, ?)",
    tail: "",
};
const COSTS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO cost_sums (kind, day, name, attempts, tokens, micros) VALUES",
    row: "(?, ?, ?, ?, ?, ?)",
    tail: "ON CONFLICT (kind, day, name) DO UPDATE SET attempts = attempts + excluded.attempts, \
           tokens = tokens + excluded.tokens, micros = micros + excluded.micros",
};
const DOCUMENTS: StatementTemplate = StatementTemplate {
    head: "INSERT INTO search_documents (kind, name, run, task, title, body, words, at_ms) VALUES",
    row: "(?, ?, ?, ?, ?, ?, ?, ?)",
    tail: "ON CONFLICT (kind, name) DO NOTHING",
};
const GONE_NOTICES: StatementTemplate = StatementTemplate {
    head: "DELETE FROM workflow_notices WHERE id IN (",
    row: "?",
    tail: ")",
};

/// Tells whether these changes create the run; its tags never change later.
fn is_new(changes: &RowChanges, row: &RunRow) -> bool {
    !row.tags.is_empty() && changes.inputs.iter().any(|(run, _)| *run == row.id)
}

fn cost_columns(row: &CostRow) -> [ColumnValue; 6] {
    [
        text(&row.kind.as_str()),
        ColumnValue::of(row.day),
        ColumnValue::Text(row.name.clone()),
        ColumnValue::of(row.attempts),
        ColumnValue::of(row.spent.tokens),
        ColumnValue::of(row.spent.micros),
    ]
}

fn document_columns(row: &SearchDocument) -> [ColumnValue; 8] {
    let (title, body) = (bounded(&row.title), bounded(&row.body));
    let words = words_of(row.kind, &title, &body);
    let maybe = |name: Option<String>| name.map_or(ColumnValue::Nothing, ColumnValue::Text);
    [
        text(&row.kind.as_str()),
        ColumnValue::Text(row.name.clone()),
        maybe(row.run.as_ref().map(columns::text)),
        maybe(row.task.as_ref().map(columns::text)),
        ColumnValue::Text(title),
        ColumnValue::Text(body),
        ColumnValue::Text(words),
        ColumnValue::of(row.at_ms),
    ]
}

fn task_columns(row: &TaskRow, body: ColumnValue) -> [ColumnValue; 13] {
    let task = columns::task(row);
    [
        text(&row.id.run),
        text(&row.id.path),
        ColumnValue::Text(task.place),
        ColumnValue::Integer(i64::from(row.id.visit)),
        text(&row.status.name()),
        row.assignee
            .clone()
            .map_or(ColumnValue::Nothing, ColumnValue::Text),
        ColumnValue::maybe(task.ready_ms),
        ColumnValue::maybe(task.lease_ms),
        ColumnValue::of(row.fence),
        ColumnValue::Integer(i64::from(task.is_active)),
        task.slot.map_or(ColumnValue::Nothing, ColumnValue::Text),
        ColumnValue::Integer(task.rank),
        body,
    ]
}
