//! `drawloom task`: one task, done by a model with tools and checked by commands.

use std::path::PathBuf;

use agent::handlers::{Report, TaskFailure, TaskResult};
use app::tasks::{self, Ended, Job, RunKind, TaskEnd};
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::exit::{Exit, Trouble};
use crate::live::{shown, status_word, used};
use crate::output::{self, Form};
use crate::session::Session;
use crate::working::{Working, quoted, result_event, say_warnings};

/// Have a model do a task
///
/// A task is a JSON file: what is to be done, with which files, and how one knows that it is done
/// (docs/tasks.md; `drawloom schema task` prints its schema).
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    Run(Run),
}

impl Task {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Run(run) => run.run(session),
        }
    }
}

/// Run the task in a file
///
/// The model reads and writes files of the project within `[agent.policy]` and runs commands in a
/// sandbox; then the task's criteria are checked, and what fails goes back to the model. The report
/// goes to stdout, what happens on the way to stderr. The exit code is 1 if the task failed.
///
/// Every turn is kept in .drawloom/drawloom.db: a run that was stopped or killed goes on with
/// `--resume`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom task run tasks/greeting.json
  drawloom task run tasks/greeting.json --resume
  drawloom task run tasks/greeting.json --json | jq 'select(.event == \"result\")'")]
pub(crate) struct Run {
    /// The task's file
    file: PathBuf,
    #[command(flatten)]
    working: Working,
}

impl Run {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let form = self.working.form();
        let unfinished = (RunKind::Task, self.file.as_path());
        self.working.say_unfinished(session, &project, unfinished)?;
        let run = |job: Job<'_>| tasks::run_task(job, &self.file);
        let ended = self.working.watched(session, &project, run);
        let resume = format!("drawloom task run {} --resume", quoted(&self.file));
        report(ended?, form, &resume)
    }
}

/// Prints what became of a task.
pub(crate) fn report(ended: Ended<TaskEnd>, form: Form, resume: &str) -> Result<Exit, Trouble> {
    say_warnings(&ended.warnings, form);
    match form {
        Form::Json => output::json_line(&event(&ended))?,
        Form::Text => output::styled(&text(&ended))?,
    }
    match ended.came {
        Ok(_) => Ok(Exit::Done),
        Err(failure) => Err(trouble(&failure, resume)),
    }
}

fn event(ended: &Ended<TaskEnd>) -> Value {
    match &ended.came {
        Ok(result) => result_event(ended, Some("completed"), result),
        Err(failure) => result_event(ended, Some("failed"), failure),
    }
}

fn text(ended: &Ended<TaskEnd>) -> String {
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

/// The validation and the files, one a line.
pub(crate) fn details(report: &Report) -> String {
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

fn trouble(failure: &TaskFailure, resume: &str) -> Trouble {
    let kind = serde_json::to_value(failure.kind).unwrap_or_default();
    let word = match &kind {
        Value::Object(fields) => fields.values().next().and_then(Value::as_str),
        other => other.as_str(),
    };
    let code = format!("E_TASK_{}", word.unwrap_or("failed").to_uppercase());
    Trouble::failed(&code, failure.message.trim_end()).hint(format!("to go on: {resume}"))
}
