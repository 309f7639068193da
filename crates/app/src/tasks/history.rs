//! Hides versions of files that the policy refuses from the git that commands use.

use std::path::{Path, PathBuf};

use agent::tools::{GitFilter, InsteadOfGit, ShownHistory};
use vcs::{GitPlaces, GitProgram, PathRefusals, PathVerdict, ShownGit};
use workspace::{AccessPolicy, DenialRule, RelPath, Workspace};

use super::run_archive::digest;
use crate::ProcessEnvironment;

/// Number of characters of a digest that tells repositories apart.
pub(super) const OWNER_CHARS: usize = 16;
/// Built-in rules change with the program: what an older one found does not count.
const RULES: &str = env!("CARGO_PKG_VERSION");

/// Returns the directory for what can be made again, by the XDG rules.
pub(super) fn cache_folder(surroundings: &ProcessEnvironment) -> PathBuf {
    let variable = |name: &str| {
        let value = surroundings.variable(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let home = variable("HOME").map(|home| home.join(".cache"));
    let cache = variable("XDG_CACHE_HOME").or(home);
    cache.unwrap_or_else(std::env::temp_dir).join("drawloom")
}

/// Shows the repository where it holds nothing refused, and a filtered one elsewhere.
#[derive(Debug)]
pub struct HistoryFilter {
    /// Folder of the filtered repositories, outside of every project.
    store: PathBuf,
}

impl HistoryFilter {
    pub(crate) fn new(surroundings: &ProcessEnvironment) -> Self {
        Self::at(cache_folder(surroundings).join("git"))
    }

    /// Keeps filtered repositories in this directory, which commands must not be able to write.
    pub fn at(store: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
        }
    }
}

impl GitFilter for HistoryFilter {
    fn shown(&self, workspace: &Workspace, nested: &[PathBuf]) -> ShownHistory {
        let mut judged = Vec::new();
        let hidden = nested
            .iter()
            .flat_map(|git| self.hidden_in_nested(workspace, git, &mut judged));
        let mut hidden: Vec<PathBuf> = hidden.collect();
        let Some(places) = GitPlaces::find(workspace.path()) else {
            return ShownHistory {
                hidden,
                instead: None,
            };
        };
        // Repositories of submodules that are not checked out are in none of the searched places.
        let modules = places.modules().into_iter();
        hidden.extend(modules.filter(|module| !judged.contains(module)));
        let mut shown = self.shown_of_project(workspace, places);
        shown.hidden.extend(hidden);
        shown
    }
}

impl HistoryFilter {
    /// Returns what has to be hidden of a repository inside the project: commands have another
    /// directory of git for the project's own only, so one that holds something refused is hidden.
    fn hidden_in_nested(
        &self,
        workspace: &Workspace,
        git: &Path,
        judged: &mut Vec<PathBuf>,
    ) -> Vec<PathBuf> {
        let Some(inside) = git.parent() else {
            return Vec::new();
        };
        let Some(places) = GitPlaces::find(&workspace.path().join(inside)) else {
            return vec![workspace.path().join(git)];
        };
        judged.push(places.common_dir.clone());
        let policy = workspace.policy();
        let name = format!(
            "{RULES}\nnested {}\n{}",
            inside.display(),
            policy.reading_lists()
        );
        let of_path = |path: &Path| {
            let alone = verdict(policy, Path::new(""), path);
            match verdict(policy, Path::new(""), &inside.join(path)) {
                PathVerdict::Shown => alone,
                other => other,
            }
        };
        let refusal = PathRefusals {
            of_path: &of_path,
            of_content: &has_key,
            name: &name,
        };
        let git = GitProgram::at(&places.top);
        let shown = vcs::showable_git(&git, &places, &self.store_of(&places), &refusal);
        match shown {
            Ok(Some(hidden)) => hidden,
            Ok(None) | Err(_) => places.hidden(),
        }
    }

    /// Returns the folder of the findings about a repository.
    fn store_of(&self, places: &GitPlaces) -> PathBuf {
        let owner = digest(&places.common_dir.display().to_string());
        self.store.join(&owner[..OWNER_CHARS])
    }

    fn shown_of_project(&self, workspace: &Workspace, places: GitPlaces) -> ShownHistory {
        let project = workspace.path().strip_prefix(&places.top);
        let project = project.unwrap_or(Path::new("")).to_owned();
        let policy = workspace.policy();
        let name = format!("{RULES}\n{}\n{}", project.display(), policy.reading_lists());
        let shown = vcs::shown_git(
            &GitProgram::at(&places.top),
            &places,
            &self.store_of(&places),
            &PathRefusals {
                of_path: &|path| verdict(policy, &project, path),
                of_content: &has_key,
                name: &name,
            },
        );
        match shown {
            Ok(ShownGit::Whole { hidden }) => ShownHistory {
                hidden,
                instead: None,
            },
            Ok(ShownGit::Filtered {
                git_dir,
                work_tree,
                hidden,
            }) => ShownHistory {
                hidden,
                instead: Some(InsteadOfGit { git_dir, work_tree }),
            },
            // A repository that cannot be searched is not shown: git is led to the hidden directory
            // and says that it is no repository, instead of searching for one further up.
            Err(_) => ShownHistory {
                hidden: places.hidden(),
                instead: Some(InsteadOfGit {
                    git_dir: places.git_dir,
                    work_tree: places.top,
                }),
            },
        }
    }
}

/// Checks a path from the top of the repository against the policy, both unchanged and as a path of
/// the project.
fn verdict(policy: &AccessPolicy, project: &Path, path: &Path) -> PathVerdict {
    let inside = path.strip_prefix(project).ok();
    let spellings = [Some(path), inside];
    let verdicts = spellings.into_iter().flatten().map(|path| {
        // A name that cannot be asked about is refused to `read_file`, too.
        let Some(path) = path.to_str().and_then(|text| RelPath::parse(text).ok()) else {
            return PathVerdict::Refused;
        };
        match policy
            .check_read(&path)
            .as_ref()
            .map_err(workspace::Denial::rule)
        {
            Err(DenialRule::Environment | DenialRule::Credential | DenialRule::Listed(_)) => {
                PathVerdict::Refused
            }
            Err(DenialRule::Own) if path.file_name() == Some(crate::settings::FILE_NAME) => {
                PathVerdict::Judged
            }
            Err(DenialRule::Own) => PathVerdict::Refused,
            _ => PathVerdict::Shown,
        }
    });
    let rank = |verdict: &PathVerdict| match verdict {
        PathVerdict::Shown => 0,
        PathVerdict::Judged => 1,
        PathVerdict::Refused => 2,
    };
    verdicts.max_by_key(rank).unwrap_or(PathVerdict::Shown)
}

/// Returns true if some version of our settings holds a key itself instead of the name of a
/// variable.
fn has_key(contents: &[u8]) -> bool {
    let contents = String::from_utf8_lossy(contents);
    contents.lines().any(|line| {
        let line = line.trim_start();
        let Some((name, value)) = line.split_once('=') else {
            return false;
        };
        let names = ["key", "token", "secret", "password"];
        let is_secret = names
            .iter()
            .any(|secret| name.to_lowercase().contains(secret));
        let value = value.trim().trim_start_matches(['"', '\'']);
        is_secret && !name.starts_with('#') && !value.starts_with('$') && !name.contains("_env")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_settings_are_told_from_names_of_variables() {
        let check = |line: &str, expected: bool| {
            assert_eq!(has_key(line.as_bytes()), expected, "{line}");
        };
        check("api_key = \"sk-123\"", true);
        check("  api_key = 'sk-123'", true);
        check("api_key = \"$OPENAI_API_KEY\"", false);
        check("# api_key = \"…\"", false);
        check("token_env = \"GITHUB_TOKEN\"", false);
        check("mode = \"provider\"", false);
    }
}
