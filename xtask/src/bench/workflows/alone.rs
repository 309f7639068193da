//! A worker by itself: what it takes when there is nothing to do, and how soon it begins.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::drawloom::Drawloom;
use super::place::{Database, Ground};
use super::project::{Project, now_ms};
use super::shape::{CONCURRENCY, Job, Shape};

/// The cost of starting up is not idleness: the measurement begins after this.
const SETTLING: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_secs(20);
/// The kernel counts a process's time in these, on every Linux that is in use.
const TICKS_PER_SECOND: f64 = 100.0;

const COLD_STARTS: usize = 5;
const CLAIM_MAX: Duration = Duration::from_secs(10);
/// Looking takes a process, which the one that starts is not to compete with.
const PAUSE: Duration = Duration::from_millis(400);

/// A worker on one database.
pub(super) struct Alone {
    pub(super) database: Database,
    pub(super) idle_megabytes: f64,
    pub(super) idle_cpu_percent: f64,
    /// From before the program is executed to the time of the claim in the database.
    pub(super) cold_start_ms: f64,
}

pub(super) fn measure(drawloom: &Drawloom, ground: &Ground) -> Result<Vec<Alone>> {
    println!(
        "\na worker with nothing to do for {} s, and one that starts",
        IDLE.as_secs()
    );
    let alone = Database::ALL.map(|database| measure_on(database, drawloom, ground));
    alone.into_iter().collect()
}

fn measure_on(database: Database, drawloom: &Drawloom, ground: &Ground) -> Result<Alone> {
    let project = drawloom.project(&ground.place()?, database)?;
    let (idle_megabytes, idle_cpu_percent) = idle(&project)?;
    let mut starts = Vec::new();
    for _ in 0..COLD_STARTS {
        let project = drawloom.project(&ground.place()?, database)?;
        starts.push(cold_start(&project)?);
    }
    starts.sort_by(f64::total_cmp);
    Ok(Alone {
        database,
        idle_megabytes,
        idle_cpu_percent,
        cold_start_ms: starts.get(COLD_STARTS / 2).copied().unwrap_or(f64::NAN),
    })
}

fn idle(project: &Project<'_>) -> Result<(f64, f64)> {
    let worker = project.worker(CONCURRENCY, "idle.txt")?;
    let id = worker.id().context("the worker is there")?;
    std::thread::sleep(SETTLING);
    let (before, began) = (cpu_seconds(id)?, Instant::now());
    std::thread::sleep(IDLE);
    let used = cpu_seconds(id)? - before;
    let percent = used / began.elapsed().as_secs_f64() * 100.0;
    Ok((resident_megabytes(id)?, percent))
}

/// Milliseconds from starting a worker to the claim recorded in the database.
fn cold_start(project: &Project<'_>) -> Result<f64> {
    project.start_one(Job {
        shape: Shape::Loop,
        count: 1,
    })?;
    let (clock, began) = (now_ms()?, Instant::now());
    let _worker = project.worker(CONCURRENCY, "cold.txt")?;
    loop {
        std::thread::sleep(PAUSE);
        if let Some(claimed) = project.first_claim_ms()? {
            let took = Duration::from_millis(claimed.saturating_sub(clock));
            return Ok(took.as_secs_f64() * 1_000.0);
        }
        ensure!(
            began.elapsed() < CLAIM_MAX,
            "the worker claimed nothing within {} s",
            CLAIM_MAX.as_secs()
        );
    }
}

/// User and system time of all its threads, the 14th and 15th field of `stat`.
fn cpu_seconds(id: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))
        .context("the worker has ended; it was to wait for work")?;
    // The second field is the program's name in brackets, which may contain any character.
    let (_, fields) = stat.rsplit_once(')').context("a stat names its program")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |place: usize| -> Result<f64> {
        let field = fields.get(place).context("a stat has more fields")?;
        Ok(field.parse()?)
    };
    Ok((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

fn resident_megabytes(id: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("a status names the memory")?;
    let kibibytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kibibytes * 1_024.0 / 1e6)
}
