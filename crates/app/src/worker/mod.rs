//! The worker: claims tasks, runs them, reports them, and renews timers and leases.
//!
//! Everything another process would need is in the store. A worker that dies leaves leases that
//! end; the next worker takes the tasks over. One that is asked to stop claims nothing more, waits
//! for its running tasks, and gives back those that do not end in time.
// tidy: allow long-file, because it is one loop with the states of its tasks

mod attempt;
pub(crate) mod leader;
mod tail;
mod timers;
mod watcher;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use exec::CommandCancel;
use flow::engine::{AttemptOutcome, AttemptReport, EngineCommand, FailureClass, RunStatus};
use flow::{
    ClaimRequest, FinishedTask, RateLimit, RunId, StoreError, StoreErrorKind, TaskId, WorkflowStore,
};
use store::RunQueries;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::Error;
use crate::executors::{ExecutorContext, failed};
use crate::workflows::RunActivity;
use leader::MaintenanceLeader;
use tail::LogTail;

pub use store::PendingWork;
pub use watcher::{NoWatcher, RunWatcher};

/// Pause after a look that found nothing to do: the first, and the longest.
const IDLE_MS_FIRST: u64 = 20;
const IDLE_MS_MAX: u64 = 500;
/// Interval between two checks if a run in progress was cancelled.
const LOOK_MS: u64 = 400;
/// Shortest intervals between tending timers, and between showing events, while there is work.
const TEND: Duration = Duration::from_millis(20);
const SHOW: Duration = Duration::from_millis(40);
/// Time for running tasks to end after a worker was asked to stop.
const GRACE: Duration = Duration::from_secs(3);
/// Time a worker waits for a database that cannot be reached, or whose disk is full.
const UNAVAILABLE_MAX: Duration = Duration::from_secs(60);
/// Limit on waits for tasks that are about to end, so that they are reported together.
const GATHER_MAX: usize = 100;
/// Number of events that a watcher gets at a time.
const EVENTS_MAX: usize = 1_000;

/// Options of a worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    pub name: String,
    pub concurrency: usize,
    pub lease: Duration,
    /// Only tasks of these assignees; empty means all.
    pub assignees: Vec<String>,
    pub until: StopCondition,
}

/// The condition that ends a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopCondition {
    /// Runs until it is asked to stop.
    Stopped,
    /// Ends when nothing can change any more without a person, or when this much time has passed.
    /// The worker waits for retries, timers and the leases of others.
    Idle { max_wait: Option<Duration> },
    /// Ends when this run has ended, or waits for a person. The worker runs only this run and those
    /// it starts.
    Settled(RunId),
}

/// Result of a worker.
#[derive(Debug)]
pub enum WorkerEnd {
    /// It was asked to; so many tasks were given back.
    Stopped {
        given_back: usize,
    },
    Idle,
    /// Work is left, and the time it may wait for it is over.
    StillPending(PendingWork),
    Settled(Box<RunActivity>),
}

pub(crate) struct WorkerLoop<'o> {
    store: Arc<dyn WorkflowStore>,
    queries: Arc<dyn RunQueries>,
    leader: &'o MaintenanceLeader,
    hands: Arc<ExecutorContext>,
    order: &'o WorkerOptions,
    /// How many tasks may begin within a time.
    rates: Vec<RateLimit>,
}

/// The tasks in flight, and the timers of the loop.
struct InFlightTasks {
    running: BTreeMap<TaskId, HeldTask>,
    /// Channel of finished tasks.
    done: mpsc::UnboundedReceiver<FinishedTask>,
    tell_done: mpsc::UnboundedSender<FinishedTask>,
    /// Finished tasks that are not reported yet.
    unreported: Vec<FinishedTask>,
    /// The runs that are worked on, where it is not all of them.
    family: BTreeSet<RunId>,
    seen: BTreeMap<RunId, u64>,
    tail: LogTail,
    beaten: Instant,
    looked: Instant,
    tended: Option<Instant>,
    shown: Option<Instant>,
    idle_ms: u64,
    /// Since when there has been nothing to do but to wait.
    idle_since: Option<Instant>,
}

struct HeldTask {
    fence: u64,
    abort: AbortHandle,
}

