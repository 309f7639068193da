//! `drawloom workflow show`: the graph and its steps, on the terminal.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use flow::{Execution, Step, StepType, When, Workflow};
use serde_json::{Value, json};

use super::sheet;
use super::view::width;
use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;
use crate::table;

/// Show a workflow: its graph, and what each step does
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow show review.mmd
  drawloom workflow show pr-review --json | jq '.steps[].id'")]
pub(crate) struct Show {
    /// The workflow's file, its name, or `-` for stdin
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = super::Keeping::default().project(session)?;
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
                "steps": steps,
            }))?;
            return Ok(Exit::Done);
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
        output::styled(&output::harmless(&text))?;
        Ok(Exit::Done)
    }
}

fn row(workflow: &Workflow, step: &Step) -> Vec<String> {
    let then: Vec<String> = workflow
        .outgoing(&step.id)
        .map(|edge| match &edge.when {
            When::Always => edge.to.to_string(),
            When::Condition(condition) => format!("{} if {condition}", edge.to),
            When::Default => format!("{} otherwise", edge.to),
            When::OnError => format!("{} on error", edge.to),
        })
        .collect();
    let who = match (step.step_type, step.execution) {
        (StepType::Decision | StepType::Subflow | StepType::Wait, _) => "-".to_owned(),
        (_, Execution::Manual) => {
            let assignee = step.config.default_assignee_id.as_deref();
            assignee.unwrap_or("a person").to_owned()
        }
        (_, Execution::Automated) => {
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

fn handler(step: &Step) -> String {
    let name = serde_json::to_value(step.config.handler.unwrap_or_default());
    name.ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn as_json(workflow: &Workflow, step: &Step) -> Value {
    let edges: Vec<Value> = workflow
        .outgoing(&step.id)
        .map(|edge| {
            let (when, condition) = match &edge.when {
                When::Always => ("always", None),
                When::Condition(condition) => ("condition", Some(condition)),
                When::Default => ("default", None),
                When::OnError => ("on_error", None),
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
