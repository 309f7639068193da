//! `build`: a build job of the step's prompt: planned, and built when `config.approve` says so.
//!
//! An attempt that is made again goes on with the build of the one before.

use std::sync::Arc;

use agent::Nobody;
use builder::{Job as BuildJob, Options, Publish, Status};
use exec::Cancel;
use flow::Step;
use flow::engine::{FailureClass, Outcome, Report};
use serde_json::{Value, json};

use super::{Executor, Hands, Job, Working, failed, failed_by, fill, invalid, on_a_thread};
use super::{setting, unknown_settings};
use crate::builds::{self, Done, Order};

/// How many of the newest builds are looked through for the one of an earlier attempt.
const LOOKED_AT_MAX: usize = 100;

pub(super) struct Build;

impl Executor for Build {
    fn check(&self, step: &Step) -> Vec<String> {
        let mut problems = unknown_settings(step, &["approve", "publish"]);
        if step
            .config
            .prompt
            .as_deref()
            .is_none_or(|text| text.trim().is_empty())
        {
            problems.push("A build needs a `prompt`: what is to be built.".to_owned());
        }
        if let Some(publish) = setting(step, "publish")
            && !matches!(publish.as_str(), Some("pull-request" | "local"))
        {
            problems.push("`config.publish` must be \"pull-request\" or \"local\".".to_owned());
        }
        if setting(step, "approve").is_some_and(|approve| !approve.is_boolean()) {
            problems.push("`config.approve` must be true or false.".to_owned());
        }
        problems
    }

    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a> {
        Box::pin(async move {
            let prompt = job.step.config.prompt.as_deref().unwrap_or_default();
            let prompt = match fill::text(prompt, &job.state) {
                Ok(prompt) => prompt,
                Err(problem) => return invalid(problem),
            };
            let wanted = Wanted {
                prompt,
                approves: job.setting("approve").and_then(Value::as_bool) == Some(true),
                publish: match job.setting("publish").and_then(Value::as_str) {
                    Some("local") => Publish::Local,
                    _ => Publish::PullRequest,
                },
                since_ms: job.task.created_ms,
            };
            let hands = Arc::clone(&job.hands);
            on_a_thread(move |cancel| wanted.carry_out(&hands, &cancel)).await
        })
    }
}

struct Wanted {
    prompt: String,
    approves: bool,
    publish: Publish,
    /// When the task came to be: a build of the same words that is newer is its own.
    since_ms: u64,
}

impl Wanted {
    fn carry_out(&self, hands: &Hands, cancel: &Cancel) -> Report {
        match self.build(hands, cancel) {
            Ok(job) => self.judge(&job),
            Err(error) => failed_by(&error),
        }
    }

    fn build(&self, hands: &Hands, cancel: &Cancel) -> Result<BuildJob, crate::Error> {
        let begun = builds::list(&hands.project, None, LOOKED_AT_MAX)?;
        let mut begun = begun.into_iter().map(|shown| shown.job);
        let begun = begun.find(|job| job.prompt == self.prompt && job.created_ms >= self.since_ms);
        let mut job = match begun {
            None => self.plan(hands, cancel)?.job,
            Some(job) if job.status().is_active() => {
                builds::resume(order(hands, cancel, &mut Nobody), &job.id)?.job
            }
            Some(job) => job,
        };
        if job.status() == Status::PlanReady && self.approves {
            job = builds::approve(order(hands, cancel, &mut Nobody), &job.id)?.job;
        }
        Ok(job)
    }

    fn plan(&self, hands: &Hands, cancel: &Cancel) -> Result<Done, crate::Error> {
        let options = Options {
            dry_run: false,
            task_type: None,
            publish: self.publish,
        };
        builds::plan(order(hands, cancel, &mut Nobody), &self.prompt, options)
    }

    fn judge(&self, job: &BuildJob) -> Report {
        let output = json!({
            "build": job.id, "status": job.status(), "branch": job.result.branch,
            "prUrl": job.result.pr_url,
        });
        let id = &job.id;
        match job.status() {
            Status::PlanReady => Report::of(Outcome::Asked {
                reason: format!(
                    "The plan of the build `{id}` waits: look at it with `drawloom builds show {id}`, \
                     then `drawloom tasks retry` after `drawloom builds approve {id}`."
                ),
                output: Some(output),
            }),
            Status::Failed | Status::Cancelled | Status::Rejected => {
                let message = format!("The build `{id}` is {}.", job.status());
                failed(FailureClass::Failed, message)
            }
            status if status.is_active() => failed(
                FailureClass::LeaseLost,
                format!("The build `{id}` was interrupted."),
            ),
            _ => Report::completed(output),
        }
    }
}

fn order<'a>(hands: &'a Hands, cancel: &Cancel, observer: &'a mut Nobody) -> Order<'a> {
    Order {
        project: &hands.project,
        surroundings: &hands.surroundings,
        wish: hands.wish.clone(),
        observer,
        cancel: cancel.clone(),
    }
}
