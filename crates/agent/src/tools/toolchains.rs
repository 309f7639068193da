//! Toolchains: files and variables they need to work in a sandbox as they do in the checkout.
//!
//! The project's Python environment is switched on, compilers that keep their cache in the user's
//! home get another one, and where the sandbox is Landlock, which cannot let a command make a
//! directory next to a protected file, the directories that toolchains write are made beforehand.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use exec::ChildEnvironment;
use workspace::{Denial, DenialRule, PathKind as FileKind, RelPath, Root, Workspace, fs};

/// The names under which projects keep their Python environment.
const PYTHON_ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// Variables that lead compilers out of the project, where a sandbox lets nothing be written and where
/// the output of another state of the files is.
const FOREIGN_OUTPUT: [&str; 2] = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];

/// The manifest files that identify a toolchain, and the directories it makes next to them.
const MANIFESTS: [(&str, &[&str]); 14] = [
    ("Cargo.toml", &["target"]),
    ("pom.xml", &["target"]),
    ("build.gradle", &["build", ".gradle"]),
    ("build.gradle.kts", &["build", ".gradle"]),
    ("pyproject.toml", PYTHON_OUTPUT),
    ("setup.py", PYTHON_OUTPUT),
    ("setup.cfg", PYTHON_OUTPUT),
    ("requirements.txt", PYTHON_OUTPUT),
    ("tox.ini", PYTHON_OUTPUT),
    ("conftest.py", PYTHON_OUTPUT),
    ("package.json", &[]),
    ("go.mod", &[]),
    ("go.work", &[]),
    (IGNORE_FILE, &[]),
];
const PYTHON_OUTPUT: &[&str] = &["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];
const GO_MANIFESTS: [&str; 2] = ["go.mod", "go.work"];
const IGNORE_FILE: &str = ".gitignore";

/// Names in `.gitignore` that are directories although no slash says so.
const USUAL_OUTPUT: [&str; 16] = [
    "target",
    "dist",
    "build",
    "out",
    "coverage",
    "htmlcov",
    ".cache",
    ".next",
    ".nuxt",
    ".output",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".nyc_output",
    ".gradle",
    "__pycache__",
];
/// Directories that are installed and not made by a build: an empty one would look like the real one.
const INSTALLED: [&str; 6] = [
    "node_modules",
    "bower_components",
    ".venv",
    "venv",
    "env",
    "vendor",
];
/// The most directories that are made for one command.
const FOLDERS_MAX: usize = 200;

/// Returns whether a file of this name says something about toolchains.
pub(super) fn is_manifest(name: &str) -> bool {
    MANIFESTS.iter().any(|(manifest, _)| *manifest == name)
}

/// The toolchains of a project, by the files in which they are set up.
pub(super) struct ProjectToolchains<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) manifests: &'w [RelPath],
}

impl ProjectToolchains<'_> {
    /// Returns the environment in which toolchains find what they need. `cache` is a directory that
    /// commands may write, for compilers that do nothing without one; variables of these `names`
    /// stay as the user has set them.
    pub(super) fn environment(
        &self,
        mut env: ChildEnvironment,
        cache: Option<&Path>,
        names: &[String],
    ) -> ChildEnvironment {
        let is_left = |name: &str| !names.iter().any(|own| own == name);
        for name in FOREIGN_OUTPUT.into_iter().filter(|name| is_left(name)) {
            env = env.remove(name);
        }
        if let Some(cache) = cache.filter(|_| is_left("GOCACHE")) {
            env = env.set("GOCACHE", cache.join("go-build"));
        }
        let mut places = PYTHON_ENVIRONMENTS
            .map(|name| self.workspace.path().join(name))
            .into_iter();
        match places.find(|place| fs::exists(&place.join("bin/python"))) {
            Some(place) => env
                .search_first(&place.join("bin"))
                .set("VIRTUAL_ENV", place),
            None => env,
        }
    }

    /// Returns whether Go is among them, which needs a cache that it can write.
    pub(super) fn has_go(&self) -> bool {
        let mut names = self.manifests.iter().filter_map(RelPath::file_name);
        names.any(|name| GO_MANIFESTS.contains(&name))
    }

    /// Returns the directories that toolchains make next to one of these protected entries, as the
    /// manifests there and the project's `.gitignore` name them.
    pub(super) fn output_folders<'p>(
        &self,
        protected: impl Iterator<Item = &'p PathBuf>,
    ) -> BTreeSet<PathBuf> {
        let mut closed: BTreeSet<&Path> = protected
            .flat_map(|path| path.ancestors().skip(1))
            .collect();
        // `.git`, `.drawloom` and `drawloom.toml` are protected whether or not they are there.
        closed.insert(Path::new(""));
        let ignored = self.ignored_folders();
        let mut folders: BTreeSet<PathBuf> =
            ignored.iter().map(|folder| folder.path.clone()).collect();
        for manifest in self.manifests {
            let dir = manifest.parent().unwrap_or_else(RelPath::root);
            let dir = Path::new(dir.as_str());
            if !closed.contains(dir) {
                continue;
            }
            let known = MANIFESTS
                .iter()
                .find(|(name, _)| manifest.file_name() == Some(name));
            let made = known.map_or(&[][..], |(_, made)| made);
            folders.extend(made.iter().map(|name| dir.join(name)));
            let anywhere = ignored.iter().filter(|folder| folder.is_anywhere);
            folders.extend(anywhere.map(|folder| dir.join(&folder.path)));
        }
        let may_be_made = folders.into_iter().filter(|path| self.may_be_made(path));
        may_be_made.take(FOLDERS_MAX).collect()
    }

    fn ignored_folders(&self) -> Vec<IgnoredFolder> {
        let text = RelPath::parse(IGNORE_FILE)
            .ok()
            .and_then(|path| self.workspace.read_text(&path).ok().flatten());
        let text = text.unwrap_or_default();
        text.lines().filter_map(IgnoredFolder::read).collect()
    }

    /// Returns whether the directory is missing or there, and has no name that the policy keeps from commands.
    fn may_be_made(&self, path: &Path) -> bool {
        let Some(path) = path.to_str().and_then(|path| RelPath::parse(path).ok()) else {
            return false;
        };
        let denied = self.workspace.policy().check_write(&path).err();
        let is_protected = matches!(
            denied.as_ref().map(Denial::rule),
            Some(
                DenialRule::Git
                    | DenialRule::Own
                    | DenialRule::Automation
                    | DenialRule::Listed(_)
                    | DenialRule::Environment
                    | DenialRule::Credential
                    | DenialRule::Config
            )
        );
        let above = path.parent().unwrap_or_else(RelPath::root);
        let kind = |path: &RelPath| fs_kind(self.workspace, path);
        !is_protected
            && kind(&above) == Some(FileKind::Dir)
            && matches!(kind(&path), None | Some(FileKind::Dir))
    }
}

