//! The words a model is given: prompts are `.md` files, and this puts the facts into them.

use std::fmt::Write;

use crate::job::Job;
use crate::plan::Plan;
use crate::review::{Hunk, HunkDecision, Review};
use crate::validation::{Check, CheckReport, Report, Verdict};

/// The most new failures of one check that are listed.
const LISTED_MAX: usize = 60;

/// What the planner is asked.
pub(crate) fn request(job: &Job, index: &str) -> String {
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

/// Said when the planner has used up its turns for reading.
pub(crate) const PLAN_NOW: &str = "You have no more turns for reading. Answer with the plan now, from \
    what you have seen: one JSON object and nothing else.";

/// What the planner is asked about a build that was carried out and goes on.
pub(crate) fn follow_up(job: &Job, index: &str) -> String {
    format!(
        "# Follow-up\n\nThe plan above was carried out. Now this is wanted, in the same branch:\n\n{}\n\n\
         Answer with a plan for this alone. Files that the first plan created are there now.\n\n\
         # Index of the project as it is now\n\n{}",
        job.request(),
        fenced("", index)
    )
}

/// What the model is told about a review.
pub(crate) fn review(review: &Review, hunks: &[Hunk]) -> String {
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

/// What is told about a plan that cannot be used.
pub(crate) fn plan_correction(problems: &str) -> String {
    include_str!("prompts/plan_correction.md").replace("{{problems}}", problems)
}

/// What whoever carries out the plan is told.
pub(crate) fn task(job: &Job, plan: &Plan, conventions: &str, context: &str) -> String {
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

/// Told when a worktree had to be made again.
pub(crate) const LOST_FILES: &str = "The directory you worked in was lost and has been made again \
    as it was at the beginning: nothing that you wrote is there. Look at the files, and write again \
    what the plan asks for.";

/// What the model is told about a round of checks.
pub(crate) fn repair(report: &Report, attempt: u32, attempts_max: u32) -> String {
    let failed = report
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Failed);
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

/// What is left to mend, one entry for each error: `check: failure`.
pub(crate) fn residual(report: &Report) -> Vec<String> {
    let failed = report
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Failed);
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

fn check_line(check: &Check) -> String {
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
