//! Our own side: the `drawloom` program as users run it, measured from outside.
//!
//! On SQLite one process starts a run and works until it has ended (`workflow start --wait`), start-up
//! included; the many runs of the chain are started first and then done by one worker. On PostgreSQL four
//! workers do what was started before. Where workers do it, the time is from starting them to the end
//! that the last run has in the database.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::super::measure;
use super::place::{Contender, Database, Place};
use super::program::Speed;
use super::shape::{CHAIN_STEPS, CONCURRENCY, Job, Shape};

pub(super) const SQLITE: &str = "drawloom, SQLite";
pub(super) const POSTGRES: &str = "drawloom, PostgreSQL × 4";
const POSTGRES_WORKERS: usize = 4;

/// The commands that are measured; without one of them there is nothing to measure.
const COMMANDS: [&[&str]; 3] = [&["workflow", "start"], &["worker"], &["runs", "list"]];

/// Items of a fan-out that are under way at a time, as many as its workflow allows. Restate has no
/// such limit; LangGraph and DBOS have eight.
const ITEMS_CONCURRENCY: usize = 256;

/// Runs that have not ended by then never will.
const WAIT_MAX: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Drawloom {
    program: PathBuf,
    /// The workflow files.
    sources: PathBuf,
}

/// One way of doing the jobs.
pub(super) struct Ours<'a> {
    drawloom: &'a Drawloom,
    database: Database,
}

impl Drawloom {
    pub(super) fn new(program: PathBuf, root: &Path) -> Self {
        Self {
            program,
            sources: root.join("benches/workflows"),
        }
    }

    /// Why there is nothing to measure, if so.
    pub(super) fn absent(&self) -> Result<Option<String>> {
        for words in COMMANDS {
            let output = Command::new(&self.program)
                .args(words)
                .arg("--help")
                .output()
                .context("cannot run drawloom")?;
            if !output.status.success() {
                return Ok(Some(format!(
                    "there is no `drawloom {}` yet",
                    words.join(" ")
                )));
            }
        }
        Ok(None)
    }

    pub(super) fn contenders(&self) -> Vec<Box<dyn Contender + '_>> {
        let ours = |database| {
            let drawloom = self;
            Box::new(Ours { drawloom, database }) as Box<dyn Contender>
        };
        Database::ALL.into_iter().map(ours).collect()
    }

    pub(super) fn project(&self, place: &Place<'_>, database: Database) -> Result<Project<'_>> {
        let settings = format!("[workflows]\nconcurrency = {ITEMS_CONCURRENCY}\n");
        std::fs::write(place.folder.join("drawloom.toml"), settings)?;
        let url = match database {
            // The file in the project, as it is by default.
            Database::Sqlite => None,
            Database::Postgres => Some(place.postgres()?),
        };
        Ok(Project {
            drawloom: self,
            folder: place.folder.clone(),
            url,
        })
    }
}

impl Contender for Ours<'_> {
    fn name(&self) -> String {
        match self.database {
            Database::Sqlite => SQLITE.to_owned(),
            Database::Postgres => POSTGRES.to_owned(),
        }
    }

    fn measure(&self, job: Job, place: &Place<'_>) -> Result<Option<Speed>> {
        let project = self.drawloom.project(place, self.database)?;
        let took = match (self.database, job.shape) {
            (Database::Sqlite, Shape::FanOut | Shape::Loop) => project.start_and_wait(job)?,
            (Database::Sqlite, Shape::Chain) => project.work(job, 1, CONCURRENCY)?,
            (Database::Postgres, Shape::Chain) => {
                project.work(job, POSTGRES_WORKERS, CONCURRENCY / POSTGRES_WORKERS)?
            }
            (Database::Postgres, Shape::FanOut | Shape::Loop) => {
                project.work(job, POSTGRES_WORKERS, ITEMS_CONCURRENCY / POSTGRES_WORKERS)?
            }
        };
        project.check(job)?;
        Ok(Some(Speed::of(job, took)))
    }
}

/// A project in which `drawloom` runs.
pub(super) struct Project<'a> {
    drawloom: &'a Drawloom,
    folder: PathBuf,
    url: Option<String>,
}

