//! `cargo xtask bench agent`: what the loop itself costs per turn, with a conversation of one megabyte.
//!
//! The model is a local server that answers at once, and the tool does nothing. The same exchange of
//! the same bytes without the loop is measured beside it; what is left is the loop.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::goals::{self, Goal};
use super::scratch::Scratch;

const OVERHEAD_MS_MAX: f64 = 2.0;

pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let scratch = Scratch::open(root)?;
    let arguments = [
        "--package",
        "xtask",
        "--bin",
        "turns",
        "--features",
        "turns",
    ];
    let turns = scratch.build(&arguments, "turns")?;
    let output = Command::new(&turns)
        .output()
        .context("cannot run the benchmark")?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let figures: Value = serde_json::from_slice(&output.stdout)?;
    println!("{figures:#}");
    let figure = |name: &str| {
        figures[name]
            .as_f64()
            .with_context(|| format!("no figure `{name}`"))
    };
    let goals = [Goal::at_most(
        "ms of the loop per turn with a conversation of 1 MB",
        figure("overhead_ms")?,
        OVERHEAD_MS_MAX,
    )];
    Ok(goals::judge(&goals))
}
