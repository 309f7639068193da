//! A directory seen through git, and the few operations kits need.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use exec::{Cancel, Env, Invocation, Outcome, Status};

use crate::address::{check_address, check_revision, redacted};
use crate::{Commit, Error, ErrorKind};

/// How long fetching a repository may take.
pub const FETCH_TIMEOUT_MAX: Duration = Duration::from_secs(300);
/// How long an operation without network may take.
pub const LOCAL_TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// Variables that would point git at another repository than the one in its
/// directory; they are set when we are started from a hook.
const REDIRECTIONS: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Settings that hold for every call: no command as a transport, no hooks.
const SETTINGS: &[&str] = &[
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "core.hooksPath=/dev/null",
    "init.defaultBranch=main",
    "advice.detachedHead=false",
];

/// Fetches `address` at `revision` (a branch, tag or commit; else what the
/// repository has as its default) into the directory `dest`, which is made,
/// and checks it out there. The commit is what a lock file pins.
pub fn fetch_at(address: &str, revision: Option<&str>, dest: &Path) -> Result<Commit, Error> {
    Git::at(dest).fetch_at(address, revision)
}

/// Git in one directory.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    program: OsString,
    cancel: Cancel,
}

impl Git {
    /// Git in `dir`.
    pub fn at(dir: impl AsRef<Path>) -> Self {
        Self {
            dir: dir.as_ref().to_owned(),
            program: "git".into(),
            cancel: Cancel::default(),
        }
    }

    /// Another program than the `git` in the `PATH`.
    #[must_use]
    pub fn program(mut self, program: impl Into<OsString>) -> Self {
        self.program = program.into();
        self
    }

    /// Stops what is running when this says so.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// The version of the program, such as `2.47.3`.
    pub fn version(&self) -> Result<String, Error> {
        let outcome = self.run_anywhere(&["--version"], LOCAL_TIMEOUT_MAX)?;
        let text = outcome.stdout_text();
        let version = text
            .trim()
            .strip_prefix("git version ")
            .unwrap_or(text.trim());
        Ok(version.to_owned())
    }

    /// Whether the directory is inside a work tree.
    pub fn is_repository(&self) -> Result<bool, Error> {
        if !self.dir.is_dir() {
            return Ok(false);
        }
        let outcome = self.run(&["rev-parse", "--is-inside-work-tree"], LOCAL_TIMEOUT_MAX)?;
        Ok(outcome.is_success() && outcome.stdout_text().trim() == "true")
    }

    /// The commit that is checked out.
    pub fn head_commit(&self) -> Result<Commit, Error> {
        self.commit("HEAD")?.ok_or_else(|| {
            Error::new(
                ErrorKind::NotARepository,
                format!(
                    "`{}` is not a git repository with a commit",
                    self.dir.display()
                ),
            )
        })
    }

    /// Checks out a branch, tag or commit, without a branch of our own.
    pub fn checkout(&self, revision: &str) -> Result<Commit, Error> {
        check_revision(revision)?;
        let remote = format!("refs/remotes/origin/{revision}");
        let found = match self.commit(&remote)? {
            Some(commit) => Some(commit),
            None => self.commit(revision)?,
        };
        let commit = found.ok_or_else(|| unknown(revision, "the repository"))?;
        let args = ["checkout", "--quiet", "--detach", commit.as_str(), "--"];
        self.succeed(&args, LOCAL_TIMEOUT_MAX, ErrorKind::Failed)?;
        Ok(commit)
    }

    /// Clones with the whole history.
    pub fn clone_from(&self, address: &str) -> Result<Commit, Error> {
        check_address(address)?;
        self.init(address)?;
        self.fetch_all(address)?;
        self.fetch_tip(address, "HEAD")?;
        self.checkout_fetched()
    }

