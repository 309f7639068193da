//! `validation`: the criteria checked one by one, and what is said about them.
//!
//! Commands run as the model's own do, through `execute_command` of the toolset: the same sandbox,
//! the same environment, the same cap on output. What was not checked is never said to have passed.

use std::fmt::Write;
use std::time::Duration;

use llm::{Arguments, Outcome, ToolCall};
use serde_json::{Map, Value};

use super::criteria::{Check, Programs, check_of};
use super::desk::{Desk, Handled};
use super::event::TaskEvent;
use super::result::{
    ArtifactState, CheckedFile, CommandRun, OverallStatus, ReadAs, Report, Unjudged,
    ValidationDetails,
};
use crate::bound::middle_out;
use crate::dispatch::{self, Allowance};
use crate::error::{Error, Kind};
use crate::task::RunCriterion;

/// The tool that runs commands.
const TOOL: &str = "execute_command";
/// What the tool gets beyond the command's time, to end it and say so.
const TIMEOUT_GRACE: Duration = Duration::from_secs(15);

/// The handler: nothing but the checks.
pub(super) async fn handle(desk: &mut Desk<'_>) -> Handled {
    desk.validate().await?;
    desk.verdict("")
}

/// Checks every criterion. The error is the end of the run, not a check that failed.
pub(super) async fn check(desk: &mut Desk<'_>) -> Result<ValidationDetails, Error> {
    let task = desk.order.task;
    let programs = Programs {
        workspace: desk.bench.workspace,
        search_path: desk.bench.search_path,
    };
    let mut details = ValidationDetails::default();
    for criterion in &task.validation_criteria {
        let (check, reading) = check_of(criterion, &programs);
        if let Some(reading) = reading {
            let task = &task.subtask_id;
            desk.observer.notice_task(&TaskEvent::CriterionRead {
                task,
                reading: &reading,
            });
            details.readings.push(reading);
        }
        match check {
            Check::Run(run) => details.commands_executed.push(command(desk, &run).await?),
            Check::File(path) => {
                let found = desk.bench.workspace.kind(&path);
                details.files_checked.push(CheckedFile {
                    exists: matches!(found, Ok(Some(_))),
                    error: found.err().map(|error| error.to_string()),
                    path,
                });
            }
            Check::Nobody { text, because } => details.not_judged.push(Unjudged {
                criterion: text,
                because,
            }),
        }
    }
    details.overall_status = status(&details);
    desk.observer.notice_task(&TaskEvent::Validated {
        task: &task.subtask_id,
        status: details.overall_status,
    });
    Ok(details)
}

/// Passed only if something was checked.
fn status(details: &ValidationDetails) -> OverallStatus {
    let commands = details.commands_executed.iter().map(CommandRun::passed);
    let files = details.files_checked.iter().map(|file| file.exists);
    let mut outcomes = commands.chain(files).peekable();
    if outcomes.peek().is_none() {
        OverallStatus::Skipped
    } else if outcomes.all(|passed| passed) {
        OverallStatus::Passed
    } else {
        OverallStatus::Failed
    }
}

/// Runs the command of a criterion.
async fn command(desk: &mut Desk<'_>, run: &RunCriterion) -> Result<CommandRun, Error> {
    let bench = desk.bench;
    if bench.cancel.is_cancelled() {
        let message = "the task was cancelled while it was being checked; resume to go on.";
        return Err(Error::new(Kind::Cancelled, message));
    }
    let task = &desk.order.task.subtask_id;
    let check = run.run.as_str();
    desk.observer
        .notice_task(&TaskEvent::CheckStarted { task, check });
    let seconds = run
        .timeout
        .unwrap_or(bench.task_limits.validation_seconds_max);
    let call = call_of(run, seconds);
    let allowance = Allowance {
        limits: bench.limits,
        cancel: bench.cancel,
        time_left: Duration::from_secs(seconds) + TIMEOUT_GRACE,
    };
    let ready = dispatch::prepare(bench.toolset, &call);
    let (result, _deeds) = dispatch::make(ready, &call, &allowance, desk.observer).await?;
    if bench.cancel.is_cancelled() {
        let message = "the task was cancelled while it was being checked; resume to go on.";
        return Err(Error::new(Kind::Cancelled, message));
    }
    let command = command_of(run, &result.content, result.outcome);
    desk.observer.notice_task(&TaskEvent::CheckFinished {
        task,
        check,
        passed: command.passed(),
        exit_code: command.exit_code,
    });
    Ok(command)
}

fn call_of(run: &RunCriterion, seconds: u64) -> ToolCall {
    let mut arguments = Map::new();
    arguments.insert("command".to_owned(), run.run.clone().into());
    if let Some(cwd) = &run.cwd {
        arguments.insert("cwd".to_owned(), cwd.to_string().into());
    }
    arguments.insert("timeout".to_owned(), seconds.into());
    ToolCall {
        id: "validation".to_owned(),
        name: TOOL.to_owned(),
        arguments: Arguments::read(Value::Object(arguments).to_string()),
        signature: None,
    }
}

