//! The keys of `[builder]`: what builds may use, how they are checked, and where their work goes.

use std::path::PathBuf;

use ::builder::validation::ProjectCheck;
use toml::de::DeTable;
use workspace::RelPath;

use super::ai::small;
use super::keys::{SettingKey, SettingValueKind, size};
use super::named::{SectionError, SectionField, fields};

/// Everything `[builder]` can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuilderSettings {
    /// Limits of builds.
    pub builds: ::builder::BuildSettings,
    /// Folder of the worktrees; the user's cache if left out.
    pub folder: Option<PathBuf>,
    pub forge: ForgeSettings,
}

/// `[builder.forge]`: where work goes when it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeSettings {
    /// The forge, if the remote's host does not tell.
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

impl Default for ForgeSettings {
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

/// Example of `[builder.checks]`; commented out, because the names are the user's own.
pub(super) const CHECKS_EXAMPLE: &str = "
# The checks of a build, in this order: a name with a command line, or with a table of `run`,
# `cwd` and `timeout_seconds`. Without this section the checks are found by the project's files
# (Cargo.toml, package.json, pyproject.toml, go.mod); an empty section means none.
# [builder.checks]
# lint = \"npm run lint\"  # for example
# test = { run = \"npm test\", cwd = \"web\", timeout_seconds = 300 }  # for example
";

/// Keys of a check's table.
pub(super) const CHECK_KEYS: [&str; 3] = ["run", "cwd", "timeout_seconds"];

/// Reads the checks of the section, in the order in which they are written.
pub(super) fn checks(table: &DeTable<'_>) -> Result<Vec<ProjectCheck>, SectionError> {
    let checks = fields(table).map(|field| Ok((field.at(), check(field)?)));
    let mut checks = checks.collect::<Result<Vec<_>, _>>()?;
    checks.sort_by_key(|(at, _)| *at);
    Ok(checks.into_iter().map(|(_, check)| check).collect())
}

fn check(given: SectionField<'_, '_>) -> Result<ProjectCheck, SectionError> {
    let name = given.name();
    let mut check = ProjectCheck {
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

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey {
        section: "builder",
        name: "context_max_tokens",
        kind: SettingValueKind::Count(|settings, count| {
            settings.builder.builds.context_max_tokens = size(count);
        }),
        about: &[
            "Limits of a build (docs/builder.md), in addition to those of [agent]. Size of the context",
            "files the model is shown, in tokens:",
        ],
        default: "8000",
    },
    SettingKey {
        section: "builder",
        name: "index_max_tokens",
        kind: SettingValueKind::Count(|settings, count| {
            settings.builder.builds.index_max_tokens = size(count)
        }),
        about: &["Size of the index shown to the planner, in tokens."],
        default: "6000",
    },
    SettingKey {
        section: "builder",
        name: "plan_files_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.builder.builds.plan_files_max = size(count)
        }),
        about: &["Files of one plan."],
        default: "50",
    },
    SettingKey {
        section: "builder",
        name: "plan_corrections_max",
        kind: SettingValueKind::CountOrZero(|settings, count| {
            settings.builder.builds.plan_corrections_max = small(count);
        }),
        about: &["Times an unusable plan is sent back to the model."],
        default: "2",
    },
    SettingKey {
        section: "builder",
        name: "plan_turns_max",
        kind: SettingValueKind::CountOrZero(|settings, count| {
            settings.builder.builds.plan_turns_max = small(count);
        }),
        about: &[
            "Turns in which the planner may read files before it has to answer; 0 means none.",
        ],
        default: "8",
    },
    SettingKey {
        section: "builder",
        name: "repairs_max",
        kind: SettingValueKind::CountOrZero(|settings, count| {
            settings.builder.builds.repairs_max = small(count);
        }),
        about: &["Times failed checks go back to the model; then the build is a draft."],
        default: "2",
    },
    SettingKey {
        section: "builder",
        name: "check_seconds_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.builder.builds.check_seconds_max = count
        }),
        about: &["Seconds for a check that sets no limit itself."],
        default: "900",
    },
    SettingKey {
        section: "builder",
        name: "allow_unjudged",
        kind: SettingValueKind::Flag(|settings, allowed| {
            settings.builder.builds.allow_unjudged = allowed
        }),
        about: &[
            "Call a build complete even if none of its checks could run; otherwise it is a draft.",
        ],
        default: "false",
    },
    SettingKey {
        section: "builder",
        name: "dependencies",
        kind: SettingValueKind::Texts(|settings, names| {
            settings.builder.builds.dependencies = names
        }),
        about: &[
            "Directories of installed dependencies that a worktree borrows from the checkout.",
        ],
        default: r#"["node_modules", ".venv", "venv", "vendor/bundle", ".yarn/cache"]"#,
    },
    SettingKey {
        section: "builder",
        name: "folder",
        kind: SettingValueKind::Text(|settings, path| {
            settings.builder.folder = Some(PathBuf::from(path))
        }),
        about: &[
            "Where worktrees are made, outside of every checkout; `~` is your home. By default in your",
            "cache.",
        ],
        default: r#""~/.cache/drawloom"  # for example"#,
    },
    SettingKey {
        section: "builder.forge",
        name: "remote",
        kind: SettingValueKind::Text(|settings, name| settings.builder.forge.remote = name),
        about: &["The remote that branches are pushed to; without it they stay local."],
        default: r#""origin""#,
    },
    SettingKey {
        section: "builder.forge",
        name: "base",
        kind: SettingValueKind::Text(|settings, branch| settings.builder.forge.base = Some(branch)),
        about: &["The branch that pull requests go to, if not the one a build started from."],
        default: r#""main"  # for example"#,
    },
    SettingKey {
        section: "builder.forge",
        name: "kind",
        kind: SettingValueKind::Choice(vcs::ForgeKind::NAMES, |settings, name| {
            settings.builder.forge.kind = name.parse().ok();
        }),
        about: &[
            "Which forge the remote's host is. github.com, *.ghe.com, gitlab.com, codeberg.org and gitea.com are",
            "known; a token is sent to no other host unless you say here, or by `url`, that it is one.",
        ],
        default: r#""gitlab"  # for example"#,
    },
    SettingKey {
        section: "builder.forge",
        name: "url",
        kind: SettingValueKind::Text(|settings, url| settings.builder.forge.url = Some(url)),
        about: &["The address of its API, if that is not on the remote's host at the usual place."],
        default: r#""https://git.example.com/api/v4"  # for example"#,
    },
    SettingKey {
        section: "builder.forge",
        name: "token_env",
        kind: SettingValueKind::Text(|settings, name| {
            settings.builder.forge.token_env = Some(name)
        }),
        about: &[
            "The variable that has the token for pull requests. By default GITHUB_TOKEN, GITLAB_TOKEN or",
            "GITEA_TOKEN.",
        ],
        default: r#""GITHUB_TOKEN"  # for example"#,
    },
];
