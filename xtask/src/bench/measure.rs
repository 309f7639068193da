//! The cost of a child process: its CPU time and its peak memory, as the kernel counted them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use wait4::Wait4;

const LOG_LINES_SHOWN: usize = 12;

#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) cpu: Duration,
    pub(crate) peak_bytes: u64,
}

/// Runs the command to its end; what it prints goes to `log` and is shown only if it fails.
///
/// The kernel never counts a child's peak below that of the process that forked it, so this one must
/// stay small: it reads no large files and keeps no output.
pub(crate) fn run(command: &mut Command, log: &Path) -> Result<Cost> {
    run_accepting(command, log, &[0])
}

/// As [`run`], for programs that have an answer beside success.
pub(crate) fn run_accepting(command: &mut Command, log: &Path, codes: &[i32]) -> Result<Cost> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = std::fs::File::create(log)?;
    let child = command
        .stdin(std::process::Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let used = child.wait4()?;
    if !used.status.code().is_some_and(|code| codes.contains(&code)) {
        bail!("{program} failed ({}):\n{}", used.status, tail(log)?);
    }
    Ok(Cost {
        cpu: used.rusage.utime + used.rusage.stime,
        peak_bytes: used.rusage.maxrss,
    })
}

/// The median of each figure on its own.
pub(crate) fn median(costs: &[Cost]) -> Cost {
    Cost {
        cpu: middle(costs.iter().map(|cost| cost.cpu)),
        peak_bytes: middle(costs.iter().map(|cost| cost.peak_bytes)),
    }
}

fn middle<T: Ord + Copy + Default>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The end of what was logged, to be shown.
pub(crate) fn tail(log: &Path) -> Result<String> {
    let text = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n"))
}
