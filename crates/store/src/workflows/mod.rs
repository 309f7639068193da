//! Workflows and their runs, behind `flow`'s port: the same for every engine.
//!
//! Whatever changes something is an order, and goes to the desk, which groups what waits into one
//! transaction. Whatever only reads has a connection of its own and waits for nobody.

pub(crate) mod columns;
mod desk;
mod guess;
mod learning;
mod mind;
pub(crate) mod pages;
mod recent;
mod scribe;
mod shelf;
pub(crate) mod shorthand;
mod sweeping;
mod texts;
mod turn;

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use agent::Clock;
use flow::engine::{Batch, CallRow, Command, Event, Found, Lookup, Notice, Refusal, RunRow, Start};
use flow::engine::{RunStatus, Stop, TaskRow, TimerRow, view};
use flow::{
    Claim, Claimed, Deletion, Done, Executed, RunId, Store, StoreError, StoreErrorKind, Stored,
};
use flow::{TaskId, TextHash, Thrown, Which, Workflow};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, Notify, mpsc, oneshot};
use tokio::task::AbortHandle;

use desk::{Answer, Answered, Desk, Order};
use guess::Guess;
use mind::Mind;
use recent::Recent;
use texts::Texts;

pub(crate) use scribe::Scribe;
pub(crate) use shelf::{Begun, Kept, Memory, Seen, Shelf, Waiting, Wanted};

/// How many orders may wait for the desk; whoever comes then waits with theirs.
const QUEUE_MAX: usize = 4_096;

/// Workflows in a database. Clones share it.
pub(crate) struct Workflows<S> {
    orders: mpsc::Sender<(Order, Answered)>,
    reading: Arc<Mutex<S>>,
    texts: Texts,
    recent: Recent,
    clock: Arc<dyn Clock>,
    bell: Option<Bell>,
}

/// Rings when something may have become ready, in whichever process.
pub(crate) struct Bell {
    rung: Arc<Notify>,
    /// Somebody waits for it.
    wanted: Arc<Notify>,
    ringer: AbortHandle,
}

impl Bell {
    /// Whoever is given the bell rings it for as long as it hangs. Must be called inside a runtime.
    pub(crate) fn hang<R>(ring: impl FnOnce(Arc<Notify>, Arc<Notify>) -> R) -> Bell
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let (rung, wanted) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let ringing = ring(Arc::clone(&rung), Arc::clone(&wanted));
        let ringer = tokio::spawn(ringing).abort_handle();
        Bell {
            rung,
            wanted,
            ringer,
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.ringer.abort();
    }
}

impl<S: Shelf> Workflows<S> {
    /// Opens the desk on one connection, and reads on the other. Must be called inside a runtime.
    pub(crate) fn open(writing: S, reading: S, clock: Arc<dyn Clock>) -> Workflows<S> {
        let texts = Texts::default();
        let recent = Recent::default();
        let (orders, queue) = mpsc::channel(QUEUE_MAX);
        let desk = Desk {
            shelf: writing,
            mind: Mind {
                texts: texts.clone(),
                clock: Arc::clone(&clock),
            },
            known: Batch::new(),
            recent: recent.clone(),
            looked: None,
            guess: Guess::default(),
            overtaken: None,
            is_rehearsed: false,
            named: HashSet::new(),
        };
        tokio::spawn(desk.serve(queue));
        Workflows {
            orders,
            reading: Arc::new(Mutex::new(reading)),
            texts,
            recent,
            clock,
            bell: None,
        }
    }

    /// Workers may wait for this bell.
    pub(crate) fn with_bell(mut self, bell: Bell) -> Workflows<S> {
        self.bell = Some(bell);
        self
    }

