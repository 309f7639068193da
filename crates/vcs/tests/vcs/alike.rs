//! Tries the same on every forge: faults, limits, redirects, floods, silence, odd answers and long texts.

use std::thread;
use std::time::{Duration, Instant};

use vcs::{
    BranchName, Error, Forge, ForgeKind, ForgeLimits, ForgeProject, ForgeToken, GitHub, GitLab,
    Gitea, NewPullRequest, PublishOutcome, PullReadiness, VcsErrorKind,
};

use crate::scripted::{Act, Scripted, reply, reply_with};

const TOKEN: &str = "the-tests-own-token";

const LIMITS: ForgeLimits = ForgeLimits {
    connect_ms_max: 2000,
    call_ms_max: 1500,
    response_bytes_max: 256 * 1024,
    attempts_max: 3,
    wait_ms_max: 2000,
    wait_ms_first: 10,
};

/// A forge with the paths it asks, and its answer for one open request.
struct Alike {
    kind: ForgeKind,
    list: &'static str,
    open: &'static str,
    pull: &'static str,
}

const ALL: [Alike; 3] = [
    Alike {
        kind: ForgeKind::GitHub,
        list: "GET /repos/octo/hello/pulls",
        open: "POST /repos/octo/hello/pulls",
        pull: r#"{"number":7,"html_url":"https://h/7","draft":false,"state":"open","head":{"ref":"builder/j1-x","label":"octo:builder/j1-x"}}"#,
    },
    Alike {
        kind: ForgeKind::GitLab,
        list: "GET /projects/octo%2Fhello/merge_requests",
        open: "POST /projects/octo%2Fhello/merge_requests",
        pull: r#"{"iid":7,"web_url":"https://h/7","state":"opened","source_branch":"builder/j1-x","source_project_id":3,"target_project_id":3}"#,
    },
    Alike {
        kind: ForgeKind::Gitea,
        list: "GET /repos/octo/hello/pulls",
        open: "POST /repos/octo/hello/pulls",
        pull: r#"{"number":7,"html_url":"https://h/7","state":"open","title":"feat: x","head":{"ref":"builder/j1-x","repo":{"full_name":"octo/hello"}}}"#,
    },
];

impl Alike {
    fn client(&self, base: &str, cancel: exec::CommandCancel) -> Box<dyn Forge> {
        let project = ForgeProject::new("git.example.com", "octo/hello").unwrap();
        let token = ForgeToken::new(TOKEN);
        match self.kind {
            ForgeKind::GitHub => {
                let made = GitHub::new(base, &project, token, LIMITS).unwrap();
                Box::new(made.cancel(cancel))
            }
            ForgeKind::GitLab => {
                let made = GitLab::new(base, &project, token, LIMITS).unwrap();
                Box::new(made.cancel(cancel))
            }
            ForgeKind::Gitea => {
                let made = Gitea::new(base, &project, token, LIMITS).unwrap();
                Box::new(made.cancel(cancel))
            }
        }
    }

    /// The list with the open request in it.
    fn found(&self) -> Act {
        reply(200, &format!("[{}]", self.pull))
    }

    fn opened(&self) -> Act {
        reply(201, self.pull)
    }

    async fn publish(&self, acts: Vec<Act>) -> (Result<PublishOutcome, Error>, Scripted) {
        let server = Scripted::start(acts);
        let forge = self.client(&server.url, exec::CommandCancel::default());
        (forge.publish(&pull()).await, server)
    }

    #[track_caller]
    fn check_error(
        &self,
        result: Result<PublishOutcome, Error>,
        kind: VcsErrorKind,
        parts: &[&str],
    ) {
        let error = result.unwrap_err();
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{}: {text}", self.kind);
        for part in parts {
            assert!(
                text.contains(part),
                "{}: {part:?} is not in: {text}",
                self.kind
            );
        }
        assert!(!text.contains(TOKEN) && text.len() < 2000, "{text}");
    }
}

fn pull() -> NewPullRequest {
    NewPullRequest {
        title: "feat: x".to_owned(),
        body: "Body.".to_owned(),
        head: BranchName::parse("builder/j1-x").unwrap(),
        base: BranchName::parse("main").unwrap(),
        readiness: PullReadiness::Ready,
        labels: Vec::new(),
    }
}

fn nothing() -> Act {
    reply(200, "[]")
}

#[tokio::test]
async fn a_fault_is_tried_again_and_nothing_is_opened_twice() {
    for forge in &ALL {
        for fault in [reply(502, "<html>"), Act::Break, Act::Hang] {
            // It was opened all the same.
            let acts = vec![nothing(), fault.clone(), forge.found()];
            let (published, server) = forge.publish(acts).await;
            assert_eq!(published.unwrap().pull.number, 7, "{}", forge.kind);
            assert_eq!(server.lines(), [forge.list, forge.open, forge.list]);
            // It was not.
            let acts = vec![nothing(), fault.clone(), nothing(), forge.opened()];
            let (published, server) = forge.publish(acts).await;
            assert_eq!(published.unwrap().pull.number, 7, "{}", forge.kind);
            let lines = [forge.list, forge.open, forge.list, forge.open];
            assert_eq!(server.lines(), lines);
        }
        let (result, server) = forge.publish(vec![Act::Break]).await;
        forge.check_error(result, VcsErrorKind::Unreachable, &["127.0.0.1"]);
        assert_eq!(server.lines().len(), 3, "attempts_max");
    }
}

