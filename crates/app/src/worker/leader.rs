//! Who tends what is due.
//!
//! Timers, ended leases, schedules and runs that are too old are looked after by one process at a
//! time where many share a server: the duty is a lease in the database, and whoever finds it ended
//! takes it over. A leader that wakes up late does no harm, because whatever it does is refused when
//! it has been done. On SQLite everybody looks: a file is shared by few, and looking costs little.

use std::time::Duration;

use flow::{Store, StoreError, Thrown};
use store::{Postgres, Queries, Schedules};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::settings::Workflows;
use crate::worker::{has_passed, timers};
use crate::{Project, Surroundings, schedules};

/// How often it is looked which schedules are due.
const SCHEDULES_LOOK: Duration = Duration::from_secs(1);
/// How long a duty is its holder's without a word from it, and how often there is one. Others ask as
/// often whether it is free.
const LEASE_MS: u64 = 5_000;
const ASK: Duration = Duration::from_millis(1_500);
/// How often a leader makes sure that what should be ready is.
const RECONCILE: Duration = Duration::from_secs(60);

/// How often runs that are too old are looked for, and the pause after some of them.
const SWEEP: Duration = Duration::from_secs(600);
const SWEEP_PAUSE: Duration = Duration::from_millis(2);
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// There is none: what promises one does not end.
pub(crate) enum Never {}

/// Tends what is due, if it is this process that does.
pub(crate) struct Leader {
    /// Nothing where everybody does.
    server: Option<Postgres>,
    /// Who leads, so that no other process goes by the same name.
    holder: String,
    timers: Mutex<Duty>,
    schedules: Mutex<Duty>,
}

/// What one process does at a time.
struct Duty {
    name: &'static str,
    asked: Option<Instant>,
    is_ours: bool,
    /// When its holder made sure of everything; nothing before it did.
    reconciled: Option<Instant>,
}

impl Duty {
    fn new(name: &'static str) -> Mutex<Duty> {
        Mutex::new(Duty {
            name,
            asked: None,
            is_ours: false,
            reconciled: None,
        })
    }
}

impl Leader {
    /// One of those who share the server, or the only one or one of few where there is none.
    pub(crate) fn new(server: Option<Postgres>, worker: &str) -> Leader {
        // Two processes of one name would both be leaders. Without random bytes the name alone has
        // to do: what they do twice is refused once.
        let mark = getrandom::u64().unwrap_or_default();
        Leader {
            server,
            holder: format!("{worker} {mark:016x}"),
            timers: Duty::new("timers"),
            schedules: Duty::new("schedules"),
        }
    }

    /// Fires what is due, unless that is another process's duty. Gives how much it was.
    pub(crate) async fn tend(
        &self,
        store: &dyn Store,
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

    /// Looks after the schedules, and after runs that are too old, for as long as somebody works. What
    /// fails is tried again: whoever works uses the same database and says so when it is gone.
    pub(crate) async fn tend_schedules(
        &self,
        schedules: &dyn Schedules,
        (store, queries): (&dyn Store, &dyn Queries),
        around: (&Project, &Surroundings),
    ) -> Never {
        let mut broom = Broom::default();
        loop {
            let mut pause = SCHEDULES_LOOK;
            if self.leads(&self.schedules).await.unwrap_or(false) {
                let now_ms = schedules.now_ms();
                let _ = schedules::fire_due(schedules, store, around, now_ms).await;
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

    /// Whether a duty is this process's, which asks now and then.
    async fn leads(&self, duty: &Mutex<Duty>) -> Result<bool, StoreError> {
        let Some(server) = &self.server else {
            return Ok(true);
        };
        let mut duty = duty.lock().await;
        if duty.asked.is_none_or(|asked| asked.elapsed() >= ASK) {
            // Whoever cannot ask does not lead.
            duty.is_ours = false;
            server.check_version().await?;
            let led = server.lead(duty.name, &self.holder, LEASE_MS).await?;
            duty.asked = Some(Instant::now());
            duty.is_ours = led;
            if !led {
                // Whoever leads again makes sure of everything again.
                duty.reconciled = None;
            }
        }
        Ok(duty.is_ours)
    }
}

/// How far old runs are thrown away.
#[derive(Default)]
struct Broom {
    /// When it was begun last.
    begun: Option<Instant>,
    /// What is done of it; nothing between two times.
    thrown: Option<Thrown>,
    /// Runs that ended before this time are thrown away.
    before_ms: u64,
}

impl Broom {
    /// Throws away some runs that ended too long ago, or that are too many. Whether more are to come.
    async fn sweep(
        &mut self,
        (store, queries): (&dyn Store, &dyn Queries),
        settings: &Workflows,
        now_ms: u64,
    ) -> bool {
        if self.thrown.is_none() && has_passed(&mut self.begun, SWEEP) {
            self.before_ms = limit_ms(queries, settings, now_ms).await;
            self.thrown = (self.before_ms > 0).then(Thrown::default);
        }
        let Some(so_far) = self.thrown.take() else {
            return false;
        };
        let age_ms = now_ms.saturating_sub(self.before_ms);
        // What fails is tried the next time.
        let thrown = store.throw_away(age_ms, so_far).await.ok();
        self.thrown = thrown.filter(|thrown| thrown.last.is_some());
        self.thrown.is_some()
    }
}

/// Before which time runs must have ended to be thrown away; 0 where none are.
async fn limit_ms(queries: &dyn Queries, settings: &Workflows, now_ms: u64) -> u64 {
    let age = settings.keep_days.map(|days| days.saturating_mul(DAY_MS));
    let by_age = age.map(|age| now_ms.saturating_sub(age));
    let by_count = match settings.keep_runs.map(|runs| runs.saturating_sub(1)) {
        Some(number) => queries.begin_of_newest(number).await.ok().flatten(),
        None => None,
    };
    by_age.into_iter().chain(by_count).max().unwrap_or(0)
}
