//! The keys of `[agent]`: what a model with tools may use, touch and run.

use std::path::PathBuf;

use ::agent::handlers::TaskLimits;
use exec::sandbox::{Network, Requirement, ResourceLimits, TMP_BYTES_MAX, UnixSockets};
use workspace::{HardLinks, PolicySettings};

use super::ai::{micro, small};
use super::keys::{Key, Kind, size};

/// Everything `[agent]` can say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// What one run of the loop may use.
    pub limits: ::agent::Limits,
    /// What one task may use.
    pub tasks: TaskLimits,
    pub policy: PolicySettings,
    /// What one run may write and search.
    pub files: workspace::Limits,
    pub sandbox: Sandbox,
}

/// `[agent.sandbox]`: the cage of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    pub requirement: Requirement,
    pub network: Network,
    pub unix_sockets: UnixSockets,
    pub writable: Vec<PathBuf>,
    pub hidden: Vec<PathBuf>,
    /// Where keys and passwords are kept, and not hidden.
    pub shown: Vec<PathBuf>,
    /// Variables that commands see beside the usual ones.
    pub env: Vec<String>,
    /// What one command may use.
    pub limits: ResourceLimits,
    /// How much the private `/tmp` holds.
    pub tmp_bytes_max: u64,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            requirement: Requirement::default(),
            network: Network::default(),
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

