//! Writing under a policy, a plan and a job's limits.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests build their own fixtures"
)]

use std::os::unix::fs::symlink;

use tempfile::TempDir;
use workspace::{
    AccessPolicy, ChangeSet, Error, GrantedAction, Limits, PathChange, RelPath, Workspace,
    WorkspaceErrorKind, WriteCounter, WriteGrant, WriteScope,
};

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn project() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("src/old.rs", "old"),
        ("src/gone.rs", "gone"),
        ("lib/real.rs", "real"),
        ("keep.txt", "keep"),
    ] {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    symlink("lib", dir.path().join("alias")).unwrap();
    dir
}

fn open(dir: &TempDir, writes: WriteScope, limits: Limits) -> Workspace {
    Workspace::open(dir.path(), AccessPolicy::default(), limits)
        .unwrap()
        .with_writes(writes)
}

fn write(text: &str) -> PathChange {
    PathChange::Write {
        bytes: text.into(),
        executable: false,
    }
}

fn apply(space: &Workspace, changes: &[(&str, PathChange)]) -> Result<(), Error> {
    let set: ChangeSet = changes
        .iter()
        .map(|(target, change)| (path(target), change.clone()))
        .collect();
    let foreseen = space.check(&set);
    let applied = space.apply(&set);
    match (&foreseen, &applied) {
        (Ok(foreseen), Ok(applied)) => assert_eq!(foreseen, applied),
        (foreseen, applied) => assert_eq!(foreseen.is_ok(), applied.is_ok()),
    }
    applied.map(|_| ())
}

#[track_caller]
fn refused(space: &Workspace, changes: &[(&str, PathChange)], code: &str) -> String {
    let error = apply(space, changes).unwrap_err();
    let found = error
        .denial()
        .map_or("no denial", |denial| denial.rule().code());
    assert_eq!(found, code, "{error}");
    error.to_string()
}

#[test]
fn only_the_plans_files_are_written_and_as_the_plan_says() {
    let dir = project();
    let mut grant = WriteGrant::new()
        .with(path("src/new/deep.rs"), GrantedAction::Create)
        .with(path("src/old.rs"), GrantedAction::Modify)
        .with(path("lib/real.rs"), GrantedAction::Modify);
    grant.permit_rename(path("src/gone.rs"), path("src/moved.rs"));
    let space = open(&dir, WriteScope::Planned(grant), Limits::default());
    refused(&space, &[("keep.txt", write("x"))], "outside_plan");
    refused(
        &space,
        &[("src/old.rs", PathChange::Delete)],
        "other_action",
    );
    refused(&space, &[("src", PathChange::DeleteTree)], "other_action");
    refused(&space, &[("keep.txt", PathChange::Delete)], "outside_plan");
    refused(
        &space,
        &[("elsewhere", PathChange::CreateDir)],
        "outside_plan",
    );
    refused(
        &space,
        &[("src/old.rs", write("x")), ("src/extra.rs", write("x"))],
        "outside_plan",
    );
    let old = std::fs::read_to_string(dir.path().join("src/old.rs")).unwrap();
    assert_eq!(old, "old", "all or nothing");

    apply(
        &space,
        &[("src/new/deep.rs", write("1")), ("src/old.rs", write("2"))],
    )
    .unwrap();
    // The job may change and delete files it made; it may not delete files it modified.
    apply(&space, &[("src/new/deep.rs", write("3"))]).unwrap();
    apply(&space, &[("src/new/deep.rs", PathChange::Delete)]).unwrap();
    apply(
        &space,
        &[
            ("src/gone.rs", PathChange::Delete),
            ("src/moved.rs", write("gone")),
        ],
    )
    .unwrap();
    refused(
        &space,
        &[("src/old.rs", PathChange::Delete)],
        "other_action",
    );
    // A symlink to a planned file is that file.
    apply(&space, &[("alias/real.rs", write("through"))]).unwrap();
    assert_eq!(
        std::fs::read_to_string(dir.path().join("lib/real.rs")).unwrap(),
        "through"
    );
}

#[test]
fn a_plan_that_names_a_symlink_does_not_permit_where_it_leads() {
    let dir = project();
    let grant = WriteGrant::new().with(path("alias/real.rs"), GrantedAction::Modify);
    let space = open(&dir, WriteScope::Planned(grant), Limits::default());
    let message = refused(&space, &[("alias/real.rs", write("x"))], "outside_plan");
    assert!(
        message.contains("`lib/real.rs` through a symlink"),
        "{message}"
    );
}

