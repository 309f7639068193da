//! One run of a peer's or the floor's program: its one line of figures, or that it took too long.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::super::measure;
use super::shape::Job;

/// Some engines need minutes for ten thousand items; that they need longer than this is all there is to say.
const SECONDS_MAX: u64 = 90;
const PAUSE: Duration = Duration::from_millis(20);

/// Steps per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Speed {
    Measured(f64),
    /// It was stopped; it is slower than this.
    Below(f64),
}

impl Speed {
    pub(super) fn of(job: Job, took: Duration) -> Self {
        Self::Measured(as_f64(job.steps()) / took.as_secs_f64())
    }

    pub(super) fn per_second(self) -> f64 {
        match self {
            Self::Measured(speed) | Self::Below(speed) => speed,
        }
    }
}

/// The cost of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    pub(super) speed: Speed,
    /// User and system time of all its processes but the database's server, where it is known.
    pub(super) cpu: Option<Duration>,
}

/// Runs the program, which prints `{"steps", "done", "seconds"}` as its last line.
pub(super) fn run(command: &mut Command, job: Job, folder: &Path) -> Result<Figures> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (output, log) = (folder.join("output.txt"), folder.join("log.txt"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&output)?)
        .stderr(std::fs::File::create(&log)?)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > Duration::from_secs(SECONDS_MAX) {
            child.kill()?;
            child.wait()?;
            let limit = Duration::from_secs(SECONDS_MAX);
            return Ok(Figures {
                speed: Speed::Below(Speed::of(job, limit).per_second()),
                cpu: None,
            });
        }
        std::thread::sleep(PAUSE);
    };
    if !status.success() {
        bail!("{program} failed ({status}):\n{}", measure::tail(&log)?);
    }
    read(&std::fs::read_to_string(&output)?, job)
        .with_context(|| format!("{program} did not do {}", job.name()))
}

/// A program that lost a result has done another job, and is not measured.
fn read(output: &str, job: Job) -> Result<Figures> {
    let line = output.lines().last().context("it printed nothing")?;
    let figures: Value = serde_json::from_str(line).context("its last line is not JSON")?;
    let expected = u64::try_from(job.steps())?;
    for name in ["steps", "done"] {
        ensure!(
            figures[name].as_u64() == Some(expected),
            "`{name}` is {} where {expected} was asked for",
            figures[name]
        );
    }
    let seconds = figures["seconds"]
        .as_f64()
        .context("it named no `seconds`")?;
    let cpu = figures["cpu_seconds"].as_f64();
    Ok(Figures {
        speed: Speed::of(job, Duration::from_secs_f64(seconds)),
        cpu: cpu.map(Duration::from_secs_f64),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(super) fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::super::shape::Jobs;
    use super::*;

    #[test]
    fn figures_are_taken_only_from_a_program_that_did_the_job() {
        let cases = [
            (
                "noise\n{\"steps\":2000,\"done\":2000,\"seconds\":4.0}\n",
                Some(500.0),
            ),
            ("{\"steps\":2000,\"done\":1999,\"seconds\":4.0}", None),
            ("{\"steps\":20,\"done\":20,\"seconds\":4.0}", None),
            ("{\"steps\":2000,\"done\":2000}", None),
            ("not JSON", None),
            ("", None),
        ];
        for (output, expected) in cases {
            let found = read(output, Jobs::FULL.chain).ok();
            let found = found.map(|figures| figures.speed.per_second());
            assert_eq!(found, expected, "{output}");
        }
    }
}
