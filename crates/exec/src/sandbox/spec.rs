//! The permissions of a sandboxed command, fixed before it starts.

use std::fmt;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Bytes that the private `/tmp` of a sandbox holds if the settings name no limit.
pub const TMP_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// The restrictions of one command. Everything is readable; only the workspace, the added
/// directories and a private directory for temporary files are writable; the network is off.
///
/// Relative paths start at the workspace. If paths lie inside each other, the deeper one decides,
/// except that nothing inside a hidden path is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    pub(crate) workspace: PathBuf,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) reserved: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) git: GitAccess,
    pub(crate) network: NetworkAccess,
    pub(crate) unix_sockets: UnixSockets,
    pub(crate) tmp_bytes_max: u64,
    pub(crate) limits: ResourceLimits,
    pub(crate) requirement: SandboxRequirement,
    /// The directory that `workspace` has to be.
    #[cfg(target_os = "linux")]
    pub(crate) identity: Option<super::handles::FileIdentity>,
}

/// Resource limits of one sandboxed command. Time and output are limits of the
/// [`Invocation`](crate::Invocation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Processes and threads at the same time.
    pub processes_max: u64,
    /// Memory that one process can write to. Address space that is only reserved does not count, so
    /// that Java, Go and Node work.
    pub memory_bytes_max: u64,
    /// The largest file that can be written.
    pub file_bytes_max: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            processes_max: 4096,
            memory_bytes_max: 16 * 1024 * 1024 * 1024,
            file_bytes_max: 8 * 1024 * 1024 * 1024,
        }
    }
}

impl Sandbox {
    /// Makes a sandbox in which only `workspace` can be written, except its `.git`.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            writable: Vec::new(),
            read_only: Vec::new(),
            reserved: Vec::new(),
            hidden: Vec::new(),
            git: GitAccess::default(),
            network: NetworkAccess::default(),
            unix_sockets: UnixSockets::default(),
            tmp_bytes_max: TMP_BYTES_MAX,
            limits: ResourceLimits::default(),
            requirement: SandboxRequirement::default(),
            #[cfg(target_os = "linux")]
            identity: None,
        }
    }

    /// Adds a writable directory, such as a package cache. It is created if it is missing. A
    /// relative one must not lead out of the workspace by a symbolic link.
    #[must_use]
    pub fn writable(mut self, dir: impl Into<PathBuf>) -> Self {
        self.writable.push(dir.into());
        self
    }

    /// Adds a file or directory that cannot be written although it lies in a writable directory:
    /// files this program acts on later, such as its own settings. Only existing paths can be
    /// protected.
    #[must_use]
    pub fn read_only(mut self, path: impl Into<PathBuf>) -> Self {
        self.read_only.push(path.into());
        self
    }

    /// Adds a file that the command can neither write nor create, such as settings this program
    /// would follow. If it is missing, an empty one takes its place until the command has ended
    /// (namespaces, bubblewrap); Landlock cannot hold back one new name.
    #[must_use]
    pub fn reserve(mut self, file: impl Into<PathBuf>) -> Self {
        self.reserved.push(file.into());
        self
    }

    /// Adds a file or directory that cannot be read. A missing one is skipped.
    #[must_use]
    pub fn hide(mut self, path: impl Into<PathBuf>) -> Self {
        self.hidden.push(path.into());
        self
    }

    /// Adds files and directories that cannot be read.
    #[must_use]
    pub fn hide_all<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.hidden.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Sets the access to the workspace's `.git`.
    #[must_use]
    pub fn git(mut self, git: GitAccess) -> Self {
        self.git = git;
        self
    }

    /// Allows or refuses the network.
    #[must_use]
    pub fn network(mut self, network: NetworkAccess) -> Self {
        self.network = network;
        self
    }

    /// Allows or refuses UNIX sockets.
    #[must_use]
    pub fn unix_sockets(mut self, unix_sockets: UnixSockets) -> Self {
        self.unix_sockets = unix_sockets;
        self
    }

    /// Sets the size of the private `/tmp`, if it is private memory (namespaces, bubblewrap).
    #[must_use]
    pub fn tmp_bytes_max(mut self, bytes: u64) -> Self {
        self.tmp_bytes_max = bytes;
        self
    }

    /// Sets the resource limits.
    #[must_use]
    pub fn limits(mut self, limits: ResourceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Refuses to start if the workspace's path leads to another directory than this one, which has
    /// to stay open until the command has started.
    #[must_use]
    pub fn opened_as(mut self, directory: impl AsFd) -> Self {
        #[cfg(target_os = "linux")]
        {
            self.identity = super::handles::identity(directory).ok();
        }
        #[cfg(not(target_os = "linux"))]
        let _ = directory;
        self
    }

    /// Sets the kind of sandbox that is required.
    #[must_use]
    pub fn requirement(mut self, requirement: SandboxRequirement) -> Self {
        self.requirement = requirement;
        self
    }

    /// The directory that can be written.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }
}

