//! `[agent]` and `[mcp.servers]` of `drawloom.toml`: what they set, and how mistakes are reported.

use std::path::PathBuf;

use app::settings::McpServer;
use exec::sandbox::{NetworkAccess, SandboxRequirement, UnixSockets};

use super::resolve;

fn check_error(file: &str, expected: &str) {
    super::check_error(file, &[], expected);
}

const ALL: &str = r#"
        [agent]
        turns_max = 7
        identical_calls_max = 2
        wall_seconds_max = 60
        tokens_max = 5000
        usd_max = 0.25
        output_bytes_max = 1024
        validation_retries_max = 0
        context_tokens_max = 900
        [agent.policy]
        read_deny = ["private/**"]
        write_deny = ["docs"]
        write_allow = ["Cargo.lock"]
        files_max = 3
        bytes_max = 4096
        [agent.sandbox]
        kind = "landlock"
        network = true
        unix_sockets = true
        writable = ["/var/cache/x"]
        hidden = ["/home/me/.ssh"]
        env = ["MY_*"]
        [mcp.servers.docs]
        command = "npx"
        args = ["-y", "docs"]
        env = { A = "$B" }
        "#;

#[test]
fn everything_about_agents_is_read() {
    let settings = resolve(
        ALL,
        &[
            ("DRAWLOOM_AGENT_TURNS_MAX", "9"),
            ("DRAWLOOM_AGENT_SANDBOX_KIND", "none"),
        ],
    )
    .unwrap();
    let agent = &settings.agent;
    assert_eq!(
        (agent.limits.turns_max, agent.limits.identical_calls_max),
        (9, 2)
    );
    assert_eq!(agent.limits.wall_seconds_max, 60);
    assert_eq!(
        (agent.limits.tokens_max, agent.limits.micro_usd_max),
        (Some(5000), Some(250_000))
    );
    assert_eq!(agent.limits.output_bytes_max, 1024);
    assert_eq!(
        (
            agent.tasks.validation_retries_max,
            agent.tasks.context_tokens_max
        ),
        (0, 900)
    );
    assert_eq!(agent.policy.read_deny, ["private/**"]);
    assert_eq!(
        (&agent.policy.write_deny[..], &agent.policy.write_allow[..]),
        (&["docs".to_owned()][..], &["Cargo.lock".to_owned()][..])
    );
    assert_eq!(
        (agent.files.job_files_max, agent.files.job_bytes_max),
        (3, 4096)
    );
    let sandbox = &agent.sandbox;
    assert_eq!(
        sandbox.requirement,
        SandboxRequirement::None,
        "the variable wins"
    );
    assert_eq!(
        (sandbox.network, sandbox.unix_sockets),
        (NetworkAccess::On, UnixSockets::On)
    );
    assert_eq!(sandbox.writable, [PathBuf::from("/var/cache/x")]);
    assert_eq!(sandbox.hidden, [PathBuf::from("/home/me/.ssh")]);
    assert_eq!(sandbox.env, ["MY_*"]);
    let docs = McpServer::Program {
        command: "npx".to_owned(),
        args: vec!["-y".to_owned(), "docs".to_owned()],
        env: [("A".to_owned(), "$B".to_owned())].into(),
    };
    assert_eq!(settings.mcp.get("docs"), Some(&docs));
}

#[test]
fn mistakes_are_shown_where_they_are() {
    check_error(
        "[agent]\nturn_max = 3\n",
        "2:1 unknown key `turn_max` (did you mean `turns_max`?)",
    );
    check_error(
        "[agent]\nvalidation_retries_max = -1\n",
        "2:26 `agent.validation_retries_max` must be a whole number of at least 0, not -1",
    );
    check_error(
        "[agent.sandbox]\nkind = \"docker\"\n",
        "2:8 `agent.sandbox.kind` must be one of \"auto\", \"namespaces\", \"bubblewrap\", \"landlock\", \"none\", \
         not \"docker\"",
    );
    check_error(
        "[agent.polcy]\nread_deny = []\n",
        "1:8 unknown key `polcy` (did you mean `policy`?)",
    );
    check_error(
        "[mcp]\nserver = 1\n",
        "2:1 unknown key `server` (did you mean `servers`?)",
    );
    check_error("mcp = 1\n", "1:1 `mcp` is a section: write it as [mcp]");
    check_error(
        "[mcp.servers.a]\nargs = []\n",
        "1:14 `mcp.servers.a` needs a `command` or a `url`",
    );
    check_error(
        "[mcp.servers.a]\ncommand = \"x\"\nargs = [1]\n",
        "3:8 mcp.servers.a: `args` must be a list of strings, not array",
    );
    check_error(
        "[mcp.servers.a]\ncommand = \"x\"\nenvv = {}\n",
        "3:1 unknown key `envv` (did you mean `env`?)",
    );
    check_error(
        "[mcp]\ntools = [\"generate\", \"run\"]\n",
        "2:9 `mcp.tools` must list one of \"generate\", \"runs\", \"author\", \"build\", \"look\", not \"run\"",
    );
    check_error(
        "[mcp.servers.\"a b\"]\ncommand = \"x\"\n",
        "1:14 `a b` cannot be the name of an MCP server (use up to 24 letters, digits, `-` and `_`)",
    );
}
