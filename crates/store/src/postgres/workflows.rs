//! The rows of workflows in PostgreSQL.
//!
//! A transaction that decides about a run has its row locked until the end, and takes locks in the
//! order of names, so that transactions wait in a line and not in a circle. Should a circle come
//! about all the same, PostgreSQL breaks it, and the commit loop tries again.
// tidy: allow long-file, because it is one implementation of one trait, in its order

use std::collections::HashMap;
use std::time::Duration;

use flow::engine::{
    CallRow, GroupRow, ItemRow, LookupResult, Notice, RowChanges, RowLookup, RunEvent, RunRow,
    RunStatus, SlotRow, StepAddress, TaskRow, TimerRow,
};
use flow::{ClaimRequest, ItemPath, LogLine, RunId, TaskId, TaskSelection, TextHash};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::connection::{BoundValues, LostCommitPolicy, PostgresConnection};
use super::writing::{WorkerHint, numbers, strings};
use super::written_columns::{HINT, PUT_IF, PUT_IF_AND_HINT};
use super::{count, integer};
use crate::error::{Error, Result};
use crate::sqlite::SecretScrub;
use crate::workflows::{
    BulkQuery, BulkRows, CacheValidity, ReadyTasks, RowEncoder, TransactionStart, WorkflowBackend,
    WriteOutcome,
};
use crate::workflows::{columns, event_pages, shorthand};

/// The shortest interval between two hints, in milliseconds: sending one makes commits wait for
/// each other.
const HINT_MS: u64 = 20;

/// A connection, with the state of the transaction on it.
pub(super) struct PostgresRows {
    pub(super) line: PostgresConnection,
    pub(super) encoder: RowEncoder,
    /// The policy for a commit that gets no reply.
    pub(super) doubt: LostCommitPolicy,
    /// The transaction has locked a run already: waiting for another one could cause a deadlock.
    pub(super) has_run: bool,
    /// A task was made ready, and no hint was sent for it yet.
    has_news: bool,
    hinted: Option<Instant>,
}

impl PostgresRows {
    pub(super) fn new(line: PostgresConnection, scrub: Option<SecretScrub>) -> PostgresRows {
        PostgresRows {
            line,
            encoder: RowEncoder::new(scrub),
            doubt: LostCommitPolicy::Harmless,
            has_run: false,
            has_news: false,
            hinted: None,
        }
    }

    pub(super) async fn texts(
        &mut self,
        sql: &'static str,
        values: BoundValues,
    ) -> Result<Vec<String>> {
        let rows = self.line.fetch(sql, values).await?;
        self.line.column(&rows, 0)
    }

    pub(super) async fn many<T: DeserializeOwned>(
        &mut self,
        sql: &'static str,
        values: BoundValues,
    ) -> Result<Vec<T>> {
        let bodies = self.texts(sql, values).await?;
        bodies.iter().map(|body| self.read(body)).collect()
    }

    async fn one<T: DeserializeOwned>(
        &mut self,
        sql: &'static str,
        values: BoundValues,
    ) -> Result<Option<T>> {
        Ok(self.many(sql, values).await?.into_iter().next())
    }

    pub(super) fn read<T: DeserializeOwned>(&self, body: &str) -> Result<T> {
        let body = shorthand::TASKS.expand_whole(body);
        serde_json::from_str(&body).map_err(|cause| self.unreadable(&cause))
    }

    fn unreadable(&self, cause: &serde_json::Error) -> Error {
        let fault = &self.line.fault;
        fault.corrupt(&format!("a row of a workflow is unreadable: {cause}"))
    }

    pub(super) fn names(&self, names: &[String]) -> Result<Vec<TaskId>> {
        let names = names.iter().map(|name| {
            let fault = &self.line.fault;
            name.parse()
                .map_err(|_| fault.corrupt(&format!("`{name}` is not the name of a task")))
        });
        names.collect()
    }

    async fn run(&mut self, run: &RunId) -> Result<Option<RunRow>> {
        const READ: &str = "SELECT body FROM workflow_runs WHERE id = $1";
        const HOLD: &str = "SELECT body FROM workflow_runs WHERE id = $1 FOR UPDATE";
        let sql = match self.line.is_in_transaction() {
            true => HOLD,
            false => READ,
        };
        self.has_run = true;
        self.one(sql, BoundValues::of(run.as_str())).await
    }

