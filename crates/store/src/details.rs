//! The details of a task that the engine does not need: title, summary, prompt, urgency, tags, due date
//! and parent, and the comments of people.
//!
//! A task that is added without a diagram has its title and prompt here; a task of a workflow may get
//! details too, such as tags or a due date. The engine's own row stays as it is. Details and comments
//! leave the database with the run of their task.
// tidy: allow long-file, because it is one port with its statements

use flow::{RunId, TaskId};
use serde_json::Value;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::DatabaseFuture;
use crate::search::{self, DocumentKind, SearchDocument};
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows, row_limit};
use crate::urgency::TaskUrgency;
use crate::users::{check_line, invalid, limited};

/// The longest title of a task.
pub const TASK_TITLE_CHARS_MAX: usize = 300;
/// The longest summary, extra prompt, additional information or comment, in bytes.
pub(crate) const TASK_TEXT_BYTES_MAX: usize = 256 << 10;
/// The most tags of a task, and the longest tag.
pub(crate) const TASK_TAGS_MAX: usize = 50;
/// The longest tag of a task.
pub(crate) const TASK_TAG_CHARS_MAX: usize = 100;

/// The details of one task. Empty texts and `None` mean that nothing was said.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskDetails {
    /// The task.
    pub task: TaskId,
    /// One line that names it.
    pub title: String,
    /// A few sentences for people.
    pub summary: String,
    /// A text that is added to the prompt of an agent.
    pub extra_prompt: String,
    /// Anything else as JSON; `null` for nothing.
    pub additional_info: Value,
    /// The urgency that people gave it.
    pub urgency: TaskUrgency,
    /// Its tags, without repetitions.
    pub tags: Vec<String>,
    /// The time until which it should be done, in milliseconds since 1970.
    pub due_ms: Option<u64>,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
    /// The slug of the user who added it; empty for the terminal.
    pub created_by: String,
    /// Counts the edits; an edit names the one it has seen. 0 before the details are kept.
    pub revision: u64,
    /// The time at which the details were added.
    pub created_ms: u64,
    /// The time of the last edit.
    pub updated_ms: u64,
}

impl TaskDetails {
    /// Makes empty details of a task.
    pub fn of(task: &TaskId) -> TaskDetails {
        TaskDetails {
            task: task.clone(),
            title: String::new(),
            summary: String::new(),
            extra_prompt: String::new(),
            additional_info: Value::Null,
            urgency: TaskUrgency::Normal,
            tags: Vec::new(),
            due_ms: None,
            parent: None,
            created_by: String::new(),
            revision: 0,
            created_ms: 0,
            updated_ms: 0,
        }
    }
}

/// A comment on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskComment {
    /// Its number, which is the cursor of lists.
    pub id: u64,
    /// The task.
    pub task: TaskId,
    /// The author's slug, or `operator`.
    pub author: String,
    /// The text, as Markdown.
    pub body: String,
    /// The time of writing, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time of the last edit.
    pub edited_ms: Option<u64>,
}

/// The port to the details and comments of tasks.
pub trait TaskNotes: Send + Sync {
    /// Keeps details of a task: new ones at revision 0, edited ones if they were not edited since their
    /// revision. [`DatabaseErrorKind::Conflict`] otherwise.
    fn keep_details<'a>(&'a self, details: &'a TaskDetails) -> DatabaseFuture<'a, TaskDetails>;

    /// Returns the details of a task.
    fn details<'a>(&'a self, task: &'a TaskId) -> DatabaseFuture<'a, Option<TaskDetails>>;

    /// Returns the details of all tasks of a run that have some, at most `max`.
    fn details_of_run<'a>(
        &'a self,
        run: &'a RunId,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskDetails>>;

    /// Returns the details of those of these tasks that have some.
    fn details_of<'a>(&'a self, tasks: &'a [TaskId]) -> DatabaseFuture<'a, Vec<TaskDetails>>;

    /// Returns the details of tasks whose parent is this one, the oldest first.
    fn children<'a>(
        &'a self,
        parent: &'a TaskId,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskDetails>>;

    /// Returns details of tasks with a tag, by task, from behind `after`.
    fn details_with_tag<'a>(
        &'a self,
        tag: &'a str,
        after: Option<&'a TaskId>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskDetails>>;

