//! The same on PostgreSQL.

use std::time::Duration;

use app::people::UserRole;
use serde_json::Value;

use crate::cluster::{Cluster, Flush};
use crate::test_server::{TestServer, limits};
use crate::{access, acts, conventions, more_acts, people, runs, stream, webhooks, workflows};

#[tokio::test]
async fn the_api_is_the_same_on_a_server() {
    let cluster = Cluster::start(Flush::No).await;
    let fresh = cluster.database("fresh").await;
    access::check_claim(&TestServer::empty(Some(&fresh), limits()).await).await;
    let shared = async |name: &str| {
        let address = cluster.database(name).await;
        TestServer::with(Some(&address), limits()).await
    };
    access::check_sessions(&shared("sessions").await).await;
    acts::check_sending_back(&shared("back").await).await;
    acts::check_many_tasks(&shared("many").await).await;
    acts::check_running_again(&shared("again").await).await;
    conventions::check_repetition(&shared("repetition").await).await;
    conventions::check_pages(&shared("pages").await).await;
    more_acts::check_added_task(&shared("added").await).await;
    people::check_people(&shared("people").await).await;
    runs::check_whole_run(&shared("runs").await).await;
    stream::check_stream(&shared("stream").await).await;
    webhooks::check_delivery(&shared("webhooks").await).await;
    workflows::check_saving(&shared("saving").await).await;
}

#[tokio::test]
async fn a_database_that_goes_away_is_503_until_it_is_back() {
    let mut cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("away").await;
    let server = TestServer::with(Some(&address), limits()).await;
    let run = server.start_review().await;
    cluster.kill().await;
    for (line, status) in [
        ("GET /readyz", 503),
        ("GET /api/v1/runs", 503),
        ("POST /api/v1/runs", 503),
        ("GET /healthz", 200),
    ] {
        let asked = server.ask(UserRole::Operator, line, Value::Null);
        let answered = tokio::time::timeout(Duration::from_secs(60), asked).await;
        let answered = answered.unwrap_or_else(|_| panic!("{line} has no answer"));
        assert_eq!(answered.status, status, "{line}: {answered:?}");
        assert!(status == 200 || !answered.header("retry-after").is_empty());
    }
    cluster.run().await;
    let line = format!("GET /api/v1/runs/{run}");
    let mut last = 0;
    for _ in 0..100 {
        last = server
            .ask(UserRole::Viewer, &line, Value::Null)
            .await
            .status;
        if last == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(last, 200);
}
