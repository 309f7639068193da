//! A directory seen through git, and the few operations kits need.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use exec::{ChildEnvironment, CommandCancel, CommandOutcome, CommandStatus, Invocation};

use crate::address::{check_address, check_revision, redacted};
use crate::call::{GitCall, TimeLimit};
use crate::git_errors::{blame, complaint};
use crate::{CommitId, Error, VcsErrorKind};

/// Time limit for fetching a repository.
pub(crate) const FETCH_TIMEOUT_MAX: Duration = Duration::from_secs(300);
/// Time limit for an operation without network.
pub const LOCAL_TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// Variables that would point git at another repository than the one in its directory; they are set
/// if this program is started from a hook.
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

/// Variables that make git print traces, which contain secrets.
const TRACES: &[&str] = &[
    "GIT_TRACE",
    "GIT_TRACE_CURL",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_SETUP",
    "GIT_TRACE2",
    "GIT_CURL_VERBOSE",
];

/// Settings for every call: no command as a transport, no hooks, no file watcher that a repository
/// could name, and no housekeeping in the user's repository.
const SETTINGS: &[&str] = &[
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    // Files that a sparse checkout leaves out would look deleted in a worktree.
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "init.defaultBranch=main",
    "advice.detachedHead=false",
];

const FETCH: TimeLimit = TimeLimit::new("FETCH_TIMEOUT_MAX", FETCH_TIMEOUT_MAX);

/// Fetches `address` at `revision` (a branch, tag or commit; otherwise the repository's default
/// branch) into the new directory `dest`, and checks it out there. Returns the commit, which a lock
/// file pins.
pub fn fetch_at(address: &str, revision: Option<&str>, dest: &Path) -> Result<CommitId, Error> {
    GitProgram::at(dest).fetch_at(address, revision)
}

/// Git in one directory.
#[derive(Debug, Clone)]
pub struct GitProgram {
    dir: PathBuf,
    program: OsString,
    cancel: CommandCancel,
    variables: Vec<(&'static str, OsString)>,
}

impl GitProgram {
    /// Git in `dir`.
    pub fn at(dir: impl AsRef<Path>) -> Self {
        Self {
            dir: dir.as_ref().to_owned(),
            program: "git".into(),
            cancel: CommandCancel::default(),
            variables: Vec::new(),
        }
    }

    /// Another program than the `git` in the `PATH`.
    #[must_use]
    pub fn program(mut self, program: impl Into<OsString>) -> Self {
        self.program = program.into();
        self
    }

    /// Sets the switch that stops running calls.
    #[must_use]
    pub fn cancel(mut self, cancel: CommandCancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// The same git in another directory.
    pub(crate) fn moved_to(&self, dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            ..self.clone()
        }
    }

    /// Sets a variable that git reads, such as the index to use.
    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The version of the program, such as `2.47.3`.
    pub fn version(&self) -> Result<String, Error> {
        let outcome = self.carry_out(
            self.invocation(TimeLimit::LOCAL).arg("--version"),
            TimeLimit::LOCAL,
        )?;
        let text = outcome.stdout_text();
        let version = text
            .trim()
            .strip_prefix("git version ")
            .unwrap_or(text.trim());
        Ok(version.to_owned())
    }

    /// Returns true if the directory is inside a work tree.
    pub fn is_repository(&self) -> Result<bool, Error> {
        if !self.dir.is_dir() {
            return Ok(false);
        }
        let outcome = self.ask(&GitCall::new(["rev-parse", "--is-inside-work-tree"]))?;
        Ok(outcome.is_success() && outcome.stdout_text().trim() == "true")
    }

    /// The commit that is checked out.
    pub fn head_commit(&self) -> Result<CommitId, Error> {
        self.commit("HEAD")?.ok_or_else(|| {
            Error::new(
                VcsErrorKind::NotARepository,
                format!(
                    "`{}` is not a git repository with a commit",
                    self.dir.display()
                ),
            )
        })
    }

    /// Checks out a branch, tag or commit, with a detached head.
    pub fn checkout(&self, revision: &str) -> Result<CommitId, Error> {
        check_revision(revision)?;
        let remote = format!("refs/remotes/origin/{revision}");
        let found = match self.commit(&remote)? {
            Some(commit) => Some(commit),
            None => self.commit(revision)?,
        };
        let commit = found.ok_or_else(|| unknown(revision, "the repository"))?;
        let args = ["checkout", "--quiet", "--detach", commit.as_str(), "--"];
        self.tell(&GitCall::new(args))?;
        Ok(commit)
    }

    /// Clones with the whole history.
    pub fn clone_from(&self, address: &str) -> Result<CommitId, Error> {
        check_address(address)?;
        self.init(address)?;
        self.fetch_all(address)?;
        self.fetch_tip(address, "HEAD")?;
        self.checkout_fetched()
    }

