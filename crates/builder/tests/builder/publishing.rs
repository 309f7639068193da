//! Where work goes: pushed to a remote, refused by one, or kept here; and published again.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use builder::{FailureCode, Options, Publish, Status, decide};

use crate::scripted::{Act, says};
use crate::shop::{Shop, git, planned, writes};

fn script() -> Vec<Act> {
    vec![
        planned("new-resource", &[("a.txt", "create")]),
        writes("a.txt", "a"),
        says("Done."),
    ]
}

/// A shop with a bare repository as its origin.
fn shop(script: Vec<Act>) -> Shop {
    let shop = Shop::new(&[("list.txt", "one\n")], script);
    let origin = shop.beside("origin.git");
    std::fs::create_dir(&origin).unwrap();
    git(&origin, &["init", "--quiet", "--bare", "-b", "main"]);
    shop.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    shop
}

fn refuse(shop: &Shop, words: &str) {
    let hook = shop.beside("origin.git/hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\necho '{words}'\nexit 1\n")).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn without_a_forge_the_branch_is_pushed_and_that_is_said() {
    let mut shop = shop(script());
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), Status::Completed, "{:?}", job.error);
    assert!(job.result.pushed);
    let branch = job.result.branch.unwrap();
    let theirs = git(
        &shop.beside("origin.git"),
        &["show", &format!("{branch}:a.txt")],
    );
    assert_eq!(theirs, "a\n");
    assert!(
        job.result
            .notes
            .iter()
            .any(|note| note.contains("no forge is known"))
    );
}

#[tokio::test]
async fn what_is_to_stay_here_is_not_pushed() {
    let mut shop = shop(script());
    let options = Options {
        publish: Publish::Local,
        ..Options::default()
    };
    let job = shop.run(options).await;
    assert_eq!(job.status(), Status::Completed, "{:?}", job.error);
    assert!(!job.result.pushed);
    assert_eq!(git(&shop.beside("origin.git"), &["for-each-ref"]), "");
    let job = decide::publish(&shop.bench(), &job.id).await.unwrap();
    let job = shop.go_on(&job.id).await;
    assert_eq!((job.status(), job.result.pushed), (Status::Completed, true));
}

#[tokio::test]
async fn a_push_that_is_refused_loses_nothing_and_can_be_tried_again() {
    let mut shop = shop(script());
    refuse(&shop, "Not on a Monday.");
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), Status::Failed);
    let error = job.error.clone().unwrap();
    assert_eq!(
        (error.code, error.step),
        (FailureCode::Push, Status::Publishing)
    );
    assert!(
        error.message.contains("Not on a Monday."),
        "{}",
        error.message
    );
    let branch = job.result.branch.clone().unwrap();
    assert_eq!(shop.branches(), [branch.clone()]);
    assert!(Path::new(&job.result.patch_file.clone().unwrap()).exists());
    assert_eq!(shop.worktrees(), 0);

    std::fs::remove_file(shop.beside("origin.git/hooks/pre-receive")).unwrap();
    decide::publish(&shop.bench(), &job.id).await.unwrap();
    let job = shop.go_on(&job.id).await;
    assert_eq!(job.status(), Status::Completed, "{:?}", job.error);
    assert_eq!((job.error, job.result.pushed), (None, true));
    assert_eq!(shop.branches(), [branch]);
}

#[tokio::test]
async fn what_was_never_made_cannot_be_published() {
    let mut shop = shop(vec![planned("new-resource", &[("a.txt", "create")])]);
    let job = shop.plan(Options::default()).await;
    let error = decide::publish(&shop.bench(), &job.id).await.unwrap_err();
    assert_eq!(error.kind(), builder::Kind::Conflict);
    let error = decide::retry(&shop.bench(), &job.id).await.unwrap_err();
    assert_eq!(error.kind(), builder::Kind::Conflict);
}
