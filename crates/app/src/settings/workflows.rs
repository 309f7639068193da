//! The keys of `[workflows]` and the sections `[agents.NAME]`: settings of workers, and the agents
//! they know.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::keys::{SettingKey, SettingValueKind, size};
use super::named::{SectionError, fields};
use super::rates::RateRule;

/// Everything `[workflows]` can say, and the agents.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowSettings {
    /// Number of tasks that one worker does at a time.
    pub concurrency: usize,
    /// Time after which a task is taken from a worker that does not renew its lease.
    pub lease_seconds: u64,
    pub run_tokens_max: Option<u64>,
    pub run_usd_max: Option<f64>,
    pub day_tokens_max: Option<u64>,
    pub day_usd_max: Option<f64>,
    /// For how many days runs are kept after they have ended; for ever if left out.
    pub keep_days: Option<u64>,
    /// Number of the newest runs that are kept at least; all if left out.
    pub keep_runs: Option<u64>,
    /// Database of the runs; the project's own file if left out.
    pub database: Option<String>,
    /// Addresses that `http` steps may reach although they are not public.
    pub http_allow: Vec<String>,
    pub agents: BTreeMap<String, WorkflowAgent>,
    /// Rules that send notices to commands, by name.
    pub notify: BTreeMap<String, NotifyRule>,
    /// How many tasks begin within a span of time, by the name of the limit.
    pub rates: BTreeMap<String, RateRule>,
}

/// A rule that sends notices to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotifyRule {
    /// On what; empty means on everything.
    pub on: Vec<String>,
    /// Only of workflows with this in their name.
    pub workflow: Option<String>,
    /// Only tasks of this person, or of no one by name.
    pub person: Option<String>,
    /// Run by the shell, with the notice as JSON on stdin.
    pub command: String,
}

/// The occasions of a notice.
const OCCASIONS: [&str; 7] = [
    "asked", "on_hold", "overdue", "budget", "paused", "failed", "finished",
];

/// An agent with a prompt of its own, which steps name as `defaultAssigneeId`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowAgent {
    pub display_name: String,
    pub prompt: String,
}

impl Default for WorkflowSettings {
    fn default() -> Self {
        Self {
            concurrency: 8,
            lease_seconds: 30,
            run_tokens_max: None,
            run_usd_max: None,
            day_tokens_max: None,
            day_usd_max: None,
            keep_days: None,
            keep_runs: None,
            database: None,
            http_allow: Vec::new(),
            agents: BTreeMap::new(),
            notify: BTreeMap::new(),
            rates: BTreeMap::new(),
        }
    }
}

/// The section whose sections are agents.
pub(super) const AGENTS: &str = "agents";

/// Example of `[agents]`; commented out, because the names are the user's own.
pub(super) const AGENTS_EXAMPLE: &str = "
# Agents that steps of workflows name as `defaultAssigneeId` (docs/workflows.md).
# [agents.code-reviewer]
# name = \"Code Review Agent\"  # for example
# prompt = \"You are an expert code reviewer.\"  # for example
";

/// The section whose sections are rules about notices.
pub(super) const NOTIFY: &str = "notify";

/// Example of `[notify]`; commented out, because the names are the user's own.
pub(super) const NOTIFY_EXAMPLE: &str = "
# Commands that get notices about runs (docs/workflows.md). Left out, `on` is everything, and
# `workflow` and `person` are any.
# [notify.desktop]
# on = [\"asked\", \"on_hold\", \"overdue\", \"budget\", \"paused\", \"failed\", \"finished\"]  # for example
# workflow = \"review\"  # for example
# person = \"ada\"  # for example
# command = \"jq -r .message | xargs -0 notify-send drawloom\"  # for example
";

pub(super) const NOTIFY_KEYS: [&str; 4] = ["on", "workflow", "person", "command"];

