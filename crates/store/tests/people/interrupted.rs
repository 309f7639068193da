//! A killed server, and callers that stop waiting: no lost change is reported as stored, no caller
//! gets a conflict with its own change, and the next caller finds a clean connection.

use std::time::Duration;

use store::{UserFilter, UserStore as _};

use crate::cluster::{Cluster, Flush};
use crate::place::on_server;
use crate::users::{agent, slug};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_goes_on_with_what_it_said_it_kept() {
    let mut cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("people").await;
    let store = on_server(&address).await;
    let mut kept = Vec::new();
    for round in 0..3 {
        let name = format!("before-{round}");
        kept.push(store.add_user(&agent(&name, "Do.")).await.unwrap());
        cluster.kill().await;
        let lost = store.add_user(&agent("lost", "Do.")).await.unwrap_err();
        assert_eq!(lost.kind(), store::DatabaseErrorKind::Lost, "{lost}");
        cluster.run().await;
        // The same connection was lost and is made anew.
        assert_eq!(store.users(UserFilter::Everybody).await.unwrap(), kept);
        let edited = store.edit_user(&kept[round]).await.unwrap();
        kept[round] = edited;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_request_leaves_nothing_half_done() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("people").await;
    let store = on_server(&address).await;
    for round in 0..60_u64 {
        let name = format!("a{round}");
        let user = agent(&name, "Do.");
        let moment = Duration::from_micros(round * 50);
        let _ = tokio::time::timeout(moment, store.add_user(&user)).await;
        // A change that was left in the middle is not joined to this one.
        let other = agent(&format!("b{round}"), "Do.");
        let other = store.add_user(&other).await.unwrap();
        let seen = on_server(&address).await.user(&other.slug).await.unwrap();
        assert_eq!(seen, Some(other));
        match store.user(&slug(&name)).await.unwrap() {
            Some(found) => assert_eq!(found.agent_prompt(), Some("Do.")),
            None => drop(store.add_user(&user).await.unwrap()),
        }
    }
    assert_eq!(store.users(UserFilter::Agents).await.unwrap().len(), 120);
}
