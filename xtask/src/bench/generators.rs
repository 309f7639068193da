//! `cargo xtask bench generators`: drawloom beside hygen, plop, copier and cookiecutter.
//!
//! First every tool does the job once and the files are compared: a tool that did another job is not
//! measured. Then the tools take turns for several rounds, and medians are compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use super::goals::{self, Goal};
use super::jobs::{Tool, Workshop};
use super::measure::{self, Cost};
use super::scratch::{self, Scratch};

const COMPARED: [Size; 2] = [
    Size {
        files: 1,
        rounds: 15,
    },
    Size {
        files: 200,
        rounds: 7,
    },
];
const ALONE: [Size; 3] = [
    Size {
        files: 1_000,
        rounds: 7,
    },
    Size {
        files: 5_000,
        rounds: 3,
    },
    Size {
        files: 10_000,
        rounds: 3,
    },
];

const ONE_FILE_CPU_RATIO_MAX: f64 = 1.0 / 20.0;
const MANY_FILES_CPU_RATIO_MAX: f64 = 1.0 / 15.0;
const PEAK_MIB_MAX: f64 = 10.0;
const GROWTH_PER_FILE_MAX: f64 = 1.5;

#[derive(Clone, Copy)]
struct Size {
    files: usize,
    rounds: usize,
}

pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let scratch = Scratch::open(root)?;
    let workshop = Workshop::open(root, &scratch)?;
    let stage = scratch.stage()?;
    let bench = Bench {
        workshop: &workshop,
        stage: stage.path(),
    };
    bench.compare_files()?;
    let floor = bench.floor()?;
    println!(
        "\nfloor of the measurement (`true`): {:.1} ms, {:.1} MiB",
        ms(floor),
        mib(floor)
    );
    let one = bench.measure(COMPARED[0], &Tool::ALL)?;
    let many = bench.measure(COMPARED[1], &Tool::ALL)?;
    let mut growth = Vec::new();
    for size in ALONE {
        growth.push((size.files, bench.measure(size, &[Tool::Drawloom])?));
    }
    print_compared(COMPARED[0].files, &one);
    print_compared(COMPARED[1].files, &many);
    let (ours_one, ours_many) = (of(&one, Tool::Drawloom)?, of(&many, Tool::Drawloom)?);
    let mut steps = vec![(COMPARED[1].files, ours_many)];
    for (files, medians) in &growth {
        steps.push((*files, of(medians, Tool::Drawloom)?));
    }
    print_growth(ours_one, &steps);
    let goals = [
        Goal::at_most(
            "1 file, CPU beside hygen",
            ratio(&one)?,
            ONE_FILE_CPU_RATIO_MAX,
        ),
        Goal::at_most(
            "200 files, CPU beside hygen",
            ratio(&many)?,
            MANY_FILES_CPU_RATIO_MAX,
        ),
        Goal::at_most("1 file, peak MiB", mib(ours_one), PEAK_MIB_MAX),
        Goal::at_most("200 files, peak MiB", mib(ours_many), PEAK_MIB_MAX),
        Goal::at_most(
            "cost of one more file, largest job beside 200 files",
            growth_per_file(ours_one, &steps),
            GROWTH_PER_FILE_MAX,
        ),
    ];
    Ok(goals::judge(&goals))
}

type Medians = Vec<(Tool, Cost)>;

struct Bench<'a> {
    workshop: &'a Workshop,
    /// The jobs, the folder they are done in, and the log of the last one.
    stage: &'a Path,
}

