//! Answers that only the recipe can judge go back with the reason, a bounded number of times.

use crate::project::{CliProject, ProgramOutput};
use crate::test_project::{program, written};

const RECIPE: &str = "\
name: named
variables:
  name: { type: string, required: true, pattern: '^[a-z]+$' }
steps:
  - name: a
    template: a.jig
";

fn run(what: &str) -> (CliProject, ProgramOutput) {
    let settings = format!(
        "[ai]\nmode = \"command\"\ncommand = \"{}\"\n",
        program(what)
    );
    let project = CliProject::with(&[
        ("drawloom.toml", &settings),
        (".drawloom/recipes/named/recipe.yml", RECIPE),
        (
            ".drawloom/recipes/named/a.jig",
            "---\nto: src/{{ name }}.txt\n---\n{{ name }}\n",
        ),
    ]);
    let ran = project.run("run named --ask document");
    (project, ran)
}

#[test]
fn a_model_that_is_told_why_may_answer_better() {
    let (project, ran) = run("named");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(project.read("src/good.txt"), "good\n");
    assert_eq!(project.read("runs"), "..");
}

#[test]
fn a_model_that_repeats_a_wrong_answer_is_asked_four_times() {
    let (project, ran) = run("stubborn");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    assert!(ran.err.contains("error[E_ANSWERS]"), "{}", ran.err);
    assert!(ran.err.contains("`name`"), "{}", ran.err);
    assert_eq!(
        project.read("runs"),
        "....",
        "once, and REASKED_MAX = 3 times more"
    );
    assert!(written(&project).is_empty());
}
