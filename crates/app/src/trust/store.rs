//! The trust store: what the user has decided, a file a project, in the user's own folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use workspace::fs;
use workspace::ownership::FolderIdentity;

use super::act::{Act, digest};
use crate::settings::unsafe_file;
use crate::{Code, Error, Surroundings};

const FOLDER: &str = "trust";

/// What the user has decided about one project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub folder: PathBuf,
    pub extent: Extent,
    /// When, in milliseconds since 1970.
    pub decided_ms: u64,
}

/// How much the user trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// This folder, whatever is in it: it was made here. A clone in its place is another folder.
    Folder(FolderIdentity),
    /// Exactly what was shown.
    Acts(Vec<Act>),
}

/// The user's decisions on disk.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: Option<PathBuf>,
    surroundings: Surroundings,
}

impl TrustStore {
    pub fn new(surroundings: &Surroundings) -> Self {
        let state = surroundings.user_folders.state.as_ref();
        Self {
            folder: state.map(|state| state.join(FOLDER)),
            surroundings: surroundings.clone(),
        }
    }

    /// Returns what was decided about the project in this folder, if anything was.
    pub fn find(&self, project: &Path) -> Result<Option<Decision>, Error> {
        match self.file(project) {
            Some(file) => self.read(&file),
            None => Ok(None),
        }
    }

    /// Returns every decision, by folder.
    pub fn all(&self) -> Result<Vec<Decision>, Error> {
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

    pub fn keep(&self, decision: &Decision) -> Result<(), Error> {
        let Some(file) = self.file(&decision.folder) else {
            return Err(Error::new(
                Code::File,
                "there is no home folder to keep the decision in",
            )
            .hint("set HOME or XDG_STATE_HOME, or use `--trust` for this one time"));
        };
        let text = serde_json::to_vec_pretty(decision)
            .map_err(|cause| Error::new(Code::File, cause.to_string()))?;
        Ok(fs::write_private(&file, &text)?)
    }

    /// Forgets what was decided; whether there was anything to forget.
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

    /// A decision that another user could have written is no decision.
    fn read(&self, file: &Path) -> Result<Option<Decision>, Error> {
        self.surroundings.owners.check(file).map_err(unsafe_file)?;
        let Some(text) = fs::read_text(file)? else {
            return Ok(None);
        };
        serde_json::from_str(&text).map(Some).map_err(|cause| {
            Error::new(
                Code::File,
                format!("{} cannot be read: {cause}", file.display()),
            )
            .hint("remove the file and decide again with `drawloom trust`")
        })
    }
}