impl Bench<'_> {
    /// Every tool must write the same bytes under the same names.
    fn compare_files(&self) -> Result<()> {
        const FILES: usize = 3;
        let mut expected: Option<BTreeMap<String, Vec<u8>>> = None;
        for tool in Tool::ALL {
            self.lay(tool, FILES)?;
            self.once(tool, FILES)?;
            let found = files_of(&self.stage.join("work/out"))?;
            ensure!(
                found.len() == FILES,
                "{} wrote {} files of {FILES}",
                tool.name(),
                found.len()
            );
            let same = expected.get_or_insert_with(|| found.clone()) == &found;
            ensure!(
                same,
                "{} wrote other files than drawloom; mend its job",
                tool.name()
            );
        }
        println!("all tools write the same {FILES} files");
        Ok(())
    }

    /// Measures the cost of starting any process, counted in the same way.
    fn floor(&self) -> Result<Cost> {
        let log = self.stage.join("log.txt");
        let costs = (0..COMPARED[0].rounds).map(|_| measure::run(&mut Command::new("true"), &log));
        Ok(measure::median(&costs.collect::<Result<Vec<_>>>()?))
    }

    fn measure(&self, size: Size, tools: &[Tool]) -> Result<Medians> {
        println!("measuring {} file(s), {} rounds", size.files, size.rounds);
        for tool in tools {
            self.lay(*tool, size.files)?;
            self.once(*tool, size.files)?;
        }
        let mut costs = vec![Vec::new(); tools.len()];
        for _ in 0..size.rounds {
            for (tool, costs) in tools.iter().zip(&mut costs) {
                costs.push(self.once(*tool, size.files)?);
            }
        }
        let medians = costs.iter().map(|costs| measure::median(costs));
        Ok(tools.iter().copied().zip(medians).collect())
    }

    fn lay(&self, tool: Tool, files: usize) -> Result<()> {
        let job = self.job(tool);
        scratch::empty(&job)?;
        self.workshop.lay(tool, files, &job)
    }

    /// Does the job once in an empty folder.
    fn once(&self, tool: Tool, files: usize) -> Result<Cost> {
        let work = self.stage.join("work");
        scratch::empty(&work)?;
        let mut command = self.workshop.command(tool, files, &self.job(tool));
        measure::run(command.current_dir(work), &self.stage.join("log.txt"))
    }

    fn job(&self, tool: Tool) -> PathBuf {
        self.stage.join(format!("job-{tool:?}").to_lowercase())
    }
}

fn files_of(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let entries = std::fs::read_dir(folder).context("the tool wrote no folder `out`")?;
    let mut files = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        files.insert(
            entry.file_name().to_string_lossy().into_owned(),
            std::fs::read(entry.path())?,
        );
    }
    Ok(files)
}

fn print_compared(files: usize, medians: &Medians) {
    let hygen = of(medians, Tool::Hygen).map_or(f64::NAN, ms);
    println!("\n{files} file(s)              CPU ms   peak MiB   CPU beside hygen");
    for (tool, cost) in medians {
        let beside = ms(*cost) / hygen;
        println!(
            "  {:<20}{:>8.1}{:>10.1}{beside:>19.3}",
            tool.name(),
            ms(*cost),
            mib(*cost)
        );
    }
}

fn print_growth(one: Cost, steps: &[(usize, Cost)]) {
    println!("\ndrawloom alone         CPU ms   peak MiB   µs per further file");
    for (files, cost) in steps {
        let further = per_further_file(one, *files, *cost);
        println!(
            "  {files:>6} files        {:>8.1}{:>10.1}{further:>22.1}",
            ms(*cost),
            mib(*cost)
        );
    }
}

fn growth_per_file(one: Cost, steps: &[(usize, Cost)]) -> f64 {
    let further = |step: Option<&(usize, Cost)>| {
        step.map_or(f64::NAN, |(files, cost)| {
            per_further_file(one, *files, *cost)
        })
    };
    further(steps.last()) / further(steps.first())
}

/// In microseconds, the start-up that the first file paid for taken off.
fn per_further_file(one: Cost, files: usize, cost: Cost) -> f64 {
    (ms(cost) - ms(one)) * 1_000.0 / (files - 1) as f64
}

fn ratio(medians: &Medians) -> Result<f64> {
    Ok(ms(of(medians, Tool::Drawloom)?) / ms(of(medians, Tool::Hygen)?))
}

fn of(medians: &Medians, tool: Tool) -> Result<Cost> {
    let found = medians.iter().find(|(measured, _)| *measured == tool);
    found
        .map(|(_, cost)| *cost)
        .with_context(|| format!("{} was not measured", tool.name()))
}

fn ms(cost: Cost) -> f64 {
    cost.cpu.as_secs_f64() * 1_000.0
}

#[expect(
    clippy::cast_precision_loss,
    reason = "memory in bytes is far below 2^52"
)]
fn mib(cost: Cost) -> f64 {
    cost.peak_bytes as f64 / f64::from(1 << 20)
}
