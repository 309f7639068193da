//! The goals of Drawloom's engine beside the others, and the verdict.

use std::process::ExitCode;

use super::super::goals::{self, Goal};
use super::alone::Alone;
use super::drawloom::Way;
use super::floor::{Floor, Grouping};
use super::options::Sides;
use super::peers::Engine;
use super::place::Database;
use super::shape::{Job, Jobs};
use super::table::Table;

const CHAIN_TIMES_RESTATE_MIN: f64 = 3.0;
const FAN_OUT_TIMES_RESTATE_MIN: f64 = 10.0;
const FAN_OUT_OF_FLOOR_MIN: f64 = 0.5;
const LOOP_OF_FLOOR_MIN: f64 = 0.8;
/// An item among ten thousand may cost so many times one among a thousand: flat, but for the noise.
const GROWTH_PER_ITEM_MAX: f64 = 1.15;
const POSTGRES_OF_SQLITE_MIN: f64 = 0.5;
const IDLE_MEGABYTES_MAX: f64 = 30.0;
const IDLE_CPU_PERCENT_MAX: f64 = 1.0;
const COLD_START_MS_MAX: f64 = 100.0;

pub(super) fn judge(table: &Table, jobs: Jobs, alone: &[Alone], sides: Sides) -> ExitCode {
    let mut goals = match sides {
        Sides::All => beside_restate(table, jobs),
        Sides::Ours => Vec::new(),
    };
    goals.extend(above_floor(table, jobs));
    goals.extend(beside_itself(table, jobs));
    goals.extend(alone.iter().flat_map(by_itself));
    goals::judge(&goals)
}

fn by_itself(alone: &Alone) -> [Goal; 3] {
    let name = alone.database.name();
    [
        Goal::at_most(
            format!("MB of an idle worker, {name}"),
            alone.idle_megabytes,
            IDLE_MEGABYTES_MAX,
        ),
        Goal::at_most(
            format!("% of a core an idle worker takes, {name}"),
            alone.idle_cpu_percent,
            IDLE_CPU_PERCENT_MAX,
        ),
        Goal::at_most(
            format!("ms from cold start to the first claimed task, {name}"),
            alone.cold_start_ms,
            COLD_START_MS_MAX,
        ),
    ]
}

/// Beside Restate's plain form of a job, which is the one that the goals were set by. Where it does not
/// come to the end of many items, its speed with few counts.
fn beside_restate(table: &Table, jobs: Jobs) -> Vec<Goal> {
    let (ours, restate) = (Way::Sqlite.name(), Engine::Restate.name());
    let goal = |job: Job, restate: f64, times_min| {
        let beside = table.speed(&ours, job) / restate;
        Goal::at_least(format!("{}, times Restate", job.name()), beside, times_min)
    };
    let [chain, few, many] =
        [jobs.chain, jobs.few, jobs.many].map(|job| table.speed(&restate, job));
    vec![
        goal(jobs.chain, chain, CHAIN_TIMES_RESTATE_MIN),
        goal(jobs.few, few, FAN_OUT_TIMES_RESTATE_MIN),
        goal(jobs.many, few.max(many), FAN_OUT_TIMES_RESTATE_MIN),
    ]
}

fn above_floor(table: &Table, jobs: Jobs) -> Vec<Goal> {
    let ours = Way::Sqlite.name();
    let goal = |job: Job, grouping: Grouping, part_min| {
        let floor = Floor::title(Database::Sqlite, grouping);
        let beside = table.speed(&ours, job) / table.speed(&floor, job);
        Goal::at_least(format!("{}, of the {floor}", job.name()), beside, part_min)
    };
    vec![
        goal(jobs.few, Grouping::Grouped, FAN_OUT_OF_FLOOR_MIN),
        goal(jobs.many, Grouping::Grouped, FAN_OUT_OF_FLOOR_MIN),
        goal(jobs.round, Grouping::Ungrouped, LOOP_OF_FLOOR_MIN),
    ]
}

fn beside_itself(table: &Table, jobs: Jobs) -> Vec<Goal> {
    let (sqlite, postgres) = (Way::Sqlite.name(), Way::SCALED_OUT.name());
    let (few, many) = (jobs.few, jobs.many);
    let growth = |what: &str, growth: f64| {
        let title = format!("{what} of an item, {} beside {}", many.name(), few.name());
        Goal::at_most(title, growth, GROWTH_PER_ITEM_MAX)
    };
    let mut goals = vec![
        growth(
            "time",
            table.speed(&sqlite, few) / table.speed(&sqlite, many),
        ),
        growth("CPU", table.cpu(&sqlite, many) / table.cpu(&sqlite, few)),
    ];
    for job in jobs.all() {
        goals.push(Goal::at_least(
            format!("{}, PostgreSQL with four workers of SQLite", job.name()),
            table.speed(&postgres, job) / table.speed(&sqlite, job),
            POSTGRES_OF_SQLITE_MIN,
        ));
    }
    goals
}
