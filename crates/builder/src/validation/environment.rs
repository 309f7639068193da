//! The environment of checks: part of a baseline's cache key.
//!
//! The result of a check on an untouched tree depends on more than the tree: on the sandbox and its
//! limits, on `PATH` and the variables that are let through, on the compilers and on the
//! dependencies that are installed. A baseline that was made before `npm install` would blame the
//! next build for failures that were there all along.

use std::path::Path;
use std::time::Duration;

use agent::tools::CommandSettings;
use workspace::{PathKind, RelPath, Root, Workspace, fs};

use super::ProjectCheck;
use super::checks::without_root;

/// The programs whose versions are part of the environment if a check names them, with the
/// arguments that print the version.
const TOOLS: [(&str, &str); 18] = [
    ("cargo", "cargo --version; rustc --version"),
    ("node", "node --version"),
    ("npm", "node --version; command -v npm"),
    ("npx", "node --version; command -v npx"),
    ("pnpm", "node --version; pnpm --version"),
    ("yarn", "node --version; yarn --version"),
    ("bun", "bun --version"),
    ("bunx", "bun --version"),
    ("deno", "deno --version"),
    ("python", "command -v python; python --version"),
    ("python3", "command -v python3; python3 --version"),
    ("pytest", "command -v pytest; pytest --version"),
    ("ruff", "command -v ruff; ruff --version"),
    ("mypy", "command -v mypy; mypy --version"),
    ("uv", "uv --version"),
    ("poetry", "poetry --version"),
    ("go", "go version"),
    ("mvn", "java -version; command -v mvn"),
];
/// Seconds that asking all tools for their versions may take.
const VERSIONS_SECONDS_MAX: u64 = 30;
/// Levels of a dependency folder that are read: site-packages of a venv is the third.
const DEPENDENCY_LEVELS_MAX: usize = 3;
/// The most directories of one dependency folder that are read.
const DEPENDENCY_DIRS_MAX: usize = 4_000;

/// Everything around checks that may change their result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckEnvironment(String);

impl CheckEnvironment {
    /// Describes the environment in which these checks would run in this tree. `dependencies` are
    /// folders of the checkout that the tree borrows.
    pub(crate) fn probe(
        commands: &CommandSettings,
        tree: &Workspace,
        (checkout, dependencies): (&Path, &[RelPath]),
        checks: &[ProjectCheck],
    ) -> CheckEnvironment {
        let kind = exec::sandbox::probed().choose(commands.sandbox);
        let sandbox = kind.map_or_else(|error| error.to_string(), |kind| kind.to_string());
        let mut text = format!(
            "sandbox {sandbox} network {:?} sockets {:?} writable {:?} hidden {:?} {:?} tmp {}\n",
            commands.network,
            commands.unix_sockets,
            commands.writable,
            commands.hidden,
            commands.limits,
            commands.tmp_bytes_max
        );
        // The project's Python environment is in `PATH`, under the name of this build's worktree.
        text.push_str(&without_root(&versions(commands, tree, checks), tree));
        for path in dependencies {
            let folder = checkout.join(path.as_str());
            text.push_str(&format!("\n{path}: {}\n", listing(&folder)));
        }
        CheckEnvironment(text)
    }

    /// The text that becomes part of a baseline's name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// `PATH`, the variables that the settings let through, and the versions of the tools that the
/// checks name, as the sandbox sees them.
fn versions(commands: &CommandSettings, tree: &Workspace, checks: &[ProjectCheck]) -> String {
    let words = |check: &ProjectCheck| -> Vec<String> {
        let words = check
            .run
            .split(|c: char| c.is_whitespace() || "/;&|()".contains(c));
        words.map(str::to_owned).collect()
    };
    let named: Vec<String> = checks.iter().flat_map(words).collect();
    let mut script = "printf '%s\\n' \"$PATH\"".to_owned();
    for name in commands.variables.iter().filter(|name| is_name(name)) {
        script.push_str(&format!("; printf '%s\\n' '{name}' \"${{{name}-unset}}\""));
    }
    for (tool, ask) in TOOLS {
        if named.iter().any(|word| word == tool) {
            script.push_str("; ");
            script.push_str(ask);
        }
    }
    let invocation = match commands.invocation(tree, &format!("exec 2>&1; {script}")) {
        Ok(invocation) => invocation.timeout(Duration::from_secs(VERSIONS_SECONDS_MAX)),
        Err(error) => return error.to_string(),
    };
    match exec::run(&invocation) {
        Ok(outcome) => outcome.stdout_text().into_owned(),
        Err(error) => error.to_string(),
    }
}

/// Returns true if a shell can say the value of a variable of this name.
fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Lists the packages of a dependency folder: its directories with their change times. Leaves out
/// caches of tools (`.cache`, `__pycache__`).
fn listing(folder: &Path) -> String {
    let Ok(root) = Root::open(folder) else {
        return "cannot be read".to_owned();
    };
    let mut text = String::new();
    let mut level = vec![RelPath::root()];
    let mut count = 0;
    for _ in 0..DEPENDENCY_LEVELS_MAX {
        let mut next = Vec::new();
        for dir in &level {
            let entries = root.list(dir).unwrap_or_default();
            let dirs = entries.into_iter().filter(|entry| {
                let name = entry.path.file_name().unwrap_or_default();
                entry.kind == PathKind::Dir && !name.starts_with('.') && name != "__pycache__"
            });
            for entry in dirs {
                count += 1;
                if count > DEPENDENCY_DIRS_MAX {
                    return text;
                }
                let changed = fs::changed_ns(&folder.join(entry.path.as_str()));
                text.push_str(&format!("{} {}\n", entry.path, changed.unwrap_or_default()));
                next.push(entry.path);
            }
        }
        level = next;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::listing;

    #[test]
    fn a_package_that_is_installed_changes_the_listing_and_a_cache_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = dir.path().join(path);
            workspace::Root::create(&path).unwrap();
        };
        make("lib/python3.12/site-packages");
        let empty = listing(dir.path());
        make(".cache/vite");
        assert_eq!(listing(dir.path()), empty);
        make("lib/python3.12/site-packages/pytest");
        assert_ne!(listing(dir.path()), empty);
    }
}
