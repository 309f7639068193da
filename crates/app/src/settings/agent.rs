//! The keys of `[agent]`: what a model with tools may use, touch and run.

use std::path::PathBuf;

use ::agent::handlers::TaskLimits;
use exec::sandbox::{
    NetworkAccess, ResourceLimits, SandboxRequirement, TMP_BYTES_MAX, UnixSockets,
};
use workspace::{HardLinks, PolicySettings};

use super::ai::{micro, small};
use super::keys::{SettingKey, SettingValueKind, size};

/// Everything `[agent]` can say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSettings {
    /// Limits of one run of the loop.
    pub limits: ::agent::Limits,
    /// Limits of one task.
    pub tasks: TaskLimits,
    pub policy: PolicySettings,
    /// Limits on the writing and searching of one run.
    pub files: workspace::Limits,
    pub sandbox: SandboxSettings,
}

/// `[agent.sandbox]`: the cage of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    pub requirement: SandboxRequirement,
    pub network: NetworkAccess,
    pub unix_sockets: UnixSockets,
    pub writable: Vec<PathBuf>,
    pub hidden: Vec<PathBuf>,
    /// Folders with keys and passwords that commands may see all the same.
    pub shown: Vec<PathBuf>,
    /// Variables that commands see beside the usual ones.
    pub env: Vec<String>,
    /// Limits of one command.
    pub limits: ResourceLimits,
    /// Size of the private `/tmp`.
    pub tmp_bytes_max: u64,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            requirement: SandboxRequirement::default(),
            network: NetworkAccess::default(),
            unix_sockets: UnixSockets::default(),
            writable: Vec::new(),
            hidden: Vec::new(),
            shown: Vec::new(),
            env: Vec::new(),
            limits: ResourceLimits::default(),
            tmp_bytes_max: TMP_BYTES_MAX,
        }
    }
}

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey {
        section: "agent",
        name: "turns_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.limits.turns_max = small(count)
        }),
        about: &[
            "Limits of a model with tools (docs/tasks.md). A run that meets one stops, keeps what is done,",
            "and can be resumed. Replies of the model in one run:",
        ],
        default: "100",
    },
    SettingKey {
        section: "agent",
        name: "calls_per_turn_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.limits.calls_per_turn_max = small(count);
        }),
        about: &["Tool calls in one reply."],
        default: "64",
    },
    SettingKey {
        section: "agent",
        name: "identical_calls_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.limits.identical_calls_max = small(count);
        }),
        about: &["The same call with the same arguments, one after the other."],
        default: "3",
    },
    SettingKey {
        section: "agent",
        name: "cut_replies_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.limits.cut_replies_max = small(count)
        }),
        about: &["Replies in a row that were cut off at the token limit."],
        default: "3",
    },
    SettingKey {
        section: "agent",
        name: "wall_seconds_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.limits.wall_seconds_max = count
        }),
        about: &["Seconds, without those between a crash and its resume."],
        default: "3600",
    },
    SettingKey {
        section: "agent",
        name: "tokens_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.limits.tokens_max = Some(count)
        }),
        about: &["Tokens and money of one conversation, in addition to the limits of [ai.budget]."],
        default: "1000000  # for example",
    },
    SettingKey {
        section: "agent",
        name: "usd_max",
        kind: SettingValueKind::Number(f64::MAX, |settings, dollars| {
            settings.agent.limits.micro_usd_max = Some(micro(dollars));
        }),
        about: &[],
        default: "2.0  # for example",
    },
    SettingKey {
        section: "agent",
        name: "output_bytes_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.limits.output_bytes_max = size(count)
        }),
        about: &["Bytes of one tool result; the middle of longer ones is left out."],
        default: "49152",
    },
    SettingKey {
        section: "agent",
        name: "context_tokens_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.tasks.context_tokens_max = size(count)
        }),
        about: &["Size of a task's input artifacts shown to the model, in tokens."],
        default: "60000",
    },
    SettingKey {
        section: "agent",
        name: "tree_entries_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.tasks.tree_entries_max = size(count)
        }),
        about: &["Entries of a directory's tree that are shown."],
        default: "500",
    },
    SettingKey {
        section: "agent",
        name: "validation_retries_max",
        kind: SettingValueKind::CountOrZero(|settings, count| {
            settings.agent.tasks.validation_retries_max = small(count);
        }),
        about: &["Times failed checks go back to the model before the task fails."],
        default: "3",
    },
    SettingKey {
        section: "agent",
        name: "validation_seconds_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.tasks.validation_seconds_max = count;
        }),
        about: &["Seconds for the command of a criterion that sets no limit itself."],
        default: "600",
    },
    SettingKey {
        section: "agent",
        name: "plan_corrections_max",
        kind: SettingValueKind::CountOrZero(|settings, count| {
            settings.agent.tasks.plan_corrections_max = small(count);
        }),
        about: &["Times an unreadable plan goes back to the model."],
        default: "3",
    },
    SettingKey {
        section: "agent.policy",
        name: "read_deny",
        kind: SettingValueKind::Texts(|settings, globs| settings.agent.policy.read_deny = globs),
        about: &[
            "Paths a model may not touch, as globs from the project's folder, besides the built-in rules: no",
            "secrets (.env, keys), no .git and no .drawloom; to write also no lock files and no CI settings.",
            "Never read:",
        ],
        default: "[]",
    },
    SettingKey {
        section: "agent.policy",
        name: "read_allow",
        kind: SettingValueKind::Texts(|settings, globs| settings.agent.policy.read_allow = globs),
        about: &["Exceptions from the built-in rules for reading."],
        default: "[]",
    },
    SettingKey {
        section: "agent.policy",
        name: "write_deny",
        kind: SettingValueKind::Texts(|settings, globs| settings.agent.policy.write_deny = globs),
        about: &["Never written."],
        default: "[]",
    },
    SettingKey {
        section: "agent.policy",
        name: "write_allow",
        kind: SettingValueKind::Texts(|settings, globs| settings.agent.policy.write_allow = globs),
        about: &["Exceptions from the built-in rules for reading and writing."],
        default: "[]",
    },
    SettingKey {
        section: "agent.policy",
        name: "trust_hard_links",
        kind: SettingValueKind::Flag(|settings, trust| {
            settings.agent.policy.hard_links = match trust {
                true => HardLinks::Trusted,
                false => HardLinks::Judged,
            };
        }),
        about: &["Read files with several names although one of the names is outside."],
        default: "false",
    },
    SettingKey {
        section: "agent.policy",
        name: "files_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.files.job_files_max = size(count)
        }),
        about: &["Files that one run may change, and bytes it may write."],
        default: "1000",
    },
    SettingKey {
        section: "agent.policy",
        name: "bytes_max",
        kind: SettingValueKind::Count(|settings, count| settings.agent.files.job_bytes_max = count),
        about: &[],
        default: "67108864",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "kind",
        kind: SettingValueKind::Choice(SandboxRequirement::NAMES, |settings, choice| {
            settings.agent.sandbox.requirement = choice.parse().unwrap_or_default();
        }),
        about: &[
            "The sandbox of commands that a model runs: \"namespaces\", \"bubblewrap\", \"landlock\", \"auto\" (the",
            "first of them that works, for root without landlock, else commands are refused) or \"none\".",
            "`drawloom doctor` says what works here (docs/security.md).",
        ],
        default: r#""auto""#,
    },
    SettingKey {
        section: "agent.sandbox",
        name: "network",
        kind: SettingValueKind::Flag(|settings, on| {
            settings.agent.sandbox.network = if on {
                NetworkAccess::On
            } else {
                NetworkAccess::Off
            };
        }),
        about: &["Allows commands to reach the network."],
        default: "false",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "unix_sockets",
        kind: SettingValueKind::Flag(|settings, on| {
            settings.agent.sandbox.unix_sockets = match on {
                true => UnixSockets::On,
                false => UnixSockets::Off,
            };
        }),
        about: &[
            "Allows commands to use UNIX sockets, such as Docker's: a way out of the sandbox.",
        ],
        default: "false",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "writable",
        kind: SettingValueKind::Paths(|settings, paths| settings.agent.sandbox.writable = paths),
        about: &[
            "More directories that commands may write, such as a package cache; `~` is your home.",
        ],
        default: "[]",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "hidden",
        kind: SettingValueKind::Paths(|settings, paths| settings.agent.sandbox.hidden = paths),
        about: &[
            "More files and directories that commands cannot read, besides the project's secrets and where",
            "keys and passwords are kept in your home (~/.ssh, ~/.aws, ~/.npmrc, …).",
        ],
        default: "[]",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "shown",
        kind: SettingValueKind::Paths(|settings, paths| settings.agent.sandbox.shown = paths),
        about: &["Those of your home that commands may read after all, such as \"~/.npmrc\"."],
        default: "[]",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "env",
        kind: SettingValueKind::Texts(|settings, names| settings.agent.sandbox.env = names),
        about: &[
            "More variables that commands see; `NAME*` means all that begin so. Those named like secrets",
            "have to be named in full.",
        ],
        default: "[]",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "processes_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.sandbox.limits.processes_max = count
        }),
        about: &["Processes and threads of one command at the same time."],
        default: "4096",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "memory_bytes_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.sandbox.limits.memory_bytes_max = count
        }),
        about: &[
            "Memory of one process of a command, without address space that is only reserved.",
        ],
        default: "17179869184",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "file_bytes_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.sandbox.limits.file_bytes_max = count
        }),
        about: &["The largest file that a command may write, and what its private /tmp holds."],
        default: "8589934592",
    },
    SettingKey {
        section: "agent.sandbox",
        name: "tmp_bytes_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.agent.sandbox.tmp_bytes_max = count
        }),
        about: &[],
        default: "2147483648",
    },
];
