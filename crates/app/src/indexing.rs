//! The index of a project, and the files that a change reaches.

use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use index::{ChangeImpact, IndexCache, SourceIndex};
use workspace::{AccessPolicy, RelPath, Root, Workspace, fs};

use crate::project;
use crate::settings::ProjectSettings;
use crate::{AppErrorCode, Error, ProcessEnvironment, nearest};

/// Number of similar names in the error about one that does not exist.
const OFFERED_MAX: usize = 3;

/// Reason why an existing file is not in an index.
const NOT_INDEXED: &str = "it is ignored by git, a link, or kept from being read by `agent.policy`";

/// A project that has been read.
#[derive(Debug)]
pub struct IndexedFolder {
    pub index: SourceIndex,
    /// The project's folder.
    pub folder: PathBuf,
    /// The part of it that was asked for; the root for all of it.
    pub part: RelPath,
}

/// Reads the project around `at`, or around the current folder: the one with a `drawloom.toml` or a
/// `.drawloom`, else the repository, else the current folder, or `at` where that is outside of it.
pub fn index(surroundings: &ProcessEnvironment, at: Option<&Path>) -> Result<IndexedFolder, Error> {
    index_with(surroundings, at, |_, _| Vec::new())
}

/// Indexes like [`index`], with deleted files; calls `gone` with the project's folder and the
/// policy.
fn index_with(
    surroundings: &ProcessEnvironment,
    at: Option<&Path>,
    gone: impl FnOnce(&Path, &AccessPolicy) -> Vec<RelPath>,
) -> Result<IndexedFolder, Error> {
    let start = at.map_or_else(|| surroundings.cwd.clone(), |at| surroundings.path(at));
    if !fs::exists(&start) {
        let message = format!("there is no folder {}", start.display());
        return Err(Error::new(AppErrorCode::File, message).hint("name a folder of a project"));
    }
    if !fs::is_dir(&start) {
        let message = format!("{} is not a folder", start.display());
        let hint = "name the folder it is in; `drawloom impact FILE` says who imports a file";
        return Err(Error::new(AppErrorCode::File, message).hint(hint));
    }
    let start = fs::canonical(&start)?;
    let place = project::find(&start, surroundings)?;
    // A `.drawloom` in a folder that is not a project would make it one, so nothing is written
    // there.
    let is_ours = place.is_marked;
    let settings_file = place.settings_file().filter(|_| is_ours);
    let settings = ProjectSettings::resolve(settings_file.as_deref(), surroundings)?;
    let folder = match is_ours {
        true => place.folder,
        false => unmarked_root(&start, &fs::canonical(&surroundings.cwd)?),
    };
    let root = Root::open(&folder)?;
    if is_ours {
        root.recover()?;
    }
    let cache = match is_ours {
        true => IndexCache::at(UNIX_EPOCH + Duration::from_secs_f64(surroundings.now_ms / 1000.0)),
        false => IndexCache::none(),
    };
    let agent = &settings.agent;
    let space = Workspace::new(root, AccessPolicy::new(&agent.policy)?, agent.files);
    let gone = gone(&folder, space.policy());
    let index = SourceIndex::build_with_gone(&space, &cache, &gone)?;
    let part = match at {
        Some(_) => inside(&folder, &start)?,
        None => RelPath::root(),
    };
    Ok(IndexedFolder {
        index,
        folder,
        part,
    })
}

/// The files that a change reaches, at most `depth_max` imports away.
#[derive(Debug)]
pub struct ReachedFiles {
    /// The files, as the project names them.
    pub changed: Vec<RelPath>,
    pub impact: ChangeImpact,
    /// Those of them that are not there any more.
    pub gone: Vec<RelPath>,
    /// Reasons why given paths are left out.
    pub left_out: Vec<Error>,
}

/// Finds the files that changes to `files` reach. Paths are relative to the current folder or to
/// the project's; a folder means the files in it. A deleted file reaches the files that still
/// import it, and if git knows that it was renamed, those that import its new name. A path that
/// never existed is left out, as long as another one is given.
pub fn impact(
    surroundings: &ProcessEnvironment,
    files: &[PathBuf],
    depth_max: u32,
) -> Result<(IndexedFolder, ReachedFiles), Error> {
    let mut lost = DeletedFiles::default();
    let indexed = index_with(surroundings, None, |folder, policy| {
        lost = DeletedFiles::find(folder, surroundings, files);
        lost.paths.retain(|path| policy.check_read(path).is_ok());
        lost.paths.clone()
    })?;
    let mut changed: Vec<RelPath> = lost.renamed;
    changed.retain(|path| indexed.index.file(path).is_some());
    changed.extend(lost.paths.iter().cloned());
    let mut left_out = Vec::new();
    for file in files.iter().filter(|file| !lost.given.contains(file)) {
        match indexed.meant(&surroundings.path(file), file) {
            Ok(paths) => changed.extend(paths),
            Err(error) => left_out.push(error),
        }
    }
    if changed.is_empty() && !left_out.is_empty() {
        return Err(left_out.swap_remove(0));
    }
    changed.sort();
    changed.dedup();
    let impact = indexed.index.impact(&changed, depth_max);
    let reached = ReachedFiles {
        changed,
        impact,
        gone: lost.paths,
        left_out,
    };
    Ok((indexed, reached))
}

