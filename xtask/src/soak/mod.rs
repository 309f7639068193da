//! `cargo xtask soak`: what `./test` tries for seconds, for as long as one has time.
//!
//! The tests are the same: simulations with fresh seeds, and storms over workers on both engines. What
//! they say about themselves is added up, and what fails is told with the command that repeats it.

mod programs;
mod tally;

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use programs::{Program, Test};
use tally::Tally;

const MINUTES_DEFAULT: u64 = 30;
const MINUTES_MAX: u64 = 24 * 60;

/// The number of simulations that one process runs; then the next begins with fresh seeds.
const SEEDS_EACH: u64 = 500;

/// One of the things that are tried for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Simulation,
    Sqlite,
    Postgres,
    Races,
}

impl Part {
    const ALL: [Part; 4] = [Part::Simulation, Part::Sqlite, Part::Postgres, Part::Races];

    fn name(self) -> &'static str {
        match self {
            Part::Simulation => "simulation",
            Part::Sqlite => "sqlite",
            Part::Postgres => "postgres",
            Part::Races => "races",
        }
    }

    fn test(self) -> Test {
        match self {
            Part::Simulation => Test {
                package: "flow",
                program: "simulation",
                name: "as_many_seeds_as_are_asked_for",
                seed: "FLOW_SEED",
                again: "one_seed",
            },
            Part::Sqlite => Test {
                package: "cli",
                program: "workflows",
                name: "killing::three_workers_are_killed_and_nothing_is_lost_or_done_twice",
                seed: "DRAWLOOM_SOAK_SEED",
                again: "three_workers_are_killed",
            },
            Part::Postgres => Test {
                package: "cli",
                program: "postgres",
                name: "storms::four_workers_and_their_server_are_killed_and_nothing_is_lost_or_done_twice",
                seed: "DRAWLOOM_SOAK_SEED",
                again: "four_workers_and_their_server",
            },
            Part::Races => Test {
                package: "exec",
                program: "sandbox",
                name: "races::exchanged_names_lead_nowhere",
                seed: "DRAWLOOM_SOAK_SEED",
                again: "exchanged_names_lead_nowhere",
            },
        }
    }
}

/// The duration and the parts of a soak.
pub(crate) struct Wish {
    minutes: u64,
    parts: Vec<Part>,
}

impl Wish {
    /// The minutes and one part, each of which may be left out.
    pub(crate) fn read(words: &[&str]) -> Result<Wish> {
        let mut wish = Wish {
            minutes: MINUTES_DEFAULT,
            parts: Part::ALL.to_vec(),
        };
        for word in words {
            if let Some(part) = Part::ALL.into_iter().find(|part| part.name() == *word) {
                wish.parts = vec![part];
                continue;
            }
            match word.parse() {
                Ok(minutes @ 1..=MINUTES_MAX) => wish.minutes = minutes,
                _ => bail!(
                    "`{word}` is neither a number of minutes (1 to {MINUTES_MAX}) nor one of \
                     simulation, sqlite, postgres and races"
                ),
            }
        }
        Ok(wish)
    }
}

pub(crate) fn run(wish: &Wish) -> Result<ExitCode> {
    let mut programs = Vec::new();
    for part in &wish.parts {
        programs.push((*part, Program::build(part.test())?));
    }
    let share = Duration::from_secs(wish.minutes * 60) / u32::try_from(programs.len())?;
    let mut violations = 0;
    let mut lines = Vec::new();
    for (part, program) in &programs {
        println!("{}: for {} s", part.name(), share.as_secs());
        let tally = soak(*part, program, share)?;
        violations += tally.violations();
        lines.push(format!("{:<11} {tally}", part.name()));
    }
    println!("\n{}", lines.join("\n"));
    Ok(match violations {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Tries again and again until the time is up; a failure does not end it.
fn soak(part: Part, program: &Program, share: Duration) -> Result<Tally> {
    let mut tally = Tally::default();
    let begun = std::time::Instant::now();
    loop {
        let left = share.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Ok(tally);
        }
        let seed = fresh_seed()?;
        let more = match part {
            Part::Simulation => ("FLOW_SEEDS", SEEDS_EACH),
            Part::Sqlite | Part::Postgres | Part::Races => {
                ("DRAWLOOM_SOAK_SECONDS", left.as_secs())
            }
        };
        let tried = program.run(seed, more)?;
        match part {
            Part::Simulation if tried.has_passed => tally.add("seeds", SEEDS_EACH),
            _ => tally.read(&tried.said),
        }
        if !tried.has_passed {
            tally.add("violations", 1);
            println!("{}", program.failure(seed, &tried.said));
        }
    }
}

/// Other seeds than last time, and few enough digits to be typed.
fn fresh_seed() -> Result<u64> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .context("the clock is set before 1970")?;
    Ok(u64::try_from(now.as_millis() % 10_000_000_000)? * 1_000)
}