impl<'o> WorkerLoop<'o> {
    pub(crate) fn new(
        (store, queries): (Arc<dyn WorkflowStore>, Arc<dyn RunQueries>),
        hands: Arc<ExecutorContext>,
        leader: &'o MaintenanceLeader,
        order: &'o WorkerOptions,
    ) -> WorkerLoop<'o> {
        let rates = hands.project.settings.rate_limits();
        WorkerLoop {
            rates,
            store,
            queries,
            leader,
            hands,
            order,
        }
    }

    /// Works until it is done or asked to stop.
    pub(crate) async fn work(
        &self,
        watcher: &mut dyn RunWatcher,
        cancel: &CommandCancel,
    ) -> Result<WorkerEnd, Error> {
        let mut shift = InFlightTasks::begin(&self.order.until);
        let mut unavailable: Option<Instant> = None;
        let ended = loop {
            if cancel.is_cancelled() {
                break self.stop(&mut shift, watcher).await;
            }
            match self.round(&mut shift, watcher).await {
                Ok(Some(ended)) => break Ok(ended),
                Ok(None) => unavailable = None,
                Err(error) if is_passing(error.kind) => {
                    let since = *unavailable.get_or_insert_with(Instant::now);
                    if since.elapsed() > UNAVAILABLE_MAX {
                        break Err(error.into());
                    }
                    sleep(Duration::from_millis(IDLE_MS_MAX)).await;
                }
                Err(error) => break Err(error.into()),
            }
        };
        shift.running.values().for_each(|held| held.abort.abort());
        self.leader.resign().await;
        ended
    }

    /// Reports and claims, waits for something to happen, and keeps what has to be kept.
    async fn round(
        &self,
        shift: &mut InFlightTasks,
        watcher: &mut dyn RunWatcher,
    ) -> Result<Option<WorkerEnd>, StoreError> {
        let fired = match has_passed(&mut shift.tended, TEND) {
            true => self.leader.tend(&*self.store, &self.hands.project).await?,
            false => 0,
        };
        let claimed = self.turn(shift).await?;
        self.keep_leases(shift).await?;
        if has_passed(&mut shift.shown, SHOW) {
            self.show(shift, watcher).await?;
        }
        if fired + claimed > 0 {
            shift.idle_ms = IDLE_MS_FIRST;
            shift.idle_since = None;
        } else if shift.running.is_empty()
            && let Some(ended) = self.is_done(shift, watcher).await?
        {
            self.show(shift, watcher).await?;
            return Ok(Some(ended));
        }
        self.wait(shift, watcher).await;
        Ok(None)
    }

    /// Reports finished tasks and claims the next ones, in one transaction.
    async fn turn(&self, shift: &mut InFlightTasks) -> Result<usize, StoreError> {
        let max = self.order.concurrency.saturating_sub(shift.running.len());
        if max == 0 && shift.unreported.is_empty() {
            return Ok(0);
        }
        let claim = ClaimRequest {
            worker: self.order.name.clone(),
            max,
            lease_ms: self.lease_ms(),
            assignees: self.order.assignees.clone(),
            runs: shift.family.iter().cloned().collect(),
            rates: self.rates.clone(),
        };
        let claimed = match self.store.turn(shift.unreported.clone(), claim).await {
            Err(error) if is_not_kept(error.kind) => {
                self.report_singly(shift).await?;
                return Err(error);
            }
            turned => turned?,
        };
        shift.unreported.clear();
        let count = claimed.len();
        for one in claimed {
            let task = one.task.id.clone();
            let fence = one.task.fence;
            let work = attempt::attend(Arc::clone(&self.hands), one, shift.tell_done.clone());
            let abort = tokio::spawn(work).abort_handle();
            shift.running.insert(task, HeldTask { fence, abort });
        }
        Ok(count)
    }

    /// Reports tasks one by one, so that one report that cannot be stored does not hold up the
    /// others. It becomes a failure that says so; if even that cannot be stored, the disk is at
    /// fault, and the report waits.
    async fn report_singly(&self, shift: &mut InFlightTasks) -> Result<(), StoreError> {
        while let Some(done) = shift.unreported.pop() {
            let kept = self.report(done.clone()).await;
            let Err(error) = kept else { continue };
            let told = failed(FailureClass::Failed, error.message.clone());
            let failure = FinishedTask {
                report: told,
                ..done.clone()
            };
            if let Err(error) = self.report(failure).await {
                shift.unreported.push(done);
                return Err(error);
            }
        }
        Ok(())
    }

    async fn report(&self, done: FinishedTask) -> Result<(), StoreError> {
        let command = EngineCommand::Report {
            task: done.task,
            fence: done.fence,
            report: done.report,
        };
        // A refusal means that another worker has the task by now.
        self.store.execute(command).await.map(|_| ())
    }

    /// Waits until something is done or may be ready, or for a while.
    async fn wait(&self, shift: &mut InFlightTasks, watcher: &mut dyn RunWatcher) {
        let wait = Duration::from_millis(shift.idle_ms);
        tokio::select! {
            biased;
            done = shift.done.recv() => {
                if let Some(done) = done {
                    shift.ended(done);
                    shift.gather().await;
                }
            }
            _ = self.store.hint() => shift.idle_ms = IDLE_MS_FIRST,
            () = sleep(wait) => {
                shift.idle_ms = (shift.idle_ms * 2).min(IDLE_MS_MAX);
                watcher.tick();
            }
        }
    }

    fn lease_ms(&self) -> u64 {
        u64::try_from(self.order.lease.as_millis()).unwrap_or(u64::MAX)
    }

    /// Renews the leases, and stops tasks that are no longer ours.
    async fn keep_leases(&self, shift: &mut InFlightTasks) -> Result<(), StoreError> {
        if shift.running.is_empty() {
            return Ok(());
        }
        if shift.beaten.elapsed() > self.order.lease / 3 {
            shift.beaten = Instant::now();
            let held = shift.running.iter();
            let held: Vec<(TaskId, u64)> = held
                .map(|(task, held)| (task.clone(), held.fence))
                .collect();
            for (task, _) in self.store.heartbeat(&held, self.lease_ms()).await? {
                shift.drop_task(&task);
            }
        }
        if shift.looked.elapsed() > Duration::from_millis(LOOK_MS) {
            shift.looked = Instant::now();
            let runs: BTreeSet<RunId> = shift.running.keys().map(|task| task.run.clone()).collect();
            for run in runs {
                let row = self.store.run(&run).await?;
                let is_over = row.is_none_or(|row| {
                    matches!(row.status, RunStatus::Cancelled | RunStatus::Failed)
                });
                if is_over {
                    shift.drop_run(&run);
                }
            }
        }
        Ok(())
    }

    async fn is_done(
        &self,
        shift: &mut InFlightTasks,
        watcher: &mut dyn RunWatcher,
    ) -> Result<Option<WorkerEnd>, StoreError> {
        match &self.order.until {
            StopCondition::Stopped => Ok(None),
            // Others may be about to begin something.
            StopCondition::Idle { .. } if shift.idle_ms < IDLE_MS_MAX => Ok(None),
            StopCondition::Idle { max_wait } => {
                let pending = self.queries.pending_work(&self.order.assignees).await?;
                if pending.next_ms().is_none() {
                    return Ok(Some(WorkerEnd::Idle));
                }
                let idle_since = *shift.idle_since.get_or_insert_with(Instant::now);
                if max_wait.is_some_and(|max| idle_since.elapsed() >= max) {
                    return Ok(Some(WorkerEnd::StillPending(pending)));
                }
                watcher.waiting(pending);
                Ok(None)
            }
            StopCondition::Settled(run) => {
                let (standing, family) = crate::workflows::standing_of(&*self.store, run).await?;
                shift.family = family;
                Ok(match standing {
                    RunActivity::Going => None,
                    settled => Some(WorkerEnd::Settled(Box::new(settled))),
                })
            }
        }
    }

    async fn show(
        &self,
        shift: &mut InFlightTasks,
        watcher: &mut dyn RunWatcher,
    ) -> Result<(), StoreError> {
        let runs: BTreeSet<RunId> = match &self.order.until {
            StopCondition::Settled(_) => shift.family.clone(),
            _ if !watcher.is_looking() => return Ok(()),
            _ => shift
                .seen
                .keys()
                .cloned()
                .chain(shift.running.keys().map(|task| task.run.clone()))
                .collect(),
        };
        for run in runs {
            let mut after = *shift.seen.get(&run).unwrap_or(&0);
            loop {
                let events = self.store.events(&run, after, EVENTS_MAX).await?;
                let Some(last) = events.last() else { break };
                after = last.seq;
                shift.tail.tell(&*self.store, &events, watcher).await?;
            }
            let is_over = self.order.until == StopCondition::Stopped
                && !shift.running.keys().any(|task| task.run == run);
            match is_over {
                true => shift.seen.remove(&run),
                false => shift.seen.insert(run, after),
            };
        }
        shift.tail.look(&*self.store, watcher).await
    }

    /// Waits for the running tasks, and gives back those that do not end in time.
    async fn stop(
        &self,
        shift: &mut InFlightTasks,
        watcher: &mut dyn RunWatcher,
    ) -> Result<WorkerEnd, Error> {
        let begun = Instant::now();
        while !shift.running.is_empty() && begun.elapsed() < GRACE {
            if let Ok(Some(done)) = timeout(Duration::from_millis(50), shift.done.recv()).await {
                shift.ended(done);
            }
            watcher.tick();
        }
        shift.drain();
        self.report_singly(shift).await?;
        let left = std::mem::take(&mut shift.running);
        let given_back = left.len();
        for (task, held) in left {
            held.abort.abort();
            let fence = held.fence;
            let report = AttemptReport::of(AttemptOutcome::GivenBack);
            self.report(FinishedTask {
                task,
                fence,
                report,
            })
            .await?;
        }
        self.show(shift, watcher).await?;
        Ok(WorkerEnd::Stopped { given_back })
    }
}

