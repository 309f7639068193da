//! Pushes a branch to a remote: never by force, never with a prompt, and with distinct errors.
//!
//! The user's own credentials are tried first (their helpers, their SSH agent). If those fail, the
//! caller's token is tried alone, because their helpers would store it for good. It goes to git
//! through the environment and to no other host. Hooks of the user's checkout do not run; those of
//! the remote do, and their output is returned.

use std::time::Duration;

use exec::CommandOutcome;

use crate::address::without_credentials;
use crate::call::{GitCall, TimeLimit};
use crate::{
    BranchName, CommitId, Error, ForgeToken, GitProgram, GitRemote, Repository, VcsErrorKind,
};

/// Time limit of a push that sets no other.
pub(crate) const PUSH_TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);
/// The most characters of the remote's messages that are returned.
pub(crate) const REMOTE_WORDS_CHARS_MAX: usize = 2000;

/// The variable in which git's helper finds the token; no other program reads it.
const TOKEN_VARIABLE: &str = "DRAWLOOM_PUSH_TOKEN";
/// Answers only a request for credentials, and only for the host it is set for.
const TOKEN_HELPER: &str = "!f() { test \"$1\" = get && echo username=x-access-token && \
                            echo \"password=$DRAWLOOM_PUSH_TOKEN\"; }; f";

/// The branch to push, its remote, and the limits.
#[derive(Debug, Clone)]
pub struct PushRequest {
    /// The remote, such as `origin`.
    pub remote: String,
    /// The branch, which has the same name there.
    pub branch: BranchName,
    /// For remotes over HTTPS, if the user's own credentials are not enough.
    pub token: Option<ForgeToken>,
    /// The time limit.
    pub timeout: Duration,
}

/// A push that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushOutcome {
    /// The commit that the remote's branch is at.
    pub commit: CommitId,
    /// True if the remote already had it.
    pub was_there: bool,
    /// The remote's messages, such as the address for opening a pull request.
    pub remote_words: String,
}

impl PushRequest {
    /// Makes a push to `origin` with the user's own credentials.
    #[must_use]
    pub fn new(branch: BranchName) -> Self {
        Self {
            remote: "origin".to_owned(),
            branch,
            token: None,
            timeout: PUSH_TIMEOUT_DEFAULT,
        }
    }
}

impl Repository {
    /// Pushes a branch. A remote that already has it is fine; one whose branch has moved on is
    /// [`VcsErrorKind::NotFastForward`], and is left unchanged.
    pub fn push(&self, push: &PushRequest) -> Result<PushOutcome, Error> {
        let remote = self.remote(&push.remote)?.ok_or_else(|| no_remote(push))?;
        let commit = self.branch_commit(&push.branch)?.ok_or_else(|| {
            let message = format!(
                "there is no branch `{}` to push; make it first",
                push.branch
            );
            Error::new(VcsErrorKind::UnknownRevision, message)
        })?;
        let plain = attempt(push, &remote, &self.git, &opening(push));
        let report = match (plain, &push.token, remote.https_origin()) {
            (Err(error), Some(token), Some(origin))
                if error.kind() == VcsErrorKind::Unauthorized && !token.is_empty() =>
            {
                let git = self.git.clone().variable(TOKEN_VARIABLE, token.expose());
                let call = opening(push)
                    .setting("credential.helper=")
                    .setting(format!("credential.{origin}.helper="))
                    .setting(format!("credential.{origin}.helper={TOKEN_HELPER}"));
                attempt(push, &remote, &git, &call)?
            }
            (plain, _, _) => plain?,
        };
        Ok(PushOutcome {
            commit,
            was_there: report.was_there(),
            remote_words: report.words,
        })
    }
}

fn attempt(
    push: &PushRequest,
    remote: &GitRemote,
    git: &GitProgram,
    call: &GitCall,
) -> Result<PushReport, Error> {
    let outcome = git.ask(call)?;
    let report = PushReport::of(&outcome, push.token.as_ref());
    match outcome.is_success() {
        true => Ok(report),
        false => Err(report.error(push, remote)),
    }
}

/// The call without this program's token.
fn opening(push: &PushRequest) -> GitCall {
    let reference = push.branch.reference();
    GitCall::new(["push", "--porcelain", "--no-verify", "--no-follow-tags"])
        .args([
            "--no-signed",
            "--recurse-submodules=no",
            "--no-force-with-lease",
        ])
        .args(["--", &push.remote])
        .arg(format!("{reference}:{reference}"))
        // A mirror would be pushed by force, and with every branch.
        .setting(format!("remote.{}.mirror=false", push.remote))
        // A stalled connection is dropped before the time limit.
        .setting("http.lowSpeedLimit=1")
        .setting("http.lowSpeedTime=60")
        .limit(TimeLimit::new("the push's timeout", push.timeout))
}

