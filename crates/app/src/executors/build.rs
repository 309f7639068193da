//! `build`: runs a build job of the step's prompt, or of an approved plan of an earlier step.
//!
//! The job is named after the task, so that the next attempt goes on with it, on any worker and
//! from wherever the one before stopped.

use std::sync::Arc;

use agent::NoAgentObserver;
use builder::decide::PlanApproval;
use builder::{BuildJob, FailureCode, JobFailure, JobId, JobStatus, Options, PublishMode};
use exec::CommandCancel;
use flow::engine::{AttemptOutcome, AttemptReport, FailureClass, RunStatus, SpentAmount, TaskRow};
use flow::{RunId, WorkflowStep};
use serde_json::{Map, Value, json};

use super::budget::{ModelUse, within_budget};
use super::{
    ExecutorContext, ExecutorFuture, StepAttempt, StepExecutor, failed, failed_by, interpolate,
    invalid, on_a_runtime,
};
use super::{over_budget, setting, unknown_settings};
use crate::ai::AiOverrides;
use crate::builds::{self, BuildRequest};
use crate::tasks::run_archive;
use crate::{AppErrorCode, Error};

const SETTINGS: [&str; 4] = ["approve", "publish", "until", "build"];
/// Number of characters of a digest that tells apart the jobs of tasks that began in the same
/// millisecond.
const DIGEST_CHARS: usize = 12;
/// Limit on the jobs of one task: a job that failed is followed by another when a person tries the
/// task again.
const JOBS_MAX: u32 = 100;

pub(super) struct BuildExecutor;

impl StepExecutor for BuildExecutor {
    fn check(&self, step: &WorkflowStep) -> Vec<String> {
        let mut problems = unknown_settings(step, &SETTINGS);
        let mut refuse = |is_wrong: bool, why: &str| {
            if is_wrong {
                problems.push(why.to_owned());
            }
        };
        let word = |name: &str| setting(step, name).map(Value::as_str);
        let prompt = step.config.prompt.as_deref().unwrap_or_default();
        let is_given = setting(step, "build").is_some();
        refuse(
            prompt.trim().is_empty() && !is_given,
            "A build needs a `prompt`: what is to be built; or `config.build`: the plan to build.",
        );
        refuse(
            word("build").is_some_and(|id| id.is_none_or(|id| id.trim().is_empty())),
            "`config.build` must be the id of a build, such as \"{{steps.P.output.build}}\".",
        );
        refuse(
            word("publish").is_some_and(|word| !matches!(word, Some("pull-request" | "local"))),
            "`config.publish` must be \"pull-request\" or \"local\".",
        );
        refuse(
            word("until").is_some_and(|word| word != Some("plan")),
            "`config.until` must be \"plan\".",
        );
        let approve = setting(step, "approve");
        refuse(
            approve.is_some_and(|approve| !approve.is_boolean()),
            "`config.approve` must be true or false.",
        );
        refuse(
            approve == Some(&Value::Bool(true)) && word("until").is_some(),
            "`config.approve` builds the plan and `config.until` stops at it: leave one out.",
        );
        problems
    }

    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a> {
        Box::pin(async move {
            let wanted = match WantedBuild::read(job) {
                Ok(wanted) => wanted,
                Err(problem) => return invalid(problem),
            };
            let hands = Arc::clone(&job.hands);
            within_budget(job, ModelUse::Surely, |wish| {
                on_a_runtime(async move |cancel: CommandCancel| {
                    wanted.carry_out(&hands, &wish, &cancel).await
                })
            })
            .await
        })
    }
}

struct WantedBuild {
    id: JobId,
    whose: JobOwner,
    prompt: String,
    stop: StopAt,
    publish: PublishMode,
    task: String,
    run: RunId,
    /// True if a person has started the task, or started it again; false if a worker took it over.
    is_anew: bool,
}

/// The one who began the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobOwner {
    /// This task, or no one yet.
    Own,
    /// An earlier step.
    Given,
}

/// The point at which the step stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopAt {
    /// The plan is the step's result.
    Plan,
    /// The plan waits for `drawloom builds approve`.
    Approval,
    /// The author of the step, or the person who answered the one before, has approved.
    End,
}

