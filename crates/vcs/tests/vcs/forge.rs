//! A forge that misbehaves: limits, faults, redirects, floods, silence and odd answers.

use std::thread;
use std::time::{Duration, Instant};

use vcs::{
    BranchName, Error, ForgeLimits, ForgeProject, ForgeToken, GitHub, MANUAL_FIX_LABEL,
    NewPullRequest, PublishOutcome, PullReadiness, VcsErrorKind,
};

use crate::scripted::{Act, Scripted, reply, reply_with};

const TOKEN: &str = "ghp_the-tests-own-token";
const PULL: &str = r#"{"number":7,"html_url":"https://h/o/r/pull/7","draft":false,"state":"open","head":{"ref":"builder/j1-x","label":"octo:builder/j1-x"}}"#;
const DRAFT: &str = r#"{"number":7,"html_url":"https://h/o/r/pull/7","draft":true,"state":"open","head":{"ref":"builder/j1-x","label":"octo:builder/j1-x"}}"#;
const LIST: &str = "GET /repos/octo/hello/pulls";
const OPEN: &str = "POST /repos/octo/hello/pulls";
const UPDATE: &str = "PATCH /repos/octo/hello/pulls/7";
const LABEL: &str = "POST /repos/octo/hello/issues/7/labels";
const MAKE_LABEL: &str = "POST /repos/octo/hello/labels";

const LIMITS: ForgeLimits = ForgeLimits {
    connect_ms_max: 2000,
    call_ms_max: 1500,
    response_bytes_max: 256 * 1024,
    attempts_max: 3,
    wait_ms_max: 2000,
    wait_ms_first: 10,
};

