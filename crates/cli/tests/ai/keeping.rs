//! Answers are saved when a run does not finish, and the output names the next command.

use crate::project::ProgramOutput;
use crate::scripted::{ScriptedServer, reply, says};
use crate::test_project::{FIRST, TestProject, both, expected, mock, program, written};

/// The command that goes on, as it was said, without the program's name.
#[track_caller]
fn way_on(ran: &ProgramOutput) -> String {
    let line = ran
        .err
        .lines()
        .find(|line| line.trim().starts_with("drawloom "));
    let line = line.unwrap_or_else(|| panic!("no command in {}", ran.err));
    line.trim().strip_prefix("drawloom ").unwrap().to_owned()
}

#[track_caller]
fn goes_on(shop: &TestProject, ran: &ProgramOutput) {
    let settings = format!(
        "[ai]\nmode = \"command\"\ncommand = \"{}\"\n",
        program("batched")
    );
    shop.project.write("drawloom.toml", &settings);
    shop.generates(&way_on(ran));
}

#[test]
fn when_a_later_round_fails() {
    let server = ScriptedServer::start(vec![says(FIRST), reply(500, "", "{}")]);
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", &server.url);
    let said = [
        "3 answers are saved in .drawloom/answers/",
        "drawloom run card Customer --answers .drawloom/answers/",
    ];
    let ran = shop.fails("run card Customer", "AI_PROVIDER_UNAVAILABLE", &said);
    let kept = shop.project.read(&shop.only_file(".drawloom/answers"));
    assert!(
        kept.contains("mainFields") && kept.contains("$request"),
        "{kept}"
    );
    goes_on(&shop, &ran);
}

#[test]
fn when_a_budget_is_used_up() {
    for budget in ["run_tokens_max = 5300", "run_usd_max = 0.066"] {
        let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
        let priced = "[ai.prices.\"claude-sonnet-4-5\"]\ninput = 3\noutput = 15\n";
        let settings = shop.project.read("drawloom.toml");
        shop.project.write(
            "drawloom.toml",
            &format!("{settings}[ai.budget]\n{budget}\n{priced}"),
        );
        let name = budget.split(' ').next().unwrap();
        let said = [name, "3 answers are saved"];
        let ran = shop.fails("run card Customer", "AI_BUDGET_EXCEEDED", &said);
        goes_on(&shop, &ran);
    }
}

#[test]
fn when_a_command_fails_in_a_later_round_or_a_later_question() {
    for (what, mode, count) in [
        ("second-fails", "batched", "3 answers are"),
        ("third-fails", "per-block", "2 answers are"),
    ] {
        let line = program(what);
        let settings =
            format!("[ai]\nmode = \"command\"\ncommand = \"{line}\"\ncommand_mode = \"{mode}\"\n");
        let shop =
            TestProject::with(&settings).variable("OPENAI_API_KEY", crate::test_project::KEY);
        let ran = shop.fails("run card Customer", "AI_TRANSPORT_FAILED", &[count]);
        goes_on(&shop, &ran);
    }
}

#[test]
fn when_a_program_dies_in_a_later_round() {
    let line = program("stdio-dies-later");
    let shop = TestProject::with(&format!(
        "[ai]\nmode = \"stdio\"\nstdio_command = \"{line}\"\n"
    ))
    .variable("OPENAI_API_KEY", crate::test_project::KEY);
    let ran = shop.fails(
        "run card Customer",
        "AI_TRANSPORT_FAILED",
        &["3 answers are saved"],
    );
    goes_on(&shop, &ran);
}

#[test]
fn when_it_was_only_a_dry_run() {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    let ran = shop.run("run card Customer --dry-run");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(ran.out.contains("+// Customer"), "{}", ran.out);
    assert!(written(&shop.project).is_empty());
    assert!(ran.err.contains("4 answers are saved"), "{}", ran.err);
    shop.project.write("drawloom.toml", "");
    shop.generates(&way_on(&ran));
    let json = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    let ran = json.run("run card Customer --dry-run --json");
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let path = result["answers"]["path"].as_str().unwrap();
    assert!(json.project.read(path).contains("caption"));
}

#[test]
fn when_files_are_in_the_way() {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    shop.project.write("src/notes.md", "mine\n");
    let ran = shop.run("run card Customer");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("error[E_CONFLICT]"), "{}", ran.err);
    assert!(ran.err.contains("4 answers are saved"), "{}", ran.err);
    assert_eq!(written(&shop.project).len(), 1, "nothing was written");
    shop.project.write("drawloom.toml", "");
    let ran = shop.run(&format!("{} --force", way_on(&ran)));
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(written(&shop.project), expected());
}

#[test]
fn no_answers_are_saved_when_all_is_written_or_none_was_given() {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    shop.generates("run card Customer");
    let server = ScriptedServer::start(vec![reply(500, "", "{}")]);
    let failing = TestProject::api("anthropic", "claude-sonnet-4-5", &server.url);
    failing.project.write("some.json", FIRST);
    failing.fails("run card Customer", "AI_PROVIDER_UNAVAILABLE", &[]);
    failing.fails(
        "run card Customer --answers some.json",
        "AI_PROVIDER_UNAVAILABLE",
        &[],
    );
    for shop in [shop, failing] {
        let tree = shop.project.tree();
        assert!(
            !tree
                .keys()
                .any(|path| path.starts_with(".drawloom/answers")),
            "{tree:?}"
        );
    }
}

#[test]
fn from_another_folder_the_way_on_holds_too() {
    let server = ScriptedServer::start(vec![says(FIRST), reply(500, "", "{}")]);
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", &server.url);
    shop.project.write("sub/here.txt", "");
    let ran = shop.run("run card Customer --cwd sub");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    goes_on(&shop, &ran);
    assert!(both().contains("caption"));
}