/// The output of git and the remote.
struct PushReport {
    /// The line on the branch.
    verdict: String,
    /// All of git's own output.
    said: String,
    /// The remote's messages, without git's prefixes.
    words: String,
}

impl PushReport {
    fn of(outcome: &CommandOutcome, token: Option<&ForgeToken>) -> Self {
        let clean = |text: &str| {
            let text = without_credentials(text);
            token.map_or(text.clone(), |token| token.scrub(&text))
        };
        let stderr = clean(&outcome.stderr_text());
        let stdout = clean(&outcome.stdout_text());
        let verdict = |line: &&str| line.contains('\t');
        let words: Vec<&str> = stderr
            .lines()
            .filter_map(|line| line.strip_prefix("remote:"))
            .map(str::trim)
            .collect();
        let words = words.join("\n");
        Self {
            verdict: stdout.lines().find(verdict).unwrap_or_default().to_owned(),
            words: words.trim().chars().take(REMOTE_WORDS_CHARS_MAX).collect(),
            said: stderr,
        }
    }

    fn was_there(&self) -> bool {
        self.verdict.starts_with('=')
    }

    fn error(&self, push: &PushRequest, remote: &GitRemote) -> Error {
        let to = format!("pushing `{}` to {}", push.branch, remote.shown());
        let (kind, cause) = self.cause();
        let words = match self.words.as_str() {
            "" => String::new(),
            words => format!(" The remote said: {words}"),
        };
        Error::new(kind, format!("{to} failed: {cause}.{words}"))
    }

    fn cause(&self) -> (VcsErrorKind, String) {
        let verdict = self.verdict.to_ascii_lowercase();
        if verdict.contains("[remote rejected]") {
            let why = self.verdict.rsplit('\t').next().unwrap_or_default();
            let advice = "do what the remote asks for, or ask its owner";
            return (
                VcsErrorKind::Refused,
                format!("the remote refuses it, {why}; {advice}"),
            );
        }
        if verdict.contains("[rejected]") {
            let cause = "the remote's branch has commits that this one has not; push under \
                         another name, or look at what is there";
            return (VcsErrorKind::NotFastForward, cause.to_owned());
        }
        let complaint = crate::git_errors::complaint(&self.said);
        let said = self.said.to_ascii_lowercase();
        for (kind, signs, cause) in CAUSES {
            if signs.iter().any(|sign| said.contains(sign)) {
                return (*kind, format!("{cause} ({complaint})"));
            }
        }
        (VcsErrorKind::Failed, complaint)
    }
}

type PushFailureCause = (VcsErrorKind, &'static [&'static str], &'static str);

/// Messages of git and SSH in lower case, the more certain ones first.
const CAUSES: &[PushFailureCause] = &[
    (
        VcsErrorKind::Unauthorized,
        &["host key verification failed"],
        "SSH does not know the host's key; run `ssh -T` to the host once and look at the key",
    ),
    (
        VcsErrorKind::Unauthorized,
        &[
            "authentication failed",
            "could not read username",
            "could not read password",
            "terminal prompts disabled",
            "permission denied",
            "invalid credentials",
            "returned error: 401",
            "returned error: 403",
            "access denied",
            "write access to repository not granted",
        ],
        "the remote does not accept the credentials, or none were given; check the token and its \
         rights, or log in with your git (`git push` by hand shows what it needs)",
    ),
    (
        VcsErrorKind::NotFound,
        &[
            "repository not found",
            "returned error: 404",
            "does not appear to be a git repository",
            "' not found",
            "no such file or directory",
        ],
        "there is no such repository, or the credentials may not see it; check the address",
    ),
    (
        VcsErrorKind::Unreachable,
        &[
            "could not resolve",
            "couldn't connect",
            "failed to connect",
            "connection refused",
            "connection timed out",
            "connection reset",
            "connection closed",
            "network is unreachable",
            "no route to host",
            "operation too slow",
            "operation timed out",
            "rpc failed",
            "early eof",
            "hung up",
            "ssl",
            "certificate",
            "unable to access",
            "could not read from remote",
        ],
        "the remote cannot be reached, or broke off; check the network and the address, and try \
         again",
    ),
];

fn no_remote(push: &PushRequest) -> Error {
    let name = &push.remote;
    let message = format!(
        "there is no remote `{name}` to push to; add one with `git remote add {name} ADDRESS`, or \
         keep the branch here"
    );
    Error::new(VcsErrorKind::NoRemote, message)
}
