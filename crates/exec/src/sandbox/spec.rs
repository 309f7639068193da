//! What a sandboxed command may do, said before it starts.

use std::fmt;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How much the private `/tmp` of a sandbox holds when the settings do not say.
pub const TMP_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// The cage of one command. Everything is readable and nothing writable but the workspace, the
/// directories added and a private directory for temporary files; the network is off.
///
/// Relative paths are taken from the workspace. Where paths lie inside each other, the deeper one
/// decides, except that nothing inside a hidden path is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    pub(crate) workspace: PathBuf,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) reserved: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) git: Git,
    pub(crate) network: Network,
    pub(crate) unix_sockets: UnixSockets,
    pub(crate) tmp_bytes_max: u64,
    pub(crate) limits: ResourceLimits,
    pub(crate) requirement: Requirement,
    /// Which directory `workspace` has to be.
    #[cfg(target_os = "linux")]
    pub(crate) identity: Option<super::handles::FileIdentity>,
}

/// What one sandboxed command may use. Time and output are limits of the
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
    /// A cage in which only `workspace` can be written, and not its `.git`.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            writable: Vec::new(),
            read_only: Vec::new(),
            reserved: Vec::new(),
            hidden: Vec::new(),
            git: Git::default(),
            network: Network::default(),
            unix_sockets: UnixSockets::default(),
            tmp_bytes_max: TMP_BYTES_MAX,
            limits: ResourceLimits::default(),
            requirement: Requirement::default(),
            #[cfg(target_os = "linux")]
            identity: None,
        }
    }

    /// One more directory that can be written, such as a package cache. It is created when it is
    /// missing. A relative one must not lead out of the workspace by a symbolic link.
    #[must_use]
    pub fn writable(mut self, dir: impl Into<PathBuf>) -> Self {
        self.writable.push(dir.into());
        self
    }

    /// A file or directory that cannot be written although it lies in a writable directory:
    /// whatever we ourselves would act on later, such as our own settings. Only what exists
    /// can be held.
    #[must_use]
    pub fn read_only(mut self, path: impl Into<PathBuf>) -> Self {
        self.read_only.push(path.into());
        self
    }

    /// A file that cannot be written, and cannot be made where there is none: settings that we
    /// would follow. Where it is missing, an empty one that is taken away afterwards is put in its
    /// place (namespaces, bubblewrap); Landlock cannot hold back one new name.
    #[must_use]
    pub fn reserve(mut self, file: impl Into<PathBuf>) -> Self {
        self.reserved.push(file.into());
        self
    }

    /// A file or directory that cannot be read. One that does not exist is passed over.
    #[must_use]
    pub fn hide(mut self, path: impl Into<PathBuf>) -> Self {
        self.hidden.push(path.into());
        self
    }

    /// Files and directories that cannot be read.
    #[must_use]
    pub fn hide_all<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.hidden.extend(paths.into_iter().map(Into::into));
        self
    }

    /// What happens to the workspace's `.git`.
    #[must_use]
    pub fn git(mut self, git: Git) -> Self {
        self.git = git;
        self
    }

    /// Whether the network is there.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Whether UNIX sockets can be made.
    #[must_use]
    pub fn unix_sockets(mut self, unix_sockets: UnixSockets) -> Self {
        self.unix_sockets = unix_sockets;
        self
    }

    /// How much fits into the private `/tmp`, where it is private memory (namespaces, bubblewrap).
    #[must_use]
    pub fn tmp_bytes_max(mut self, bytes: u64) -> Self {
        self.tmp_bytes_max = bytes;
        self
    }

    /// What it may use.
    #[must_use]
    pub fn limits(mut self, limits: ResourceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Refuses to start where the workspace's name leads to another directory than this one, which
    /// has to stay open until the command has started.
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

    /// Which kind has to hold it.
    #[must_use]
    pub fn requirement(mut self, requirement: Requirement) -> Self {
        self.requirement = requirement;
        self
    }

    /// The directory that can be written.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }
}

/// What happens to the workspace's `.git`, and to the place a worktree's `.git` file points to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Git {
    /// It can be read; hooks and settings, which we would run later, cannot be changed.
    #[default]
    ReadOnly,
    /// It is a directory like any other of the workspace.
    Writable,
}

/// Whether the network is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing outside can be reached. With namespaces and bubblewrap the command has a loopback of
    /// its own; with Landlock it has no sockets at all.
    #[default]
    Off,
    /// All of it, the services of this machine included.
    On,
}

/// Whether UNIX sockets can be made. `socketpair` works in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnixSockets {
    /// No: neither Docker nor an agent for keys can be talked to.
    #[default]
    Off,
    /// Yes. Whoever listens on a socket in the file system can be asked to act outside.
    On,
}

/// Which kind of sandbox the settings ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Requirement {
    /// The best that holds here: namespaces, else bubblewrap, else Landlock (not for an
    /// administrator), else the command is refused.
    #[default]
    Auto,
    /// Namespaces of our own, or the command is refused.
    Namespaces,
    /// Bubblewrap, or the command is refused.
    Bubblewrap,
    /// Landlock with seccomp, or the command is refused.
    Landlock,
    /// No sandbox, because somebody said so.
    None,
}

impl Requirement {
    /// All of them, as they are written in the settings.
    pub const NAMES: &[&str] = &["auto", "namespaces", "bubblewrap", "landlock", "none"];
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Requirement::Auto => "auto",
            Requirement::Namespaces => "namespaces",
            Requirement::Bubblewrap => "bubblewrap",
            Requirement::Landlock => "landlock",
            Requirement::None => "none",
        })
    }
}

impl FromStr for Requirement {
    type Err = UnknownRequirement;

    fn from_str(name: &str) -> Result<Self, UnknownRequirement> {
        match name {
            "auto" => Ok(Requirement::Auto),
            "namespaces" => Ok(Requirement::Namespaces),
            "bubblewrap" => Ok(Requirement::Bubblewrap),
            "landlock" => Ok(Requirement::Landlock),
            "none" => Ok(Requirement::None),
            _ => Err(UnknownRequirement(name.to_owned())),
        }
    }
}

/// A kind of sandbox that there is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRequirement(String);

impl fmt::Display for UnknownRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Requirement::NAMES.join("`, `");
        write!(
            f,
            "there is no sandbox called `{}`; use one of `{names}`",
            self.0
        )
    }
}

impl std::error::Error for UnknownRequirement {}

/// What holds a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Namespaces and mounts of our own.
    Namespaces,
    /// Mounts and namespaces, by the program `bwrap`.
    Bubblewrap,
    /// The kernel's Landlock and seccomp.
    Landlock,
    /// Nothing.
    None,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Namespaces => "namespaces",
            Kind::Bubblewrap => "bubblewrap",
            Kind::Landlock => "landlock",
            Kind::None => "none",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_the_same() {
        for name in Requirement::NAMES {
            assert_eq!(name.parse::<Requirement>().unwrap().to_string(), *name);
        }
        assert_eq!(
            "docker".parse::<Requirement>().unwrap_err().to_string(),
            "there is no sandbox called `docker`; use one of `auto`, `namespaces`, `bubblewrap`, `landlock`, `none`"
        );
    }
}
