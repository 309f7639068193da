//! `drawloom tasks show`: one task: what is asked, how it stands, who tried, what it gave.

use app::workflows::{Attempt, Loom};
use clap::Args;
use flow::TaskId;
use flow::engine::{CallRow, TaskRow, TaskStatus, What};
use flow::layers::joined;
use serde_json::{Value, json};

use super::list::waits_for_a_person;
use crate::command::runs::when;
use crate::command::workflow::{Keeping, how_to_answer};
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output;
use crate::session::Session;
use crate::table;

/// Show a task: what is asked, how it stands, who tried, what it gave
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let task = loom.task(&self.task)?;
        let attempts = loom.attempts(&task.id)?;
        let calls = loom.calls(&task.id)?;
        let warnings = warnings(&loom, &task.id)?;
        let layers = match task.status.is_terminal() {
            true => Vec::new(),
            false => loom.layers(&task)?.layers,
        };
        if self.json {
            let attempts: Vec<Value> = attempts.iter().map(document).collect();
            let prompt = loom.prompt(&task)?;
            output::json(&json!({
                "task": task, "prompt": prompt, "layers": layers, "attempts": attempts,
                "calls": calls, "warnings": warnings,
            }))?;
            return Ok(Exit::Done);
        }
        let mut text = match waits_for_a_person(&task) {
            false => standing(&task, session.surroundings.now_ms as u64),
            true => format!(
                "{}\nstatus {}",
                how_to_answer(&loom, &task),
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
        if let Some(output) = &task.output {
            text.push_str(&format!("\noutput {output:#}"));
        }
        if !task.tags.is_empty() {
            text.push_str(&format!("\ntags {}", task.tags.join(", ")));
        }
        output::styled(&output::harmless(&format!("{text}\n")))?;
        Ok(Exit::Done)
    }
}

/// What a person should know about a task and nobody has to act on.
fn warnings(loom: &Loom, task: &TaskId) -> Result<Vec<String>, Trouble> {
    let events = loom.events(&task.run)?.into_iter();
    let warned = events.filter_map(|event| match event.what {
        What::Warned {
            task: Some(of),
            message,
        } if of == *task => Some(message),
        _ => None,
    });
    Ok(warned.collect())
}

/// What was said in one attempt.
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

/// How a task stands that no person is asked for.
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

fn document(attempt: &Attempt) -> Value {
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

fn row(attempt: &Attempt) -> Vec<String> {
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