impl InFlightTasks {
    fn begin(until: &StopCondition) -> InFlightTasks {
        let (tell_done, done) = mpsc::unbounded_channel();
        InFlightTasks {
            running: BTreeMap::new(),
            done,
            tell_done,
            unreported: Vec::new(),
            family: match until {
                StopCondition::Settled(run) => BTreeSet::from([run.clone()]),
                _ => BTreeSet::new(),
            },
            seen: BTreeMap::new(),
            tail: LogTail::default(),
            beaten: Instant::now(),
            looked: Instant::now(),
            tended: None,
            shown: None,
            idle_ms: IDLE_MS_FIRST,
            idle_since: None,
        }
    }

    fn ended(&mut self, done: FinishedTask) {
        // A task that is not in the list was dropped because its lease was lost; the new owner
        // reports its result.
        if self.running.remove(&done.task).is_some() {
            self.unreported.push(done);
        }
        self.idle_ms = IDLE_MS_FIRST;
    }

    /// Collects further finished tasks. Waits a moment for tasks that are about to end, because
    /// reporting many costs little more than reporting one.
    async fn gather(&mut self) {
        self.drain();
        for _ in 0..GATHER_MAX {
            if self.running.is_empty() {
                break;
            }
            tokio::task::yield_now().await;
            let before = self.unreported.len();
            self.drain();
            if self.unreported.len() == before {
                break;
            }
        }
    }

    fn drain(&mut self) {
        while let Ok(done) = self.done.try_recv() {
            self.ended(done);
        }
    }

    /// Stops the work on a task; its processes end with it.
    fn drop_task(&mut self, task: &TaskId) {
        if let Some(held) = self.running.remove(task) {
            held.abort.abort();
        }
    }

    fn drop_run(&mut self, run: &RunId) {
        self.running.retain(|task, held| {
            if task.run == *run {
                held.abort.abort();
            }
            task.run != *run
        });
    }
}

/// Returns true if the time has passed since the last call that returned true, and on the first
/// call; then it also resets the time.
fn has_passed(last: &mut Option<Instant>, span: Duration) -> bool {
    let has_passed = last.is_none_or(|last| last.elapsed() >= span);
    if has_passed {
        *last = Some(Instant::now());
    }
    has_passed
}

/// Returns true if waiting may help: the server may come back, or the disk may get space.
fn is_passing(kind: StoreErrorKind) -> bool {
    kind == StoreErrorKind::Unavailable || is_not_kept(kind)
}

fn is_not_kept(kind: StoreErrorKind) -> bool {
    matches!(kind, StoreErrorKind::NotKept | StoreErrorKind::NoRoom)
}
