//! `drawloom tasks show`: one task: its question, its status, its attempts and its output.

use app::TaskStory;
use app::workflows::AttemptRecord;
use clap::Args;
use flow::engine::{CallRow, EventKind, TaskRow, TaskStatus};
use flow::layers::joined;
use flow::{LogLine, LogStream, TaskId};
use serde_json::{Value, json};
use store::TaskComment;

use super::list::waits_for_a_person;
use crate::agent_progress::shown;
use crate::command::runs::when;
use crate::command::workflow::{DatabaseArgs, how_to_answer};
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;
use crate::table;
use crate::use_cases::TerminalUseCases;

/// Lines of a command's output that are read; the last `SHOWN_LINES` are shown.
const LOG_LINES_MAX: usize = 100_000;
const SHOWN_LINES: usize = 40;

/// Show a task: its question, status, attempts and output
#[derive(Args, Debug)]
pub(crate) struct TasksShowArgs {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl TasksShowArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let task = use_cases.wait(use_cases.task(&self.task))?;
        let attempts = use_cases.wait(use_cases.attempts(&task.id))?;
        let calls = use_cases.wait(use_cases.calls(&task.id))?;
        let warnings = warnings(&use_cases, &task.id)?;
        let log = use_cases.wait(use_cases.log(&task.id, (0, 0), LOG_LINES_MAX))?;
        let layers = match task.status.is_terminal() {
            true => Vec::new(),
            false => use_cases.wait(use_cases.layers(&task))?.layers,
        };
        let story = use_cases.wait(use_cases.task_story(&task.id))?;
        if self.json {
            let attempts: Vec<Value> = attempts.iter().map(document).collect();
            let prompt = use_cases.wait(use_cases.prompt(&task))?;
            output::json(&json!({
                "task": task, "prompt": prompt, "layers": layers, "attempts": attempts,
                "calls": calls, "warnings": warnings, "log": log,
                "details": super::add::details_json(&story.details),
                "comments": story.comments.iter().map(comment_json).collect::<Vec<Value>>(),
                "children": story.children.iter().map(|child| &child.task).collect::<Vec<_>>(),
            }))?;
            return Ok(CliExit::Done);
        }
        let mut text = match waits_for_a_person(&task) {
            false => standing(&task, session.surroundings.now_ms as u64),
            true => format!(
                "{}\nstatus {}",
                how_to_answer(&use_cases, &task),
                task.status.name()
            ),
        };
        text.push_str(&format!(", attempt {}", task.attempt));
        if let Some(failure) = &task.failure {
            text.push_str(&format!(
                "\nlast failure ({}): {}",
                failure.class.name(),
                failure.message
            ));
        }
        if !attempts.is_empty() {
            let rows: Vec<Vec<String>> = attempts.iter().map(row).collect();
            text.push_str(&format!("\nattempts\n{}", table::render(&rows).trim_end()));
        }
        for warning in &warnings {
            text.push_str(&format!("\nwarning: {warning}"));
        }
        for call in &calls {
            text.push_str(&called(call));
        }
        if calls.is_empty() && !layers.is_empty() {
            text.push_str(&format!("\nprompt\n{}", indented(&joined(&layers))));
        }
        text.push_str(&printed(&log));
        if let Some(output) = &task.output {
            text.push_str(&format!("\noutput {output:#}"));
        }
        text.push_str(&written(&story));
        if !task.tags.is_empty() {
            text.push_str(&format!("\ntags {}", task.tags.join(", ")));
        }
        output::styled(&output::harmless(&format!("{text}\n")))?;
        Ok(CliExit::Done)
    }
}

/// Returns warnings about a task that need no action.
fn comment_json(comment: &TaskComment) -> Value {
    json!({
        "id": comment.id, "author": comment.author, "body": comment.body,
        "created_ms": comment.created_ms,
    })
}

fn written(story: &TaskStory) -> String {
    let details = &story.details;
    let mut text = String::new();
    if !details.title.is_empty() {
        text.push_str(&format!("\ntitle {}", shown(&details.title)));
        text.push_str(&format!("\nurgency {}", details.urgency.as_str()));
    }
    if let Some(due) = details.due_ms {
        text.push_str(&format!("\ndue {}", when(due)));
    }
    if let Some(parent) = &details.parent {
        text.push_str(&format!("\npart of {parent}"));
    }
    for child in &story.children {
        text.push_str(&format!("\npart {} {}", child.task, shown(&child.title)));
    }
    for comment in &story.comments {
        let at = when(comment.created_ms);
        text.push_str(&format!("\ncomment by {}, {at}\n", shown(&comment.author)));
        text.push_str(&indented(&comment.body));
    }
    text
}

