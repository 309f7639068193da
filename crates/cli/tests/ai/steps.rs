//! Recipe steps that ask: guardrails, retries, and where the answer goes, through every kind of mode.

use crate::project::ProgramOutput;
use crate::scripted::{ScriptedServer, says};
use crate::test_project::{TestProject, file, written};

const RECIPE: &str = "\
name: panel
variables:
  model: { type: string, required: true, position: 0 }
steps:
  - name: title
    tool: ai
    prompt: What is the title of {{ model }}?
    variable: title
  - name: panel
    tool: ai
    prompt: Write a function that returns {{ title }}.
    guardrails:
      syntax: typescript
      blockedImports: [lodash, 'node:fs']
    retries: 2
    to: src/panel.ts
  - name: line
    tool: ai
    prompt: Which line goes into the index?
    to: src/index.ts
    inject: true
    append: true
";

const INDEX: &str = "// The index.\n";

const FIRST: &str = r#"{"title": "All customers", "line": "export * from './panel';"}"#;
const RIGHT: &str = r#"{"panel": "export const title = () => 'All customers';"}"#;
/// The third line does not end.
const BROKEN: &str = r#"{"panel": "// One.\n// Two.\nexport const title = (;"}"#;
const BLOCKED: &str = r#"{"panel": "import { map } from 'lodash';\nexport const title = map;"}"#;

fn with_steps(shop: TestProject) -> TestProject {
    shop.project
        .write(".drawloom/recipes/panel/recipe.yml", RECIPE);
    shop.project.write("src/index.ts", INDEX);
    shop
}

/// A model that gives these replies, one after the other.
fn model(replies: &[&str]) -> (TestProject, ScriptedServer) {
    let server = ScriptedServer::start(replies.iter().map(|reply| says(reply)).collect());
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", &server.url);
    (with_steps(shop), server)
}

/// A command that gives the replies of a file, one line each, and notes what it was asked.
fn command(replies: &[&str], more: &str) -> TestProject {
    let line = format!("python3 '{}'", file("tests/ai/data/lines.py"));
    let shop = with_steps(TestProject::with(&format!(
        "[ai]\nmode = \"command\"\ncommand = \"{line}\"\n{more}"
    )));
    shop.project.write("replies", &replies.join("\n"));
    shop
}

#[track_caller]
fn check_written(shop: &TestProject, ran: &ProgramOutput) {
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(
        shop.project.read("src/panel.ts"),
        "export const title = () => 'All customers';\n"
    );
    assert_eq!(
        shop.project.read("src/index.ts"),
        format!("{INDEX}export * from './panel';\n")
    );
}

/// Ends as a wrong answer, and the project is as it was.
#[track_caller]
fn check_refused(shop: &TestProject, ran: &ProgramOutput, said: &[&str]) {
    assert_eq!(ran.exit, 1, "{}\n{}", ran.out, ran.err);
    for part in said.iter().chain(&["error[AI_ANSWER_INVALID]", "hint:"]) {
        assert!(ran.err.contains(part), "{part:?} is not in {}", ran.err);
    }
    assert_eq!(written(&shop.project).len(), 1, "only the index is there");
    assert_eq!(shop.project.read("src/index.ts"), INDEX);
}

const RUN: &str = "run panel Customer";

#[test]
fn a_model_is_told_which_line_breaks_a_guardrail_and_does_better() {
    let (shop, server) = model(&[FIRST, BROKEN, BLOCKED, RIGHT]);
    let ran = shop.run(RUN);
    check_written(&shop, &ran);
    assert_eq!(server.requests(), 4);
    let asked = server.body(1);
    assert!(
        asked.contains("a function that returns All customers"),
        "{asked}"
    );
    assert!(asked.contains("lodash"), "the rules are said: {asked}");
    let told = server.body(2);
    assert!(told.contains("line 3, column"), "{told}");
    let told = server.body(3);
    assert!(told.contains("line 1, column"), "{told}");
}