fn command_of(run: &RunCriterion, content: &str, outcome: Outcome) -> CommandRun {
    let value: Value = serde_json::from_str(content).unwrap_or_default();
    let text = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let exit_code = value.get("exit_code").and_then(Value::as_i64);
    let error = match (outcome, value.get("error").and_then(Value::as_str)) {
        (_, Some(error)) => Some(error.to_owned()),
        (Outcome::Failed, None) if exit_code.is_none() => Some(content.to_owned()),
        _ => None,
    };
    CommandRun {
        command: run.run.clone(),
        exit_code: exit_code.and_then(|code| i32::try_from(code).ok()),
        stdout: text("stdout"),
        stderr: text("stderr"),
        timed_out: value
            .get("timed_out")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        error,
    }
}

/// What the model is told about what is wrong; `None` if nothing is.
pub(super) fn feedback(report: &Report, bytes_max: usize) -> Option<String> {
    let details = &report.validation_details;
    let failed: Vec<&CommandRun> = details
        .commands_executed
        .iter()
        .filter(|run| !run.passed())
        .collect();
    let absent = details.files_checked.iter().filter(|file| !file.exists);
    let absent = absent.map(|file| match &file.error {
        Some(error) => format!("- `{}`: {error}", file.path),
        None => format!("- `{}`", file.path),
    });
    let missing = report.output_artifacts.iter();
    let missing = missing
        .filter(|artifact| artifact.state == ArtifactState::Missing)
        .map(|artifact| format!("- `{}`", artifact.path));
    let mut files: Vec<String> = absent.chain(missing).collect();
    files.dedup();
    if failed.is_empty() && files.is_empty() {
        return None;
    }
    let mut text =
        "The task is not done: its checks were run, and not all of them pass.\n".to_owned();
    let share = bytes_max / (failed.len() * 2).max(1);
    for run in failed {
        write!(text, "\n{}\n", sentence(run)).ok();
        for (name, output) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            if !output.trim().is_empty() {
                let output = middle_out(output.trim_end(), share, bytes_max);
                write!(text, "{name}:\n{}", super::prompt::fenced("", &output)).ok();
            }
        }
    }
    if !files.is_empty() {
        write!(
            text,
            "\nThese files have to be there and are not:\n{}\n",
            files.join("\n")
        )
        .ok();
    }
    text.push_str(
        "\nFind the cause and mend it in the code. Do not weaken the checks. When it is mended, \
         say in a sentence what you changed.",
    );
    Some(text)
}

/// What failed, for people: one line for each.
pub(super) fn failures(details: &ValidationDetails) -> String {
    let commands = details.commands_executed.iter().filter(|run| !run.passed());
    let commands = commands.map(|run| {
        let was_text = details
            .readings
            .iter()
            .any(|reading| reading.criterion == run.command && reading.read_as == ReadAs::Command);
        let hint = if was_text {
            " It is a plain string, treated as a command; write {\"describe\": …} if it isn't one."
        } else {
            ""
        };
        format!("{}{hint}", sentence(run))
    });
    let files = details.files_checked.iter().filter(|file| !file.exists);
    let files = files.map(|file| match &file.error {
        Some(error) => format!("{error}."),
        None => format!("`{}` is not there.", file.path),
    });
    commands.chain(files).collect::<Vec<_>>().join(" ")
}

fn sentence(run: &CommandRun) -> String {
    let command = &run.command;
    match (&run.error, run.timed_out, run.exit_code) {
        (Some(error), ..) => format!("`{command}` was not run: {error}"),
        (None, true, _) => format!("`{command}` did not end in time and was stopped."),
        (None, false, Some(code)) => format!("`{command}` exited with code {code}."),
        (None, false, None) => format!("`{command}` was ended by a signal."),
    }
}

/// What is said about a task that is done: what was checked, and what was not. `done` is what the
/// task did besides, if anything.
pub(super) fn message(done: &str, details: &ValidationDetails) -> String {
    let not_judged = details.not_judged.len();
    let also = match not_judged {
        0 => String::new(),
        1 => " One criterion was not checked: it is a description.".to_owned(),
        n => format!(" {n} criteria were not checked: they are descriptions."),
    };
    let said = match (details.overall_status, not_judged) {
        (OverallStatus::Passed, _) => "validation passed.",
        (OverallStatus::Failed, _) => "validation failed.",
        (OverallStatus::Skipped, 0) => "validation was skipped: there are no criteria.",
        (OverallStatus::Skipped, _) => {
            "validation was skipped: no criterion can be checked by a command."
        }
    };
    match (done, details.overall_status) {
        ("", _) => format!("V{}{also}", said.trim_start_matches('v')),
        (_, OverallStatus::Skipped) => format!("{done}; {said}{also}"),
        _ => format!("{done} and {said}{also}"),
    }
}
