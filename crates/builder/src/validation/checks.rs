//! Runs checks: in the sandbox of commands, within their time, and with comparable failures.

use std::time::Duration;

use agent::CommandCancel;
use agent::tools::CommandSettings;
use exec::{CommandStatus, Invocation};
use serde::{Deserialize, Serialize};
use workspace::{RelPath, Workspace, fs};

use super::failures::{self, FailureCounts, FailurePlaces, ParsedFailures};
use super::{CheckReport, CheckVerdict, ProjectCheck};

/// Bytes of a check's output that are searched for failures.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of it that are stored and shown.
const SHOWN_BYTES_MAX: usize = 12 * 1024;

/// The result of running a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckOutcome {
    /// The exit code, if it ended by itself.
    pub(crate) exit_code: Option<i32>,
    /// True if it ran out of time.
    pub(crate) timed_out: bool,
    /// The failures; empty if it passed.
    pub(crate) failures: FailureCounts,
    /// The places of each failure, with line numbers.
    #[serde(default)]
    pub(crate) places: FailurePlaces,
    /// True if no failure was recognised in the output, so the check counts as one failure.
    pub(crate) is_opaque: bool,
    /// The shortened output.
    pub(crate) output: String,
    /// If it failed and the sandbox may be the cause: a sentence with the setting to change.
    #[serde(default)]
    pub(crate) sandbox: Option<String>,
    /// Milliseconds it took.
    pub(crate) duration_ms: u64,
}

/// The reason why a check could not run at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotRun {
    /// A cancellation.
    Cancelled,
    /// There is no sandbox, or no shell.
    Broken(String),
}

impl CheckOutcome {
    pub(crate) fn passed(&self) -> bool {
        self.exit_code == Some(0)
    }
}

/// The context in which checks run.
#[derive(Clone)]
pub(crate) struct CheckContext {
    pub(crate) commands: CommandSettings,
    pub(crate) seconds_max: u64,
    pub(crate) cancel: CommandCancel,
}

/// Runs one check in this tree.
pub(crate) fn run(
    check: &ProjectCheck,
    tree: &Workspace,
    surroundings: &CheckContext,
) -> Result<CheckOutcome, NotRun> {
    let seconds = check.timeout_seconds.unwrap_or(surroundings.seconds_max);
    let invocation = invocation(check, tree, surroundings, seconds)?;
    let outcome = exec::run(&invocation).map_err(|error| NotRun::Broken(error.to_string()))?;
    if outcome.status == CommandStatus::Cancelled {
        return Err(NotRun::Cancelled);
    }
    let said = format!("{}\n{}", outcome.stdout_text(), outcome.stderr_text());
    let said = without_root(&said, tree);
    let passed = outcome.is_success();
    let timed_out = outcome.status == CommandStatus::TimedOut;
    let reading = if passed {
        ParsedFailures::default()
    } else {
        failures::reading(&said)
    };
    let mut failed = reading.failures;
    let is_opaque = !passed && (timed_out || !reading.has_places);
    if timed_out {
        let identity = format!("{}: did not end within {seconds} s", check.name);
        failed.insert(identity, 1);
    } else if !passed && failed.is_empty() {
        failed.insert(format!("{}: {}", check.name, ended(outcome.status)), 1);
    }
    Ok(CheckOutcome {
        exit_code: outcome.status.code(),
        timed_out,
        failures: failed,
        places: reading.places,
        is_opaque,
        output: if passed { String::new() } else { tail(&said) },
        sandbox: exec::sandbox::likely_cause(&outcome, surroundings.commands.sandbox),
        duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
    })
}

fn invocation(
    check: &ProjectCheck,
    tree: &Workspace,
    surroundings: &CheckContext,
    seconds: u64,
) -> Result<Invocation, NotRun> {
    let command = command_line(tree, &check.cwd, &check.run);
    let invocation = surroundings
        .commands
        .invocation(tree, &command)
        .map_err(|error| NotRun::Broken(error.to_string()))?;
    Ok(invocation
        .cwd(tree.path().join(check.cwd.as_str()))
        .timeout(Duration::from_secs(seconds.max(1)))
        .output_bytes_max(OUTPUT_BYTES_MAX)
        .cancel(surroundings.cancel.clone()))
}

