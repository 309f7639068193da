//! Opening a database where there is nothing, a file of ours, damage, or something else.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use agent::TurnJournal as _;
use store::{AgentRuns as _, DatabaseErrorKind, Options, SqliteDatabase};

use crate::support::{new_run, opened, options, place, turn};

async fn check_refused(place: &Path, kind: DatabaseErrorKind, pieces: &[&str]) {
    let before = std::fs::read(place).ok();
    let error = SqliteDatabase::open(place, options()).await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for piece in pieces {
        assert!(
            error.to_string().contains(piece),
            "{piece:?} is missing in: {error}"
        );
    }
    assert_eq!(std::fs::read(place).ok(), before, "the file was touched");
}

async fn filled(folder: &Path) {
    let store = opened(folder).await;
    let run = store.begin(&new_run("p.json")).await.unwrap();
    let mut journal = run.conversation("generate").await.unwrap();
    for number in 1..=200 {
        journal.commit(&turn(number)).await.unwrap();
    }
    drop((run, journal));
    store.close().await.unwrap();
}

#[tokio::test]
async fn the_files_are_for_the_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let _run = store.begin(&new_run("p.json")).await.unwrap();
    for entry in std::fs::read_dir(folder.path().join(".drawloom")).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
}

#[tokio::test]
async fn a_file_that_others_could_read_is_closed_to_them() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let place = place(folder.path());
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o644)).unwrap();
    opened(folder.path()).await;
    let mode = std::fs::metadata(&place).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[tokio::test]
async fn something_that_is_no_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("x.db");
    std::fs::write(
        &place,
        "This is a letter to my aunt, and not a database.\n".repeat(200),
    )
    .unwrap();
    let says = ["x.db is damaged or is not a database", "Move it away"];
    check_refused(&place, DatabaseErrorKind::Corrupt, &says).await;
}

#[tokio::test]
async fn another_programs_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("x.db");
    let python = std::process::Command::new("python3")
        .args(["-c", "import sqlite3,sys\nc=sqlite3.connect(sys.argv[1])\nc.execute('pragma journal_mode=wal')\nc.execute('create table runs(a)')\nc.commit()\nc.close()"])
        .arg(&place)
        .status()
        .unwrap();
    assert!(python.success());
    check_refused(
        &place,
        DatabaseErrorKind::Corrupt,
        &["it holds tables of another program"],
    )
    .await;
}

#[tokio::test]
async fn a_damaged_file_is_an_error_and_not_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let place = place(folder.path());
    let whole = std::fs::read(&place).unwrap();
    let half = whole.len() / 2;
    for (what, bytes) in [
        ("cut", whole[..half].to_vec()),
        (
            "first page",
            [vec![0xa5; 4_096], whole[4_096..].to_vec()].concat(),
        ),
        (
            "middle",
            [whole[..half].to_vec(), vec![0xa5; whole.len() - half]].concat(),
        ),
    ] {
        std::fs::write(&place, bytes).unwrap();
        let error = match SqliteDatabase::open(&place, options()).await {
            Ok(store) => store.check().await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.kind(), DatabaseErrorKind::Corrupt, "{what}: {error}");
        assert!(
            error.to_string().contains("drawloom.db is damaged"),
            "{what}: {error}"
        );
    }
}

#[tokio::test]
async fn a_newer_drawlooms_database_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let place = place(folder.path());
    let python = std::process::Command::new("python3")
        .args(["-c", "import sqlite3,sys\nc=sqlite3.connect(sys.argv[1])\nc.execute(\"insert into _sqlx_migrations values (99,'later',0,1,x'00',0)\")\nc.execute('pragma user_version=99')\nc.commit()\nc.close()"])
        .arg(&place)
        .status()
        .unwrap();
    assert!(python.success());
    let says = [
        "was written by a newer drawloom",
        "tables of version 99",
        "knows them up to",
        "Update drawloom",
    ];
    check_refused(&place, DatabaseErrorKind::Newer, &says).await;
}

#[tokio::test]
async fn a_place_that_cannot_be_is_an_error_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("d.db");
    std::fs::create_dir(&directory).unwrap();
    check_refused(
        &directory,
        DatabaseErrorKind::Open,
        &["d.db is not a plain file"],
    )
    .await;

    let target = folder.path().join("elsewhere.db");
    std::fs::write(&target, "").unwrap();
    let link = folder.path().join("l.db");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    check_refused(
        &link,
        DatabaseErrorKind::Open,
        &["l.db is not a plain file"],
    )
    .await;

    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    check_refused(
        &file.join("x.db"),
        DatabaseErrorKind::Open,
        &["file/x.db", "Check the folder"],
    )
    .await;
    check_refused(
        &folder.path().join("no/such/x.db"),
        DatabaseErrorKind::Open,
        &["no/such", "Check"],
    )
    .await;
}

#[tokio::test]
async fn keys_do_not_reach_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let scrub = |text: &str| {
        text.contains("sk-secret-1")
            .then(|| text.replace("sk-secret-1", "[key removed]"))
    };
    let options = Options {
        scrub: Some(Arc::new(scrub)),
        ..options()
    };
    let store = SqliteDatabase::open(&place(folder.path()), options)
        .await
        .unwrap();
    let run = store.begin(&new_run("p.json")).await.unwrap();
    let mut journal = run.conversation("generate").await.unwrap();
    let mut leaky = turn(1);
    leaky.results[0].content = "the environment has KEY=sk-secret-1 in it".to_owned();
    let note = agent::TurnNote::Ended {
        turn: 1,
        call: 0,
        result: leaky.results[0].clone(),
        deeds: Vec::new(),
    };
    journal.note(&note).await.unwrap();
    journal.commit(&leaky).await.unwrap();
    run.keep_fact("task/a", "{\"said\":\"sk-secret-1\"}")
        .await
        .unwrap();
    let kept = journal.load().await.unwrap();
    assert_eq!(
        kept.turns[0].results[0].content,
        "the environment has KEY=[key removed] in it"
    );
    for entry in std::fs::read_dir(folder.path().join(".drawloom")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(11).any(|window| window == b"sk-secret-1");
        assert!(!found, "{}", path.display());
    }
}
