//! The commit loop over a database in memory: which round trips a turn takes, and that a stale cache
//! changes nothing but their number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use agent::AgentClock;
use flow::engine::{
    AttemptReport, CallRow, EngineCommand, LookupResult, Notice, RowCache, RowChanges, RowLookup,
    RunEvent, RunRow, RunStart, RunStatus, TaskRow, TaskStatus, TimerRow,
};
use flow::{
    ClaimRequest, ClaimedTask, LogLine, MemoryRows, RunId, TaskId, TaskSelection, TextHash,
};
use serde_json::json;

use super::backend::{
    BulkQuery, BulkRows, CacheValidity, ReadyTasks, TransactionStart, WorkflowBackend, WriteOutcome,
};
use super::commit_loop::{CommitLoop, WriteReply, WriteRequest};
use super::decider::CommandDecider;
use super::event_buffer::EventBuffer;
use super::workflow_cache::WorkflowCache;
use crate::error::{DatabaseErrorKind, Error, Result};

const CHAIN: &str = "graph TD\n A[a] --> B[b] --> C[c] --> D[d]";

const FOREACH: &str = "graph TD\n A[List] --> C[[Each: Thing]]\n C --> J[Join all]\n J --> Z[End]\n\
    %% === WORKFLOW_CONFIG ===\n%% @C: {\"itemsPath\": \"output\", \"prompt\": \"x\"}\n\
    %% === END_CONFIG ===\n";

struct FixedClock;

impl AgentClock for FixedClock {
    fn now_ms(&self) -> u64 {
        1_000
    }
}

/// The database that all processes share.
#[derive(Default)]
struct SharedDatabase {
    rows: MemoryRows,
    texts: HashMap<TextHash, String>,
    /// The round trips of all processes, in order.
    trips: Vec<&'static str>,
    /// Fails the next commit.
    is_full: bool,
}

/// One process's connection. Like PostgreSQL, it is remote and leaves the cache in doubt.
#[derive(Clone, Default)]
struct MemoryBackend(Arc<Mutex<SharedDatabase>>);

impl MemoryBackend {
    fn trip<T>(&self, name: &'static str, act: impl FnOnce(&mut SharedDatabase) -> T) -> T {
        let mut shared = self.0.lock().unwrap();
        shared.trips.push(name);
        act(&mut shared)
    }

    /// Returns the round trips since the last call.
    fn trips(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap().trips)
    }

    fn status(&self, task: &str) -> TaskStatus {
        let task: TaskId = task.parse().unwrap();
        self.0.lock().unwrap().rows.tasks[&task].status
    }
}

fn full(shared: &mut SharedDatabase) -> Result<()> {
    match std::mem::take(&mut shared.is_full) {
        true => Err(Error::new(DatabaseErrorKind::Full, "The disk is full.")),
        false => Ok(()),
    }
}

impl WorkflowBackend for MemoryBackend {
    const IS_FAR: bool = true;

    async fn begin(&mut self, _: Option<&ClaimRequest>, _: u64) -> Result<TransactionStart> {
        self.trip("begin", |_| {
            Ok(TransactionStart {
                validity: CacheValidity::IsInDoubt,
                ready: None,
            })
        })
    }

    async fn finish(&mut self, changes: &RowChanges) -> Result<WriteOutcome> {
        self.trip("commit", |shared| {
            full(shared)?;
            shared.rows.commit(changes.clone());
            Ok(WriteOutcome::AsTheyWere)
        })
    }

    async fn finish_if(
        &mut self,
        changes: &RowChanges,
        known: &[(RunId, u64)],
    ) -> Result<Option<WriteOutcome>> {
        self.trip("commit if unchanged", |shared| {
            full(shared)?;
            let is_same = |(run, seq): &(RunId, u64)| shared.rows.runs[run].seq == *seq;
            if !known.iter().all(is_same) {
                return Ok(None);
            }
            shared.rows.commit(changes.clone());
            Ok(Some(WriteOutcome::AsTheyWere))
        })
    }

    async fn roll_back(&mut self) {}

    async fn find(&mut self, lookup: &RowLookup) -> Result<LookupResult> {
        self.trip("read a row", |shared| Ok(shared.rows.look_up(lookup)))
    }

