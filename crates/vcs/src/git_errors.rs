//! Maps git's error output to errors.

use std::path::Path;

use crate::address::without_credentials;
use crate::{Error, VcsErrorKind};

/// Returns the line of git's error output that names the problem.
pub(crate) fn complaint(stderr: &str) -> String {
    let lines = || {
        stderr
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let strong = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let line = lines().find(strong).or_else(|| lines().next_back());
    without_credentials(line.unwrap_or("it said nothing"))
}

/// The error for a call without network that failed in `dir`.
pub(crate) fn blame(dir: &Path, stderr: &str) -> Error {
    let said = complaint(stderr);
    let place = dir.display();
    if stderr.contains("dubious ownership") {
        let message = format!(
            "git does not trust `{place}`, because another user owns it; if you do, run \
             `git config --global --add safe.directory '{place}'`"
        );
        return Error::new(VcsErrorKind::Untrusted, message);
    }
    // Git reads all worktrees, including one that another git is just making.
    let half_made = said.contains("failed to read") && said.contains("/commondir");
    if half_made || said.contains(".lock': File exists") || said.contains("Unable to lock") {
        let message = format!(
            "another git is at work in `{place}`, or one died there: {said}; if none is running, \
             remove that file and try again"
        );
        return Error::new(VcsErrorKind::Locked, message);
    }
    if stderr.contains("not a git repository") {
        let message =
            format!("`{place}` is not in a git repository; run `git init` there, or name another");
        return Error::new(VcsErrorKind::NotARepository, message);
    }
    Error::new(
        VcsErrorKind::Failed,
        format!("git in `{place}` failed: {said}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, kind: VcsErrorKind, part: &str) {
        let error = blame(Path::new("/p"), stderr);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }

    #[test]
    fn failures_of_git_are_told_apart() {
        check(
            "fatal: detected dubious ownership in repository at '/p'\nTo add an exception…",
            VcsErrorKind::Untrusted,
            "safe.directory '/p'",
        );
        check(
            "fatal: Unable to create '/p/.git/index.lock': File exists.\n\nAnother git process…",
            VcsErrorKind::Locked,
            "/p/.git/index.lock",
        );
        check(
            "fatal: failed to read .git/worktrees/x/commondir: Success",
            VcsErrorKind::Locked,
            "worktrees/x",
        );
        check(
            "fatal: not a git repository (or any of the parent directories): .git",
            VcsErrorKind::NotARepository,
            "git init",
        );
        check("warning: x\nerror: y\n", VcsErrorKind::Failed, "error: y");
        check("", VcsErrorKind::Failed, "said nothing");
        check(
            "fatal: https://me:secret@host/x is odd",
            VcsErrorKind::Failed,
            "https://***@host/x",
        );
    }
}
