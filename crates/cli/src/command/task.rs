//! `drawloom task`: one task, done by a model with tools and checked by commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::handlers::{CommandRun, TaskFailure, TaskReport, TaskResult};
use app::Project;
use app::run_target::TargetKind;
use app::tasks::{self, EndedRun, TaskEnd, TaskRequest};
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::agent_args::{AgentArgs, quoted, result_event, say_warnings};
use crate::agent_progress::{shown, status_word, used};
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Lines of a failed check's output that are shown; `--json` has more.
const LAST_LINES_MAX: usize = 12;

/// Have a model work on a task
///
/// A task is a JSON file that says what to do, with which files, and how to check that it is done
/// (docs/tasks.md; `drawloom schema task` prints its schema).
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    Run(TaskRunArgs),
}

impl TaskCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Run(run) => run.run(session),
        }
    }
}

/// Run the task in a file
///
/// The model reads and writes files of the project within `[agent.policy]` and runs commands in a
/// sandbox; then the task's criteria are checked, and failures go back to the model. The report
/// goes to stdout, progress to stderr. The exit code is 1 if the task failed.
///
/// `drawloom run FILE` is the same. Every turn is stored in .drawloom/drawloom.db: `--resume` continues a run that was stopped or
/// killed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom task run tasks/greeting.json
  drawloom task run tasks/greeting.json --resume
  drawloom task run tasks/greeting.json --json | jq 'select(.event == \"result\")'")]
pub(crate) struct TaskRunArgs {
    /// The task's file
    file: PathBuf,
    #[command(flatten)]
    working: AgentArgs,
}

impl TaskRunArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = Arc::new(session.project()?);
        run_file(session, &project, (&self.file, &self.working))
    }
}

/// Runs the task in a file.
pub(crate) fn run_file(
    session: &CliSession,
    project: &Arc<Project>,
    (file, working): (&Path, &AgentArgs),
) -> Result<CliExit, CliError> {
    working.say_unfinished(session, project, (TargetKind::Task, file))?;
    let run = async |job: TaskRequest<'_>| tasks::run_task(job, file).await;
    let ended = working.watched(session, project, run);
    let resume = format!("drawloom run {} --resume", quoted(file));
    report(ended?, working.form(), &resume)
}

/// Prints the outcome of a task.
pub(crate) fn report(
    ended: EndedRun<TaskEnd>,
    form: OutputFormat,
    resume: &str,
) -> Result<CliExit, CliError> {
    say_warnings(&ended.warnings, form);
    match form {
        OutputFormat::Json => output::json_line(&event(&ended))?,
        OutputFormat::Text => output::styled(&text(&ended))?,
    }
    match ended.came {
        Ok(_) => Ok(CliExit::Done),
        Err(failure) => Err(trouble(&failure, resume)),
    }
}

fn event(ended: &EndedRun<TaskEnd>) -> Value {
    match &ended.came {
        Ok(result) => result_event(ended, Some("completed"), result),
        Err(failure) => result_event(ended, Some("failed"), failure),
    }
}

fn text(ended: &EndedRun<TaskEnd>) -> String {
    let (message, report) = match &ended.came {
        Ok(TaskResult { message, report }) => (message, report),
        Err(TaskFailure {
            message, report, ..
        }) => (message, &**report),
    };
    let mut text = format!("{}\n", output::harmless(message.trim_end()));
    text.push_str(&details(report));
    let used = used(&report.usage);
    if !used.is_empty() {
        text.push_str(&format!("used      {used}\n"));
    }
    text
}

/// Describes the validation and the files, one per line.
pub(crate) fn details(report: &TaskReport) -> String {
    let validation = &report.validation_details;
    let mut lines = vec![status_word(validation.overall_status).to_owned()];
    for run in &validation.commands_executed {
        let sign = if run.passed() { "✓" } else { "✗" };
        let code = match (run.exit_code, &run.error) {
            (_, Some(error)) => shown(error),
            _ if run.timed_out => "timed out".to_owned(),
            (Some(code), None) => format!("exit {code}"),
            (None, None) => "no exit code".to_owned(),
        };
        lines.push(format!("  {sign} {} ({code})", shown(&run.command)));
        lines.extend(last_lines(run));
    }
    for file in &validation.files_checked {
        let sign = if file.exists { "✓" } else { "✗" };
        lines.push(format!("  {sign} {} exists", file.path));
    }
    for unjudged in &validation.not_judged {
        lines.push(format!("  - not checked: {}", shown(&unjudged.criterion)));
    }
    for path in &report.files_written {
        lines.push(format!("wrote     {path}"));
    }
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

/// Returns the end of a failed check's output, and the sandbox's likely part in it.
fn last_lines(run: &CommandRun) -> Vec<String> {
    if run.passed() {
        return Vec::new();
    }
    let said = match run.stderr.trim() {
        "" => &run.stdout,
        _ => &run.stderr,
    };
    let said: Vec<&str> = said.trim_end().lines().collect();
    let first = said.len().saturating_sub(LAST_LINES_MAX);
    let mut lines: Vec<String> = said[first..]
        .iter()
        .map(|line| format!("    │ {}", output::harmless(line)))
        .collect();
    let cause = run.sandbox.iter();
    lines.extend(cause.map(|cause| format!("    {}", output::harmless(cause))));
    lines
}

fn trouble(failure: &TaskFailure, resume: &str) -> CliError {
    let kind = serde_json::to_value(failure.kind).unwrap_or_default();
    let word = match &kind {
        Value::Object(fields) => fields.values().next().and_then(Value::as_str),
        other => other.as_str(),
    };
    let code = format!("E_TASK_{}", word.unwrap_or("failed").to_uppercase());
    CliError::failed(&code, failure.message.trim_end()).hint(format!("to go on: {resume}"))
}
