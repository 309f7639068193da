//! `kill -9` at any moment: the database then holds exactly what was said to be kept.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::{TurnJournal as _, TurnNote};
use store::{AgentRuns as _, RunNumber, RunState};

use crate::support::{new_run, opened, replied, turn};

const FOLDER: &str = "DRAWLOOM_STORE_VICTIM";
const TEST: &str = "crash::what_was_committed_and_nothing_else_survives_kill_9";
const ROUNDS: u32 = 40;

/// Commits turns for ever, and says so after each.
async fn commit_until_killed(folder: &Path) {
    let store = opened(folder).await;
    let run = match store.latest(store::RunKind::Plan, "p.json").await.unwrap() {
        Some(record) => store.resume(record.id).await.unwrap(),
        None => store.begin(&new_run("p.json")).await.unwrap(),
    };
    println!("\nrun {}", run.id());
    let mut journal = run.conversation("generate").await.unwrap();
    let history = journal.load().await.unwrap();
    let mut noted = history.notes;
    for number in u32::try_from(history.turns.len()).unwrap() + 1.. {
        let begun = TurnNote::Begun {
            turn: number,
            call: 0,
        };
        for note in [replied(number), begun] {
            // A note of an earlier life is not repeated.
            if !noted.contains(&note) {
                journal.note(&note).await.unwrap();
            }
            println!("noted {number}");
        }
        noted.clear();
        journal.commit(&turn(number)).await.unwrap();
        println!("committed {number}");
    }
}

/// The output of the victim before it died.
#[derive(Default)]
struct Said {
    run: i64,
    noted: u32,
    committed: u32,
}

/// Lets it live until it has said so many lines, and then for a moment.
fn kill_after(folder: &Path, lines_min: u32, moment: Duration) -> Said {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Said::default();
    let hear = |line: &str, said: &mut Said| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["run", id] => said.run = id.parse().unwrap(),
            ["noted", number] => said.noted = number.parse().unwrap(),
            ["committed", number] => said.committed = number.parse().unwrap(),
            _ => {}
        }
    };
    // Its life begins when it has opened the database.
    while said.run == 0 {
        hear(&lines.next().unwrap().unwrap(), &mut said);
    }
    for _ in 0..lines_min {
        hear(&lines.next().unwrap().unwrap(), &mut said);
    }
    std::thread::sleep(moment);
    child.kill().unwrap();
    child.wait().unwrap();
    for line in lines {
        hear(&line.unwrap(), &mut said);
    }
    said
}

#[tokio::test]
async fn what_was_committed_and_nothing_else_survives_kill_9() {
    // Started by itself, the test is the victim.
    if let Ok(folder) = std::env::var(FOLDER) {
        return commit_until_killed(Path::new(&folder)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut committed = 0;
    for round in 0..ROUNDS {
        // No random numbers needed: the disk and the scheduler are random enough.
        let moment = Duration::from_micros(u64::from(round) * 370 % 5_000);
        let said = kill_after(folder.path(), round % 7, moment);

        let store = opened(folder.path()).await;
        store.check().await.unwrap();
        let run = store.resume(RunNumber(said.run)).await.unwrap();
        let history = run
            .conversation("generate")
            .await
            .unwrap()
            .load()
            .await
            .unwrap();
        let kept = u32::try_from(history.turns.len()).unwrap();
        let told = said.committed.max(committed);
        // The last commit may have happened without the victim living to say so.
        assert!(
            (told..=told + 1).contains(&kept),
            "round {round}: told {told}, kept {kept}"
        );
        assert_eq!(
            history.turns,
            (1..=kept).map(turn).collect::<Vec<_>>(),
            "round {round}"
        );
        let under_way: Vec<TurnNote> = vec![
            replied(kept + 1),
            TurnNote::Begun {
                turn: kept + 1,
                call: 0,
            },
        ];
        assert!(
            under_way.starts_with(&history.notes),
            "round {round}: {:?}",
            history.notes
        );
        if said.noted > kept {
            assert!(!history.notes.is_empty(), "round {round}: a note is lost");
        }
        assert_eq!(store.spent(run.id()).await.unwrap().calls, u64::from(kept));
        assert_eq!(store.find(run.id()).await.unwrap().state, RunState::Running);
        committed = kept;
        drop(run);
        store.close().await.unwrap();
    }
    assert!(
        committed > ROUNDS / 4,
        "only {committed} turns in {ROUNDS} rounds"
    );
}