/// Returns the kind of file at a path that the policy may refuse to show.
fn fs_kind(workspace: &Workspace, path: &RelPath) -> Option<FileKind> {
    if path.is_root() {
        return Some(FileKind::Dir);
    }
    Root::open(workspace.path()).ok()?.kind(path).ok()?
}

/// A directory that a line of `.gitignore` names.
#[derive(Debug, PartialEq, Eq)]
struct IgnoredFolder {
    path: PathBuf,
    /// Set where the line means every directory of that name.
    is_anywhere: bool,
}

impl IgnoredFolder {
    fn read(line: &str) -> Option<IgnoredFolder> {
        let line = line.trim_end();
        if line.starts_with(['#', '!']) || line.contains(['*', '?', '[', '\\']) {
            return None;
        }
        let name = line.trim_matches('/');
        let is_directory = line.ends_with('/') || USUAL_OUTPUT.contains(&name);
        let is_installed = name.split('/').any(|part| INSTALLED.contains(&part));
        if !is_directory || is_installed || RelPath::parse(name).is_err() || name.is_empty() {
            return None;
        }
        Some(IgnoredFolder {
            path: PathBuf::from(name),
            is_anywhere: !line.trim_end_matches('/').contains('/'),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use workspace::{AccessPolicy, RelPath, Root, Workspace};

    use super::{IgnoredFolder, ProjectToolchains};

    #[track_caller]
    fn check_line(line: &str, expected: Option<(&str, bool)>) {
        let expected = expected.map(|(path, is_anywhere)| IgnoredFolder {
            path: PathBuf::from(path),
            is_anywhere,
        });
        assert_eq!(IgnoredFolder::read(line), expected, "{line}");
    }

    #[test]
    fn directories_are_read_out_of_an_ignore_file_and_files_are_not() {
        check_line("dist/", Some(("dist", true)));
        check_line("/target", Some(("target", false)));
        check_line("target", Some(("target", true)));
        check_line("packages/a/lib/", Some(("packages/a/lib", false)));
        for line in [
            "",
            "# dist/",
            "!dist/",
            "*.log",
            ".eslintcache",
            "node_modules/",
            "web/node_modules/",
            ".venv/",
            "../up/",
            "/",
        ] {
            check_line(line, None);
        }
    }

    #[test]
    fn folders_are_made_where_something_is_protected_and_never_under_a_protected_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let put = |path: &str, text: &str| {
            let place = dir.path().join(path);
            Root::create(place.parent().unwrap()).unwrap();
            workspace::fs::write_atomic(&place, text.as_bytes()).unwrap();
        };
        put(
            ".gitignore",
            "dist/\n/coverage\n.drawloom/\n.husky/\n.env/\n/README/\n",
        );
        put("README", "");
        for path in ["Cargo.toml", "a/pyproject.toml", "b/package.json", "b/.env"] {
            put(path, "");
        }
        let policy = AccessPolicy::new(&workspace::PolicySettings::default()).unwrap();
        let workspace = Workspace::new(root, policy, workspace::Limits::default());
        let manifests = ["Cargo.toml", "a/pyproject.toml", "b/package.json"];
        let manifests: Vec<RelPath> = manifests
            .iter()
            .map(|path| RelPath::parse(path).unwrap())
            .collect();
        let toolchains = ProjectToolchains {
            workspace: &workspace,
            manifests: &manifests,
        };
        let protected = [PathBuf::from("b/.env")];
        let made = toolchains.output_folders(protected.iter());
        // `a` has nothing to protect: there a command makes what it likes.
        let expected = ["b/dist", "coverage", "dist", "target"];
        assert_eq!(made, BTreeSet::from(expected.map(PathBuf::from)));
    }
}
