//! A build as people read it: what was asked, the plan, and what came of it.

use builder::validation::{CheckReport, Proven, Verdict};
use builder::{Became, BuildResult, ChangedFile, DraftReason, FileAction, Job, Plan, Status};
use clap::builder::styling::{AnsiColor, Style};
use llm::Cost;

use crate::arguments::HEADING;
use crate::live::shown;
use crate::output::harmless;

const DIMMED: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const ODD: Style = AnsiColor::Yellow.on_default();
/// How many failures of a check are listed; `builds show --json` has all.
const FAILURES_SHOWN_MAX: usize = 8;
/// How many lines of a check's output are shown.
const LAST_LINES_MAX: usize = 6;
/// How many files a line names.
const NAMES_SHOWN_MAX: usize = 8;

/// Everything about a build, for the end of a command.
pub(crate) fn whole(job: &Job) -> String {
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

/// How the build stands, in words.
fn standing(job: &Job) -> (Style, &'static str) {
    match job.status() {
        Status::Queued => (ODD, "is queued"),
        Status::Planning => (ODD, "is being planned"),
        Status::PlanReady => (ODD, "waits for your decision"),
        Status::Generating => (ODD, "is being generated"),
        Status::Validating => (ODD, "is being validated"),
        Status::Repairing => (ODD, "is being repaired"),
        Status::ReviewReady => (ODD, "waits for your review"),
        Status::Publishing => (ODD, "is being published"),
        Status::Completed => (GOOD, "is complete"),
        Status::CompletedDraft => match job.result.draft {
            Some(DraftReason::NotJudged) => (ODD, "is a draft: no check could judge it"),
            Some(DraftReason::ChecksFailed) | None => (BAD, "is a draft: some checks fail"),
        },
        Status::Failed => (BAD, "failed"),
        Status::Rejected => (DIMMED, "was rejected"),
        Status::Cancelled => (DIMMED, "was cancelled"),
    }
}

fn heading(job: &Job) -> String {
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

/// The plan and what it will be held against.
pub(crate) fn plan_text(plan: &Plan, job: &Job) -> String {
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

/// What came of it.
fn result_text(job: &Job) -> String {
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

/// What the model said when it was done, as far as there is room for it.
fn closing_lines(result: &BuildResult) -> Vec<String> {
    let words = result.closing_words.as_deref().unwrap_or_default();
    let lines = words.lines().filter(|line| !line.trim().is_empty());
    lines.take(LAST_LINES_MAX).map(harmless).collect()
}

fn file_line(file: &ChangedFile) -> String {
    let (style, word) = match file.action {
        Became::Created => (GOOD, "created"),
        Became::Modified => (ODD, "modified"),
        Became::Deleted => (BAD, "deleted"),
        Became::Renamed => (ODD, "renamed"),
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
        Verdict::Passed => (GOOD, "✓", String::new()),
        Verdict::FailedBefore => (
            ODD,
            "•",
            format!(
                ", which fails as it did before ({} failures)",
                check.old_failures
            ),
        ),
        Verdict::Failed => (BAD, "✗", ", which fails in new ways".to_owned()),
        Verdict::NotJudged => (
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
        Verdict::Skipped => (DIMMED, "-", ", not run".to_owned()),
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
    text
}

/// The end of what a check said, where nothing of it was understood as a failure with a place.
fn last_words(check: &CheckReport) -> String {
    let is_bare = |failure: &String| !failure.contains('/') && !failure.contains("::");
    if check.verdict != Verdict::Failed || !check.new_failures.iter().all(is_bare) {
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
        Some(Proven::Proven { tests }) => {
            let tests = tests.iter().map(String::as_str);
            row(
                "proof",
                &format!("fails without the change: {}", named(tests)),
            )
        }
        Some(Proven::NotProven { because } | Proven::NotChecked { because }) => {
            row("no proof", &harmless(because))
        }
    }
}

/// What all calls took, planning included.
pub(crate) fn used(result: &BuildResult) -> String {
    let usage = result.token_usage;
    let tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
    let cost = &result.cost;
    if cost.calls == 0 {
        return String::new();
    }
    // A program in the place of a model; turns with it are no calls that anybody is billed for.
    if tokens == 0 && cost.unpriced_calls == cost.calls {
        return "a program, which does not say what it used".to_owned();
    }
    let known = Cost::Known(cost.micro_usd);
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

/// A line with its name in front; none for nothing.
fn row(name: &str, value: &str) -> String {
    match value {
        "" => String::new(),
        value => format!("{DIMMED}{name:<9}{DIMMED:#} {value}\n"),
    }
}

/// The first of some names, and how many more there are.
pub(crate) fn named<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(harmless).collect();
    let more = names.len().saturating_sub(NAMES_SHOWN_MAX);
    let mut text = names[..names.len() - more].join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
