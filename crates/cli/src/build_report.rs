//! A build as people read it: the request, the plan, and the result.

use builder::validation::{CheckReport, CheckVerdict, FixProof};
use builder::{
    BuildJob, BuildPlan, BuildResult, ChangedFile, DraftReason, FileAction, FileOutcome, JobStatus,
};
use clap::builder::styling::{AnsiColor, Style};
use llm::CallCost;

use crate::agent_progress::shown;
use crate::arguments::HEADING;
use crate::output::harmless;

const DIMMED: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const ODD: Style = AnsiColor::Yellow.on_default();
/// Number of failures of a check that are listed; `builds show --json` has all.
const FAILURES_SHOWN_MAX: usize = 8;
/// Lines of a check's output that are shown.
const LAST_LINES_MAX: usize = 6;
/// Number of files a line names.
const NAMES_SHOWN_MAX: usize = 8;

/// Describes a build completely, for the end of a command.
pub(crate) fn whole(job: &BuildJob) -> String {
    let mut text = heading(job);
    let is_begun = !job.result.files.is_empty() || !job.result.validation.is_empty();
    if let Some(plan) = job.plan.as_ref().filter(|_| !is_begun) {
        text.push('\n');
        text.push_str(&plan_text(plan, job));
    }
    let result = result_text(job);
    if !result.is_empty() {
        text.push('\n');
        text.push_str(&result);
    }
    text
}

/// Returns the status of the build in words.
fn standing(job: &BuildJob) -> (Style, &'static str) {
    match job.status() {
        JobStatus::Queued => (ODD, "is queued"),
        JobStatus::Planning => (ODD, "is being planned"),
        JobStatus::PlanReady => (ODD, "waits for your decision"),
        JobStatus::Generating => (ODD, "is being generated"),
        JobStatus::Validating => (ODD, "is being validated"),
        JobStatus::Repairing => (ODD, "is being repaired"),
        JobStatus::ReviewReady => (ODD, "waits for your review"),
        JobStatus::Publishing => (ODD, "is being published"),
        JobStatus::Completed => (GOOD, "is complete"),
        JobStatus::CompletedDraft => match job.result.draft {
            Some(DraftReason::NotJudged) => (ODD, "is a draft: no check could judge it"),
            Some(DraftReason::ChecksFailed) | None => (BAD, "is a draft: some checks fail"),
        },
        JobStatus::Failed => (BAD, "failed"),
        JobStatus::Rejected => (DIMMED, "was rejected"),
        JobStatus::Cancelled => (DIMMED, "was cancelled"),
    }
}

fn heading(job: &BuildJob) -> String {
    let (style, words) = standing(job);
    let kind = job
        .task_type()
        .map_or(String::new(), |kind| format!(" {DIMMED}({kind}){DIMMED:#}"));
    let dry = if job.options.dry_run {
        ", a dry run,"
    } else {
        ""
    };
    let mut text = format!(
        "{HEADING}Build {}{HEADING:#}{dry} {style}{words}{style:#}{kind}\n",
        job.id
    );
    for line in job.prompt.lines().take(NAMES_SHOWN_MAX) {
        text.push_str(&format!("  {}\n", harmless(line)));
    }
    for line in job.follow_ups.iter().flat_map(|more| more.lines().take(1)) {
        text.push_str(&format!("  then: {}\n", harmless(line)));
    }
    text
}

/// Describes the plan and its checks.
pub(crate) fn plan_text(plan: &BuildPlan, job: &BuildJob) -> String {
    let mut text = format!("{}\n\n", harmless(plan.summary.trim()));
    let width = plan
        .files
        .iter()
        .map(|file| file.path.as_str().chars().count());
    let width = width.max().unwrap_or(0).min(48);
    for file in &plan.files {
        let style = match file.action {
            FileAction::Create => GOOD,
            FileAction::Delete => BAD,
            FileAction::Modify | FileAction::Rename { .. } => ODD,
        };
        let from = match &file.action {
            FileAction::Rename { from } => format!(" (from {from})"),
            _ => String::new(),
        };
        let (word, path) = (file.action.word(), harmless(file.path.as_str()));
        let about = shown(&file.description);
        text.push_str(&format!(
            "  {style}{word:<6}{style:#} {path:<width$}{}  {DIMMED}{about}{DIMMED:#}\n",
            harmless(&from)
        ));
    }
    let reads = plan.context_files.iter().map(|path| path.as_str());
    text.push('\n');
    text.push_str(&row("reads", &named(reads)));
    let checks: Vec<String> = job
        .checks
        .iter()
        .map(|check| format!("{} ({})", harmless(&check.name), shown(&check.run)))
        .collect();
    let checks = match checks.is_empty() {
        true => "none were found; see [builder.checks] of drawloom.toml".to_owned(),
        false => checks.join(", "),
    };
    text.push_str(&row("checks", &checks));
    text
}

/// Describes the result.
fn result_text(job: &BuildJob) -> String {
    let result = &job.result;
    let mut text = String::new();
    result
        .files
        .iter()
        .for_each(|file| text.push_str(&file_line(file)));
    result
        .validation
        .iter()
        .for_each(|check| text.push_str(&check_lines(check)));
    text.push_str(&proof(result));
    for line in result.skipped_tests.iter().take(NAMES_SHOWN_MAX) {
        text.push_str(&row("test off", &shown(line)));
    }
    if let Some(coverage) = &result.plan_coverage {
        let missing = coverage.missing.iter().map(|path| path.as_str());
        text.push_str(&row("not done", &named(missing)));
    }
    let impacted = result.impacted_files.iter().chain(&result.impacted_tests);
    text.push_str(&row("look at", &named(impacted.map(|path| path.as_str()))));
    text.push_str(&row("used", &used(result)));
    for (name, value) in [
        ("branch", &result.branch),
        ("commit", &result.commit),
        ("patch", &result.patch_file),
        ("pull", &result.pr_url),
    ] {
        text.push_str(&row(name, &harmless(value.as_deref().unwrap_or_default())));
    }
    for line in closing_lines(result) {
        text.push_str(&row("model", &line));
    }
    for note in &result.notes {
        text.push_str(&row("note", &harmless(note)));
    }
    text
}

