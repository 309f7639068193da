//! Finding a sandbox that works, and refusing without one.

use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use exec::sandbox::{NetworkAccess, SandboxKind, SandboxRequirement, probe};
use exec::{ChildEnvironment, Invocation, run, shell};

use crate::test_sandbox::{TestSandbox, kinds, probed};

/// Set when a test of this file runs itself inside a sandbox.
const INNER: &str = "DRAWLOOM_TEST_INNER";

/// Runs one test of this file again, as another process.
fn again(test: &str, env: ChildEnvironment) -> Invocation {
    Invocation::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(env.set(INNER, "1"))
        .timeout(Duration::from_secs(30))
}

#[test]
fn a_kind_is_active_and_explained() {
    probed();
    let found = probe();
    let kind = found.choose(SandboxRequirement::Auto).unwrap();
    assert_ne!(kind, SandboxKind::None);
    let text = found.explain(SandboxRequirement::Auto);
    assert!(
        text.starts_with(&format!("active: {kind} (asked for: auto)\n")),
        "{text}"
    );
    assert_eq!(text.matches("\nnamespaces: ").count(), 1, "{text}");
    assert_eq!(text.matches("\nbubblewrap: ").count(), 1, "{text}");
    assert_eq!(text.matches("\nlandlock: ").count(), 1, "{text}");
    assert!(
        found
            .explain(SandboxRequirement::None)
            .starts_with("active: none, because the settings say so"),
        "{text}"
    );
}

/// Inside a sandbox no other namespaces can be made, as in most containers: `bwrap` exists and may
/// not do its work.
#[test]
fn where_namespaces_are_forbidden_the_next_kind_is_taken() {
    if std::env::var_os(INNER).is_some() {
        println!(
            "FOUND {}",
            probed()
                .explain(SandboxRequirement::Auto)
                .replace('\n', "|")
        );
        return;
    }
    for kind in kinds() {
        let field = TestSandbox::new();
        let test = "probing::where_namespaces_are_forbidden_the_next_kind_is_taken";
        // The network is shared, so that only the mounts are refused.
        let program = std::env::current_exe().unwrap();
        let sandbox = field
            .sandbox(kind)
            .network(NetworkAccess::On)
            .read_only(program);
        let outcome = run(&again(test, ChildEnvironment::default()).sandbox(sandbox)).unwrap();
        let text = outcome.stdout_text();
        let found = text.split("FOUND ").nth(1).unwrap_or_default();
        let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        if kinds().contains(&SandboxRequirement::Landlock) && !is_root {
            assert!(
                found.starts_with("active: landlock (asked for: auto)"),
                "{kind}: {text}"
            );
        } else {
            assert!(found.contains("so commands are refused"), "{kind}: {text}");
        }
        assert!(
            found.contains("|namespaces: not available: ")
                && found.contains("user namespaces are forbidden here"),
            "{kind}: {text}"
        );
        assert!(
            found.contains("|bubblewrap: not available: "),
            "{kind}: {text}"
        );
        assert!(
            found.contains("--security-opt") || found.contains("is in none of"),
            "{kind}: {text}"
        );
    }
}

#[test]
fn the_requirement_none_runs_a_command_without_a_sandbox() {
    let field = TestSandbox::new();
    let free = field.sandbox(SandboxRequirement::None);
    let outcome = field.run(&free, "echo x > $OUT/new");
    assert!(outcome.is_success());
    assert!(field.outside.join("new").exists());
}

#[test]
fn a_model_sees_no_secrets_of_the_environment() {
    let test = "probing::a_model_sees_no_secrets_of_the_environment";
    if std::env::var_os(INNER).is_some() {
        let env =
            ChildEnvironment::agent(["DRAWLOOM_PLAIN", "DRAWLOOM_SOME_*", "DRAWLOOM_NAMED_TOKEN"]);
        let seen = run(&shell("env | sort").env(env)).unwrap();
        println!("BEGIN\n{}END", seen.stdout_text());
        return;
    }
    let env = ChildEnvironment::default()
        .set("LC_TIME", "C")
        .set("LC_API_KEY", "kept back")
        .set("OPENAI_API_KEY", "kept back")
        .set("github_token", "kept back")
        .set("DB_PASSWORD", "kept back")
        .set("AWS_CREDENTIAL_FILE", "kept back")
        .set("UNKNOWN", "kept back")
        .set("DRAWLOOM_PLAIN", "passed")
        .set("DRAWLOOM_SOME_NAME", "passed")
        .set("DRAWLOOM_SOME_SECRET", "kept back")
        .set("DRAWLOOM_NAMED_TOKEN", "passed");
    let outcome = run(&again(test, env)).unwrap();
    let text = outcome.stdout_text();
    assert!(!text.contains("kept back"), "{text}");
    for expected in [
        "LC_TIME=C\n",
        "DRAWLOOM_PLAIN=passed\n",
        "DRAWLOOM_SOME_NAME=passed\n",
        "DRAWLOOM_NAMED_TOKEN=passed\n",
        "GIT_TERMINAL_PROMPT=0\n",
        "PATH=",
        "HOME=",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}
