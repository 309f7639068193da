//! Counts the round trips to the server.

use std::sync::Arc;

use flow::engine::AttemptReport;
use flow::{ClaimedTask, FinishedTask, WorkflowStore};

use crate::cluster::{Cluster, Flush};
use crate::cut::Cut;
use crate::place;
use crate::whole_runs::{FAN, give};
use crate::working::{begin, claim};

const ITEMS: u32 = 600;
const ATONCE: usize = 50;
/// A store that reads every item by itself needs more.
const ASKED_MAX: usize = 10;

async fn turn(store: &Arc<dyn WorkflowStore>, claimed: Vec<ClaimedTask>) -> Vec<ClaimedTask> {
    let done = claimed.into_iter().map(|one| FinishedTask {
        report: AttemptReport::completed(give(&one.task.id, ITEMS)),
        fence: one.task.fence,
        task: one.task.id,
    });
    let done = done.collect();
    store.turn(done, claim(ATONCE, 60_000)).await.unwrap()
}

/// Once the foreach is under way.
async fn check(cluster: &Cluster, crew: usize) {
    let address = cluster.database(&format!("trips{crew}")).await;
    let direct = place::postgres(&address).await;
    begin(&direct, FAN).await;
    let list = turn(&direct, Vec::new()).await;
    let mut hands = vec![turn(&direct, list).await];
    hands.resize_with(crew, Vec::new);
    let line = Cut::between(cluster.folder());
    let mut workers = Vec::new();
    for _ in 0..crew {
        workers.push(place::postgres(&line.address(&address, cluster.folder())).await);
    }
    for round in 0..4 {
        for (worker, hand) in workers.iter().zip(&mut hands) {
            let before = line.asked();
            *hand = turn(worker, std::mem::take(hand)).await;
            let asked = line.asked() - before;
            assert_eq!(hand.len(), ATONCE, "crew {crew}, round {round}");
            if round > 0 {
                assert!(
                    asked <= ASKED_MAX,
                    "crew {crew}, round {round}: asked {asked} times"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_asks_the_server_a_few_times_however_much_it_is_about() {
    let cluster = Cluster::start(Flush::No).await;
    for crew in [1, 2] {
        check(&cluster, crew).await;
    }
}
