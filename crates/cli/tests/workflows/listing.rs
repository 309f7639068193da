//! What runs are called, which one is `last`, and lists that say truly how much they leave out.

use serde_json::json;

use crate::project::CliProject;
use crate::workflow_fixture::{bare, diagram, document};

fn nothing() -> serde_json::Value {
    json!({ "handler": "no_op" })
}

fn names(project: &CliProject, filter: &str) -> Vec<String> {
    let listed = document(&project.run(&format!("runs list --json {filter}")));
    let runs = listed["runs"].as_array().unwrap();
    let names = runs.iter().map(|run| run["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn a_run_is_named_after_its_title_or_its_file() {
    let project = bare();
    let plain = diagram(" A[Fetch PR Details]", &[("A", nothing())]);
    project.write("flows/nightly-build.mmd", &plain);
    project.write(
        "flows/pr.mmd",
        &format!("---\ntitle: Review of a PR\n---\n{plain}"),
    );
    for file in ["nightly-build", "pr"] {
        let begun = project.run(&format!("workflow start flows/{file}.mmd --wait"));
        assert_eq!(begun.exit, 0, "{}", begun.err);
    }
    assert_eq!(names(&project, ""), ["Review of a PR", "nightly-build"]);
    for (wanted, found) in [
        ("nightly", vec!["nightly-build"]),
        ("Nightly-BUILD", vec!["nightly-build"]),
        ("review", vec!["Review of a PR"]),
        ("pr", vec!["Review of a PR"]),
        ("Fetch", vec![]),
    ] {
        let filter = format!("--workflow {wanted}");
        assert_eq!(names(&project, &filter), found, "{wanted}");
    }
    let shown = project.run("runs show last");
    let heading = shown.out.lines().next().unwrap();
    assert!(
        heading.contains(" of Review of a PR is completed"),
        "{heading}"
    );
}

#[test]
fn last_is_the_newest_run_that_no_run_started() {
    let project = bare();
    project.write(
        ".drawloom/workflows/child.mmd",
        &diagram(" X[Inside]", &[("X", nothing())]),
    );
    project.write("parent.mmd", &diagram(" S[[Run: child]]", &[]));
    let begun = project.run("workflow start parent.mmd --wait");
    assert_eq!(begun.exit, 0, "{}", begun.err);
    assert_eq!(names(&project, ""), ["child", "parent"]);
    assert_eq!(names(&project, "--top"), ["parent"]);
    let shown = document(&project.run("runs show last --json"));
    assert_eq!(shown["run"]["name"], "parent");
    assert_eq!(project.run("tasks show last/S").exit, 0);
}

#[test]
fn a_list_says_how_much_it_leaves_out() {
    let project = bare();
    project.write("one.mmd", &diagram(" A(Look)", &[]));
    project.write("inputs.jsonl", &"{}\n".repeat(12));
    let begun = project.run("workflow start one.mmd --inputs inputs.jsonl");
    assert_eq!(begun.exit, 0, "{}", begun.err);
    for (list, left_out) in [
        (
            "runs list --limit 5",
            Some("and 7 more; `--limit` shows them"),
        ),
        (
            "tasks list --limit 5",
            Some("and 7 more; `--limit` shows them"),
        ),
        ("tasks list --all --limit 11", Some("and 1 more")),
        ("runs list --limit 12", None),
        ("tasks list --limit 12", None),
        ("tasks list --mine --limit 12", None),
    ] {
        let listed = project.run(list);
        assert_eq!(listed.exit, 0, "{}", listed.err);
        match left_out {
            Some(said) => assert!(listed.err.contains(said), "{list}: {}", listed.err),
            None => assert!(!listed.err.contains("more"), "{list}: {}", listed.err),
        }
    }
}

#[test]
fn the_begin_of_an_id_is_enough_if_it_is_one_runs() {
    let project = bare();
    project.write("one.mmd", &diagram(" A(Look)", &[]));
    for _ in 0..2 {
        assert_eq!(project.run("workflow start one.mmd").exit, 0);
    }
    let listed = document(&project.run("runs list --json"));
    let id = listed["runs"][0]["id"].as_str().unwrap();
    assert_eq!(
        project
            .run(&format!("runs show {}", &id[..id.len() - 2]))
            .exit,
        0
    );
    let several = project.run(&format!("runs show {}", &id[..2]));
    assert_eq!(several.exit, 1);
    assert!(
        several.err.contains("several runs begin with"),
        "{}",
        several.err
    );
    assert_eq!(project.run("runs show zzz").exit, 1);
}
