//! Runs that are kept for so many days.

use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};

use crate::project::CliProject;
use crate::workflow_fixture::{bare, diagram, document, lines};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Lets a run have begun and ended so many days earlier.
fn age(project: &CliProject, run: &str, days: i64) {
    let file = project.path().join(".drawloom/drawloom.db");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let address = format!("sqlite:{}", file.display());
        let mut connection = SqliteConnection::connect(&address).await.unwrap();
        let aged = sqlx::query(
            "UPDATE workflow_runs SET created_ms = created_ms - $1, \
             body = json_set(body, '$.created_ms', (body ->> '$.created_ms') - $1, \
             '$.ended_ms', (body ->> '$.ended_ms') - $1) WHERE id = $2",
        );
        let aged = aged.bind(days * DAY_MS).bind(run);
        let aged = aged.execute(&mut connection).await.unwrap();
        assert_eq!(aged.rows_affected(), 1);
        connection.close().await.unwrap();
    });
}

#[test]
fn a_worker_throws_away_what_ended_too_long_ago() {
    let project = bare();
    let nothing = json!({ "handler": "no_op" });
    project.write("one.mmd", &diagram(" A[One]", &[("A", nothing)]));
    project.write("inputs.jsonl", "{}\n{}\n{}\n");
    let begun = project.run("workflow start one.mmd --inputs inputs.jsonl --json");
    assert_eq!(begun.exit, 0, "{}", begun.err);
    let runs: Vec<String> = lines(&begun)
        .iter()
        .map(|line| line["run"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(project.run("worker --until-idle").exit, 0);
    for (run, days) in runs.iter().zip([3, 2, 1]) {
        age(&project, run, days);
    }
    let kept = || {
        let listed = document(&project.run("runs list --json"));
        listed["runs"].as_array().unwrap().len()
    };
    assert_eq!(project.run("worker --until-idle").exit, 0);
    assert_eq!(kept(), 3, "nobody asked for less");
    let settings = project.read("drawloom.toml");
    project.write(
        "drawloom.toml",
        &format!("{settings}\n[workflows]\nkeep_days = 2\n"),
    );
    assert_eq!(project.run("worker --until-idle").exit, 0);
    assert_eq!(kept(), 1);
    assert_eq!(project.run(&format!("runs show {}", runs[2])).exit, 0);
    assert_ne!(project.run(&format!("runs show {}", runs[0])).exit, 0);
}

/// A project in which so many runs have ended.
fn with_runs(count: usize) -> CliProject {
    let project = bare();
    let nothing = json!({ "handler": "no_op" });
    project.write("one.mmd", &diagram(" A[One]", &[("A", nothing)]));
    project.write("inputs.jsonl", &"{}\n".repeat(count));
    let begun = project.run("workflow start one.mmd --inputs inputs.jsonl --tag t");
    assert_eq!(begun.exit, 0, "{}", begun.err);
    assert_eq!(project.run("worker --until-idle").exit, 0);
    project
}

fn ids(project: &CliProject) -> Vec<String> {
    let listed = document(&project.run("runs list --json --limit 999"));
    let runs = listed["runs"].as_array().unwrap().iter();
    runs.map(|run| run["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn runs_are_deleted_by_id_or_by_what_they_are() {
    let project = with_runs(5);
    let runs = ids(&project);
    assert_eq!(project.run(&format!("runs delete {}", runs[0])).exit, 0);
    assert_eq!(ids(&project), runs[1..]);
    for (command, exit, said) in [
        ("runs delete", 64, "which runs are to be deleted?"),
        ("runs delete --status running --yes", 64, "have not ended"),
        ("runs delete --tag t", 64, "4 runs would be deleted"),
        (
            "runs delete --tag t --dry-run",
            0,
            "4 runs would be deleted",
        ),
        ("runs delete --tag u --yes", 0, "0 runs would be deleted"),
        (
            "runs delete --older-than 1d --yes",
            0,
            "0 runs would be deleted",
        ),
        ("runs delete zzz", 1, "there is no run `zzz`"),
    ] {
        let ran = project.run(command);
        assert_eq!(ran.exit, exit, "{command}: {}", ran.err);
        assert!(ran.err.contains(said), "{command}: {}", ran.err);
        assert_eq!(ids(&project).len(), 4, "{command}");
    }
    project.write("wait.mmd", &diagram(" A(Look)", &[]));
    assert_eq!(project.run("workflow start wait.mmd --tag t").exit, 0);
    let refused = project.run("runs delete last");
    assert_eq!(refused.exit, 1, "{}", refused.err);
    assert!(refused.err.contains("has not ended"), "{}", refused.err);
    let all = project.run("runs delete --tag t --workflow one --yes --json");
    assert_eq!(document(&all)["runs"], 4, "{}", all.err);
    assert_eq!(ids(&project).len(), 1);
}

#[test]
fn the_newest_runs_are_kept_and_the_room_of_the_others_comes_back() {
    let project = with_runs(300);
    let runs = ids(&project);
    let settings = project.read("drawloom.toml");
    project.write(
        "drawloom.toml",
        &format!("{settings}\n[workflows]\nkeep_runs = 3\n"),
    );
    for run in &runs[3..] {
        age(&project, run, 1);
    }
    assert_eq!(project.run("worker --until-idle").exit, 0);
    assert_eq!(ids(&project), runs[..3]);
    let compacted = document(&project.run("database compact --json"));
    let bytes = |name: &str| compacted[name].as_u64().unwrap();
    assert!(bytes("after_bytes") < bytes("before_bytes"), "{compacted}");
    assert_eq!(ids(&project), runs[..3]);
}