fn warnings(use_cases: &TerminalUseCases, task: &TaskId) -> Result<Vec<String>, CliError> {
    let events = use_cases.wait(use_cases.events(&task.run))?.into_iter();
    let warned = events.filter_map(|event| match event.what {
        EventKind::Warned {
            task: Some(of),
            message,
        } if of == *task => Some(message),
        _ => None,
    });
    Ok(warned.collect())
}

/// Says what the command has printed by its last claim, the end of it.
fn printed(log: &[LogLine]) -> String {
    let Some(last) = log.last() else {
        return String::new();
    };
    let lines: Vec<&LogLine> = log
        .iter()
        .filter(|line| line.attempt == last.attempt)
        .collect();
    let left_out = lines.len().saturating_sub(SHOWN_LINES);
    let mut text = match left_out {
        0 => "\nprinted".to_owned(),
        count => format!("\nprinted ({count} lines before are left out; --json has them)"),
    };
    for line in lines.into_iter().skip(left_out) {
        let mark = match line.stream {
            LogStream::Stdout => ' ',
            LogStream::Stderr => '!',
            LogStream::Note => '…',
        };
        text.push_str(&format!("\n  {mark} {}", shown(&line.text)));
    }
    text
}

/// Describes the model calls of one attempt.
fn called(row: &CallRow) -> String {
    let call = &row.call;
    let by = call.by.as_deref().unwrap_or("-");
    let took = call.ended_ms.saturating_sub(call.begun_ms) as f64 / 1_000.0;
    let mut text = format!(
        "\nattempt {} by {by}, {took:.1} s, {} tokens in, {} out",
        row.attempt, call.usage.input_tokens, call.usage.output_tokens
    );
    if let Some(summary) = &call.summary {
        text.push_str(&format!("\n  summary: {}", shown(summary)));
    }
    if let Some(confidence) = call.confidence {
        text.push_str(&format!("\n  confidence: {confidence}"));
    }
    if !call.suggested_tags.is_empty() {
        text.push_str(&format!(
            "\n  suggested tags: {}",
            call.suggested_tags.join(", ")
        ));
    }
    if let Some(stage) = &call.suggested_next_stage {
        text.push_str(&format!("\n  suggested next stage: {}", shown(stage)));
    }
    if !call.layers.is_empty() {
        text.push_str(&format!("\n  prompt\n{}", indented(&joined(&call.layers))));
    }
    for reply in &call.replies {
        text.push_str(&format!("\n  reply\n{}", indented(reply)));
    }
    text
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

/// Describes the status of a task that waits for no person.
fn standing(task: &TaskRow, now_ms: u64) -> String {
    let status = task.status.name();
    match (task.status, &task.lease) {
        (TaskStatus::Pending, _) if task.ready_ms > now_ms => {
            format!(
                "{} is {status}, tried again at {}",
                task.id,
                when(task.ready_ms)
            )
        }
        (TaskStatus::Pending, _) => format!("{} is {status}, for a worker", task.id),
        (TaskStatus::InProgress, Some(lease)) => {
            format!("{} is {status}, by {}", task.id, lease.worker)
        }
        _ => format!("{} is {status}", task.id),
    }
}

fn document(attempt: &AttemptRecord) -> Value {
    let end = attempt.end.as_ref();
    json!({
        "number": attempt.number,
        "by": attempt.by,
        "begun_ms": attempt.begun_ms,
        "ended_ms": end.map(|end| end.at_ms),
        "status": end.map(|end| end.status),
        "class": end.and_then(|end| end.class),
        "message": end.and_then(|end| end.message.as_deref()),
        "spent": attempt.spent,
    })
}

fn row(attempt: &AttemptRecord) -> Vec<String> {
    let begun = i64::try_from(attempt.begun_ms).unwrap_or(i64::MAX);
    let begun = jiff::Timestamp::from_millisecond(begun).unwrap_or_default();
    let begun = begun.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
    let (took, came) = match &attempt.end {
        Some(end) => {
            let took_ms = end.at_ms.saturating_sub(attempt.begun_ms);
            let class = end.class.map(|class| format!(" ({})", class.name()));
            let message = end.message.as_deref().map(shown);
            let came = format!(
                "{}{}{}",
                end.status.name(),
                class.unwrap_or_default(),
                message
                    .map(|message| format!(": {message}"))
                    .unwrap_or_default()
            );
            (format!("{:.1} s", took_ms as f64 / 1_000.0), came)
        }
        None => ("-".to_owned(), "under way".to_owned()),
    };
    let by = attempt.by.as_deref().unwrap_or("-");
    vec![
        format!("  {}", attempt.number),
        shown(by),
        begun,
        took,
        came,
    ]
}
