//! Output of commands: kept line by line, in order, without known keys, and gone with its run.

use flow::engine::{EngineCommand, RunStart};
use flow::{LogLine, LogStream, TaskId, WorkflowStore};
use serde_json::json;

use crate::place::{Place, on_both};

on_both!(
    lines_are_kept_once_and_read_on_from_any_of_them,
    keys_are_taken_out_and_zero_bytes_do_no_harm,
    lines_leave_with_their_run,
);

fn task() -> TaskId {
    "r/A".parse().unwrap()
}

fn line(attempt: u32, number: u64, text: &str) -> LogLine {
    LogLine {
        task: task(),
        attempt,
        number,
        at_ms: number * 10,
        stream: match number % 2 {
            0 => LogStream::Stdout,
            _ => LogStream::Stderr,
        },
        text: text.to_owned(),
    }
}

async fn begun(place: &Place) -> std::sync::Arc<dyn WorkflowStore> {
    let store = place.workflows().await;
    let hash = store.keep_workflow("graph TD\n A[One]\n").await.unwrap();
    let start = RunStart::new("r", json!({}));
    store.start(&hash, start).await.unwrap().unwrap();
    store
}

async fn lines_are_kept_once_and_read_on_from_any_of_them(place: &Place) {
    let store = begun(place).await;
    let lines = [line(1, 1, "a"), line(1, 2, "ä 'b\""), line(2, 1, "")];
    store.keep_log(&lines[..2]).await.unwrap();
    store.keep_log(&lines).await.unwrap();
    assert_eq!(store.log(&task(), (0, 0), 9).await.unwrap(), lines);
    assert_eq!(store.log(&task(), (1, 1), 9).await.unwrap(), lines[1..]);
    assert_eq!(store.log(&task(), (1, 1), 1).await.unwrap(), lines[1..2]);
    assert_eq!(store.log(&task(), (2, 1), 9).await.unwrap(), []);
    let other = "r/B".parse().unwrap();
    assert_eq!(store.log(&other, (0, 0), 9).await.unwrap(), []);
}

async fn keys_are_taken_out_and_zero_bytes_do_no_harm(place: &Place) {
    let store = begun(place).await;
    store
        .keep_log(&[line(1, 1, "key sk-secret-1"), line(1, 2, "a\0b")])
        .await
        .unwrap();
    let kept = store.log(&task(), (0, 0), 9).await.unwrap();
    assert_eq!(kept[0].text, "key [key removed]");
    assert!(kept[1].text.starts_with('a') && kept[1].text.ends_with('b'));
}

async fn lines_leave_with_their_run(place: &Place) {
    let store = begun(place).await;
    store.keep_log(&[line(1, 1, "a")]).await.unwrap();
    let (run, reason) = (task().run, "Enough.".to_owned());
    let cancel = EngineCommand::Cancel {
        run: run.clone(),
        reason,
    };
    store.execute(cancel).await.unwrap().unwrap();
    store.delete_runs(&[run]).await.unwrap();
    assert_eq!(store.log(&task(), (0, 0), 9).await.unwrap(), []);
    // A worker that comes late leaves nothing behind.
    store.keep_log(&[line(1, 2, "b")]).await.unwrap();
    assert_eq!(store.log(&task(), (0, 0), 9).await.unwrap(), []);
}
