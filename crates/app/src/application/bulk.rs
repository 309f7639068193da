//! Acts on runs and tasks: many at once, by a filter and the count that was seen, and those beside an answer:
//! send back, run again, cancel.

use flow::engine::{EngineCommand, RunRow, RunStatus, TaskAnswer, TaskRow, TaskStatus};
use flow::{RunId, TaskId, Workflow};
use serde_json::{Map, Value, json};
use store::{RunFilter, TaskFilter};

use super::UseCases;
use super::access::Permission;
use super::added_tasks::built_in_texts;
use super::runs::{RunRequest, STARTED_BY, refused};
use crate::triggers::DEPTH_TAG;
use crate::workflows::LoadedWorkflow;
use crate::{AppErrorCode, Error};

/// The most runs or tasks that one act changes.
pub const BULK_RUNS_MAX: usize = 1_000;

/// Something that is done to every run of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkAct {
    Cancel,
    Pause,
    Resume,
    /// Only runs that have ended.
    Delete,
}

/// An act on the runs of a filter.
#[derive(Clone, Debug)]
pub struct BulkRequest {
    pub act: BulkAct,
    pub filter: RunFilter,
    /// How many runs the caller has seen. Nothing is done if there are more or fewer now.
    pub count: usize,
    pub reason: String,
}

/// The result of an act on many runs.
#[derive(Clone, Debug)]
pub struct BulkReport<Id = RunId> {
    pub done: Vec<Id>,
    /// Those that it was not possible for, and why.
    pub failed: Vec<(Id, String)>,
}

/// The text that something is run again with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RerunText {
    /// The text that the run began with.
    #[default]
    Pinned,
    /// The text that the workflow has now.
    Current,
}

/// A wish to run something again.
#[derive(Clone, Debug, Default)]
pub struct RerunRequest {
    /// The step to go back to, as tasks of the run are named. Without one, a new run begins.
    pub step: Option<String>,
    /// The input of the new run; nothing for that of the old one.
    pub input: Option<Value>,
    pub text: RerunText,
}

/// Something that is done to every task of a filter.
#[derive(Clone, Debug)]
pub enum TaskBulkAct {
    Answer(Value),
    Accept,
    Fail(String),
    Assign(Option<String>),
    Retry,
}

/// An act on the tasks of a filter.
#[derive(Clone, Debug)]
pub struct TaskBulkRequest {
    pub act: TaskBulkAct,
    pub filter: TaskFilter,
    /// Number of tasks that the caller has seen. Nothing is done if there are more or fewer now.
    pub count: usize,
}

impl UseCases {
    /// Does something to every run of a filter.
    ///
    /// # Errors
    ///
    /// When the number of runs is not the one that the caller has seen: then nothing is done.
    pub async fn act_on_runs(&self, request: &BulkRequest) -> Result<BulkReport, Error> {
        self.permit(permission_for(request.act))?;
        let now = self.count_runs(&request.filter, BULK_RUNS_MAX + 1).await?;
        if now > BULK_RUNS_MAX {
            let message = format!("more than BULK_RUNS_MAX = {BULK_RUNS_MAX} runs fit the filter");
            return Err(
                Error::new(AppErrorCode::Limit, message).hint("narrow it, and do it in parts")
            );
        }
        if now != request.count {
            let message = format!("{now} runs fit the filter now, and not {}", request.count);
            return Err(Error::new(AppErrorCode::Conflict, message)
                .hint("look at them again, and send the new count"));
        }
        let runs = self.runs(&request.filter, BULK_RUNS_MAX).await?;
        Ok(self.act_on(request.act, runs, &request.reason).await)
    }

    /// Does something to runs that the caller has chosen one by one.
    pub async fn act_on_named_runs(
        &self,
        act: BulkAct,
        ids: &[RunId],
        reason: &str,
    ) -> Result<BulkReport, Error> {
        self.permit(permission_for(act))?;
        if ids.len() > BULK_RUNS_MAX {
            let message = format!(
                "{} runs are more than BULK_RUNS_MAX = {BULK_RUNS_MAX}",
                ids.len()
            );
            return Err(Error::new(AppErrorCode::Limit, message).hint("do it in parts"));
        }
        let mut runs = Vec::new();
        for id in ids {
            runs.extend(self.run(id).await?);
        }
        Ok(self.act_on(act, runs, reason).await)
    }

    async fn act_on(&self, act: BulkAct, runs: Vec<RunRow>, reason: &str) -> BulkReport {
        let mut report = BulkReport {
            done: Vec::new(),
            failed: Vec::new(),
        };
        for run in runs {
            match self.act_on_run(act, &run, reason).await {
                Ok(()) => report.done.push(run.id),
                Err(error) => report.failed.push((run.id, error.to_string())),
            }
        }
        report
    }

