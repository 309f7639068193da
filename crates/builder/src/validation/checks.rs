//! Running checks: in the sandbox of commands, with their time, and as failures that compare.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::Cancel;
use agent::tools::CommandSettings;
use exec::{Invocation, Status};
use serde::{Deserialize, Serialize};
use workspace::{RelPath, Workspace, fs};

use super::failures::{self, Failures, Places, Reading};
use super::{Check, CheckReport, Verdict};

/// How much of a check's output is read for failures.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How much of it is kept and shown.
const SHOWN_BYTES_MAX: usize = 12 * 1024;

/// Where the user has builds put is not this tree's: it may be read-only here, and what it holds
/// belongs to another state of the files.
const OWN_OUTPUT: &str = "unset CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR; ";

/// How a check ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ran {
    /// The code, where it ended by itself.
    pub(crate) exit_code: Option<i32>,
    /// Whether its time was up.
    pub(crate) timed_out: bool,
    /// What failed; empty if it passed.
    pub(crate) failures: Failures,
    /// Where each of them is, with line numbers.
    #[serde(default)]
    pub(crate) places: Places,
    /// Whether nothing was understood of what it said, and it is one failure as a whole.
    pub(crate) is_opaque: bool,
    /// What it said, shortened.
    pub(crate) output: String,
    /// How long it took.
    pub(crate) duration_ms: u64,
}

/// Why a check could not be run at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotRun {
    /// Somebody asked for the end.
    Cancelled,
    /// There is no sandbox, or no shell.
    Broken(String),
}

impl Ran {
    pub(crate) fn passed(&self) -> bool {
        self.exit_code == Some(0)
    }
}

/// What checks are run with.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) commands: CommandSettings,
    /// Where compilers may keep what they built, from one check to the next.
    pub(crate) tool_cache: PathBuf,
    pub(crate) seconds_max: u64,
    pub(crate) cancel: Cancel,
}

/// Runs one check in this tree.
pub(crate) fn run(
    check: &Check,
    tree: &Workspace,
    surroundings: &Surroundings,
) -> Result<Ran, NotRun> {
    let seconds = check.timeout_seconds.unwrap_or(surroundings.seconds_max);
    let invocation = invocation(check, tree, surroundings, seconds)?;
    let outcome = exec::run(&invocation).map_err(|error| NotRun::Broken(error.to_string()))?;
    if outcome.status == Status::Cancelled {
        return Err(NotRun::Cancelled);
    }
    let said = format!("{}\n{}", outcome.stdout_text(), outcome.stderr_text());
    let said = without_root(&said, tree);
    let passed = outcome.is_success();
    let timed_out = outcome.status == Status::TimedOut;
    let reading = if passed {
        Reading::default()
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
    Ok(Ran {
        exit_code: outcome.status.code(),
        timed_out,
        failures: failed,
        places: reading.places,
        is_opaque,
        output: if passed { String::new() } else { tail(&said) },
        duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
    })
}

fn invocation(
    check: &Check,
    tree: &Workspace,
    surroundings: &Surroundings,
    seconds: u64,
) -> Result<Invocation, NotRun> {
    let command = command_line(tree, &check.cwd, &check.run);
    let command = format!("{}{command}", tool_caches(&surroundings.tool_cache));
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

/// The output with paths as they are in the project: every build has a worktree of another name.
fn without_root(said: &str, tree: &Workspace) -> String {
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

/// The names under which projects keep their Python environment.
const PYTHON_ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// A command line in a folder of the tree, with the project's Python environment switched on.
pub(crate) fn command_line(tree: &Workspace, cwd: &RelPath, run: &str) -> String {
    let here = tree.path().join(cwd.as_str());
    let mut places = [here.as_path(), tree.path()]
        .into_iter()
        .flat_map(|folder| PYTHON_ENVIRONMENTS.map(|name| folder.join(name)));
    let found = places.find(|place| fs::exists(&place.join("bin/python")));
    let activate = found.map_or(String::new(), |place| {
        let place = place.display().to_string().replace('\'', "'\\''");
        format!("VIRTUAL_ENV='{place}'; PATH=\"$VIRTUAL_ENV/bin:$PATH\"; export VIRTUAL_ENV PATH; ")
    });
    format!("{OWN_OUTPUT}{activate}{run}")
}

/// Gives tools a cache that they can write: their own is in the user's home, which is read-only in
/// the sandbox, and Go does nothing without one. What the user has set holds.
fn tool_caches(folder: &Path) -> String {
    let folder = folder.display().to_string().replace('\'', "'\\''");
    format!("test -n \"$GOCACHE\" || {{ GOCACHE='{folder}/go-build'; export GOCACHE; }}; ")
}

/// What became of a check, held against how it was before.
pub(crate) fn compare(check: &Check, before: &Ran, now: &Ran) -> CheckReport {
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
        Verdict::Passed
    } else if !new_failures.is_empty() {
        Verdict::Failed
    } else if now.is_opaque {
        Verdict::NotJudged
    } else {
        Verdict::FailedBefore
    };
    CheckReport {
        name: check.name.clone(),
        command: check.run.clone(),
        verdict,
        exit_code: now.exit_code,
        old_failures: all.saturating_sub(new_failures.len()),
        output: match verdict {
            Verdict::Failed | Verdict::NotJudged => now.output.clone(),
            _ => String::new(),
        },
        because: (verdict == Verdict::NotJudged).then(|| cause(now)),
        new_failures: failures::with_places(new_failures, &now.places),
        duration_ms: now.duration_ms,
    }
}

/// The words by which a line says why a command could not do its work.
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

/// Why a check judged nothing: the line that says so, else the last one.
pub(crate) fn cause(ran: &Ran) -> String {
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
            Some(code) => format!("it ends with code {code} and says nothing"),
            None => "it did not end by itself".to_owned(),
        },
    }
}

