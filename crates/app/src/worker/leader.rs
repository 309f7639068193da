//! Elects the process that handles due work.
//!
//! Where many processes share a server, one at a time handles timers, ended leases, schedules and
//! runs that are too old: each duty is a lease in the database, and the first process that finds it
//! ended takes it over. A leader that wakes up late does no harm, because the store refuses what
//! has been done already. On SQLite every process does it: few share a file, and the check costs
//! little.

use std::time::Duration;

use flow::{PruneProgress, StoreError, WorkflowStore};
use store::{PostgresDatabase, RunQueries, ScheduleStore, TriggerMemory};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::settings::WorkflowSettings;
use crate::triggers::DeclaredTriggers;
use crate::worker::{has_passed, timers};
use crate::{ProcessEnvironment, Project, schedules, triggers};

/// Interval between two looks for due schedules.
const SCHEDULES_LOOK: Duration = Duration::from_secs(1);
/// Time after which a duty is taken from a holder that does not renew it, and the interval of
/// renewing. Other processes ask for it at the same interval.
const LEASE_MS: u64 = 5_000;
const ASK: Duration = Duration::from_millis(1_500);
/// Interval at which a leader repairs the ready list.
const RECONCILE: Duration = Duration::from_secs(60);

/// Interval between two searches for runs that are too old, and the pause between two batches of
/// deletions.
const SWEEP: Duration = Duration::from_secs(600);
const SWEEP_PAUSE: Duration = Duration::from_millis(2);
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Has no value: a function that returns it never ends.
pub(crate) enum NeverEnds {}

/// Handles due work, if this process holds the duty.
pub(crate) struct MaintenanceLeader {
    /// `None` for SQLite, where every process handles due work.
    server: Option<PostgresDatabase>,
    /// Unique name of this process, so that two processes never hold one duty.
    holder: String,
    timers: Mutex<MaintenanceDuty>,
    schedules: Mutex<MaintenanceDuty>,
}

/// A maintenance role that one process holds at a time.
struct MaintenanceDuty {
    name: &'static str,
    asked: Option<Instant>,
    is_ours: bool,
    /// Time at which its holder last repaired everything; `None` before the first time.
    reconciled: Option<Instant>,
}

impl MaintenanceDuty {
    fn new(name: &'static str) -> Mutex<MaintenanceDuty> {
        Mutex::new(MaintenanceDuty {
            name,
            asked: None,
            is_ours: false,
            reconciled: None,
        })
    }
}

impl MaintenanceLeader {
    /// Makes the leader of a process; `server` is `None` for SQLite, where every process leads.
    pub(crate) fn new(server: Option<PostgresDatabase>, worker: &str) -> MaintenanceLeader {
        // Two processes of one name would both be leaders. If there are no random bytes, the name
        // alone has to do: the store refuses the second of two equal actions.
        let mark = getrandom::u64().unwrap_or_default();
        MaintenanceLeader {
            server,
            holder: format!("{worker} {mark:016x}"),
            timers: MaintenanceDuty::new("timers"),
            schedules: MaintenanceDuty::new("schedules"),
        }
    }

    /// Fires due timers, unless another process holds the duty. Returns their number.
    pub(crate) async fn tend(
        &self,
        store: &dyn WorkflowStore,
        project: &Project,
    ) -> Result<usize, StoreError> {
        if !self.leads(&self.timers).await? {
            return Ok(0);
        }
        if let Some(server) = &self.server
            && has_passed(&mut self.timers.lock().await.reconciled, RECONCILE)
        {
            server.reconcile().await?;
        }
        timers::tend(store, project).await
    }