/// Returns the output with paths relative to the project: every build has a worktree of another
/// name.
pub(crate) fn without_root(said: &str, tree: &Workspace) -> String {
    let mut said = said.to_owned();
    let canonical = fs::canonical(tree.path()).ok();
    for root in [Some(tree.path().to_path_buf()), canonical]
        .into_iter()
        .flatten()
    {
        let root = root.display().to_string();
        said = said.replace(&root, ".");
    }
    said
}

/// Usual names of a project's Python environment.
const PYTHON_ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// Builds a command line in a folder of the tree, with the folder's own Python environment
/// activated. The project's environment is active for every command.
fn command_line(tree: &Workspace, cwd: &RelPath, run: &str) -> String {
    if cwd.is_root() {
        return run.to_owned();
    }
    let here = tree.path().join(cwd.as_str());
    let mut places = PYTHON_ENVIRONMENTS.map(|name| here.join(name)).into_iter();
    let found = places.find(|place| fs::exists(&place.join("bin/python")));
    let activate = found.map_or(String::new(), |place| {
        let place = place.display().to_string().replace('\'', "'\\''");
        format!("VIRTUAL_ENV='{place}'; PATH=\"$VIRTUAL_ENV/bin:$PATH\"; export VIRTUAL_ENV PATH; ")
    });
    format!("{activate}{run}")
}

/// Reports on a check by comparing its result with the one on the untouched tree.
pub(crate) fn compare(
    check: &ProjectCheck,
    before: &CheckOutcome,
    now: &CheckOutcome,
) -> CheckReport {
    let mut new_failures = failures::new_ones(&before.failures, &now.failures);
    if before.is_opaque && now.is_opaque {
        // A message about the command itself may have a name in it that is new in every run.
        new_failures.retain(|new| {
            let mut known = before.failures.keys();
            !known.any(|old| failures::differ_in_random_names(old, new))
        });
    }
    let all: usize = now.failures.values().map(|count| *count as usize).sum();
    let verdict = if now.passed() {
        CheckVerdict::Passed
    } else if !new_failures.is_empty() {
        CheckVerdict::Failed
    } else if now.is_opaque {
        CheckVerdict::NotJudged
    } else {
        CheckVerdict::FailedBefore
    };
    CheckReport {
        name: check.name.clone(),
        command: check.run.clone(),
        verdict,
        exit_code: now.exit_code,
        old_failures: all.saturating_sub(new_failures.len()),
        output: match verdict {
            CheckVerdict::Failed | CheckVerdict::NotJudged => now.output.clone(),
            _ => String::new(),
        },
        because: (verdict == CheckVerdict::NotJudged).then(|| cause(now)),
        sandbox: match verdict {
            CheckVerdict::Failed | CheckVerdict::NotJudged => now.sandbox.clone(),
            _ => None,
        },
        new_failures: failures::with_places(new_failures, &now.places),
        duration_ms: now.duration_ms,
    }
}

/// Words in a line that explains why a command could not do its work.
const CAUSES: [&str; 11] = [
    "not found",
    "Permission denied",
    "Read-only file system",
    "read-only file system",
    "Operation not permitted",
    "No module named",
    "Cannot find",
    "cannot find",
    "No such file",
    "ENOTFOUND",
    "error:",
];
/// The longest cause that is shown.
const CAUSE_CHARS_MAX: usize = 200;

