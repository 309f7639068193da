//! Whether the sandbox is why a command failed, said where it failed.

use super::{Kind, Requirement, probed};
use crate::Outcome;

/// What programs say when the system forbids them something.
const MARKS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
];

/// The sentence for a command that failed and was likely held back by its sandbox: what to set.
/// `None` where the command succeeded, or said nothing of the sort.
#[must_use]
pub fn likely_cause(outcome: &Outcome, requirement: Requirement) -> Option<String> {
    if outcome.is_success() {
        return None;
    }
    let said = format!("{}\n{}", outcome.stderr_text(), outcome.stdout_text()).to_lowercase();
    let is_forbidden = MARKS.iter().any(|mark| said.contains(mark));
    let kind = probed().choose(requirement).ok().filter(|_| is_forbidden)?;
    sentence(kind).map(str::to_owned)
}

fn sentence(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::None => None,
        Kind::Landlock => Some(
            "The sandbox is the likely cause: with Landlock a command cannot make new entries in a directory that has a protected one, such as the project's root. Add the directories that it makes to `agent.sandbox.writable` (for example [\"target\"]), or allow user namespaces (`drawloom doctor`).",
        ),
        Kind::Namespaces | Kind::Bubblewrap => Some(
            "The sandbox is a possible cause: a command writes in the project, but not in `.git`, `.drawloom` or what runs by itself, and nowhere else. Add a directory to `agent.sandbox.writable`, or see docs/security.md.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Status;

    fn check(code: i32, stderr: &str, kind: Requirement, expected: bool) {
        let outcome = Outcome {
            status: Status::Exited(code),
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
            stdout_truncated: false,
            stderr_truncated: false,
            duration: Duration::ZERO,
        };
        let found = likely_cause(&outcome, kind).is_some();
        assert_eq!(found, expected, "{code} {stderr}");
    }

    #[test]
    fn only_what_the_system_forbade_is_blamed_on_the_sandbox() {
        let held = probed().landlock.is_held();
        let denied = "mkdir: cannot create directory 'target': Permission denied";
        check(1, denied, Requirement::Landlock, held);
        check(
            101,
            "os error 30: Read-only file system",
            Requirement::Landlock,
            held,
        );
        check(1, "assertion failed", Requirement::Landlock, false);
        check(0, denied, Requirement::Landlock, false);
        check(1, denied, Requirement::None, false);
    }
}
