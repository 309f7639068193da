//! Publishing to an emulated GitHub that keeps state: drafts, labels, lists, wrong tokens.

use vcs::{
    BranchName, BranchPurpose, ForgeLimits, ForgeProject, ForgeToken, GitHub, MANUAL_FIX_LABEL,
    NewPullRequest, PullReadiness, VcsErrorKind,
};

use crate::peer::{Emulator, TOKEN};

const STRANGERS_TOKEN: &str = "ghp_a-strangers-token";

/// Makes the client for a project of the emulator.
fn github(emulator: &Emulator, token: &str, name: &str) -> GitHub {
    let project = ForgeProject::new("github.com", name).unwrap();
    let limits = ForgeLimits::default();
    GitHub::new(&emulator.url, &project, ForgeToken::new(token), limits).unwrap()
}

fn new(purpose: BranchPurpose, readiness: PullReadiness, labels: &[&str]) -> NewPullRequest {
    NewPullRequest {
        title: "feat: rate limiting".to_owned(),
        body: "What passed, what failed.".to_owned(),
        head: BranchName::of_job(purpose, "j1", "rate limiting"),
        base: BranchName::parse("main").unwrap(),
        readiness,
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
    }
}

#[tokio::test]
async fn a_draft_and_a_finished_pull_request_are_published_once_each() {
    let emulator = Emulator::start();
    let github = github(&emulator, TOKEN, "octo/hello");
    assert_eq!(github.default_branch().await.unwrap().as_str(), "main");
    let draft = new(
        BranchPurpose::Draft,
        PullReadiness::Draft,
        &[MANUAL_FIX_LABEL],
    );
    assert_eq!(github.find_open(&draft.head).await.unwrap(), None);
    let first = github.publish(&draft).await.unwrap();
    assert!(first.pull.draft && !first.was_there, "{first:?}");
    assert!(first.notes.is_empty(), "{first:?}");
    let again = NewPullRequest {
        body: "All of it passed.".to_owned(),
        ..draft.clone()
    };
    let second = github.publish(&again).await.unwrap();
    assert!(second.was_there);
    assert_eq!(second.pull, first.pull);
    // A mended draft needs no person any more; another label is not ours to take off.
    let mended = NewPullRequest {
        labels: vec!["reviewed".to_owned()],
        ..again.clone()
    };
    let labels = |emulator: &Emulator| {
        let seen = emulator.ask(&format!("pulls/{}", first.pull.number));
        let labels = seen["labels"].as_array().unwrap().clone();
        labels
            .iter()
            .map(|label| label["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(&emulator), [MANUAL_FIX_LABEL]);
    github.publish(&mended).await.unwrap();
    assert_eq!(labels(&emulator), ["reviewed"]);
    let both = NewPullRequest {
        labels: vec![MANUAL_FIX_LABEL.to_owned()],
        ..again.clone()
    };
    let notes = github.publish(&both).await.unwrap().notes;
    assert_eq!((labels(&emulator).len(), notes.len()), (2, 0));
    let finished = new(BranchPurpose::Finished, PullReadiness::Ready, &[]);
    let third = github.publish(&finished).await.unwrap();
    assert_ne!(third.pull.number, first.pull.number);
    assert!(!third.pull.draft);

    let pulls = emulator.ask("pulls?state=all");
    assert_eq!(pulls.as_array().unwrap().len(), 2);
    let seen = emulator.ask(&format!("pulls/{}", first.pull.number));
    assert_eq!(seen["body"], "All of it passed.");
    assert_eq!(seen["draft"], true);
    assert_eq!(seen["head"]["ref"], "draft/j1-rate-limiting");
    let found = github.find_open(&finished.head).await.unwrap();
    assert_eq!(found, Some(third.pull));
}

#[tokio::test]
async fn refusals_of_the_emulator_have_distinct_kinds() {
    let emulator = Emulator::start();
    let pull = new(BranchPurpose::Finished, PullReadiness::Ready, &[]);
    for (token, name, kind) in [
        (TOKEN, "octo/nope", VcsErrorKind::NotFound),
        (STRANGERS_TOKEN, "octo/private", VcsErrorKind::Unauthorized),
    ] {
        let error = github(&emulator, token, name)
            .publish(&pull)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(!error.to_string().contains(token), "{error}");
    }
    let nowhere = NewPullRequest {
        title: String::new(),
        ..pull
    };
    let github = github(&emulator, TOKEN, "octo/hello");
    let error = github.publish(&nowhere).await.unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::Refused, "{error}");
}