pub(super) fn notify_rule(table: &DeTable<'_>) -> Result<NotifyRule, SectionError> {
    let mut rule = NotifyRule::default();
    for field in fields(table) {
        let name = field.name();
        let text = || {
            let text = field.text().map(str::to_owned);
            text.ok_or_else(|| field.wrong(format!("`{name}` must be a string")))
        };
        match name {
            "on" => {
                let words = field.texts();
                let words = words.ok_or_else(|| field.wrong("`on` must be a list of strings"))?;
                if let Some(word) = words
                    .iter()
                    .find(|word| !OCCASIONS.contains(&word.as_str()))
                {
                    let known = OCCASIONS.join(", ");
                    return Err(field.wrong(format!("`{word}` is not one of {known}")));
                }
                rule.on = words;
            }
            "workflow" => rule.workflow = Some(text()?),
            "person" => rule.person = Some(text()?),
            "command" => rule.command = text()?,
            _ => return Err(field.unknown()),
        }
    }
    match rule.command.trim().is_empty() {
        true => Err(SectionError::Whole("needs a `command`".to_owned())),
        false => Ok(rule),
    }
}

pub(super) const AGENT_KEYS: [&str; 2] = ["name", "prompt"];

pub(super) fn agent(table: &DeTable<'_>) -> Result<WorkflowAgent, SectionError> {
    let mut agent = WorkflowAgent::default();
    for field in fields(table) {
        let name = field.name();
        let to = match name {
            "name" => &mut agent.display_name,
            "prompt" => &mut agent.prompt,
            _ => return Err(field.unknown()),
        };
        let text = field.text();
        let text = text.ok_or_else(|| field.wrong(format!("`{name}` must be a string")))?;
        text.clone_into(to);
    }
    Ok(agent)
}

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey {
        section: "workflows",
        name: "concurrency",
        kind: SettingValueKind::Count(|settings, count| {
            settings.workflows.concurrency = size(count)
        }),
        about: &[
            "Number of tasks of workflows one process works on at a time (docs/workflows.md).",
        ],
        default: "8",
    },
    SettingKey {
        section: "workflows",
        name: "lease_seconds",
        kind: SettingValueKind::Count(|settings, count| settings.workflows.lease_seconds = count),
        about: &[
            "A worker that is silent for this long counts as dead, and its tasks go to others.",
        ],
        default: "30",
    },
    SettingKey {
        section: "workflows",
        name: "run_tokens_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.workflows.run_tokens_max = Some(count)
        }),
        about: &["Tokens that one run may spend before it pauses."],
        default: "1000000  # for example",
    },
    SettingKey {
        section: "workflows",
        name: "run_usd_max",
        kind: SettingValueKind::Number(f64::MAX, |settings, usd| {
            settings.workflows.run_usd_max = Some(usd);
        }),
        about: &["The same in US dollars."],
        default: "5.0  # for example",
    },
    SettingKey {
        section: "workflows",
        name: "day_tokens_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.workflows.day_tokens_max = Some(count)
        }),
        about: &[
            "Tokens that all runs of the database may spend in a day (UTC) before they pause.",
        ],
        default: "5000000  # for example",
    },
    SettingKey {
        section: "workflows",
        name: "day_usd_max",
        kind: SettingValueKind::Number(f64::MAX, |settings, usd| {
            settings.workflows.day_usd_max = Some(usd);
        }),
        about: &["The same in US dollars."],
        default: "20.0  # for example",
    },
    SettingKey {
        section: "workflows",
        name: "keep_days",
        kind: SettingValueKind::Count(|settings, count| settings.workflows.keep_days = Some(count)),
        about: &["Workers delete runs that ended more than this many days ago; none by default."],
        default: "90  # for example",
    },
    SettingKey {
        section: "workflows",
        name: "keep_runs",
        kind: SettingValueKind::Count(|settings, count| settings.workflows.keep_runs = Some(count)),
        about: &[
            "Workers keep this many of the newest runs and delete older ones that have ended; all are kept by default.",
        ],
        default: "100000  # for example",
    },
    SettingKey {
        section: "workflows",
        name: "database",
        kind: SettingValueKind::Text(|settings, url| settings.workflows.database = Some(url)),
        about: &["The database of runs; DRAWLOOM_DATABASE_URL and `--database` override it."],
        default: r#""sqlite:.drawloom/drawloom.db"  # for example"#,
    },
    SettingKey {
        section: "workflows.http",
        name: "allow",
        kind: SettingValueKind::Texts(|settings, list| settings.workflows.http_allow = list),
        about: &[
            "Loopback, private and link-local addresses that `http` steps may call, such as",
            "\"127.0.0.1:8080\", \"10.0.0.0/8\" or \"localhost:8080\". Public addresses need no entry.",
        ],
        default: "[]",
    },
];
