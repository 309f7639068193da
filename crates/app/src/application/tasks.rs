//! Tasks: listed, and shown with their prompts, attempts and calls.

use flow::engine::{CallRow, TaskRow};
use flow::layers::{LayeredPrompt, PromptRequest};
use flow::{LogLine, RunId, TaskId, TaskSelection, WorkflowStep};
use serde_json::{Map, Value};
use store::{AttemptRecord, TaskFilter};

use super::UseCases;
use super::access::Permission;
use crate::executors::name_agent;
use crate::people::explained;
use crate::settings::WorkflowAgent;
use crate::{AppErrorCode, Error};

/// Largest number of tasks of one run in a list.
const TASKS_MAX: usize = 20_000;

impl UseCases {
    /// Lists the tasks that a filter wants, the oldest first.
    pub async fn list_tasks(&self, filter: &TaskFilter, max: usize) -> Result<Vec<TaskRow>, Error> {
        self.permit(Permission::Look)?;
        let listed = self.state().queries.list_tasks(filter, max).await;
        listed.map_err(explained)
    }

    /// Counts the tasks that a filter wants, up to `max`.
    pub async fn count_tasks(&self, filter: &TaskFilter, max: usize) -> Result<usize, Error> {
        self.permit(Permission::Look)?;
        let counted = self.state().queries.count_tasks(filter, max).await;
        counted.map_err(explained)
    }

    /// Lists the tasks of a run, or of all runs.
    pub async fn tasks(
        &self,
        run: Option<&RunId>,
        which: TaskSelection,
    ) -> Result<Vec<TaskRow>, Error> {
        self.permit(Permission::Look)?;
        Ok(self.state().store.tasks(run, which, TASKS_MAX).await?)
    }

    /// Finds the task of this name; its run may be written as for [`UseCases::find`].
    pub async fn task(&self, name: &str) -> Result<TaskRow, Error> {
        let wrong = |cause: flow::NoTaskId| Error::new(AppErrorCode::Usage, cause.to_string());
        let mut id: TaskId = name.parse().map_err(wrong)?;
        id.run = self.find(id.run.as_str()).await?.id;
        let found = self.state().store.task(&id).await?;
        found.ok_or_else(|| {
            Error::new(AppErrorCode::NotFound, format!("there is no task `{id}`"))
                .hint("`drawloom tasks list` lists them")
        })
    }

    /// Returns who had a task when, and how each attempt ended.
    pub async fn attempts(&self, task: &TaskId) -> Result<Vec<AttemptRecord>, Error> {
        self.permit(Permission::Look)?;
        Ok(store::attempts(&*self.state().store, task).await?)
    }

    /// Returns the prompt of a task, with its references filled in.
    pub async fn prompt(&self, task: &TaskRow) -> Result<String, Error> {
        let Some(run) = self.run(&task.id.run).await? else {
            return Ok(String::new());
        };
        let workflow = self.workflow(&run).await?;
        let Some(step) = workflow.step_of(task) else {
            return Ok(String::new());
        };
        let step = &*step;
        let Some(prompt) = &step.config.prompt else {
            return Ok(step.config.description.clone().unwrap_or_default());
        };
        let state = self.step_state(task, step).await?;
        let filled = flow::layers::prompt(step, &state);
        Ok(filled.map_or_else(|_| prompt.clone(), |filled| filled.text))
    }

    /// Returns all prompt layers of a task; empty where the task's step is no work.
    pub async fn layers(&self, task: &TaskRow) -> Result<LayeredPrompt, Error> {
        let Some(run) = self.run(&task.id.run).await? else {
            return Ok(LayeredPrompt::default());
        };
        let workflow = self.workflow(&run).await?;
        let step = workflow.step_of(task).filter(|step| step.has_work());
        let Some(step) = step.as_deref() else {
            return Ok(LayeredPrompt::default());
        };
        let state = self.step_state(task, step).await?;
        let agent = self.agent_of(task).await;
        let asked = PromptRequest {
            agent: agent.as_ref().map(|agent| agent.prompt.as_str()),
            ..PromptRequest::default()
        };
        let prompted = flow::layers::of_task(step, task, &state, asked);
        Ok(prompted.unwrap_or_default())
    }

    /// Returns the agent that a task is assigned to.
    async fn agent_of(&self, task: &TaskRow) -> Option<WorkflowAgent> {
        self.state().hands.agent(task.assignee.as_ref()?).await
    }

    /// Returns the values that the expressions of a step read.
    async fn step_state(
        &self,
        task: &TaskRow,
        step: &WorkflowStep,
    ) -> Result<Map<String, Value>, Error> {
        let mut state = self.state().store.view(&task.id, &step.reads).await?;
        name_agent(self.agent_of(task).await.as_ref(), &mut state);
        Ok(state)
    }

    /// Returns what the commands of a task have printed, in order, after a line.
    pub async fn log(
        &self,
        task: &TaskId,
        after: (u32, u64),
        max: usize,
    ) -> Result<Vec<LogLine>, Error> {
        self.permit(Permission::Look)?;
        Ok(self.state().store.log(task, after, max).await?)
    }

    /// Returns the conversations of a task's attempts.
    pub async fn calls(&self, task: &TaskId) -> Result<Vec<CallRow>, Error> {
        self.permit(Permission::Look)?;
        Ok(self.state().store.calls(task).await?)
    }
}
