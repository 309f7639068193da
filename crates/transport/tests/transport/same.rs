//! The same questions, answered the same way, give the same answers in every transport.

use llm::Provider;
use transport::CommandMode;

use crate::support::{Case, word};

#[test]
fn every_mode_gives_the_same_answers() {
    let script = word("tests/data/reply.py");
    let mut per_block = Case::command(&format!("python3 {script} each {{prompt}}"));
    per_block.setup.command_mode = CommandMode::PerBlock;
    let answers = word("tests/data/answers.json");
    let cases = [
        Case::api(Provider::Anthropic, "claude-good"),
        Case::api(Provider::OpenAi, "gpt-noisy"),
        Case::api(Provider::Google, "gemini-fixer"),
        Case::command(&format!("python3 {script} noisy")),
        per_block,
        Case::stdio(&format!(
            "python3 {} {answers}",
            word("../../examples/stdio/answer.py")
        )),
        Case::stdio(&format!(
            "node {} {answers}",
            word("../../examples/stdio/answer.mjs")
        )),
    ];
    for mut case in cases {
        case.answered();
    }
}
