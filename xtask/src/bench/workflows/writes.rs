//! Counts what a step leaves in the database: the floor must write the rows that our engine writes.
//!
//! Rows and bytes are counted afterwards, outside of the timed part: a file with triggers that no migration
//! made is refused. How often a row was written is not seen, only its last state. The rows of runs and foreach
//! steps are not compared: there are a few in each run. Nor is the chain: how many of its events share a row
//! depends on what else waits.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::drawloom::{Drawloom, Ours, Way};
use super::floor::{Floor, Grouping};
use super::place::{Database, Ground};
use super::program::as_f64;
use super::project::Project;
use super::shape::{Job, Shape};

/// Few enough to be quick, and enough that what is written once does not count.
const JOBS: [(Job, Grouping); 3] = [
    (job(Shape::Chain, 16), Grouping::Grouped),
    (job(Shape::FanOut, 1_000), Grouping::Grouped),
    (job(Shape::Loop, 100), Grouping::Ungrouped),
];
const KINDS: [&str; 5] = ["tasks", "events", "items", "runs", "groups"];
const COMPARED: usize = 3;
/// Limits the deviation of the floor before it has to be corrected.
const DEVIATION_MAX: f64 = 0.05;

const fn job(shape: Shape, count: usize) -> Job {
    Job { shape, count }
}

/// Prints rows and bytes of a step by kind, ours above the floor's.
pub(super) fn compare(drawloom: &Drawloom, floor: &Path, ground: &Ground) -> Result<()> {
    print!("\n{:<34}", "rows kept of a step (bytes)");
    for kind in KINDS {
        print!("{kind:>14}");
    }
    println!();
    for (job, grouping) in JOBS {
        let ours = Ours {
            drawloom,
            way: Way::Sqlite,
        };
        let found = kept(drawloom, floor, ground, |project| {
            ours.run(job, project).map(drop)
        })?;
        print(&format!("drawloom, {}", job.name()), &found, job);
        let bare = Floor {
            program: floor.to_owned(),
            drawloom,
            database: Database::Sqlite,
            grouping,
        };
        let written = kept(drawloom, floor, ground, |project| {
            bare.run(job, project).map(drop)
        })?;
        print("  the floor", &written, job);
        if job.shape == Shape::Chain {
            continue;
        }
        for (kind, (ours, floor)) in KINDS.iter().zip(found.iter().zip(&written)).take(COMPARED) {
            if differs(ours.bytes, floor.bytes) || differs(ours.rows, floor.rows) {
                println!("  WARNING: the floor leaves other {kind}: mend its rows");
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct KeptRows {
    rows: f64,
    bytes: f64,
}

fn differs(one: f64, other: f64) -> bool {
    (one - other).abs() > DEVIATION_MAX * one.max(other)
}

fn print(name: &str, written: &[KeptRows], job: Job) {
    print!("  {name:<32}");
    let steps = as_f64(job.steps());
    for KeptRows { rows, bytes } in written {
        let cell = format!("{:.2} ({:.0})", rows / steps, bytes / steps);
        print!("{cell:>14}");
    }
    println!();
}

fn kept(
    drawloom: &Drawloom,
    floor: &Path,
    ground: &Ground,
    work: impl FnOnce(&Project<'_>) -> Result<()>,
) -> Result<Vec<KeptRows>> {
    let project = drawloom.project(&ground.place()?, Database::Sqlite)?;
    let url = project.database();
    work(&project)?;
    let found = ask(floor, "kept", &url)?;
    let figure = |kind: &str, name: &str| {
        let figure = found[kind][name].as_f64();
        figure.with_context(|| format!("the floor counted no {name} of {kind}"))
    };
    let kept = KINDS.iter().map(|kind| {
        Ok(KeptRows {
            rows: figure(kind, "rows")?,
            bytes: figure(kind, "bytes")?,
        })
    });
    kept.collect()
}

fn ask(floor: &Path, word: &str, url: &str) -> Result<Value> {
    let output = Command::new(floor).args([word, url]).output()?;
    ensure!(
        output.status.success(),
        "the floor cannot {word}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}
