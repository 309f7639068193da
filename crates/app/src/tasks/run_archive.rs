//! The project's database, as tasks and plans use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use llm::Secret;
use llm::secret::scrub;
use sha2::{Digest as _, Sha256};
use store::{
    LockedRun, NewRun, Options, RunKind, RunRecord, RunState, SecretScrub, SqliteDatabase,
};

use super::clock::SystemClock;
use crate::workflows::database::{AgentDatabase, ProjectDatabase};
use crate::{Error, ProcessEnvironment, Project};

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

    /// Uses a database that is open already.
    pub(super) fn of(store: ProjectDatabase) -> Self {
        Self { store }
    }

    /// Returns the port to the stored work of agents.
    pub(super) fn runs(&self) -> &dyn AgentDatabase {
        self.store.agent_runs()
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
