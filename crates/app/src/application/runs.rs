//! Runs: started, found, listed, controlled and deleted.

use std::sync::Arc;

use flow::engine::{EngineCommand, RefusalKind, RunEvent, RunRow, RunStart};
use flow::{
    ExecutionMode, RunDeletion, RunId, StepType, StoreError, StoreErrorKind, TaskId, TextHash,
    Workflow, WorkflowStore,
};
use serde_json::Value;
use store::{RunCursor, RunFilter, RunQueries};
use tokio::task::JoinSet;

use super::UseCases;
use super::access::Permission;
use crate::people::explained;
use crate::tasks::clock::SystemClock;
use crate::workflows::{LoadedWorkflow, RunActivity, standing_of, token};
use crate::{AppErrorCode, Error, trust};

/// Number of events that are read at a time.
const EVENTS_MAX: usize = 5_000;
/// Name of the newest run.
const LAST: &str = "last";
/// The beginning of the tag that names the agent which started a run.
pub(super) const STARTED_BY: &str = "started-by:";

/// A run to begin.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    pub input: Value,
    pub tags: Vec<String>,
    pub assignee: Option<String>,
    /// Tasks of runs with a higher one are claimed first; 0 is the usual one.
    pub priority: i32,
    /// The name of the run; nothing for the workflow's title.
    pub name: Option<String>,
}

impl UseCases {
    /// Begins a run of a workflow that was found to be fine.
    pub async fn start(&self, sheet: &LoadedWorkflow, begin: RunRequest) -> Result<RunId, Error> {
        let mut runs = self.start_many(sheet, vec![begin]).await?;
        runs.pop()
            .ok_or_else(|| Error::new(AppErrorCode::Database, "the run was not started"))
    }

    /// Begins many runs, in as few transactions as possible; returns their ids in the order of
    /// `begins`.
    pub async fn start_many(
        &self,
        sheet: &LoadedWorkflow,
        begins: Vec<RunRequest>,
    ) -> Result<Vec<RunId>, Error> {
        self.permit(Permission::ControlRuns)?;
        trust::require_workflow(self.project(), sheet)?;
        for begin in &begins {
            self.refuse_own_work(sheet, begin).await?;
        }
        // One input that does not fit begins nothing, not even the runs beside it.
        for begin in &begins {
            let checked = sheet
                .workflow
                .as_ref()
                .map(|it| it.checked_input(begin.input.clone()));
            if let Some(Err(message)) = checked {
                let hint = "`drawloom workflow show` lists what the workflow takes";
                return Err(Error::new(AppErrorCode::Data, message).hint(hint));
            }
        }
        let state = self.state();
        let hash = keep_named(&*state.store, &*state.queries, sheet).await?;
        let mut runs = Vec::with_capacity(begins.len());
        let mut starting = JoinSet::new();
        let agent = self.actor().is_agent().then(|| self.starter_tag());
        for mut begin in begins {
            let id = new_id()?;
            begin.tags.extend(agent.clone());
            let start = RunStart {
                assignee: begin.assignee,
                tags: begin.tags,
                name: Some(begin.name.unwrap_or_else(|| sheet.title().to_owned())),
                priority: begin.priority,
                ..RunStart::new(id.as_str(), begin.input)
            };
            runs.push(id);
            let (store, hash) = (Arc::clone(&state.store), hash.clone());
            starting.spawn(async move { store.start(&hash, start).await });
        }
        while let Some(started) = starting.join_next().await {
            let broken = |_| Error::new(AppErrorCode::Database, "a run was not started");
            refused(started.map_err(broken)??)?;
        }
        Ok(runs)
    }

    /// Does something to a run or a task.
    pub async fn execute(&self, command: EngineCommand) -> Result<(), Error> {
        self.permit(permission_for(&command))?;
        match &command {
            EngineCommand::Answer { task, .. } => self.refuse_own_approval(task).await?,
            EngineCommand::Assign { task, .. } => self.refuse_taking_over(task).await?,
            _ => {}
        }
        refused(self.state().store.execute(command).await?)
    }

    /// Returns the tag of runs that this actor starts, if it is an agent.
    fn starter_tag(&self) -> String {
        format!("{STARTED_BY}{}", self.actor().name())
    }

    /// Returns whether this agent has started a run, or one above it. The run's row says so, so that a new
    /// session or another process changes nothing.
    async fn has_started(&self, run: &RunId) -> Result<bool, Error> {
        let tag = self.starter_tag();
        let mut next = Some(run.clone());
        while let Some(id) = next {
            let Some(row) = self.state().store.run(&id).await? else {
                break;
            };
            if row.tags.contains(&tag) {
                return Ok(true);
            }
            next = row.parent.map(|parent| parent.run);
        }
        Ok(false)
    }