    /// As the function [`fetch_at`], here.
    pub fn fetch_at(&self, address: &str, revision: Option<&str>) -> Result<Commit, Error> {
        check_address(address)?;
        if let Some(revision) = revision {
            check_revision(revision)?;
        }
        self.init(address)?;
        let Some(revision) = revision else {
            self.fetch_tip(address, "HEAD")?;
            return self.checkout_fetched();
        };
        match self.fetch_tip(address, revision) {
            Ok(()) => self.checkout_fetched(),
            Err(error) if error.kind() == ErrorKind::Unreachable => {
                // Abbreviated commits, and servers that serve only tips, need it all.
                self.fetch_all(address)?;
                self.checkout(revision).map_err(|error| match error.kind() {
                    ErrorKind::UnknownRevision => unknown(revision, &redacted(address, address)),
                    _ => error,
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes an empty repository with `address` as its origin.
    fn init(&self, address: &str) -> Result<(), Error> {
        if self.dir.join(".git").exists() {
            return Err(Error::new(
                ErrorKind::Occupied,
                format!(
                    "`{}` is a git repository already; name another directory",
                    self.dir.display()
                ),
            ));
        }
        let dir = self.dir.as_os_str().to_owned();
        let init = ["init", "--quiet", "--"].map(OsString::from);
        let invocation = self.invocation(LOCAL_TIMEOUT_MAX).args(init).arg(dir);
        let outcome = self.carry_out(&invocation, LOCAL_TIMEOUT_MAX)?;
        self.expect_success(&outcome, ErrorKind::Failed, "")?;
        let add = ["remote", "add", "--", "origin", address];
        self.succeed(&add, LOCAL_TIMEOUT_MAX, ErrorKind::Failed)
    }

    /// Fetches one branch, tag or commit without its history.
    fn fetch_tip(&self, address: &str, revision: &str) -> Result<(), Error> {
        let args = [
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--",
            "origin",
            revision,
        ];
        self.fetch(&args, address)
    }

    /// Fetches every branch and tag.
    fn fetch_all(&self, address: &str) -> Result<(), Error> {
        let heads = "+refs/heads/*:refs/remotes/origin/*";
        let tags = "+refs/tags/*:refs/tags/*";
        self.fetch(&["fetch", "--quiet", "--", "origin", heads, tags], address)
    }

    fn fetch(&self, args: &[&str], address: &str) -> Result<(), Error> {
        let outcome = self.run(args, FETCH_TIMEOUT_MAX)?;
        self.expect_success(&outcome, ErrorKind::Unreachable, address)
    }

    fn checkout_fetched(&self) -> Result<Commit, Error> {
        let args = ["checkout", "--quiet", "--detach", "FETCH_HEAD", "--"];
        self.succeed(&args, LOCAL_TIMEOUT_MAX, ErrorKind::Failed)?;
        self.head_commit()
    }

    /// The commit a revision names, if there is one.
    fn commit(&self, revision: &str) -> Result<Option<Commit>, Error> {
        let wanted = format!("{revision}^{{commit}}");
        let args = [
            "rev-parse",
            "--quiet",
            "--verify",
            "--end-of-options",
            &wanted,
        ];
        let outcome = self.run(&args, LOCAL_TIMEOUT_MAX)?;
        if !outcome.is_success() {
            return Ok(None);
        }
        Commit::parse(outcome.stdout_text().trim()).map(Some)
    }

    fn succeed(&self, args: &[&str], timeout: Duration, kind: ErrorKind) -> Result<(), Error> {
        let outcome = self.run(args, timeout)?;
        self.expect_success(&outcome, kind, "")
    }

    fn run(&self, args: &[&str], timeout: Duration) -> Result<Outcome, Error> {
        self.carry_out(&self.invocation(timeout).cwd(&self.dir).args(args), timeout)
    }

    fn run_anywhere(&self, args: &[&str], timeout: Duration) -> Result<Outcome, Error> {
        self.carry_out(&self.invocation(timeout).args(args), timeout)
    }

    fn invocation(&self, timeout: Duration) -> Invocation {
        let env = Env::default()
            .remove_all(REDIRECTIONS)
            // Its messages are read for what went wrong.
            .set("LC_ALL", "C")
            .set("GIT_TERMINAL_PROMPT", "0")
            .set("GIT_PAGER", "cat")
            .set("GIT_EDITOR", "false")
            .set("SSH_ASKPASS_REQUIRE", "never");
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        Invocation::new(&self.program)
            .args(settings)
            .env(env)
            .timeout(timeout)
            .cancel(self.cancel.clone())
    }

    fn carry_out(&self, invocation: &Invocation, timeout: Duration) -> Result<Outcome, Error> {
        let outcome = exec::run(invocation).map_err(|error| match error.kind() {
            exec::ErrorKind::ProgramNotFound => Error::new(
                ErrorKind::NoGit,
                "git is not installed, or not in the PATH; install it (https://git-scm.com) and run again",
            ),
            _ => Error::new(ErrorKind::Failed, error.to_string()),
        })?;
        match outcome.status {
            Status::TimedOut => {
                let limit = match timeout {
                    FETCH_TIMEOUT_MAX => "FETCH_TIMEOUT_MAX",
                    _ => "LOCAL_TIMEOUT_MAX",
                };
                let seconds = timeout.as_secs();
                Err(Error::new(
                    ErrorKind::TimedOut,
                    format!(
                        "git did not finish within {limit} ({seconds} s); check the connection and run again"
                    ),
                ))
            }
            Status::Cancelled => Err(Error::new(ErrorKind::Cancelled, "git was cancelled")),
            Status::Exited(_) | Status::Signaled(_) => Ok(outcome),
        }
    }

    fn expect_success(
        &self,
        outcome: &Outcome,
        kind: ErrorKind,
        address: &str,
    ) -> Result<(), Error> {
        if outcome.is_success() {
            return Ok(());
        }
        let said = redacted(&complaint(&outcome.stderr_text()), address);
        let message = match kind {
            ErrorKind::Unreachable => format!(
                "fetching {:?} failed: {said}; check the address, and that `git ls-remote` works with it",
                redacted(address, address)
            ),
            _ => format!("git in `{}` failed: {said}", self.dir.display()),
        };
        Err(Error::new(kind, message))
    }
}

/// The line of git's error output that says what is wrong.
fn complaint(stderr: &str) -> String {
    let lines = || {
        stderr
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let strong = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let line = lines().find(strong).or_else(|| lines().next_back());
    line.unwrap_or("it said nothing").to_owned()
}

fn unknown(revision: &str, place: &str) -> Error {
    Error::new(
        ErrorKind::UnknownRevision,
        format!("there is no branch, tag or commit `{revision}` in {place}; check its spelling"),
    )
}
