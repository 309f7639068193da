//! `cargo xtask bench templates`: the 1 000-item template in process, beside edge.js and minijinja.
//!
//! Each engine is a process that loads the items, warms up, times its renders and prints one JSON line
//! per way of rendering; it leaves its output in a file, and all outputs must be equal. The programs take
//! turns for several rounds.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::goals::{self, Goal};
use super::scratch::Scratch;

const ITEMS: usize = 1_000;
const ROUNDS: usize = 3;

/// edge.js escapes `{{ }}` for HTML, which is how its templates are written; drawloom does not. The raw
/// way is listed too, so that the table shows what the escaping costs.
const EDGE_ESCAPED: &str = "edge.js, cached, async";
const DRAWLOOM: &str = "drawloom";
const MINIJINJA: &str = "minijinja";

const TIMES_EDGE_MIN: f64 = 3.0;
const TIMES_MINIJINJA_MIN: f64 = 1.0;

pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let scratch = Scratch::open(root)?;
    let node = scratch.npm("templates-npm", &["edge.js@6.5.1"])?;
    let arguments = [
        "--package",
        "xtask",
        "--bin",
        "throughput",
        "--features",
        "throughput",
    ];
    let throughput = scratch.build(&arguments, "throughput")?;
    let work = scratch.fresh("templates-work")?;
    let programs = lay(root, &node, &throughput, &work)?;
    let mut timings = Vec::new();
    for round in 1..=ROUNDS {
        println!("round {round} of {ROUNDS}");
        for program in &programs {
            timings.extend(program.run()?);
        }
    }
    compare_outputs(&programs)?;
    let engines = summarise(&timings);
    print_table(&engines);
    let goals = [
        Goal::at_least(
            format!("times the speed of {EDGE_ESCAPED}"),
            times(&engines, EDGE_ESCAPED)?,
            TIMES_EDGE_MIN,
        ),
        Goal::at_least(
            format!("times the speed of {MINIJINJA}"),
            times(&engines, MINIJINJA)?,
            TIMES_MINIJINJA_MIN,
        ),
    ];
    Ok(goals::judge(&goals))
}

/// One engine: a command line, and the file it leaves its output in.
struct Program {
    words: Vec<PathBuf>,
    output: PathBuf,
}

#[derive(Clone)]
struct Timing {
    engine: String,
    min_us: f64,
    median_us: f64,
}

/// Writes what the programs read: the items, the templates, edge.js's script beside its packages.
fn lay(root: &Path, node: &Path, throughput: &Path, work: &Path) -> Result<Vec<Program>> {
    let sources = root.join("benches/templates");
    let report = std::fs::read_to_string(sources.join("report.edge"))?;
    // edge.js drops a newline at the very end and drawloom keeps it; without one they agree.
    let report = report.trim_end();
    let raw = report.replace("{{", "{{{").replace("}}", "}}}");
    std::fs::write(work.join("report.edge"), report)?;
    std::fs::write(work.join("raw.edge"), raw)?;
    std::fs::copy(sources.join("report.jinja"), work.join("report.jinja"))?;
    std::fs::copy(sources.join("edge.mjs"), node.join("edge.mjs"))?;
    let items = work.join("items.json");
    std::fs::write(&items, items_json().to_string())?;
    let program = |name: &str, head: Vec<PathBuf>| {
        let output = work.join(format!("{name}.txt"));
        let words = head
            .into_iter()
            .chain([items.clone(), output.clone()])
            .collect();
        Program { words, output }
    };
    let edge = |template: &str| {
        let script = node.join("edge.mjs");
        program(
            template,
            vec!["node".into(), script, work.into(), template.into()],
        )
    };
    let native = |engine: &str, template: &str| {
        program(
            engine,
            vec![throughput.into(), engine.into(), work.join(template)],
        )
    };
    Ok(vec![
        native(DRAWLOOM, "report.edge"),
        native(MINIJINJA, "report.jinja"),
        edge("report"),
        edge("raw"),
    ])
}

