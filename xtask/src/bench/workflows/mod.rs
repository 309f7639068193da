//! `cargo xtask bench workflows`: our engine beside Restate, LangGraph and DBOS, and the floor below all.
//!
//! Three shapes of workflow, with steps that do nothing but return a small JSON, every one of them on the
//! disk before it counts: a chain, a fan-out with a join, a loop. The contenders take turns, round after
//! round, each in a fresh folder or database on the same disk. The peers time themselves without their
//! start-up; ours is timed from outside with it.

mod alone;
mod disk;
mod drawloom;
mod floor;
mod goals;
mod options;
mod peers;
mod place;
mod postgres;
mod program;
mod shape;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use super::scratch::Scratch;
use drawloom::Drawloom;
use floor::{Floor, Grouping};
use options::{Options, Sides};
use peers::{Engine, Peer, Peers};
use place::{Contender, Database, Ground};
use program::Speed;
use shape::{Job, Jobs};
use table::{Row, Table};

pub(crate) use options::Extent;

pub(crate) fn run(root: &Path, extent: Extent) -> Result<ExitCode> {
    let options = Options::read(extent)?;
    let scratch = Scratch::open(root)?;
    let jobs = match options.extent {
        Extent::Full => Jobs::FULL,
        Extent::Quick => Jobs::QUICK,
    };
    let floor = build(&scratch, options.extent, &FLOOR, "floor")?;
    let drawloom = match &options.drawloom {
        Some(program) => program.clone(),
        None => build(&scratch, options.extent, &DRAWLOOM, "drawloom")?,
    };
    let drawloom = Drawloom::new(drawloom, root);
    let stage = disk::stage(&scratch)?;
    let ground = Ground::new(stage.path())?;
    let peers = match options.sides {
        Sides::All => Some(Peers::open(root, &scratch, stage.path())?),
        Sides::Ours => None,
    };
    let absent = drawloom.absent()?;
    let mut contenders: Vec<Box<dyn Contender + '_>> = Vec::new();
    if absent.is_none() {
        contenders.extend(drawloom.contenders());
    }
    if let Some(peers) = &peers {
        let peer = |engine| Box::new(Peer { engine, peers }) as Box<dyn Contender>;
        contenders.extend(Engine::ALL.map(peer));
    }
    contenders.extend(floors(&floor));
    let table = Table::new(&jobs.all(), measure(&contenders, &jobs.all(), &ground)?);
    table.print(drawloom::SQLITE);
    if let Some(reason) = absent {
        println!("\nDrawloom's side was not measured, and no goal was judged: {reason}");
        return Ok(ExitCode::FAILURE);
    }
    let alone = alone::measure(&drawloom, &ground)?;
    let verdict = goals::judge(&table, jobs, &alone, options.sides);
    if options.extent == Extent::Quick {
        println!("\nof development builds and of little work: these verdicts are no measurement");
    }
    let failures = table.failures();
    if failures > 0 {
        println!("\n{failures} measurement(s) failed, see above");
        return Ok(ExitCode::FAILURE);
    }
    Ok(verdict)
}

const FLOOR: [&str; 6] = [
    "--package",
    "xtask",
    "--bin",
    "floor",
    "--features",
    "floor",
];
const DRAWLOOM: [&str; 2] = ["--package", "cli"];

fn build(scratch: &Scratch, extent: Extent, arguments: &[&str], binary: &str) -> Result<PathBuf> {
    if extent == Extent::Full {
        return scratch.build(arguments, binary);
    }
    println!("building {binary} (development)");
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--locked"])
        .args(arguments)
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "cargo failed ({status}); mend the build first"
    );
    Ok(scratch.target.join("debug").join(binary))
}

fn floors(program: &Path) -> Vec<Box<dyn Contender>> {
    let mut floors: Vec<Box<dyn Contender>> = Vec::new();
    for database in Database::ALL {
        for grouping in Grouping::ALL {
            floors.push(Box::new(Floor {
                program: program.to_owned(),
                database,
                grouping,
            }));
        }
    }
    floors
}

/// What one contender did in all rounds.
#[derive(Default)]
struct Found {
    speeds: Vec<(Job, Speed)>,
    failures: usize,
}

fn measure(
    contenders: &[Box<dyn Contender + '_>],
    jobs: &[Job],
    ground: &Ground,
) -> Result<Vec<Row>> {
    let rounds = jobs.iter().map(|job| job.rounds).max().unwrap_or_default();
    let mut found: Vec<Found> = contenders.iter().map(|_| Found::default()).collect();
    for round in 0..rounds {
        println!("round {} of {rounds}; {}", round + 1, ground.disk()?);
        for (contender, found) in contenders.iter().zip(&mut found) {
            println!("  {}", contender.name().trim());
            for job in jobs.iter().filter(|job| round < job.rounds) {
                match contender.measure(*job, &ground.place()?) {
                    Ok(speed) => found.speeds.extend(speed.map(|speed| (*job, speed))),
                    // The others are worth knowing all the same; a goal without a figure is missed.
                    Err(problem) => {
                        println!("    FAILED {}: {problem:#}", job.name());
                        found.failures += 1;
                    }
                }
            }
        }
    }
    let rows = contenders.iter().zip(found).map(|(contender, found)| Row {
        name: contender.name(),
        speeds: jobs
            .iter()
            .filter_map(|job| Some((*job, median(*job, &found.speeds)?)))
            .collect(),
        failures: found.failures,
    });
    Ok(rows.collect())
}

fn median(job: Job, found: &[(Job, Speed)]) -> Option<Speed> {
    let mut speeds: Vec<Speed> = found
        .iter()
        .filter(|(measured, _)| *measured == job)
        .map(|(_, speed)| *speed)
        .collect();
    speeds.sort_by(|one, other| one.per_second().total_cmp(&other.per_second()));
    speeds.get(speeds.len() / 2).copied()
}