    async fn act_on_run(&self, act: BulkAct, run: &RunRow, reason: &str) -> Result<(), Error> {
        let (id, reason) = (run.id.clone(), reason.to_owned());
        match act {
            BulkAct::Cancel => {
                self.execute(EngineCommand::Cancel { run: id, reason })
                    .await
            }
            BulkAct::Pause => self.execute(EngineCommand::Pause { run: id, reason }).await,
            BulkAct::Resume => self.execute(EngineCommand::Resume { run: id }).await,
            BulkAct::Delete if !run.status.is_terminal() => {
                Err(Error::new(AppErrorCode::Conflict, "the run has not ended"))
            }
            BulkAct::Delete => self.delete_runs(&[id]).await.map(drop),
        }
    }
}

fn permission_for(act: BulkAct) -> Permission {
    match act {
        BulkAct::Delete => Permission::DeleteRuns,
        _ => Permission::ControlRuns,
    }
}

impl UseCases {
    /// Sends a task back that waits for a person: it is tried again, and the comment is part of the prompt.
    pub async fn send_back(&self, task: &TaskRow, comment: &str) -> Result<(), Error> {
        self.permit(Permission::AnswerTasks)?;
        self.refuse_own_approval(&task.id).await?;
        if comment.trim().is_empty() {
            let message = "a task is sent back with a comment";
            return Err(
                Error::new(AppErrorCode::Data, message).hint("say what should be different")
            );
        }
        if task.status != TaskStatus::OnHold {
            let message = format!(
                "the task `{}` is {}: only one on hold can be sent back",
                task.id,
                task.status.name()
            );
            return Err(Error::new(AppErrorCode::Conflict, message)
                .hint("run the step again to have it done once more"));
        }
        let workflow = match self.run(&task.id.run).await? {
            Some(run) => Some(self.workflow(&run).await?),
            None => None,
        };
        let with = workflow.and_then(|it| sent_back(&it, task, (&self.person(), comment)));
        self.comment_task(&task.id.to_string(), comment).await?;
        let command = EngineCommand::Retry {
            task: task.id.clone(),
            with,
        };
        refused(self.state().store.execute(command).await?)
    }

    /// Cancels a task that is all that its run does. A step of a workflow is not cancelled alone: the
    /// steps behind it would wait for ever.
    pub async fn cancel_task(&self, task: &TaskRow, reason: String) -> Result<(), Error> {
        self.permit(Permission::ManageTasks)?;
        let run = self.find(task.id.run.as_str()).await?;
        let is_alone = built_in_texts().contains(&run.workflow)
            || self.workflow(&run).await?.steps().len() == 1;
        if !is_alone {
            let message = format!("the task `{}` is a step of the run `{}`", task.id, run.id);
            return Err(Error::new(AppErrorCode::Conflict, message)
                .hint("say that it cannot be done (fail), or cancel the run"));
        }
        let command = EngineCommand::Cancel {
            run: run.id,
            reason,
        };
        refused(self.state().store.execute(command).await?)
    }

    /// Runs a step of a run again, or its workflow as a new run. Returns the run that goes on.
    pub async fn run_again(&self, run: &RunRow, wish: RerunRequest) -> Result<RunId, Error> {
        self.permit(Permission::ControlRuns)?;
        let Some(step) = &wish.step else {
            return self.start_again(run, wish).await;
        };
        if wish.input.is_some() {
            let message =
                "a step that runs again reads the outputs of earlier steps, and takes no input";
            return Err(Error::new(AppErrorCode::Data, message)
                .hint("leave the step out to begin a new run with this input"));
        }
        let task = self.task(&format!("{}/{step}", run.id)).await?.id;
        if wish.text == RerunText::Current {
            return self.rerun_with_current(run, task).await;
        }
        self.execute(EngineCommand::Rerun { task }).await?;
        Ok(run.id.clone())
    }

    async fn start_again(&self, run: &RunRow, wish: RerunRequest) -> Result<RunId, Error> {
        let name = run.name.as_deref().unwrap_or("run");
        let sheet = match wish.text {
            RerunText::Pinned => {
                let text = self.workflow(run).await?.document().source().to_owned();
                self.check_text(name, text).await?
            }
            RerunText::Current => self.sheet(name).await?,
        };
        if !sheet.is_fine() {
            let message = format!("the workflow `{name}` cannot run");
            return Err(Error::new(AppErrorCode::Data, message)
                .hint("check its text: the problems say where"));
        }
        let begin = RunRequest {
            input: match wish.input {
                Some(input) => input,
                None => self.input(&run.id).await?,
            },
            tags: run
                .tags
                .iter()
                .filter(|tag| !is_noted(tag))
                .cloned()
                .collect(),
            assignee: run.assignee.clone(),
            priority: run.priority,
            name: run.name.clone(),
        };
        self.start(&sheet, begin).await
    }

