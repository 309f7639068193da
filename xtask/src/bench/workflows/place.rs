//! The place of one measurement: a fresh folder, and an empty database if it needs one.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::disk;
use super::postgres::Cluster;
use super::program::Figures;
use super::shape::Job;

/// Something that does the jobs.
pub(super) trait Contender {
    fn name(&self) -> String;

    /// Does the job once; `None` if this place cannot do it.
    fn measure(&self, job: Job, place: &Place<'_>) -> Result<Option<Figures>>;
}

/// The places for the engines' state: a folder on the disk, and PostgreSQL.
pub(super) struct Ground {
    stage: PathBuf,
    cluster: Cluster,
    places: Cell<usize>,
}

pub(super) struct Place<'a> {
    pub(super) folder: PathBuf,
    ground: &'a Ground,
    name: String,
}

impl Ground {
    pub(super) fn new(stage: &Path) -> Result<Self> {
        Ok(Self {
            stage: stage.to_owned(),
            cluster: Cluster::start(stage)?,
            places: Cell::new(0),
        })
    }

    /// Measures the present cost of a disk write: the disk is shared, and its speed varies.
    pub(super) fn disk(&self) -> Result<String> {
        let page = disk::sync(&self.stage)?.as_secs_f64() * 1_000.0;
        Ok(format!("a page takes {page:.2} ms to be on the disk"))
    }

    pub(super) fn postgres_version(&self) -> Result<String> {
        self.cluster.version()
    }

    pub(super) fn place(&self) -> Result<Place<'_>> {
        let number = self.places.get() + 1;
        self.places.set(number);
        let name = format!("place{number}");
        let folder = self.stage.join(&name);
        std::fs::create_dir(&folder)?;
        Ok(Place {
            folder,
            ground: self,
            name,
        })
    }
}

impl Place<'_> {
    /// The URL of an empty database in PostgreSQL.
    pub(super) fn postgres(&self) -> Result<String> {
        self.ground.cluster.database(&self.name)
    }

    pub(super) fn url(&self, database: Database) -> Result<String> {
        match database {
            Database::Sqlite => {
                let file = self.folder.join("state.db");
                Ok(format!("sqlite:///{}", file.display()))
            }
            Database::Postgres => self.postgres(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Database {
    Sqlite,
    Postgres,
}

impl Database {
    pub(super) const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}