    /// Refuses an agent that would answer for a person, or for a run of its own: agents may do only the
    /// tasks assigned to them, in runs that others have started.
    pub(super) async fn refuse_own_approval(&self, task: &TaskId) -> Result<(), Error> {
        if !self.actor().is_agent() {
            return Ok(());
        }
        if self.has_started(&task.run).await? {
            let message = "you started this run, and may not answer its tasks";
            let hint = format!("a person answers: drawloom tasks answer {task}");
            return Err(Error::new(AppErrorCode::Forbidden, message).hint(hint));
        }
        let row = self.state().store.task(task).await?;
        let is_own = row.is_some_and(|row| row.assignee.as_deref() == Some(self.actor().name()));
        if is_own {
            return Ok(());
        }
        let message = format!("the task `{task}` waits for a person; an agent may not answer it");
        Err(Error::new(AppErrorCode::Forbidden, message).hint(format!(
            "a person answers it in the inbox, or with: drawloom tasks answer {task}"
        )))
    }

    /// Refuses an agent that would hand on what waits for a person, to itself for example.
    async fn refuse_taking_over(&self, task: &TaskId) -> Result<(), Error> {
        if !self.actor().is_agent() {
            return Ok(());
        }
        let row = self.state().store.task(task).await?;
        if row.is_none_or(|row| row.execution == ExecutionMode::Automated && row.hold.is_none()) {
            return Ok(());
        }
        let message = format!("the task `{task}` waits for a person; an agent may not assign it");
        Err(Error::new(AppErrorCode::Forbidden, message)
            .hint("a person assigns it, with `drawloom tasks assign` for example"))
    }

    /// Refuses an agent that would begin a run whose tasks for people come to an agent.
    async fn refuse_own_work(
        &self,
        sheet: &LoadedWorkflow,
        begin: &RunRequest,
    ) -> Result<(), Error> {
        let Some(assignee) = begin.assignee.as_ref().filter(|_| self.actor().is_agent()) else {
            return Ok(());
        };
        let steps = sheet.workflow.iter().flat_map(|workflow| workflow.steps());
        let is_for_people = |step: &flow::WorkflowStep| {
            step.step_type == StepType::Subflow || step.execution == ExecutionMode::Manual
        };
        if !steps.into_iter().any(is_for_people) {
            return Ok(());
        }
        let users = self.app().people().users(store::UserFilter::People).await;
        let users = users.map_err(explained)?;
        if users.iter().any(|user| user.slug.as_str() == assignee) {
            return Ok(());
        }
        let message = format!("an agent may not give the work of people to `{assignee}`");
        Err(Error::new(AppErrorCode::Forbidden, message)
            .hint("leave the assignee out, or name a person"))
    }

    /// Refuses a token that is not the task's.
    pub async fn check_token(&self, task: &TaskId, given: &str) -> Result<(), Error> {
        token::check(self.project(), &*self.state().hands.keys, task, given).await
    }

    /// Finds the run that a person means: its id, the beginning of one, or `last`.
    pub async fn find(&self, text: &str) -> Result<RunRow, Error> {
        self.permit(Permission::Look)?;
        let state = self.state();
        if let Some(run) = state.store.run(&RunId::new(text)).await? {
            return Ok(run);
        }
        let found = match text {
            LAST => {
                let top = RunFilter {
                    is_top: true,
                    ..RunFilter::default()
                };
                state.queries.list_runs(&top, None, 1).await
            }
            _ => state.queries.runs_with_prefix(text, 2).await,
        };
        let mut fitting = found.map_err(explained)?.into_iter();
        match (fitting.next(), fitting.next().is_none()) {
            (Some(run), true) => Ok(run),
            (Some(_), false) => {
                let message = format!("several runs begin with `{text}`");
                Err(Error::new(AppErrorCode::NotFound, message).hint("give more of the id"))
            }
            (None, _) if text == LAST => {
                let message = "there is no run of a workflow yet";
                Err(Error::new(AppErrorCode::NotFound, message)
                    .hint("`drawloom run FILE.mmd` starts one"))
            }
            (None, _) => Err(Error::new(
                AppErrorCode::NotFound,
                format!("there is no run `{text}`"),
            )
            .hint("`drawloom runs list` lists them")),
        }
    }

    /// Lists the runs that a filter wants, the newest first.
    pub async fn runs(&self, filter: &RunFilter, max: usize) -> Result<Vec<RunRow>, Error> {
        self.runs_after(filter, None, max).await
    }

    /// Lists them from behind a run.
    pub async fn runs_after(
        &self,
        filter: &RunFilter,
        after: Option<&RunCursor>,
        max: usize,
    ) -> Result<Vec<RunRow>, Error> {
        self.permit(Permission::Look)?;
        let listed = self.state().queries.list_runs(filter, after, max).await;
        listed.map_err(explained)
    }

    /// Counts the runs that a filter wants, up to `max`.
    pub async fn count_runs(&self, filter: &RunFilter, max: usize) -> Result<usize, Error> {
        self.permit(Permission::Look)?;
        let counted = self.state().queries.count_runs(filter, max).await;
        counted.map_err(explained)
    }

