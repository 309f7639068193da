//! Schedules on a real database with a clock that the test sets: overlap, catching up, jitter and
//! backfill.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, and fail by panicking"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent::AgentClock;
use app::schedules::{FiredSchedule, OverlapRule, Schedule, SchedulePolicy, backfill, fire_due};
use app::{ProcessEnvironment, Project};
use flow::RunId;
use flow::engine::EngineCommand;
use serde_json::json;
use store::{Options, ScheduleStore as _, SqliteDatabase};

const MINUTE: u64 = 60_000;
/// 2027-01-15 08:00 UTC.
const BEGIN: u64 = 1_800_000_000_000;

/// Waits for a person, so that its run stays under way.
const WORKFLOW: &str = "graph TD\n  A(Approve)\n";

/// The time that the test says.
#[derive(Default)]
struct SetClock(AtomicU64);

impl AgentClock for SetClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

struct Scene {
    folder: tempfile::TempDir,
    project: Project,
    surroundings: ProcessEnvironment,
    store: SqliteDatabase,
    runs: Arc<dyn flow::WorkflowStore>,
    clock: Arc<SetClock>,
}

impl Scene {
    /// A project with one schedule for every minute, which is due for the first time after a minute.
    async fn with(policy: SchedulePolicy) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("drawloom.toml"), "").unwrap();
        std::fs::write(folder.path().join("w.mmd"), WORKFLOW).unwrap();
        let mut surroundings = ProcessEnvironment::read(Some(folder.path())).unwrap();
        surroundings.variables = std::iter::empty::<(String, String)>().collect();
        surroundings.user_folders = app::UserFolders::default();
        let project = Project::open(&surroundings).unwrap();
        let clock = Arc::new(SetClock::default());
        clock.0.store(BEGIN, Ordering::SeqCst);
        let options = Options {
            clock: clock.clone(),
            scrub: None,
            bytes_max: None,
            pid: 1,
        };
        let path: &Path = &folder.path().join("runs.db");
        let store = SqliteDatabase::open(path, options).await.unwrap();
        let schedule = Schedule {
            slug: "s".parse().unwrap(),
            workflow: "w.mmd".to_owned(),
            cron: "* * * * *".to_owned(),
            time_zone: "UTC".to_owned(),
            input: json!({}),
            is_enabled: true,
            next_ms: Some(BEGIN + MINUTE),
            last: None,
            created_ms: BEGIN,
            policy,
        };
        store.add_schedule(&schedule).await.unwrap();
        let runs = store.workflows().await.unwrap();
        Scene {
            folder,
            project,
            surroundings,
            store,
            runs,
            clock,
        }
    }

    /// Fires what is due so many milliseconds after the start: gives the minute of each, with a sign for
    /// one that begins no run.
    async fn fires(&self, after_ms: u64) -> String {
        let now_ms = BEGIN + after_ms;
        self.clock.0.store(now_ms, Ordering::SeqCst);
        let around = (&self.project, &self.surroundings);
        let fired = fire_due(&self.store, &*self.runs, around, now_ms);
        shown(&fired.await.unwrap())
    }

    async fn fills(&self, from: u64, to: u64) -> String {
        let around = (&self.project, &self.surroundings);
        let between = (BEGIN + from * MINUTE, BEGIN + to * MINUTE);
        let slug = "s".parse().unwrap();
        let fired = backfill((&self.store, &*self.runs), around, &slug, between);
        shown(&fired.await.unwrap())
    }

    /// The runs there are: the minute and the status of each, the first one first.
    async fn runs(&self) -> String {
        let mut rows = self.runs.runs(None, 100).await.unwrap();
        rows.sort_by_key(|row| row.id.to_string());
        let minute = |id: &RunId| {
            let id = id.to_string();
            let time = id.strip_prefix("s-20270115T08").unwrap();
            time[..2].parse::<u64>().unwrap()
        };
        let rows = rows
            .iter()
            .map(|row| format!("{}:{}", minute(&row.id), row.status.name()));
        rows.collect::<Vec<_>>().join(" ")
    }

    async fn cancel_all(&self) {
        for row in self.runs.runs(None, 100).await.unwrap() {
            let reason = "over".to_owned();
            let cancel = EngineCommand::Cancel {
                run: row.id,
                reason,
            };
            let _ = self.runs.execute(cancel).await.unwrap();
        }
    }
}

