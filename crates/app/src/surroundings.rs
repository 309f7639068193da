//! The environment and the clock, read once; everything below gets them as plain values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Code, Error};

/// Only variables with this prefix are settings.
pub(crate) const PREFIX: &str = "DRAWLOOM_";

/// Where and when a command runs.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The folder that relative paths on the command line mean.
    pub cwd: PathBuf,
    /// The `DRAWLOOM_…` variables, with their prefix.
    pub variables: BTreeMap<String, String>,
    /// Milliseconds since 1970, taken once so that one run has one time.
    pub now_ms: f64,
}

impl Surroundings {
    /// `directory` is `--cwd`: everything then happens as if the command had been started there.
    pub fn read(directory: Option<&Path>) -> Result<Self, Error> {
        let started = std::env::current_dir().map_err(|cause| {
            Error::new(
                Code::File,
                format!("cannot tell the current folder: {cause}"),
            )
        })?;
        let cwd = directory.map_or_else(|| started.clone(), |directory| started.join(directory));
        if !cwd.is_dir() {
            return Err(
                Error::new(Code::File, format!("there is no folder {}", cwd.display()))
                    .hint("`--cwd` takes a folder that exists"),
            );
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            cwd,
            variables: settings_variables(),
            now_ms: (now.as_millis() as f64).trunc(),
        })
    }

    pub fn path(&self, given: &Path) -> PathBuf {
        self.cwd.join(given)
    }

    /// A variable that settings refer to, such as one with a key. Looked up when it is needed: no
    /// key is held for longer.
    pub fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// The command that opens a text for editing, if the user has chosen one.
    pub fn editor(&self) -> Option<String> {
        let chosen = |name| self.variable(name).filter(|text| !text.trim().is_empty());
        chosen("VISUAL").or_else(|| chosen("EDITOR"))
    }
}

/// A variable that is not valid Unicode cannot be one of ours.
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
