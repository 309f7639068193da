//! `cargo xtask bench search`: our search beside ripgrep on a tree of 5 000 files.
//!
//! Both are programs that print every matching line, started in turn, round
//! after round; their answers must be equal. ripgrep is told to look where ours
//! looks: into hidden files, past `.gitignore` whether or not there is a
//! repository. It prints in whatever order its threads finish; ours sorts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::goals::{self, Goal};
use super::measure;
use super::scratch::Scratch;

const DIRECTORIES: usize = 500;
const FILES_EACH: usize = 10;
const LINES_EACH: usize = 150;
/// Installed dependencies, which both must leave out.
const IGNORED_FILES: usize = 1_000;
const ROUNDS: usize = 21;
const RESULTS_MAX: &str = "1000000";

/// Typical searches of an agent: a name, a shape, something absent, something everywhere.
const QUERIES: [(&str, &str); 5] = [
    ("a rare word", "rarely_used_symbol"),
    ("a definition", r"fn \w+_4[0-9]\("),
    ("either of two", "TODO|FIXME"),
    ("nothing", "this is nowhere"),
    ("on most lines", "return"),
];

const TIMES_RIPGREP_MAX: f64 = 2.0;

pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let scratch = Scratch::open(root)?;
    let ripgrep = ripgrep()?;
    let arguments = [
        "--package",
        "xtask",
        "--bin",
        "searching",
        "--features",
        "searching",
    ];
    let searching = scratch.build(&arguments, "searching")?;
    let stage = scratch.stage()?;
    let tree = stage.path().join("tree");
    let files = plant(&tree)?;
    println!("{ripgrep}; {files} files to search, {IGNORED_FILES} to leave out");
    let race = Race {
        searching,
        tree,
        work: scratch.fresh("search-work")?,
    };
    println!(
        "\n{:<16}{:>9}{:>12}{:>12}{:>8}{:>12}{:>12}{:>8}",
        "", "lines", "rg ms", "ours ms", "times", "rg CPU", "ours CPU", "times"
    );
    let mut goals = Vec::new();
    for (name, pattern) in QUERIES {
        let times = race.run(name, pattern)?;
        goals.push(Goal::at_most(
            format!("times ripgrep's wall time for {name}"),
            times,
            TIMES_RIPGREP_MAX,
        ));
    }
    Ok(goals::judge(&goals))
}

/// ripgrep's version; installed first where it is missing.
pub(super) fn ripgrep() -> Result<String> {
    let version = || Command::new("rg").arg("--version").output();
    let output = match version() {
        Ok(output) => output,
        Err(_) => {
            println!("installing ripgrep with apt-get, for `rg`");
            let status = Command::new("apt-get")
                .args(["install", "-y", "-qq", "ripgrep"])
                .stdout(std::process::Stdio::null())
                .status()
                .context("cannot run apt-get; install ripgrep and run again")?;
            ensure!(
                status.success(),
                "apt-get failed ({status}); install ripgrep and run again"
            );
            version().context("installing ripgrep did not bring `rg`")?
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().next().unwrap_or("ripgrep").to_owned())
}

struct Race {
    searching: PathBuf,
    tree: PathBuf,
    work: PathBuf,
}

#[derive(Clone, Copy, Default)]
struct Lap {
    wall: Duration,
    cpu: Duration,
}

impl Race {
    /// Runs one query both ways and prints its row; how many times ripgrep's wall time ours is.
    fn run(&self, name: &str, pattern: &str) -> Result<f64> {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            theirs.push(self.lap(&mut self.ripgrep(pattern), "rg.txt")?);
            ours.push(self.lap(&mut self.searching(pattern), "ours.txt")?);
        }
        let lines = self.compare(name)?;
        let (theirs, ours) = (middle(theirs), middle(ours));
        let times = ours.wall.as_secs_f64() / theirs.wall.as_secs_f64();
        let times_cpu = ours.cpu.as_secs_f64() / theirs.cpu.as_secs_f64();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        println!(
            "{name:<16}{lines:>9}{:>12.1}{:>12.1}{times:>7.2}×{:>12.1}{:>12.1}{times_cpu:>7.2}×",
            ms(theirs.wall),
            ms(ours.wall),
            ms(theirs.cpu),
            ms(ours.cpu),
        );
        Ok(times)
    }

    fn ripgrep(&self, pattern: &str) -> Command {
        let mut command = Command::new("rg");
        command
            .args(["--no-config", "--hidden", "--no-require-git"])
            .args(["--no-ignore-global", "--no-ignore-parent"])
            .args(["--no-heading", "--line-number", "--color", "never", "-e"])
            .arg(pattern)
            .arg(".")
            .current_dir(&self.tree);
        command
    }

    fn searching(&self, pattern: &str) -> Command {
        let mut command = Command::new(&self.searching);
        command.arg(&self.tree).arg(pattern).arg(RESULTS_MAX);
        command
    }

    fn lap(&self, command: &mut Command, log: &str) -> Result<Lap> {
        let started = Instant::now();
        // ripgrep says with 1 that nothing matched, which is an answer here.
        let cost = measure::run_accepting(command, &self.work.join(log), &[0, 1])?;
        Ok(Lap {
            wall: started.elapsed(),
            cpu: cost.cpu,
        })
    }

    fn compare(&self, name: &str) -> Result<usize> {
        let theirs = lines(&self.work.join("rg.txt"))?;
        let ours = lines(&self.work.join("ours.txt"))?;
        ensure!(
            theirs == ours,
            "{name}: ripgrep finds {} lines and ours {}; compare the files in {}",
            theirs.len(),
            ours.len(),
            self.work.display()
        );
        Ok(ours.len())
    }
}

