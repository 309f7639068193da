//! The figures of all contenders, and what one is beside another.

use std::time::Duration;

use super::program::{Figures, Speed, as_f64};
use super::shape::Job;

const NAME_WIDTH: usize = 34;
const CELL_WIDTH: usize = 20;

/// One contender's figures, each the median of its rounds.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) figures: Vec<(Job, Figures)>,
    pub(super) failures: usize,
}

pub(super) struct Table {
    jobs: Vec<Job>,
    rows: Vec<Row>,
}

impl Row {
    fn find(&self, job: Job) -> Option<Figures> {
        let found = self.figures.iter().find(|(measured, _)| *measured == job);
        found.map(|(_, figures)| *figures)
    }

    fn speed(&self, job: Job) -> Option<Speed> {
        self.find(job).map(|figures| figures.speed)
    }

    /// Microseconds of user and system time for a step.
    fn cpu(&self, job: Job) -> Option<f64> {
        let cpu = self.find(job)?.cpu?;
        Some(cpu.as_secs_f64() * 1e6 / as_f64(job.steps()))
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

    /// Microseconds of user and system time for a step, or nothing a goal could be met with.
    pub(super) fn cpu(&self, name: &str, job: Job) -> f64 {
        let row = self.rows.iter().find(|row| row.name == name);
        row.and_then(|row| row.cpu(job)).unwrap_or(f64::NAN)
    }

    pub(super) fn failures(&self) -> usize {
        self.rows.iter().map(|row| row.failures).sum()
    }

    fn find(&self, name: &str, job: Job) -> Option<Speed> {
        let row = self.rows.iter().find(|row| row.name == name);
        row.and_then(|row| row.speed(job))
    }

    /// Steps per second, and in brackets how many times as fast `ours` is; then the CPU time of a step.
    pub(super) fn print(&self, ours: &str) {
        let all: Vec<&Row> = self.rows.iter().collect();
        self.print_rows("steps per second", &all, |row, job| {
            self.cell(row, job, ours)
        });
        if all.iter().any(|row| row.name == ours) {
            println!("in brackets: how many times as fast {ours} is");
        }
        let counted = |row: &&&Row| self.jobs.iter().any(|job| row.cpu(*job).is_some());
        let counted: Vec<&Row> = all.iter().filter(counted).copied().collect();
        self.print_rows("CPU µs for a step", &counted, |row, job| {
            row.cpu(job)
                .map_or("–".to_owned(), |cpu| format!("{cpu:.0}"))
        });
        println!("user and system time, with what starting takes, without PostgreSQL's own");
    }

    fn print_rows(&self, title: &str, rows: &[&Row], cell: impl Fn(&Row, Job) -> String) {
        print!("\n{title:<NAME_WIDTH$}");
        for job in &self.jobs {
            print!("{:>CELL_WIDTH$}", job.name());
        }
        println!();
        for row in rows {
            print!("  {:<width$}", row.name, width = NAME_WIDTH - 2);
            for job in &self.jobs {
                print!("{:>CELL_WIDTH$}", cell(row, *job));
            }
            println!();
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

/// Returns the median of each figure on its own.
pub(super) fn median(found: &[Figures]) -> Option<Figures> {
    let mut speeds: Vec<Speed> = found.iter().map(|figures| figures.speed).collect();
    speeds.sort_by(|one, other| one.per_second().total_cmp(&other.per_second()));
    let mut times: Vec<Duration> = found.iter().filter_map(|figures| figures.cpu).collect();
    times.sort_unstable();
    Some(Figures {
        speed: *speeds.get(speeds.len() / 2)?,
        cpu: times.get(times.len() / 2).copied(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_each_figure_is_taken_on_its_own() {
        let figures = |speed: f64, cpu_ms: Option<u64>| Figures {
            speed: Speed::Measured(speed),
            cpu: cpu_ms.map(Duration::from_millis),
        };
        let cases: [(&[Figures], Option<Figures>); 4] = [
            (&[], None),
            (&[figures(5.0, None)], Some(figures(5.0, None))),
            (
                &[
                    figures(1.0, Some(9)),
                    figures(3.0, Some(7)),
                    figures(2.0, Some(8)),
                ],
                Some(figures(2.0, Some(8))),
            ),
            (
                &[
                    figures(1.0, Some(1)),
                    figures(3.0, Some(3)),
                    figures(2.0, Some(9)),
                ],
                Some(figures(2.0, Some(3))),
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(median(found), expected, "{found:?}");
        }
    }
}