/// Whether the reason may be that the sandbox forbids it.
pub(crate) fn is_denied(because: &str) -> bool {
    let denials = [
        "permission denied",
        "read-only file system",
        "operation not permitted",
        "eacces",
        "erofs",
    ];
    let because = because.to_ascii_lowercase();
    denials.iter().any(|denial| because.contains(denial))
}

fn ended(status: Status) -> String {
    match status {
        Status::Exited(code) => format!("exited with code {code}"),
        other => other.to_string(),
    }
}

/// The end of a text, where tools say what is wrong, from the beginning of a line.
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
    use super::{Failures, Ran, SHOWN_BYTES_MAX, compare, tail};
    use crate::validation::{Check, Verdict};
    use workspace::RelPath;

    fn ran(failures: &[&str], is_opaque: bool) -> Ran {
        let failures: Failures = failures
            .iter()
            .map(|name| ((*name).to_owned(), 1))
            .collect();
        Ran {
            exit_code: Some(i32::from(!failures.is_empty())),
            failures,
            is_opaque,
            output: "words".to_owned(),
            ..Ran::default()
        }
    }

    #[test]
    fn only_what_is_new_fails_a_check() {
        let check = Check {
            name: "test".to_owned(),
            run: "run".to_owned(),
            cwd: RelPath::root(),
            timeout_seconds: None,
        };
        let verdict = |before: &Ran, now: &Ran| {
            let report = compare(&check, before, now);
            (
                report.verdict,
                report.new_failures.len(),
                report.old_failures,
            )
        };
        let (fine, one, two) = (ran(&[], false), ran(&["a"], false), ran(&["a", "b"], false));
        let opaque = ran(&["test: exited with code 1"], true);
        assert_eq!(verdict(&fine, &fine), (Verdict::Passed, 0, 0));
        assert_eq!(verdict(&one, &fine), (Verdict::Passed, 0, 0));
        assert_eq!(verdict(&fine, &one), (Verdict::Failed, 1, 0));
        assert_eq!(verdict(&one, &two), (Verdict::Failed, 1, 1));
        assert_eq!(verdict(&two, &one), (Verdict::FailedBefore, 0, 1));
        assert_eq!(verdict(&opaque, &opaque), (Verdict::NotJudged, 0, 1));
        assert_eq!(verdict(&fine, &opaque), (Verdict::Failed, 1, 0));
        assert_eq!(verdict(&opaque, &one), (Verdict::Failed, 1, 0));
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
