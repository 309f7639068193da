//! Files named on the command line: read, and placed in the project.

use std::path::{Path, PathBuf};

use workspace::{RelPath, fs};

use super::outside;
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};

/// A file with its text.
pub(super) struct InputFile {
    pub(super) text: String,
    /// As problems call it.
    pub(super) shown: String,
    /// The name under which its runs are kept: from the project's folder, or the whole path.
    pub(super) name: String,
    inside: Option<RelPath>,
}

impl InputFile {
    /// Returns its path in the project.
    pub(super) fn inside(&self, given: &Path) -> Result<RelPath, Error> {
        self.inside.clone().ok_or_else(|| outside(given))
    }
}

pub(super) fn read(
    project: &Project,
    surroundings: &ProcessEnvironment,
    given: &Path,
) -> Result<InputFile, Error> {
    let path = surroundings.path(given);
    let Some(text) = fs::read_text(&path)? else {
        let message = format!("there is no file {}", given.display());
        return Err(Error::new(AppErrorCode::File, message)
            .hint("a path is taken from the folder you are in, or from `--cwd`"));
    };
    let inside = relative(project, &fs::canonical(&path)?);
    let name = match &inside {
        Some(inside) => inside.to_string(),
        None => fs::canonical(&path)?.display().to_string(),
    };
    let shown = given.display().to_string();
    Ok(InputFile {
        text,
        shown,
        name,
        inside,
    })
}

/// Returns the path in the project of a file that need not exist yet.
pub(super) fn inside(
    project: &Project,
    surroundings: &ProcessEnvironment,
    given: &Path,
) -> Result<RelPath, Error> {
    let path = surroundings.path(given);
    let (folder, name) = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => (folder, name),
        _ => return Err(outside(given)),
    };
    let folder = fs::canonical(folder)?;
    relative(project, &folder.join(name)).ok_or_else(|| outside(given))
}

/// Returns the default path of the plan for some requirements.
pub fn plan_beside(requirements: &Path) -> PathBuf {
    requirements.with_extension("plan.json")
}

fn relative(project: &Project, path: &Path) -> Option<RelPath> {
    let folder = fs::canonical(project.folder()).ok()?;
    let inside = path.strip_prefix(folder).ok()?;
    RelPath::parse(inside.to_str()?).ok()
}