/// Given paths that do not exist, but were committed.
#[derive(Default)]
struct DeletedFiles<'f> {
    given: Vec<&'f PathBuf>,
    /// The files of the project that it means.
    paths: Vec<RelPath>,
    /// The new paths of some of them, according to git.
    renamed: Vec<RelPath>,
}

impl<'f> DeletedFiles<'f> {
    fn find(folder: &Path, surroundings: &ProcessEnvironment, files: &'f [PathBuf]) -> Self {
        let mut found = Self::default();
        let is_there =
            |file: &PathBuf| fs::exists(&surroundings.path(file)) || fs::exists(&folder.join(file));
        let missing: Vec<&PathBuf> = files.iter().filter(|file| !is_there(file)).collect();
        if missing.is_empty() {
            return found;
        }
        let Ok(repository) = vcs::Repository::open(&vcs::GitProgram::at(folder)) else {
            return found;
        };
        let top = repository.top().to_owned();
        let renamed = repository.renamed().unwrap_or_default();
        let in_project = |path: &PathBuf| inside(folder, &top.join(path)).ok();
        for given in missing {
            // Relative to the current folder, and as git names files, from the top.
            let spellings = [plain(&surroundings.path(given)), top.join(given)];
            let committed = spellings.iter().find_map(|path| {
                let path = path.strip_prefix(&top).ok()?;
                let committed = repository.committed(path).ok()?;
                (!committed.is_empty()).then_some(committed)
            });
            let Some(committed) = committed else {
                continue;
            };
            found.given.push(given);
            found.paths.extend(committed.iter().filter_map(in_project));
            let now = renamed.iter().filter(|(old, _)| committed.contains(old));
            found
                .renamed
                .extend(now.filter_map(|(_, new)| in_project(new)));
        }
        found
            .paths
            .retain(|path| !fs::exists(&folder.join(path.as_str())));
        found
    }
}

impl IndexedFolder {
    /// Returns the files of the index that `path` means, which was written as `given`.
    fn meant(&self, path: &Path, given: &Path) -> Result<Vec<RelPath>, Error> {
        // Git names files from the top, whatever the current folder is.
        let from_top = Some(self.folder.join(given)).filter(|it| fs::exists(it));
        let path = match from_top {
            Some(from_top) if !fs::exists(path) => from_top,
            _ => path.to_owned(),
        };
        let real = fs::canonical(&path).unwrap_or_else(|_| plain(&path));
        let shown = given.display();
        if !real.starts_with(&self.folder) {
            let message = format!(
                "{shown} is outside of the project {}",
                self.folder.display()
            );
            return Err(Error::new(AppErrorCode::File, message)
                .hint("name a file of this project, or use `--cwd` to work in another"));
        }
        let named = inside(&self.folder, &real)?;
        if self.index.file(&named).is_some() {
            return Ok(vec![named]);
        }
        if fs::is_dir(&real) {
            let paths = self.index.files().iter().map(|file| &file.path);
            let inside: Vec<_> = paths.filter(|it| it.is_within(&named)).cloned().collect();
            if inside.is_empty() {
                let message = format!("no file in the folder {shown} is in the index");
                return Err(Error::new(AppErrorCode::NotFound, message).hint(NOT_INDEXED));
            }
            return Ok(inside);
        }
        if fs::exists(&real) {
            let message = format!("{shown} is not in the index");
            return Err(Error::new(AppErrorCode::NotFound, message).hint(NOT_INDEXED));
        }
        let message = format!("there is no file {shown} in the project");
        let error = Error::new(AppErrorCode::NotFound, message);
        Err(match self.similar(&named).as_slice() {
            [] => error.hint("`drawloom index` lists the files of the project"),
            names => error.hint(format!("did you mean {}?", names.join(", or "))),
        })
    }

    /// Returns the names that a mistyped one was probably meant to be: those of the same last name
    /// first.
    fn similar(&self, wanted: &RelPath) -> Vec<String> {
        let paths = || self.index.files().iter().map(|file| &file.path);
        let stem = |path: &RelPath| {
            let name = path.file_name().unwrap_or_default();
            name.split('.').next().unwrap_or_default().to_lowercase()
        };
        let same: Vec<String> = paths()
            .filter(|path| stem(path) == stem(wanted))
            .take(OFFERED_MAX)
            .map(ToString::to_string)
            .collect();
        if !same.is_empty() {
            return same;
        }
        let close = nearest(wanted.as_str(), paths().map(RelPath::as_str));
        close.into_iter().map(str::to_owned).collect()
    }
}

/// Returns the root for a folder outside of any project: its repository, else the current folder.
fn unmarked_root(start: &Path, cwd: &Path) -> PathBuf {
    let otherwise = || if start.starts_with(cwd) { cwd } else { start }.to_owned();
    fs::find_upward(start, ".git").unwrap_or_else(otherwise)
}

/// Returns `path` as the project in `folder` names it.
fn inside(folder: &Path, path: &Path) -> Result<RelPath, Error> {
    let below = path.strip_prefix(folder).map_err(|_| {
        let message = format!("{} is outside of {}", path.display(), folder.display());
        Error::new(AppErrorCode::File, message)
    })?;
    match below.to_str() {
        Some("") => Ok(RelPath::root()),
        Some(text) => Ok(RelPath::parse(text)?),
        None => {
            let message = format!("{} is not UTF-8", path.display());
            Err(Error::new(AppErrorCode::File, message).hint("rename it"))
        }
    }
}

/// Removes `.` and `..` from the path of a file that does not exist.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
