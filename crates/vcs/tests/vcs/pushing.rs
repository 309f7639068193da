//! Pushing over real HTTP: what succeeds, and every way in which it does not.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use vcs::{
    BranchName, BranchPurpose, CommitId, Error, ForgeToken, GitProgram, PathSelection, PushOutcome,
    PushRequest, Repository, VcsErrorKind,
};

use crate::fixture::{TestRepository, contents, git, make_executable, new_commit, write};
use crate::peer::GitServer;

const TOKEN: &str = "ghp_the-tests-own-token";

/// A project with an origin that is served, and a branch to push.
struct Served {
    stage: TestRepository,
    origin: PathBuf,
    server: GitServer,
    branch: BranchName,
    commit: CommitId,
}

impl Served {
    fn start(credentials: Option<&str>) -> Served {
        let stage = TestRepository::clean();
        let origin = stage.with_origin();
        git(&origin, &["config", "http.receivepack", "true"]);
        let server = GitServer::start(stage.dir.path(), credentials);
        let (branch, commit) = committed(&stage, "j1", "pushed\n");
        let served = Served {
            stage,
            origin,
            server,
            branch,
            commit,
        };
        served.set_address("", "");
        served
    }

    /// `http://WHO127.0.0.1:PORT/FOLDERorigin.git`.
    fn set_address(&self, who: &str, folder: &str) {
        let port = self.server.port;
        let address = format!("http://{who}127.0.0.1:{port}/{folder}origin.git");
        let project = self.stage.project();
        git(&project, &["remote", "set-url", "origin", &address]);
    }

    fn push(&self, change: impl FnOnce(&mut PushRequest)) -> Result<PushOutcome, Error> {
        let mut push = PushRequest::new(self.branch.clone());
        change(&mut push);
        self.stage.repository().push(&push)
    }

    fn at_origin(&self) -> String {
        git(
            &self.origin,
            &[
                "for-each-ref",
                "--format=%(objectname)",
                &format!("refs/heads/{}", self.branch),
            ],
        )
    }
}

fn committed(stage: &TestRepository, job: &str, text: &str) -> (BranchName, CommitId) {
    let worktree = stage.worktree(job);
    write(&worktree.path().join("new.txt"), text);
    let commit = worktree
        .commit(&new_commit("new", PathSelection::All))
        .unwrap();
    let branch = BranchName::of_job(BranchPurpose::Finished, job, "new");
    let branch = stage.repository().make_branch(&branch, &commit).unwrap();
    (branch, commit)
}

#[track_caller]
fn check_error(result: Result<PushOutcome, Error>, kind: VcsErrorKind, parts: &[&str]) {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    assert!(!text.contains("secret") && !text.contains(TOKEN), "{text}");
}

#[test]
fn a_branch_arrives_and_nothing_else_changes() {
    let served = Served::start(None);
    let project = served.stage.project();
    // Hooks of the user's checkout do not run.
    let hook = project.join(".git/hooks/pre-push");
    write(&hook, "#!/bin/sh\necho no; exit 1\n");
    make_executable(&hook);
    git(
        &project,
        &["tag", "-a", "v1", "-m", "x", served.commit.as_str()],
    );
    for (key, value) in [
        ("push.followTags", "true"),
        ("remote.origin.mirror", "true"),
        ("remote.origin.push", "+refs/*:refs/*"),
        ("push.default", "matching"),
    ] {
        git(&project, &["config", key, value]);
    }
    let before = fs::read(project.join(".git/config")).unwrap();
    let pushed = served.push(|_| {}).unwrap();
    assert_eq!(pushed.commit, served.commit);
    assert!(!pushed.was_there);
    assert_eq!(served.at_origin(), served.commit.as_str());
    assert_eq!(git(&served.origin, &["tag"]), "");
    let branches = git(&served.origin, &["branch", "--format=%(refname:short)"]);
    assert_eq!(branches, "builder/j1-new\nmain");
    assert_eq!(fs::read(project.join(".git/config")).unwrap(), before);
    assert!(
        served.push(|_| {}).unwrap().was_there,
        "pushing twice is fine"
    );
}

#[test]
fn a_hook_of_the_remote_refuses_and_its_words_are_passed_on() {
    let served = Served::start(None);
    let hook = served.origin.join("hooks/pre-receive");
    write(
        &hook,
        "#!/bin/sh\necho 'Ticket number is missing.' >&2\nexit 1\n",
    );
    make_executable(&hook);
    check_error(
        served.push(|_| {}),
        VcsErrorKind::Refused,
        &[
            "builder/j1-new",
            "pre-receive hook declined",
            "Ticket number is missing.",
        ],
    );
    assert_eq!(served.at_origin(), "");
    // The branch is still here.
    let here = served.stage.repository().branch_commit(&served.branch);
    assert_eq!(here.unwrap(), Some(served.commit.clone()));
    // A hook may say a lot.
    write(
        &hook,
        "#!/bin/sh\nyes 'no no no' | head -c 3000000 >&2\nexit 1\n",
    );
    let error = served.push(|_| {}).unwrap_err();
    assert!(error.to_string().len() < 4000);
    // A hook that only talks.
    write(&hook, "#!/bin/sh\necho 'Open a pull request.' >&2\n");
    let pushed = served.push(|_| {}).unwrap();
    assert_eq!(pushed.remote_words, "Open a pull request.");
}