    /// Deletes runs that have ended, each with the runs it has started.
    pub async fn delete_runs(&self, runs: &[RunId]) -> Result<Vec<RunDeletion>, Error> {
        self.permit(Permission::DeleteRuns)?;
        Ok(self.state().store.delete_runs(runs).await?)
    }

    /// Gives the room of deleted rows back; returns how large the database was and is, in bytes.
    pub async fn compact(&self) -> Result<(u64, u64), Error> {
        self.permit(Permission::DeleteRuns)?;
        self.state().database.compact().await.map_err(explained)
    }

    pub async fn run(&self, run: &RunId) -> Result<Option<RunRow>, Error> {
        self.permit(Permission::Look)?;
        Ok(self.state().store.run(run).await?)
    }

    pub async fn input(&self, run: &RunId) -> Result<Value, Error> {
        self.permit(Permission::Look)?;
        let input = self.state().store.input(run).await?;
        Ok(input.unwrap_or_default())
    }

    /// Reads everything that happened to a run.
    pub async fn events(&self, run: &RunId) -> Result<Vec<RunEvent>, Error> {
        self.permit(Permission::Look)?;
        let mut events: Vec<RunEvent> = Vec::new();
        loop {
            let after = events.last().map_or(0, |event| event.seq);
            let more = self.state().store.events(run, after, EVENTS_MAX).await?;
            if more.is_empty() {
                return Ok(events);
            }
            events.extend(more);
        }
    }

    /// Reads up to `max` events of a run behind a number.
    pub async fn events_after(
        &self,
        run: &RunId,
        after: u64,
        max: usize,
    ) -> Result<Vec<RunEvent>, Error> {
        self.permit(Permission::Look)?;
        Ok(self.state().store.events(run, after, max).await?)
    }

    /// Returns the workflow that a run is pinned to.
    pub async fn workflow(&self, run: &RunRow) -> Result<Arc<Workflow>, Error> {
        let found = self.state().store.workflow(&run.workflow).await?;
        found.ok_or_else(|| {
            let message = format!(
                "the workflow of the run `{}` is not in the database",
                run.id
            );
            Error::new(AppErrorCode::Database, message).hint("restore the database from a backup")
        })
    }

    /// Tells what a run is doing, together with the runs it has started.
    pub async fn standing(&self, run: &RunId) -> Result<RunActivity, Error> {
        self.permit(Permission::Look)?;
        let (standing, _) = standing_of(&*self.state().store, run).await?;
        Ok(standing)
    }
}

/// Returns the permission that a command needs. Workers have commands of their own.
fn permission_for(command: &EngineCommand) -> Permission {
    match command {
        EngineCommand::Answer { .. } => Permission::AnswerTasks,
        EngineCommand::Retry { .. } | EngineCommand::Assign { .. } => Permission::ManageTasks,
        _ => Permission::ControlRuns,
    }
}

/// Keeps a workflow's text under its title and under the name of its file.
pub(super) async fn keep_named(
    store: &dyn WorkflowStore,
    queries: &dyn RunQueries,
    sheet: &LoadedWorkflow,
) -> Result<TextHash, Error> {
    let hash = store.keep_workflow(&sheet.source).await?;
    // The title is kept with the first run.
    if sheet.name != sheet.title() {
        queries.name_workflow(&hash, &sheet.name).await?;
    }
    Ok(hash)
}

/// Makes an id that sorts by time and is short enough to be typed.
fn new_id() -> Result<RunId, Error> {
    use agent::AgentClock as _;
    let mut bytes = [0_u8; 4];
    getrandom::fill(&mut bytes).map_err(|cause| {
        Error::new(
            AppErrorCode::Command,
            format!("the system gives no random bytes: {cause}"),
        )
    })?;
    let now_ms = SystemClock.now_ms();
    Ok(RunId::new(format!(
        "{:09x}{:08x}",
        now_ms / 100,
        u32::from_be_bytes(bytes)
    )))
}

pub(super) fn refused(executed: flow::ExecuteResult) -> Result<(), Error> {
    executed.map(|_| ()).map_err(|refusal| {
        let code = match refusal.kind {
            RefusalKind::NoSuchRun | RefusalKind::NoSuchTask => AppErrorCode::NotFound,
            RefusalKind::BadOutput | RefusalKind::BadInput => AppErrorCode::Data,
            RefusalKind::Limit => AppErrorCode::Limit,
            RefusalKind::Broken | RefusalKind::WrongWorkflow => AppErrorCode::Database,
            _ => AppErrorCode::Conflict,
        };
        Error::new(code, refusal.message)
    })
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let code = match error.kind {
            StoreErrorKind::NoSuchWorkflow => AppErrorCode::NotFound,
            StoreErrorKind::Unavailable => AppErrorCode::DatabaseAway,
            StoreErrorKind::NoRoom => AppErrorCode::DiskFull,
            _ => AppErrorCode::Database,
        };
        Error::new(code, error.message)
    }
}
