//! `build`: a build job of the step's prompt, or of a plan that an earlier step made and somebody has
//! approved.
//!
//! The job is named after the task, so that an attempt that is made again goes on with it, whoever
//! makes it and wherever the one before stopped.

use std::sync::Arc;

use agent::Nobody;
use builder::decide::Approval;
use builder::{Failure, FailureCode, Job as BuildJob, JobId, Options, Publish, Status};
use exec::Cancel;
use flow::engine::{FailureClass, Outcome, Report, RunStatus, Spent, TaskRow};
use flow::{RunId, Step};
use serde_json::{Map, Value, json};

use super::purse::{Asks, within_budget};
use super::{Executor, Hands, Job, Working, failed, failed_by, fill, invalid, on_a_thread};
use super::{over_budget, setting, unknown_settings};
use crate::ai::Wish;
use crate::builds::{self, Order};
use crate::tasks::{bench, keeping};
use crate::{Code, Error};

const SETTINGS: [&str; 4] = ["approve", "publish", "until", "build"];
/// How much of a digest tells the jobs of tasks apart that began in the same millisecond.
const DIGEST_CHARS: usize = 12;
/// How many jobs one task may have: a job that came to nothing is followed by another when a person
/// tries the task again.
const JOBS_MAX: u32 = 100;

pub(super) struct Build;

impl Executor for Build {
    fn check(&self, step: &Step) -> Vec<String> {
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

    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a> {
        Box::pin(async move {
            let wanted = match Wanted::read(job) {
                Ok(wanted) => wanted,
                Err(problem) => return invalid(problem),
            };
            let hands = Arc::clone(&job.hands);
            within_budget(job, Asks::Surely, |wish| {
                on_a_thread(move |cancel| wanted.carry_out(&hands, &wish, &cancel))
            })
            .await
        })
    }
}

struct Wanted {
    id: JobId,
    whose: Whose,
    prompt: String,
    stop: StopAt,
    publish: Publish,
    task: String,
    run: RunId,
    /// Whether somebody has begun with the task, or begun again, rather than a worker after another.
    is_anew: bool,
}

/// Who began the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// This task, if anybody.
    Own,
    /// An earlier step.
    Given,
}

/// How far the step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopAt {
    /// The plan is what it gives.
    Plan,
    /// The plan waits for `drawloom builds approve`.
    Approval,
    /// Whoever wrote the step, or answered the one before, has approved.
    End,
}