impl WantedBuild {
    fn read(job: &StepAttempt) -> Result<WantedBuild, String> {
        let config = Value::Object(job.step.config.config.clone().unwrap_or_default());
        let fields = match interpolate::json(&config, &job.state)? {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let prompt = job.step.config.prompt.as_deref().unwrap_or_default();
        let (id, whose) = match fields.get("build") {
            Some(Value::String(id)) => {
                let id = JobId::parse(id).map_err(|cause| cause.to_string())?;
                (id, JobOwner::Given)
            }
            Some(other) => {
                return Err(format!(
                    "`config.build` is {other}, which is no id of a build."
                ));
            }
            None => (
                name_of(&job.task).map_err(|cause| cause.to_string())?,
                JobOwner::Own,
            ),
        };
        Ok(WantedBuild {
            id,
            whose,
            prompt: interpolate::text(prompt, &job.state)?,
            stop: match (fields.get("until"), fields.get("approve")) {
                (Some(_), _) => StopAt::Plan,
                (None, Some(Value::Bool(true))) => StopAt::End,
                (None, _) => StopAt::Approval,
            },
            publish: match fields.get("publish").and_then(Value::as_str) {
                Some("local") => PublishMode::Local,
                _ => PublishMode::PullRequest,
            },
            task: job.task.id.to_string(),
            run: job.task.id.run.clone(),
            is_anew: job.task.attempt <= 1,
        })
    }

    async fn carry_out(
        mut self,
        hands: &ExecutorContext,
        wish: &AiOverrides,
        cancel: &CommandCancel,
    ) -> AttemptReport {
        match self.build(hands, wish, cancel).await {
            Ok(job) => self.judge(&job),
            Err(error) => {
                if cancel.is_cancelled() {
                    self.end_with_run(hands, wish).await;
                }
                failed_by(&error)
            }
        }
    }

    async fn build(
        &mut self,
        hands: &ExecutorContext,
        wish: &AiOverrides,
        cancel: &CommandCancel,
    ) -> Result<BuildJob, Error> {
        let mut nobody = NoAgentObserver;
        let job = match self.begun(hands).await? {
            None => {
                let options = Options {
                    publish: self.publish,
                    ..Options::default()
                };
                let order = order(hands, wish, cancel, &mut nobody);
                builds::plan_as(order, self.id.clone(), &self.prompt, options)
                    .await?
                    .job
            }
            Some(job) if job.status().is_active() || job.status() == JobStatus::Failed => {
                builds::resume(order(hands, wish, cancel, &mut nobody), &self.id)
                    .await?
                    .job
            }
            Some(job) => job,
        };
        if job.status() == JobStatus::PlanReady && self.stop == StopAt::End {
            let order = order(hands, wish, cancel, &mut nobody);
            return Ok(builds::approve(order, &self.id, PlanApproval::default())
                .await?
                .job);
        }
        Ok(job)
    }

    /// Finds the job to continue; `None` if one must begin, whose name is then set.
    async fn begun(&mut self, hands: &ExecutorContext) -> Result<Option<BuildJob>, Error> {
        if self.whose == JobOwner::Given {
            return Ok(Some(
                builds::show(&hands.project, &hands.surroundings, &self.id)
                    .await?
                    .job,
            ));
        }
        let first = self.id.clone();
        for number in 2..=JOBS_MAX {
            match builds::show(&hands.project, &hands.surroundings, &self.id).await {
                Ok(shown) if self.is_anew && came_to_nothing(&shown.job) => {
                    self.id = JobId::parse(&format!("{first}-{number}"))?;
                }
                Ok(shown) => return Ok(Some(shown.job)),
                Err(Error::Own(fault)) if fault.code == AppErrorCode::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let message = format!("the task has had JOBS_MAX = {JOBS_MAX} builds already");
        Err(Error::new(AppErrorCode::Limit, message))
    }

    /// Cancels the build of a run that was cancelled: its files are kept as a patch. When work
    /// stops for another reason, the build stays and can be resumed.
    async fn end_with_run(&self, hands: &ExecutorContext, wish: &AiOverrides) {
        let run = hands.store.run(&self.run).await;
        let is_cancelled = matches!(run, Ok(Some(run)) if run.status == RunStatus::Cancelled);
        if is_cancelled {
            let never = CommandCancel::default();
            // An error is ignored: no task waits for the build any more, and it can still be
            // cancelled by hand.
            let _ =
                builds::cancel(order(hands, wish, &never, &mut NoAgentObserver), &self.id).await;
        }
    }

    fn judge(&self, job: &BuildJob) -> AttemptReport {
        let mut report = match (job.status(), &job.error) {
            (JobStatus::PlanReady, _) if self.stop == StopAt::Plan => {
                AttemptReport::completed(output(job))
            }
            (JobStatus::PlanReady, _) => self.waits(job),
            (JobStatus::Completed, _) => AttemptReport::completed(output(job)),
            (JobStatus::CompletedDraft, _) => AttemptReport::of(AttemptOutcome::Completed {
                output: output(job),
                partial: true,
            }),
            (JobStatus::Failed, Some(failure)) => self.failure(failure),
            (JobStatus::Failed, None) => failed(FailureClass::Failed, self.is("failed")),
            (JobStatus::Rejected, _) => failed(FailureClass::Failed, self.is("rejected")),
            (JobStatus::Cancelled, _) => failed(FailureClass::Cancelled, self.is("cancelled")),
            (_, _) => failed(FailureClass::LeaseLost, self.is("interrupted")),
        };
        // The earlier step has reported what its job took.
        if self.whose == JobOwner::Own {
            let usage = job.result.token_usage;
            report.spent = SpentAmount {
                tokens: usage.input + usage.output + usage.cache_read + usage.cache_write,
                micros: job.result.cost.micro_usd,
            };
        }
        report
    }

    fn waits(&self, job: &BuildJob) -> AttemptReport {
        let (id, task) = (&self.id, &self.task);
        AttemptReport::of(AttemptOutcome::Asked {
            reason: format!(
                "The plan of the build `{id}` waits: look at it with `drawloom builds show {id}`, build \
                 it with `drawloom builds approve {id}`, then `drawloom tasks retry {task}`."
            ),
            output: Some(output(job)),
        })
    }

    fn failure(&self, failure: &JobFailure) -> AttemptReport {
        let message = format!("The build `{}` failed: {}", self.id, failure.message);
        match failure.code {
            FailureCode::Budget => over_budget(message),
            FailureCode::Provider => failed(FailureClass::Unavailable, message),
            FailureCode::Limit => failed(FailureClass::Limit, message),
            _ => failed(FailureClass::Failed, message),
        }
    }

    fn is(&self, how: &str) -> String {
        format!("The build `{}` is {how}.", self.id)
    }
}

/// Returns true if going on with a job would only end in the same way.
fn came_to_nothing(job: &BuildJob) -> bool {
    match (job.status(), &job.error) {
        (JobStatus::Rejected | JobStatus::Cancelled, _) => true,
        (JobStatus::Failed, Some(failure)) => matches!(
            failure.code,
            FailureCode::PlanInvalid | FailureCode::Refused | FailureCode::NothingGenerated
        ),
        _ => false,
    }
}

/// Returns the id of a task's job: the same in every attempt, and another one when the step is run
/// again.
fn name_of(task: &TaskRow) -> Result<JobId, builder::Error> {
    let digest = run_archive::digest(&task.id.to_string());
    let begin = JobId::new(task.created_ms, 0);
    JobId::parse(&format!("{begin}-{}", &digest[..DIGEST_CHARS]))
}

fn output(job: &BuildJob) -> Value {
    let result = &job.result;
    json!({
        "build": job.id, "status": job.status(), "branch": result.branch, "commit": result.commit,
        "prUrl": result.pr_url, "validationPassed": result.validation_passed,
        "judgement": result.judgement, "plan": job.plan,
    })
}

fn order<'a>(
    hands: &'a ExecutorContext,
    wish: &AiOverrides,
    cancel: &CommandCancel,
    observer: &'a mut NoAgentObserver,
) -> BuildRequest<'a> {
    BuildRequest {
        project: &hands.project,
        surroundings: &hands.surroundings,
        wish: wish.clone(),
        observer,
        cancel: cancel.clone(),
    }
}