    async fn find_runs(&mut self, runs: &[RunId]) -> Result<Vec<RunRow>> {
        self.trip("read runs", |shared| {
            let found = runs.iter().filter_map(|run| shared.rows.runs.get(run));
            Ok(found.map(|row| RunRow::clone(row)).collect())
        })
    }

    async fn find_all(&mut self, wanted: &BulkQuery) -> Result<BulkRows> {
        self.trip("read many rows", |shared| {
            let rows = &mut shared.rows;
            let tasks = wanted.tasks.iter().filter_map(|id| rows.tasks.get(id));
            let groups = wanted.groups.iter().filter_map(|id| rows.groups.get(id));
            let items = wanted.items.iter().filter_map(|id| rows.items.get(id));
            let mut found = BulkRows {
                tasks: tasks.map(|row| TaskRow::clone(row)).collect(),
                groups: groups.map(|row| (**row).clone()).collect(),
                items: items.map(|row| (**row).clone()).collect(),
                visits: Vec::new(),
            };
            for (group, count) in &wanted.next_items {
                let Some(row) = rows.groups.get(group) else {
                    continue;
                };
                let next = (row.next..).take(*count as usize);
                let next = next.filter_map(|index| rows.items.get(&(group.clone(), index)));
                found.items.extend(next.map(|row| (**row).clone()));
            }
            for place in &wanted.places {
                let lookup = RowLookup::Visits(place.clone());
                let LookupResult::Visits(visits) = rows.look_up(&lookup) else {
                    unreachable!("visits are a number")
                };
                found.visits.push(visits);
            }
            Ok(found)
        })
    }

    async fn write(&mut self, changes: &RowChanges) -> Result<()> {
        if changes.runs.is_empty() {
            return Ok(());
        }
        self.trip("write", |shared| {
            shared.rows.commit(changes.clone());
            Ok(())
        })
    }

    async fn ready(&mut self, claim: &ClaimRequest, now_ms: u64) -> Result<ReadyTasks> {
        self.trip("read the ready list", |shared| {
            Ok(ReadyTasks {
                runs: Vec::new(),
                tasks: shared.rows.ready(now_ms, claim.max),
            })
        })
    }

    async fn due(&mut self, now_ms: u64, _: usize) -> Result<Vec<TimerRow>> {
        self.trip("read timers", |shared| Ok(shared.rows.due(now_ms)))
    }

    async fn expired(&mut self, now_ms: u64, _: usize) -> Result<Vec<(TaskId, u64)>> {
        self.trip("read leases", |shared| Ok(shared.rows.expired(now_ms)))
    }

    async fn keep_text(&mut self, hash: &TextHash, source: &str, _: u64) -> Result<()> {
        self.trip("write a text", |shared| {
            shared.texts.insert(hash.clone(), source.to_owned());
            Ok(())
        })
    }

    async fn keep_name(&mut self, _: &TextHash, _: &str) -> Result<()> {
        Ok(())
    }

    async fn text(&mut self, hash: &TextHash) -> Result<Option<String>> {
        self.trip("read a text", |shared| Ok(shared.texts.get(hash).cloned()))
    }

    // Nothing below is part of a turn.

    async fn runs(&mut self, _: Option<RunStatus>, _: usize) -> Result<Vec<RunRow>> {
        Ok(Vec::new())
    }

    async fn tasks(
        &mut self,
        _: Option<&RunId>,
        _: TaskSelection,
        _: usize,
    ) -> Result<Vec<TaskRow>> {
        Ok(Vec::new())
    }

    async fn calls(&mut self, _: &TaskId) -> Result<Vec<CallRow>> {
        Ok(Vec::new())
    }

    async fn keep_log(&mut self, _: &[LogLine]) -> Result<()> {
        Ok(())
    }

    async fn log(&mut self, _: &TaskId, _: (u32, u64), _: usize) -> Result<Vec<LogLine>> {
        Ok(Vec::new())
    }

    async fn events(&mut self, _: &RunId, _: u64, _: usize) -> Result<Vec<RunEvent>> {
        Ok(Vec::new())
    }

    async fn notices(&mut self, _: usize) -> Result<Vec<(u64, Notice)>> {
        Ok(Vec::new())
    }