/// Returns the model's closing message, as far as there is room for it.
fn closing_lines(result: &BuildResult) -> Vec<String> {
    let words = result.closing_words.as_deref().unwrap_or_default();
    let lines = words.lines().filter(|line| !line.trim().is_empty());
    lines.take(LAST_LINES_MAX).map(harmless).collect()
}

fn file_line(file: &ChangedFile) -> String {
    let (style, word) = match file.action {
        FileOutcome::Created => (GOOD, "created"),
        FileOutcome::Modified => (ODD, "modified"),
        FileOutcome::Deleted => (BAD, "deleted"),
        FileOutcome::Renamed => (ODD, "renamed"),
    };
    let from = file
        .from
        .as_ref()
        .map_or(String::new(), |from| format!(" from {from}"));
    let (path, from) = (harmless(file.path.as_str()), harmless(&from));
    let (added, removed) = (file.lines_added, file.lines_removed);
    format!(
        "{style}{word:<9}{style:#} {path}{from} {DIMMED}({GOOD}+{added}{GOOD:#} \
         {BAD}-{removed}{BAD:#}){DIMMED:#}\n"
    )
}

fn check_lines(check: &CheckReport) -> String {
    let (style, sign, words) = match check.verdict {
        CheckVerdict::Passed => (GOOD, "✓", String::new()),
        CheckVerdict::FailedBefore => (
            ODD,
            "•",
            format!(
                ", which fails as it did before ({} failures)",
                check.old_failures
            ),
        ),
        CheckVerdict::Failed => (BAD, "✗", ", which fails in new ways".to_owned()),
        CheckVerdict::NotJudged => (
            ODD,
            "?",
            format!(
                ", not judged: {}",
                shown(
                    check
                        .because
                        .as_deref()
                        .unwrap_or("it fails before and after")
                )
            ),
        ),
        CheckVerdict::Skipped => (DIMMED, "-", ", not run".to_owned()),
    };
    let name = harmless(&check.name);
    // Rules of the builder itself have no command.
    let command = match check.command.as_str() {
        "" => String::new(),
        command => format!(" {DIMMED}({}){DIMMED:#}", shown(command)),
    };
    let mut text = format!("{style}{sign}{style:#} {name}{command}{words}\n");
    for failure in check.new_failures.iter().take(FAILURES_SHOWN_MAX) {
        text.push_str(&format!("    {}\n", shown(failure)));
    }
    let more = check.new_failures.len().saturating_sub(FAILURES_SHOWN_MAX);
    if more > 0 {
        text.push_str(&format!("    and {more} more\n"));
    }
    text.push_str(&last_words(check));
    if let Some(cause) = &check.sandbox {
        text.push_str(&format!("    {}\n", harmless(cause)));
    }
    text
}

/// Returns the end of a check's output, if no failure in it was recognised.
fn last_words(check: &CheckReport) -> String {
    let is_bare = |failure: &String| !failure.contains('/') && !failure.contains("::");
    if check.verdict != CheckVerdict::Failed || !check.new_failures.iter().all(is_bare) {
        return String::new();
    }
    let lines: Vec<&str> = check.output.lines().collect();
    let first = lines.len().saturating_sub(LAST_LINES_MAX);
    let lines = lines[first..].iter();
    lines
        .map(|line| format!("    {DIMMED}│ {}{DIMMED:#}\n", harmless(line)))
        .collect()
}

fn proof(result: &BuildResult) -> String {
    match &result.proof {
        None => String::new(),
        Some(FixProof::Proven { tests }) => {
            let tests = tests.iter().map(String::as_str);
            row(
                "proof",
                &format!("fails without the change: {}", named(tests)),
            )
        }
        Some(FixProof::NotProven { because } | FixProof::NotChecked { because }) => {
            row("no proof", &harmless(because))
        }
    }
}

/// Summarises the usage of all calls, planning included.
pub(crate) fn used(result: &BuildResult) -> String {
    let usage = result.token_usage;
    let tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
    let cost = &result.cost;
    if cost.calls == 0 {
        return String::new();
    }
    // A program ran in place of a model; its turns are no calls that cost anything.
    if tokens == 0 && cost.unpriced_calls == cost.calls {
        return "a program, which does not say what it used".to_owned();
    }
    let known = CallCost::Known(cost.micro_usd);
    let money = match (cost.unpriced_calls, cost.calls) {
        (0, _) => known.to_string(),
        (unpriced, calls) if unpriced == calls => "cost unknown".to_owned(),
        (unpriced, _) => format!("{known} + {unpriced} calls of unknown price"),
    };
    let calls = match cost.calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    format!("{tokens} tokens in {calls}, {money}")
}

/// Makes a line with its name in front; an empty value makes none.
fn row(name: &str, value: &str) -> String {
    match value {
        "" => String::new(),
        value => format!("{DIMMED}{name:<9}{DIMMED:#} {value}\n"),
    }
}

/// Lists the first names, and the number of the others.
pub(crate) fn named<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(harmless).collect();
    let more = names.len().saturating_sub(NAMES_SHOWN_MAX);
    let mut text = names[..names.len() - more].join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
