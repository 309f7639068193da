//! A sandbox's paths, made real: which place is written, only read, or not seen at all.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::{Git, Sandbox};
use crate::{Error, ErrorKind};

/// Where temporary files are.
pub(crate) const TMP: &str = "/tmp";

/// Places without symbolic links in them, each with its access. A place that is not named has the
/// access of the nearest named one above it; the root can be read.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) workspace: PathBuf,
    pub(crate) places: BTreeMap<PathBuf, Access>,
    /// Where a repository would be if the command could make one: nothing, or a directory with
    /// nothing in it, is there.
    pub(crate) git_missing: Option<PathBuf>,
    /// Files that would be followed if the command could make them: nothing, or a file with nothing
    /// in it, is there.
    pub(crate) reserved: Vec<PathBuf>,
    /// Symbolic links to what is held: whoever writes the workspace can replace them.
    pub(crate) links: Vec<PathBuf>,
}

/// In rising strength: of two words about the same place the stronger counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Empty and private.
    Fresh,
    Write,
    Read,
    Hidden,
}

impl View {
    /// Finds the places of a sandbox, and creates the writable directories that are missing.
    pub(crate) fn of(sandbox: &Sandbox) -> Result<View, Error> {
        let workspace = real_directory(&sandbox.workspace)?;
        let mut view = View {
            places: BTreeMap::new(),
            git_missing: None,
            reserved: Vec::new(),
            links: Vec::new(),
            workspace,
        };
        view.add(view.workspace.clone(), Access::Write);
        for dir in &sandbox.writable {
            let dir = view.writable(dir)?;
            view.add(dir, Access::Write);
        }
        for path in &sandbox.read_only {
            view.hold(path);
        }
        for path in &sandbox.reserved {
            view.reserve(path);
        }
        if sandbox.git == Git::ReadOnly {
            view.protect_git();
        }
        for path in &sandbox.hidden {
            view.add_existing(path, Access::Hidden);
        }
        view.check_hidden()?;
        view.hide_temporary_files();
        view.drop_inside_hidden();
        view.pin_directories();
        Ok(view)
    }

    /// The access of the nearest named place above `path`.
    pub(crate) fn access_above(&self, path: &Path) -> Access {
        path.ancestors()
            .skip(1)
            .find_map(|above| self.places.get(above))
            .map_or(Access::Read, |access| *access)
    }

    /// Whether a place inside `dir` is named.
    pub(crate) fn has_inside(&self, dir: &Path) -> bool {
        self.places
            .range(dir.to_owned()..)
            .find(|(path, _)| path.as_path() != dir)
            .is_some_and(|(path, _)| path.starts_with(dir))
    }

    pub(crate) fn add(&mut self, path: PathBuf, access: Access) {
        let known = self.places.entry(path).or_insert(access);
        *known = access.max(*known);
    }

    fn add_existing(&mut self, path: &Path, access: Access) {
        // What does not exist needs no cover, and what we cannot reach, the command cannot.
        if let Ok(real) = self.workspace.join(path).canonicalize() {
            self.add(real, access);
        }
    }

    fn hold(&mut self, path: &Path) {
        let path = self.workspace.join(path);
        if path.is_symlink() {
            self.links.push(path.clone());
        }
        self.add_existing(&path, Access::Read);
    }

