//! `validation`: checks the criteria one by one and reports on them.
//!
//! Commands run as the model's own do, through `execute_command` of the toolset: the same sandbox,
//! the same environment, the same cap on output. A criterion that was not checked is never reported
//! as passed.

use std::fmt::Write;
use std::time::Duration;

use llm::{ToolArguments, ToolCall, ToolOutcome};
use serde_json::{Map, Value};

use super::criteria::{CriterionCheck, ProgramLookup, check_of};
use super::event::TaskEvent;
use super::result::{
    ArtifactState, CheckedFile, CommandRun, OverallStatus, ReadAs, TaskReport, UncheckedCriterion,
    ValidationDetails,
};
use super::task_run::{HandlerResult, TaskRun};
use crate::dispatch::{self, CallAllowance};
use crate::error::{AgentErrorKind, Error};
use crate::task::RunCriterion;
use crate::truncate::middle_out;

/// The tool that runs commands.
const TOOL: &str = "execute_command";
/// Time the tool gets beyond the command's own, to end it and report that.
const TIMEOUT_GRACE: Duration = Duration::from_secs(15);

/// Runs the checks and nothing else.
pub(super) async fn handle(desk: &mut TaskRun<'_>) -> HandlerResult {
    desk.validate().await?;
    desk.verdict("")
}

/// Checks every criterion. The error is the end of the run, not a check that failed.
pub(super) async fn check(desk: &mut TaskRun<'_>) -> Result<ValidationDetails, Error> {
    let task = desk.order.task;
    let programs = ProgramLookup {
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
            CriterionCheck::Run(run) => details.commands_executed.push(command(desk, &run).await?),
            CriterionCheck::File(path) => {
                let found = desk.bench.workspace.kind(&path);
                details.files_checked.push(CheckedFile {
                    exists: matches!(found, Ok(Some(_))),
                    error: found.err().map(|error| error.to_string()),
                    path,
                });
            }
            CriterionCheck::Nobody { text, because } => {
                details.not_judged.push(UncheckedCriterion {
                    criterion: text,
                    because,
                })
            }
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
async fn command(desk: &mut TaskRun<'_>, run: &RunCriterion) -> Result<CommandRun, Error> {
    let bench = desk.bench;
    if bench.cancel.is_cancelled() {
        let message = "the task was cancelled while it was being checked; resume to go on.";
        return Err(Error::new(AgentErrorKind::Cancelled, message));
    }
    let task = &desk.order.task.subtask_id;
    let check = run.run.as_str();
    desk.observer
        .notice_task(&TaskEvent::CheckStarted { task, check });
    let seconds = run
        .timeout
        .unwrap_or(bench.task_limits.validation_seconds_max);
    let call = call_of(run, seconds);
    let allowance = CallAllowance {
        limits: bench.limits,
        cancel: bench.cancel,
        time_left: Duration::from_secs(seconds) + TIMEOUT_GRACE,
    };
    let ready = dispatch::prepare(bench.toolset, &call);
    let (result, _deeds) = dispatch::make(ready, &call, &allowance, desk.observer).await?;
    if bench.cancel.is_cancelled() {
        let message = "the task was cancelled while it was being checked; resume to go on.";
        return Err(Error::new(AgentErrorKind::Cancelled, message));
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
        arguments: ToolArguments::read(Value::Object(arguments).to_string()),
        signature: None,
    }
}

fn command_of(run: &RunCriterion, content: &str, outcome: ToolOutcome) -> CommandRun {
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
        (ToolOutcome::Failed, None) if exit_code.is_none() => Some(content.to_owned()),
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
        sandbox: value
            .get("sandbox")
            .and_then(Value::as_str)
            .map(str::to_owned),
    }
}

/// Returns the message to the model about the failed checks; `None` if all passed.
pub(super) fn feedback(report: &TaskReport, bytes_max: usize) -> Option<String> {
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
        if let Some(cause) = &run.sandbox {
            writeln!(text, "{cause}").ok();
        }
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

/// Lists the failed checks for people, one line each.
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

/// Returns the message of a task that is done: the criteria that were checked and those that were
/// not. `done` says what the task did besides, if anything.
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