/// Returns the line that explains why a check judged nothing, otherwise the last line.
pub(crate) fn cause(ran: &CheckOutcome) -> String {
    if ran.timed_out {
        return "it did not end in time".to_owned();
    }
    let lines: Vec<&str> = ran.output.lines().map(str::trim).collect();
    let mut lines = lines.into_iter().filter(|line| !line.is_empty());
    let says_why = |line: &&str| CAUSES.iter().any(|cause| line.contains(cause));
    let found = lines.clone().find(says_why).or_else(|| lines.next_back());
    match found {
        Some(line) => line.chars().take(CAUSE_CHARS_MAX).collect(),
        None => match ran.exit_code {
            Some(code) => format!("it ends with code {code} and prints nothing"),
            None => "it did not end by itself".to_owned(),
        },
    }
}

fn ended(status: CommandStatus) -> String {
    match status {
        CommandStatus::Exited(code) => format!("exited with code {code}"),
        other => other.to_string(),
    }
}

/// Returns the end of a text, where tools print errors, from the beginning of a line.
fn tail(text: &str) -> String {
    let text = text.trim();
    if text.len() <= SHOWN_BYTES_MAX {
        return text.to_owned();
    }
    let mut from = text.len() - SHOWN_BYTES_MAX;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let from = text[from..].find('\n').map_or(from, |at| from + at + 1);
    format!("[{from} bytes left out]\n{}", &text[from..])
}

#[cfg(test)]
mod tests {
    use super::{CheckOutcome, FailureCounts, SHOWN_BYTES_MAX, compare, tail};
    use crate::validation::{CheckVerdict, ProjectCheck};
    use workspace::RelPath;

    fn ran(failures: &[&str], is_opaque: bool) -> CheckOutcome {
        let failures: FailureCounts = failures
            .iter()
            .map(|name| ((*name).to_owned(), 1))
            .collect();
        CheckOutcome {
            exit_code: Some(i32::from(!failures.is_empty())),
            failures,
            is_opaque,
            output: "words".to_owned(),
            ..CheckOutcome::default()
        }
    }

    #[test]
    fn only_what_is_new_fails_a_check() {
        let check = ProjectCheck {
            name: "test".to_owned(),
            run: "run".to_owned(),
            cwd: RelPath::root(),
            timeout_seconds: None,
        };
        let verdict = |before: &CheckOutcome, now: &CheckOutcome| {
            let report = compare(&check, before, now);
            (
                report.verdict,
                report.new_failures.len(),
                report.old_failures,
            )
        };
        let (fine, one, two) = (ran(&[], false), ran(&["a"], false), ran(&["a", "b"], false));
        let opaque = ran(&["test: exited with code 1"], true);
        assert_eq!(verdict(&fine, &fine), (CheckVerdict::Passed, 0, 0));
        assert_eq!(verdict(&one, &fine), (CheckVerdict::Passed, 0, 0));
        assert_eq!(verdict(&fine, &one), (CheckVerdict::Failed, 1, 0));
        assert_eq!(verdict(&one, &two), (CheckVerdict::Failed, 1, 1));
        assert_eq!(verdict(&two, &one), (CheckVerdict::FailedBefore, 0, 1));
        assert_eq!(verdict(&opaque, &opaque), (CheckVerdict::NotJudged, 0, 1));
        assert_eq!(verdict(&fine, &opaque), (CheckVerdict::Failed, 1, 0));
        assert_eq!(verdict(&opaque, &one), (CheckVerdict::Failed, 1, 0));
        assert_eq!(compare(&check, &fine, &one).output, "words");
        assert_eq!(compare(&check, &one, &one).output, "");
    }

    #[test]
    fn of_a_long_output_the_end_is_shown_from_the_beginning_of_a_line() {
        let long: String = (0..5_000).map(|n| format!("zeile {n} ü\n")).collect();
        let shown = tail(&long);
        assert!(shown.len() < SHOWN_BYTES_MAX + 100);
        let mut lines = shown.lines();
        assert!(
            lines
                .next()
                .is_some_and(|line| line.ends_with("bytes left out]"))
        );
        assert!(lines.next().is_some_and(|line| line.starts_with("zeile ")));
        assert!(shown.ends_with("zeile 4999 ü"));
        assert_eq!(tail("  short\n"), "short");
    }
}
