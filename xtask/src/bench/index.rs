//! `cargo xtask bench index`: our index beside ripgrep, ctags, madge, dependency-cruiser and
//! aider's map.
//!
//! The repository is made of the TypeScript sources of four packages from npm, about 700 files.
//! First the answers are compared: names with the TypeScript compiler, imports with
//! dependency-cruiser. Then the costs: all in CPU time of the quietest round, because wall time,
//! and the cost of sharing a core, depend on the other users of the machine. The floor is the least
//! that any index needs: finding the files (`rg --files`) and reading their bytes (`cat`).

mod accuracy;
mod corpus;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::goals::{self, Goal};
use super::measure::{self, Cost};
use super::scratch::Scratch;
use super::search::ripgrep;
use corpus::Corpus;

const PEERS: [&str; 3] = [
    "dependency-cruiser@17.4.3",
    "madge@8.0.0",
    "typescript@5.9.3",
];
const AIDER: &str = "aider-chat==0.86.2";

/// Rounds of what takes milliseconds, and of what takes seconds.
const ROUNDS: usize = 21;
const ROUNDS_OF_THE_SLOW: usize = 3;

const AGREEMENT_MIN: f64 = 0.99;
const TIMES_THE_FLOOR_MAX: f64 = 3.0;
const TIMES_FASTER_THAN_CTAGS_MIN: f64 = 10.0;
const TIMES_FASTER_THAN_GRAPHS_MIN: f64 = 100.0;
const REINDEX_CPU_MS_MAX: f64 = 20.0;

pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let scratch = Scratch::open(root)?;
    println!("{}; {}", ripgrep()?, ctags()?);
    let drawloom = scratch.build(&["--package", "cli"], "drawloom")?;
    let bench = Bench {
        drawloom,
        scripts: root.join("benches/index"),
        modules: scratch.npm("index-peers", &PEERS)?.join("node_modules"),
        python: scratch.pip("index-aider", &[AIDER])?.join("bin/python"),
        corpus: Corpus::assemble(&scratch)?,
        work: scratch.fresh("index-work")?,
    };
    println!(
        "{} files, {} of them TypeScript",
        bench.corpus.files, bench.corpus.sources
    );
    let mut goals = accuracy::compare(&bench)?;
    goals.extend(bench.race()?);
    goals.push(bench.reindex()?);
    Ok(goals::judge(&goals))
}

