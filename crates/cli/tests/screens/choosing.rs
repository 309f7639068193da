//! A recipe on a terminal: chosen from a list, asked for values by their labels, stopped at any time.

use serde_json::{Value, json};

use crate::project::CliProject;
use crate::terminal::{ShownScreen, show};

const DOWN: &str = "\u{1b}[B";
const SIZE: (usize, usize) = (30, 100);

/// A recipe's name, its manifest, and its other files by name.
type RecipeFiles<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

/// A project with recipes: each has a name, a manifest and templates.
fn project(recipes: &[RecipeFiles<'_>]) -> CliProject {
    let project = CliProject::with(&[("drawloom.toml", "")]);
    for (name, manifest, templates) in recipes {
        let folder = format!(".drawloom/recipes/{name}");
        project.write(&format!("{folder}/recipe.yml"), manifest);
        for (file, text) in *templates {
            project.write(&format!("{folder}/{file}"), text);
        }
    }
    project
}

#[track_caller]
fn ends(project: &CliProject, line: &str, then: Value, exit: i32) -> ShownScreen {
    let shown = show(project, line, SIZE, then);
    assert_eq!(shown.exit, exit, "{}", shown.text());
    assert!(shown.shows_cursor, "{}", shown.sent);
    shown
}

const PAGE: &[(&str, &str)] = &[(
    "page.jig",
    "---\nto: '{{ name }}.{{ style }}.txt'\n---\nx\n",
)];
const PAGE_MANIFEST: &str = "name: page\ndescription: A page\nvariables:\n  \
    name: { required: true, prompt: 'What is it called?', pattern: '^[a-z]+$' }\n  \
    style: { type: enum, values: [c, t], required: true, labels: { c: A card, t: A table } }\n\
    steps:\n  - template: page.jig\n";

#[test]
fn a_recipe_is_chosen_from_a_list() {
    let project = project(&[
        (
            "card",
            "name: card\ndescription: A card\nsteps:\n  - template: a.jig\n",
            &[("a.jig", "---\nto: a.txt\n---\nx\n")],
        ),
        ("page", PAGE_MANIFEST, PAGE),
    ]);
    let then = json!([
        ["What should run?", { "type": format!("{DOWN}\r") }],
        ["What is it called?", { "type": "home\r" }],
        ["A card", { "type": format!("{DOWN}\r") }],
    ]);
    let shown = ends(&project, "run", then, 0);
    shown.has(&["running   drawloom run page", "created   home.t.txt"]);
    assert!(project.path().join("home.t.txt").exists());

    let then = json!([["What should run?", { "type": "\u{3}" }]]);
    ends(&project, "run", then, 130);
    // Options before the choice hold for the recipe that is chosen.
    let then = json!([["What should run?", { "type": "\r" }]]);
    let shown = ends(&project, "run --dry-run", then, 0);
    shown.has(&["+++ b/a.txt", "dry run: nothing was written"]);
    assert!(!project.path().join("a.txt").exists());
}

#[test]
fn choices_are_shown_by_their_labels() {
    let project = project(&[("page", PAGE_MANIFEST, PAGE)]);
    let then = json!([["A table", { "type": format!("{DOWN}\r") }]]);
    let shown = ends(&project, "run page --name home", then, 0);
    shown.has(&["A table", "created   home.t.txt"]);
    assert!(project.path().join("home.t.txt").exists());
}

#[test]
fn a_value_that_does_not_fit_is_refused_before_it_is_shown_as_taken() {
    let project = project(&[("page", PAGE_MANIFEST, PAGE)]);
    let then = json!([
        ["What is it called?", { "type": "Home\r" }],
        ["does not match", { "type": "" }],
        ["What is it called?", { "type": "home\r" }],
    ]);
    let shown = ends(&project, "run page --style c", then, 0);
    assert_eq!(shown.count("✔"), 1, "{}", shown.text());
    shown.has(&["✔ What is it called? · home", "created   home.c.txt"]);
}

#[test]
fn ctrl_c_at_any_question_leaves_a_clean_screen() {
    let then = json!([["A table", { "type": "\u{3}" }]]);
    let asked = project(&[("page", PAGE_MANIFEST, PAGE)]);
    ends(&asked, "run page --name home", then, 130);
    let then = json!([["What is it called?", { "type": "ho\u{3}" }]]);
    ends(&asked, "run page --style c", then, 130);
    asked.write("home.c.txt", "mine\n");
    let then = json!([["What should happen to", { "type": "\u{3}" }]]);
    ends(&asked, "run page --name home --style c", then, 130);
    assert_eq!(asked.read("home.c.txt"), "mine\n");
}

#[test]
fn one_answer_decides_about_all_files_in_the_way() {
    let manifest = "name: two\nsteps:\n  - template: [a.jig, b.jig, c.jig]\n";
    let templates = [
        ("a.jig", "---\nto: a.txt\n---\nnew\n"),
        ("b.jig", "---\nto: b.txt\n---\nnew\n"),
        ("c.jig", "---\nto: c.txt\n---\nnew\n"),
    ];
    for (downs, a, rest, exit) in [
        (0, "new\n", "old\n", 0),
        (1, "new\n", "new\n", 0),
        (2, "old\n", "old\n", 0),
        (3, "old\n", "old\n", 1),
    ] {
        let project = project(&[("two", manifest, &templates)]);
        for name in ["a.txt", "b.txt", "c.txt"] {
            project.write(name, "old\n");
        }
        // The second choice is the one that is marked.
        let keys = match downs {
            0 => "\u{1b}[A\r".to_owned(),
            downs => format!("{}\r", DOWN.repeat(downs)),
        };
        let mut then = vec![json!(["What should happen to a.txt?", { "type": keys }])];
        if downs == 0 {
            // One file at a time: keep this, and all that follow.
            then.push(
                json!(["What should happen to b.txt?", { "type": format!("{DOWN}{DOWN}\r") }]),
            );
        }
        let shown = ends(&project, "run two", Value::Array(then), exit);
        assert_eq!(project.read("a.txt"), a, "{downs}: {}", shown.text());
        for name in ["b.txt", "c.txt"] {
            assert_eq!(project.read(name), rest, "{downs}: {}", shown.text());
        }
        assert_eq!(shown.count("What should happen to c.txt?"), 0);
    }
}

#[test]
fn ctrl_c_while_a_command_answers_leaves_one_sentence() {
    let project = project(&[(
        "asks",
        "name: asks\nsteps:\n  - template: a.jig\n",
        &[(
            "a.jig",
            "---\nto: a.txt\n---\n@ai('word')\n@prompt()\nA word?\n@end\n@end\n",
        )],
    )]);
    project.write(
        "drawloom.toml",
        "[ai]\nmode = \"command\"\ncommand = \"sh -c 'sleep 30'\"\n",
    );
    let then = json!([["asking sh", { "type": "\u{3}" }]]);
    let shown = ends(&project, "run asks", then, 130);
    assert_eq!(
        shown.rows,
        ["recipe    asks", "stopped: nothing was written"],
        "{}",
        shown.sent
    );
}

#[test]
fn ctrl_c_while_a_command_runs_reports_the_files_once() {
    let project = project(&[(
        "slow",
        "name: slow\nsteps:\n  - template: a.jig\n  - command: echo begun; sleep 30\n",
        &[("a.jig", "---\nto: a.txt\n---\nx\n")],
    )]);
    let then = json!([["begun", { "type": "" }], ["begun", { "type": "\u{3}" }]]);
    let shown = ends(&project, "run slow", then, 130);
    shown.has(&["stopped: put 1 file back as it was"]);
    for never in ["nothing was written", "interrupted", "running"] {
        assert_eq!(shown.count(never), 0, "{}", shown.text());
    }
    assert!(!project.path().join("a.txt").exists());
}

/// A value that was typed is gone when the run ends; the command that goes on has to say it again.
#[test]
fn values_asked_for_are_in_the_command_that_continues() {
    let manifest = "name: model\nvariables: { name: { required: true, prompt: 'What is it called?' } }\n\
                    steps:\n  - template: a.jig\n";
    let asks = "---\nto: '{{ name }}.txt'\n---\n@ai('word')\n@prompt()\nA word?\n@end\n@end\n";
    let project = project(&[("model", manifest, &[("a.jig", asks)])]);
    let then = json!([["What is it called?", { "type": "Big Order\r" }]]);
    let shown = ends(&project, "run model --ai-mode stdout", then, 2);
    let goes_on = "run model --ai-mode stdout --answers ./answers.json --name 'Big Order'";
    // On stderr and in the document.
    assert_eq!(shown.count(goes_on), 2, "{}", shown.text());
    project.write("answers.json", "{\"word\": \"w\"}");
    let ran = project.run(goes_on);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(project.read("Big Order.txt"), "w\n");
}
