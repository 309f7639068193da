//! The inbox: tasks that wait for a person, grouped by run and step.

use std::collections::{HashMap, HashSet};

use flow::RunId;
use flow::engine::{RunRow, TaskRow};
use store::{InboxOwners, TaskCursor, TaskDetails, TaskEntry, TaskFilter, UserFilter};

use super::UseCases;
use super::access::Permission;
use crate::Error;
use crate::people::explained;

/// The most tasks of one page of an inbox.
pub const INBOX_PAGE_MAX: usize = 200;
/// The most tasks of an inbox that are counted.
pub const INBOX_COUNT_MAX: usize = 1_000;
/// The most agents whose tasks are in a person's inbox.
const AGENTS_MAX: usize = 100;

/// The tasks that are in an inbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InboxScope {
    /// Tasks of the actor and of agents that cannot go on alone, and those without an assignee.
    #[default]
    Mine,
    /// Only tasks that are assigned to the actor.
    Assigned,
    /// Tasks of all people and agents.
    Everybody,
}

/// A page of an inbox that is wanted.
#[derive(Clone, Debug)]
pub struct InboxRequest {
    pub scope: InboxScope,
    /// The last task of the page before.
    pub after: Option<TaskCursor>,
    /// At most [`INBOX_PAGE_MAX`].
    pub max: usize,
}

/// A page of an inbox.
#[derive(Clone, Debug)]
pub struct InboxPage {
    /// Groups in the order of their oldest task.
    pub groups: Vec<InboxGroup>,
    /// All tasks of the inbox, counted up to [`INBOX_COUNT_MAX`].
    pub total: usize,
    /// Leads to the next page; nothing behind the last one.
    pub next: Option<TaskCursor>,
}

/// Tasks of one step of one run.
#[derive(Clone, Debug)]
pub struct InboxGroup {
    pub run: RunRow,
    /// The step's name in the diagram.
    pub step_name: String,
    /// The oldest first.
    pub tasks: Vec<InboxTask>,
}

/// A task that waits for a person.
#[derive(Clone, Debug)]
pub struct InboxTask {
    pub task: TaskRow,
    /// Title, urgency, tags and due date, where they were given.
    pub details: Option<TaskDetails>,
}

impl UseCases {
    /// Returns a page of tasks that wait for a person, the oldest first.
    pub async fn inbox(&self, request: InboxRequest) -> Result<InboxPage, Error> {
        self.permit(Permission::Look)?;
        let owners = self.inbox_owners(request.scope).await?;
        let max = request.max.clamp(1, INBOX_PAGE_MAX);
        let ports = self.app().ports();
        let listed = ports.inbox(&owners, request.after.as_ref(), max).await;
        let entries = listed.map_err(explained)?;
        let total = ports.count_inbox(&owners, INBOX_COUNT_MAX).await;
        let next = entries.last().filter(|_| entries.len() == max);
        let next = next.map(|entry| entry.cursor.clone());
        Ok(InboxPage {
            groups: self.inbox_groups(entries).await?,
            total: total.map_err(explained)?,
            next,
        })
    }

    /// Counts the tasks that wait for a person, up to [`INBOX_COUNT_MAX`].
    pub async fn count_inbox(&self, scope: InboxScope) -> Result<usize, Error> {
        self.count_inbox_to(scope, INBOX_COUNT_MAX).await
    }

    /// Counts the tasks that wait for a person, up to a number: a small one costs little.
    pub async fn count_inbox_to(&self, scope: InboxScope, max: usize) -> Result<usize, Error> {
        self.permit(Permission::Look)?;
        let owners = self.inbox_owners(scope).await?;
        let ports = self.app().ports();
        let counted = ports.count_inbox(&owners, max.min(INBOX_COUNT_MAX)).await;
        counted.map_err(explained)
    }

    /// Lists the tasks that a filter wants from behind a cursor, each with the cursor behind it.
    pub async fn tasks_after(
        &self,
        filter: &TaskFilter,
        after: Option<&TaskCursor>,
        max: usize,
    ) -> Result<Vec<TaskEntry>, Error> {
        self.permit(Permission::Look)?;
        let listed = self.app().ports().tasks_after(filter, after, max).await;
        listed.map_err(explained)
    }

    async fn inbox_owners(&self, scope: InboxScope) -> Result<InboxOwners, Error> {
        let mut assignees = vec![self.person()];
        if scope == InboxScope::Mine && !self.actor().is_agent() {
            let declared = self.project().settings.workflows.agents.keys().cloned();
            let users = self.app().people().users(UserFilter::Agents).await;
            let users = users.map_err(explained)?.into_iter();
            let agents = declared.chain(users.map(|user| user.slug.to_string()));
            let agents: HashSet<String> = agents.take(AGENTS_MAX).collect();
            assignees.extend(agents);
        }
        Ok(match scope {
            InboxScope::Everybody => InboxOwners::Everybody,
            InboxScope::Mine | InboxScope::Assigned => InboxOwners::Of {
                assignees,
                is_unassigned: scope == InboxScope::Mine,
            },
        })
    }

    async fn inbox_groups(&self, entries: Vec<TaskEntry>) -> Result<Vec<InboxGroup>, Error> {
        let ports = self.app().ports();
        let tasks: Vec<_> = entries.iter().map(|entry| entry.task.id.clone()).collect();
        let ids: HashSet<RunId> = tasks.iter().map(|task| task.run.clone()).collect();
        let ids: Vec<RunId> = ids.into_iter().collect();
        let runs = ports.runs_of(&ids).await.map_err(explained)?;
        let runs: HashMap<RunId, RunRow> =
            runs.into_iter().map(|run| (run.id.clone(), run)).collect();
        let details = ports.details_of(&tasks).await.map_err(explained)?;
        let mut details: HashMap<_, TaskDetails> = details
            .into_iter()
            .map(|details| (details.task.clone(), details))
            .collect();
        let mut groups: Vec<InboxGroup> = Vec::new();
        for TaskEntry { task, .. } in entries {
            // A run that was deleted meanwhile has no tasks.
            let Some(run) = runs.get(&task.id.run) else {
                continue;
            };
            let place = (task.id.run.clone(), task.id.step.clone());
            let is_same = |group: &InboxGroup| {
                let first = group.tasks.first().map(|first| &first.task.id);
                first.is_some_and(|first| first.run == place.0 && first.step == place.1)
            };
            let one = InboxTask {
                details: details.remove(&task.id),
                task,
            };
            match groups.iter_mut().find(|group| is_same(group)) {
                Some(group) => group.tasks.push(one),
                None => groups.push(InboxGroup {
                    run: run.clone(),
                    step_name: self.step_name(run, &one.task).await?,
                    tasks: vec![one],
                }),
            }
        }
        Ok(groups)
    }

    async fn step_name(&self, run: &RunRow, task: &TaskRow) -> Result<String, Error> {
        let workflow = self.workflow(run).await?;
        let step = workflow.step(&task.id.step);
        Ok(step.map_or_else(
            || task.id.step.as_str().to_owned(),
            |step| step.name.clone(),
        ))
    }
}