/// ctags' version; installed first where it is missing.
fn ctags() -> Result<String> {
    let version = || Command::new("ctags").arg("--version").output();
    let output = match version() {
        Ok(output) => output,
        Err(_) => {
            println!("installing universal-ctags with apt-get, for `ctags`");
            let status = Command::new("apt-get")
                .args(["install", "-y", "-qq", "universal-ctags"])
                .stdout(std::process::Stdio::null())
                .status()
                .context("cannot run apt-get; install universal-ctags and run again")?;
            ensure!(
                status.success(),
                "apt-get failed ({status}); install universal-ctags and run again"
            );
            version().context("installing universal-ctags did not bring `ctags`")?
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = text.lines().next().unwrap_or("ctags");
    Ok(first.split(',').next().unwrap_or(first).to_owned())
}

struct Bench {
    drawloom: PathBuf,
    scripts: PathBuf,
    modules: PathBuf,
    python: PathBuf,
    corpus: Corpus,
    work: PathBuf,
}

/// One tool and what it cost in each round.
struct Entrant {
    name: &'static str,
    command: Command,
    rounds: usize,
    costs: Vec<Cost>,
}

impl Bench {
    /// Runs each program in turn, prints a row for each, and judges ours.
    fn race(&self) -> Result<Vec<Goal>> {
        let mut entrants = self.entrants();
        for round in 0..ROUNDS {
            for entrant in entrants.iter_mut().filter(|it| round < it.rounds) {
                let log = self
                    .work
                    .join(format!("{}.txt", entrant.name.replace(' ', "-")));
                entrant
                    .costs
                    .push(measure::run(&mut entrant.command, &log)?);
            }
        }
        println!(
            "\n{:<28}{:>12}{:>12}{:>10}",
            "", "CPU ms", "peak MB", "times"
        );
        let cpu = |name: &str| {
            let entrant = entrants.iter().find(|it| it.name == name);
            let cost = entrant.map(|it| quietest(&it.costs));
            ms(cost.unwrap_or_default())
        };
        let ours = cpu("drawloom index");
        for entrant in &entrants {
            let (cpu, cost) = (quietest(&entrant.costs), measure::median(&entrant.costs));
            #[expect(clippy::cast_precision_loss, reason = "megabytes are few")]
            let peak = cost.peak_bytes as f64 / 1_048_576.0;
            println!(
                "{:<28}{:>12.1}{peak:>12.1}{:>9.1}×",
                entrant.name,
                ms(cpu),
                ms(cpu) / ours
            );
        }
        let floor = cpu("rg --files") + cpu("cat");
        Ok(vec![
            Goal::at_most(
                "times the CPU of `rg --files` and reading the bytes",
                ours / floor,
                TIMES_THE_FLOOR_MAX,
            ),
            Goal::at_least(
                "times faster than ctags",
                cpu("ctags") / ours,
                TIMES_FASTER_THAN_CTAGS_MIN,
            ),
            Goal::at_least(
                "times faster than madge",
                cpu("madge") / ours,
                TIMES_FASTER_THAN_GRAPHS_MIN,
            ),
            Goal::at_least(
                "times faster than aider's map",
                cpu("aider's map") / ours,
                TIMES_FASTER_THAN_GRAPHS_MIN,
            ),
        ])
    }

    fn entrants(&self) -> Vec<Entrant> {
        let repository = &self.corpus.repository;
        let entrant = |name, rounds, mut command: Command| {
            command.current_dir(repository);
            Entrant {
                name,
                command,
                rounds,
                costs: Vec::new(),
            }
        };
        let made = |program: &Path, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        };
        let script = |program: &Path, name: &str| {
            let mut command = Command::new(program);
            command.arg(self.scripts.join(name));
            command
        };
        let mut cat = Command::new("cat");
        cat.args(&self.corpus.paths);
        let mut ctags = made(Path::new("ctags"), &["-R", "-f"]);
        ctags.arg(self.work.join("tags")).arg(".");
        let madge = self.modules.join(".bin/madge");
        let mut aider = script(&self.python, "aider_map.py");
        aider.arg(".");
        vec![
            entrant(
                "rg --files",
                ROUNDS,
                made(Path::new("rg"), &["--files", "--hidden"]),
            ),
            entrant("cat", ROUNDS, cat),
            entrant("drawloom index", ROUNDS, made(&self.drawloom, &["index"])),
            entrant("ctags", ROUNDS, ctags),
            entrant(
                "dependency-cruiser",
                ROUNDS_OF_THE_SLOW,
                accuracy::cruiser(self),
            ),
            entrant(
                "madge",
                ROUNDS_OF_THE_SLOW,
                made(&madge, &["--extensions", "ts,tsx", "--json", "packages"]),
            ),
            entrant("aider's map", ROUNDS_OF_THE_SLOW, aider),
        ]
    }

    /// Measures indexing again when one file has changed, in a project with a cache.
    fn reindex(&self) -> Result<Goal> {
        let project = self.corpus.repository.join("drawloom.toml");
        std::fs::write(&project, "")?;
        let changed = self.corpus.repository.join(&self.corpus.changed);
        let text = std::fs::read_to_string(&changed)?;
        let log = self.work.join("again.txt");
        let index = || {
            let mut command = Command::new(&self.drawloom);
            measure::run(
                command.arg("index").current_dir(&self.corpus.repository),
                &log,
            )
        };
        index()?;
        // The index does not trust the time of a file written a moment ago; one index later it
        // does.
        std::thread::sleep(Duration::from_secs(3));
        index()?;
        let (mut costs, mut walls) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let added = format!("{text}\nexport const added{round} = {round};\n");
            std::fs::write(&changed, added)?;
            let started = Instant::now();
            costs.push(index()?);
            walls.push(started.elapsed());
            let said = std::fs::read_to_string(&log)?;
            ensure!(
                said.contains(&format!("added{round}")),
                "the change of round {round} is not in the index"
            );
        }
        std::fs::write(&changed, text)?;
        std::fs::remove_file(project)?;
        walls.sort_unstable();
        let cpu = ms(quietest(&costs));
        let wall = ms(walls[walls.len() / 2]);
        println!("\nagain after one changed file: {cpu:.1} ms of CPU, {wall:.1} ms in all");
        Ok(Goal::at_most(
            "ms of CPU to index again after one changed file",
            cpu,
            REINDEX_CPU_MS_MAX,
        ))
    }
}

/// Returns the CPU time of the least disturbed round: other processes on the core only add to it.
fn quietest(costs: &[Cost]) -> Duration {
    costs.iter().map(|cost| cost.cpu).min().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