    async fn order(&self, order: Order) -> Result<Answer, StoreError> {
        let (answer, answered) = oneshot::channel();
        let sent = self.orders.send((order, answer)).await;
        sent.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    async fn executed(&self, order: Order) -> Result<Executed, StoreError> {
        match self.order(order).await? {
            Answer::Executed(executed) => Ok(executed),
            Answer::NoSuchWorkflow(hash) => Err(StoreError {
                kind: StoreErrorKind::NoSuchWorkflow,
                message: format!(
                    "There is no workflow {hash} in the database; keep its text first."
                ),
            }),
            _ => Err(closed()),
        }
    }

    async fn found(&self, lookup: Lookup) -> Result<Found, StoreError> {
        let mut shelf = self.reading.lock().await;
        Ok(shelf.find(&lookup).await?)
    }
}

/// The desk is gone, and with it the runtime it worked in.
fn closed() -> StoreError {
    StoreError {
        kind: StoreErrorKind::Unavailable,
        message: "The database is being closed; try again.".to_owned(),
    }
}

impl<S: Shelf> Store for Workflows<S> {
    fn keep_workflow<'a>(&'a self, source: &'a str) -> Stored<'a, TextHash> {
        Box::pin(async move {
            self.order(Order::KeepText(source.into())).await?;
            Ok(TextHash::of(source))
        })
    }

    fn workflow<'a>(&'a self, hash: &'a TextHash) -> Stored<'a, Option<Arc<Workflow>>> {
        Box::pin(async move {
            let mut shelf = self.reading.lock().await;
            Ok(self.texts.get(&mut *shelf, hash).await?)
        })
    }

    fn start<'a>(&'a self, workflow: &'a TextHash, start: Start) -> Stored<'a, Executed> {
        Box::pin(self.executed(Order::Start(workflow.clone(), start)))
    }

    fn execute(&self, command: Command) -> Stored<'_, Executed> {
        Box::pin(self.executed(Order::Execute(command)))
    }

