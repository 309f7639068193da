//! `cargo xtask bench agent`: what a turn of the loop takes with a conversation of one megabyte.
//!
//! The model is a local server that answers at once, and the tool does nothing; everything else is
//! counted: the request written and sent, the answer read, the call made, the turn kept in the database.
//! How long a disk takes to flush is its own affair, so the goal holds where flushing is free; the same
//! turns on the disk, and what of both is the journal's, are printed beside it. Of several rounds the
//! quietest is judged, as other work on the machine only adds; all of them are printed.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

use super::goals::{self, Goal};
use super::scratch::Scratch;

const TURN_MS_MAX: f64 = 2.0;

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
        .arg(scratch.stage()?.path())
        .arg(scratch.fresh("turns")?)
        .output()
        .context("cannot run the benchmark")?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let formats: Map<String, Value> = serde_json::from_slice(&output.stdout)?;
    println!("\nMedians of a turn in ms, with a conversation of 1 MB");
    for (format, figures) in &formats {
        println!("  {format}");
        for (name, figure) in figures.as_object().into_iter().flatten() {
            println!("    {name:<20} {figure}");
        }
    }
    let goals = formats.iter().map(|(format, figures)| {
        let turn_ms = figures["turn_ms"].as_f64().unwrap_or(f64::NAN);
        Goal::at_most(
            format!("ms per turn with a conversation of 1 MB, {format}"),
            turn_ms,
            TURN_MS_MAX,
        )
    });
    Ok(goals::judge(&goals.collect::<Vec<_>>()))
}