    async fn acknowledge(&mut self, _: &[u64]) -> Result<()> {
        Ok(())
    }

    async fn ended(&mut self, _: u64, _: &(u64, RunId), _: usize) -> Result<Vec<RunRow>> {
        Ok(Vec::new())
    }

    async fn delete_runs(&mut self, _: &[RunId]) -> Result<()> {
        Ok(())
    }
}

/// A process that claims tasks and reports them.
struct TestWorker(CommitLoop<MemoryBackend>);

impl TestWorker {
    fn new(backend: &MemoryBackend) -> TestWorker {
        TestWorker(CommitLoop {
            backend: backend.clone(),
            decider: CommandDecider {
                texts: WorkflowCache::default(),
                clock: Arc::new(FixedClock),
            },
            cache: RowCache::new(),
            event_buffer: EventBuffer::default(),
            last_poll: None,
            overtaken: None,
            is_warm: true,
            stored_names: std::collections::HashSet::new(),
        })
    }

    /// Starts the run `r` of a workflow.
    async fn start(&mut self, source: &str) {
        let start = RunStart::new(RunId::from("r"), json!({}));
        let requests = [
            WriteRequest::KeepText(source.into()),
            WriteRequest::Start(TextHash::of(source), start),
        ];
        self.0.commit(&requests).await.unwrap();
    }

    /// Reports tasks as completed and claims as many as `max`; returns the names of the claimed.
    async fn turn(&mut self, done: &[&str], max: usize) -> Result<Vec<String>> {
        let reports = done.iter().map(|task| EngineCommand::Report {
            task: task.parse().unwrap(),
            fence: 1,
            report: AttemptReport::completed(json!([1, 2, 3, 4, 5, 6, 7, 8])),
        });
        let claim = ClaimRequest {
            worker: "w".to_owned(),
            max,
            lease_ms: 60_000,
            assignees: Vec::new(),
            runs: Vec::new(),
            rates: Vec::new(),
        };
        let request = WriteRequest::Turn(reports.collect(), claim);
        let mut replies = self.0.commit(std::slice::from_ref(&request)).await?;
        let Some(WriteReply::Claimed(claimed)) = replies.pop() else {
            panic!("a turn is answered with the claimed tasks");
        };
        let name = |task: &ClaimedTask| task.task.id.to_string();
        Ok(claimed.iter().map(name).collect())
    }
}

/// A database with one run, and a worker that has claimed its first task just now.
async fn claimed(source: &str) -> (MemoryBackend, TestWorker) {
    let backend = MemoryBackend::default();
    let mut worker = TestWorker::new(&backend);
    worker.start(source).await;
    assert_eq!(worker.turn(&[], 1).await.unwrap(), ["r/A"]);
    backend.trips();
    (backend, worker)
}

#[tokio::test]
async fn a_turn_on_cached_runs_is_one_round_trip() {
    let (backend, mut worker) = claimed(CHAIN).await;
    for (done, next) in [("r/A", "r/B"), ("r/B", "r/C"), ("r/C", "r/D")] {
        assert_eq!(worker.turn(&[done], 1).await.unwrap(), [next]);
        assert_eq!(backend.trips(), ["commit if unchanged"], "{done}");
        assert_eq!(backend.status(done), TaskStatus::Completed);
        assert_eq!(backend.status(next), TaskStatus::InProgress);
    }
}

#[tokio::test]
async fn a_stale_cache_writes_nothing_and_the_turn_is_decided_again() {
    let (backend, mut worker) = claimed(CHAIN).await;
    let mut other = TestWorker::new(&backend);
    // Another process reports the same task first.
    assert_eq!(other.turn(&["r/A"], 1).await.unwrap(), ["r/B"]);
    backend.trips();
    assert!(worker.turn(&["r/A"], 1).await.unwrap().is_empty());
    let trips = backend.trips();
    assert_eq!(trips[..2], ["commit if unchanged", "begin"], "{trips:?}");
    assert_eq!(trips.last(), Some(&"commit"));
    assert_eq!(backend.status("r/B"), TaskStatus::InProgress);
}