impl Wanted {
    fn read(job: &Job) -> Result<Wanted, String> {
        let config = Value::Object(job.step.config.config.clone().unwrap_or_default());
        let fields = match fill::json(&config, &job.state)? {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let prompt = job.step.config.prompt.as_deref().unwrap_or_default();
        let (id, whose) = match fields.get("build") {
            Some(Value::String(id)) => {
                let id = JobId::parse(id).map_err(|cause| cause.to_string())?;
                (id, Whose::Given)
            }
            Some(other) => {
                return Err(format!(
                    "`config.build` is {other}, which is no id of a build."
                ));
            }
            None => (
                name_of(&job.task).map_err(|cause| cause.to_string())?,
                Whose::Own,
            ),
        };
        Ok(Wanted {
            id,
            whose,
            prompt: fill::text(prompt, &job.state)?,
            stop: match (fields.get("until"), fields.get("approve")) {
                (Some(_), _) => StopAt::Plan,
                (None, Some(Value::Bool(true))) => StopAt::End,
                (None, _) => StopAt::Approval,
            },
            publish: match fields.get("publish").and_then(Value::as_str) {
                Some("local") => Publish::Local,
                _ => Publish::PullRequest,
            },
            task: job.task.id.to_string(),
            run: job.task.id.run.clone(),
            is_anew: job.task.attempt <= 1,
        })
    }

    fn carry_out(mut self, hands: &Hands, wish: &Wish, cancel: &Cancel) -> Report {
        match self.build(hands, wish, cancel) {
            Ok(job) => self.judge(&job),
            Err(error) => {
                if cancel.is_cancelled() {
                    self.end_with_run(hands, wish);
                }
                failed_by(&error)
            }
        }
    }

    fn build(&mut self, hands: &Hands, wish: &Wish, cancel: &Cancel) -> Result<BuildJob, Error> {
        let mut nobody = Nobody;
        let job = match self.begun(hands)? {
            None => {
                let options = Options {
                    publish: self.publish,
                    ..Options::default()
                };
                let order = order(hands, wish, cancel, &mut nobody);
                builds::plan_as(order, self.id.clone(), &self.prompt, options)?.job
            }
            Some(job) if job.status().is_active() || job.status() == Status::Failed => {
                builds::resume(order(hands, wish, cancel, &mut nobody), &self.id)?.job
            }
            Some(job) => job,
        };
        if job.status() == Status::PlanReady && self.stop == StopAt::End {
            let order = order(hands, wish, cancel, &mut nobody);
            return Ok(builds::approve(order, &self.id, Approval::default())?.job);
        }
        Ok(job)
    }

    /// The job to go on with, or nothing and the name of the one to begin.
    fn begun(&mut self, hands: &Hands) -> Result<Option<BuildJob>, Error> {
        if self.whose == Whose::Given {
            return Ok(Some(builds::show(&hands.project, &self.id)?.job));
        }
        let first = self.id.clone();
        for number in 2..=JOBS_MAX {
            match builds::show(&hands.project, &self.id) {
                Ok(shown) if self.is_anew && came_to_nothing(&shown.job) => {
                    self.id = JobId::parse(&format!("{first}-{number}"))?;
                }
                Ok(shown) => return Ok(Some(shown.job)),
                Err(Error::Own(fault)) if fault.code == Code::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let message = format!("the task has had JOBS_MAX = {JOBS_MAX} builds already");
        Err(Error::new(Code::Limit, message))
    }

    /// The build of a run that was cancelled is cancelled, too: what it has written is kept as a
    /// patch. Everything else that stops work leaves a build that is gone on with.
    fn end_with_run(&self, hands: &Hands, wish: &Wish) {
        let Ok(runtime) = bench::runtime() else {
            return;
        };
        let run = runtime.block_on(hands.store.run(&self.run));
        let is_cancelled = matches!(run, Ok(Some(run)) if run.status == RunStatus::Cancelled);
        if is_cancelled {
            let never = Cancel::default();
            // Nobody waits for it any more; it can still be cancelled by hand.
            let _ = builds::cancel(order(hands, wish, &never, &mut Nobody), &self.id);
        }
    }

    fn judge(&self, job: &BuildJob) -> Report {
        let mut report = match (job.status(), &job.error) {
            (Status::PlanReady, _) if self.stop == StopAt::Plan => Report::completed(output(job)),
            (Status::PlanReady, _) => self.waits(job),
            (Status::Completed, _) => Report::completed(output(job)),
            (Status::CompletedDraft, _) => Report::of(Outcome::Completed {
                output: output(job),
                partial: true,
            }),
            (Status::Failed, Some(failure)) => self.failure(failure),
            (Status::Failed, None) => failed(FailureClass::Failed, self.is("failed")),
            (Status::Rejected, _) => failed(FailureClass::Failed, self.is("rejected")),
            (Status::Cancelled, _) => failed(FailureClass::Cancelled, self.is("cancelled")),
            (_, _) => failed(FailureClass::LeaseLost, self.is("interrupted")),
        };
        // What an earlier step took, that step has reported.
        if self.whose == Whose::Own {
            let usage = job.result.token_usage;
            report.spent = Spent {
                tokens: usage.input + usage.output + usage.cache_read + usage.cache_write,
                micros: job.result.cost.micro_usd,
            };
        }
        report
    }

    fn waits(&self, job: &BuildJob) -> Report {
        let (id, task) = (&self.id, &self.task);
        Report::of(Outcome::Asked {
            reason: format!(
                "The plan of the build `{id}` waits: look at it with `drawloom builds show {id}`, build \
                 it with `drawloom builds approve {id}`, then `drawloom tasks retry {task}`."
            ),
            output: Some(output(job)),
        })
    }

    fn failure(&self, failure: &Failure) -> Report {
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

/// Whether going on with a job would only end in the same way.
fn came_to_nothing(job: &BuildJob) -> bool {
    match (job.status(), &job.error) {
        (Status::Rejected | Status::Cancelled, _) => true,
        (Status::Failed, Some(failure)) => matches!(
            failure.code,
            FailureCode::PlanInvalid | FailureCode::Refused | FailureCode::NothingGenerated
        ),
        _ => false,
    }
}

/// The job of a task: the same in every attempt, and another one when the step is run again.
fn name_of(task: &TaskRow) -> Result<JobId, builder::Error> {
    let digest = keeping::digest(&task.id.to_string());
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
    hands: &'a Hands,
    wish: &Wish,
    cancel: &Cancel,
    observer: &'a mut Nobody,
) -> Order<'a> {
    Order {
        project: &hands.project,
        surroundings: &hands.surroundings,
        wish: wish.clone(),
        observer,
        cancel: cancel.clone(),
    }
}
