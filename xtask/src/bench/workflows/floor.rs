//! The floor: the rows of the jobs written through the same driver, with no engine around them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::place::{Contender, Database, Place};
use super::program::{self, Speed};
use super::shape::{CONCURRENCY, Job, Shape};

/// Items whose rows share a transaction when a foreach is under way.
const ITEMS_GROUPED: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// As many steps in a transaction as the shape can have under way.
    Grouped,
    /// Every step in a transaction of its own.
    Ungrouped,
}

impl Grouping {
    pub(super) const ALL: [Self; 2] = [Self::Grouped, Self::Ungrouped];

    /// Steps in a transaction; nothing where grouping has nothing to group.
    fn size(self, shape: Shape) -> Option<usize> {
        match (self, shape) {
            (Self::Ungrouped, _) => Some(1),
            (Self::Grouped, Shape::Chain) => Some(CONCURRENCY),
            (Self::Grouped, Shape::FanOut) => Some(ITEMS_GROUPED),
            (Self::Grouped, Shape::Loop) => None,
        }
    }
}

/// One way of writing the rows.
pub(super) struct Floor {
    pub(super) program: PathBuf,
    pub(super) database: Database,
    pub(super) grouping: Grouping,
}

impl Floor {
    pub(super) fn title(database: Database, grouping: Grouping) -> String {
        let grouping = match grouping {
            Grouping::Grouped => "grouped",
            Grouping::Ungrouped => "ungrouped",
        };
        format!("floor, {}, {grouping}", database.name())
    }
}

impl Contender for Floor {
    fn name(&self) -> String {
        Self::title(self.database, self.grouping)
    }

    fn measure(&self, job: Job, place: &Place<'_>) -> Result<Option<Speed>> {
        let Some(size) = self.grouping.size(job.shape) else {
            return Ok(None);
        };
        let mut command = Command::new(&self.program);
        command.arg(place.url(self.database)?).args([
            job.shape.word(),
            &job.count.to_string(),
            &size.to_string(),
        ]);
        program::run(&mut command, job, &place.folder).map(Some)
    }
}
