//! Runs that are kept for so many days.

use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};

use crate::project::Project;
use crate::weave::{bare, diagram, document, lines};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Lets a run have begun and ended so many days earlier.
fn age(project: &Project, run: &str, days: i64) {
    let file = project.path().join(".drawloom/drawloom.db");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let address = format!("sqlite:{}", file.display());
        let mut connection = SqliteConnection::connect(&address).await.unwrap();
        let aged = sqlx::query(
            "UPDATE workflow_runs SET created_ms = created_ms - $1, \
             body = json_set(body, '$.ended_ms', (body ->> '$.ended_ms') - $1) WHERE id = $2",
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
