//! The worker: claims tasks, does them, says so, and keeps timers and leases.
//!
//! Everything another process would need is in the store. A worker that dies leaves leases that end;
//! whoever comes next takes the tasks over. One that is asked to stop claims nothing more, lets what
//! is under way end, and gives back what does not.

mod bench;
pub(crate) mod leader;
mod timers;
mod watcher;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use exec::Cancel;
use flow::engine::{Command, FailureClass, Outcome, Report, RunStatus};
use flow::{Claim, Done, RunId, Store, StoreError, StoreErrorKind, TaskId};
use store::Queries;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::Error;
use crate::executors::{Hands, failed};
use crate::workflows::Standing;
use leader::Leader;

pub use store::PendingWork;
pub use watcher::{Nobody, Watcher};

/// How soon it is looked again when there was nothing to do, and how late at most.
const IDLE_MS_FIRST: u64 = 20;
const IDLE_MS_MAX: u64 = 500;
/// How often it is looked whether a run that is worked on was cancelled.
const LOOK_MS: u64 = 400;
/// How often, at most, timers are tended and events shown while there is work.
const TEND: Duration = Duration::from_millis(20);
const SHOW: Duration = Duration::from_millis(40);
/// How long what is under way may take to end after a worker was asked to stop.
const GRACE: Duration = Duration::from_secs(3);
/// How long a database that cannot be reached, or whose disk is full, is waited for.
const UNAVAILABLE_MAX: Duration = Duration::from_secs(60);
/// How often, at most, what is about to be done is waited for.
const GATHER_MAX: usize = 100;
/// How many events a watcher gets at a time.
const EVENTS_MAX: usize = 1_000;

/// What a worker is to do.
#[derive(Clone, Debug)]
pub struct Order {
    pub name: String,
    pub concurrency: usize,
    pub lease: Duration,
    /// Only tasks of these assignees; empty means of anybody.
    pub assignees: Vec<String>,
    pub until: Until,
}

/// When a worker is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it is asked to stop.
    Stopped,
    /// When nothing can change any more without a person, or when this much time has passed. Retries,
    /// timers and the leases of others are waited for.
    Idle { max_wait: Option<Duration> },
    /// When this run has ended, or waits for somebody. Nothing else is worked on but what it
    /// starts.
    Settled(RunId),
}

/// How a worker ended.
#[derive(Debug)]
pub enum Ended {
    /// It was asked to; so many tasks were given back.
    Stopped {
        given_back: usize,
    },
    Idle,
    /// Work is left, and the time it may wait for it is over.
    StillPending(PendingWork),
    Settled(Box<Standing>),
}

pub(crate) struct Worker<'o> {
    store: Arc<dyn Store>,
    queries: Arc<dyn Queries>,
    leader: &'o Leader,
    hands: Arc<Hands>,
    order: &'o Order,
}

/// What is under way.
struct Shift {
    running: BTreeMap<TaskId, Held>,
    /// What was done, on its way here.
    done: mpsc::UnboundedReceiver<Done>,
    tell_done: mpsc::UnboundedSender<Done>,
    /// What was done and is not reported yet.
    unreported: Vec<Done>,
    /// The runs that are worked on, where it is not all of them.
    family: BTreeSet<RunId>,
    seen: BTreeMap<RunId, u64>,
    beaten: Instant,
    looked: Instant,
    tended: Option<Instant>,
    shown: Option<Instant>,
    idle_ms: u64,
    /// Since when there has been nothing to do but to wait.
    idle_since: Option<Instant>,
}

struct Held {
    fence: u64,
    abort: AbortHandle,
}