    fn reserve(&mut self, file: &Path) {
        let file = self.workspace.join(file);
        let is_free = match file.symlink_metadata() {
            Ok(found) => found.is_file() && found.len() == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_free {
            self.reserved.push(file);
        } else {
            self.hold(&file);
        }
    }

    /// Keeps the directories above whatever is held or hidden where they are: moved elsewhere, it
    /// would not be found by the rules that the next command is held by.
    fn pin_directories(&mut self) {
        let is_exception = |path: &Path, access: Access| {
            matches!(access, Access::Read | Access::Hidden)
                && self.access_above(path) == Access::Write
        };
        let exceptions = self.places.iter();
        let exceptions = exceptions.filter(|(path, access)| is_exception(path, **access));
        let above = |(path, _): (&PathBuf, &Access)| {
            let above = path.ancestors().skip(1);
            let unnamed = above.take_while(|dir| !self.places.contains_key(*dir));
            unnamed.map(Path::to_owned).collect::<Vec<_>>()
        };
        let pinned: Vec<PathBuf> = exceptions.flat_map(above).collect();
        for dir in pinned {
            self.add(dir, Access::Write);
        }
    }

    fn writable(&self, dir: &Path) -> Result<PathBuf, Error> {
        let wanted = self.workspace.join(dir);
        std::fs::create_dir_all(&wanted).map_err(|source| {
            refused(format!(
                "the writable directory `{}` cannot be created: {source}",
                wanted.display()
            ))
        })?;
        let real = real_directory(&wanted)?;
        // A command that ran before may have put a link in the place of its own directory.
        if dir.is_relative() && !real.starts_with(&self.workspace) {
            return Err(refused(format!(
                "the writable directory `{}` leads out of the workspace to `{}`; remove the symbolic link, or name the directory by its absolute path",
                dir.display(),
                real.display()
            )));
        }
        Ok(real)
    }

    /// Holds `.git`, and where a worktree's or submodule's `.git` file points to.
    fn protect_git(&mut self) {
        let git = self.workspace.join(".git");
        match git.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.git_missing = Some(git);
                return;
            }
            Ok(found) if found.is_symlink() => self.links.push(git.clone()),
            Ok(found) if found.is_dir() && is_empty(&git) => self.git_missing = Some(git.clone()),
            _ => {}
        }
        self.add_existing(&git, Access::Read);
        let Ok(pointer) = std::fs::read_to_string(&git) else {
            return;
        };
        if let Some(dir) = pointer.trim_end().strip_prefix("gitdir: ") {
            let dir = self.workspace.join(dir);
            if let Ok(common) = std::fs::read_to_string(dir.join("commondir")) {
                self.add_existing(&dir.join(common.trim_end()), Access::Read);
            }
            self.add_existing(&dir, Access::Read);
        }
    }

    /// Others' temporary files are not shown, except where one was asked for by name.
    fn hide_temporary_files(&mut self) {
        if let Ok(tmp) = Path::new(TMP).canonicalize()
            && !self.places.contains_key(&tmp)
            && self.access_above(&tmp) == Access::Read
        {
            self.add(tmp, Access::Fresh);
        }
    }

    fn check_hidden(&self) -> Result<(), Error> {
        let above = self.workspace.ancestors();
        let hidden = above
            .filter(|path| self.places.get(*path) == Some(&Access::Hidden))
            .last();
        match hidden {
            Some(path) => Err(refused(format!(
                "the workspace `{}` lies in `{}`, which is to be hidden; hide less",
                self.workspace.display(),
                path.display()
            ))),
            None => Ok(()),
        }
    }

    fn drop_inside_hidden(&mut self) {
        let hidden: Vec<PathBuf> = self
            .places
            .iter()
            .filter(|(_, access)| **access == Access::Hidden)
            .map(|(path, _)| path.clone())
            .collect();
        self.places.retain(|path, _| {
            !hidden
                .iter()
                .any(|dir| path != dir && path.starts_with(dir))
        });
    }
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// The words for a sandbox that cannot be made as it was asked for.
pub(crate) fn refused(why: String) -> Error {
    Error::new(
        ErrorKind::InvalidSandbox,
        format!("the command was not started: {why}"),
    )
}

fn real_directory(path: &Path) -> Result<PathBuf, Error> {
    let real = path.canonicalize().map_err(|source| {
        refused(format!(
            "the directory `{}` cannot be used as writable: {source}",
            path.display()
        ))
    })?;
    if !real.is_dir() {
        return Err(refused(format!(
            "`{}` is not a directory and cannot be made writable as one",
            path.display()
        )));
    }
    if real.parent().is_none() {
        return Err(refused(
            "the whole file system cannot be the workspace; name a directory in it".to_owned(),
        ));
    }
    Ok(real)
}
