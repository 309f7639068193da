//! Wrong uses: each is refused before anything is begun, with a sentence that says what to do.

use crate::build_fixture::{BuildFixture, PROMPT, well};
use crate::model::{FakeProvider, ScriptedFormat};
use crate::project::{CliProject, ExpectedRun, ExpectedText, check};
use crate::task_fixture::project;

#[test]
fn what_cannot_be_asked_for_is_refused_with_64() {
    let yard = BuildFixture::new(well());
    for (line, says) in [
        ("build", "<SENTENCE>"),
        ("build 'fix it'", "at least 10 (PROMPT_CHARS_MIN)"),
        (
            "build 'say something better' --type feature",
            "invalid value 'feature'",
        ),
        (
            "build 'say something better' --yes --plan-only",
            "cannot be used with",
        ),
        (
            "build 'say something better' --resume last",
            "cannot be used with",
        ),
        ("builds list --status done", "there are: queued, planning"),
        ("builds edit last --plan", "--plan <FILE>"),
    ] {
        let ran = yard.ends(line, 64);
        assert!(ran.err.contains(says), "{line}: {}", ran.err);
        assert!(ran.out.is_empty(), "{line}: {}", ran.out);
    }
    assert!(yard.model.received().is_empty());
    assert_eq!(
        yard.ends("builds list --json", 0).out.trim(),
        "{\n  \"builds\": []\n}"
    );
}

#[test]
fn an_unknown_build_is_reported_with_the_command_that_lists_them() {
    let yard = BuildFixture::new(well());
    for (line, says) in [
        ("builds show last", "there is no build here yet"),
        ("builds show nope", "there is no build `nope`"),
        ("builds show NOPE!", "is not the id of a build"),
        ("build --resume nope", "there is no build `nope`"),
        ("builds approve nope", "there is no build `nope`"),
        ("builds publish nope", "there is no build `nope`"),
    ] {
        let ran = yard.ends(line, 1);
        assert!(ran.err.contains(says), "{line}: {}", ran.err);
        assert!(ran.err.contains("drawloom build"), "{line}: {}", ran.err);
    }
    yard.ends(&format!("build '{PROMPT}' --plan-only"), 0);
    let ran = yard.ends("builds edit last", 64);
    assert!(ran.err.contains("--plan FILE"), "{}", ran.err);
}

#[test]
fn without_a_repository_or_a_commit_nothing_is_begun() {
    let model = FakeProvider::start(ScriptedFormat::OpenAi, well());
    let project: CliProject = project(ScriptedFormat::OpenAi, &model, "");
    let expect = |says: &'static [&'static str]| ExpectedRun {
        exit: 1,
        out: ExpectedText::Nothing,
        err: ExpectedText::Has(says),
    };
    let line = format!("build '{PROMPT}' --yes");
    check(&project, &line, expect(&["E_GIT", "git init"]));
    crate::build_fixture::git(project.path(), &["init", "--quiet"]);
    check(&project, &line, expect(&["E_GIT", "commit"]));
    assert!(model.received().is_empty());
    let listed = project.run("builds list");
    assert!(listed.out.is_empty(), "{}", listed.out);
}

#[test]
fn without_a_model_nothing_is_begun() {
    let yard = BuildFixture::new(well());
    yard.project
        .write("drawloom.toml", "[ai]\nmode = \"stdout\"\n");
    let ran = yard.ends(&format!("build '{PROMPT}' --yes"), 1);
    for says in ["E_NO_MODEL", "a model that calls tools", "`ai.command`"] {
        assert!(ran.err.contains(says), "{}", ran.err);
    }
    assert!(yard.ends("builds list", 0).out.is_empty());
}

#[test]
fn wrong_settings_are_shown_with_their_place() {
    let yard = BuildFixture::new(well());
    for (settings, says) in [
        (
            "[builder]\nplan_file_max = 3\n",
            "did you mean `plan_files_max`?",
        ),
        (
            "[builder]\nrepairs_max = -1\n",
            "`builder.repairs_max` must be a whole number",
        ),
        (
            "[builder.checks]\ntest = 3\n",
            "`test` must be a command line",
        ),
        (
            "[builder.checks]\ntest = { run = \"x\", cwd = \"..\" }\n",
            "`test.cwd` must be a path inside the project",
        ),
        (
            "[builder.checks]\ntest = { run = \"x\", timeout = 3 }\n",
            "known here: `run`, `cwd`, `timeout_seconds`",
        ),
        ("[builder.forge]\ntoken = \"x\"\n", "`token_env`"),
    ] {
        yard.project.write("drawloom.toml", settings);
        let ran = yard.ends("builds list", 1);
        assert!(ran.err.contains(says), "{says:?}: {}", ran.err);
        assert!(ran.err.contains("drawloom.toml:2:"), "{}", ran.err);
    }
}