fn shown(fired: &[FiredSchedule]) -> String {
    let shown = fired.iter().map(|one| {
        let minute = (one.firing.due_ms - BEGIN) / MINUTE;
        match (&one.firing.outcome, one.is_left_out, one.was_started) {
            (Err(_), ..) => format!("{minute}✗"),
            (_, true, _) => format!("{minute}-"),
            (_, _, true) => format!("{minute}="),
            _ => minute.to_string(),
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn overlapping(overlap: OverlapRule) -> SchedulePolicy {
    SchedulePolicy {
        overlap,
        ..SchedulePolicy::default()
    }
}

/// Three minutes go by while the first run waits for a person; then it is cancelled, and a fourth goes by.
async fn check_overlap(rule: OverlapRule, fires: [&str; 4], runs: &str) {
    let scene = Scene::with(overlapping(rule)).await;
    let mut seen = Vec::new();
    for minute in 1..=3 {
        seen.push(scene.fires(minute * MINUTE).await);
    }
    if rule != OverlapRule::Cancel && rule != OverlapRule::Allow {
        scene.cancel_all().await;
    }
    seen.push(scene.fires(4 * MINUTE).await);
    assert_eq!(seen, fires, "{rule:?}");
    assert_eq!(scene.runs().await, runs, "{rule:?}");
}

#[tokio::test]
async fn a_time_that_overlaps_with_a_run_follows_the_rule_of_its_schedule() {
    check_overlap(
        OverlapRule::Allow,
        ["1", "2", "3", "4"],
        "1:running 2:running 3:running 4:running",
    )
    .await;
    check_overlap(
        OverlapRule::Skip,
        ["1", "2-", "3-", "4"],
        "1:cancelled 4:running",
    )
    .await;
    check_overlap(
        OverlapRule::Cancel,
        ["1", "2", "3", "4"],
        "1:cancelled 2:cancelled 3:cancelled 4:running",
    )
    .await;
    // While the run before is under way nothing begins; of the times that waited the latest does.
    check_overlap(
        OverlapRule::Queue,
        ["1", "", "", "4"],
        "1:cancelled 4:running",
    )
    .await;
}

#[tokio::test]
async fn missed_times_are_caught_up_as_the_schedule_says() {
    for (catch_up_ms, late, fires, runs) in [
        (None, 5 * MINUTE, "5", "5:running"),
        (
            Some(60 * MINUTE),
            3 * MINUTE + 1,
            "1 2 3",
            "1:running 2:running 3:running",
        ),
        (Some(MINUTE), 5 * MINUTE, "4 5", "4:running 5:running"),
        (Some(0), 5 * MINUTE + 1, "1✗", ""),
    ] {
        let policy = SchedulePolicy {
            catch_up_ms,
            ..SchedulePolicy::default()
        };
        let scene = Scene::with(policy).await;
        assert_eq!(scene.fires(late).await, fires, "{catch_up_ms:?}");
        assert_eq!(scene.runs().await, runs, "{catch_up_ms:?}");
        assert_eq!(scene.fires(late).await, "", "each time once");
    }
}

#[tokio::test]
async fn jitter_puts_a_time_off_and_the_run_keeps_its_name() {
    let policy = SchedulePolicy {
        jitter_ms: 30_000,
        ..SchedulePolicy::default()
    };
    let scene = Scene::with(policy).await;
    // The delay is found, not guessed: it is the same for everyone who looks.
    let mut delay = None;
    for ms in 0..=30_000_u64 {
        let fired = match ms % 250 {
            0 => scene.fires(MINUTE + ms).await,
            _ => continue,
        };
        if !fired.is_empty() {
            delay = Some((ms, fired));
            break;
        }
    }
    let (ms, fired) = delay.unwrap();
    assert_eq!(fired, "1");
    assert_eq!(scene.runs().await, "1:running");
    let other = Scene::with(policy).await;
    if ms > 250 {
        assert_eq!(other.fires(MINUTE + ms - 250).await, "");
    }
    assert_eq!(other.fires(MINUTE + ms).await, "1");
}

#[tokio::test]
async fn a_backfill_begins_every_time_of_a_range_once() {
    let scene = Scene::with(SchedulePolicy::default()).await;
    assert_eq!(scene.fires(3 * MINUTE).await, "3");
    assert_eq!(scene.fills(1, 4).await, "1 2 3= 4");
    assert_eq!(scene.fills(1, 4).await, "1= 2= 3= 4=");
    assert_eq!(
        scene.runs().await,
        "1:running 2:running 3:running 4:running"
    );
    // The schedule itself goes on where it was.
    assert_eq!(scene.fires(4 * MINUTE).await, "4=");
    assert_eq!(scene.fires(5 * MINUTE).await, "5");
    drop(scene.folder);
}
