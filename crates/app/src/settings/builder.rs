//! The keys of `[builder]`: what builds may use, how they are checked, and where their work goes.

use std::path::PathBuf;

use ::builder::validation::Check;
use toml::de::DeTable;
use workspace::RelPath;

use super::ai::small;
use super::keys::{Key, Kind, size};
use super::named::{Field, Wrong, fields};

/// Everything `[builder]` can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Builder {
    /// What builds may use.
    pub builds: ::builder::Settings,
    /// Where worktrees are made; the user's cache if left out.
    pub folder: Option<PathBuf>,
    pub forge: Forge,
}

/// `[builder.forge]`: where work goes when it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forge {
    /// Which forge it is, where the remote's host does not say.
    pub kind: Option<vcs::ForgeKind>,
    /// The address of the API, where it does not follow from the remote's host.
    pub url: Option<String>,
    /// The variable that the token is in; the usual one of the forge if left out.
    pub token_env: Option<String>,
    /// The remote that branches are pushed to.
    pub remote: String,
    /// The branch that pull requests go to, if not the one a build started from.
    pub base: Option<String>,
}

impl Default for Forge {
    fn default() -> Self {
        Self {
            kind: None,
            url: None,
            token_env: None,
            remote: "origin".to_owned(),
            base: None,
        }
    }
}

/// The section whose keys are the user's own names of checks.
pub(super) const CHECKS: &str = "builder.checks";

/// How `[builder.checks]` is shown; commented out, because the names are the user's own.
pub(super) const CHECKS_EXAMPLE: &str = "
# What a build is held against, in this order: a name with a command line, or with a table of `run`,
# `cwd` and `timeout_seconds`. Without this section the checks are found by the project's files
# (Cargo.toml, package.json, pyproject.toml, go.mod); an empty section means none.
# [builder.checks]
# lint = \"npm run lint\"  # for example
# test = { run = \"npm test\", cwd = \"web\", timeout_seconds = 300 }  # for example
";

/// What may stand in the table of a check.
pub(super) const CHECK_KEYS: [&str; 3] = ["run", "cwd", "timeout_seconds"];

/// The checks of the section, in the order in which they are written.
pub(super) fn checks(table: &DeTable<'_>) -> Result<Vec<Check>, Wrong> {
    let checks = fields(table).map(|field| Ok((field.at(), check(field)?)));
    let mut checks = checks.collect::<Result<Vec<_>, _>>()?;
    checks.sort_by_key(|(at, _)| *at);
    Ok(checks.into_iter().map(|(_, check)| check).collect())
}

fn check(given: Field<'_, '_>) -> Result<Check, Wrong> {
    let name = given.name();
    let mut check = Check {
        name: name.to_owned(),
        run: given.text().unwrap_or_default().trim().to_owned(),
        cwd: RelPath::root(),
        timeout_seconds: None,
    };
    for field in given.table().into_iter().flat_map(fields) {
        let wrong = |what: &str| field.wrong(format!("`{name}.{}` must be {what}", field.name()));
        match field.name() {
            "run" => {
                let run = field.text().ok_or_else(|| wrong("a command line"))?;
                run.trim().clone_into(&mut check.run);
            }
            "cwd" => {
                let path = field.text().and_then(|text| RelPath::parse(text).ok());
                check.cwd = path.ok_or_else(|| wrong("a path inside the project"))?;
            }
            "timeout_seconds" => {
                let seconds = field.count();
                let seconds = seconds.ok_or_else(|| wrong("a whole number of at least 1"))?;
                check.timeout_seconds = Some(seconds);
            }
            _ => return Err(field.unknown()),
        }
    }
    if check.run.is_empty() {
        let message = format!("`{name}` must be a command line, or a table with `run`");
        return Err(given.wrong(message));
    }
    Ok(check)
}