#[tokio::test]
async fn a_limit_is_waited_for_if_it_is_short() {
    for forge in &ALL {
        let limited = reply_with(429, &[("retry-after", "1")], "{}");
        let acts = vec![limited.clone(), nothing(), limited, forge.opened()];
        let (published, server) = forge.publish(acts).await;
        assert_eq!(published.unwrap().pull.number, 7, "{}", forge.kind);
        let lines = [forge.list, forge.list, forge.open, forge.open];
        assert_eq!(server.lines(), lines);
        let long = reply_with(429, &[("retry-after", "3600")], "{}");
        let (result, server) = forge.publish(vec![long]).await;
        forge.check_error(result, VcsErrorKind::RateLimited, &["3600 s"]);
        assert_eq!(server.lines().len(), 1);
    }
}

#[tokio::test]
async fn the_token_goes_to_no_other_host() {
    for forge in &ALL {
        let elsewhere = Scripted::start(vec![nothing()]);
        for status in [301, 302, 307, 308] {
            let to = format!("{}/x", elsewhere.url);
            let acts = vec![reply_with(status, &[("location", &to)], "")];
            let (result, _) = forge.publish(acts).await;
            forge.check_error(result, VcsErrorKind::Refused, &["not taken there"]);
        }
        assert_eq!(elsewhere.received().len(), 0, "{}", forge.kind);
        // What has moved on the same host is followed.
        let moved = reply_with(307, &[("location", "/moved/7")], "");
        let acts = vec![moved.clone(), nothing(), moved, forge.opened()];
        let (published, server) = forge.publish(acts).await;
        assert!(published.is_ok(), "{}", forge.kind);
        let lines = [forge.list, "GET /moved/7", forge.open, "POST /moved/7"];
        assert_eq!(server.lines(), lines);
    }
}

#[tokio::test]
async fn answers_that_are_no_answers_are_refused() {
    for forge in &ALL {
        for body in ["", "<html>", "{", "[]]"] {
            let (result, _) = forge.publish(vec![reply(200, body)]).await;
            forge.check_error(result, VcsErrorKind::BadAnswer, &["base URL"]);
        }
        for body in ["{}", "null", "7", "\"x\""] {
            let (result, _) = forge.publish(vec![reply(200, body)]).await;
            forge.check_error(result, VcsErrorKind::BadAnswer, &["cannot be understood"]);
        }
        let (result, _) = forge.publish(vec![nothing(), reply(201, "{}")]).await;
        forge.check_error(result, VcsErrorKind::BadAnswer, &["cannot be understood"]);
        let (result, _) = forge.publish(vec![Act::Flood(64 * 1024 * 1024)]).await;
        forge.check_error(result, VcsErrorKind::TooLarge, &["response_bytes_max"]);
    }
}

#[tokio::test]
async fn a_token_that_is_repeated_is_taken_out_of_the_message() {
    let words = format!(
        r#"{{"message":"your token is {TOKEN}\n{}"}}"#,
        "x".repeat(5000)
    );
    for forge in &ALL {
        let (result, _) = forge.publish(vec![reply(401, &words)]).await;
        forge.check_error(result, VcsErrorKind::Unauthorized, &["[token removed]"]);
    }
}

#[tokio::test]
async fn cancelling_ends_a_request_and_a_wait() {
    for forge in &ALL {
        for act in [Act::Hang, reply_with(429, &[("retry-after", "2")], "{}")] {
            let server = Scripted::start(vec![act]);
            let cancel = exec::CommandCancel::default();
            let client = forge.client(&server.url, cancel.clone());
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(200));
                cancel.cancel();
            });
            let began = Instant::now();
            let result = client.publish(&pull()).await;
            forge.check_error(result, VcsErrorKind::Cancelled, &[]);
            assert!(began.elapsed() < Duration::from_secs(1), "{}", forge.kind);
        }
    }
}

/// GitLab refuses a title of 256 characters.
#[tokio::test]
async fn long_titles_and_bodies_are_cut_to_the_limits_of_all() {
    let new = NewPullRequest {
        title: format!("feat:\n{}", "ä".repeat(400)),
        body: format!("Errors:\n```\n{}\n```\n", "é ".repeat(60_000)),
        readiness: PullReadiness::Draft,
        ..pull()
    };
    for forge in &ALL {
        let server = Scripted::start(vec![nothing(), forge.opened()]);
        let client = forge.client(&server.url, exec::CommandCancel::default());
        client.publish(&new).await.unwrap();
        let sent = &server.received()[1].body;
        let body = match forge.kind {
            ForgeKind::GitLab => &sent["description"],
            ForgeKind::GitHub | ForgeKind::Gitea => &sent["body"],
        };
        let (title, body) = (sent["title"].as_str().unwrap(), body.as_str().unwrap());
        assert_eq!(title.chars().count(), 255, "{}", forge.kind);
        assert!(!title.contains('\n'));
        assert_eq!(body.chars().count(), 65_536, "{}", forge.kind);
        assert!(body.ends_with("characters._\n") && body.matches("```").count() == 2);
    }
}
