//! The project a command works in: its folder, its files and its settings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use workspace::{Recovered, Root, fs};

use crate::settings::{self, Settings};
use crate::{Error, Surroundings};

/// The folder of ours in a project.
pub const HOME: &str = ".drawloom";

/// A folder with everything that was decided about it.
#[derive(Debug)]
pub struct Project {
    pub root: Root,
    pub settings: Settings,
    /// The settings file, if there is one.
    pub settings_file: Option<PathBuf>,
    /// What became of an apply that an earlier command could not finish.
    pub recovered: Option<Recovered>,
    /// The people whom steps of workflows can be assigned to; nothing where no database says.
    pub people: Option<BTreeSet<String>>,
}

impl Project {
    /// The nearest folder upward with a `drawloom.toml` or a `.drawloom`, else the current one.
    ///
    /// An interrupted apply is finished or undone first, so that nobody reads a state in between.
    pub fn open(surroundings: &Surroundings) -> Result<Self, Error> {
        let folder = find(&surroundings.cwd);
        let root = Root::open(&folder)?;
        let recovered = root.recover()?;
        let settings_file = Some(folder.join(settings::FILE_NAME)).filter(|path| fs::exists(path));
        let settings = Settings::resolve(settings_file.as_deref(), surroundings)?;
        Ok(Self {
            root,
            settings,
            settings_file,
            recovered,
            people: None,
        })
    }

    pub fn folder(&self) -> &Path {
        self.root.path()
    }
}

/// The nearest of the two marks decides, so that a project inside a project is its own.
pub fn find(start: &Path) -> PathBuf {
    let marks = [settings::FILE_NAME, HOME];
    let found = marks.iter().filter_map(|mark| fs::find_upward(start, mark));
    found
        .max_by_key(|folder| folder.components().count())
        .unwrap_or_else(|| start.to_owned())
}