    async fn outputs(&mut self, tasks: &[TaskId]) -> Result<Vec<Option<Value>>> {
        let sql = "SELECT task.body FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY \
                   AS wanted (place, visit, rank) \
                   LEFT JOIN workflow_tasks AS task USING (place, visit) ORDER BY wanted.rank";
        let rows = self.line.fetch(sql, keys(tasks)).await?;
        let bodies: Vec<Option<String>> = self.line.column(&rows, 0)?;
        let outputs = bodies.into_iter().map(|body| match body {
            Some(body) => self.read::<PostgresOutput>(&body).map(|given| given.output),
            None => Ok(None),
        });
        outputs.collect()
    }

    async fn visits(&mut self, place: &StepAddress) -> Result<u32> {
        let sql = "SELECT coalesce(max(visit), 0) FROM workflow_tasks WHERE place = $1";
        let values = BoundValues::of(columns::place(place));
        let rows = self.line.fetch(sql, values).await?;
        let visits: Vec<i64> = self.line.column(&rows, 0)?;
        let visits = visits.first().copied().unwrap_or(0);
        Ok(u32::try_from(visits).unwrap_or(u32::MAX))
    }

    /// Locks the slots of a key until this transaction ends: two transactions that saw the same
    /// free slot would both take it.
    async fn slots(&mut self, key: &str) -> Result<Vec<SlotRow>> {
        const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 5174))";
        const SLOTS: &str = "SELECT json_build_object('key', key, 'holder', holder, 'max', max, \
             'since_ms', since_ms, 'is_held', is_held)::text FROM workflow_slots WHERE key = $1";
        if self.line.is_in_transaction() {
            self.line.fetch(LOCK, BoundValues::of(key)).await?;
        }
        self.many(SLOTS, BoundValues::of(key)).await
    }

    /// Tells whether to send other workers a hint now.
    fn is_to_hint(&mut self) -> bool {
        let is_soon = |hinted: Instant| hinted.elapsed() < Duration::from_millis(HINT_MS);
        if !self.has_news || self.hinted.is_some_and(is_soon) {
            return false;
        }
        self.has_news = false;
        self.hinted = Some(Instant::now());
        true
    }
}

/// The part of an ended task's document that later steps read.
#[derive(Deserialize)]
struct PostgresOutput {
    output: Option<Value>,
}

impl WorkflowBackend for PostgresRows {
    async fn begin(
        &mut self,
        _claim: Option<&ClaimRequest>,
        _now_ms: u64,
    ) -> Result<TransactionStart> {
        self.has_run = false;
        self.doubt = LostCommitPolicy::Harmless;
        self.line.begin().await?;
        Ok(TransactionStart {
            validity: CacheValidity::IsInDoubt,
            ready: None,
        })
    }

    async fn finish(&mut self, changes: &RowChanges) -> Result<WriteOutcome> {
        self.has_news |= makes_ready(changes);
        match (changes.is_empty(), self.is_to_hint()) {
            (true, true) => {
                self.line.fetch(HINT, BoundValues::default()).await?;
            }
            (true, false) => {}
            (false, true) => self.write_all(changes, WorkerHint::Yes).await?,
            (false, false) => self.write_all(changes, WorkerHint::No).await?,
        }
        let doubt = std::mem::take(&mut self.doubt);
        self.line.commit(doubt).await?;
        Ok(self.encoder.kept())
    }

    const IS_FAR: bool = true;

    async fn finish_if(
        &mut self,
        changes: &RowChanges,
        known: &[(RunId, u64)],
    ) -> Result<Option<WriteOutcome>> {
        self.has_news |= makes_ready(changes);
        let sql = match self.is_to_hint() {
            true => &PUT_IF_AND_HINT,
            false => &PUT_IF,
        };
        let is_done = self.write_all_if(changes, known, sql).await?;
        let kept = self.encoder.kept();
        Ok(is_done.then_some(kept))
    }

    /// Lets the server plan the large statements before they are needed.
    async fn warm_up(&mut self) -> Result<()> {
        self.find_all(&BulkQuery::default()).await?;
        self.write_nothing().await
    }

    async fn roll_back(&mut self) {
        self.line.roll_back().await;
    }