#[test]
fn a_push_never_overwrites_the_remotes_commits() {
    let served = Served::start(None);
    let (_, other) = committed(&served.stage, "j2", "somebody else's\n");
    let refspec = format!("{other}:refs/heads/{}", served.branch);
    let origin = served.origin.to_str().unwrap();
    git(
        &served.stage.project(),
        &["push", "--quiet", origin, &refspec],
    );
    for force in ["false", "true"] {
        let project = served.stage.project();
        git(
            &project,
            &["config", "remote.origin.push", "+refs/heads/*:refs/heads/*"],
        );
        git(&project, &["config", "push.useForceIfIncludes", force]);
        check_error(
            served.push(|_| {}),
            VcsErrorKind::NotFastForward,
            &["another name"],
        );
        assert_eq!(served.at_origin(), other.as_str());
    }
    // Also when the remote forbids it by itself.
    git(
        &served.origin,
        &["config", "receive.denyNonFastForwards", "true"],
    );
    assert!(served.push(|_| {}).is_err());
}

#[test]
fn credentials_are_the_users_or_the_token_and_are_not_shown() {
    let served = Served::start(Some(&format!("x-access-token:{TOKEN}")));
    let wrong = &["credentials"];
    check_error(served.push(|_| {}), VcsErrorKind::Unauthorized, wrong);
    served.set_address("me:secret@", "");
    check_error(
        served.push(|_| {}),
        VcsErrorKind::Unauthorized,
        &["***@127.0.0.1"],
    );
    served.set_address("", "");
    let bad = |push: &mut PushRequest| push.token = Some(ForgeToken::new("wrong-secret-token"));
    check_error(served.push(bad), VcsErrorKind::Unauthorized, wrong);
    let kept = served.stage.dir.path().join("kept-credentials");
    let helper = format!("store --file='{}'", kept.display());
    let project = served.stage.project();
    git(&project, &["config", "credential.helper", &helper]);
    let good = |push: &mut PushRequest| push.token = Some(ForgeToken::new(TOKEN));
    served.push(good).unwrap();
    assert_eq!(served.at_origin(), served.commit.as_str());
    // The user's helpers do not get to keep it.
    assert!(!kept.exists());
    // The user's helper is used if its answer is right.
    write(
        &kept,
        format!(
            "http://x-access-token:{TOKEN}@127.0.0.1:{}\n",
            served.server.port
        ),
    );
    assert!(served.push(|_| {}).unwrap().was_there);
    // No trace of it in the repository.
    let leaked = contents(&served.stage.project().join(".git"));
    let leaked = leaked.values().any(|(_, bytes)| {
        bytes
            .windows(TOKEN.len())
            .any(|window| window == TOKEN.as_bytes())
    });
    assert!(!leaked);
}

#[test]
fn a_token_does_not_follow_to_another_host() {
    let served = Served::start(None);
    served.set_address("", "away/");
    let result = served.push(|push| push.token = Some(ForgeToken::new(TOKEN)));
    let error = result.unwrap_err();
    assert!(!error.to_string().contains(TOKEN), "{error}");
    assert_ne!(error.kind(), VcsErrorKind::Failed, "{error}");
}

#[test]
fn missing_remotes_have_distinct_errors() {
    let served = Served::start(None);
    let project = served.stage.project();
    let missing = |push: &mut PushRequest| push.remote = "upstream".to_owned();
    check_error(
        served.push(missing),
        VcsErrorKind::NoRemote,
        &["git remote add upstream"],
    );
    let none = |push: &mut PushRequest| push.branch = BranchName::parse("none").unwrap();
    check_error(
        served.push(none),
        VcsErrorKind::UnknownRevision,
        &["`none`"],
    );
    for (address, kind) in [
        ("http://127.0.0.1:9/o/r.git", VcsErrorKind::Unreachable),
        (
            "http://no-such-host.invalid/o/r.git",
            VcsErrorKind::Unreachable,
        ),
        ("/no/such/place.git", VcsErrorKind::NotFound),
        (
            &format!("http://127.0.0.1:{}/nope.git", served.server.port),
            VcsErrorKind::NotFound,
        ),
    ] {
        git(&project, &["remote", "set-url", "origin", address]);
        check_error(served.push(|_| {}), kind, &[address]);
    }
    served.set_address("", "cut/");
    check_error(
        served.push(|_| {}),
        VcsErrorKind::Unreachable,
        &["try again"],
    );
    assert_eq!(served.at_origin(), "");
}

#[test]
fn a_remote_that_hangs_is_left_in_time() {
    let served = Served::start(None);
    served.set_address("", "hang/");
    let began = Instant::now();
    let short = |push: &mut PushRequest| push.timeout = Duration::from_millis(500);
    check_error(served.push(short), VcsErrorKind::TimedOut, &["0.5 s"]);
    let cancel = exec::CommandCancel::default();
    let later = cancel.clone();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        later.cancel();
    });
    let git = GitProgram::at(served.stage.project()).cancel(cancel);
    let repository = Repository::open(&git).unwrap();
    let result = repository.push(&PushRequest::new(served.branch.clone()));
    check_error(result, VcsErrorKind::Cancelled, &[]);
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
}
