//! Prompts for the model: the texts are `.md` files, and this module fills in the facts.

use std::fmt::Write;

use crate::job::BuildJob;
use crate::plan::BuildPlan;
use crate::review::{BuildReview, HunkDecision, ReviewHunk};
use crate::validation::{CheckReport, CheckVerdict, ProjectCheck, ValidationReport};

/// The most new failures of one check that are listed.
const LISTED_MAX: usize = 60;

/// Builds the planner's prompt.
pub(crate) fn request(job: &BuildJob, index: &str) -> String {
    let mut text = format!("# Request\n\n{}\n", job.prompt);
    if let Some(kind) = job.options.task_type {
        write!(text, "\nThe task type is `{kind}`.\n").ok();
    }
    let index = if index.is_empty() {
        "(the project has no files yet)"
    } else {
        index
    };
    write!(text, "\n# Index of the project\n\n{}", fenced("", index)).ok();
    text
}

/// The message to a planner that has used up its turns for reading.
pub(crate) const PLAN_NOW: &str = "You have no more turns for reading. Answer with the plan now, from \
    what you have seen: one JSON object and nothing else.";

/// Builds the planner's prompt for a follow-up to a finished build.
pub(crate) fn follow_up(job: &BuildJob, index: &str) -> String {
    format!(
        "# Follow-up\n\nThe plan above was carried out. Now this is wanted, in the same branch:\n\n{}\n\n\
         Answer with a plan for this alone. Files that the first plan created are there now.\n\n\
         # Index of the project as it is now\n\n{}",
        job.request(),
        fenced("", index)
    )
}

/// Builds the message that gives a review to the model.
pub(crate) fn review(review: &BuildReview, hunks: &[ReviewHunk]) -> String {
    let mut text =
        "# Review\n\nA person looked at your work before it is published, and wants it changed. \
                    Everything that is not spoken about is accepted: leave it as it is.\n"
            .to_owned();
    if let Some(comment) = &review.comment {
        write!(text, "\n{}\n", comment.trim()).ok();
    }
    for remark in &review.remarks {
        let path = &remark.path;
        match (&remark.decision, remark.number) {
            (HunkDecision::Accept, _) => {}
            (HunkDecision::Reject, _) => {
                write!(
                    text,
                    "\nA part of `{path}` was turned down and taken out. Do without.\n"
                )
                .ok();
            }
            (HunkDecision::Comment { text: said }, number) => {
                write!(text, "\n## About `{path}`\n\n{}\n", said.trim()).ok();
                let hunk = hunks
                    .iter()
                    .find(|hunk| hunk.path == *path && Some(hunk.number) == number);
                if let Some(hunk) = hunk {
                    write!(
                        text,
                        "\nIt is about this part:\n\n{}",
                        fenced("diff", &hunk.text)
                    )
                    .ok();
                }
            }
        }
    }
    text.push_str("\nWhen it is done, say in a sentence or two what you changed.\n");
    text
}

/// Builds the message that returns an unusable plan to the planner.
pub(crate) fn plan_correction(problems: &str) -> String {
    include_str!("prompts/plan_correction.md").replace("{{problems}}", problems)
}

/// Builds the prompt of the model that carries out the plan.
pub(crate) fn task(job: &BuildJob, plan: &BuildPlan, conventions: &str, context: &str) -> String {
    let mut text = match job.follow_ups.last() {
        None => format!("# Request\n\n{}\n", job.prompt),
        Some(more) => format!(
            "# Follow-up\n\nYour work so far is committed. Now this is wanted as well:\n\n{more}\n"
        ),
    };
    write!(text, "\n# The approved plan\n\n{}\n", plan.summary.trim()).ok();
    write!(text, "\n{}\n", plan.file_list()).ok();
    if !job.checks.is_empty() {
        let checks = job.checks.iter().map(check_line);
        let checks: Vec<String> = checks.collect();
        write!(
            text,
            "\n# Checks that are run when you are done\n\n{}\n",
            checks.join("\n")
        )
        .ok();
    }
    if !conventions.is_empty() {
        let conventions = conventions.trim_end();
        write!(text, "\n# Conventions of the project\n\n{conventions}\n").ok();
    }
    if !context.is_empty() {
        write!(text, "\n# Context\n\n{}\n", context.trim_end()).ok();
    }
    text
}

/// The message after a worktree had to be made again.
pub(crate) const LOST_FILES: &str = "The directory you worked in was lost and has been made again \
    as it was at the beginning: nothing that you wrote is there. Look at the files, and write again \
    what the plan asks for.";

/// Builds the message that reports a round of checks to the model.
pub(crate) fn repair(report: &ValidationReport, attempt: u32, attempts_max: u32) -> String {
    let failed = report
        .checks
        .iter()
        .filter(|check| check.verdict == CheckVerdict::Failed);
    let errors: Vec<String> = failed.map(errors_of).collect();
    let words = if attempt >= attempts_max {
        include_str!("prompts/repair_last.md")
    } else {
        include_str!("prompts/repair_first.md")
    };
    include_str!("prompts/repair.md")
        .replace("{{words}}", words)
        .replace("{{errors}}", errors.join("\n").trim_end())
}

/// Lists the remaining failures, one entry for each error: `check: failure`.
pub(crate) fn residual(report: &ValidationReport) -> Vec<String> {
    let failed = report
        .checks
        .iter()
        .filter(|check| check.verdict == CheckVerdict::Failed);
    failed
        .flat_map(|check| {
            let failures = check.new_failures.iter();
            failures.map(|failure| format!("{}: {failure}", check.name))
        })
        .collect()
}

/// A block that its content cannot end.
pub(crate) fn fenced(language: &str, body: &str) -> String {
    prompt::document::fenced(language, body) + "\n"
}

fn check_line(check: &ProjectCheck) -> String {
    let place = if check.cwd.is_root() {
        String::new()
    } else {
        format!(" in `{}`", check.cwd)
    };
    format!("- {}: `{}`{place}", check.name, check.run)
}

fn errors_of(check: &CheckReport) -> String {
    let mut text = format!("## {}\n\n", check.name);
    if !check.command.is_empty() {
        let code = check
            .exit_code
            .map_or("did not end by itself".to_owned(), |code| {
                format!("exited with code {code}")
            });
        write!(text, "`{}` {code}.\n\n", check.command).ok();
    }
    for failure in check.new_failures.iter().take(LISTED_MAX) {
        writeln!(text, "- {failure}").ok();
    }
    let more = check.new_failures.len().saturating_sub(LISTED_MAX);
    if more > 0 {
        writeln!(text, "- and {more} more").ok();
    }
    if !check.output.is_empty() {
        write!(text, "\nIts output:\n\n{}", fenced("", &check.output)).ok();
    }
    text
}