#[test]
fn a_file_that_is_there_is_not_created_over() {
    let dir = project();
    let grant = WriteGrant::new()
        .with(path("src/old.rs"), GrantedAction::Create)
        .with(path("src/none.rs"), GrantedAction::Modify);
    let space = open(&dir, WriteScope::Planned(grant), Limits::default());
    refused(&space, &[("src/old.rs", write("x"))], "other_action");
    refused(&space, &[("src/none.rs", write("x"))], "other_action");
}

#[test]
fn a_read_only_job_writes_nothing() {
    let dir = project();
    let space = open(&dir, WriteScope::Nothing, Limits::default());
    refused(&space, &[("src/old.rs", write("x"))], "read_only_job");
    refused(&space, &[("src", PathChange::DeleteTree)], "read_only_job");
    refused(&space, &[("empty", PathChange::CreateDir)], "read_only_job");
    assert!(space.read(&path("src/old.rs")).unwrap().is_some());
}

#[test]
fn staging_refuses_one_change_and_keeps_the_others() {
    let dir = project();
    let space = open(&dir, WriteScope::Unplanned, Limits::default());
    let mut changes = ChangeSet::new();
    space
        .stage(&mut changes, &path("a.txt"), write("1"))
        .unwrap();
    let error = space
        .stage(&mut changes, &path(".env"), write("2"))
        .unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Denied);
    let error = space
        .stage(&mut changes, &path("a.txt/b"), write("2"))
        .unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Conflict, "{error}");
    space
        .stage(&mut changes, &path("a.txt"), write("3"))
        .unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes.get(&path("a.txt")), Some(&write("3")));
}

#[test]
fn a_job_has_limits_that_survive_being_resumed() {
    let dir = project();
    let limits = Limits {
        job_files_max: 2,
        job_bytes_max: 10,
        ..Limits::default()
    };
    let space = open(&dir, WriteScope::Unplanned, limits);
    let limit = |space: &Workspace, changes: &[(&str, PathChange)], name: &str| {
        let error = apply(space, changes).unwrap_err();
        assert_eq!(error.kind(), WorkspaceErrorKind::Limit);
        assert!(error.to_string().contains(name), "{error}");
    };
    limit(
        &space,
        &[("a", write("")), ("b", write("")), ("c", write(""))],
        "job_files_max (2)",
    );
    limit(&space, &[("a", write("12345678901"))], "job_bytes_max (10)");
    assert_eq!(
        space.ledger(),
        WriteCounter::default(),
        "what was refused does not count"
    );
    apply(&space, &[("a", write("1234")), ("b", write("12"))]).unwrap();
    // The same file again is no new file, but its bytes count again.
    apply(&space, &[("a", write("12"))]).unwrap();
    limit(
        &space,
        &[("src/old.rs", PathChange::Delete)],
        "job_files_max",
    );
    limit(&space, &[("a", write("123"))], "job_bytes_max");

    let kept = serde_json::to_string(&space.ledger()).unwrap();
    let ledger: WriteCounter = serde_json::from_str(&kept).unwrap();
    let resumed = open(&dir, WriteScope::Unplanned, limits).with_ledger(ledger);
    limit(&resumed, &[("c", write(""))], "job_files_max");
    limit(&resumed, &[("a", write("123"))], "job_bytes_max");
    apply(&resumed, &[("b", write("12"))]).unwrap();
}

#[test]
fn a_resumed_job_still_knows_what_it_made() {
    let dir = project();
    let grant = WriteGrant::new().with(path("new.rs"), GrantedAction::Create);
    let space = open(&dir, WriteScope::Planned(grant.clone()), Limits::default());
    apply(&space, &[("new.rs", write("1"))]).unwrap();
    let ledger = space.ledger();
    let fresh = open(&dir, WriteScope::Planned(grant.clone()), Limits::default());
    refused(&fresh, &[("new.rs", write("2"))], "other_action");
    let resumed = open(&dir, WriteScope::Planned(grant), Limits::default()).with_ledger(ledger);
    apply(&resumed, &[("new.rs", write("2"))]).unwrap();
}

#[test]
fn an_interrupted_apply_is_recovered() {
    let dir = project();
    let space = open(&dir, WriteScope::Unplanned, Limits::default());
    assert_eq!(space.recover().unwrap(), None);
    std::fs::create_dir_all(dir.path().join(".drawloom/apply")).unwrap();
    std::fs::write(dir.path().join(".drawloom/apply/0.new"), "left over").unwrap();
    assert!(space.recover().unwrap().is_some());
    assert!(!dir.path().join(".drawloom/apply").exists());
}
