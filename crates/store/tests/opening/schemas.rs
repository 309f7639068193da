//! The dumps of old schemas, and the making of the next one.
//!
//! `schemas/ENGINE/VERSION.sql` is a database as a drawloom of that version left it, with rows in
//! all of its tables. A change that adds a migration fills the new tables in `parts.rs`, and then
//! writes the dump of the version that it makes:
//!
//! ```sh
//! DRAWLOOM_BLESS=1 cargo nextest run -p store --test opening every_version_has_a_dump
//! ```
//!
//! An existing dump is never written again.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::cluster;
use crate::database::{Maker, open};

async fn filled(maker: &Maker, name: &str) -> String {
    let place = maker.empty(name).await;
    let opened = open(&place).await.unwrap();
    for part in opened.parts() {
        opened.fill(*part).await;
    }
    place
}

/// All of a SQLite file, as statements.
async fn sqlite_dump(maker: &Maker, place: &str) -> String {
    let mut dump = String::new();
    let made = maker.texts(
        place,
        "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' \
         AND name NOT LIKE 'search_words_%' AND type <> 'trigger' ORDER BY rowid",
    );
    for sql in made.await {
        writeln!(dump, "{sql}").unwrap();
    }
    let mut tables = vec!["_sqlx_migrations".to_owned()];
    tables.extend(maker.tables(place).await);
    writeln!(dump, "PRAGMA foreign_keys = OFF;").unwrap();
    for row in maker.rows(place, &tables).await {
        let (table, values) = row.split_once(": ").unwrap();
        writeln!(dump, "INSERT INTO \"{table}\" VALUES ({values});").unwrap();
    }
    // The rows of FTS5's own tables are made anew of those that it indexes.
    writeln!(
        dump,
        "INSERT INTO search_words (search_words) VALUES ('rebuild');"
    )
    .unwrap();
    // Behind the rows, which would make them act.
    let triggers = "SELECT sql || ';' FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid";
    for sql in maker.texts(place, triggers).await {
        writeln!(dump, "{sql}").unwrap();
    }
    for name in ["application_id", "user_version"] {
        let sql = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
        let value = maker.texts(place, &sql).await.remove(0);
        writeln!(dump, "PRAGMA {name} = {value};").unwrap();
    }
    dump
}

/// Returns the output of `pg_dump`, without the parts that depend on its version.
fn postgres_dump(maker: &Maker, name: &str) -> String {
    let Maker::Server(cluster) = maker else {
        panic!("a file has no pg_dump");
    };
    let dumped = Command::new(cluster::program("pg_dump"))
        .args([
            "--inserts",
            "--no-owner",
            "--no-privileges",
            "--no-comments",
        ])
        .args(["-U", "drawloom", "-d", name, "-h"])
        .arg(cluster.folder())
        .output()
        .unwrap();
    assert!(dumped.status.success(), "{dumped:?}");
    let dumped = String::from_utf8(dumped.stdout).unwrap();
    let is_kept = |line: &&str| {
        let noise = ["--", "SET ", "\\", "SELECT pg_catalog.set_config"];
        !line.is_empty() && !noise.iter().any(|begin| line.starts_with(begin))
    };
    let kept: Vec<&str> = dumped.lines().filter(is_kept).collect();
    kept.join("\n") + "\n"
}

/// Writes the dump of the newest version, if it does not exist and the variable asks for it.
async fn bless(maker: &Maker, file: &Path) {
    if file.exists() || std::env::var_os("DRAWLOOM_BLESS").is_none() {
        return;
    }
    let place = filled(maker, "filled").await;
    let dump = match maker {
        Maker::Files(_) => sqlite_dump(maker, &place).await,
        Maker::Server(_) => postgres_dump(maker, "filled"),
    };
    std::fs::write(file, dump).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_has_a_dump_and_every_table_is_filled_in_it() {
    for maker in [Maker::files(), Maker::server().await] {
        let place = maker.empty("new").await;
        let opened = open(&place).await.unwrap();
        let latest = usize::try_from(maker.version(&place).await).unwrap();
        assert_eq!(opened.parts().len(), latest, "parts.rs has all versions");
        bless(&maker, &maker.dump_of(latest)).await;
        for version in 1..=latest {
            let name = format!("v{version}");
            assert!(maker.dump_of(version).exists(), "schemas.rs says how");
            let place = maker.of_version(version, &name).await;
            assert_eq!(maker.version(&place).await, i64::try_from(version).unwrap());
            for table in maker.tables(&place).await {
                let rows = maker.rows(&place, std::slice::from_ref(&table)).await;
                let may_be_empty = ["workflow_duties", "notes", "build_progress"];
                let is_filled = !rows.is_empty() || may_be_empty.contains(&table.as_str());
                assert!(is_filled, "{table} of {version} is empty");
            }
        }
    }
}
