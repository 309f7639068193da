//! Tasks without a diagram, and what people write about tasks: details, comments, children.
//!
//! A task that is added is a run of a built-in workflow of one step, so that claims, leases,
//! budgets, prompts and replies are those of every task. A task for an agent is done by a worker, any
//! other by a person.

use flow::engine::EventKind;
use flow::{RunId, TaskId, TextHash};
use serde_json::{Value, json};
use store::{TaskComment, TaskDetails, TaskUrgency};

use super::UseCases;
use super::access::Permission;
use super::runs::RunRequest;
use crate::people::explained;
use crate::workflows::{self, LoadedWorkflow};
use crate::{AppErrorCode, Error};

/// The built-in workflows of one step.
const FOR_PERSON: &str = include_str!("task_person.mmd");
const FOR_AGENT: &str = include_str!("task_agent.mmd");
const STEP: &str = "task";
/// How many comments and children of a task are listed.
const NOTES_MAX: usize = 500;
/// Number of the newest events that are searched for changes of a task.
const EVENTS_MAX: u64 = 2_000;

/// Returns the hashes of the built-in workflows: their runs are tasks.
pub(super) fn built_in_texts() -> [TextHash; 2] {
    [FOR_PERSON, FOR_AGENT].map(TextHash::of)
}

/// A task to add.
#[derive(Clone, Debug, Default)]
pub struct AddTaskRequest {
    pub title: String,
    pub summary: String,
    /// A text that is added to the prompt.
    pub extra_prompt: String,
    /// Anything else, as JSON.
    pub additional_info: Value,
    pub urgency: TaskUrgency,
    pub tags: Vec<String>,
    /// In milliseconds since 1970.
    pub due_ms: Option<u64>,
    /// A person or an agent; `None` leaves the task unassigned.
    pub assignee: Option<String>,
    /// The task it is a part of, as people name tasks.
    pub parent: Option<String>,
    /// The workflow that is run for it, in place of the built-in one.
    pub workflow: Option<String>,
    /// The step of that workflow which is this task; nothing for its first one.
    pub step: Option<String>,
}

/// A task that was added.
#[derive(Clone, Debug)]
pub struct AddedTask {
    pub run: RunId,
    pub task: TaskId,
    pub details: TaskDetails,
}

/// Changes of a task's details. `None` keeps a value.
#[derive(Clone, Debug, Default)]
pub struct TaskEdit {
    /// The revision that the author has seen; nothing to edit whatever is there.
    pub revision: Option<u64>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub extra_prompt: Option<String>,
    pub additional_info: Option<Value>,
    pub urgency: Option<TaskUrgency>,
    pub tags: Option<Vec<String>>,
    /// `Some(None)` removes the due date.
    pub due_ms: Option<Option<u64>>,
    /// `Some(None)` removes the parent.
    pub parent: Option<Option<String>>,
}

/// Details, comments and parts of a task.
#[derive(Clone, Debug)]
pub struct TaskStory {
    /// Empty if the task has no details.
    pub details: TaskDetails,
    /// The oldest first.
    pub comments: Vec<TaskComment>,
    /// Details of the tasks that are parts of it.
    pub children: Vec<TaskDetails>,
    /// Events and comments, in order.
    pub activity: Vec<TaskActivity>,
}

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskActivity {
    pub at_ms: u64,
    /// One word, such as `created`, `completed` or `commented`.
    pub what: String,
    /// The reason, the answer's author, or the comment.
    pub text: String,
}

impl UseCases {
    /// Adds a task without a diagram, or one that a named workflow is run for.
    pub async fn add_task(&self, wish: AddTaskRequest) -> Result<AddedTask, Error> {
        self.permit(Permission::ManageTasks)?;
        let parent = match &wish.parent {
            Some(name) => Some(self.task(name).await?.id),
            None => None,
        };
        check_title(&wish.title)?;
        let (sheet, step) = self.task_sheet(&wish).await?;
        let begin = RunRequest {
            input: task_input(&wish),
            tags: wish.tags.clone(),
            assignee: wish.assignee.clone(),
            priority: priority_of(wish.urgency),
            name: Some(wish.title.clone()),
        };
        let run = self.start(&sheet, begin).await?;
        let task = TaskId {
            run: run.clone(),
            path: flow::ItemPath::default(),
            step: step.as_str().into(),
            visit: 1,
        };
        let details = TaskDetails {
            title: wish.title,
            summary: wish.summary,
            extra_prompt: wish.extra_prompt,
            additional_info: wish.additional_info,
            urgency: wish.urgency,
            tags: wish.tags,
            due_ms: wish.due_ms,
            parent,
            created_by: self.person(),
            ..TaskDetails::of(&task)
        };
        let kept = self.app().ports().keep_details(&details).await;
        Ok(AddedTask {
            run,
            task,
            details: kept.map_err(explained)?,
        })
    }

