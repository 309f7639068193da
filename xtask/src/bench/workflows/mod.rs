//! `cargo xtask bench workflows`: our engine beside Restate, LangGraph and DBOS, and the floor
//! below all.
//!
//! Three shapes of workflow, with steps that do nothing but return a small JSON, every one of them
//! on the disk before it counts: a chain, a fan-out with a join, a loop. Every contender's time
//! includes starting the runs, and none includes creating tables. The contenders take turns, round
//! after round, each in a fresh folder or database on the same disk, and the median counts. Start
//! and end of processes are left out for all: the peers and the floor time themselves, our runs say
//! when they were started and ended.

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
mod project;
mod quiet;
mod shape;
mod table;
mod writes;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use super::scratch::Scratch;
use drawloom::{Drawloom, Ours, Way};
use floor::{Floor, Grouping};
use options::{Extent, Options, Sides};
use peers::{Engine, Peer, Peers};
use place::{Contender, Database, Ground};
use program::{Figures, Speed};
use shape::Jobs;
use table::{Row, Table};

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<ExitCode> {
    let options = Options::parse(words)?;
    quiet::warn();
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
    println!("{}\n{}", drawloom.version()?, ground.postgres_version()?);
    let mut contenders: Vec<Box<dyn Contender + '_>> = Vec::new();
    for way in Way::ALL {
        let drawloom = &drawloom;
        contenders.push(Box::new(Ours { drawloom, way }));
    }
    if let Some(peers) = &peers {
        println!("{}", peers.versions()?.join("\n"));
        let peer = |engine| Box::new(Peer { engine, peers }) as Box<dyn Contender>;
        contenders.extend(Engine::ALL.map(peer));
    }
    contenders.extend(floors(&floor, &drawloom));
    writes::compare(&drawloom, &floor, &ground)?;
    let table = Table::new(&jobs.all(), measure(&contenders, jobs, &ground)?);
    table.print(&Way::Sqlite.name());
    if options.sides == Sides::All {
        println!("\n{}", peers::CHOSEN);
    }
    let alone = alone::measure(&drawloom, &ground)?;
    let verdict = goals::judge(&table, jobs, &alone, options.sides);
    let failures = table.failures();
    if failures > 0 {
        println!("\n{failures} measurement(s) failed, see above");
        return Ok(ExitCode::FAILURE);
    }
    if options.extent == Extent::Quick {
        println!("\nof development builds and of little work: these verdicts are no measurement");
        return Ok(ExitCode::SUCCESS);
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
    // With the features of the whole workspace: what its tests have compiled is not compiled again.
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--locked", "--workspace"])
        .args(["--bin", binary, "--features", "xtask/floor"])
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "cargo failed ({status}); mend the build first"
    );
    Ok(scratch.target.join("debug").join(binary))
}

fn floors<'a>(program: &Path, drawloom: &'a Drawloom) -> Vec<Box<dyn Contender + 'a>> {
    let mut floors: Vec<Box<dyn Contender + 'a>> = Vec::new();
    for database in Database::ALL {
        for grouping in Grouping::ALL {
            floors.push(Box::new(Floor {
                program: program.to_owned(),
                drawloom,
                database,
                grouping,
            }));
        }
    }
    floors
}

/// The results of one contender at one job, in all rounds.
#[derive(Default)]
struct Found {
    figures: Vec<Figures>,
    failures: usize,
}

impl Found {
    /// Tells whether a round was stopped: a second round would only be stopped again.
    fn was_stopped(&self) -> bool {
        let mut speeds = self.figures.iter().map(|figures| figures.speed);
        speeds.any(|speed| matches!(speed, Speed::Below(_)))
    }
}

fn measure(
    contenders: &[Box<dyn Contender + '_>],
    jobs: Jobs,
    ground: &Ground,
) -> Result<Vec<Row>> {
    let all = jobs.all();
    let nothing = || all.map(|_| Found::default());
    let mut found: Vec<[Found; 4]> = contenders.iter().map(|_| nothing()).collect();
    println!();
    for round in 1..=jobs.rounds {
        println!("round {round} of {}; {}", jobs.rounds, ground.disk()?);
        for (contender, found) in contenders.iter().zip(&mut found) {
            println!("  {}", contender.name().trim());
            for (job, found) in all.iter().zip(found) {
                if found.was_stopped() {
                    continue;
                }
                match contender.measure(*job, &ground.place()?) {
                    Ok(figures) => found.figures.extend(figures),
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
        failures: found.iter().map(|found| found.failures).sum(),
        figures: all
            .iter()
            .zip(&found)
            .filter_map(|(job, found)| Some((*job, table::median(&found.figures)?)))
            .collect(),
    });
    Ok(rows.collect())
}