    /// Adds a comment.
    fn add_comment<'a>(
        &'a self,
        task: &'a TaskId,
        author: &'a str,
        body: &'a str,
    ) -> DatabaseFuture<'a, TaskComment>;

    /// Changes the text of a comment of this author. [`DatabaseErrorKind::Missing`] if they have no such comment.
    fn edit_comment<'a>(
        &'a self,
        id: u64,
        author: &'a str,
        body: &'a str,
    ) -> DatabaseFuture<'a, TaskComment>;

    /// Removes a comment. [`DatabaseErrorKind::Missing`] if there is no such comment.
    fn remove_comment(&self, id: u64) -> DatabaseFuture<'_, ()>;

    /// Returns the comments of a task, the oldest first, from behind the number `after`.
    fn comments<'a>(
        &'a self,
        task: &'a TaskId,
        after: Option<u64>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskComment>>;
}

macro_rules! columns {
    () => {
        "task_details.task AS task, title, summary, extra_prompt, additional_info, urgency, tags, \
         due_ms, parent, created_by, revision, created_ms, updated_ms"
    };
}

macro_rules! comment_columns {
    () => {
        "id, task, author, body, created_ms, edited_ms"
    };
}

const ADD: &str = "INSERT INTO task_details (run, title, summary, extra_prompt, additional_info, \
     urgency, tags, due_ms, parent, updated_ms, created_ms, created_by, revision, task) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, 1, $12) \
     ON CONFLICT (task) DO NOTHING RETURNING task";
const EDIT: &str = "UPDATE task_details SET run = $1, title = $2, summary = $3, extra_prompt = $4, \
     additional_info = $5, urgency = $6, tags = $7, due_ms = $8, parent = $9, updated_ms = $10, \
     created_by = $11, revision = revision + 1 WHERE task = $12 AND revision = $13 RETURNING task";
const FORGET_TAGS: &str = "DELETE FROM task_tags WHERE task = $1 RETURNING tag";
const ADD_TAG: &str =
    "INSERT INTO task_tags (tag, task) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING tag";
const FIND: &str = concat!("SELECT ", columns!(), " FROM task_details WHERE task = $1");
pub(crate) const OF_RUN: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task_details WHERE run = $1 ORDER BY task LIMIT $2"
);
pub(crate) const OF_TASKS: [&str; 2] = [
    concat!(
        "SELECT ",
        columns!(),
        " FROM task_details WHERE task IN (SELECT value FROM json_each($1))"
    ),
    concat!(
        "SELECT ",
        columns!(),
        " FROM task_details WHERE task = ANY(ARRAY(SELECT json_array_elements_text($1::json)))"
    ),
];
pub(crate) const CHILDREN: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task_details WHERE parent = $1 ORDER BY created_ms, task LIMIT $2"
);
pub(crate) const TAGGED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM task_tags JOIN task_details ON task_details.task = task_tags.task \
     WHERE task_tags.tag = $1 AND task_tags.task > $2 ORDER BY task_tags.task LIMIT $3"
);
const COMMENT: &str = concat!(
    "INSERT INTO task_comments (task, run, author, body, created_ms) VALUES ($1, $2, $3, $4, $5) \
     RETURNING ",
    comment_columns!()
);
const EDIT_COMMENT: &str = concat!(
    "UPDATE task_comments SET body = $3, edited_ms = $4 WHERE id = $1 AND author = $2 RETURNING ",
    comment_columns!()
);
const REMOVE_COMMENT: &str = "DELETE FROM task_comments WHERE id = $1 RETURNING id";
pub(crate) const COMMENTS: &str = concat!(
    "SELECT ",
    comment_columns!(),
    " FROM task_comments WHERE task = $1 AND id > $2 ORDER BY id LIMIT $3"
);

impl<T: SharedTables> TaskNotes for T {
    fn keep_details<'a>(&'a self, details: &'a TaskDetails) -> DatabaseFuture<'a, TaskDetails> {
        Box::pin(async move {
            check_details(details)?;
            let task = details.task.to_string();
            let keep = match details.revision {
                0 => described(self, TableStatement::new(ADD), details),
                seen => described(self, TableStatement::new(EDIT), details).with(seen),
            };
            let mut statements = vec![
                keep,
                TableStatement::optional(FORGET_TAGS).with(task.as_str()),
            ];
            statements.extend(details.tags.iter().map(|tag| {
                let statement = TableStatement::optional(ADD_TAG);
                statement.with(self.scrubbed(tag)).with(task.as_str())
            }));
            statements.push(search::put(
                self,
                &SearchDocument::of_task(details, self.time_ms()),
            ));
            let kept = self.change_together(statements).await?;
            let now = self.details(&details.task).await?;
            match (kept, now) {
                (Ok(_), Some(now)) => Ok(now),
                (_, None) => Err(Error::new(
                    DatabaseErrorKind::Missing,
                    format!("The task {task} has no details any more. Look at it again."),
                )),
                (Err(_), Some(_)) => Err(Error::new(
                    DatabaseErrorKind::Conflict,
                    format!("The details of {task} were edited meanwhile. Look at them again."),
                )),
            }
        })
    }

