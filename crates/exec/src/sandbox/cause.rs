//! Guesses whether the sandbox made a command fail, and says so.

use super::{SandboxKind, SandboxRequirement, probed};
use crate::CommandOutcome;

/// Messages that programs print when the system forbids them something.
const MARKS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
];

/// Returns a sentence with the setting to change, for a failed command that its sandbox probably
/// held back; `None` if it succeeded, or its output shows no sign of that.
#[must_use]
pub fn likely_cause(outcome: &CommandOutcome, requirement: SandboxRequirement) -> Option<String> {
    if outcome.is_success() {
        return None;
    }
    let said = format!("{}\n{}", outcome.stderr_text(), outcome.stdout_text()).to_lowercase();
    let is_forbidden = MARKS.iter().any(|mark| said.contains(mark));
    let kind = probed().choose(requirement).ok().filter(|_| is_forbidden)?;
    sentence(kind).map(str::to_owned)
}

fn sentence(kind: SandboxKind) -> Option<&'static str> {
    match kind {
        SandboxKind::None => None,
        SandboxKind::Landlock => Some(
            "The sandbox is the likely cause: with Landlock a command cannot make new entries in a directory that has a protected one, such as the project's root. Add the directories that it makes to `agent.sandbox.writable` (for example [\"target\"]), or allow user namespaces (`drawloom doctor`).",
        ),
        SandboxKind::Namespaces | SandboxKind::Bubblewrap => Some(
            "The sandbox is a possible cause: a command writes in the project, but not in `.git`, `.drawloom` or what runs by itself, and nowhere else. Add a directory to `agent.sandbox.writable`, or see docs/security.md.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::CommandStatus;

    fn check(code: i32, stderr: &str, kind: SandboxRequirement, expected: bool) {
        let outcome = CommandOutcome {
            status: CommandStatus::Exited(code),
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
        check(1, denied, SandboxRequirement::Landlock, held);
        check(
            101,
            "os error 30: Read-only file system",
            SandboxRequirement::Landlock,
            held,
        );
        check(1, "assertion failed", SandboxRequirement::Landlock, false);
        check(0, denied, SandboxRequirement::Landlock, false);
        check(1, denied, SandboxRequirement::None, false);
    }
}
