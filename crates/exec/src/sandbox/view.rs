//! A sandbox's paths, made real: which place is written, only read, or not seen at all.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::handles::{FileIdentity, identity, open_beneath, open_place};
use super::{GitAccess, Sandbox};
use crate::{Error, ExecErrorKind};

/// The directory of temporary files.
pub(crate) const TMP: &str = "/tmp";
/// Directories in which other programs keep temporary files and the sockets of a session.
const OTHERS_TMP: &[&str] = &[TMP, "/var/tmp", "/run/user"];

/// Places without symbolic links, each with its access. An unnamed place has the access of the
/// nearest named one above it; the root can be read.
#[derive(Debug)]
pub(crate) struct SandboxView {
    pub(crate) workspace: PathBuf,
    /// The directory itself, whatever its name leads to later.
    handle: OwnedFd,
    pub(crate) identity: FileIdentity,
    pub(crate) places: BTreeMap<PathBuf, PlaceAccess>,
    /// The path at which the command could create a repository: nothing is there, or an empty
    /// directory.
    pub(crate) git_missing: Option<PathBuf>,
    /// Files that this program would follow if the command could create them: they are missing or
    /// empty.
    pub(crate) reserved: Vec<PathBuf>,
    /// Symbolic links to protected paths: a command that writes the workspace can replace them.
    pub(crate) links: Vec<PathBuf>,
}

/// In rising strength: of two accesses for the same place the stronger counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PlaceAccess {
    /// Empty and private.
    Fresh,
    Write,
    Read,
    Hidden,
}

impl SandboxView {
    /// Finds the places of a sandbox, and creates the writable directories that are missing.
    pub(crate) fn of(sandbox: &Sandbox) -> Result<SandboxView, Error> {
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
        let mut view = SandboxView {
            handle,
            identity,
            places: BTreeMap::new(),
            git_missing: None,
            reserved: Vec::new(),
            links: Vec::new(),
            workspace,
        };
        view.add(view.workspace.clone(), PlaceAccess::Write);
        for dir in &sandbox.writable {
            let dir = view.writable(dir)?;
            view.add(dir, PlaceAccess::Write);
        }
        for path in &sandbox.read_only {
            view.hold(path);
        }
        for path in &sandbox.reserved {
            view.reserve(path);
        }
        if sandbox.git == GitAccess::ReadOnly {
            view.protect_git();
        }
        for path in &sandbox.hidden {
            view.add_existing(path, PlaceAccess::Hidden);
        }
        view.check_hidden()?;
        view.hide_temporary_files();
        view.drop_inside_hidden();
        view.pin_directories();
        Ok(view)
    }

    /// The access of the nearest named place above `path`.
    pub(crate) fn access_above(&self, path: &Path) -> PlaceAccess {
        path.ancestors()
            .skip(1)
            .find_map(|above| self.places.get(above))
            .map_or(PlaceAccess::Read, |access| *access)
    }

    /// Returns true if a place inside `dir` is named.
    pub(crate) fn has_inside(&self, dir: &Path) -> bool {
        self.places
            .range(dir.to_owned()..)
            .find(|(path, _)| path.as_path() != dir)
            .is_some_and(|(path, _)| path.starts_with(dir))
    }

    pub(crate) fn add(&mut self, path: PathBuf, access: PlaceAccess) {
        let known = self.places.entry(path).or_insert(access);
        *known = access.max(*known);
    }

    fn add_existing(&mut self, path: &Path, access: PlaceAccess) {
        // A path that does not exist needs no cover, and neither does one this process cannot
        // reach: the command cannot either.
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
        // A name in the workspace can only remove access: a command can put a link there, and the
        // target must not become readable by that.
        let is_writable = self.access_at(&real) == PlaceAccess::Write;
        if is_writable || !path.starts_with(&self.workspace) {
            self.add(real, PlaceAccess::Read);
        }
    }

    fn access_at(&self, path: &Path) -> PlaceAccess {
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

    /// Pins the directories above every protected or hidden path: if a command moved one, the rules
    /// for the next command would not find the path.
    fn pin_directories(&mut self) {
        let is_exception = |path: &Path, access: PlaceAccess| {
            matches!(access, PlaceAccess::Read | PlaceAccess::Hidden)
                && self.access_above(path) == PlaceAccess::Write
        };
        let exceptions = self.places.iter();
        let exceptions = exceptions.filter(|(path, access)| is_exception(path, **access));
        let above = |(path, _): (&PathBuf, &PlaceAccess)| {
            let above = path.ancestors().skip(1);
            let unnamed = above.take_while(|dir| !self.places.contains_key(*dir));
            unnamed.map(Path::to_owned).collect::<Vec<_>>()
        };
        let pinned: Vec<PathBuf> = exceptions.flat_map(above).collect();
        for dir in pinned {
            self.add(dir, PlaceAccess::Write);
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

    /// Protects `.git`, and the target of a worktree's or submodule's `.git` file.
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
        self.add_existing(&git, PlaceAccess::Read);
        let Ok(pointer) = std::fs::read_to_string(&git) else {
            return;
        };
        if let Some(dir) = pointer.trim_end().strip_prefix("gitdir: ") {
            let dir = self.workspace.join(dir);
            // A pointer makes its target readable, so the target has to be a repository.
            if !dir.join("HEAD").is_file() {
                return;
            }
            if let Ok(common) = std::fs::read_to_string(dir.join("commondir")) {
                self.add_existing(&dir.join(common.trim_end()), PlaceAccess::Read);
            }
            self.add_existing(&dir, PlaceAccess::Read);
        }
    }

    /// Hides temporary files of other programs, except paths that the sandbox names.
    fn hide_temporary_files(&mut self) {
        let dirs = OTHERS_TMP.iter();
        for dir in dirs.filter_map(|dir| Path::new(dir).canonicalize().ok()) {
            if !self.places.contains_key(&dir) && self.access_above(&dir) == PlaceAccess::Read {
                self.add(dir, PlaceAccess::Fresh);
            }
        }
    }

    fn check_hidden(&self) -> Result<(), Error> {
        let above = self.workspace.ancestors();
        let hidden = above
            .filter(|path| self.places.get(*path) == Some(&PlaceAccess::Hidden))
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
            .filter(|(_, access)| **access == PlaceAccess::Hidden)
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

/// The error for a sandbox that cannot be made as requested.
pub(crate) fn refused(why: String) -> Error {
    Error::new(
        ExecErrorKind::InvalidSandbox,
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