    /// Edits the details of a task.
    pub async fn edit_task(&self, task: &str, edit: TaskEdit) -> Result<TaskDetails, Error> {
        self.permit(Permission::ManageTasks)?;
        let id = self.task(task).await?.id;
        let there = self.app().ports().details(&id).await.map_err(explained)?;
        let mut details = there.unwrap_or_else(|| TaskDetails {
            created_by: self.person(),
            ..TaskDetails::of(&id)
        });
        if let Some(seen) = edit.revision
            && seen != details.revision
        {
            let message = format!("the details of `{id}` were edited meanwhile");
            return Err(Error::new(AppErrorCode::Stale, message).hint("read them again"));
        }
        if let Some(title) = &edit.title {
            check_title(title)?;
        }
        if let Some(parent) = &edit.parent {
            details.parent = match parent {
                Some(name) => Some(self.parent_of(&id, name).await?),
                None => None,
            };
        }
        apply(&mut details, edit);
        let kept = self.app().ports().keep_details(&details).await;
        kept.map_err(explained)
    }

    /// Writes a comment on a task.
    pub async fn comment_task(&self, task: &str, body: &str) -> Result<TaskComment, Error> {
        self.permit(Permission::AnswerTasks)?;
        let id = self.task(task).await?.id;
        let (ports, author) = (self.app().ports(), self.person());
        let added = ports.add_comment(&id, &author, body).await;
        added.map_err(explained)
    }

    /// Returns what people have written about a task, and what happened to it.
    pub async fn task_story(&self, task: &TaskId) -> Result<TaskStory, Error> {
        self.permit(Permission::Look)?;
        let ports = self.app().ports();
        let details = ports.details(task).await.map_err(explained)?;
        let comments = ports.comments(task, None, NOTES_MAX).await;
        let comments = comments.map_err(explained)?;
        let children = ports.children(task, NOTES_MAX).await.map_err(explained)?;
        let mut activity = self.task_events(task).await?;
        activity.extend(comments.iter().map(|comment| TaskActivity {
            at_ms: comment.created_ms,
            what: "commented".to_owned(),
            text: format!("{}: {}", comment.author, comment.body),
        }));
        activity.sort_by_key(|entry| entry.at_ms);
        Ok(TaskStory {
            details: details.unwrap_or_else(|| TaskDetails::of(task)),
            comments,
            children,
            activity,
        })
    }

    async fn task_events(&self, task: &TaskId) -> Result<Vec<TaskActivity>, Error> {
        let Some(run) = self.run(&task.run).await? else {
            return Ok(Vec::new());
        };
        let after = run.seq.saturating_sub(EVENTS_MAX);
        let max = usize::try_from(EVENTS_MAX).unwrap_or(usize::MAX);
        let events = self.events_after(&task.run, after, max).await?;
        let told = events.into_iter().filter_map(|event| {
            let (what, text) = match event.what {
                EventKind::TaskCreated { task: of, .. } if of == *task => {
                    ("created".to_owned(), String::new())
                }
                EventKind::TaskMoved {
                    task: of, by, why, ..
                } if of == *task => (by.to().name().to_owned(), why.unwrap_or_default()),
                EventKind::Assigned { task: of, assignee } if of == *task => (
                    "assigned".to_owned(),
                    assignee.unwrap_or_else(|| "nobody".to_owned()),
                ),
                _ => return None,
            };
            Some(TaskActivity {
                at_ms: event.at_ms,
                what,
                text,
            })
        });
        Ok(told.collect())
    }

