//! What git shows to commands: no version of a file that the policy refuses.

use std::path::{Path, PathBuf};

use agent::tools::{GitFilter, InsteadOfGit, ShownHistory};
use vcs::{Git, GitPlaces, PathVerdict, Refusal, ShownGit};
use workspace::{Policy, RelPath, Rule, Workspace};

use super::keeping::digest;
use crate::Surroundings;

/// How much of a digest tells repositories apart.
const OWNER_CHARS: usize = 16;
/// Built-in rules change with the program: what an older one found does not count.
const RULES: &str = env!("CARGO_PKG_VERSION");

/// Shows the repository where it holds nothing refused, and a filtered one elsewhere.
#[derive(Debug)]
pub struct HistoryFilter {
    /// Where filtered repositories are kept, outside of every project.
    store: PathBuf,
}

impl HistoryFilter {
    pub(crate) fn new(surroundings: &Surroundings) -> Self {
        let variable = |name: &str| {
            let value = surroundings.variable(name).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        let home = variable("HOME").map(|home| home.join(".cache"));
        let cache = variable("XDG_CACHE_HOME").or(home);
        let cache = cache.unwrap_or_else(std::env::temp_dir);
        Self::at(cache.join("drawloom").join("git"))
    }

    /// Keeps filtered repositories in this directory, which commands must not be able to write.
    pub fn at(store: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
        }
    }
}

impl GitFilter for HistoryFilter {
    fn shown(&self, workspace: &Workspace) -> ShownHistory {
        let Some(places) = GitPlaces::find(workspace.path()) else {
            return ShownHistory::default();
        };
        let project = workspace.path().strip_prefix(&places.top);
        let project = project.unwrap_or(Path::new("")).to_owned();
        let policy = workspace.policy();
        let name = format!("{RULES}\n{}\n{}", project.display(), policy.reading_lists());
        let owner = digest(&places.common_dir.display().to_string());
        let shown = vcs::shown_git(
            &Git::at(&places.top),
            &places,
            &self.store.join(&owner[..OWNER_CHARS]),
            &Refusal {
                of_path: &|path| verdict(policy, &project, path),
                of_content: &has_key,
                name: &name,
            },
        );
        match shown {
            Ok(ShownGit::Whole) => ShownHistory::default(),
            Ok(ShownGit::Filtered {
                git_dir,
                work_tree,
                hidden,
            }) => ShownHistory {
                hidden,
                instead: Some(InsteadOfGit { git_dir, work_tree }),
            },
            // What cannot be looked through is not shown: git is led to the hidden directory and says
            // that it is no repository, instead of looking for one further up.
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

/// A path from the top of the repository is judged as it is, and as one of the project.
fn verdict(policy: &Policy, project: &Path, path: &Path) -> PathVerdict {
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
            Err(Rule::Environment | Rule::Credential | Rule::Listed(_)) => PathVerdict::Refused,
            Err(Rule::Own) if path.file_name() == Some(crate::settings::FILE_NAME) => {
                PathVerdict::Judged
            }
            Err(Rule::Own) => PathVerdict::Refused,
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

/// Whether some version of our settings holds a key itself instead of the name of a variable.
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