pub(super) const KEYS: &[Key] = &[
    Key {
        section: "builder",
        name: "context_max_tokens",
        kind: Kind::Count(|settings, count| {
            settings.builder.builds.context_max_tokens = size(count);
        }),
        about: &[
            "What a build may use (docs/builder.md), beside the limits of [agent]. How much of the context",
            "files the model is shown, in tokens:",
        ],
        default: "8000",
    },
    Key {
        section: "builder",
        name: "index_max_tokens",
        kind: Kind::Count(|settings, count| settings.builder.builds.index_max_tokens = size(count)),
        about: &["How much of the index the planner is shown, in tokens."],
        default: "6000",
    },
    Key {
        section: "builder",
        name: "plan_files_max",
        kind: Kind::Count(|settings, count| settings.builder.builds.plan_files_max = size(count)),
        about: &["Files of one plan."],
        default: "50",
    },
    Key {
        section: "builder",
        name: "plan_corrections_max",
        kind: Kind::CountOrZero(|settings, count| {
            settings.builder.builds.plan_corrections_max = small(count);
        }),
        about: &["How often a plan that cannot be used is sent back to the model."],
        default: "2",
    },
    Key {
        section: "builder",
        name: "plan_turns_max",
        kind: Kind::CountOrZero(|settings, count| {
            settings.builder.builds.plan_turns_max = small(count);
        }),
        about: &[
            "Turns in which the planner may read files before it has to answer; 0 means none.",
        ],
        default: "8",
    },
    Key {
        section: "builder",
        name: "repairs_max",
        kind: Kind::CountOrZero(|settings, count| {
            settings.builder.builds.repairs_max = small(count);
        }),
        about: &["How often the model is told what the checks found; then the build is a draft."],
        default: "2",
    },
    Key {
        section: "builder",
        name: "check_seconds_max",
        kind: Kind::Count(|settings, count| settings.builder.builds.check_seconds_max = count),
        about: &["Seconds that a check may take when it does not say."],
        default: "900",
    },
    Key {
        section: "builder",
        name: "allow_unjudged",
        kind: Kind::Flag(|settings, allowed| settings.builder.builds.allow_unjudged = allowed),
        about: &[
            "Whether a build is complete although none of its checks could run; else it is a draft.",
        ],
        default: "false",
    },
    Key {
        section: "builder",
        name: "dependencies",
        kind: Kind::Texts(|settings, names| settings.builder.builds.dependencies = names),
        about: &[
            "Directories of installed dependencies that a worktree borrows from the checkout.",
        ],
        default: r#"["node_modules", ".venv", "venv", "vendor/bundle", ".yarn/cache"]"#,
    },
    Key {
        section: "builder",
        name: "folder",
        kind: Kind::Text(|settings, path| settings.builder.folder = Some(PathBuf::from(path))),
        about: &[
            "Where worktrees are made, outside of every checkout; `~` is your home. By default in your",
            "cache.",
        ],
        default: r#""~/.cache/drawloom"  # for example"#,
    },
    Key {
        section: "builder.forge",
        name: "remote",
        kind: Kind::Text(|settings, name| settings.builder.forge.remote = name),
        about: &["The remote that branches are pushed to; without it they stay local."],
        default: r#""origin""#,
    },
    Key {
        section: "builder.forge",
        name: "base",
        kind: Kind::Text(|settings, branch| settings.builder.forge.base = Some(branch)),
        about: &["The branch that pull requests go to, if not the one a build started from."],
        default: r#""main"  # for example"#,
    },
    Key {
        section: "builder.forge",
        name: "kind",
        kind: Kind::Choice(vcs::ForgeKind::NAMES, |settings, name| {
            settings.builder.forge.kind = name.parse().ok();
        }),
        about: &[
            "Which forge the remote's host is. github.com, *.ghe.com, gitlab.com, codeberg.org and gitea.com are",
            "known; a token is sent to no other host unless you say here, or by `url`, that it is one.",
        ],
        default: r#""gitlab"  # for example"#,
    },
    Key {
        section: "builder.forge",
        name: "url",
        kind: Kind::Text(|settings, url| settings.builder.forge.url = Some(url)),
        about: &["The address of its API, if that is not on the remote's host at the usual place."],
        default: r#""https://git.example.com/api/v4"  # for example"#,
    },
    Key {
        section: "builder.forge",
        name: "token_env",
        kind: Kind::Text(|settings, name| settings.builder.forge.token_env = Some(name)),
        about: &[
            "The variable that has the token for pull requests. By default GITHUB_TOKEN, GITLAB_TOKEN or",
            "GITEA_TOKEN.",
        ],
        default: r#""GITHUB_TOKEN"  # for example"#,
    },
];