    /// Fires due schedules and deletes runs that are too old, for as long as the worker runs.
    /// Errors are ignored and the work is tried again: the worker uses the same database and
    /// reports it when it is gone.
    pub(crate) async fn tend_schedules(
        &self,
        (schedules, seen): (&dyn ScheduleStore, &dyn TriggerMemory),
        (store, queries): (&dyn WorkflowStore, &dyn RunQueries),
        around: (&Project, &ProcessEnvironment),
    ) -> NeverEnds {
        let mut broom = RunPruner::default();
        let declared = DeclaredTriggers::default();
        loop {
            let mut pause = SCHEDULES_LOOK;
            if self.leads(&self.schedules).await.unwrap_or(false) {
                let now_ms = schedules.now_ms();
                let _ = schedules::fire_due(schedules, store, around, now_ms).await;
                let declared = declared.all(around.0);
                triggers::tend(&declared, (seen, store), around, now_ms).await;
                let settings = &around.0.settings.workflows;
                if broom.sweep((store, queries), settings, now_ms).await {
                    pause = SWEEP_PAUSE;
                }
            }
            sleep(pause).await;
        }
    }

    /// Gives the duties back, so that others need not wait for a lease to end. A server that cannot
    /// be reached ends it by itself.
    pub(crate) async fn resign(&self) {
        let Some(server) = &self.server else { return };
        for duty in [&self.timers, &self.schedules] {
            let mut duty = duty.lock().await;
            if std::mem::take(&mut duty.is_ours) {
                let _ = server.resign(duty.name, &self.holder).await;
            }
        }
    }

    /// Returns true if this process holds a duty; asks the server now and then.
    async fn leads(&self, duty: &Mutex<MaintenanceDuty>) -> Result<bool, StoreError> {
        let Some(server) = &self.server else {
            return Ok(true);
        };
        let mut duty = duty.lock().await;
        if duty.asked.is_none_or(|asked| asked.elapsed() >= ASK) {
            // A process that cannot ask does not lead.
            duty.is_ours = false;
            server.check_version().await?;
            let led = server.lead(duty.name, &self.holder, LEASE_MS).await?;
            duty.asked = Some(Instant::now());
            duty.is_ours = led;
            if !led {
                // A process that leads again repairs everything again.
                duty.reconciled = None;
            }
        }
        Ok(duty.is_ours)
    }
}

/// State of the deletion of old runs.
#[derive(Default)]
struct RunPruner {
    /// Time at which the last deletion began.
    begun: Option<Instant>,
    /// Progress of the current deletion; `None` between two of them.
    thrown: Option<PruneProgress>,
    /// Runs that ended before this time are deleted.
    before_ms: u64,
}

impl RunPruner {
    /// Throws away some runs that ended too long ago, or that are too many. Whether more are to come.
    async fn sweep(
        &mut self,
        (store, queries): (&dyn WorkflowStore, &dyn RunQueries),
        settings: &WorkflowSettings,
        now_ms: u64,
    ) -> bool {
        if self.thrown.is_none() && has_passed(&mut self.begun, SWEEP) {
            self.before_ms = limit_ms(queries, settings, now_ms).await;
            self.thrown = (self.before_ms > 0).then(PruneProgress::default);
        }
        let Some(so_far) = self.thrown.take() else {
            return false;
        };
        let age_ms = now_ms.saturating_sub(self.before_ms);
        // After an error the next sweep tries again.
        let thrown = store.throw_away(age_ms, so_far).await.ok();
        self.thrown = thrown.filter(|thrown| thrown.last.is_some());
        self.thrown.is_some()
    }
}

/// Returns the time before which runs must have ended to be deleted; 0 if none are deleted.
async fn limit_ms(queries: &dyn RunQueries, settings: &WorkflowSettings, now_ms: u64) -> u64 {
    let age = settings.keep_days.map(|days| days.saturating_mul(DAY_MS));
    let by_age = age.map(|age| now_ms.saturating_sub(age));
    let by_count = match settings.keep_runs.map(|runs| runs.saturating_sub(1)) {
        Some(number) => queries.begin_of_newest(number).await.ok().flatten(),
        None => None,
    };
    by_age.into_iter().chain(by_count).max().unwrap_or(0)
}
