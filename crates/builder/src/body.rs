//! The body of a pull request: the request, the changes, the passing checks and the failing ones.

use std::fmt::Write;

use crate::job::BuildJob;
use crate::prompts::fenced;
use crate::result::FileOutcome;
use crate::shown_text::{code, paragraph, quotation};
use crate::validation::{BuildJudgement, CheckReport, CheckVerdict, FixProof};

/// The most residual errors that are listed.
const ERRORS_MAX: usize = 100;
/// The most impacted files that are listed.
const IMPACTED_MAX: usize = 50;

/// The body, in Markdown.
pub(crate) fn pull_request(job: &BuildJob) -> String {
    let mut text = String::new();
    let plan = job.plan.as_ref();
    let summary = paragraph(plan.map_or("", |plan| plan.summary.as_str()));
    write!(text, "{summary}\n\n{}\n", quotation(&job.prompt)).ok();
    for more in &job.follow_ups {
        write!(text, "\nThen:\n\n{}\n", quotation(more)).ok();
    }
    text.push_str(judgement(job));
    files(&mut text, job);
    checks(&mut text, job);
    skipped(&mut text, job);
    if job.result.judgement == Some(BuildJudgement::Failed) {
        residual(&mut text, job);
    }
    closing_words(&mut text, job);
    review(&mut text, job);
    write!(
        text,
        "\n---\nMade by the build `{}` of Drawloom, from {}. Local hooks were not run.\n",
        job.id,
        job.base
            .as_ref()
            .map_or("an unknown commit".to_owned(), |base| format!(
                "`{}`",
                base.commit
            ))
    )
    .ok();
    text
}

/// Warns the reviewer if the work is a draft or could not be judged; otherwise returns an empty
/// text.
fn judgement(job: &BuildJob) -> &'static str {
    let result = &job.result;
    match (result.is_draft(), result.judgement) {
        (true, Some(BuildJudgement::NotJudged)) => {
            "\n**This is a draft, and not judged.** None of the project's checks could run, so \
             nothing says that it works. Run them before you merge.\n"
        }
        (true, _) => {
            "\n**This is a draft.** Checks fail that passed before, and the model could not fix \
             them. A person has to.\n"
        }
        (false, Some(BuildJudgement::NotJudged)) if !result.validation.is_empty() => {
            "\n**Not judged.** None of the project's checks could run, and the person who asked for this \
             allowed that. Run them before you merge.\n"
        }
        (false, _) => "",
    }
}

/// Lists tests that do not run any more.
fn skipped(text: &mut String, job: &BuildJob) {
    let skipped = &job.result.skipped_tests;
    if skipped.is_empty() {
        return;
    }
    text.push_str("\n**Tests are turned off.** These lines keep tests from running:\n\n");
    for line in skipped.iter().take(ERRORS_MAX) {
        writeln!(text, "- {}", code(line)).ok();
    }
}

fn files(text: &mut String, job: &BuildJob) {
    text.push_str("\n## Files\n\n");
    for file in &job.result.files {
        let word = match file.action {
            FileOutcome::Created => "created",
            FileOutcome::Modified => "modified",
            FileOutcome::Deleted => "deleted",
            FileOutcome::Renamed => "renamed",
        };
        let from = file.from.as_ref().map_or(String::new(), |from| {
            format!(" from {}", code(from.as_str()))
        });
        let (added, removed) = (file.lines_added, file.lines_removed);
        let path = code(file.path.as_str());
        writeln!(text, "- {path} {word}{from} (+{added} -{removed})").ok();
    }
    if let Some(coverage) = &job.result.plan_coverage
        && !coverage.missing.is_empty()
    {
        let missing: Vec<String> = coverage
            .missing
            .iter()
            .map(|path| code(path.as_str()))
            .collect();
        write!(text, "\nPlanned and not done: {}.\n", missing.join(", ")).ok();
    }
}

fn checks(text: &mut String, job: &BuildJob) {
    text.push_str("\n## Checks\n\n");
    if job.result.validation.is_empty() {
        text.push_str("No check was run.\n");
    }
    for check in &job.result.validation {
        writeln!(text, "{}", check_line(check)).ok();
    }
    match &job.result.proof {
        Some(FixProof::Proven { tests }) => {
            let tests: Vec<String> = tests.iter().map(|test| code(test)).collect();
            write!(
                text,
                "\nFails without the fix and passes with it: {}.\n",
                tests.join(", ")
            )
            .ok();
        }
        Some(FixProof::NotChecked { because }) => {
            write!(
                text,
                "\nIt was not checked whether a test covers the fix: {}.\n",
                paragraph(because)
            )
            .ok();
        }
        Some(FixProof::NotProven { .. }) | None => {}
    }
}

