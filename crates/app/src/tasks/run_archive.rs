//! The project's database, as tasks and plans use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::plan::TaskRecord;
use llm::Secret;
use llm::secret::scrub;
use sha2::{Digest as _, Sha256};
use store::{
    LockedRun, NewRun, Options, RunKind, RunNumber, RunRecord, RunState, SecretScrub,
    SqliteDatabase,
};
use workspace::fs;

use super::StartMode;
use super::clock::SystemClock;
use crate::{AppErrorCode, Error, Project, ignoring};

/// Path of the database, from the project's folder.
pub const DATABASE: &str = ".drawloom/drawloom.db";

/// The database of a project.
pub(super) struct RunArchive {
    store: SqliteDatabase,
}

impl RunArchive {
    /// Opens it; `secrets` are taken out of everything that is kept.
    pub(super) async fn open(project: &Project, secrets: Vec<Secret>) -> Result<Self, Error> {
        let store = open(project, secrets).await?;
        Ok(Self { store })
    }

    /// Opens the run that was asked for, and holds its lock.
    pub(super) async fn run(&self, new: &NewRun, start: StartMode) -> Result<LockedRun, Error> {
        if start == StartMode::Anew {
            return Ok(self.store.begin(new).await?);
        }
        match self.store.latest(new.kind, &new.name).await? {
            Some(record) => Ok(self.store.resume(record.id).await?),
            None => {
                let message = format!("there is no run of {} to resume", new.name);
                Err(Error::new(AppErrorCode::NotFound, message)
                    .hint("leave out `--resume` to begin one"))
            }
        }
    }

    /// Finds the last run of a file, with the results of its tasks.
    pub(super) async fn last(
        &self,
        kind: RunKind,
        name: &str,
    ) -> Result<Option<(RunRecord, Vec<TaskRecord>)>, Error> {
        let Some(record) = self.store.latest(kind, name).await? else {
            return Ok(None);
        };
        let records = self.store.task_records(record.id).await?;
        Ok(Some((record, records)))
    }

    /// Reads all of it.
    pub(super) async fn check(self) -> Result<(), Error> {
        self.store.check().await?;
        Ok(self.store.close().await?)
    }

    pub(super) fn is_held(&self, run: RunNumber) -> Result<bool, Error> {
        Ok(self.store.is_held(run)?)
    }

    /// Stores the end of the run and releases its lock. The results of its tasks are stored
    /// already, so if the database fails here nothing is lost: the run can be resumed.
    pub(super) async fn end(self, run: LockedRun, state: RunState) {
        let _ = run.set_state(state).await;
        drop(run);
        let _ = self.store.close().await;
    }
}

/// Opens the database; `secrets` are taken out of everything that is kept.
pub(crate) async fn open(project: &Project, secrets: Vec<Secret>) -> Result<SqliteDatabase, Error> {
    let store = open_at(&place(project), secrets).await?;
    ignoring::ignore_private(&project.root)?;
    Ok(store)
}

/// Opens the database at another path.
pub(crate) async fn open_at(place: &Path, secrets: Vec<Secret>) -> Result<SqliteDatabase, Error> {
    let options = Options {
        clock: Arc::new(SystemClock),
        scrub: Some(scrubbing(secrets)),
        bytes_max: None,
        pid: std::process::id(),
    };
    Ok(SqliteDatabase::open(place, options).await?)
}

/// Takes these out of everything that is kept.
pub(crate) fn scrubbing(secrets: Vec<Secret>) -> SecretScrub {
    Arc::new(move |text: &str| {
        let clean = scrub(text, &secrets);
        (clean != text).then_some(clean)
    })
}

pub(super) fn new_run(kind: RunKind, name: &str, definition: &str) -> NewRun {
    NewRun {
        kind,
        name: name.to_owned(),
        digest: digest(definition),
    }
}

/// Hashes a text, in hexadecimal.
pub(crate) fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn exists(project: &Project) -> bool {
    fs::exists(&place(project))
}

pub(crate) fn place(project: &Project) -> PathBuf {
    project.folder().join(DATABASE)
}