    async fn find(&mut self, lookup: &RowLookup) -> Result<LookupResult> {
        const INPUT: &str = "SELECT input FROM workflow_runs WHERE id = $1 AND input IS NOT NULL";
        const TASK: &str = "SELECT body FROM workflow_tasks WHERE place = $1 AND visit = $2";
        const COMPLETED: &str = "SELECT body FROM workflow_tasks \
             WHERE place = $1 AND status = 'completed' ORDER BY visit DESC LIMIT 1";
        const GROUP: &str = "SELECT body FROM workflow_groups WHERE id = $1";
        const ITEM: &str =
            "SELECT body FROM workflow_items WHERE \"group\" = $1 AND \"index\" = $2";
        const ITEMS: &str =
            "SELECT body FROM workflow_items WHERE \"group\" = $1 ORDER BY \"index\"";
        const ACTIVE: &str =
            "SELECT body FROM workflow_tasks WHERE run = $1 AND path = $2 AND is_active";
        const WITHIN: &str = "SELECT body FROM workflow_tasks \
             WHERE run = $1 AND is_active AND starts_with(path, $2)";
        const TIMER: &str = "SELECT body FROM workflow_timers WHERE run = $1 AND key = $2";
        let name = |task: &TaskId| BoundValues::of(task.to_string());
        let under =
            |run: &RunId, path: &ItemPath| BoundValues::of(run.as_str()).and(path.to_string());
        Ok(match lookup {
            RowLookup::Run(run) => LookupResult::Run(self.run(run).await?),
            RowLookup::Input(run) => {
                LookupResult::Input(self.one(INPUT, BoundValues::of(run.as_str())).await?)
            }
            RowLookup::Task(task) => {
                let values = BoundValues::of(columns::place_of(task)).and(i64::from(task.visit));
                LookupResult::Task(self.one(TASK, values).await?)
            }
            RowLookup::Visits(place) => LookupResult::Visits(self.visits(place).await?),
            RowLookup::Completed(place) => {
                let values = BoundValues::of(columns::place(place));
                LookupResult::Task(self.one(COMPLETED, values).await?)
            }
            RowLookup::Group(group) => {
                LookupResult::Group(self.one::<GroupRow>(GROUP, name(group)).await?)
            }
            RowLookup::Item(group, index) => {
                let values = name(group).and(i64::from(*index));
                LookupResult::Item(self.one::<ItemRow>(ITEM, values).await?)
            }
            RowLookup::Items(group) => LookupResult::Items(self.many(ITEMS, name(group)).await?),
            RowLookup::Outputs(tasks) => LookupResult::Outputs(self.outputs(tasks).await?),
            RowLookup::Active(run, path) => {
                LookupResult::Tasks(self.many(ACTIVE, under(run, path)).await?)
            }
            RowLookup::ActiveWithin(run, path) => {
                LookupResult::Tasks(self.many(WITHIN, under(run, path)).await?)
            }
            RowLookup::Slots(key) => LookupResult::Slots(self.slots(key).await?),
            RowLookup::Timer(run, key) => {
                let values = BoundValues::of(run.as_str()).and(key.as_str());
                LookupResult::Timer(self.one(TIMER, values).await?)
            }
        })
    }

    async fn find_runs(&mut self, runs: &[RunId]) -> Result<Vec<RunRow>> {
        let sql = "SELECT body FROM workflow_runs WHERE id = ANY($1) ORDER BY id FOR UPDATE";
        self.has_run |= !runs.is_empty();
        self.many(sql, BoundValues::of(strings(runs))).await
    }

    async fn find_all(&mut self, wanted: &BulkQuery) -> Result<BulkRows> {
        const ALL: &str = "SELECT 'task', body, 0::bigint FROM unnest($1::text[], $2::bigint[]) \
             AS wanted (place, visit) JOIN workflow_tasks USING (place, visit) \
             UNION ALL SELECT 'group', body, 0 FROM workflow_groups WHERE id = ANY($3) \
             UNION ALL SELECT 'item', body, 0 FROM unnest($4::text[], $5::bigint[]) \
             AS wanted (\"group\", \"index\") JOIN workflow_items USING (\"group\", \"index\") \
             UNION ALL SELECT 'item', next.body, 0 FROM unnest($6::text[], $7::bigint[]) \
             AS wanted (\"group\", count) JOIN workflow_groups AS groups ON groups.id = wanted.\"group\" \
             CROSS JOIN LATERAL (SELECT items.body FROM workflow_items AS items \
             WHERE items.\"group\" = groups.id \
             AND items.\"index\" >= (groups.body::json ->> 'next')::bigint \
             ORDER BY items.\"index\" LIMIT wanted.count) AS next \
             UNION ALL SELECT 'visits', wanted.place, coalesce((SELECT max(visit) \
             FROM workflow_tasks AS task WHERE task.place = wanted.place), 0) \
             FROM unnest($8::text[]) AS wanted (place)";
        let places = strings(wanted.places.iter().map(columns::place));
        let index_of = |(_, index): &(TaskId, u32)| u64::from(*index);
        let values = keys(&wanted.tasks)
            .and(strings(&wanted.groups))
            .and(strings(wanted.items.iter().map(|(group, _)| group)))
            .and(numbers(wanted.items.iter().map(index_of)))
            .and(strings(wanted.next_items.iter().map(|(group, _)| group)))
            .and(numbers(wanted.next_items.iter().map(index_of)))
            .and(places.clone());
        let rows = self.line.fetch(ALL, values).await?;
        let kinds: Vec<String> = self.line.column(&rows, 0)?;
        let bodies: Vec<String> = self.line.column(&rows, 1)?;
        let numbers: Vec<i64> = self.line.column(&rows, 2)?;
        let mut seen = BulkRows::default();
        let mut visits: HashMap<&str, i64> = HashMap::new();
        for ((kind, body), number) in kinds.iter().zip(&bodies).zip(numbers) {
            match kind.as_str() {
                "task" => seen.tasks.push(self.read(body)?),
                "group" => seen.groups.push(self.read(body)?),
                "item" => seen.items.push(self.read(body)?),
                _ => {
                    visits.insert(body, number);
                }
            }
        }
        let visits = places.iter().map(|place| visits.get(place.as_str()));
        let visits = visits.map(|count| u32::try_from(count.copied().unwrap_or(0)));
        seen.visits = visits.map(|count| count.unwrap_or(u32::MAX)).collect();
        Ok(seen)
    }

