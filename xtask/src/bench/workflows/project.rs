//! A project in which `drawloom` runs: runs are started in it, worked on, and looked at when they end.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use wait4::Wait4 as _;

use super::super::measure;
use super::drawloom::Drawloom;
use super::program::{Figures, Speed};
use super::shape::{CHAIN_STEPS, Job, Shape};

/// Runs that have not ended by then never will.
const WAIT_MAX: Duration = Duration::from_secs(180);
/// The arguments that give a run its input.
const INPUT: [&str; 2] = ["--input", "@input.json"];
/// Looking takes a process, and has its share of what is measured.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) struct Project<'a> {
    pub(super) drawloom: &'a Drawloom,
    pub(super) folder: PathBuf,
    /// The address of PostgreSQL; `None` for the file in the project.
    pub(super) url: Option<String>,
}

/// The number of workers, and of tasks that each does at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crew {
    pub(super) workers: usize,
    pub(super) concurrency: usize,
}

impl Project<'_> {
    /// The tables are made by `drawloom` before a clock runs, as the peers make theirs.
    pub(super) fn make_tables(&self) -> Result<()> {
        let mut command = self.command(&["runs", "list"]);
        measure::run(&mut command, &self.folder.join("log.txt"))?;
        Ok(())
    }

    /// The database, as others than `drawloom` are told of it.
    pub(super) fn database(&self) -> String {
        let file = self.folder.join(".drawloom/drawloom.db");
        let file = || format!("sqlite:///{}", file.display());
        self.url.clone().unwrap_or_else(file)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.drawloom.program);
        command.args(words).current_dir(&self.folder);
        if let Some(url) = &self.url {
            command.env("DRAWLOOM_DATABASE_URL", url);
        }
        command
    }

    fn write_input(&self, job: Job) -> Result<()> {
        let input = match job.shape {
            Shape::Chain => json!({}),
            Shape::FanOut => {
                let items: Vec<Value> = (0..job.count).map(|id| json!({ "id": id })).collect();
                json!({ "items": items })
            }
            Shape::Loop => json!({ "rounds": job.count }),
        };
        Ok(std::fs::write(
            self.folder.join("input.json"),
            input.to_string(),
        )?)
    }

    /// The command that starts runs of the job's shape.
    fn start(&self, job: Job, words: [&str; 2]) -> Command {
        let workflow = format!("{}.mmd", job.shape.word());
        let mut command = self.command(&["workflow", "start"]);
        command
            .arg(self.drawloom.sources.join(workflow))
            .args(words);
        command
    }

    /// One process starts the run and works until it has ended.
    pub(super) fn start_and_wait(&self, job: Job) -> Result<Figures> {
        self.write_input(job)?;
        let mut command = self.start(job, INPUT);
        command.arg("--wait");
        let cost = measure::run(&mut command, &self.folder.join("log.txt"))?;
        let took = self.took(1)?.context("the run has not ended")?;
        Ok(Figures {
            speed: Speed::of(job, took),
            cpu: Some(cost.cpu),
        })
    }

    pub(super) fn start_one(&self, job: Job) -> Result<()> {
        self.write_input(job)?;
        measure::run(&mut self.start(job, INPUT), &self.folder.join("log.txt"))?;
        Ok(())
    }

    /// Workers do the runs that one process starts, as many at a time as the peers have.
    pub(super) fn work(&self, job: Job, crew: Crew) -> Result<Figures> {
        self.write_input(job)?;
        let began = Instant::now();
        let workers = (0..crew.workers)
            .map(|number| self.worker(crew.concurrency, &format!("worker{number}.txt")))
            .collect::<Result<Vec<_>>>()?;
        let mut cpu = self.start_all(job)?;
        let took = loop {
            if let Some(took) = self.took(job.runs())? {
                break took;
            }
            ensure!(
                began.elapsed() < WAIT_MAX,
                "the runs have not ended after {} s",
                WAIT_MAX.as_secs()
            );
            std::thread::sleep(PAUSE);
        };
        for worker in workers {
            cpu += worker.stop()?;
        }
        Ok(Figures {
            speed: Speed::of(job, took),
            cpu: Some(cpu),
        })
    }

    /// One process starts all runs; what CPU time that took.
    fn start_all(&self, job: Job) -> Result<Duration> {
        let input = std::fs::read_to_string(self.folder.join("input.json"))?;
        let lines = format!("{input}\n").repeat(job.runs());
        std::fs::write(self.folder.join("inputs.jsonl"), lines)?;
        let mut command = self.start(job, ["--inputs", "inputs.jsonl"]);
        let cost = measure::run(&mut command, &self.folder.join("log.txt"))?;
        Ok(cost.cpu)
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
        Ok(Worker { child: Some(child) })
    }

    /// Returns the time that `count` runs took, from the first start to the last end, as the
    /// database has it; `None` while one is in progress.
    fn took(&self, count: usize) -> Result<Option<Duration>> {
        let limit = (count + 1).to_string();
        let runs = self.json(&["runs", "list", "--json", "--limit", &limit])?;
        let runs = runs["runs"]
            .as_array()
            .context("`runs list --json` lists no runs")?;
        ensure!(runs.len() == count, "{} runs of {count}", runs.len());
        let (mut first, mut last) = (u64::MAX, 0);
        for run in runs {
            match run["status"].as_str() {
                Some("completed") => {}
                Some("pending" | "running") => return Ok(None),
                _ => bail!("a run went wrong: {run}"),
            }
            let ended = run["ended_ms"].as_u64().context("a run names its end")?;
            let created = run["created_ms"].as_u64();
            first = first.min(created.context("a run names its begin")?);
            last = last.max(ended);
        }
        Ok(Some(Duration::from_millis(last.saturating_sub(first))))
    }

    /// A run that lost something has done another job, and is not measured.
    pub(super) fn check(&self, job: Job) -> Result<()> {
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
    child: Option<Child>,
}

impl Worker {
    pub(super) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Ends it, and says what CPU time it has used.
    fn stop(mut self) -> Result<Duration> {
        let Some(mut child) = self.child.take() else {
            return Ok(Duration::ZERO);
        };
        child.kill()?;
        let used = child.wait4()?.rusage;
        Ok(used.utime + used.stime)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else {
            return;
        };
        let ended = child.kill().and_then(|()| child.wait());
        if let Err(problem) = ended {
            println!("a worker was not stopped: {problem}");
        }
    }
}

pub(super) fn now_ms() -> Result<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_millis())?)
}
