//! A sandbox's paths, made real: which place is written, only read, or not seen at all.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::handles::{FileIdentity, identity, open_beneath, open_place};
use super::{Git, Sandbox};
use crate::{Error, ErrorKind};

/// Where temporary files are.
pub(crate) const TMP: &str = "/tmp";
/// Where other programs keep temporary files and the sockets of a session.
const OTHERS_TMP: &[&str] = &[TMP, "/var/tmp", "/run/user"];

/// Places without symbolic links in them, each with its access. A place that is not named has the
/// access of the nearest named one above it; the root can be read.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) workspace: PathBuf,
    /// The directory itself, whatever is at its name later.
    handle: OwnedFd,
    pub(crate) identity: FileIdentity,
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
        let opened = open_place(&workspace).and_then(|handle| Ok((identity(&handle)?, handle)));
        let (identity, handle) = opened.map_err(|error| {
            refused(format!(
                "the workspace `{}` cannot be opened: {error}",
                workspace.display()
            ))
        })?;
        if sandbox
            .identity
            .is_some_and(|expected| expected != identity)
        {
            return Err(refused(format!(
                "`{}` is another directory than the one that was opened",
                workspace.display()
            )));
        }
        let mut view = View {
            handle,
            identity,
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
        let Ok(real) = path.canonicalize() else {
            return;
        };
        // A name in the workspace only ever takes something away: a command can put a link there, and
        // what it leads to must not become readable by that.
        let is_writable = self.access_at(&real) == Access::Write;
        if is_writable || !path.starts_with(&self.workspace) {
            self.add(real, Access::Read);
        }
    }

    fn access_at(&self, path: &Path) -> Access {
        let named = self.places.get(path).copied();
        named.unwrap_or_else(|| self.access_above(path))
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
        let inside = match dir.is_relative() {
            true => Some(dir),
            false => dir.strip_prefix(&self.workspace).ok(),
        };
        match inside {
            Some(inside) => self.writable_inside(inside),
            None => {
                std::fs::create_dir_all(dir).map_err(|source| uncreated(dir, &source))?;
                real_directory(dir)
            }
        }
    }

    /// A directory of the workspace. A command that ran before may have put a link in its place, and
    /// one that runs now may do so at any moment.
    fn writable_inside(&self, dir: &Path) -> Result<PathBuf, Error> {
        let wanted = self.workspace.join(dir);
        match make_beneath(&self.handle, dir) {
            Ok(())
                if dir
                    .components()
                    .all(|part| matches!(part, Component::Normal(_))) =>
            {
                return Ok(wanted);
            }
            Ok(()) | Err(Errno::LOOP | Errno::XDEV) => {}
            Err(error) => return Err(uncreated(&wanted, &error.into())),
        }
        let real = real_directory(&wanted)?;
        if real.starts_with(&self.workspace) {
            return Ok(real);
        }
        Err(refused(format!(
            "the writable directory `{}` leads out of the workspace to `{}`; remove the symbolic link, or name the directory by its absolute path",
            dir.display(),
            real.display()
        )))
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
            // A pointer shows what it points to, so it has to be a repository.
            if !dir.join("HEAD").is_file() {
                return;
            }
            if let Ok(common) = std::fs::read_to_string(dir.join("commondir")) {
                self.add_existing(&dir.join(common.trim_end()), Access::Read);
            }
            self.add_existing(&dir, Access::Read);
        }
    }

    /// Others' temporary files are not shown, except where one was asked for by name.
    fn hide_temporary_files(&mut self) {
        let dirs = OTHERS_TMP.iter();
        for dir in dirs.filter_map(|dir| Path::new(dir).canonicalize().ok()) {
            if !self.places.contains_key(&dir) && self.access_above(&dir) == Access::Read {
                self.add(dir, Access::Fresh);
            }
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

/// Makes a directory and those above it, from `handle` downwards.
fn make_beneath(handle: &OwnedFd, dir: &Path) -> rustix::io::Result<()> {
    let open = |path: &Path| {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        open_beneath(handle, path, flags, Mode::empty())
    };
    let mut path = PathBuf::new();
    let mut above = open(&path)?;
    for part in dir.components() {
        path.push(part);
        let opened = match open(&path) {
            Err(Errno::NOENT) => {
                match rustix::fs::mkdirat(&above, part.as_os_str(), Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => open(&path),
                    Err(error) => Err(error),
                }
            }
            opened => opened,
        };
        above = opened?;
    }
    Ok(())
}

fn uncreated(dir: &Path, source: &io::Error) -> Error {
    refused(format!(
        "the writable directory `{}` cannot be created: {source}",
        dir.display()
    ))
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
