//! Publishing on forges that remember: GitLab and Gitea, each with the same story.

use vcs::{
    BranchName, Forge, ForgeLimits, ForgeProject, ForgeToken, GitLab, Gitea, MANUAL_FIX_LABEL,
    NewPullRequest, PullReadiness, VcsErrorKind,
};

use crate::stateful::{Emulated, READER, StatefulForge, WRITER};

const BOTH: [Emulated; 2] = [Emulated::GitLab, Emulated::Gitea];

const LIMITS: ForgeLimits = ForgeLimits {
    connect_ms_max: 5_000,
    call_ms_max: 20_000,
    response_bytes_max: 256 * 1024,
    attempts_max: 3,
    wait_ms_max: 2_000,
    wait_ms_first: 10,
};

fn client(kind: Emulated, forge: &StatefulForge, token: &str) -> Box<dyn Forge> {
    let token = ForgeToken::new(token);
    match kind {
        Emulated::GitLab => {
            let project = ForgeProject::new("git.example.com", "team/sub/app").unwrap();
            let base = format!("{}/api/v4", forge.url);
            Box::new(GitLab::new(&base, &project, token, LIMITS).unwrap())
        }
        Emulated::Gitea => {
            let project = ForgeProject::new("git.example.com", "octo/hello").unwrap();
            let base = format!("{}/api/v1", forge.url);
            Box::new(Gitea::new(&base, &project, token, LIMITS).unwrap())
        }
    }
}

fn pull(readiness: PullReadiness, body: &str) -> NewPullRequest {
    let labels = match readiness {
        PullReadiness::Ready => Vec::new(),
        PullReadiness::Draft => vec![MANUAL_FIX_LABEL.to_owned()],
    };
    NewPullRequest {
        title: "feat: x".to_owned(),
        body: body.to_owned(),
        head: BranchName::parse("builder/j1-x").unwrap(),
        base: BranchName::parse("main").unwrap(),
        readiness,
        labels,
    }
}

#[tokio::test]
async fn a_draft_becomes_ready_in_place_and_a_closed_one_is_followed_by_another() {
    for kind in BOTH {
        let server = StatefulForge::start(kind);
        let forge = client(kind, &server, WRITER);
        let first = forge
            .publish(&pull(PullReadiness::Draft, "One."))
            .await
            .unwrap();
        assert_eq!(
            (first.pull.number, first.pull.draft, first.was_there),
            (1, true, false)
        );
        assert_eq!(server.pulls()[0].labels, [MANUAL_FIX_LABEL], "{kind:?}");

        let second = forge
            .publish(&pull(PullReadiness::Ready, "Two."))
            .await
            .unwrap();
        assert_eq!(
            (second.pull.number, second.pull.draft, second.was_there),
            (1, false, true)
        );
        let kept = server.pulls();
        assert_eq!(kept.len(), 1, "{kind:?}: {kept:?}");
        assert_eq!(
            (kept[0].title.as_str(), kept[0].body.as_str()),
            ("feat: x", "Two.")
        );
        // It needs no person any more.
        assert_eq!(kept[0].labels, [""; 0], "{kind:?}");
        assert_eq!(second.notes, [""; 0], "{kind:?}");

        server.close(1);
        let third = forge
            .publish(&pull(PullReadiness::Ready, "Three."))
            .await
            .unwrap();
        assert_eq!((third.pull.number, third.was_there), (2, false), "{kind:?}");
        assert_eq!(forge.default_branch().await.unwrap().as_str(), "main");
    }
}

#[tokio::test]
async fn an_answer_that_is_lost_leaves_one_request() {
    for kind in BOTH {
        let server = StatefulForge::start(kind);
        let forge = client(kind, &server, WRITER);
        server.lose_next_answer();
        let published = forge
            .publish(&pull(PullReadiness::Ready, "One."))
            .await
            .unwrap();
        assert_eq!(published.pull.number, 1, "{kind:?}");
        assert_eq!(server.pulls().len(), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn two_who_publish_at_once_have_one_request() {
    for kind in BOTH {
        let server = StatefulForge::start(kind);
        let (one, two) = (client(kind, &server, WRITER), client(kind, &server, WRITER));
        let new = pull(PullReadiness::Ready, "One.");
        let (first, second) = tokio::join!(one.publish(&new), two.publish(&new));
        assert_eq!(first.unwrap().pull.number, 1, "{kind:?}");
        assert_eq!(second.unwrap().pull.number, 1, "{kind:?}");
        assert_eq!(server.pulls().len(), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn a_request_among_many_of_others_is_found_again() {
    for kind in BOTH {
        let server = StatefulForge::start(kind);
        server.add_others(120);
        let forge = client(kind, &server, WRITER);
        for (body, was_there) in [("One.", false), ("Two.", true)] {
            let published = forge
                .publish(&pull(PullReadiness::Ready, body))
                .await
                .unwrap();
            assert_eq!(
                (published.pull.number, published.was_there),
                (121, was_there),
                "{kind:?}"
            );
        }
    }
}

#[tokio::test]
async fn tokens_that_are_wrong_or_may_only_read_and_branches_that_are_missing_open_nothing() {
    for kind in BOTH {
        let server = StatefulForge::start(kind);
        for token in ["wrong", READER] {
            let forge = client(kind, &server, token);
            let refused = forge.publish(&pull(PullReadiness::Ready, "One.")).await;
            let error = refused.unwrap_err();
            assert_eq!(
                error.kind(),
                VcsErrorKind::Unauthorized,
                "{kind:?} {token}: {error}"
            );
            assert!(
                !error.to_string().contains(token) || token == "wrong",
                "{error}"
            );
        }
        server.delete_branch("builder/j1-x");
        let refused = client(kind, &server, WRITER)
            .publish(&pull(PullReadiness::Ready, "One."))
            .await;
        let kinds = [VcsErrorKind::Refused, VcsErrorKind::NotFound];
        let error = refused.unwrap_err();
        assert!(kinds.contains(&error.kind()), "{kind:?}: {error}");
        assert_eq!(server.pulls().len(), 0, "{kind:?}");
    }
}