/// Prices are in cents, as prices are; two digits of the nearest double are the same in every engine.
fn items_json() -> Value {
    let woods = [
        "Copper", "Linen", "Walnut", "Silver", "Marble", "Indigo", "Velvet",
    ];
    let tags = ["new", "sale", "gift", "eco", "rare"];
    let item = |index: usize| {
        let first = index % tags.len();
        let last = tags.len().min(first + 1 + index % 3);
        let cents = u32::try_from(index * 3_701 % 99_989 + 1).unwrap_or(1);
        json!({
            "name": format!("{} item {index}", woods[index % woods.len()]),
            "price": f64::from(cents) / 100.0,
            "stock": (index % 3) * (index % 11),
            "weeks": index % 5 + 1,
            "tags": &tags[first..last],
        })
    };
    (0..ITEMS).map(item).collect()
}

impl Program {
    fn run(&self) -> Result<Vec<Timing>> {
        let (program, arguments) = self.words.split_first().context("a program has a name")?;
        let output = Command::new(program)
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot start {}", program.display()))?;
        ensure!(
            output.status.success(),
            "{} failed ({})",
            program.display(),
            output.status
        );
        String::from_utf8(output.stdout)?
            .lines()
            .map(read_timing)
            .collect()
    }
}

fn read_timing(line: &str) -> Result<Timing> {
    let line: Value = serde_json::from_str(line).context("an engine printed no timing")?;
    let engine = line["engine"]
        .as_str()
        .context("a timing names its engine")?
        .to_owned();
    let figure = |key: &str| {
        line[key]
            .as_f64()
            .with_context(|| format!("a timing has {key}"))
    };
    Ok(Timing {
        engine,
        min_us: figure("min_us")?,
        median_us: figure("median_us")?,
    })
}

fn compare_outputs(programs: &[Program]) -> Result<()> {
    let mut expected: Option<Vec<u8>> = None;
    for program in programs {
        let found = std::fs::read(&program.output)?;
        if expected.get_or_insert_with(|| found.clone()) != &found {
            bail!(
                "{} differs from {}",
                program.output.display(),
                programs[0].output.display()
            );
        }
    }
    let bytes = expected.map_or(0, |output| output.len());
    println!("all engines print the same {bytes} bytes");
    Ok(())
}

/// Per engine, in the order they ran: the fastest render of all rounds and the median of the medians.
fn summarise(timings: &[Timing]) -> Vec<Timing> {
    let mut engines: Vec<Timing> = Vec::new();
    for timing in timings {
        if engines.iter().any(|seen| seen.engine == timing.engine) {
            continue;
        }
        let same = timings.iter().filter(|other| other.engine == timing.engine);
        let mut medians: Vec<f64> = same.clone().map(|other| other.median_us).collect();
        medians.sort_by(f64::total_cmp);
        let min_us = same.map(|other| other.min_us).fold(f64::INFINITY, f64::min);
        let median_us = medians[medians.len() / 2];
        engines.push(Timing {
            engine: timing.engine.clone(),
            min_us,
            median_us,
        });
    }
    engines
}

fn print_table(engines: &[Timing]) {
    println!("\n{ITEMS} items                    min µs   median µs   drawloom is faster by");
    for engine in engines {
        let faster = times(engines, &engine.engine).unwrap_or(f64::NAN);
        let (min, median) = (engine.min_us, engine.median_us);
        println!(
            "  {:<28}{min:>8.0}{median:>12.0}{faster:>22.2}×",
            engine.engine
        );
    }
}

/// Returns how many times faster than `engine` drawloom renders, by medians.
fn times(engines: &[Timing], engine: &str) -> Result<f64> {
    let median = |name: &str| {
        let found = engines.iter().find(|timing| timing.engine == name);
        found
            .map(|timing| timing.median_us)
            .with_context(|| format!("{name} was not timed"))
    };
    Ok(median(engine)? / median(DRAWLOOM)?)
}