fn github(base: &str) -> GitHub {
    let project = ForgeProject::new("github.com", "octo/hello").unwrap();
    GitHub::new(base, &project, ForgeToken::new(TOKEN), LIMITS).unwrap()
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

fn draft() -> NewPullRequest {
    NewPullRequest {
        readiness: PullReadiness::Draft,
        labels: vec![MANUAL_FIX_LABEL.to_owned()],
        ..pull()
    }
}

fn list(pulls: &str) -> Act {
    reply(200, &format!("[{pulls}]"))
}

async fn publish(
    acts: Vec<Act>,
    new: &NewPullRequest,
) -> (Result<PublishOutcome, Error>, Scripted) {
    let forge = Scripted::start(acts);
    let result = github(&forge.url).publish(new).await;
    for request in forge.received() {
        let bearer = format!("authorization: bearer {}", TOKEN.to_ascii_lowercase());
        assert!(request.headers.contains(&bearer), "{request:?}");
    }
    (result, forge)
}

/// Compares the requests that the forge got with the expected lines.
#[track_caller]
fn check_lines(forge: &Scripted, expected: &[&str]) {
    assert_eq!(forge.lines(), expected);
}

#[track_caller]
fn check_error(result: Result<PublishOutcome, Error>, kind: VcsErrorKind, parts: &[&str]) {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    assert!(!text.contains(TOKEN), "{text}");
    assert!(text.len() < 2000, "{text}");
}

#[tokio::test]
async fn a_pull_request_is_opened_with_the_requested_fields() {
    let acts = vec![list(""), reply(201, PULL)];
    let (published, forge) = publish(acts, &pull()).await;
    let published = published.unwrap();
    assert_eq!((published.pull.number, published.was_there), (7, false));
    assert!(published.notes.is_empty());
    check_lines(&forge, &[LIST, OPEN]);
    let received = forge.received();
    assert!(
        received[0].line.contains("head=octo%3Abuilder%2Fj1-x"),
        "{}",
        received[0].line
    );
    let body = &received[1].body;
    assert_eq!(body["head"], "builder/j1-x");
    assert_eq!(body["base"], "main");
    assert_eq!(body["draft"], false);
    assert!(
        received[1]
            .headers
            .contains("accept: application/vnd.github+json")
    );
}

#[tokio::test]
async fn publishing_again_finds_the_open_pull_request() {
    let (published, forge) = publish(vec![list(PULL), reply(200, PULL)], &pull()).await;
    assert!(published.unwrap().was_there);
    check_lines(&forge, &[LIST, UPDATE]);
    // Servers that do not know the question list others' pull requests.
    let fork = PULL.replace("octo:", "fork:");
    let other = PULL.replace("j1-x", "j2-x");
    let closed = PULL.replace("open", "closed");
    let acts = vec![list(&[fork, other, closed].join(",")), reply(201, PULL)];
    let (published, forge) = publish(acts, &pull()).await;
    assert!(!published.unwrap().was_there);
    check_lines(&forge, &[LIST, OPEN]);
    // Another process was faster.
    let exists = r#"{"message":"Validation Failed","errors":[{"message":"A pull request already exists for octo:builder/j1-x."}]}"#;
    let acts = vec![list(""), reply(422, exists), list(PULL), reply(200, PULL)];
    let (published, forge) = publish(acts, &pull()).await;
    assert!(published.unwrap().was_there);
    check_lines(&forge, &[LIST, OPEN, LIST, UPDATE]);
}

#[tokio::test]
async fn a_draft_is_labelled_and_a_label_is_made() {
    let acts = vec![list(""), reply(201, DRAFT), reply(200, "[]")];
    let (published, forge) = publish(acts, &draft()).await;
    assert!(published.unwrap().pull.draft);
    check_lines(&forge, &[LIST, OPEN, LABEL]);
    assert_eq!(forge.received()[1].body["draft"], true);
    assert_eq!(forge.received()[2].body["labels"][0], MANUAL_FIX_LABEL);
    let missing =
        r#"{"message":"Validation Failed","errors":[{"field":"label","code":"missing"}]}"#;
    let made = [
        reply(201, "{}"),
        reply(
            422,
            r#"{"message":"Validation Failed","errors":[{"code":"already_exists","field":"name"}]}"#,
        ),
    ];
    for made in made {
        let acts = vec![
            list(""),
            reply(201, DRAFT),
            reply(422, missing),
            made,
            reply(200, "[]"),
        ];
        let (published, forge) = publish(acts, &draft()).await;
        assert!(published.unwrap().notes.is_empty());
        check_lines(&forge, &[LIST, OPEN, LABEL, MAKE_LABEL, LABEL]);
    }
    // A label that cannot be set is noted, and is no failure.
    let acts = vec![
        list(""),
        reply(201, DRAFT),
        reply(403, r#"{"message":"Resource not accessible"}"#),
    ];
    let (published, _) = publish(acts, &draft()).await;
    let notes = published.unwrap().notes;
    assert!(
        notes[0].contains("needs-manual-fix") && notes[0].contains("not accessible"),
        "{notes:?}"
    );
}

#[tokio::test]
async fn where_there_are_no_drafts_the_title_says_so() {
    let no_drafts = r#"{"message":"Draft pull requests are not supported in this repository."}"#;
    let acts = vec![
        list(""),
        reply(422, no_drafts),
        reply(201, PULL),
        reply(200, "[]"),
    ];
    let (published, forge) = publish(acts, &draft()).await;
    let published = published.unwrap();
    assert!(!published.pull.draft);
    assert!(published.notes[0].contains("does not allow drafts"));
    check_lines(&forge, &[LIST, OPEN, OPEN, LABEL]);
    let body = &forge.received()[2].body;
    assert_eq!(
        (&body["title"], &body["draft"]),
        (&"[draft] feat: x".into(), &false.into())
    );
    // And again when it is updated.
    let acts = vec![list(PULL), reply(200, PULL), reply(200, "[]")];
    let (_, forge) = publish(acts, &draft()).await;
    assert_eq!(forge.received()[1].body["title"], "[draft] feat: x");
    // A draft that is ready now stays a draft until a person changes it, and a note says so.
    let (published, _) = publish(vec![list(DRAFT), reply(200, DRAFT)], &pull()).await;
    assert!(published.unwrap().notes[0].contains("draft still"));
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    for (status, body, kind, parts) in [
        (
            401,
            r#"{"message":"Bad credentials"}"#,
            VcsErrorKind::Unauthorized,
            &["Bad credentials", "GITHUB_TOKEN"][..],
        ),
        (
            403,
            r#"{"message":"Resource not accessible by personal access token"}"#,
            VcsErrorKind::Unauthorized,
            &["write pull requests"],
        ),
        (
            404,
            r#"{"message":"Not Found"}"#,
            VcsErrorKind::NotFound,
            &["octo/hello"],
        ),
        (
            422,
            r#"{"message":"Validation Failed","errors":[{"field":"head","code":"invalid"},"No commits between main and x"]}"#,
            VcsErrorKind::Refused,
            &["head invalid", "No commits between", "pushed"],
        ),
        (410, "{}", VcsErrorKind::Refused, &["410"]),
        (418, "<html>teapot</html>", VcsErrorKind::Failed, &["418"]),
        (400, "null", VcsErrorKind::Failed, &["400"]),
    ] {
        let (result, forge) = publish(vec![list(""), reply(status, body)], &pull()).await;
        check_error(result, kind, parts);
        check_lines(&forge, &[LIST, OPEN]);
    }
    let words = format!(
        r#"{{"message":"your token is {TOKEN}\n{}"}}"#,
        "x".repeat(5000)
    );
    let (result, _) = publish(vec![reply(401, &words)], &pull()).await;
    check_error(result, VcsErrorKind::Unauthorized, &["[token removed]"]);
}

#[tokio::test]
async fn a_limit_is_waited_for_if_it_is_short() {
    let soon = ("retry-after", "1");
    let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
    for limited in [
        reply_with(429, &[soon], "{}"),
        reply_with(403, &[soon], secondary),
        reply(403, secondary),
        reply_with(
            403,
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1794823201"),
                ("date", "Mon, 16 Nov 2026 10:00:00 GMT"),
            ],
            r#"{"message":"API rate limit exceeded"}"#,
        ),
        reply_with(503, &[soon], "busy"),
    ] {
        let acts = vec![limited.clone(), list(""), limited, reply(201, PULL)];
        let (published, forge) = publish(acts, &pull()).await;
        assert_eq!(published.unwrap().pull.number, 7);
        check_lines(&forge, &[LIST, LIST, OPEN, OPEN]);
    }
    let began = Instant::now();
    for headers in [
        &[("retry-after", "3600")][..],
        &[
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1794826800"),
            ("date", "Mon, 16 Nov 2026 10:00:00 GMT"),
        ],
    ] {
        let (result, forge) = publish(vec![reply_with(429, headers, "{}")], &pull()).await;
        check_error(
            result,
            VcsErrorKind::RateLimited,
            &["3600 s", "wait_ms_max"],
        );
        assert_eq!(forge.lines().len(), 1);
    }
    // It never ends.
    let (result, forge) = publish(vec![reply(429, "{}")], &pull()).await;
    check_error(result, VcsErrorKind::RateLimited, &["later"]);
    assert_eq!(forge.lines().len(), 3);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_fault_is_tried_again_and_nothing_is_opened_twice() {
    for fault in [
        reply(502, "<html>"),
        reply(500, "{}"),
        Act::Break,
        Act::Hang,
    ] {
        // It was opened all the same.
        let acts = vec![fault.clone(), list(""), fault.clone(), list(PULL)];
        let (published, forge) = publish(acts, &pull()).await;
        assert_eq!(published.unwrap().pull.number, 7, "{fault:?}");
        check_lines(&forge, &[LIST, LIST, OPEN, LIST]);
        // It was not.
        let acts = vec![list(""), fault.clone(), list(""), reply(201, PULL)];
        let (published, forge) = publish(acts, &pull()).await;
        assert_eq!(published.unwrap().pull.number, 7, "{fault:?}");
        check_lines(&forge, &[LIST, OPEN, LIST, OPEN]);
    }
    for (fault, kind) in [
        (
            reply(500, r#"{"message":"down"}"#),
            VcsErrorKind::Unreachable,
        ),
        (Act::Break, VcsErrorKind::Unreachable),
        (Act::Hang, VcsErrorKind::TimedOut),
    ] {
        let (result, forge) = publish(vec![fault], &pull()).await;
        check_error(result, kind, &["127.0.0.1"]);
        assert_eq!(forge.lines().len(), 3, "attempts_max");
    }
    let result = github("http://127.0.0.1:9").publish(&pull()).await;
    check_error(result, VcsErrorKind::Unreachable, &["base URL"]);
}

#[tokio::test]
async fn the_token_goes_to_no_other_host() {
    let elsewhere = Scripted::start(vec![list("")]);
    for status in [301, 302, 307, 308] {
        let to = format!("{}/repos/x", elsewhere.url);
        let (result, _) =
            publish(vec![reply_with(status, &[("location", &to)], "")], &pull()).await;
        check_error(result, VcsErrorKind::Refused, &["not taken there"]);
    }
    let (result, _) = publish(
        vec![reply_with(
            302,
            &[("location", "https://u:p@evil.example/")],
            "",
        )],
        &pull(),
    )
    .await;
    check_error(result, VcsErrorKind::Refused, &["***@evil.example"]);
    assert!(elsewhere.received().is_empty());
    // A repository that has moved on the same host is followed, but not in a circle.
    let moved = reply_with(301, &[("location", "/repositories/1/pulls")], "");
    let kept = reply_with(307, &[("location", "/repositories/1/pulls")], "");
    let acts = vec![moved.clone(), list(""), kept, reply(201, PULL)];
    let (published, forge) = publish(acts, &pull()).await;
    assert!(published.is_ok());
    let there = ["GET /repositories/1/pulls", "POST /repositories/1/pulls"];
    check_lines(&forge, &[LIST, there[0], OPEN, there[1]]);
    assert_eq!(forge.received()[3].body["head"], "builder/j1-x");
    let (result, forge) = publish(vec![moved.clone()], &pull()).await;
    check_error(result, VcsErrorKind::Refused, &["sends us on"]);
    assert_eq!(forge.lines().len(), 4);
    // A redirect that would turn the request into a GET is not followed.
    let (result, _) = publish(vec![list(""), moved], &pull()).await;
    check_error(result, VcsErrorKind::Refused, &["remote's address"]);
}

#[tokio::test]
async fn answers_that_are_no_answers_are_refused() {
    for body in ["", "<html>", "{", "[]]"] {
        let (result, _) = publish(vec![reply(200, body)], &pull()).await;
        check_error(result, VcsErrorKind::BadAnswer, &["base URL"]);
    }
    for body in ["{}", "null", "7", r#"[{"head":{"ref":"builder/j1-x"}}]"#] {
        let (result, _) = publish(vec![reply(200, body)], &pull()).await;
        check_error(result, VcsErrorKind::BadAnswer, &["cannot be understood"]);
    }
    let began = Instant::now();
    let (result, _) = publish(vec![Act::Flood(64 * 1024 * 1024)], &pull()).await;
    check_error(result, VcsErrorKind::TooLarge, &["response_bytes_max"]);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn cancelling_ends_a_request_and_a_wait() {
    for act in [Act::Hang, reply_with(429, &[("retry-after", "2")], "{}")] {
        let forge = Scripted::start(vec![act]);
        let cancel = exec::CommandCancel::default();
        let github = github(&forge.url).cancel(cancel.clone());
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            cancel.cancel();
        });
        let began = Instant::now();
        check_error(github.publish(&pull()).await, VcsErrorKind::Cancelled, &[]);
        assert!(began.elapsed() < Duration::from_secs(1));
    }
}

#[test]
fn bases_and_tokens_that_are_unsafe_are_refused() {
    let check = |base: &str, token: &str, kind: VcsErrorKind| {
        let project = ForgeProject::new("github.com", "octo/hello").unwrap();
        let made = GitHub::new(base, &project, ForgeToken::new(token), LIMITS);
        let error = made.err().unwrap_or_else(|| panic!("{base} was accepted"));
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    };
    for base in [
        "",
        "api.github.com",
        "http://api.github.com",
        "ftp://host",
        "https://me:secret@host/api/v3",
        "https://host/?x",
        "mailto:x@y",
    ] {
        check(base, TOKEN, VcsErrorKind::BadAddress);
    }
    for token in ["", "  ", "sec\nret-secret", "secret-\u{7f}"] {
        check("https://api.github.com", token, VcsErrorKind::Unauthorized);
    }
    let project = ForgeProject::new("github.com", "octo/hello").unwrap();
    for base in [
        "https://api.github.com",
        "https://host:8443/api/v3/",
        "http://[::1]:1/x",
    ] {
        assert!(
            GitHub::new(base, &project, ForgeToken::new(TOKEN), LIMITS).is_ok(),
            "{base}"
        );
    }
}