#[test]
fn retries_are_bounded_and_nothing_is_written() {
    let (shop, server) = model(&[FIRST, BROKEN]);
    let ran = shop.run(RUN);
    check_refused(&shop, &ran, &["`panel`", "line 3, column"]);
    assert_eq!(server.requests(), 4, "once, and `retries` = 2 times more");
    // Good answers are kept, and only the rest is asked.
    let kept = shop.only_file(".drawloom/answers");
    let ran = shop.run(&format!("{RUN} --answers {kept} --ai-mode stdout"));
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(ran.out.contains("### `panel`") && !ran.out.contains("### `title`"));
    let (shop, server) = model(&[FIRST, BLOCKED]);
    let manifest = RECIPE.replace("retries: 2", "retries: 0");
    shop.project
        .write(".drawloom/recipes/panel/recipe.yml", &manifest);
    let ran = shop.run(RUN);
    check_refused(&shop, &ran, &["`panel`", "lodash", "line 1, column"]);
    assert_eq!(server.requests(), 2, "no retry was asked for");
}

#[test]
fn a_command_is_told_as_well() {
    let shop = command(&[FIRST, BLOCKED, RIGHT], "");
    let ran = shop.run(RUN);
    check_written(&shop, &ran);
    let asked = shop.project.read("asked");
    assert!(asked.contains("line 1, column"), "{asked}");
    let shop = command(&[FIRST, BROKEN, BLOCKED, BROKEN, RIGHT], "");
    let ran = shop.run(RUN);
    check_refused(&shop, &ran, &["`panel`", "line 3, column"]);
    assert_eq!(shop.project.read("replies"), RIGHT, "one was not asked for");
}

#[test]
fn a_command_that_answers_each_alone_is_told_as_well() {
    let raw = [
        "All customers",
        "export * from './panel';",
        "import fs from 'node:fs';",
        "export const title = () => 'All customers';",
    ];
    let shop = command(&raw, "command_mode = \"per-block\"\n");
    let ran = shop.run(RUN);
    check_written(&shop, &ran);
    let asked = shop.project.read("asked");
    assert!(asked.contains("line 1, column"), "{asked}");
}

#[test]
fn a_file_of_answers_is_held_to_the_same() {
    let join = |panel: &str| {
        let (first, panel) = (FIRST.trim_end_matches('}'), panel.trim_start_matches('{'));
        format!("{first}, {panel}")
    };
    let shop = with_steps(TestProject::with(""));
    shop.project.write("answers.json", &join(BLOCKED));
    let ran = shop.run(&format!("{RUN} --answers answers.json"));
    assert_eq!(ran.exit, 1, "{}", ran.err);
    for part in ["error[E_ANSWERS]", "`panel`", "lodash", "line 1, column"] {
        assert!(ran.err.contains(part), "{part:?} is not in {}", ran.err);
    }
    assert_eq!(written(&shop.project).len(), 1, "only the index is there");
    shop.project.write("answers.json", &join(RIGHT));
    let ran = shop.run(&format!("{RUN} --answers answers.json"));
    check_written(&shop, &ran);
}

#[test]
fn the_policy_of_the_project_holds_for_context() {
    let settings = "[ai]\nmode = \"stdout\"\n[agent.policy]\nread_deny = [\"payroll.md\"]\n";
    let shop = with_steps(TestProject::with(settings));
    let with_context = |files: &str| {
        let step = format!("variable: title\n    context: {{ files: {files} }}");
        let manifest = RECIPE.replace("variable: title", &step);
        shop.project
            .write(".drawloom/recipes/panel/recipe.yml", &manifest);
        shop.run(RUN)
    };
    shop.project.write("notes/payroll.md", "hunter2\n");
    shop.project.write("notes/plain.md", "Be plain.\n");
    let ran = with_context("['notes/*.md']");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(ran.out.contains("Be plain.") && !ran.out.contains("hunter2"));
    let ran = with_context("[notes/payroll.md]");
    assert_eq!(ran.exit, 1, "{}", ran.out);
    assert!(ran.err.contains("`read_deny`"), "{}", ran.err);
}
