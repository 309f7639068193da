//! The trust store: what the user has decided, a file a project, in the user's own folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use workspace::fs;
use workspace::ownership::FolderIdentity;

use super::act::{ProjectAct, digest};
use crate::settings::unsafe_file;
use crate::{AppErrorCode, Error, ProcessEnvironment};

const FOLDER: &str = "trust";

/// The user's decision about one project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustDecision {
    pub folder: PathBuf,
    pub extent: TrustExtent,
    /// When, in milliseconds since 1970.
    pub decided_ms: u64,
}

/// Extent of the trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustExtent {
    /// This folder with any contents, because it was made here. A clone in its place is another
    /// folder.
    Folder(FolderIdentity),
    /// Exactly the acts that the user was shown.
    Acts(Vec<ProjectAct>),
}

/// The user's decisions on disk.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: Option<PathBuf>,
    surroundings: ProcessEnvironment,
}

impl TrustStore {
    pub fn new(surroundings: &ProcessEnvironment) -> Self {
        let state = surroundings.user_folders.state.as_ref();
        Self {
            folder: state.map(|state| state.join(FOLDER)),
            surroundings: surroundings.clone(),
        }
    }

    /// Returns the decision about the project in this folder, if there is one.
    pub fn find(&self, project: &Path) -> Result<Option<TrustDecision>, Error> {
        match self.file(project) {
            Some(file) => self.read(&file),
            None => Ok(None),
        }
    }

    /// Returns every decision, by folder.
    pub fn all(&self) -> Result<Vec<TrustDecision>, Error> {
        let Some(folder) = self.folder.as_ref().filter(|folder| fs::is_dir(folder)) else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        for file in fs::files_in(folder)? {
            all.extend(self.read(&file)?);
        }
        all.sort_by(|a, b| a.folder.cmp(&b.folder));
        Ok(all)
    }

    pub fn keep(&self, decision: &TrustDecision) -> Result<(), Error> {
        let Some(file) = self.file(&decision.folder) else {
            return Err(Error::new(
                AppErrorCode::File,
                "there is no home folder to keep the decision in",
            )
            .hint("set HOME or XDG_STATE_HOME, or use `--trust` for this one time"));
        };
        let text = serde_json::to_vec_pretty(decision)
            .map_err(|cause| Error::new(AppErrorCode::File, cause.to_string()))?;
        Ok(fs::write_private(&file, &text)?)
    }

    /// Forgets a decision; returns true if there was one.
    pub fn forget(&self, project: &Path) -> Result<bool, Error> {
        match self.file(project) {
            Some(file) => Ok(fs::remove_file(&file)?),
            None => Ok(false),
        }
    }

    fn file(&self, project: &Path) -> Option<PathBuf> {
        let name = digest(std::iter::once(&*project.to_string_lossy()));
        Some(self.folder.as_ref()?.join(format!("{name}.json")))
    }

    /// Reads a decision. One that another user could have written does not count.
    fn read(&self, file: &Path) -> Result<Option<TrustDecision>, Error> {
        self.surroundings.owners.check(file).map_err(unsafe_file)?;
        let Some(text) = fs::read_text(file)? else {
            return Ok(None);
        };
        serde_json::from_str(&text).map(Some).map_err(|cause| {
            Error::new(
                AppErrorCode::File,
                format!("{} cannot be read: {cause}", file.display()),
            )
            .hint("remove the file and decide again with `drawloom trust`")
        })
    }
}