    async fn write(&mut self, changes: &RowChanges) -> Result<()> {
        self.has_news |= makes_ready(changes);
        if !changes.is_empty() {
            self.write_all(changes, WorkerHint::No).await?;
        }
        Ok(())
    }

    async fn ready(&mut self, claim: &ClaimRequest, now_ms: u64) -> Result<ReadyTasks> {
        match self.ready_now(claim, now_ms).await? {
            waiting if waiting.runs.is_empty() && !self.has_run => {
                self.ready_in_time(claim, now_ms).await
            }
            waiting => Ok(waiting),
        }
    }

    async fn due(&mut self, now_ms: u64, max: usize) -> Result<Vec<TimerRow>> {
        let sql = "SELECT body FROM workflow_timers WHERE at_ms <= $1 \
                   ORDER BY at_ms, run, key LIMIT $2";
        self.many(sql, BoundValues::of(integer(now_ms)).and(limit(max)))
            .await
    }

    async fn expired(&mut self, now_ms: u64, max: usize) -> Result<Vec<(TaskId, u64)>> {
        let sql = "SELECT id, fence FROM workflow_tasks WHERE lease_ms <= $1 \
                   ORDER BY lease_ms LIMIT $2";
        let values = BoundValues::of(integer(now_ms)).and(limit(max));
        let rows = self.line.fetch(sql, values).await?;
        let names = self.names(&self.line.column(&rows, 0)?)?;
        let fences: Vec<i64> = self.line.column(&rows, 1)?;
        Ok(names
            .into_iter()
            .zip(fences.into_iter().map(count))
            .collect())
    }

    async fn runs(&mut self, status: Option<RunStatus>, max: usize) -> Result<Vec<RunRow>> {
        let sql = match status {
            Some(_) => {
                "SELECT body FROM workflow_runs WHERE status = $1 \
                 ORDER BY created_ms DESC, id DESC LIMIT $2"
            }
            None => {
                "SELECT body FROM workflow_runs WHERE $1::text IS NULL \
                 ORDER BY created_ms DESC, id DESC LIMIT $2"
            }
        };
        let values = BoundValues::of(status.map(RunStatus::name)).and(limit(max));
        self.many(sql, values).await
    }

    async fn tasks(
        &mut self,
        run: Option<&RunId>,
        which: TaskSelection,
        max: usize,
    ) -> Result<Vec<TaskRow>> {
        const OF_RUN: &str = "SELECT body FROM workflow_tasks WHERE place >= $1 AND place < $2 \
             AND (is_active OR NOT $3) ORDER BY number LIMIT $4";
        const ACTIVE: &str = "SELECT body FROM workflow_tasks WHERE is_active AND $1 \
             ORDER BY number LIMIT $2";
        const ALL: &str = "SELECT body FROM workflow_tasks WHERE NOT $1 \
             ORDER BY place, visit LIMIT $2";
        let is_active = which == TaskSelection::Active;
        match run.map(columns::places) {
            Some((first, end)) => {
                let values = BoundValues::of(first)
                    .and(end)
                    .and(is_active)
                    .and(limit(max));
                self.many(OF_RUN, values).await
            }
            None => {
                let values = BoundValues::of(is_active).and(limit(max));
                let sql = if is_active { ACTIVE } else { ALL };
                self.many(sql, values).await
            }
        }
    }