    fn details<'a>(&'a self, task: &'a TaskId) -> DatabaseFuture<'a, Option<TaskDetails>> {
        Box::pin(async move {
            let statement = TableStatement::new(FIND).with(task.to_string());
            let rows = self.look(statement).await?;
            Ok(read_rows(self, "the details of a task", &rows, read_details)?.pop())
        })
    }

    fn details_of_run<'a>(
        &'a self,
        run: &'a RunId,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskDetails>> {
        let statement = TableStatement::new(OF_RUN).with(run.as_str());
        Box::pin(list_details(self, statement.with(row_limit(max))))
    }

    fn details_of<'a>(&'a self, tasks: &'a [TaskId]) -> DatabaseFuture<'a, Vec<TaskDetails>> {
        let names: Vec<String> = tasks.iter().map(TaskId::to_string).collect();
        let [sqlite, postgres] = OF_TASKS;
        let statement = self.dialect().pick(sqlite, postgres);
        Box::pin(list_details(
            self,
            statement.with(Value::from(names).to_string()),
        ))
    }

    fn children<'a>(
        &'a self,
        parent: &'a TaskId,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskDetails>> {
        let statement = TableStatement::new(CHILDREN).with(parent.to_string());
        Box::pin(list_details(self, statement.with(row_limit(max))))
    }

    fn details_with_tag<'a>(
        &'a self,
        tag: &'a str,
        after: Option<&'a TaskId>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskDetails>> {
        let after = after.map_or_else(String::new, TaskId::to_string);
        let statement = TableStatement::new(TAGGED).with(tag).with(after);
        Box::pin(list_details(self, statement.with(row_limit(max))))
    }

    fn add_comment<'a>(
        &'a self,
        task: &'a TaskId,
        author: &'a str,
        body: &'a str,
    ) -> DatabaseFuture<'a, TaskComment> {
        Box::pin(async move {
            check_comment(author, body)?;
            let statement = TableStatement::new(COMMENT)
                .with(task.to_string())
                .with(task.run.as_str())
                .with(author)
                .with(self.scrubbed(body))
                .with(self.time_ms());
            let rows = self.change_rows(statement).await?;
            let added = read_rows(self, "a comment", &rows, read_comment)?.pop();
            let added =
                added.ok_or_else(|| self.unreadable_row("a comment", "it was not added"))?;
            // A comment whose writer dies here is kept and cannot be searched until it is edited.
            let document = SearchDocument::of_comment(&added);
            self.change_rows(search::put(self, &document)).await?;
            Ok(added)
        })
    }

    fn edit_comment<'a>(
        &'a self,
        id: u64,
        author: &'a str,
        body: &'a str,
    ) -> DatabaseFuture<'a, TaskComment> {
        Box::pin(async move {
            check_comment(author, body)?;
            let statement = TableStatement::new(EDIT_COMMENT)
                .with(id)
                .with(author)
                .with(self.scrubbed(body))
                .with(self.time_ms());
            let rows = self.change_rows(statement).await?;
            let edited = read_rows(self, "a comment", &rows, read_comment)?.pop();
            let edited = edited.ok_or_else(|| no_comment(id))?;
            let document = SearchDocument::of_comment(&edited);
            self.change_rows(search::put(self, &document)).await?;
            Ok(edited)
        })
    }

    fn remove_comment(&self, id: u64) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            let statement = TableStatement::new(REMOVE_COMMENT).with(id);
            if self.change_rows(statement).await?.is_empty() {
                return Err(no_comment(id));
            }
            let forget = search::forget(DocumentKind::Comment, &id.to_string());
            self.change_rows(forget).await?;
            Ok(())
        })
    }

    fn comments<'a>(
        &'a self,
        task: &'a TaskId,
        after: Option<u64>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskComment>> {
        Box::pin(async move {
            let statement = TableStatement::new(COMMENTS)
                .with(task.to_string())
                .with(after.unwrap_or(0))
                .with(row_limit(max));
            let rows = self.look(statement).await?;
            read_rows(self, "a comment", &rows, read_comment)
        })
    }
}

