//! Builds on the command line: worked on and watched, reported, and the end of it as an exit code.

use app::builds::{self, Done, Order};
use app::{Code, Project};
use builder::{DraftReason, FailureCode, Job, JobId, Status};
use clap::Args;
use serde_json::{Value, json};

use crate::exit::{Exit, Trouble};
use crate::interrupt;
use crate::live::Live;
use crate::output::{self, Form};
use crate::session::Session;
use crate::sheet;
use crate::working::{Hands, say_warnings};

/// Which build, for every command about one that is there.
#[derive(Args, Debug)]
pub(crate) struct Which {
    /// The build's id, the beginning or the end of it, or `last`
    #[arg(value_name = "ID")]
    id: String,
}

impl Which {
    pub(crate) fn find(&self, project: &Project) -> Result<JobId, Trouble> {
        Ok(builds::find(project, &self.id)?)
    }
}

/// Works on a build, watched, and ended by Ctrl-C.
pub(crate) fn watched(
    session: &Session,
    project: &Project,
    (hands, form): (&Hands, Form),
    work: impl FnOnce(Order<'_>) -> Result<Done, app::Error>,
) -> Result<Done, Trouble> {
    let mut live = Live::new(form);
    let _busy = interrupt::Busy::start();
    let done = work(Order {
        project,
        surroundings: &session.surroundings,
        wish: hands.wish(),
        observer: &mut live,
        cancel: interrupt::cancel(),
    });
    live.finish();
    if let Err(app::Error::Own(fault)) = &done
        && fault.code == Code::Interrupted
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
    session: &Session,
    project: &Project,
    form: Form,
    work: impl FnOnce(Order<'_>) -> Result<Done, app::Error>,
) -> Result<Done, Trouble> {
    watched(session, project, (&Hands::default(), form), work)
}

/// Prints what became of a build. How the command ends follows from how the build stands.
pub(crate) fn report(done: &Done, form: Form) -> Result<Exit, Trouble> {
    say_warnings(&done.warnings, form);
    match form {
        Form::Json => output::json_line(&result_event(done))?,
        Form::Text => {
            output::styled(&sheet::whole(&done.job))?;
            next_steps(&done.job).into_iter().for_each(output::say);
        }
    }
    ending(&done.job)
}

/// What a person can do now.
fn next_steps(job: &Job) -> Vec<String> {
    let id = &job.id;
    match job.status() {
        Status::PlanReady => vec![
            format!("to build it:   drawloom builds approve {id}"),
            format!("to change it:  drawloom builds edit {id}"),
            format!("to drop it:    drawloom builds reject {id}"),
        ],
        Status::ReviewReady => vec![
            format!("to look at it:   drawloom builds review {id}"),
            format!("to publish it:   drawloom builds review {id} --accept"),
            format!("to drop it:      drawloom builds reject {id}"),
        ],
        Status::Completed | Status::CompletedDraft if !job.result.diffs.is_empty() => {
            vec![format!("to see it:     drawloom builds diff {id}")]
        }
        _ => Vec::new(),
    }
}

/// The exit code of a build: 0 as long as nothing went wrong, also while a plan waits; 1 for one
/// that failed or whose checks fail; 3 for one that no check could judge.
fn ending(job: &Job) -> Result<Exit, Trouble> {
    let id = &job.id;
    match job.status() {
        Status::CompletedDraft => Ok(match job.result.draft {
            Some(DraftReason::NotJudged) => Exit::NotJudged,
            Some(DraftReason::ChecksFailed) | None => Exit::Failed,
        }),
        Status::Cancelled => {
            let message = format!("the build {id} was cancelled");
            Err(Trouble::failed("E_BUILD_CANCELLED", message).hint(format!(
                "what was written is kept: drawloom builds show {id}"
            )))
        }
        Status::Failed => Err(failure(job)),
        _ => Ok(Exit::Done),
    }
}

fn failure(job: &Job) -> Trouble {
    let id = &job.id;
    let Some(failure) = &job.error else {
        return Trouble::failed("E_BUILD_FAILED", format!("the build {id} failed"));
    };
    let word = serde_json::to_value(failure.code).unwrap_or_default();
    let word = word.as_str().unwrap_or("failed").to_uppercase();
    let hint = match failure.code {
        FailureCode::Push | FailureCode::Forge => {
            format!("when that is mended: drawloom builds publish {id}")
        }
        _ => format!(
            "to try again from `{}`: drawloom build --resume {id}",
            failure.step
        ),
    };
    Trouble::failed(&format!("E_BUILD_{word}"), failure.message.trim_end()).hint(hint)
}

/// The last event of a build: the job, with warnings in front.
fn result_event(done: &Done) -> Value {
    let mut event = serde_json::Map::new();
    event.insert("event".to_owned(), "result".into());
    event.insert("warnings".to_owned(), done.warnings.clone().into());
    if let Value::Object(fields) = document(&done.job) {
        event.extend(fields);
    }
    Value::Object(event)
}

/// A build as programs see it: all of the job but what is only needed to go on with it.
pub(crate) fn document(job: &Job) -> Value {
    let mut value = serde_json::to_value(job).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.remove("work");
        fields.insert("taskType".to_owned(), json!(job.task_type()));
    }
    value
}
