//! The index of a project, and whom a change of its files reaches.

use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use workspace::index::{Cache, Impact, Index};
use workspace::{Policy, RelPath, Root, Workspace, fs};

use crate::project;
use crate::settings::Settings;
use crate::{Code, Error, Surroundings, nearest};

/// How many names are offered in place of one that is not there.
const OFFERED_MAX: usize = 3;

/// Why something that is there is not in an index.
const NOT_INDEXED: &str = "it is ignored by git, a link, or kept from being read by `agent.policy`";

/// A project that has been read.
#[derive(Debug)]
pub struct Indexed {
    pub index: Index,
    /// Where the project is.
    pub folder: PathBuf,
    /// The part of it that was asked for; the root for all of it.
    pub part: RelPath,
}

/// Reads the project around `at`, or around the current folder: the one with a `drawloom.toml` or a
/// `.drawloom`, else the repository, else the current folder, or `at` where that is outside of it.
pub fn index(surroundings: &Surroundings, at: Option<&Path>) -> Result<Indexed, Error> {
    index_with(surroundings, at, |_, _| Vec::new())
}

/// As [`index`], with files that are gone; `gone` is told the project's folder and what may be read.
fn index_with(
    surroundings: &Surroundings,
    at: Option<&Path>,
    gone: impl FnOnce(&Path, &Policy) -> Vec<RelPath>,
) -> Result<Indexed, Error> {
    let start = at.map_or_else(|| surroundings.cwd.clone(), |at| surroundings.path(at));
    if !fs::exists(&start) {
        let message = format!("there is no folder {}", start.display());
        return Err(Error::new(Code::File, message).hint("name a folder of a project"));
    }
    if !fs::is_dir(&start) {
        let message = format!("{} is not a folder", start.display());
        let hint = "name the folder it is in; `drawloom impact FILE` says who imports a file";
        return Err(Error::new(Code::File, message).hint(hint));
    }
    let start = fs::canonical(&start)?;
    let place = project::find(&start, surroundings)?;
    // Nobody wants a `.drawloom` in a folder that is none of ours: it would make it a project.
    let is_ours = place.is_marked;
    let settings_file = place.settings_file().filter(|_| is_ours);
    let settings = Settings::resolve(settings_file.as_deref(), surroundings)?;
    let folder = match is_ours {
        true => place.folder,
        false => unmarked_root(&start, &fs::canonical(&surroundings.cwd)?),
    };
    let root = Root::open(&folder)?;
    if is_ours {
        root.recover()?;
    }
    let cache = match is_ours {
        true => Cache::at(UNIX_EPOCH + Duration::from_secs_f64(surroundings.now_ms / 1000.0)),
        false => Cache::none(),
    };
    let agent = &settings.agent;
    let space = Workspace::new(root, Policy::new(&agent.policy)?, agent.files);
    let gone = gone(&folder, space.policy());
    let index = Index::build_with_gone(&space, &cache, &gone)?;
    let part = match at {
        Some(_) => inside(&folder, &start)?,
        None => RelPath::root(),
    };
    Ok(Indexed {
        index,
        folder,
        part,
    })
}

/// What changing these files reaches, at most `depth_max` imports away.
#[derive(Debug)]
pub struct Reached {
    /// The files, as the project names them.
    pub changed: Vec<RelPath>,
    pub impact: Impact,
    /// Those of them that are not there any more.
    pub gone: Vec<RelPath>,
    /// Why something that was given has no part in it.
    pub left_out: Vec<Error>,
}

/// Whom changes to `files` reach, given relative to the current folder or to the project's; a
/// folder stands for the files in it. A file that is gone reaches those who still import it, and under
/// the name that git knows it by now, if it was renamed. What never was there is left out, as long as
/// anything else is given.
pub fn impact(
    surroundings: &Surroundings,
    files: &[PathBuf],
    depth_max: u32,
) -> Result<(Indexed, Reached), Error> {
    let mut lost = Gone::default();
    let indexed = index_with(surroundings, None, |folder, policy| {
        lost = Gone::find(folder, surroundings, files);
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
    let reached = Reached {
        changed,
        impact,
        gone: lost.paths,
        left_out,
    };
    Ok((indexed, reached))
}

/// What was given and is not there, but was committed.
#[derive(Default)]
struct Gone<'f> {
    given: Vec<&'f PathBuf>,
    /// The files of the project it stands for.
    paths: Vec<RelPath>,
    /// Where git says some of them are now.
    renamed: Vec<RelPath>,
}

impl<'f> Gone<'f> {
    fn find(folder: &Path, surroundings: &Surroundings, files: &'f [PathBuf]) -> Self {
        let mut found = Self::default();
        let is_there =
            |file: &PathBuf| fs::exists(&surroundings.path(file)) || fs::exists(&folder.join(file));
        let missing: Vec<&PathBuf> = files.iter().filter(|file| !is_there(file)).collect();
        if missing.is_empty() {
            return found;
        }
        let Ok(repository) = vcs::Repository::open(&vcs::Git::at(folder)) else {
            return found;
        };
        let top = repository.top().to_owned();
        let renamed = repository.renamed().unwrap_or_default();
        let in_project = |path: &PathBuf| inside(folder, &top.join(path)).ok();
        for given in missing {
            // As one stands, and as git names files, from the top.
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

impl Indexed {
    /// The files of the index that are meant by `path`, which was written as `given`.
    fn meant(&self, path: &Path, given: &Path) -> Result<Vec<RelPath>, Error> {
        // Git names files from the top, wherever one stands.
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
            return Err(Error::new(Code::File, message)
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
                return Err(Error::new(Code::NotFound, message).hint(NOT_INDEXED));
            }
            return Ok(inside);
        }
        if fs::exists(&real) {
            let message = format!("{shown} is not in the index");
            return Err(Error::new(Code::NotFound, message).hint(NOT_INDEXED));
        }
        let message = format!("there is no file {shown} in the project");
        let error = Error::new(Code::NotFound, message);
        Err(match self.similar(&named).as_slice() {
            [] => error.hint("`drawloom index` lists the files of the project"),
            names => error.hint(format!("did you mean {}?", names.join(", or "))),
        })
    }

    /// The names that a mistyped one was probably meant to be: those of the same last name first.
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

/// The root for a folder outside of any project: its repository, else the current folder.
fn unmarked_root(start: &Path, cwd: &Path) -> PathBuf {
    let otherwise = || if start.starts_with(cwd) { cwd } else { start }.to_owned();
    fs::find_upward(start, ".git").unwrap_or_else(otherwise)
}

/// `path` as the project in `folder` names it.
fn inside(folder: &Path, path: &Path) -> Result<RelPath, Error> {
    let below = path.strip_prefix(folder).map_err(|_| {
        let message = format!("{} is outside of {}", path.display(), folder.display());
        Error::new(Code::File, message)
    })?;
    match below.to_str() {
        Some("") => Ok(RelPath::root()),
        Some(text) => Ok(RelPath::parse(text)?),
        None => {
            let message = format!("{} is not UTF-8", path.display());
            Err(Error::new(Code::File, message).hint("rename it"))
        }
    }
}

/// The path without `.` and `..`, for a file that is not there.
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