    fn turn(&self, done: Vec<Done>, claim: Claim) -> Stored<'_, Vec<Claimed>> {
        let reports = done.into_iter().map(|done| Command::Report {
            task: done.task,
            fence: done.fence,
            report: done.report,
        });
        let turn = Order::Turn(reports.collect(), claim);
        Box::pin(async move {
            match self.order(turn).await? {
                Answer::Claimed(claimed) => Ok(claimed),
                _ => Err(closed()),
            }
        })
    }

    fn hint(&self) -> Stored<'_, ()> {
        Box::pin(async move {
            match &self.bell {
                Some(bell) => {
                    bell.wanted.notify_one();
                    bell.rung.notified().await;
                }
                None => std::future::pending().await,
            }
            Ok(())
        })
    }

    fn heartbeat<'a>(
        &'a self,
        tasks: &'a [(TaskId, u64)],
        lease_ms: u64,
    ) -> Stored<'a, Vec<(TaskId, Refusal)>> {
        Box::pin(async move {
            match self
                .order(Order::Heartbeat(tasks.to_vec(), lease_ms))
                .await?
            {
                Answer::Lost(lost) => Ok(lost),
                _ => Err(closed()),
            }
        })
    }

    fn view<'a>(
        &'a self,
        task: &'a TaskId,
        reads: &'a [flow::Reference],
    ) -> Stored<'a, Map<String, Value>> {
        Box::pin(async move {
            let refused = |refusal: Refusal| StoreError {
                kind: StoreErrorKind::Corrupt,
                message: refusal.message,
            };
            let mut shelf = self.reading.lock().await;
            let mut batch = Batch::new();
            let found = shelf.find(&Lookup::Run(task.run.clone())).await?;
            let Found::Run(Some(run)) = &found else {
                let message = format!("There is no run {}.", task.run);
                return Err(refused(Refusal {
                    kind: flow::engine::RefusalKind::NoSuchRun,
                    message,
                }));
            };
            let hash = run.workflow.clone();
            let Some(workflow) = self.texts.get(&mut *shelf, &hash).await? else {
                return Err(StoreError {
                    kind: StoreErrorKind::NoSuchWorkflow,
                    message: format!("The workflow {hash} of {task} is not in the database."),
                });
            };
            batch.learn(Lookup::Run(task.run.clone()), found);
            loop {
                match view(&workflow, &mut batch, task, reads) {
                    Ok(state) => return Ok(state),
                    Err(Stop::Refused(refusal)) => return Err(refused(refusal)),
                    Err(Stop::Rows(lookup)) => {
                        let found = shelf.find(&lookup).await?;
                        batch.learn(lookup, found);
                    }
                }
            }
        })
    }

    fn due(&self, max: usize) -> Stored<'_, Vec<TimerRow>> {
        Box::pin(async move {
            let mut shelf = self.reading.lock().await;
            Ok(shelf.due(self.clock.now_ms(), max).await?)
        })
    }

    fn expired(&self, max: usize) -> Stored<'_, Vec<(TaskId, u64)>> {
        Box::pin(async move {
            let mut shelf = self.reading.lock().await;
            Ok(shelf.expired(self.clock.now_ms(), max).await?)
        })
    }

    fn run<'a>(&'a self, run: &'a RunId) -> Stored<'a, Option<RunRow>> {
        Box::pin(async move {
            match self.found(Lookup::Run(run.clone())).await? {
                Found::Run(row) => Ok(row.map(for_readers)),
                _ => Ok(None),
            }
        })
    }

    fn input<'a>(&'a self, run: &'a RunId) -> Stored<'a, Option<Value>> {
        Box::pin(async move {
            match self.found(Lookup::Input(run.clone())).await? {
                Found::Input(input) => Ok(input),
                _ => Ok(None),
            }
        })
    }

    fn task<'a>(&'a self, task: &'a TaskId) -> Stored<'a, Option<TaskRow>> {
        Box::pin(async move {
            match self.found(Lookup::Task(task.clone())).await? {
                Found::Task(row) => Ok(row),
                _ => Ok(None),
            }
        })
    }

    fn runs(&self, status: Option<RunStatus>, max: usize) -> Stored<'_, Vec<RunRow>> {
        Box::pin(async move {
            let mut shelf = self.reading.lock().await;
            let rows = shelf.runs(status, max).await?;
            Ok(rows.into_iter().map(for_readers).collect())
        })
    }

    fn tasks<'a>(
        &'a self,
        run: Option<&'a RunId>,
        which: Which,
        max: usize,
    ) -> Stored<'a, Vec<TaskRow>> {
        Box::pin(async move {
            let mut shelf = self.reading.lock().await;
            Ok(shelf.tasks(run, which, max).await?)
        })
    }

    fn events<'a>(&'a self, run: &'a RunId, after: u64, max: usize) -> Stored<'a, Vec<Event>> {
        Box::pin(async move {
            let recent = self.recent.after(run, after, max);
            if !recent.is_empty() {
                return Ok(recent);
            }
            let mut shelf = self.reading.lock().await;
            Ok(shelf.events(run, after, max).await?)
        })
    }

    fn calls<'a>(&'a self, task: &'a TaskId) -> Stored<'a, Vec<CallRow>> {
        Box::pin(async move {
            let mut shelf = self.reading.lock().await;
            Ok(shelf.calls(task).await?)
        })
    }

    fn notices(&self, max: usize) -> Stored<'_, Vec<(u64, Notice)>> {
        Box::pin(async move {
            let mut shelf = self.reading.lock().await;
            Ok(shelf.notices(max).await?)
        })
    }

    fn acknowledge<'a>(&'a self, notices: &'a [u64]) -> Stored<'a, ()> {
        Box::pin(async move {
            self.order(Order::Acknowledge(notices.to_vec())).await?;
            Ok(())
        })
    }

    fn delete_runs<'a>(&'a self, runs: &'a [RunId]) -> Stored<'a, Vec<Deletion>> {
        Box::pin(async move {
            match self.order(Order::Delete(runs.to_vec())).await? {
                Answer::Deleted(deletions) => Ok(deletions),
                _ => Err(closed()),
            }
        })
    }

    fn throw_away(&self, age_ms: u64, from: Thrown) -> Stored<'_, Thrown> {
        Box::pin(async move {
            match self.order(Order::ThrowAway(age_ms, from)).await? {
                Answer::Thrown(thrown) => Ok(thrown),
                _ => Ok(Thrown::default()),
            }
        })
    }
}

/// How quiet a run was is between those who write.
fn for_readers(row: RunRow) -> RunRow {
    RunRow {
        quiet_since: None,
        ..row
    }
}
