//! The pages on PostgreSQL.

use crate::cluster::{Cluster, Flush};
use crate::test_server::{TestServer, limits};
use crate::work;

#[tokio::test]
async fn the_pages_are_the_same_on_a_server() {
    let cluster = Cluster::start(Flush::No).await;
    let shared = async |name: &str| {
        let address = cluster.database(name).await;
        TestServer::with(Some(&address), limits()).await
    };
    crate::check_every_page(&shared("pages").await).await;
    crate::check_whole_run(&shared("runs").await).await;
    crate::check_saving(&shared("saving").await).await;
    work::check_many_runs(&shared("many").await).await;
    work::check_views(&shared("views").await).await;
    work::check_added_task(&shared("added").await).await;
    work::check_inbox(&shared("inbox").await).await;
    work::check_items(&shared("items").await).await;
    work::check_people_and_lists(&shared("people").await).await;
}
