//! The floor: the rows of the jobs written through the same driver, with no engine around them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::drawloom::Drawloom;
use super::place::{Contender, Database, Place};
use super::program::{self, Figures};
use super::project::Project;
use super::shape::{CONCURRENCY, ITEMS_CONCURRENCY, Job, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// As many steps in a transaction as the shape can have under way.
    Grouped,
    /// Every step in a transaction of its own: what an engine needs at least that shares no commit.
    Ungrouped,
}

impl Grouping {
    pub(super) const ALL: [Self; 2] = [Self::Grouped, Self::Ungrouped];

    /// Steps in a transaction; `None` for jobs without groups.
    fn size(self, shape: Shape) -> Option<usize> {
        match (self, shape) {
            (Self::Ungrouped, _) => Some(1),
            (Self::Grouped, Shape::Chain) => Some(CONCURRENCY),
            (Self::Grouped, Shape::FanOut) => Some(ITEMS_CONCURRENCY),
            (Self::Grouped, Shape::Loop) => None,
        }
    }
}

/// One way of writing the rows.
pub(super) struct Floor<'a> {
    pub(super) program: PathBuf,
    /// Makes the tables, so that they are those of today.
    pub(super) drawloom: &'a Drawloom,
    pub(super) database: Database,
    pub(super) grouping: Grouping,
}

impl Floor<'_> {
    pub(super) fn title(database: Database, grouping: Grouping) -> String {
        let grouping = match grouping {
            Grouping::Grouped => "grouped",
            Grouping::Ungrouped => "ungrouped",
        };
        format!("floor, {}, {grouping}", database.name())
    }

    pub(super) fn run(&self, job: Job, project: &Project<'_>) -> Result<Option<Figures>> {
        let Some(size) = self.grouping.size(job.shape) else {
            return Ok(None);
        };
        let mut command = Command::new(&self.program);
        command.arg(project.database()).args([
            job.shape.word(),
            &job.count.to_string(),
            &size.to_string(),
        ]);
        program::run(&mut command, job, &project.folder).map(Some)
    }
}

impl Contender for Floor<'_> {
    fn name(&self) -> String {
        Self::title(self.database, self.grouping)
    }

    fn measure(&self, job: Job, place: &Place<'_>) -> Result<Option<Figures>> {
        let project = self.drawloom.project(place, self.database)?;
        self.run(job, &project)
    }
}
