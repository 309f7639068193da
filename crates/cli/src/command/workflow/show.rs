//! `drawloom workflow show`: the graph and its steps, on the terminal.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use flow::{
    EdgeCondition, ExecutionMode, StepType, TriggerCause, Workflow, WorkflowStep, WorkflowTrigger,
};
use serde_json::{Value, json};

use super::sheet;
use super::view::width;
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;
use crate::table;

/// Show a workflow: its graph and its steps
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow show review.mmd
  drawloom workflow show pr-review --json | jq '.steps[].id'")]
pub(crate) struct WorkflowShowArgs {
    /// The workflow's file, its name, or `-` for stdin
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl WorkflowShowArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = super::DatabaseArgs::default().project(session)?;
        let sheet = sheet(session, &project, &self.file)?;
        let Some(workflow) = &sheet.workflow else {
            return Err(super::wrong(&sheet));
        };
        if self.json {
            let steps: Vec<Value> = workflow
                .steps()
                .iter()
                .map(|step| as_json(workflow, step))
                .collect();
            output::json(&json!({
                "name": workflow.name().unwrap_or(&sheet.name), "hash": workflow.hash().as_str(),
                "starts": workflow.starts().iter().map(|id| id.as_str()).collect::<Vec<_>>(),
                "steps": steps, "input": workflow.input_schema(),
                "triggers": workflow.triggers().iter().map(told).collect::<Vec<_>>(),
            }))?;
            return Ok(CliExit::Done);
        }
        let mut text = workflow
            .document()
            .diagram()
            .to_text(width(), &HashMap::new());
        text.push('\n');
        let mut rows = vec![
            ["STEP", "NAME", "WHAT", "WHO", "THEN"]
                .map(str::to_owned)
                .to_vec(),
        ];
        rows.extend(workflow.steps().iter().map(|step| row(workflow, step)));
        text.push_str(&table::render(&rows));
        text.push_str(&inputs_table(workflow));
        for trigger in workflow.triggers() {
            text.push_str(&format!("starts by itself: {}\n", told(trigger)));
        }
        if let Some(limit) = workflow.concurrency() {
            text.push_str(&format!("at most {} under way at a time\n", limit.max));
        }
        output::styled(&output::harmless(&text))?;
        Ok(CliExit::Done)
    }
}

/// Says what a run is started with, a row for each value.
pub(crate) fn inputs_table(workflow: &Workflow) -> String {
    let Some(schema) = workflow.input_schema() else {
        return String::new();
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let mut rows = vec![
        ["INPUT", "TYPE", "DEFAULT", "ABOUT"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (name, property) in properties.into_iter().flatten() {
        let text = |key: &str| match property.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        let kind = match property.get("enum").and_then(Value::as_array) {
            Some(choices) => {
                let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
                choices.join(" | ")
            }
            None => text("type"),
        };
        let default = match (property.get("default"), is_required(name)) {
            (Some(_), _) => text("default"),
            (None, true) => "(required)".to_owned(),
            (None, false) => String::new(),
        };
        rows.push(vec![name.clone(), kind, default, text("description")]);
    }
    table::render(&rows)
}

/// Says what a trigger waits for, in words.
fn told(trigger: &WorkflowTrigger) -> String {
    let cause = match &trigger.cause {
        TriggerCause::Clock(clock) => {
            let zone = clock.time_zone.as_deref().unwrap_or("UTC");
            format!("at `{}` ({zone})", clock.cron)
        }
        TriggerCause::Files(patterns) => format!("when {} change", patterns.join(", ")),
        TriggerCause::After { workflow, .. } => format!("after `{workflow}`"),
    };
    match trigger.is_paused {
        true => format!("{cause} (paused)"),
        false => cause,
    }
}

fn row(workflow: &Workflow, step: &WorkflowStep) -> Vec<String> {
    let then: Vec<String> = workflow
        .outgoing(&step.id)
        .map(|edge| match &edge.when {
            EdgeCondition::Always => edge.to.to_string(),
            EdgeCondition::Condition(condition) => format!("{} if {condition}", edge.to),
            EdgeCondition::Default => format!("{} otherwise", edge.to),
            EdgeCondition::OnError => format!("{} on error", edge.to),
        })
        .collect();
    let who = match (step.step_type, step.execution) {
        (StepType::Decision | StepType::Subflow | StepType::Wait, _) => "-".to_owned(),
        (_, ExecutionMode::Manual) => {
            let assignee = step.config.default_assignee_id.as_deref();
            assignee.unwrap_or("a person").to_owned()
        }
        (_, ExecutionMode::Automated) => {
            let handler = handler(step);
            let agent = step.config.default_assignee_id.as_deref();
            agent.map_or_else(|| handler.clone(), |agent| format!("{handler} ({agent})"))
        }
    };
    vec![
        step.id.to_string(),
        step.name.clone(),
        step.step_type.name().to_owned(),
        who,
        match then.is_empty() {
            true => "(end)".to_owned(),
            false => then.join("; "),
        },
    ]
}

fn handler(step: &WorkflowStep) -> String {
    let name = serde_json::to_value(step.config.handler.unwrap_or_default());
    name.ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn as_json(workflow: &Workflow, step: &WorkflowStep) -> Value {
    let edges: Vec<Value> = workflow
        .outgoing(&step.id)
        .map(|edge| {
            let (when, condition) = match &edge.when {
                EdgeCondition::Always => ("always", None),
                EdgeCondition::Condition(condition) => ("condition", Some(condition)),
                EdgeCondition::Default => ("default", None),
                EdgeCondition::OnError => ("on_error", None),
            };
            json!({ "to": edge.to.as_str(), "when": when, "condition": condition })
        })
        .collect();
    json!({
        "id": step.id.as_str(), "name": step.name, "stepType": step.step_type,
        "execution": step.execution, "handler": handler(step), "prompt": step.config.prompt,
        "assignee": step.config.default_assignee_id, "line": step.spot.line, "edges": edges,
    })
}