    async fn calls(&mut self, task: &TaskId) -> Result<Vec<CallRow>> {
        let sql = "SELECT body FROM workflow_calls WHERE run = $1 AND task = $2 ORDER BY seq";
        let values = BoundValues::of(task.run.as_str()).and(task.to_string());
        self.many(sql, values).await
    }

    /// Reads pages of events. Event numbers have no gaps, which bounds the number of the last page.
    async fn events(&mut self, run: &RunId, after: u64, max: usize) -> Result<Vec<RunEvent>> {
        let sql = "SELECT body FROM workflow_events WHERE run = $1 AND seq > $2 AND seq < $3 \
                   ORDER BY seq";
        let end = max.saturating_add(event_pages::EVENTS_MAX);
        let end = after.saturating_add(u64::try_from(end).unwrap_or(u64::MAX));
        let values = BoundValues::of(run.as_str())
            .and(integer(after))
            .and(integer(end));
        let mut events = Vec::new();
        for body in self.texts(sql, values).await? {
            events.extend(
                event_pages::events(run.as_str(), &body)
                    .map_err(|cause| self.unreadable(&cause))?,
            );
        }
        events.retain(|event| event.seq > after);
        events.truncate(max);
        Ok(events)
    }

    async fn keep_log(&mut self, lines: &[LogLine]) -> Result<()> {
        self.add_log(lines).await
    }

    async fn log(&mut self, task: &TaskId, after: (u32, u64), max: usize) -> Result<Vec<LogLine>> {
        self.read_log(task, after, max).await
    }

    async fn notices(&mut self, max: usize) -> Result<Vec<(u64, Notice)>> {
        let sql = "SELECT body, id FROM workflow_notices ORDER BY id LIMIT $1";
        let rows = self.line.fetch(sql, BoundValues::of(limit(max))).await?;
        let bodies: Vec<String> = self.line.column(&rows, 0)?;
        let ids: Vec<i64> = self.line.column(&rows, 1)?;
        let notices = ids
            .into_iter()
            .zip(bodies)
            .map(|(id, body)| Ok((count(id), self.read(&body)?)));
        notices.collect()
    }

    async fn acknowledge(&mut self, notices: &[u64]) -> Result<()> {
        let sql = "DELETE FROM workflow_notices WHERE id = ANY($1)";
        let values = BoundValues::of(numbers(notices.iter().copied()));
        self.line.fetch(sql, values).await?;
        Ok(())
    }

    async fn ended(
        &mut self,
        before_ms: u64,
        after: &(u64, RunId),
        max: usize,
    ) -> Result<Vec<RunRow>> {
        self.ended_runs(before_ms, after, max).await
    }

    async fn delete_runs(&mut self, runs: &[RunId]) -> Result<()> {
        self.drop_runs(runs).await
    }

    async fn keep_text(&mut self, hash: &TextHash, source: &str, now_ms: u64) -> Result<()> {
        let sql = "INSERT INTO workflow_texts (hash, source, created_ms) VALUES ($1, $2, $3) \
                   ON CONFLICT (hash) DO NOTHING";
        let values = BoundValues::of(hash.as_str())
            .and(source)
            .and(integer(now_ms));
        self.line.fetch(sql, values).await?;
        Ok(())
    }

    async fn keep_name(&mut self, hash: &TextHash, name: &str) -> Result<()> {
        let sql = "INSERT INTO workflow_names (hash, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let values = BoundValues::of(hash.as_str()).and(self.encoder.text(name));
        self.line.fetch(sql, values).await?;
        Ok(())
    }

    async fn text(&mut self, hash: &TextHash) -> Result<Option<String>> {
        let sql = "SELECT source FROM workflow_texts WHERE hash = $1";
        let found = self.texts(sql, BoundValues::of(hash.as_str())).await?;
        Ok(found.into_iter().next())
    }
}

/// Returns the key columns of tasks.
fn keys(tasks: &[TaskId]) -> BoundValues {
    BoundValues::of(strings(tasks.iter().map(columns::place_of)))
        .and(numbers(tasks.iter().map(|task| u64::from(task.visit))))
}

fn makes_ready(changes: &RowChanges) -> bool {
    let mut tasks = changes.tasks.iter();
    // A returned slot may have made other tasks ready.
    let gives_room = changes.slots.iter().any(|(_, row)| row.is_none());
    gives_room || tasks.any(|row| row.is_claimable())
}

pub(super) fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}
