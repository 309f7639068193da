//! The project a command works in: its folder, its files and its settings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use workspace::ownership::{FileOwners, UnsafeFile};
use workspace::{RecoveryReport, Root, fs};

use crate::settings::{self, ProjectSettings};
use crate::trust::TrustGate;
use crate::{AppErrorCode, Error, ProcessEnvironment};

/// The folder of the user's own recipes, beside the user's settings.
const USER_RECIPES: &str = "recipes";

/// The folder of ours in a project.
pub const HOME: &str = ".drawloom";

/// The two marks of a project.
const MARKS: [&str; 2] = [settings::FILE_NAME, HOME];

/// The files of a project that Drawloom acts on: none of them may come from another user.
const OBEYED: [&str; 5] = [
    settings::FILE_NAME,
    HOME,
    ".drawloom/recipes",
    ".drawloom/kits",
    ".drawloom/workflows",
];

/// A folder with everything that was decided about it.
#[derive(Debug)]
pub struct Project {
    pub root: Root,
    pub settings: ProjectSettings,
    /// The settings file, if there is one.
    pub settings_file: Option<PathBuf>,
    /// Result of recovering an apply that an earlier command could not finish.
    pub recovered: Option<RecoveryReport>,
    /// The people that steps of workflows can be assigned to; `None` without a database.
    pub people: Option<BTreeSet<String>>,
    /// Folder of the user's recipes for all projects.
    pub user_recipes: Option<PathBuf>,
    /// Projects around this folder that are not used, because another user could have made them.
    pub passed_over: Vec<UnsafeFile>,
    /// Asked before the project does anything on the user's behalf.
    pub trust: TrustGate,
}

impl Project {
    /// Opens the nearest folder upward with a `drawloom.toml` or a `.drawloom`, else the current
    /// one.
    ///
    /// Finishes or undoes an interrupted apply first, so that no command reads a state in between.
    pub fn open(surroundings: &ProcessEnvironment) -> Result<Self, Error> {
        let found = find(&surroundings.cwd, surroundings)?;
        let root = Root::open(&found.folder)?;
        let recovered = root.recover()?;
        let settings_file = found.settings_file();
        let settings = ProjectSettings::resolve(settings_file.as_deref(), surroundings)?;
        let (file, trusted) = (settings_file.as_deref(), &settings.trust.projects);
        let trust = TrustGate::new(root.path(), file, trusted, surroundings)?;
        Ok(Self {
            trust,
            root,
            settings,
            settings_file,
            recovered,
            people: None,
            user_recipes: surroundings
                .user_folders
                .config
                .as_ref()
                .map(|dir| dir.join(USER_RECIPES)),
            passed_over: found.passed_over,
        })
    }

    pub fn folder(&self) -> &Path {
        self.root.path()
    }
}

/// The folder of a project, and its marks.
#[derive(Debug)]
pub struct ProjectPlace {
    pub folder: PathBuf,
    /// True if the folder has a mark of a project.
    pub is_marked: bool,
    /// Projects between the start and the folder that another user could have made.
    pub passed_over: Vec<UnsafeFile>,
}

impl ProjectPlace {
    /// Returns the settings file, if there is one.
    pub fn settings_file(&self) -> Option<PathBuf> {
        Some(self.folder.join(settings::FILE_NAME)).filter(|path| fs::exists(path))
    }
}

/// Finds the project around `start`: the nearest folder upward with a mark, else `start` itself.
///
/// A project that another user could have made is passed over. One in `start` itself is an error:
/// its `.drawloom` would be written to.
pub fn find(start: &Path, surroundings: &ProcessEnvironment) -> Result<ProjectPlace, Error> {
    let trusted = ProjectSettings::of_user(surroundings)?.trust.projects;
    let trusted = surroundings.user_folders.expand(&trusted);
    let start = fs::canonical(start)?;
    let mut passed_over = Vec::new();
    for folder in start.ancestors().take(fs::UPWARD_DEPTH_MAX) {
        if !MARKS.iter().any(|mark| fs::exists(&folder.join(mark))) {
            continue;
        }
        let is_trusted = || is_within(folder, &trusted);
        match check_obeyed(folder, surroundings.owners) {
            Err(refused) if !is_trusted() => {
                if folder == start {
                    return Err(not_obeyed(folder, &refused));
                }
                passed_over.push(refused);
            }
            _ => {
                return Ok(ProjectPlace {
                    folder: folder.to_owned(),
                    is_marked: true,
                    passed_over,
                });
            }
        }
    }
    Ok(ProjectPlace {
        folder: start,
        is_marked: false,
        passed_over,
    })
}

/// Returns true if `folder` is one of these folders or below one of them.
pub(crate) fn is_within(folder: &Path, listed: &[PathBuf]) -> bool {
    let mut listed = listed.iter().filter_map(|path| fs::canonical(path).ok());
    listed.any(|path| folder.starts_with(path))
}

fn check_obeyed(folder: &Path, owners: FileOwners) -> Result<(), UnsafeFile> {
    let mut paths = OBEYED.iter().map(|name| folder.join(name));
    paths.try_for_each(|path| owners.check(&path))
}

fn not_obeyed(folder: &Path, refused: &UnsafeFile) -> Error {
    let place = folder.display();
    Error::new(AppErrorCode::Owner, refused.to_string()).hint(format!(
        "{}; to use the project anyway, list `{place}` under [trust] projects in your own \
         settings, or in DRAWLOOM_TRUST_PROJECTS",
        refused.fix()
    ))
}
