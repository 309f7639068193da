//! Builds on the command line: worked on and watched, reported, and the end of it as an exit code.

use app::builds::{self, BuildOutcome, BuildRequest};
use app::{AppErrorCode, Project};
use builder::{BuildJob, DraftReason, FailureCode, JobId, JobStatus};
use clap::Args;
use serde_json::{Value, json};

use crate::agent_args::{AgentModeArgs, say_warnings};
use crate::agent_progress::AgentProgress;
use crate::build_report;
use crate::exit::{CliError, CliExit};
use crate::interrupt;
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// The id argument of every command about an existing build.
#[derive(Args, Debug)]
pub(crate) struct BuildIdArgs {
    /// Build id, its beginning or its end, or `last`
    #[arg(value_name = "ID")]
    id: String,
}

impl BuildIdArgs {
    pub(crate) fn find(&self, session: &CliSession, project: &Project) -> Result<JobId, CliError> {
        Ok(session.wait(builds::find(project, &session.surroundings, &self.id))?)
    }
}

/// Works on a build, watched, and ended by Ctrl-C.
pub(crate) fn watched(
    session: &CliSession,
    project: &Project,
    (hands, form): (&AgentModeArgs, OutputFormat),
    work: impl AsyncFnOnce(BuildRequest<'_>) -> Result<BuildOutcome, app::Error>,
) -> Result<BuildOutcome, CliError> {
    let mut live = AgentProgress::new(form);
    let _busy = interrupt::InterruptGuard::start();
    let done = session.wait(work(BuildRequest {
        project,
        surroundings: &session.surroundings,
        wish: hands.wish(),
        observer: &mut live,
        cancel: interrupt::cancel(),
    }));
    live.finish();
    if let Err(app::Error::Own(fault)) = &done
        && fault.code == AppErrorCode::Interrupted
    {
        output::say(format!(
            "note: {}: `drawloom build --resume {}`",
            fault.message,
            builds::LAST
        ));
    }
    Ok(done?)
}

/// Does what costs nothing and takes no time.
pub(crate) fn decided(
    session: &CliSession,
    project: &Project,
    form: OutputFormat,
    work: impl AsyncFnOnce(BuildRequest<'_>) -> Result<BuildOutcome, app::Error>,
) -> Result<BuildOutcome, CliError> {
    watched(session, project, (&AgentModeArgs::default(), form), work)
}

/// Prints the outcome of a build. The build's status decides the exit code.
pub(crate) fn report(done: &BuildOutcome, form: OutputFormat) -> Result<CliExit, CliError> {
    say_warnings(&done.warnings, form);
    match form {
        OutputFormat::Json => output::json_line(&result_event(done))?,
        OutputFormat::Text => {
            output::styled(&build_report::whole(&done.job))?;
            next_steps(&done.job).into_iter().for_each(output::say);
        }
    }
    ending(&done.job)
}

/// Lists the commands a person can run next.
fn next_steps(job: &BuildJob) -> Vec<String> {
    let id = &job.id;
    match job.status() {
        JobStatus::PlanReady => vec![
            format!("to build it:   drawloom builds approve {id}"),
            format!("to change it:  drawloom builds edit {id}"),
            format!("to drop it:    drawloom builds reject {id}"),
        ],
        JobStatus::ReviewReady => vec![
            format!("to look at it:   drawloom builds review {id}"),
            format!("to publish it:   drawloom builds review {id} --accept"),
            format!("to drop it:      drawloom builds reject {id}"),
        ],
        JobStatus::Completed | JobStatus::CompletedDraft if !job.result.diffs.is_empty() => {
            vec![format!("to see it:     drawloom builds diff {id}")]
        }
        _ => Vec::new(),
    }
}

/// Returns the exit code of a build: 0 as long as nothing went wrong, also while a plan waits; 1
/// for one that failed or whose checks fail; 3 for one that no check could judge.
fn ending(job: &BuildJob) -> Result<CliExit, CliError> {
    let id = &job.id;
    match job.status() {
        JobStatus::CompletedDraft => Ok(match job.result.draft {
            Some(DraftReason::NotJudged) => CliExit::NotJudged,
            Some(DraftReason::ChecksFailed) | None => CliExit::Failed,
        }),
        JobStatus::Cancelled => {
            let message = format!("the build {id} was cancelled");
            Err(CliError::failed("E_BUILD_CANCELLED", message)
                .hint(format!("the work is kept: drawloom builds show {id}")))
        }
        JobStatus::Failed => Err(failure(job)),
        _ => Ok(CliExit::Done),
    }
}

fn failure(job: &BuildJob) -> CliError {
    let id = &job.id;
    let Some(failure) = &job.error else {
        return CliError::failed("E_BUILD_FAILED", format!("the build {id} failed"));
    };
    let word = serde_json::to_value(failure.code).unwrap_or_default();
    let word = word.as_str().unwrap_or("failed").to_uppercase();
    let hint = match failure.code {
        FailureCode::Push | FailureCode::Forge => {
            format!("when that is fixed: drawloom builds publish {id}")
        }
        _ => format!(
            "to try again from `{}`: drawloom build --resume {id}",
            failure.step
        ),
    };
    CliError::failed(&format!("E_BUILD_{word}"), failure.message.trim_end()).hint(hint)
}

/// Returns the last event of a build: the job, with warnings in front.
fn result_event(done: &BuildOutcome) -> Value {
    let mut event = serde_json::Map::new();
    event.insert("event".to_owned(), "result".into());
    event.insert("warnings".to_owned(), done.warnings.clone().into());
    if let Value::Object(fields) = document(&done.job) {
        event.extend(fields);
    }
    Value::Object(event)
}

/// Returns a build as programs see it: the job without the parts that are only needed to continue
/// it.
pub(crate) fn document(job: &BuildJob) -> Value {
    let mut value = serde_json::to_value(job).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.remove("work");
        fields.insert("taskType".to_owned(), json!(job.task_type()));
    }
    value
}