    /// As the function [`fetch_at`], here.
    pub fn fetch_at(&self, address: &str, revision: Option<&str>) -> Result<CommitId, Error> {
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
            Err(error) if error.kind() == VcsErrorKind::Unreachable => {
                // Abbreviated commits, and servers that serve only tips, need it all.
                self.fetch_all(address)?;
                self.checkout(revision).map_err(|error| match error.kind() {
                    VcsErrorKind::UnknownRevision => unknown(revision, &redacted(address, address)),
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
                VcsErrorKind::Occupied,
                format!(
                    "`{}` is a git repository already; name another directory",
                    self.dir.display()
                ),
            ));
        }
        let dir = self.dir.as_os_str().to_owned();
        let init = ["init", "--quiet", "--"].map(OsString::from);
        let invocation = self.invocation(TimeLimit::LOCAL).args(init).arg(dir);
        let outcome = self.carry_out(invocation, TimeLimit::LOCAL)?;
        self.expect_success(&outcome)?;
        let add = ["remote", "add", "--", "origin", address];
        self.tell(&GitCall::new(add)).map(drop)
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

    /// Fetches the branches of a remote under their names there.
    pub(crate) fn fetch_branches(&self, remote: &str) -> Result<(), Error> {
        let args = ["fetch", "--quiet", "--no-tags", "--", remote];
        self.fetch(&args, remote)
    }

    fn fetch(&self, args: &[&str], address: &str) -> Result<(), Error> {
        let outcome = self.ask(&GitCall::new(args.iter().copied()).limit(FETCH))?;
        if outcome.is_success() {
            return Ok(());
        }
        let said = redacted(&complaint(&outcome.stderr_text()), address);
        let shown = redacted(address, address);
        Err(Error::new(
            VcsErrorKind::Unreachable,
            format!(
                "fetching {shown:?} failed: {said}; check the address, and that `git ls-remote` works with it"
            ),
        ))
    }

    fn checkout_fetched(&self) -> Result<CommitId, Error> {
        let args = ["checkout", "--quiet", "--detach", "FETCH_HEAD", "--"];
        self.tell(&GitCall::new(args))?;
        self.head_commit()
    }

    /// The commit a revision names, if there is one.
    pub(crate) fn commit(&self, revision: &str) -> Result<Option<CommitId>, Error> {
        let wanted = format!("{revision}^{{commit}}");
        let args = [
            "rev-parse",
            "--quiet",
            "--verify",
            "--end-of-options",
            &wanted,
        ];
        let outcome = self.ask(&GitCall::new(args))?;
        if !outcome.is_success() {
            return Ok(None);
        }
        CommitId::parse(outcome.stdout_text().trim()).map(Some)
    }

    /// Makes a call that must succeed; returns its whole standard output.
    pub(crate) fn tell(&self, call: &GitCall) -> Result<Vec<u8>, Error> {
        let outcome = self.ask(call)?;
        self.expect_success(&outcome)?;
        if outcome.stdout_truncated {
            let message = format!(
                "git's answer is longer than OUTPUT_BYTES_MAX ({} bytes); work on fewer or smaller files",
                call.output_bytes_max
            );
            return Err(Error::new(VcsErrorKind::TooLarge, message));
        }
        Ok(outcome.stdout)
    }

    /// Works like [`GitProgram::tell`], for an answer of one line.
    pub(crate) fn line(&self, call: &GitCall) -> Result<String, Error> {
        let bytes = self.tell(call)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// Makes a call whose exit code is part of the answer.
    pub(crate) fn ask(&self, call: &GitCall) -> Result<CommandOutcome, Error> {
        let invocation = self.invocation(call.limit).cwd(&self.dir);
        self.carry_out(call.apply(invocation), call.limit)
    }

    pub(crate) fn expect_success(&self, outcome: &CommandOutcome) -> Result<(), Error> {
        if outcome.is_success() {
            return Ok(());
        }
        Err(blame(&self.dir, &outcome.stderr_text()))
    }

    fn invocation(&self, limit: TimeLimit) -> Invocation {
        let env = ChildEnvironment::default()
            .remove_all(REDIRECTIONS)
            .remove_all(TRACES)
            // The messages are parsed, so they must be in English.
            .set("LC_ALL", "C")
            .set("GIT_TERMINAL_PROMPT", "0")
            .set("GIT_ASKPASS", "")
            .set("SSH_ASKPASS_REQUIRE", "never")
            .set("GIT_PAGER", "cat")
            .set("GIT_EDITOR", "false")
            // A reading call must not rewrite the user's index on the way.
            .set("GIT_OPTIONAL_LOCKS", "0")
            .set("GIT_LITERAL_PATHSPECS", "1");
        let variables = self.variables.iter();
        let env = variables.fold(env, |env, (name, value)| env.set(*name, value));
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        Invocation::new(&self.program)
            .args(settings)
            .env(env)
            .timeout(limit.time)
            .cancel(self.cancel.clone())
    }

    fn carry_out(&self, invocation: Invocation, limit: TimeLimit) -> Result<CommandOutcome, Error> {
        let outcome = exec::run(&invocation).map_err(|error| match error.kind() {
            exec::ExecErrorKind::ProgramNotFound => Error::new(
                VcsErrorKind::NoGit,
                "git is not installed, or not in the PATH; install it (https://git-scm.com) and run again",
            ),
            _ => Error::new(VcsErrorKind::Failed, error.to_string()),
        })?;
        match outcome.status {
            CommandStatus::TimedOut => Err(Error::new(
                VcsErrorKind::TimedOut,
                format!(
                    "git did not finish within {} ({} s); check the connection and run again",
                    limit.name,
                    limit.time.as_secs_f32()
                ),
            )),
            CommandStatus::Cancelled => {
                Err(Error::new(VcsErrorKind::Cancelled, "git was cancelled"))
            }
            CommandStatus::Exited(_) | CommandStatus::Signaled(_) | CommandStatus::Flooded => {
                Ok(outcome)
            }
        }
    }
}

fn unknown(revision: &str, place: &str) -> Error {
    Error::new(
        VcsErrorKind::UnknownRevision,
        format!("there is no branch, tag or commit `{revision}` in {place}; check its spelling"),
    )
}
