//! The project's database, as tasks and plans use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::plan::TaskRecord;
use llm::Secret;
use llm::secret::scrub;
use sha2::{Digest as _, Sha256};
use store::{NewRun, Options, Run, RunId, RunKind, RunRecord, RunState, Scrub, Store};
use workspace::fs;

use super::Start;
use super::clock::SystemClock;
use crate::{Code, Error, Project, ignoring};

/// Where the database is, from the project's folder.
pub const DATABASE: &str = ".drawloom/drawloom.db";

/// The database of a project.
pub(super) struct Archive {
    store: Store,
}

impl Archive {
    /// Opens it; `secrets` are taken out of everything that is kept.
    pub(super) async fn open(project: &Project, secrets: Vec<Secret>) -> Result<Self, Error> {
        let store = open(project, secrets).await?;
        Ok(Self { store })
    }

    /// The run that was asked for, held by us.
    pub(super) async fn run(&self, new: &NewRun, start: Start) -> Result<Run, Error> {
        if start == Start::Anew {
            return Ok(self.store.begin(new).await?);
        }
        match self.store.latest(new.kind, &new.name).await? {
            Some(record) => Ok(self.store.resume(record.id).await?),
            None => {
                let message = format!("there is no run of {} to resume", new.name);
                Err(Error::new(Code::NotFound, message).hint("leave out `--resume` to begin one"))
            }
        }
    }

    /// The last run of a file, with what became of its tasks.
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

    pub(super) fn is_held(&self, run: RunId) -> Result<bool, Error> {
        Ok(self.store.is_held(run)?)
    }

    /// Says how the run ended and lets go of it. What became of its tasks is kept already, so a
    /// database that cannot take this loses nothing: the run can be resumed.
    pub(super) async fn end(self, run: Run, state: RunState) {
        let _ = run.set_state(state).await;
        drop(run);
        let _ = self.store.close().await;
    }
}

/// Opens the database; `secrets` are taken out of everything that is kept.
pub(crate) async fn open(project: &Project, secrets: Vec<Secret>) -> Result<Store, Error> {
    let store = open_at(&place(project), secrets).await?;
    ignoring::ignore_private(&project.root)?;
    Ok(store)
}

/// The same at another place.
pub(crate) async fn open_at(place: &Path, secrets: Vec<Secret>) -> Result<Store, Error> {
    let options = Options {
        clock: Arc::new(SystemClock),
        scrub: Some(scrubbing(secrets)),
        bytes_max: None,
        pid: std::process::id(),
    };
    Ok(Store::open(place, options).await?)
}

/// Takes these out of everything that is kept.
pub(crate) fn scrubbing(secrets: Vec<Secret>) -> Scrub {
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

/// A hash of a text, in hexadecimal.
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
