//! A migration that is killed in the middle leaves the database as it was before a step of it or as it
//! is after, and the next one goes on from there.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::database::{Maker, open};

const PLACE: &str = "DRAWLOOM_OPENING_VICTIM";

/// Opens the database and says when it begins and when it is done.
async fn be_the_victim(place: &str) {
    println!("\nbegun");
    drop(open(place).await.unwrap());
    println!("done");
    std::thread::sleep(Duration::from_secs(60));
}

/// Starts a victim, and waits until it has begun.
fn victim(test: &str, place: &str) -> (Child, impl FnMut() -> Option<String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = move || lines.next().map(|line| line.unwrap());
    while next().unwrap() != "begun" {}
    (child, next)
}

/// Measures how long opening an old database takes without a kill.
async fn undisturbed(maker: &Maker, test: &str) -> Duration {
    let place = maker.of_version(1, "undisturbed").await;
    let (mut child, mut next) = victim(test, &place);
    let begun = Instant::now();
    while next().unwrap() != "done" {}
    let took = begun.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    took
}

/// The tables of each version.
async fn tables_by_version(maker: &Maker) -> BTreeMap<i64, Vec<String>> {
    let new = maker.empty("new").await;
    drop(open(&new).await.unwrap());
    let latest = maker.version(&new).await;
    let mut tables = BTreeMap::new();
    for version in 1..=latest {
        let name = format!("v{version}");
        let place = maker
            .of_version(usize::try_from(version).unwrap(), &name)
            .await;
        tables.insert(version, maker.tables(&place).await);
    }
    tables
}

/// Makes a database of the first version and one of the newest, for comparison.
async fn ends(maker: &Maker) -> (String, String) {
    let new = maker.empty("newest").await;
    drop(open(&new).await.unwrap());
    (maker.of_version(1, "first").await, new)
}

/// The rows in the columns that the first and the newest version both have.
async fn kept(
    maker: &Maker,
    place: &str,
    (old, new): (&str, &str),
    tables: &[String],
) -> Vec<String> {
    // A version in between has columns that the first one does not have.
    maker.rows_in_all(place, &[old, new], tables).await
}

async fn check_killed(maker: &Maker, test: &str, rounds: u32) {
    let expected = tables_by_version(maker).await;
    let (old, new) = ends(maker).await;
    let latest = *expected.keys().last().unwrap();
    let took = undisturbed(maker, test).await;
    let mut left = BTreeMap::new();
    for round in 0..rounds {
        let place = maker.of_version(1, &format!("killed{round}")).await;
        let before = maker.rows_in_both(&place, &new, &expected[&1]).await;
        let (mut child, _next) = victim(test, &place);
        std::thread::sleep(took * round / rounds);
        child.kill().unwrap();
        child.wait().unwrap();

        // The server may still be ending what it was told last.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let (version, tables) = (maker.version(&place).await, maker.tables(&place).await);
        assert_eq!(
            tables, expected[&version],
            "round {round}: version {version}"
        );
        let rows = kept(maker, &place, (&old, &new), &expected[&1]).await;
        assert_eq!(rows, before, "round {round}");
        *left.entry(version).or_insert(0) += 1;

        drop(open(&place).await.unwrap());
        assert_eq!(maker.version(&place).await, latest, "round {round}");
        assert_eq!(
            maker.tables(&place).await,
            expected[&latest],
            "round {round}"
        );
        let rows = kept(maker, &place, (&old, &new), &expected[&1]).await;
        assert_eq!(rows, before, "round {round}");
    }
    println!("left at versions {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_migration_of_sqlite_leaves_before_or_after() {
    if let Ok(place) = std::env::var(PLACE) {
        return be_the_victim(&place).await;
    }
    let test = "killed::a_killed_migration_of_sqlite_leaves_before_or_after";
    check_killed(&Maker::files(), test, 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_migration_of_postgres_leaves_before_or_after() {
    if let Ok(place) = std::env::var(PLACE) {
        return be_the_victim(&place).await;
    }
    let test = "killed::a_killed_migration_of_postgres_leaves_before_or_after";
    check_killed(&Maker::server().await, test, 16).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_in_a_migration_comes_back_before_or_after() {
    let mut maker = Maker::server().await;
    let expected = tables_by_version(&maker).await;
    let (old, new) = ends(&maker).await;
    for round in 0..5_u64 {
        let place = maker.of_version(1, &format!("dead{round}")).await;
        let before = maker.rows_in_both(&place, &new, &expected[&1]).await;
        let opening = {
            let place = place.clone();
            tokio::spawn(async move { open(&place).await.map(drop) })
        };
        tokio::time::sleep(Duration::from_millis(round * 6)).await;
        let Maker::Server(cluster) = &mut maker else {
            panic!("it is a server");
        };
        cluster.kill().await;
        let opened = opening.await.unwrap();
        cluster.run().await;
        let version = maker.version(&place).await;
        assert_eq!(
            maker.tables(&place).await,
            expected[&version],
            "round {round}"
        );
        let latest = *expected.keys().last().unwrap();
        assert!(opened.is_err() || version == latest, "round {round}");
        let rows = kept(&maker, &place, (&old, &new), &expected[&1]).await;
        assert_eq!(rows, before, "round {round}");
        drop(open(&place).await.unwrap());
        assert_eq!(maker.version(&place).await, latest, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_open_an_old_database_at_once_all_find_it_new() {
    for maker in [Maker::files(), Maker::server().await] {
        let place = maker.of_version(1, "many").await;
        let mut opening = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let place = place.clone();
            opening.spawn(async move { open(&place).await.map(drop) });
        }
        for opened in opening.join_all().await {
            opened.unwrap();
        }
    }
}
