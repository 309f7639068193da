//! What runs share: rates, priorities that children inherit, files that two items write, and lines that a
//! command prints while it runs.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::workflow_fixture::{bare, diagram, document, result};

#[test]
fn tasks_of_a_handler_begin_no_faster_than_the_settings_say() {
    let project = bare();
    let settings = project.read("drawloom.toml");
    let rate = "[rates.commands]\nhandler = \"command\"\nmax = 2\nper = \"1s\"\n";
    project.write("drawloom.toml", &format!("{settings}\n{rate}"));
    let each = json!({
        "itemsPath": "input.xs", "itemVariable": "x", "handler": "command",
        "config": { "run": "true # {{x}}" },
    });
    project.write(
        "fan.mmd",
        &diagram(
            " E[[Each: Call]] --> J[Join]",
            &[("E", each), ("J", json!({ "handler": "no_op" }))],
        ),
    );
    let ran = project.run("workflow start fan.mmd --wait xs='[1,2,3,4,5]'");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let shown = document(&project.run("runs show last --json"));
    let events = shown["events"].as_array().unwrap().iter();
    let claims = events.filter(|event| {
        let task = event["task"].as_str().unwrap_or_default();
        event["by"] == "claim" && task.contains("E[")
    });
    let times: Vec<u64> = claims
        .map(|event| event["at_ms"].as_u64().unwrap())
        .collect();
    assert_eq!(times.len(), 5, "{shown}");
    for three in times.windows(3) {
        assert!(three[2] - three[0] >= 1_000, "{times:?}");
    }
}

#[test]
fn runs_that_a_run_starts_have_its_priority() {
    let project = bare();
    let nothing = json!({ "handler": "no_op" });
    project.write(
        ".drawloom/workflows/inner.mmd",
        &diagram(" A[Nothing]", &[("A", nothing.clone())]),
    );
    let middle = json!({ "stepType": "subflow", "subflowId": "inner" });
    project.write(
        ".drawloom/workflows/middle.mmd",
        &diagram(" S[[Run: inner]]", &[("S", middle)]),
    );
    let outer = json!({ "stepType": "subflow", "subflowId": "middle" });
    project.write("outer.mmd", &diagram(" S[[Run: middle]]", &[("S", outer)]));
    let ran = project.run("workflow start outer.mmd --priority 7 --wait");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let listed = document(&project.run("runs list --json"));
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3, "{listed}");
    for run in runs {
        let id = run["id"].as_str().unwrap();
        let shown = document(&project.run(&format!("runs show {id} --json")));
        assert_eq!(shown["run"]["priority"], 7, "{shown}");
        for task in shown["tasks"].as_array().unwrap() {
            assert_eq!(task["priority"], 7, "{task}");
        }
    }
}

#[test]
fn of_two_items_that_write_one_file_only_one_reports_it_as_created() {
    let project = bare();
    project.write(
        ".drawloom/recipes/one/recipe.yml",
        "name: one\nvariables:\n  text: { type: string }\nsteps:\n  - tool: template\n    template: a.jig\n",
    );
    project.write(
        ".drawloom/recipes/one/a.jig",
        "---\nto: a.txt\n---\n{{ text }}\n",
    );
    let each = json!({
        "itemsPath": "input.xs", "itemVariable": "x", "handler": "recipe", "maxConcurrency": 4,
        "config": { "recipe": "one", "values": { "text": "{{x}}" }, "onConflict": "skip" },
    });
    project.write(
        "r.mmd",
        &diagram(
            " E[[Each: Write]] --> J[Join]",
            &[("E", each), ("J", json!({ "handler": "no_op" }))],
        ),
    );
    let ran = project.run("workflow start r.mmd --wait --json xs='[\"a\",\"b\",\"c\",\"d\"]'");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let results = result(&ran)["output"]["results"].clone();
    let results = results.as_array().unwrap();
    let says = |word: &str| {
        let has = |one: &&Value| one.to_string().contains(&format!("\"{word}\""));
        results.iter().filter(has).count()
    };
    assert_eq!((says("created"), says("skipped")), (1, 3), "{results:?}");
}

#[test]
fn lines_of_a_command_are_told_while_it_runs() {
    let project = bare();
    // It goes on when the line was seen, so that nothing depends on how long it takes.
    let run = "echo first; while ! test -e seen; do sleep 0.05; done; echo second >&2; exit 3";
    let step = json!({
        "handler": "command", "config": { "run": run, "okCodes": [3] },
    });
    project.write("l.mmd", &diagram(" A[Print]", &[("A", step)]));
    let mut command = project.command("workflow start l.mmd --wait");
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "A │ first" {
            project.write("seen", "");
        }
        said.push(line);
    }
    assert!(child.wait().unwrap().success(), "{said:?}");
    let at = |line: &str| said.iter().position(|one| one.starts_with(line));
    let order = ["▶ A Print", "A │ first", "A │ second", "✓ A Print"].map(at);
    assert!(order.iter().all(Option::is_some), "{said:?}");
    assert!(order.is_sorted(), "{said:?}");
}
