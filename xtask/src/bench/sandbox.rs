//! `cargo xtask bench sandbox`: a command that does nothing, with and without a sandbox.
//!
//! What is measured is what a user waits for: from asking for the run to having its outcome, in wall
//! time. The kinds of sandbox take turns with the bare command, run by run, so that whatever else the
//! machine does meets all of them. A busy machine only ever adds time, and adds more to whoever starts
//! more processes; so the fast tenth of the runs is compared, and the median is shown beside it.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use exec::sandbox::{Requirement, Sandbox, probed};
use exec::{Invocation, run as run_command};

use super::goals::{self, Goal};

const ROUNDS: usize = 60;
/// How much longer a sandboxed command may take, in milliseconds.
const DIFFERENCE_MS_MAX: f64 = 10.0;

pub(crate) fn run() -> Result<ExitCode> {
    println!("{}\n", probed().explain(Requirement::Auto));
    let dir = tempfile::tempdir()?;
    let ways = ways(dir.path())?;
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(time(&way.invocation)?);
        }
    }
    times.iter_mut().for_each(|times| times.sort_unstable());
    let fast: Vec<f64> = times
        .iter()
        .map(|times| at_ms(times, ROUNDS / 10))
        .collect();
    let bare = *fast.first().context("nothing was measured")?;
    println!("{ROUNDS} runs each, wall time: the fast tenth, the difference, the median");
    for ((way, fast), times) in ways.iter().zip(&fast).zip(&times) {
        println!(
            "  {:<12} {fast:>8.2} ms  {:>+8.2} ms  {:>8.2} ms",
            way.name,
            fast - bare,
            at_ms(times, ROUNDS / 2)
        );
    }
    let goals: Vec<Goal> = ways
        .iter()
        .zip(&fast)
        .skip(1)
        .map(|(way, fast)| {
            let what = format!("milliseconds {} adds to a command", way.name);
            Goal::at_most(what, fast - bare, DIFFERENCE_MS_MAX)
        })
        .collect();
    Ok(goals::judge(&goals))
}

/// One way of running the command.
struct Way {
    name: &'static str,
    invocation: Invocation,
}

/// The bare command first, then every kind of sandbox that holds here.
fn ways(dir: &Path) -> Result<Vec<Way>> {
    let workspace = dir.join("workspace");
    for inner in [".git", "src", "secrets"] {
        std::fs::create_dir_all(workspace.join(inner))?;
    }
    std::fs::write(workspace.join(".env"), "KEY=value\n")?;
    let command = || Invocation::new("/bin/true").cwd(&workspace);
    let caged = |requirement| {
        let sandbox = Sandbox::new(&workspace)
            .hide(".env")
            .hide("secrets")
            .requirement(requirement);
        command().sandbox(sandbox)
    };
    let mut ways = vec![Way {
        name: "no sandbox",
        invocation: command(),
    }];
    let probe = probed();
    if probe.bubblewrap.is_held() {
        ways.push(Way {
            name: "bubblewrap",
            invocation: caged(Requirement::Bubblewrap),
        });
    }
    if probe.landlock.is_held() {
        ways.push(Way {
            name: "landlock",
            invocation: caged(Requirement::Landlock),
        });
    }
    ensure!(ways.len() > 1, "no kind of sandbox works here");
    Ok(ways)
}

fn time(invocation: &Invocation) -> Result<Duration> {
    let started = Instant::now();
    let outcome = run_command(invocation)?;
    let took = started.elapsed();
    ensure!(outcome.is_success(), "the command failed: {outcome:?}");
    Ok(took)
}

fn at_ms(sorted: &[Duration], place: usize) -> f64 {
    let time = sorted.get(place).copied().unwrap_or_default();
    time.as_secs_f64() * 1_000.0
}