    /// The workflow of a task that is added, and the step which is the task.
    async fn task_sheet(&self, wish: &AddTaskRequest) -> Result<(LoadedWorkflow, String), Error> {
        let Some(name) = &wish.workflow else {
            if let Some(step) = &wish.step {
                let message = format!("`{step}` is a step of no workflow");
                return Err(
                    Error::new(AppErrorCode::Usage, message).hint("name the workflow as well")
                );
            }
            let project = self.project_now().await?;
            let agents = &project.settings.workflows.agents;
            let is_agent = wish
                .assignee
                .as_ref()
                .is_some_and(|name| agents.contains_key(name));
            let text = if is_agent { FOR_AGENT } else { FOR_PERSON };
            let sheet = workflows::read_text(&project, (STEP, STEP), text.to_owned());
            return Ok((sheet, STEP.to_owned()));
        };
        let sheet = self.sheet(name).await?;
        let Some(workflow) = sheet.workflow.as_ref().filter(|_| sheet.is_fine()) else {
            let message = format!("the workflow `{name}` cannot run");
            return Err(Error::new(AppErrorCode::Data, message)
                .hint("`drawloom workflow check` says what is wrong with it"));
        };
        let names = workflow.steps().iter().map(|step| step.id.as_str());
        let step = match &wish.step {
            Some(wanted) => names.clone().find(|name| name == wanted).ok_or_else(|| {
                let message = format!("the workflow `{name}` has no step `{wanted}`");
                let names: Vec<&str> = names.collect();
                Error::new(AppErrorCode::NotFound, message)
                    .hint(format!("its steps: {}", names.join(", ")))
            })?,
            None => workflow.starts().first().map_or(STEP, |step| step.as_str()),
        };
        let step = step.to_owned();
        Ok((sheet, step))
    }

    /// Finds a parent that is not the task itself nor one of its parts.
    async fn parent_of(&self, task: &TaskId, name: &str) -> Result<TaskId, Error> {
        let parent = self.task(name).await?.id;
        let mut above = Some(parent.clone());
        for _ in 0..NOTES_MAX {
            match above {
                Some(one) if one == *task => {
                    let message = format!("`{task}` cannot be a part of itself");
                    return Err(
                        Error::new(AppErrorCode::Usage, message).hint("choose another parent")
                    );
                }
                Some(one) => {
                    let details = self.app().ports().details(&one).await.map_err(explained)?;
                    above = details.and_then(|details| details.parent);
                }
                None => break,
            }
        }
        Ok(parent)
    }
}

/// Refuses a title that cannot be kept before a run is begun for it.
fn check_title(title: &str) -> Result<(), Error> {
    let count = title.chars().count();
    if title.trim().is_empty() || title.chars().any(char::is_control) {
        let message = "a task needs a title of one line";
        return Err(
            Error::new(AppErrorCode::Usage, message).hint("say in a few words what is to be done")
        );
    }
    match count > store::TASK_TITLE_CHARS_MAX {
        true => Err(Error::new(
            AppErrorCode::Limit,
            format!(
                "the title has {count} characters, and TASK_TITLE_CHARS_MAX = {}",
                store::TASK_TITLE_CHARS_MAX
            ),
        )
        .hint("put the rest into the summary")),
        false => Ok(()),
    }
}

/// The input of the run: each text by its name, and all of them as one prompt.
fn task_input(wish: &AddTaskRequest) -> Value {
    let texts = [&wish.title, &wish.summary, &wish.extra_prompt];
    let texts = texts.map(|text| text.trim());
    let said: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    json!({
        "title": wish.title,
        "summary": wish.summary,
        "extraPrompt": wish.extra_prompt,
        "additionalInfo": wish.additional_info,
        "text": said.join("\n\n"),
    })
}

/// Urgent tasks are claimed first.
fn priority_of(urgency: TaskUrgency) -> i32 {
    match urgency {
        TaskUrgency::Low => -10,
        TaskUrgency::Normal => 0,
        TaskUrgency::High => 10,
        TaskUrgency::Critical => 50,
    }
}

fn apply(details: &mut TaskDetails, edit: TaskEdit) {
    fn set<T>(place: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *place = value;
        }
    }
    set(&mut details.title, edit.title);
    set(&mut details.summary, edit.summary);
    set(&mut details.extra_prompt, edit.extra_prompt);
    set(&mut details.additional_info, edit.additional_info);
    set(&mut details.urgency, edit.urgency);
    set(&mut details.tags, edit.tags);
    set(&mut details.due_ms, edit.due_ms);
}