/// The access to the workspace's `.git`, and to the place a worktree's `.git` file points to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GitAccess {
    /// It can be read; hooks and settings, which this program would run later, cannot be changed.
    #[default]
    ReadOnly,
    /// Treats it like any other directory of the workspace.
    Writable,
}

/// The access to the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    /// No outside address can be reached. With namespaces and bubblewrap the command has its own
    /// loopback; with Landlock it has no sockets at all.
    #[default]
    Off,
    /// All of it, including the services of this machine.
    On,
}

/// The permission to make UNIX sockets. `socketpair` always works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnixSockets {
    /// Refused: neither Docker nor a key agent can be reached.
    #[default]
    Off,
    /// Allowed. A server that listens on a socket in the file system can be asked to act outside
    /// the sandbox.
    On,
}

/// The kind of sandbox that the settings demand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxRequirement {
    /// The best that works here: namespaces, then bubblewrap, then Landlock (not for an
    /// administrator); otherwise the command is refused.
    #[default]
    Auto,
    /// Namespaces made by this program, or the command is refused.
    Namespaces,
    /// Bubblewrap, or the command is refused.
    Bubblewrap,
    /// Landlock with seccomp, or the command is refused.
    Landlock,
    /// No sandbox, because the settings or the command line say so.
    None,
}

impl SandboxRequirement {
    /// All names, as the settings spell them.
    pub const NAMES: &[&str] = &["auto", "namespaces", "bubblewrap", "landlock", "none"];
}

impl fmt::Display for SandboxRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SandboxRequirement::Auto => "auto",
            SandboxRequirement::Namespaces => "namespaces",
            SandboxRequirement::Bubblewrap => "bubblewrap",
            SandboxRequirement::Landlock => "landlock",
            SandboxRequirement::None => "none",
        })
    }
}

impl FromStr for SandboxRequirement {
    type Err = UnknownRequirement;

    fn from_str(name: &str) -> Result<Self, UnknownRequirement> {
        match name {
            "auto" => Ok(SandboxRequirement::Auto),
            "namespaces" => Ok(SandboxRequirement::Namespaces),
            "bubblewrap" => Ok(SandboxRequirement::Bubblewrap),
            "landlock" => Ok(SandboxRequirement::Landlock),
            "none" => Ok(SandboxRequirement::None),
            _ => Err(UnknownRequirement(name.to_owned())),
        }
    }
}

/// The name of an unknown kind of sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRequirement(String);

impl fmt::Display for UnknownRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = SandboxRequirement::NAMES.join("`, `");
        write!(
            f,
            "there is no sandbox called `{}`; use one of `{names}`",
            self.0
        )
    }
}

impl std::error::Error for UnknownRequirement {}

/// The mechanism that holds a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxKind {
    /// Namespaces and mounts made by this program.
    Namespaces,
    /// Mounts and namespaces, by the program `bwrap`.
    Bubblewrap,
    /// The kernel's Landlock and seccomp.
    Landlock,
    /// No sandbox.
    None,
}

impl fmt::Display for SandboxKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SandboxKind::Namespaces => "namespaces",
            SandboxKind::Bubblewrap => "bubblewrap",
            SandboxKind::Landlock => "landlock",
            SandboxKind::None => "none",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_the_same() {
        for name in SandboxRequirement::NAMES {
            assert_eq!(
                name.parse::<SandboxRequirement>().unwrap().to_string(),
                *name
            );
        }
        assert_eq!(
            "docker"
                .parse::<SandboxRequirement>()
                .unwrap_err()
                .to_string(),
            "there is no sandbox called `docker`; use one of `auto`, `namespaces`, `bubblewrap`, `landlock`, `none`"
        );
    }
}