impl Project<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.drawloom.program);
        command.args(words).current_dir(&self.folder);
        if let Some(url) = &self.url {
            command.env("DRAWLOOM_DATABASE_URL", url);
        }
        command
    }

    /// The command that starts a run of the job's shape.
    fn start(&self, job: Job) -> Result<Command> {
        let input = match job.shape {
            Shape::Chain => json!({}),
            Shape::FanOut => {
                let items: Vec<Value> = (0..job.count).map(|id| json!({ "id": id })).collect();
                json!({ "items": items })
            }
            Shape::Loop => json!({ "rounds": job.count }),
        };
        let file = self.folder.join("input.json");
        std::fs::write(&file, input.to_string())?;
        let workflow = format!("{}.mmd", job.shape.word());
        let mut command = self.command(&["workflow", "start"]);
        command
            .arg(self.drawloom.sources.join(workflow))
            .arg("--input")
            .arg(format!("@{}", file.display()));
        Ok(command)
    }

    fn start_and_wait(&self, job: Job) -> Result<Duration> {
        let began = Instant::now();
        let mut command = self.start(job)?;
        command.arg("--wait");
        measure::run(&mut command, &self.folder.join("log.txt"))?;
        let took = began.elapsed();
        self.ended(1)?.context("the run has not ended")?;
        Ok(took)
    }

    pub(super) fn start_one(&self, job: Job) -> Result<()> {
        measure::run(&mut self.start(job)?, &self.folder.join("log.txt"))?;
        Ok(())
    }

    /// Starts the runs, then lets workers do them.
    fn work(&self, job: Job, workers: usize, concurrency: usize) -> Result<Duration> {
        let runs = match job.shape {
            Shape::Chain => job.count,
            Shape::FanOut | Shape::Loop => 1,
        };
        for _ in 0..runs {
            self.start_one(job)?;
        }
        let clock = now_ms()?;
        let ended_ms = if workers == 1 {
            let concurrency = concurrency.to_string();
            let mut worker =
                self.command(&["worker", "--until-idle", "--concurrency", &concurrency]);
            measure::run(&mut worker, &self.folder.join("log.txt"))?;
            self.ended(runs)?.context("the runs have not ended")?
        } else {
            self.work_together(runs, workers, concurrency)?
        };
        Ok(Duration::from_millis(ended_ms.saturating_sub(clock)))
    }

    /// None of several may stop when it is idle: another may be about to make work for it.
    fn work_together(&self, runs: usize, workers: usize, concurrency: usize) -> Result<u64> {
        let began = Instant::now();
        let _workers = (0..workers)
            .map(|number| self.worker(concurrency, &format!("worker{number}.txt")))
            .collect::<Result<Vec<_>>>()?;
        loop {
            if let Some(ended_ms) = self.ended(runs)? {
                return Ok(ended_ms);
            }
            ensure!(
                began.elapsed() < WAIT_MAX,
                "the runs have not ended after {} s",
                WAIT_MAX.as_secs()
            );
            std::thread::sleep(PAUSE);
        }
    }

    pub(super) fn worker(&self, concurrency: usize, log: &str) -> Result<Worker> {
        let log = std::fs::File::create(self.folder.join(log))?;
        let child = self
            .command(&["worker", "--concurrency", &concurrency.to_string()])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot start a worker")?;
        Ok(Worker { child })
    }

    /// When the last of `count` runs was completed; nothing while one is under way.
    fn ended(&self, count: usize) -> Result<Option<u64>> {
        let limit = (count + 1).to_string();
        let runs = self.json(&["runs", "list", "--json", "--limit", &limit])?;
        let runs = runs["runs"]
            .as_array()
            .context("`runs list --json` lists no runs")?;
        ensure!(runs.len() == count, "{} runs of {count}", runs.len());
        let mut last = 0;
        for run in runs {
            match run["status"].as_str() {
                Some("completed") => {}
                Some("pending" | "running") => return Ok(None),
                _ => bail!("a run went wrong: {run}"),
            }
            let ended = run["ended_ms"].as_u64().context("a run names its end")?;
            last = last.max(ended);
        }
        Ok(Some(last))
    }

    /// A run that lost something has done another job, and is not measured.
    fn check(&self, job: Job) -> Result<()> {
        let runs = self.json(&["runs", "list", "--json", "--limit", "1"])?;
        let last = runs["runs"][0]["result"]
            .as_str()
            .context("a run that ended has a result")?;
        let shown = self.json(&["tasks", "show", last, "--json"])?;
        let output = &shown["task"]["output"];
        let is_whole = match job.shape {
            Shape::Chain => output["ok"] == true && last.ends_with(&format!("/S{CHAIN_STEPS}")),
            Shape::FanOut => output["counts"]["succeeded"] == job.count,
            Shape::Loop => output["round"] == job.count,
        };
        ensure!(is_whole, "{last} gave something else: {output}");
        Ok(())
    }

    /// When the one run there is had its first task claimed, if it had.
    pub(super) fn first_claim_ms(&self) -> Result<Option<u64>> {
        let shown = self.json(&["runs", "show", "last", "--json"])?;
        let events = shown["events"].as_array().context("a run has events")?;
        let claim = events
            .iter()
            .find(|event| event["event"] == "task_moved" && event["by"] == "claim");
        Ok(claim.and_then(|event| event["atMs"].as_u64()))
    }

    fn json(&self, words: &[&str]) -> Result<Value> {
        let output = self.command(words).stdin(Stdio::null()).output()?;
        ensure!(
            output.status.success(),
            "drawloom {} failed ({}):\n{}",
            words.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("drawloom {} printed no JSON", words.join(" ")))
    }
}

/// A worker, killed when it is not wanted any more: it must be able to bear that.
pub(super) struct Worker {
    pub(super) child: Child,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if let Err(problem) = ended {
            println!("a worker was not stopped: {problem}");
        }
    }
}

pub(super) fn now_ms() -> Result<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_millis())?)
}
