//! The project's database, as tasks and plans use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::plan::TaskRecord;
use llm::Secret;
use llm::secret::scrub;
use sha2::{Digest as _, Sha256};
use store::{
    LockedRun, NewRun, Options, RunKind, RunNumber, RunRecord, RunState, SecretScrub,
    SqliteDatabase, TaskRecords as _,
};

use super::StartMode;
use super::clock::SystemClock;
use crate::workflows::database::ProjectDatabase;
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};

/// Path of the database, from the project's folder.
pub const DATABASE: &str = ".drawloom/drawloom.db";

/// Begins the names of runs that are steps of workflows.
pub(crate) const STEP_PREFIX: &str = "workflow:";

/// The database of a project.
pub(super) struct RunArchive {
    store: ProjectDatabase,
}

impl RunArchive {
    /// Opens it; `secrets` are taken out of everything that is kept.
    pub(super) async fn open(
        project: &Project,
        surroundings: &ProcessEnvironment,
        secrets: Vec<Secret>,
    ) -> Result<Self, Error> {
        let store = open(project, surroundings, secrets).await?;
        Ok(Self { store })
    }

    /// Opens the run that was asked for, and holds its lock.
    pub(super) async fn run(&self, new: &NewRun, start: StartMode) -> Result<LockedRun, Error> {
        let runs = self.store.agent_runs();
        if start == StartMode::Anew {
            return Ok(runs.begin(new).await?);
        }
        match runs.latest(new.kind, &new.name).await? {
            Some(record) => Ok(runs.resume(record.id).await?),
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
        let runs = self.store.agent_runs();
        let Some(record) = runs.latest(kind, name).await? else {
            return Ok(None);
        };
        let records = runs.task_records(record.id).await?;
        Ok(Some((record, records)))
    }

    /// Returns the newest runs of files, each with whether a process works on it. Steps of workflows and
    /// builds are listed with those.
    pub(super) async fn recent(self, max: usize) -> Result<Vec<(RunRecord, bool)>, Error> {
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        let runs = self.store.agent_runs();
        let mut recent = Vec::new();
        for record in runs.recent(max).await? {
            if record.kind == RunKind::Build || record.name.starts_with(STEP_PREFIX) {
                continue;
            }
            let is_held = runs.is_held(record.id).await?;
            recent.push((record, is_held));
        }
        self.store.close().await?;
        Ok(recent)
    }

    /// Reads all of it.
    pub(super) async fn check(self) -> Result<(), Error> {
        self.store.check().await?;
        Ok(self.store.close().await?)
    }

    pub(super) async fn is_held(&self, run: RunNumber) -> Result<bool, Error> {
        Ok(self.store.agent_runs().is_held(run).await?)
    }

    /// Stores the end of the run and releases its lock. The results of its tasks are stored
    /// already, so if the database fails here nothing is lost: the run can be resumed.
    pub(super) async fn end(self, run: LockedRun, state: RunState) {
        let _ = run.set_state(state).await;
        drop(run);
        let _ = self.store.close().await;
    }
}

/// Opens the project's database, wherever it is; `secrets` are taken out of everything that is kept.
pub(crate) async fn open(
    project: &Project,
    surroundings: &ProcessEnvironment,
    secrets: Vec<Secret>,
) -> Result<ProjectDatabase, Error> {
    ProjectDatabase::open(project, surroundings, None, secrets).await
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

pub(crate) fn place(project: &Project) -> PathBuf {
    project.folder().join(DATABASE)
}