pub(super) const KEYS: &[Key] = &[
    Key {
        section: "agent",
        name: "turns_max",
        kind: Kind::Count(|settings, count| settings.agent.limits.turns_max = small(count)),
        about: &[
            "Limits of a model with tools (docs/tasks.md). A run that meets one stops, keeps what is done,",
            "and can be resumed. Replies of the model in one run:",
        ],
        default: "100",
    },
    Key {
        section: "agent",
        name: "calls_per_turn_max",
        kind: Kind::Count(|settings, count| {
            settings.agent.limits.calls_per_turn_max = small(count);
        }),
        about: &["Tool calls in one reply."],
        default: "64",
    },
    Key {
        section: "agent",
        name: "identical_calls_max",
        kind: Kind::Count(|settings, count| {
            settings.agent.limits.identical_calls_max = small(count);
        }),
        about: &["The same call with the same arguments, one after the other."],
        default: "3",
    },
    Key {
        section: "agent",
        name: "cut_replies_max",
        kind: Kind::Count(|settings, count| settings.agent.limits.cut_replies_max = small(count)),
        about: &["Replies in a row that were cut off at the token limit."],
        default: "3",
    },
    Key {
        section: "agent",
        name: "wall_seconds_max",
        kind: Kind::Count(|settings, count| settings.agent.limits.wall_seconds_max = count),
        about: &["Seconds, without those between a crash and its resume."],
        default: "3600",
    },
    Key {
        section: "agent",
        name: "tokens_max",
        kind: Kind::Count(|settings, count| settings.agent.limits.tokens_max = Some(count)),
        about: &["Tokens and money of one conversation, beside the limits of [ai.budget]."],
        default: "1000000  # for example",
    },
    Key {
        section: "agent",
        name: "usd_max",
        kind: Kind::Number(f64::MAX, |settings, dollars| {
            settings.agent.limits.micro_usd_max = Some(micro(dollars));
        }),
        about: &[],
        default: "2.0  # for example",
    },
    Key {
        section: "agent",
        name: "output_bytes_max",
        kind: Kind::Count(|settings, count| settings.agent.limits.output_bytes_max = size(count)),
        about: &["Bytes of one tool result; the middle of longer ones is left out."],
        default: "49152",
    },
    Key {
        section: "agent",
        name: "context_tokens_max",
        kind: Kind::Count(|settings, count| settings.agent.tasks.context_tokens_max = size(count)),
        about: &["How much of a task's input artifacts the model is shown, in tokens."],
        default: "60000",
    },
    Key {
        section: "agent",
        name: "tree_entries_max",
        kind: Kind::Count(|settings, count| settings.agent.tasks.tree_entries_max = size(count)),
        about: &["Entries of a directory's tree that are shown."],
        default: "500",
    },
    Key {
        section: "agent",
        name: "validation_retries_max",
        kind: Kind::CountOrZero(|settings, count| {
            settings.agent.tasks.validation_retries_max = small(count);
        }),
        about: &["How often failed checks go back to the model before the task fails."],
        default: "3",
    },
    Key {
        section: "agent",
        name: "validation_seconds_max",
        kind: Kind::Count(|settings, count| {
            settings.agent.tasks.validation_seconds_max = count;
        }),
        about: &["Seconds for the command of a criterion that does not say."],
        default: "600",
    },
    Key {
        section: "agent",
        name: "plan_corrections_max",
        kind: Kind::CountOrZero(|settings, count| {
            settings.agent.tasks.plan_corrections_max = small(count);
        }),
        about: &["How often a plan that cannot be read goes back to the model."],
        default: "3",
    },
    Key {
        section: "agent.policy",
        name: "read_deny",
        kind: Kind::Texts(|settings, globs| settings.agent.policy.read_deny = globs),
        about: &[
            "What a model may not touch, as globs from the project's folder, beside the built-in rules: no",
            "secrets (.env, keys), no .git and no .drawloom; to write also no lock files and no CI settings.",
            "Never read:",
        ],
        default: "[]",
    },
    Key {
        section: "agent.policy",
        name: "read_allow",
        kind: Kind::Texts(|settings, globs| settings.agent.policy.read_allow = globs),
        about: &["Exceptions from the built-in rules for reading."],
        default: "[]",
    },
    Key {
        section: "agent.policy",
        name: "write_deny",
        kind: Kind::Texts(|settings, globs| settings.agent.policy.write_deny = globs),
        about: &["Never written."],
        default: "[]",
    },
    Key {
        section: "agent.policy",
        name: "write_allow",
        kind: Kind::Texts(|settings, globs| settings.agent.policy.write_allow = globs),
        about: &["Exceptions from the built-in rules for reading and writing."],
        default: "[]",
    },
    Key {
        section: "agent.policy",
        name: "trust_hard_links",
        kind: Kind::Flag(|settings, trust| {
            settings.agent.policy.hard_links = match trust {
                true => HardLinks::Trusted,
                false => HardLinks::Judged,
            };
        }),
        about: &["Read files with several names although one of the names is outside."],
        default: "false",
    },
    Key {
        section: "agent.policy",
        name: "files_max",
        kind: Kind::Count(|settings, count| settings.agent.files.job_files_max = size(count)),
        about: &["Files that one run may change, and bytes it may write."],
        default: "1000",
    },
    Key {
        section: "agent.policy",
        name: "bytes_max",
        kind: Kind::Count(|settings, count| settings.agent.files.job_bytes_max = count),
        about: &[],
        default: "67108864",
    },
    Key {
        section: "agent.sandbox",
        name: "kind",
        kind: Kind::Choice(Requirement::NAMES, |settings, choice| {
            settings.agent.sandbox.requirement = choice.parse().unwrap_or_default();
        }),
        about: &[
            "What holds the commands that a model runs: \"namespaces\", \"bubblewrap\", \"landlock\", \"auto\" (the",
            "first of them that works, for root without landlock, else commands are refused) or \"none\".",
            "`drawloom doctor` says what works here (docs/security.md).",
        ],
        default: r#""auto""#,
    },
    Key {
        section: "agent.sandbox",
        name: "network",
        kind: Kind::Flag(|settings, on| {
            settings.agent.sandbox.network = if on { Network::On } else { Network::Off };
        }),
        about: &["Whether commands reach the network."],
        default: "false",
    },
    Key {
        section: "agent.sandbox",
        name: "unix_sockets",
        kind: Kind::Flag(|settings, on| {
            settings.agent.sandbox.unix_sockets = match on {
                true => UnixSockets::On,
                false => UnixSockets::Off,
            };
        }),
        about: &[
            "Whether commands may use UNIX sockets, such as Docker's: a way out of the sandbox.",
        ],
        default: "false",
    },
    Key {
        section: "agent.sandbox",
        name: "writable",
        kind: Kind::Paths(|settings, paths| settings.agent.sandbox.writable = paths),
        about: &[
            "More directories that commands may write, such as a package cache; `~` is your home.",
        ],
        default: "[]",
    },
    Key {
        section: "agent.sandbox",
        name: "hidden",
        kind: Kind::Paths(|settings, paths| settings.agent.sandbox.hidden = paths),
        about: &[
            "More files and directories that commands cannot read, beside the project's secrets and where",
            "keys and passwords are kept in your home (~/.ssh, ~/.aws, ~/.npmrc, …).",
        ],
        default: "[]",
    },
    Key {
        section: "agent.sandbox",
        name: "shown",
        kind: Kind::Paths(|settings, paths| settings.agent.sandbox.shown = paths),
        about: &["Those of your home that commands may read after all, such as \"~/.npmrc\"."],
        default: "[]",
    },
    Key {
        section: "agent.sandbox",
        name: "env",
        kind: Kind::Texts(|settings, names| settings.agent.sandbox.env = names),
        about: &[
            "More variables that commands see; `NAME*` means all that begin so. Those named like secrets",
            "have to be named in full.",
        ],
        default: "[]",
    },
    Key {
        section: "agent.sandbox",
        name: "processes_max",
        kind: Kind::Count(|settings, count| settings.agent.sandbox.limits.processes_max = count),
        about: &["Processes and threads of one command at the same time."],
        default: "4096",
    },
    Key {
        section: "agent.sandbox",
        name: "memory_bytes_max",
        kind: Kind::Count(|settings, count| settings.agent.sandbox.limits.memory_bytes_max = count),
        about: &[
            "Memory of one process of a command, without address space that is only reserved.",
        ],
        default: "17179869184",
    },
    Key {
        section: "agent.sandbox",
        name: "file_bytes_max",
        kind: Kind::Count(|settings, count| settings.agent.sandbox.limits.file_bytes_max = count),
        about: &["The largest file that a command may write, and what its private /tmp holds."],
        default: "8589934592",
    },
    Key {
        section: "agent.sandbox",
        name: "tmp_bytes_max",
        kind: Kind::Count(|settings, count| settings.agent.sandbox.tmp_bytes_max = count),
        about: &[],
        default: "2147483648",
    },
];
