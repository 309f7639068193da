//! Our own side: the `drawloom` program as users run it, measured from outside.
//!
//! On SQLite one process starts a fan-out or a loop and works until it has ended (`workflow start
//! --wait`). The many runs of the chain are started by one process (`workflow start --inputs`) while a
//! worker does them; on PostgreSQL one worker or four do whatever was started. The time is
//! that from the start of the first run to the end of the last.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::place::{Contender, Database, Place};
use super::program::Figures;
use super::project::{Crew, Project};
use super::shape::{CONCURRENCY, ITEMS_CONCURRENCY, Job, Shape};

pub(super) struct Drawloom {
    pub(super) program: PathBuf,
    /// The workflow files.
    pub(super) sources: PathBuf,
}

/// One way of doing the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Sqlite,
    Postgres { workers: usize },
}

pub(super) struct Ours<'a> {
    pub(super) drawloom: &'a Drawloom,
    pub(super) way: Way,
}

impl Way {
    pub(super) const SCALED_OUT: Self = Self::Postgres { workers: 4 };
    pub(super) const ALL: [Self; 3] = [
        Self::Sqlite,
        Self::Postgres { workers: 1 },
        Self::SCALED_OUT,
    ];

    pub(super) fn name(self) -> String {
        match self {
            Self::Sqlite => "drawloom, SQLite".to_owned(),
            Self::Postgres { workers: 1 } => "drawloom, PostgreSQL, 1 worker".to_owned(),
            Self::Postgres { workers } => format!("drawloom, PostgreSQL, {workers} workers"),
        }
    }

    fn database(self) -> Database {
        match self {
            Self::Sqlite => Database::Sqlite,
            Self::Postgres { .. } => Database::Postgres,
        }
    }

    /// Gives our workers as many tasks at a time as the other engines have, however many workers
    /// there are.
    fn crew(self, shape: Shape) -> Crew {
        let together = match shape {
            Shape::Chain => CONCURRENCY,
            Shape::FanOut | Shape::Loop => ITEMS_CONCURRENCY,
        };
        let workers = match self {
            Self::Sqlite => 1,
            Self::Postgres { workers } => workers,
        };
        Crew {
            workers,
            concurrency: together / workers,
        }
    }
}

impl Drawloom {
    pub(super) fn new(program: PathBuf, root: &Path) -> Self {
        Self {
            program,
            sources: root.join("benches/workflows"),
        }
    }

    pub(super) fn version(&self) -> Result<String> {
        let output = Command::new(&self.program)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(format!("{version} ({})", self.program.display()))
    }

    /// A project whose tables are there.
    pub(super) fn project(&self, place: &Place<'_>, database: Database) -> Result<Project<'_>> {
        let settings = format!("[workflows]\nconcurrency = {ITEMS_CONCURRENCY}\n");
        std::fs::write(place.folder.join("drawloom.toml"), settings)?;
        let project = Project {
            drawloom: self,
            folder: place.folder.clone(),
            url: match database {
                // The file in the project, as it is by default.
                Database::Sqlite => None,
                Database::Postgres => Some(place.postgres()?),
            },
        };
        project.make_tables()?;
        Ok(project)
    }
}

impl Ours<'_> {
    pub(super) fn run(&self, job: Job, project: &Project<'_>) -> Result<Figures> {
        let figures = match (self.way, job.shape) {
            (Way::Sqlite, Shape::FanOut | Shape::Loop) => project.start_and_wait(job)?,
            (way, shape) => project.work(job, way.crew(shape))?,
        };
        project.check(job)?;
        Ok(figures)
    }
}

impl Contender for Ours<'_> {
    fn name(&self) -> String {
        self.way.name()
    }

    fn measure(&self, job: Job, place: &Place<'_>) -> Result<Option<Figures>> {
        let project = self.drawloom.project(place, self.way.database())?;
        self.run(job, &project).map(Some)
    }
}