async fn list_details(
    tables: &impl SharedTables,
    statement: TableStatement,
) -> Result<Vec<TaskDetails>> {
    let rows = tables.look(statement).await?;
    read_rows(tables, "the details of a task", &rows, read_details)
}

fn described(
    tables: &impl SharedTables,
    statement: TableStatement,
    details: &TaskDetails,
) -> TableStatement {
    let tags = Value::from(details.tags.clone());
    statement
        .with(details.task.run.as_str())
        .with(tables.scrubbed(&details.title))
        .with(tables.scrubbed(&details.summary))
        .with(tables.scrubbed(&details.extra_prompt))
        .with(tables.scrubbed(&details.additional_info.to_string()))
        .with(details.urgency.as_str())
        .with(tables.scrubbed(&tags.to_string()))
        .with(details.due_ms)
        .with(details.parent.as_ref().map(TaskId::to_string))
        .with(tables.time_ms())
        .with(details.created_by.as_str())
        .with(details.task.to_string())
}

/// Refuses details that cannot be kept.
fn check_details(details: &TaskDetails) -> Result<()> {
    if !details.title.is_empty() {
        let limit = ("TASK_TITLE_CHARS_MAX", TASK_TITLE_CHARS_MAX);
        check_line("the title", &details.title, limit)?;
    }
    let limit = ("TASK_TEXT_BYTES_MAX", TASK_TEXT_BYTES_MAX);
    let info = details.additional_info.to_string();
    for (what, text) in [
        ("the summary", &details.summary),
        ("the extra prompt", &details.extra_prompt),
        ("the additional information", &info),
    ] {
        limited(what, text.len(), limit)?;
        // PostgreSQL stores no text with a zero byte.
        if text.contains('\0') {
            return Err(invalid(format!("{what} has a NUL in it.")));
        }
    }
    limited(
        "the list of tags",
        details.tags.len(),
        ("TASK_TAGS_MAX", TASK_TAGS_MAX),
    )?;
    for tag in &details.tags {
        check_line("a tag", tag, ("TASK_TAG_CHARS_MAX", TASK_TAG_CHARS_MAX))?;
    }
    match details.parent.as_ref() == Some(&details.task) {
        true => Err(invalid("a task cannot be its own parent.".to_owned())),
        false => Ok(()),
    }
}

fn check_comment(author: &str, body: &str) -> Result<()> {
    check_line(
        "the author",
        author,
        ("TASK_TITLE_CHARS_MAX", TASK_TITLE_CHARS_MAX),
    )?;
    limited(
        "the comment",
        body.len(),
        ("TASK_TEXT_BYTES_MAX", TASK_TEXT_BYTES_MAX),
    )?;
    match body.trim().is_empty() || body.contains('\0') {
        true => Err(invalid(
            "a comment needs a text, without a NUL in it.".to_owned(),
        )),
        false => Ok(()),
    }
}

fn no_comment(id: u64) -> Error {
    let message = format!("There is no comment {id} of this author.");
    Error::new(DatabaseErrorKind::Missing, message)
}

fn read_details(row: &TableRow) -> ColumnRead<TaskDetails> {
    let json = |name: &str| -> ColumnRead<Value> {
        serde_json::from_str(&row.text(name)?).map_err(|cause| cause.to_string())
    };
    let parent = row.maybe_text("parent")?;
    let parent = parent.map(|parent| parent.parse().map_err(|_| format!("no task `{parent}`")));
    let tags = json("tags")?;
    Ok(TaskDetails {
        task: row.parsed("task")?,
        title: row.text("title")?,
        summary: row.text("summary")?,
        extra_prompt: row.text("extra_prompt")?,
        additional_info: json("additional_info")?,
        urgency: row.parsed("urgency")?,
        tags: serde_json::from_value(tags).map_err(|cause| cause.to_string())?,
        due_ms: row.maybe_count("due_ms")?,
        parent: parent.transpose()?,
        created_by: row.text("created_by")?,
        revision: row.count("revision")?,
        created_ms: row.count("created_ms")?,
        updated_ms: row.count("updated_ms")?,
    })
}

fn read_comment(row: &TableRow) -> ColumnRead<TaskComment> {
    Ok(TaskComment {
        id: row.count("id")?,
        task: row.parsed("task")?,
        author: row.text("author")?,
        body: row.text("body")?,
        created_ms: row.count("created_ms")?,
        edited_ms: row.maybe_count("edited_ms")?,
    })
}