impl<'o> Worker<'o> {
    pub(crate) fn new(
        (store, queries): (Arc<dyn Store>, Arc<dyn Queries>),
        hands: Arc<Hands>,
        leader: &'o Leader,
        order: &'o Order,
    ) -> Worker<'o> {
        Worker {
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
        watcher: &mut dyn Watcher,
        cancel: &Cancel,
    ) -> Result<Ended, Error> {
        let mut shift = Shift::begin(&self.order.until);
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
        shift: &mut Shift,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Ended>, StoreError> {
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

    /// Says what was done and claims what comes next, in one transaction.
    async fn turn(&self, shift: &mut Shift) -> Result<usize, StoreError> {
        let max = self.order.concurrency.saturating_sub(shift.running.len());
        if max == 0 && shift.unreported.is_empty() {
            return Ok(0);
        }
        let claim = Claim {
            worker: self.order.name.clone(),
            max,
            lease_ms: self.lease_ms(),
            assignees: self.order.assignees.clone(),
            runs: shift.family.iter().cloned().collect(),
        };
        let claimed = match self.store.turn(shift.unreported.clone(), claim).await {
            Err(error) if error.kind == StoreErrorKind::NotKept => {
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
            let work = bench::attend(Arc::clone(&self.hands), one, shift.tell_done.clone());
            let abort = tokio::spawn(work).abort_handle();
            shift.running.insert(task, Held { fence, abort });
        }
        Ok(count)
    }

    /// One report that cannot be kept must not keep the others back. It becomes a failure that says
    /// so; where not even that can be kept, it is the disk, and the report waits.
    async fn report_singly(&self, shift: &mut Shift) -> Result<(), StoreError> {
        while let Some(done) = shift.unreported.pop() {
            let kept = self.report(done.clone()).await;
            let Err(error) = kept else { continue };
            let told = failed(FailureClass::Failed, error.message.clone());
            let failure = Done {
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

    async fn report(&self, done: Done) -> Result<(), StoreError> {
        let command = Command::Report {
            task: done.task,
            fence: done.fence,
            report: done.report,
        };
        // Refused means that the task is somebody else's by now.
        self.store.execute(command).await.map(|_| ())
    }

    /// Waits until something is done or may be ready, or for a while.
    async fn wait(&self, shift: &mut Shift, watcher: &mut dyn Watcher) {
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

    /// Tells the store that we live, and stops what is not ours any more.
    async fn keep_leases(&self, shift: &mut Shift) -> Result<(), StoreError> {
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
        shift: &mut Shift,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Ended>, StoreError> {
        match &self.order.until {
            Until::Stopped => Ok(None),
            // Others may be about to begin something.
            Until::Idle { .. } if shift.idle_ms < IDLE_MS_MAX => Ok(None),
            Until::Idle { max_wait } => {
                let pending = self.queries.pending_work(&self.order.assignees).await?;
                if pending.next_ms().is_none() {
                    return Ok(Some(Ended::Idle));
                }
                let idle_since = *shift.idle_since.get_or_insert_with(Instant::now);
                if max_wait.is_some_and(|max| idle_since.elapsed() >= max) {
                    return Ok(Some(Ended::StillPending(pending)));
                }
                watcher.waiting(pending);
                Ok(None)
            }
            Until::Settled(run) => {
                let (standing, family) = crate::workflows::standing_of(&*self.store, run).await?;
                shift.family = family;
                Ok(match standing {
                    Standing::Going => None,
                    settled => Some(Ended::Settled(Box::new(settled))),
                })
            }
        }
    }

    async fn show(&self, shift: &mut Shift, watcher: &mut dyn Watcher) -> Result<(), StoreError> {
        let runs: BTreeSet<RunId> = match &self.order.until {
            Until::Settled(_) => shift.family.clone(),
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
                watcher.events(&events);
            }
            let is_over = self.order.until == Until::Stopped
                && !shift.running.keys().any(|task| task.run == run);
            match is_over {
                true => shift.seen.remove(&run),
                false => shift.seen.insert(run, after),
            };
        }
        Ok(())
    }

    /// Lets what is under way end, and gives back what does not.
    async fn stop(&self, shift: &mut Shift, watcher: &mut dyn Watcher) -> Result<Ended, Error> {
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
            let report = Report::of(Outcome::GivenBack);
            self.report(Done {
                task,
                fence,
                report,
            })
            .await?;
        }
        self.show(shift, watcher).await?;
        Ok(Ended::Stopped { given_back })
    }
}

impl Shift {
    fn begin(until: &Until) -> Shift {
        let (tell_done, done) = mpsc::unbounded_channel();
        Shift {
            running: BTreeMap::new(),
            done,
            tell_done,
            unreported: Vec::new(),
            family: match until {
                Until::Settled(run) => BTreeSet::from([run.clone()]),
                _ => BTreeSet::new(),
            },
            seen: BTreeMap::new(),
            beaten: Instant::now(),
            looked: Instant::now(),
            tended: None,
            shown: None,
            idle_ms: IDLE_MS_FIRST,
            idle_since: None,
        }
    }

    fn ended(&mut self, done: Done) {
        // What was dropped is somebody else's, and so is the word of it.
        if self.running.remove(&done.task).is_some() {
            self.unreported.push(done);
        }
        self.idle_ms = IDLE_MS_FIRST;
    }

    /// Takes what is done besides. What is about to be done is waited for, a moment only: telling
    /// of many things costs little more than telling of one.
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

/// Whether so much time has passed since this was last asked and said yes; yes the first time.
fn has_passed(last: &mut Option<Instant>, span: Duration) -> bool {
    let has_passed = last.is_none_or(|last| last.elapsed() >= span);
    if has_passed {
        *last = Some(Instant::now());
    }
    has_passed
}

/// Whether waiting may help: the server comes back, somebody makes room on the disk.
fn is_passing(kind: StoreErrorKind) -> bool {
    matches!(kind, StoreErrorKind::Unavailable | StoreErrorKind::NotKept)
}
