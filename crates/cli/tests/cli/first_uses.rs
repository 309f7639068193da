//! First uses that went wrong without saying why: each ends with the place and the way on.

use crate::project::ExpectedText::{Anything, Has};
use crate::project::{CliProject, ExpectedRun, ProgramOutput, check};

fn recipe(manifest: &str, templates: &[(&str, &str)]) -> CliProject {
    let project = CliProject::with(&[(".drawloom/recipes/it/recipe.yml", manifest)]);
    for (name, text) in templates {
        project.write(&format!(".drawloom/recipes/it/{name}"), text);
    }
    project
}

#[track_caller]
fn ends(project: &CliProject, line: &str, exit: i32, err: &[&str]) -> ProgramOutput {
    let expect = ExpectedRun {
        exit,
        out: Anything,
        err: Has(err),
    };
    check(project, line, expect)
}

const TEMPLATE: &str = "name: it\nsteps:\n  - template: a.jig\n";

#[test]
fn a_tag_behind_other_text_is_named_with_its_place() {
    let project = recipe(
        TEMPLATE,
        &[(
            "a.jig",
            "---\nto: a.txt\n---\nconst x = @ai('k')\n  @prompt()\n  What?\n  @end\n@end\n",
        )],
    );
    let said = ["a.jig:5", "a tag must be alone on its line"];
    ends(&project, "run it", 1, &said);
    ends(&project, "recipe validate it", 1, &said);
}

#[test]
fn a_conflict_names_every_way_out() {
    let project = recipe(TEMPLATE, &[("a.jig", "---\nto: a.txt\n---\nnew\n")]);
    project.write("a.txt", "old\n");
    let ways = [
        "E_CONFLICT",
        "--dry-run",
        "--force",
        "--skip-existing",
        "drawloom update",
    ];
    ends(&project, "run it", 1, &ways);
}

#[test]
fn a_missing_target_of_an_injection_is_shown_at_its_path() {
    let project = recipe(
        TEMPLATE,
        &[(
            "a.jig",
            "---\nto: none.txt\ninject: true\nafter: x\n---\nline\n",
        )],
    );
    let said = [
        "there is no `none.txt` to inject into",
        "a.jig:2",
        "to: none.txt",
    ];
    ends(&project, "run it", 1, &said);
}

#[test]
fn a_value_too_many_and_a_lone_file_are_said_in_plain_words() {
    let project = recipe(
        "name: it\nvariables: { name: { position: 0, default: x } }\nsteps:\n  - template: a.jig\n  - command: 'false'\n",
        &[("a.jig", "---\nto: a.txt\n---\nx\n")],
    );
    let said = "unexpected argument `Extra`: the recipe takes one positional value";
    ends(&project, "run it One Extra", 64, &[said]);
    ends(
        &project,
        "run it One",
        1,
        &[
            "wrote     1 file",
            "run       false",
            "put 1 file back as it was",
        ],
    );
}

#[test]
fn what_a_prompt_asks_is_listed_with_the_variables() {
    let project = recipe(
        "name: it\nsteps:\n  - tool: prompt\n    variable: shade\n    message: Which shade?\n    default: dark\n  - template: a.jig\n",
        &[("a.jig", "---\nto: a.txt\n---\n{{ shade }}\n")],
    );
    for line in ["recipe info it", "run it --help"] {
        let expect = ExpectedRun {
            exit: 0,
            out: Has(&["--shade", "Which shade?"]),
            err: Anything,
        };
        check(&project, line, expect);
    }
    ends(&project, "run it --shade light", 0, &["created   a.txt"]);
    assert_eq!(project.read("a.txt"), "light\n");
}

#[test]
fn answers_come_from_what_a_shell_substitutes() {
    let project = recipe(
        TEMPLATE,
        &[(
            "a.jig",
            "---\nto: a.txt\n---\n@ai('word')\n@prompt()\nA word?\n@end\n@end\n",
        )],
    );
    let drawloom = project.command("");
    let mut shell = std::process::Command::new("bash");
    shell
        .args(["-c", "\"$0\" run it --answers <(echo '{\"word\": \"w\"}')"])
        .arg(drawloom.get_program())
        .current_dir(project.path());
    for (name, value) in drawloom.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let ran = ProgramOutput::from(shell.output().unwrap());
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(project.read("a.txt"), "w\n");
}

#[test]
fn hygens_way_to_name_a_generator_leads_to_its_recipe() {
    let project = CliProject::with(&[
        ("drawloom.toml", ""),
        ("_templates/comp/new/a.ejs.t", "---\nto: a.txt\n---\nx\n"),
    ]);
    ends(&project, "import hygen", 0, &[]);
    ends(
        &project,
        "run comp new",
        1,
        &[
            "there is no recipe `comp`",
            "did you mean `hygen/comp/new`?",
        ],
    );
}

#[test]
fn of_a_failing_commands_words_only_the_last_are_repeated() {
    let project = recipe(
        "name: it\nsteps:\n  - command: seq -f reason%g 300 >&2; exit 3\n",
        &[],
    );
    let ran = ends(
        &project,
        "run it",
        1,
        &["reason1\n", "reason300", "E_COMMAND"],
    );
    assert!(ran.err.lines().count() < 340, "{}", ran.err);
}

#[test]
fn runs_of_recipes_are_listed_with_their_kind() {
    let project = recipe(TEMPLATE, &[("a.jig", "---\nto: a.txt\n---\nx\n")]);
    ends(&project, "runs list", 0, &["No run matches"]);
    ends(&project, "run it", 0, &["created   a.txt"]);
    let listed = project.run("runs list").out;
    let words: Vec<&str> = listed.split_whitespace().collect();
    assert_eq!(words[..3], ["-", "recipe", "completed"], "{listed}");
    assert!(words.contains(&"it"), "{listed}");
    let workflows = project.run("runs list --kind workflow");
    assert_eq!((workflows.exit, workflows.out.as_str()), (0, ""));
    ends(
        &project,
        "runs list --kind flow",
        64,
        &["there are: recipe, workflow, task, plan, build"],
    );
}
