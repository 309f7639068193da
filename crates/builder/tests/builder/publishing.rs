//! Publishing: pushed to a remote, refused by one, or kept local; and published again.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use builder::{FailureCode, JobStatus, Options, PublishMode, decide};
use vcs::{ForgeLimits, ForgeProject, ForgeToken, GitHub, MANUAL_FIX_LABEL};

use crate::peer::{Emulator, TOKEN};
use crate::scripted::{ServerAct, says};
use crate::test_builder::{TestBuilder, git, planned, writes};

fn script() -> Vec<ServerAct> {
    vec![
        planned("new-resource", &[("a.txt", "create")]),
        writes("a.txt", "a"),
        says("Done."),
    ]
}

/// A shop with a bare repository as its origin.
fn shop(script: Vec<ServerAct>) -> TestBuilder {
    let shop = TestBuilder::new(&[("list.txt", "one\n")], script);
    let origin = shop.beside("origin.git");
    std::fs::create_dir(&origin).unwrap();
    git(&origin, &["init", "--quiet", "--bare", "-b", "main"]);
    shop.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    shop
}

fn refuse(shop: &TestBuilder, words: &str) {
    let hook = shop.beside("origin.git/hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\necho '{words}'\nexit 1\n")).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn without_a_forge_the_branch_is_pushed_with_a_note() {
    let mut shop = shop(script());
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
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
            .any(|note| note.contains("no forge is configured"))
    );
}

#[tokio::test]
async fn local_work_is_not_pushed() {
    let mut shop = shop(script());
    let options = Options {
        publish: PublishMode::Local,
        ..Options::default()
    };
    let job = shop.run(options).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert!(!job.result.pushed);
    assert_eq!(git(&shop.beside("origin.git"), &["for-each-ref"]), "");
    let job = decide::publish(&shop.bench(), &job.id).await.unwrap();
    let job = shop.go_on(&job.id).await;
    assert_eq!(
        (job.status(), job.result.pushed),
        (JobStatus::Completed, true)
    );
}

#[tokio::test]
async fn a_push_that_is_refused_loses_nothing_and_can_be_tried_again() {
    let mut shop = shop(script());
    refuse(&shop, "Not on a Monday.");
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Failed);
    let error = job.error.clone().unwrap();
    assert_eq!(
        (error.code, error.step),
        (FailureCode::Push, JobStatus::Publishing)
    );
    assert!(
        error.message.contains("Not on a Monday."),
        "{}",
        error.message
    );
    let branch = job.result.branch.clone().unwrap();
    assert_eq!(shop.branches(), std::slice::from_ref(&branch));
    assert!(Path::new(&job.result.patch_file.clone().unwrap()).exists());
    assert_eq!(shop.worktrees(), 0);

    std::fs::remove_file(shop.beside("origin.git/hooks/pre-receive")).unwrap();
    decide::publish(&shop.bench(), &job.id).await.unwrap();
    let job = shop.go_on(&job.id).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert_eq!((job.error, job.result.pushed), (None, true));
    assert_eq!(shop.branches(), [branch]);
}

#[tokio::test]
async fn a_job_without_work_cannot_be_published() {
    let mut shop = shop(vec![planned("new-resource", &[("a.txt", "create")])]);
    let job = shop.plan(Options::default()).await;
    let error = decide::publish(&shop.bench(), &job.id).await.unwrap_err();
    assert_eq!(error.kind(), builder::BuildErrorKind::Conflict);
    let error = decide::retry(&shop.bench(), &job.id).await.unwrap_err();
    assert_eq!(error.kind(), builder::BuildErrorKind::Conflict);
}

/// A shop whose pull requests go to an emulated GitHub.
fn forged(script: Vec<ServerAct>, emulator: &Emulator, name: &str) -> TestBuilder {
    let mut shop = shop(script);
    let project = ForgeProject::new("github.com", name).unwrap();
    let limits = ForgeLimits::default();
    let github = GitHub::new(&emulator.url, &project, ForgeToken::new(TOKEN), limits).unwrap();
    shop.outlet.forge = Some(Box::new(github));
    shop
}

