//! The same recipe through every mode, given the same answers, makes the same files.

use crate::project::CliProject;
use crate::test_project::{
    FIRST, KEY, SECOND, TestProject, both, expected, file, mock, program, written,
};

const RUN: &str = "run card Customer";

#[test]
fn a_provider_in_each_wire_format() {
    for (provider, model, path) in [
        ("anthropic", "claude-sonnet-4-5", ""),
        ("openai", "gpt-5", ""),
        ("google", "gemini-2.5-flash", ""),
        ("compatible", "anything", "/v1"),
    ] {
        let shop = TestProject::api(provider, model, &format!("{}{path}", mock()));
        let ran = shop.generates(RUN);
        assert!(ran.out.is_empty(), "{}", ran.out);
        assert!(
            ran.err.contains("2 calls, 2000 tokens in, 400 out"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_command_for_all_questions_or_for_each() {
    let command = |line: &str, mode: &str| {
        TestProject::with(&format!(
            "[ai]\nmode = \"command\"\ncommand = \"{line}\"\ncommand_mode = \"{mode}\"\n"
        ))
    };
    command(&program("batched"), "batched").generates(RUN);
    command(&program("batched {prompt}"), "batched").generates(RUN);
    command(&program("each"), "per-block").generates(RUN);
}

#[test]
fn the_program_of_the_examples_that_stays() {
    for example in [
        "python3 '{}/answer.py' mine.json",
        "node '{}/answer.mjs' mine.json",
    ] {
        let line = example.replace("{}", &file("../../examples/stdio"));
        let shop = TestProject::with(&format!(
            "[ai]\nmode = \"stdio\"\nstdio_command = \"{line}\"\n"
        ));
        shop.project.write("mine.json", &both());
        shop.generates(RUN);
    }
}

#[test]
fn a_reader_of_the_document_answers_in_two_rounds() {
    let shop = TestProject::with("[ai]\nmode = \"stdout\"\n");
    let ran = shop.run(RUN);
    assert_eq!(ran.exit, 2);
    shop.project.write("answers.json", FIRST);
    let ran = shop.run("run card Customer --answers answers.json");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(ran.out.contains("### `caption`"), "{}", ran.out);
    shop.project.write("answers-2.json", SECOND);
    shop.generates("run card Customer --answers answers.json --answers answers-2.json");
}

#[test]
fn a_file_with_some_of_the_answers_and_a_model_for_the_rest() {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    shop.project.write("some.json", FIRST);
    let ran = shop.generates("run card Customer --answers some.json");
    assert!(ran.err.contains("(1000 tokens in"), "one call: {}", ran.err);
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    shop.project.write("all.json", &both());
    let ran = shop.generates("run card Customer --answers all.json");
    assert!(!ran.err.contains("tokens"), "no one is asked: {}", ran.err);
}

#[test]
fn the_flag_is_stronger_than_the_setting() {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    let ran = shop.run("run card Customer --ai-mode stdout");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(ran.out.contains("# Drawloom AI Generation Request"));
    let ran = shop.run("recipe run card Customer --ai-mode=off");
    assert_eq!(ran.exit, 2, "without a terminal, off prints: {}", ran.err);
    assert!(written(&shop.project).is_empty());
    shop.generates("recipe run card Customer --ai-mode api");
}

#[test]
fn the_result_for_programs_says_only_the_result() {
    let shop = TestProject::api("openai", "gpt-5", mock());
    let ran = shop.generates("run card Customer --json");
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["outcome"], "done");
    assert_eq!(ran.err, "");
}

#[test]
fn an_update_asks_what_a_newer_template_asks() {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    shop.generates(RUN);
    let notes = shop.project.read(".drawloom/recipes/card/notes.jig");
    let newer = notes
        .replace("'caption'", "'title'")
        .replace("Write a caption", "Name three colours; write a title");
    shop.project
        .write(".drawloom/recipes/card/notes.jig", &newer);
    let ran = shop.run("update card --ai-mode stdout");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(
        ran.out.contains("### `title`") && !ran.out.contains("### `body`"),
        "{}",
        ran.out
    );
    let toml = r#"
[ai]
mode = "command"
command = """printf '{"title": "New"}'"""
"#;
    shop.project.write("drawloom.toml", toml);
    let ran = shop.run("update card");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(shop.project.read("src/notes.md").contains("New"));
}

#[test]
fn a_key_that_is_written_out_works_and_is_warned_about() {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    let settings = shop.project.read("drawloom.toml").replace("$TEST_KEY", KEY);
    shop.project.write("drawloom.toml", &settings);
    let ran = shop.generates(RUN);
    assert!(
        ran.err.contains("warning: `ai.api_key` holds a key itself"),
        "{}",
        ran.err
    );
    assert!(
        shop.run("doctor")
            .out
            .contains("`ai.api_key` holds a key itself")
    );
}

#[test]
fn a_plain_recipe_needs_no_model() {
    // Settings that could not answer anything are no obstacle.
    let project = CliProject::with(&[
        ("drawloom.toml", "[ai]\nmode = \"api\"\n"),
        (
            ".drawloom/recipes/plain/recipe.yml",
            "name: plain\nsteps:\n  - name: a\n    template: a.jig\n",
        ),
        (
            ".drawloom/recipes/plain/a.jig",
            "---\nto: src/a.txt\n---\nplain\n",
        ),
    ]);
    let ran = project.run("run plain");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(written(&project).len(), 1);
    assert_eq!(expected().len(), 2);
}
