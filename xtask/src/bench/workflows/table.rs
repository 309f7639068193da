//! The figures of all contenders, and what one is beside another.

use super::program::Speed;
use super::shape::Job;

const NAME_WIDTH: usize = 32;
const CELL_WIDTH: usize = 20;

/// One contender's speeds, in the order of the jobs.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) speeds: Vec<(Job, Speed)>,
    pub(super) failures: usize,
}

pub(super) struct Table {
    jobs: Vec<Job>,
    rows: Vec<Row>,
}

impl Row {
    fn speed(&self, job: Job) -> Option<Speed> {
        let found = self.speeds.iter().find(|(measured, _)| *measured == job);
        found.map(|(_, speed)| *speed)
    }
}

impl Table {
    pub(super) fn new(jobs: &[Job], rows: Vec<Row>) -> Self {
        Self {
            jobs: jobs.to_vec(),
            rows,
        }
    }

    /// Steps per second, or nothing a goal could be met with.
    pub(super) fn speed(&self, name: &str, job: Job) -> f64 {
        self.find(name, job).map_or(f64::NAN, Speed::per_second)
    }

    pub(super) fn failures(&self) -> usize {
        self.rows.iter().map(|row| row.failures).sum()
    }

    fn find(&self, name: &str, job: Job) -> Option<Speed> {
        let row = self.rows.iter().find(|row| row.name == name);
        row.and_then(|row| row.speed(job))
    }

    /// Steps per second, and in brackets how many times as fast `ours` is.
    pub(super) fn print(&self, ours: &str) {
        print!("\n{:<NAME_WIDTH$}", "steps per second");
        for job in &self.jobs {
            print!("{:>CELL_WIDTH$}", job.name());
        }
        println!();
        for row in &self.rows {
            print!("  {:<width$}", row.name, width = NAME_WIDTH - 2);
            for job in &self.jobs {
                print!("{:>CELL_WIDTH$}", self.cell(row, *job, ours));
            }
            println!();
        }
        if self.rows.iter().any(|row| row.name == ours) {
            println!("in brackets: how many times as fast {ours} is");
        }
    }

    fn cell(&self, row: &Row, job: Job, ours: &str) -> String {
        let Some(speed) = row.speed(job) else {
            return "–".to_owned();
        };
        let sign = match speed {
            Speed::Measured(_) => "",
            Speed::Below(_) => "< ",
        };
        let figure = format!("{sign}{:.0}", speed.per_second());
        match self.find(ours, job) {
            Some(found) if row.name != ours => {
                let times = found.per_second() / speed.per_second();
                format!("{figure} ({times:.1}×)")
            }
            _ => figure,
        }
    }
}
