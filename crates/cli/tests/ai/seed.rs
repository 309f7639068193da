//! The four settings examples of the manual, as they are written there.

use crate::test_project::{TestProject, installed, mock, written};

#[test]
fn a_provider() {
    let shop = TestProject::with(
        r#"[ai]
provider = "anthropic"
model = "claude-sonnet-4-5"
api_key = "$ANTHROPIC_API_KEY"
"#,
    );
    // Without the key, `auto` finds no model and says why.
    let ran = shop.run("run card Customer");
    assert_eq!(ran.exit, 2);
    assert!(
        ran.err
            .contains("warning: `ai.provider` is set, but $ANTHROPIC_API_KEY is not set"),
        "{}",
        ran.err
    );
    // The provider itself is not within reach of a test; its address is.
    let shop = shop
        .variable("ANTHROPIC_API_KEY", crate::test_project::KEY)
        .variable("DRAWLOOM_AI_BASE_URL", mock());
    shop.generates("run card Customer");
}

#[test]
fn a_command() {
    let folder = installed("../transport/tests/peers/install.sh", "claude");
    let home = tempfile::tempdir().unwrap();
    let path = format!(
        "{}:{}",
        folder.join("node_modules/.bin").display(),
        std::env::var("PATH").unwrap()
    );
    let shop = TestProject::with("[ai]\nmode = \"command\"\ncommand = \"claude -p {prompt}\"\n")
        .variable("PATH", path)
        .variable("HOME", home.path().to_str().unwrap())
        .variable("ANTHROPIC_BASE_URL", mock())
        .variable("ANTHROPIC_API_KEY", crate::test_project::KEY);
    shop.generates("run card Customer");
}

#[test]
fn printing() {
    for mode in ["stdout", "off"] {
        let shop = TestProject::with(&format!("[ai]\nmode = \"{mode}\"\n"));
        let ran = shop.run("run card Customer");
        assert_eq!(ran.exit, 2, "{mode}: {}", ran.err);
        assert!(
            ran.out.contains("# Drawloom AI Generation Request"),
            "{mode}"
        );
        assert!(written(&shop.project).is_empty());
    }
}

#[test]
fn an_agent_prints_even_when_keys_are_there() {
    let shop = TestProject::with("[ai]\nprovider = \"anthropic\"\nmodel = \"claude-sonnet-4-5\"\n")
        .variable("ANTHROPIC_API_KEY", crate::test_project::KEY);
    let ran = shop.run("recipe run card Customer --ai-mode stdout");
    assert_eq!(ran.exit, 2, "{}", ran.err);
}

#[test]
fn llm_as_a_command() {
    let folder = installed("../transport/tests/peers/install.sh", "llm");
    let home = tempfile::tempdir().unwrap();
    let models = format!(
        "- {{model_id: local, model_name: gpt-5, api_base: \"{}/v1\"}}\n",
        mock()
    );
    std::fs::write(home.path().join("extra-openai-models.yaml"), models).unwrap();
    let line = format!("'{}' -m local", folder.join("bin/llm").display());
    let shop = TestProject::with(&format!("[ai]\ncommand = \"{line}\"\n"))
        .variable("LLM_USER_PATH", home.path().to_str().unwrap())
        .variable("OPENAI_API_KEY", crate::test_project::KEY);
    shop.generates("run card Customer");
}
