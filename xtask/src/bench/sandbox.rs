//! `cargo xtask bench sandbox`: a command that does nothing, with and without a sandbox.
//!
//! It measures the time that a user waits, from the request to the outcome, in wall time. The kinds
//! of sandbox take turns with the bare command, run by run, so that other load on the machine
//! affects all of them alike. A busy machine only ever adds time, and adds more to a command that
//! starts more processes; so the fast tenth of the runs is compared, and the median is shown beside
//! it.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use exec::sandbox::{Sandbox, SandboxRequirement, probed};
use exec::{Invocation, run as run_command};

use super::goals::{self, Goal};

const ROUNDS: usize = 60;
/// The size of the project.
const FOLDERS: usize = 100;
const FILES_EACH: usize = 50;
/// Limits the additional time of a sandboxed command, in milliseconds.
const DIFFERENCE_MS_MAX: f64 = 10.0;

pub(crate) fn run() -> Result<ExitCode> {
    println!("{}\n", probed().explain(SandboxRequirement::Auto));
    // Not among temporary files, of which a sandbox shows its own only.
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
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
    for inner in [".git", "secrets"] {
        std::fs::create_dir_all(workspace.join(inner))?;
    }
    for folder in 0..FOLDERS {
        let folder = workspace.join(format!("src/part{folder}"));
        std::fs::create_dir_all(&folder)?;
        for file in 0..FILES_EACH {
            std::fs::write(folder.join(format!("file{file}.txt")), "text\n")?;
        }
    }
    std::fs::write(workspace.join(".env"), "KEY=value\n")?;
    let command = || Invocation::new("/bin/true").cwd(&workspace);
    let caged = |requirement| {
        let sandbox = Sandbox::new(&workspace)
            .hide(".env")
            .hide("secrets")
            .read_only("src/part7/file7.txt")
            .requirement(requirement);
        command().sandbox(sandbox)
    };
    let mut ways = vec![Way {
        name: "no sandbox",
        invocation: command(),
    }];
    let probe = probed();
    if probe.namespaces.is_held() {
        ways.push(Way {
            name: "namespaces",
            invocation: caged(SandboxRequirement::Namespaces),
        });
    }
    if probe.bubblewrap.is_held() {
        ways.push(Way {
            name: "bubblewrap",
            invocation: caged(SandboxRequirement::Bubblewrap),
        });
    }
    if probe.landlock.is_held() {
        ways.push(Way {
            name: "landlock",
            invocation: caged(SandboxRequirement::Landlock),
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
