//! The programs people really use in command mode, talking to aimock in place of a provider.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{Case, file, mock};

fn installed(peer: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let script = file("tests/peers/install.sh");
    let done = Command::new("bash")
        .arg(script)
        .arg(&folder)
        .arg(peer)
        .status()
        .unwrap();
    assert!(
        done.success(),
        "{peer} could not be installed; what is missing is said above"
    );
    folder.join(peer)
}

/// A clean environment: the user who runs the tests may use these programs too.
fn clean(home: &Path, more: &str) -> String {
    let path = std::env::var("PATH").unwrap();
    format!("env -i HOME='{}' PATH='{path}' {more}", home.display())
}

#[track_caller]
fn check(line: &str) {
    let mut case = Case::command(line);
    case.setup.timeout = Duration::from_secs(120);
    case.answered();
}

#[test]
fn claude_answers_as_an_argument_and_on_standard_input() {
    let program = installed("claude").join("node_modules/.bin/claude");
    let home = tempfile::tempdir().unwrap();
    let variables = format!("ANTHROPIC_BASE_URL={} ANTHROPIC_API_KEY=x", mock());
    let line = clean(
        home.path(),
        &format!(
            "{variables} '{}' --model claude-noisy -p",
            program.display()
        ),
    );
    check(&format!("{line} {{prompt}}"));
    check(&line);
}

#[test]
fn llm_answers_on_standard_input() {
    let program = installed("llm").join("bin/llm");
    let home = tempfile::tempdir().unwrap();
    let models = format!(
        "- {{model_id: local, model_name: gpt-noisy, api_base: \"{}/v1\"}}\n",
        mock()
    );
    std::fs::write(home.path().join("extra-openai-models.yaml"), models).unwrap();
    let variables = format!("OPENAI_API_KEY=x LLM_USER_PATH='{}'", home.path().display());
    let line = format!("{variables} '{}' -m local", program.display());
    check(&clean(home.path(), &line));
}
