//! The environment and the clock, read once; everything below gets them as plain values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use workspace::ownership::FileOwners;

use crate::{AppErrorCode, Error};

/// Only variables with this prefix are settings.
pub(crate) const PREFIX: &str = "DRAWLOOM_";

/// The environment a command runs in: folder, variables, time.
#[derive(Clone, Debug)]
pub struct ProcessEnvironment {
    /// The folder that relative paths on the command line mean.
    pub cwd: PathBuf,
    /// The `DRAWLOOM_…` variables, with their prefix.
    pub variables: BTreeMap<String, String>,
    /// Milliseconds since 1970, taken once so that one run has one time.
    pub now_ms: f64,
    /// Folders of the user's own settings and records.
    pub user_folders: UserFolders,
    /// The users whose files are trusted.
    pub owners: FileOwners,
    /// The user trusts the project for this command (`--trust`).
    pub trusts_once: bool,
    /// The database that the command line names (`--database`).
    pub database: Option<String>,
}

/// The folders of the user's own, by the XDG rules; `None` where the user has no home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFolders {
    pub home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME/drawloom`, or `~/.config/drawloom`.
    pub config: Option<PathBuf>,
    /// `$XDG_STATE_HOME/drawloom`, or `~/.local/state/drawloom`.
    pub state: Option<PathBuf>,
}

impl ProcessEnvironment {
    /// Reads the environment. `directory` is `--cwd`: everything then happens as if the command had
    /// been started there.
    pub fn read(directory: Option<&Path>) -> Result<Self, Error> {
        let started = std::env::current_dir().map_err(|cause| {
            Error::new(
                AppErrorCode::File,
                format!("cannot tell the current folder: {cause}"),
            )
        })?;
        let cwd = directory.map_or_else(|| started.clone(), |directory| started.join(directory));
        if !cwd.is_dir() {
            return Err(Error::new(
                AppErrorCode::File,
                format!("there is no folder {}", cwd.display()),
            )
            .hint("`--cwd` takes a folder that exists"));
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            cwd,
            variables: settings_variables(),
            now_ms: (now.as_millis() as f64).trunc(),
            user_folders: UserFolders::read(),
            owners: FileOwners::of_process(std::env::var("SUDO_UID").ok().as_deref()),
            trusts_once: false,
            database: None,
        })
    }

    pub fn path(&self, given: &Path) -> PathBuf {
        self.cwd.join(given)
    }

    /// Reads a variable that settings refer to, such as one with a key. It is read only when
    /// needed, so that no key stays in memory longer.
    pub fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// Returns the command that opens a text for editing, if the user has chosen one.
    pub fn editor(&self) -> Option<String> {
        let chosen = |name| self.variable(name).filter(|text| !text.trim().is_empty());
        chosen("VISUAL").or_else(|| chosen("EDITOR"))
    }
}

impl UserFolders {
    fn read() -> Self {
        // A relative path is no place: it would be another one in every folder.
        let absolute = |name: &str| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let folder = |variable: &str, default: &str| {
            let base = absolute(variable);
            let base = base.or_else(|| Some(home.as_ref()?.join(default)));
            base.map(|base| base.join("drawloom"))
        };
        Self {
            config: folder("XDG_CONFIG_HOME", ".config"),
            state: folder("XDG_STATE_HOME", ".local/state"),
            home,
        }
    }

    /// Replaces `~` at the beginning of paths by the user's home.
    pub fn expand(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let expand = |path: &PathBuf| match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.clone(),
        };
        paths.iter().map(expand).collect()
    }
}

/// Reads the variables that are settings. One that is not valid Unicode cannot be ours.
fn settings_variables() -> BTreeMap<String, String> {
    let pairs = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        let is_ours = name.starts_with(PREFIX);
        is_ours
            .then(|| value.into_string().ok())
            .flatten()
            .map(|value| (name, value))
    });
    pairs.collect()
}