fn lines(file: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(file)?;
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.trim_start_matches("./").to_owned())
        .collect();
    lines.sort_unstable();
    Ok(lines)
}

/// The median of each figure on its own.
fn middle(laps: Vec<Lap>) -> Lap {
    let median = |figure: fn(&Lap) -> Duration| {
        let mut figures: Vec<Duration> = laps.iter().map(figure).collect();
        figures.sort_unstable();
        figures.get(figures.len() / 2).copied().unwrap_or_default()
    };
    Lap {
        wall: median(|lap| lap.wall),
        cpu: median(|lap| lap.cpu),
    }
}

/// Writes the tree: sources in nested directories, ignore files, dependencies to leave out.
fn plant(tree: &Path) -> Result<usize> {
    let put = |path: String, text: &str| -> Result<()> {
        let path = tree.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(std::fs::write(path, text)?)
    };
    put(".gitignore".to_owned(), "node_modules/\n*.log\n/build/\n")?;
    let mut files = 1;
    for directory in 0..DIRECTORIES {
        let folder = format!(
            "part{}/area{}/unit{directory}",
            directory % 8,
            directory % 40
        );
        for file in 0..FILES_EACH {
            put(format!("{folder}/file{file}.rs"), &source(directory, file))?;
            files += 1;
        }
        if directory % 25 == 0 {
            put(format!("{folder}/.gitignore"), "generated/\n*.tmp\n")?;
            put(format!("{folder}/generated/x.rs"), "return TODO\n")?;
            files += 1;
        }
    }
    for file in 0..IGNORED_FILES {
        let path = format!("node_modules/package{}/index{file}.js", file % 50);
        put(path, "module.exports = () => { return 1; } // TODO\n")?;
    }
    Ok(files)
}

fn source(directory: usize, file: usize) -> String {
    let mut text = String::new();
    for line in 0..LINES_EACH {
        let number = directory * 31 + file * 7 + line;
        let written = match number % 11 {
            0 => writeln!(
                text,
                "/// Computes part {number} of the whole, step by step."
            ),
            1 => writeln!(text, "pub fn compute_{number}(input: &Input) -> Output {{"),
            2..=6 => writeln!(
                text,
                "    let value{line} = input.get({number}) + offset({line});"
            ),
            7 if number % 997 == 7 => writeln!(text, "    // TODO: look at {number} again"),
            7 if number % 1999 == 8 => writeln!(text, "    rarely_used_symbol({number});"),
            7 => writeln!(
                text,
                "    if value{line} > {number} {{ return early({line}); }}"
            ),
            8 => writeln!(text, "    return value{line}.combine({number});"),
            9 => writeln!(text, "}}"),
            _ => writeln!(text),
        };
        // Writing into a string cannot fail.
        debug_assert!(written.is_ok());
    }
    if directory % 97 == 3 && file == 5 {
        text.push_str("// FIXME rarely_used_symbol\n");
    }
    text
}