#[tokio::test]
async fn after_a_stale_cache_the_next_turn_is_a_transaction() {
    let (backend, mut worker) = claimed("graph TD\n A[a] --> B[b] --> C[c]\n X[x] --> Y[y]").await;
    let mut other = TestWorker::new(&backend);
    assert_eq!(other.turn(&[], 1).await.unwrap(), ["r/X"]);
    assert_eq!(worker.turn(&["r/A"], 1).await.unwrap(), ["r/B"]);
    backend.trips();
    assert_eq!(worker.turn(&["r/B"], 1).await.unwrap(), ["r/C"]);
    assert_eq!(backend.trips()[0], "begin");
}

#[tokio::test]
async fn an_old_poll_of_the_ready_list_needs_a_transaction() {
    let (backend, mut worker) = claimed(CHAIN).await;
    worker.0.last_poll = None;
    assert_eq!(worker.turn(&["r/A"], 1).await.unwrap(), ["r/B"]);
    let trips = backend.trips();
    assert!(trips.contains(&"read the ready list"), "{trips:?}");
    assert_eq!((trips[0], trips.last()), ("begin", Some(&"commit")));
}

#[tokio::test]
async fn a_missing_row_falls_back_to_a_transaction_in_the_middle() {
    let (backend, mut worker) = claimed(CHAIN).await;
    // The run stays in the cache, its tasks do not.
    let run = worker
        .0
        .backend
        .find_runs(&[RunId::from("r")])
        .await
        .unwrap();
    worker.0.cache = RowCache::new();
    super::prefetch::cache_runs(&mut worker.0.cache, run);
    backend.trips();
    assert_eq!(worker.turn(&["r/A"], 1).await.unwrap(), ["r/B"]);
    let trips = backend.trips();
    assert_eq!(trips[..2], ["begin", "read runs"], "{trips:?}");
    assert_eq!(trips.last(), Some(&"commit"));
    assert!(!trips.contains(&"commit if unchanged"), "{trips:?}");
}

#[tokio::test]
async fn a_stale_cache_that_a_fall_back_detects_starts_the_turn_over() {
    let (backend, mut worker) = claimed("graph TD\n A[a] --> B[b]\n X[x] --> Y[y]").await;
    assert_eq!(worker.turn(&[], 1).await.unwrap(), ["r/X"]);
    let mut other = TestWorker::new(&backend);
    assert_eq!(other.turn(&["r/X"], 1).await.unwrap(), ["r/Y"]);
    backend.trips();
    // It wants more than its own next task, so it reads the ready list after having decided.
    worker.0.last_poll = Some(super::optimistic::LastPoll::now(false));
    worker.0.overtaken = None;
    assert_eq!(worker.turn(&["r/A"], 1).await.unwrap(), ["r/B"]);
    assert_eq!(backend.status("r/A"), TaskStatus::Completed);
    assert_eq!(backend.status("r/B"), TaskStatus::InProgress);
    assert_eq!(backend.status("r/Y"), TaskStatus::InProgress);
}

#[tokio::test]
async fn a_failed_commit_leaves_no_row_in_the_cache() {
    let (backend, mut worker) = claimed(CHAIN).await;
    backend.0.lock().unwrap().is_full = true;
    let failed = worker.turn(&["r/A"], 1).await.unwrap_err();
    assert_eq!(failed.kind(), DatabaseErrorKind::Full);
    assert_eq!(backend.status("r/A"), TaskStatus::InProgress);
    backend.trips();
    assert_eq!(worker.turn(&["r/A"], 1).await.unwrap(), ["r/B"]);
    assert!(backend.trips().contains(&"read runs"));
}

#[tokio::test]
async fn the_rows_of_many_reports_are_read_in_two_queries() {
    let (backend, mut worker) = claimed(FOREACH).await;
    let items = worker.turn(&["r/A"], 8).await.unwrap();
    assert!(items.len() > 4, "{items:?}");
    backend.trips();
    // A process that has cached nothing reports what the first one claimed.
    let mut other = TestWorker::new(&backend);
    let reported: Vec<&str> = items.iter().map(String::as_str).collect();
    other.turn(&reported, 1).await.unwrap();
    let trips = backend.trips();
    let count = |name: &str| trips.iter().filter(|trip| **trip == name).count();
    // One by one, each report would read its task, its item and the group.
    assert!(count("read many rows") <= 2, "{trips:?}");
    assert!(count("read a row") <= 3, "{trips:?}");
}