fn check_line(check: &CheckReport) -> String {
    let name = paragraph(&check.name);
    let command = if check.command.is_empty() {
        String::new()
    } else {
        format!(" ({})", code(&check.command))
    };
    match check.verdict {
        CheckVerdict::Passed => format!("- [x] {name}{command}"),
        CheckVerdict::Failed => format!(
            "- [ ] {name}{command}: {} new failure(s){}",
            check.new_failures.len(),
            cause(check)
        ),
        CheckVerdict::FailedBefore => format!(
            "- [x] {name}{command}: fails as it did before ({} failure(s)), nothing new",
            check.old_failures
        ),
        CheckVerdict::NotJudged => format!(
            "- [ ] {name}{command}: **not judged**, it fails before and after the change: {}{}",
            paragraph(check.because.as_deref().unwrap_or("it does not say why")),
            cause(check)
        ),
        CheckVerdict::Skipped => format!("- [ ] {name}{command}: was not run"),
    }
}

/// Says that the sandbox may be the cause of a failed check, if it may.
fn cause(check: &CheckReport) -> String {
    let cause = check.sandbox.as_ref();
    cause.map_or(String::new(), |cause| format!(". {cause}"))
}

/// Lists the failures that remain.
fn residual(text: &mut String, job: &BuildJob) {
    let errors = &job.result.validation_errors;
    text.push_str("\n## Remaining failures\n\n");
    for error in errors.iter().take(ERRORS_MAX) {
        writeln!(text, "- {}", paragraph(error)).ok();
    }
    let more = errors.len().saturating_sub(ERRORS_MAX);
    if more > 0 {
        writeln!(text, "- and {more} more").ok();
    }
    for check in &job.result.validation {
        if check.verdict == CheckVerdict::Failed && !check.output.is_empty() {
            write!(
                text,
                "\n<details><summary>Output of {}</summary>\n\n{}\n</details>\n",
                paragraph(&check.name),
                fenced("", &check.output)
            )
            .ok();
        }
    }
}

/// The most characters of the model's closing words.
const WORDS_CHARS_MAX: usize = 4_000;

/// Quotes the model's closing message: it is the model's claim, not the result of a check.
fn closing_words(text: &mut String, job: &BuildJob) {
    let Some(words) = &job.result.closing_words else {
        return;
    };
    let title = match job.result.judgement {
        Some(BuildJudgement::Failed) => "What the model suggests",
        _ => "What the model says about it",
    };
    let words: String = words.chars().take(WORDS_CHARS_MAX).collect();
    write!(text, "\n## {title}\n\n{}\n", quotation(&words)).ok();
}

fn review(text: &mut String, job: &BuildJob) {
    let result = &job.result;
    let impacted: Vec<String> = result
        .impacted_files
        .iter()
        .chain(&result.impacted_tests)
        .take(IMPACTED_MAX)
        .map(|path| format!("- {}", code(path.as_str())))
        .collect();
    if !impacted.is_empty() {
        write!(
            text,
            "\n## May be affected\n\nThese files import what was changed, directly or through \
             others:\n\n{}\n",
            impacted.join("\n")
        )
        .ok();
    }
    if !result.notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        for note in &result.notes {
            writeln!(text, "- {}", paragraph(note)).ok();
        }
    }
    let usage = result.token_usage;
    write!(
        text,
        "\n{} repair(s); {} tokens in, {} out, {} from cache.\n",
        result.repair_attempts,
        usage.input + usage.cache_write,
        usage.output,
        usage.cache_read
    )
    .ok();
}

#[cfg(test)]
mod tests {
    use super::pull_request;
    use crate::job::{BuildJob, JobId, Options};
    use crate::plan::BuildPlan;
    use crate::task_type::TaskType;
    use crate::validation::BuildJudgement;

    #[test]
    fn nothing_that_others_say_acts_on_the_forge() {
        let prompt = "say something better\n/merge";
        let mut job = BuildJob::new(JobId::new(1, 2), prompt, Options::default(), 1).unwrap();
        job.plan = Some(BuildPlan {
            summary: "Says it.\n\n/merge\n<!-- ![x](https://evil.example)".to_owned(),
            task_type: TaskType::Refactor,
            files: Vec::new(),
            context_files: Vec::new(),
        });
        job.follow_ups = vec!["and more\n/approve".to_owned()];
        job.result.judgement = Some(BuildJudgement::Failed);
        job.result.closing_words = Some("Done.\n/close\n<!--".to_owned());
        job.result.validation_errors = vec!["a.txt:1: <!--\n/close".to_owned()];
        job.result.note("`a` is left.\n/close".to_owned());
        let body = pull_request(&job);
        assert!(!body.contains("<!--") && !body.contains("![x]"), "{body}");
        assert!(!body.lines().any(|line| line.starts_with('/')), "{body}");
        assert!(body.starts_with("Says it. /merge &lt;!--"), "{body}");
        assert!(body.contains("- `a` is left. /close\n"), "{body}");
    }
}