    /// Pauses a run, moves it to the text that its workflow has now, and goes back to a step.
    async fn rerun_with_current(&self, run: &RunRow, task: TaskId) -> Result<RunId, Error> {
        if run.status.is_terminal() {
            let message = format!("the run `{}` has ended, and keeps its text", run.id);
            return Err(Error::new(AppErrorCode::Conflict, message)
                .hint("run the step with the pinned text, or leave the step out for a new run"));
        }
        let name = run.name.as_deref().unwrap_or("run");
        let sheet = self.sheet(name).await?;
        let plan = self.plan_move(run, &sheet).await?;
        if let Some(misfit) = plan.misfits.first() {
            return Err(Error::new(AppErrorCode::Conflict, misfit.clone())
                .hint("keep the steps that the run has come to, or begin a new run"));
        }
        let reason = format!("{} moves it to the current text", self.person());
        let pause = EngineCommand::Pause {
            run: run.id.clone(),
            reason,
        };
        self.execute(pause).await?;
        let moved = self.move_and_rerun(run, (&sheet, task)).await;
        // A run that was under way goes on, even if the move was refused.
        if moved.is_ok() || run.status == RunStatus::Running {
            let resume = EngineCommand::Resume {
                run: run.id.clone(),
            };
            self.execute(resume).await?;
        }
        moved.map(|()| run.id.clone())
    }

    async fn move_and_rerun(
        &self,
        run: &RunRow,
        (sheet, task): (&LoadedWorkflow, TaskId),
    ) -> Result<(), Error> {
        let now = self.find(run.id.as_str()).await?;
        let is_same = sheet
            .workflow
            .as_ref()
            .is_some_and(|workflow| *workflow.hash() == now.workflow);
        if !is_same {
            self.move_run(&now, sheet).await?;
        }
        self.execute(EngineCommand::Rerun { task }).await
    }

    /// Does something to every task of a filter.
    ///
    /// # Errors
    ///
    /// When the number of tasks is not the one that the caller has seen: then nothing is done.
    pub async fn act_on_tasks(
        &self,
        request: &TaskBulkRequest,
    ) -> Result<BulkReport<TaskId>, Error> {
        self.permit(match request.act {
            TaskBulkAct::Assign(_) | TaskBulkAct::Retry => Permission::ManageTasks,
            _ => Permission::AnswerTasks,
        })?;
        let tasks = self.list_tasks(&request.filter, BULK_RUNS_MAX + 1).await?;
        if tasks.len() > BULK_RUNS_MAX {
            let message = format!("more than BULK_RUNS_MAX = {BULK_RUNS_MAX} tasks fit the filter");
            return Err(
                Error::new(AppErrorCode::Limit, message).hint("narrow it, and do it in parts")
            );
        }
        if tasks.len() != request.count {
            let (now, seen) = (tasks.len(), request.count);
            let message = format!("{now} tasks fit the filter now, and not {seen}");
            return Err(Error::new(AppErrorCode::Conflict, message)
                .hint("look at them again, and send the new count"));
        }
        let mut report = BulkReport {
            done: Vec::new(),
            failed: Vec::new(),
        };
        for task in tasks {
            match self.execute(self.command_of(&request.act, &task.id)).await {
                Ok(()) => report.done.push(task.id),
                Err(error) => report.failed.push((task.id, error.to_string())),
            }
        }
        Ok(report)
    }

    fn command_of(&self, act: &TaskBulkAct, task: &TaskId) -> EngineCommand {
        let (task, by) = (task.clone(), self.person());
        let answer = |answer| EngineCommand::Answer {
            task: task.clone(),
            by,
            answer,
        };
        match act {
            TaskBulkAct::Answer(output) => answer(TaskAnswer::Done {
                output: output.clone(),
            }),
            TaskBulkAct::Accept => answer(TaskAnswer::Accept),
            TaskBulkAct::Fail(message) => answer(TaskAnswer::Failed {
                message: message.clone(),
            }),
            TaskBulkAct::Assign(assignee) => EngineCommand::Assign {
                assignee: assignee.clone(),
                task,
            },
            TaskBulkAct::Retry => EngineCommand::Retry { task, with: None },
        }
    }
}

/// Returns whether a tag notes what has started a run, and is not the next run's.
fn is_noted(tag: &str) -> bool {
    [STARTED_BY, "trigger:", DEPTH_TAG]
        .iter()
        .any(|noted| tag.starts_with(noted))
}

/// Makes the settings of another try: the step's own prompt, and what the person said about the answer
/// before. A step that asks nothing, or has not tried yet, is tried as it is.
fn sent_back(
    workflow: &Workflow,
    task: &TaskRow,
    (by, comment): (&str, &str),
) -> Option<Map<String, Value>> {
    let step = workflow.step_of(task)?;
    let prompt = step.config.prompt.as_deref().filter(|_| task.attempt > 0)?;
    // The person's words are data: braces in them are no references.
    let comment = comment.replace("{{", "{ {");
    let prompt = format!("{prompt}\n\n{by} has sent the last answer back:\n{comment}");
    Some(Map::from_iter([("prompt".to_owned(), json!(prompt))]))
}
