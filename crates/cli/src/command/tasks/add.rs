//! `drawloom tasks add`, `edit` and `comment`: tasks without a diagram, and words about tasks.

use app::{AddTaskRequest, TaskEdit};
use clap::Args;
use serde_json::{Value, json};
use store::{TaskDetails, TaskUrgency};

use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::input;
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Add a task without a diagram
///
/// The task is a run of one step, and is claimed, answered and shown like any other. A worker does it if
/// it is assigned to an agent; otherwise it waits for a person. With `--workflow`, that workflow is run
/// for it, and the title belongs to `--step` or to the first step.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tasks add \"Write the release notes\" --assign ada --due 2026-12-01
  drawloom tasks add \"Review the parser\" --assign code-reviewer --prompt \"Look for panics.\"
  drawloom tasks add \"Ship 2.1\" --workflow release --urgency high --tag release")]
pub(crate) struct AddTask {
    /// The work to do, on one line
    title: String,
    /// Assign it to this person or agent
    #[arg(long, value_name = "NAME")]
    assign: Option<String>,
    /// The task it is a part of
    #[arg(long, value_name = "TASK")]
    parent: Option<String>,
    /// The workflow to run for it
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// The step of that workflow which is this task
    #[arg(long, value_name = "STEP", requires = "workflow")]
    step: Option<String>,
    #[command(flatten)]
    words: TaskWords,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Details of a task, on the command line.
#[derive(Args, Debug)]
struct TaskWords {
    /// A few sentences for people
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// A text that is added to the prompt: TEXT, @FILE, or - for stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Anything else, as JSON
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    info: Option<Value>,
    /// How urgent it is: low, normal, high or critical
    #[arg(long, value_name = "WORD")]
    urgency: Option<TaskUrgency>,
    /// A tag; repeat it for more
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// When it should be done: `2026-12-01` or `2026-12-01T18:00:00Z`
    #[arg(long, value_name = "TIME", value_parser = due)]
    due: Option<u64>,
}

/// Edit the title, summary, prompt, urgency, tags or due date of a task
#[derive(Args, Debug)]
pub(crate) struct EditTask {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    /// The new title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The task it is a part of
    #[arg(long, value_name = "TASK")]
    parent: Option<String>,
    #[command(flatten)]
    words: TaskWords,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Write a comment on a task
#[derive(Args, Debug)]
pub(crate) struct CommentTask {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    /// The comment: TEXT, @FILE, or - for stdin
    text: String,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl AddTask {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let words = &self.words;
        let wish = AddTaskRequest {
            title: self.title.clone(),
            summary: words.summary.clone().unwrap_or_default(),
            extra_prompt: text_of(session, words.prompt.as_deref())?.unwrap_or_default(),
            additional_info: words.info.clone().unwrap_or_default(),
            urgency: words.urgency.unwrap_or_default(),
            tags: words.tag.clone(),
            due_ms: words.due,
            assignee: self.assign.clone(),
            parent: self.parent.clone(),
            workflow: self.workflow.clone(),
            step: self.step.clone(),
        };
        let added = use_cases.wait(use_cases.add_task(wish))?;
        match OutputFormat::from(self.json) {
            OutputFormat::Json => output::json(&json!({
                "run": added.run, "task": added.task, "details": details_json(&added.details),
            }))?,
            OutputFormat::Text => {
                output::data(format!("{}\n", added.task).as_bytes())?;
                output::say(format!("`drawloom tasks show {}` shows it", added.task));
            }
        }
        Ok(CliExit::Done)
    }
}

impl EditTask {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let words = &self.words;
        let edit = TaskEdit {
            title: self.title.clone(),
            summary: words.summary.clone(),
            extra_prompt: text_of(session, words.prompt.as_deref())?,
            additional_info: words.info.clone(),
            urgency: words.urgency,
            tags: Some(words.tag.clone()).filter(|tags| !tags.is_empty()),
            due_ms: words.due.map(Some),
            parent: self.parent.clone().map(Some),
            ..TaskEdit::default()
        };
        let details = use_cases.wait(use_cases.edit_task(&self.task, edit))?;
        match OutputFormat::from(self.json) {
            OutputFormat::Json => output::json(&details_json(&details))?,
            OutputFormat::Text => output::say(format!("{} is edited", details.task)),
        }
        Ok(CliExit::Done)
    }
}

impl CommentTask {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let text = text_of(session, Some(&self.text))?.unwrap_or_default();
        let comment = use_cases.wait(use_cases.comment_task(&self.task, &text))?;
        match OutputFormat::from(self.json) {
            OutputFormat::Json => output::json(&json!({
                "id": comment.id, "task": comment.task, "author": comment.author,
                "body": comment.body, "created_ms": comment.created_ms,
            }))?,
            OutputFormat::Text => output::say(format!("{} has a comment more", comment.task)),
        }
        Ok(CliExit::Done)
    }
}

/// Details as JSON, for this command and `tasks show`.
pub(super) fn details_json(details: &TaskDetails) -> Value {
    json!({
        "task": details.task,
        "title": details.title,
        "summary": details.summary,
        "extraPrompt": details.extra_prompt,
        "additionalInfo": details.additional_info,
        "urgency": details.urgency.as_str(),
        "tags": details.tags,
        "dueMs": details.due_ms,
        "parent": details.parent,
        "createdBy": details.created_by,
        "revision": details.revision,
    })
}

fn text_of(session: &CliSession, given: Option<&str>) -> Result<Option<String>, CliError> {
    Ok(match given {
        Some("-") => Some(input::file_text(session, "-".as_ref())?),
        Some(text) => match text.strip_prefix('@') {
            Some(file) => Some(input::file_text(session, file.as_ref())?),
            None => Some(text.to_owned()),
        },
        None => None,
    })
}

fn json_value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|cause| format!("it is no JSON: {cause}"))
}

/// A day means its end, in UTC.
fn due(text: &str) -> Result<u64, String> {
    let time = match text.parse::<jiff::civil::Date>() {
        Ok(day) if text.len() <= 10 => {
            let end = day.at(23, 59, 59, 0).to_zoned(jiff::tz::TimeZone::UTC);
            end.map(|end| end.timestamp())
                .map_err(|cause| cause.to_string())
        }
        _ => text
            .parse::<jiff::Timestamp>()
            .map_err(|cause| cause.to_string()),
    };
    let time = time.map_err(|_| "write `2026-12-01` or `2026-12-01T18:00:00Z`".to_owned())?;
    u64::try_from(time.as_millisecond()).map_err(|_| "it is before 1970".to_owned())
}