#[tokio::test]
async fn an_approved_plan_becomes_a_pull_request() {
    let emulator = Emulator::start();
    let mut shop = forged(script(), &emulator, "octo/hello").checking("true");
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    let number = job.result.pr_number.unwrap();
    let pull = emulator.ask(&format!("pulls/{number}"));
    assert_eq!(pull["html_url"].as_str(), job.result.pr_url.as_deref());
    assert_eq!(pull["title"], "feat: add a greeting to the project");
    assert_eq!(pull["head"]["ref"].as_str(), job.result.branch.as_deref());
    assert_eq!(pull["base"]["ref"], "main");
    assert_eq!(pull["draft"], false);
    let body = pull["body"].as_str().unwrap();
    for words in [
        "> add a greeting to the project",
        "- `a.txt` created (+1 -0)",
        "- [x] test (`true`)",
        job.id.as_str(),
    ] {
        assert!(body.contains(words), "{words} is not in {body}");
    }

    // Publishing twice is publishing once.
    decide::publish(&shop.bench(), &job.id).await.unwrap();
    let again = shop.go_on(&job.id).await;
    assert_eq!(again.result.pr_number, Some(number));
    assert_eq!(emulator.ask("pulls?state=all").as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_draft_lists_passing_checks_failing_checks_and_remaining_failures() {
    let emulator = Emulator::start();
    let script = vec![
        planned("new-resource", &[("a.txt", "create")]),
        writes("a.txt", "bad"),
        says("Done."),
        writes("a.txt", "bad still"),
        says("Ask whoever wrote the check."),
    ];
    let check = r#"grep -n bad a.txt && { echo "a.txt:1:1: it is bad"; exit 1; }; true"#;
    let mut shop =
        forged(script, &emulator, "octo/hello").with_checks(&[("lint", "true"), ("test", check)]);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::CompletedDraft, "{:?}", job.error);
    let pull = emulator.ask(&format!("pulls/{}", job.result.pr_number.unwrap()));
    assert_eq!(pull["draft"], true);
    assert_eq!(pull["labels"][0]["name"], MANUAL_FIX_LABEL);
    let head = pull["head"]["ref"].as_str().unwrap();
    assert!(head.starts_with("draft/"), "{head}");
    let body = pull["body"].as_str().unwrap();
    for words in [
        "**This is a draft.**",
        "- [x] lint (`true`)",
        "- [ ] test",
        "- test: a.txt:1:1: it is bad",
        "> Ask whoever wrote the check.",
        "Output of test",
    ] {
        assert!(body.contains(words), "{words} is not in {body}");
    }
}

#[tokio::test]
async fn a_forge_that_refuses_keeps_branch_and_patch() {
    let emulator = Emulator::start();
    let mut shop = forged(script(), &emulator, "octo/nope");
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Failed);
    let error = job.error.clone().unwrap();
    assert_eq!(
        (error.code, error.step),
        (FailureCode::Forge, JobStatus::Publishing)
    );
    assert!(
        error.message.contains("builds publish"),
        "{}",
        error.message
    );
    assert!(job.result.pushed);
    assert!(Path::new(&job.result.patch_file.unwrap()).exists());
}

/// A forge that knows one branch and refuses pull requests to others, as GitHub does.
fn strict_forge() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = vec![0; 65_536];
            let mut length = stream.read(&mut bytes).unwrap();
            let head = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            while head(&bytes[..length]).starts_with("POST") && !bytes[..length].ends_with(b"}") {
                length += stream.read(&mut bytes[length..]).unwrap();
            }
            let request = head(&bytes[..length]);
            let (status, body) = match request.split(' ').next() {
                Some("POST") if request.contains(r#""base":"main""#) => (
                    201,
                    r#"{"number": 7, "html_url": "https://forge/7", "draft": false}"#,
                ),
                Some("POST") => (422, r#"{"message": "Validation Failed: base is invalid"}"#),
                _ if request.contains("/pulls") => (200, "[]"),
                _ => (200, r#"{"default_branch": "main"}"#),
            };
            let head = format!(
                "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body.as_bytes()).unwrap();
        }
    });
    url
}

#[tokio::test]
async fn a_branch_the_forge_does_not_know_is_no_base() {
    let mut shop = shop(script());
    let project = ForgeProject::new("github.com", "octo/hello").unwrap();
    let limits = ForgeLimits::default();
    let github = GitHub::new(&strict_forge(), &project, ForgeToken::new(TOKEN), limits);
    shop.outlet.forge = Some(Box::new(github.unwrap()));
    shop.git(&["switch", "--quiet", "-c", "never-pushed"]);
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Completed, "{:?}", job.error);
    assert_eq!(job.base.unwrap().branch.as_deref(), Some("never-pushed"));
    assert_eq!(job.result.pr_number, Some(7));
    let notes = job.result.notes.join("\n");
    assert!(
        notes.contains("one to `never-pushed` was refused"),
        "{notes}"
    );
}
