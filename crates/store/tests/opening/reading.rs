//! Version 10 of SQLite and 9 of PostgreSQL: costs, and texts to search.

use flow::engine::{AttemptReport, RunStart, SpentAmount};
use flow::{ClaimRequest, FinishedTask, RunId};
use serde_json::json;
use store::{CostDays, SearchQuery};

use crate::database::Opened;

fn query() -> SearchQuery {
    SearchQuery {
        text: "lantern".to_owned(),
        ..SearchQuery::default()
    }
}

pub(crate) async fn fill(opened: &Opened) {
    let store = opened.workflows().await;
    let hash = store.keep_workflow("graph TD\n A[Pay]\n").await.unwrap();
    let start = RunStart::new("r7", json!({ "find": "lantern" }));
    store.start(&hash, start).await.unwrap().unwrap();
    let claim = |runs: Vec<RunId>| ClaimRequest {
        worker: "w".to_owned(),
        max: 1,
        lease_ms: 60_000,
        assignees: Vec::new(),
        runs,
        rates: Vec::new(),
    };
    let claimed = store.claim(claim(vec![RunId::new("r7")])).await.unwrap();
    let done = claimed.into_iter().map(|one| FinishedTask {
        task: one.task.id,
        fence: one.task.fence,
        report: AttemptReport {
            spent: SpentAmount {
                tokens: 5,
                micros: 70,
            },
            ..AttemptReport::completed(json!(1))
        },
    });
    let next = claim(vec![RunId::new("r7")]);
    store.turn(done.collect(), next).await.unwrap();
    opened.search().search(&query(), 9).await.unwrap();
}

pub(crate) async fn find(opened: &Opened) {
    let days = CostDays {
        first: 0,
        last: u64::MAX >> 12,
    };
    let total = opened.costs().cost_total(days).await.unwrap();
    assert_eq!((total.tokens, total.micros), (5, 70));
    let found = opened.search().search(&query(), 9).await.unwrap();
    assert_eq!(found.hits.len(), 1);
    assert_eq!(found.hits[0].name, "r7");
}
