//! Values of the last run of a workflow: what references of a step can be completed with and tried on.

use app::UseCases;
use app::workflows::LoadedWorkflow;
use flow::engine::TaskRow;
use serde_json::{Map, Value, json};
use store::{RunFilter, TaskFilter};

use super::parts::value_line;
use crate::problem::ApiProblem;

/// Number of tasks that are read of the last run.
const TASKS_MAX: usize = 200;
/// How many references are offered.
const REFERENCES_MAX: usize = 120;
/// How deep values are taken apart.
const DEPTH_MAX: usize = 3;

/// The values that a run had, by the step that gave them.
#[derive(Debug, Default)]
pub(crate) struct RunSample {
    input: Value,
    outputs: Map<String, Value>,
}

impl RunSample {
    /// Reads the last run of a workflow; `None` if it has never run.
    pub(crate) async fn of(
        use_cases: &UseCases,
        sheet: &LoadedWorkflow,
    ) -> Result<RunSample, ApiProblem> {
        let filter = RunFilter {
            workflow: Some(sheet.title().to_owned()),
            is_top: true,
            ..RunFilter::default()
        };
        let Some(run) = use_cases.runs(&filter, 1).await?.into_iter().next() else {
            return Ok(RunSample::default());
        };
        let filter = TaskFilter {
            run: Some(run.id.clone()),
            has_ended: true,
            ..TaskFilter::default()
        };
        let tasks = use_cases.list_tasks(&filter, TASKS_MAX).await?;
        let output = |task: TaskRow| Some((task.id.step.as_str().to_owned(), task.output?));
        Ok(RunSample {
            input: use_cases.input(&run.id).await?,
            outputs: tasks.into_iter().filter_map(output).collect(),
        })
    }

    /// The state that the expressions of a step read, with the output of a step before it.
    pub(super) fn state(&self, sheet: &LoadedWorkflow, step: &str) -> Map<String, Value> {
        let before = before(sheet, step);
        let outputs = before.iter().find_map(|id| self.outputs.get(id));
        let steps = self.outputs.iter();
        let steps = steps.map(|(id, output)| (id.clone(), json!({ "output": output })));
        let mut state = Map::new();
        state.insert("input".to_owned(), self.input.clone());
        state.insert("output".to_owned(), outputs.cloned().unwrap_or(json!({})));
        state.insert("steps".to_owned(), Value::Object(steps.collect()));
        state
    }

    /// The references that a step can read, each with the value that it had last.
    pub(crate) fn references(&self, sheet: &LoadedWorkflow, step: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        take_apart("input", &self.input, 0, &mut found);
        for field in super::workflows::input_fields(sheet) {
            let path = format!("input.{}", field.name);
            if !found.iter().any(|(known, _)| *known == path) {
                found.push((path, field.description.unwrap_or_default()));
            }
        }
        let state = self.state(sheet, step);
        take_apart("output", &state["output"], 0, &mut found);
        if let Some(workflow) = &sheet.workflow {
            let found_step = workflow.steps().iter().find(|one| one.id.as_str() == step);
            for name in found_step.iter().flat_map(|step| &step.item_variables) {
                found.push((name.clone(), "the item of the loop".to_owned()));
            }
            for other in workflow
                .steps()
                .iter()
                .filter(|one| one.id.as_str() != step)
            {
                let path = format!("steps.{}.output", other.id.as_str());
                let known = self.outputs.get(other.id.as_str());
                match known {
                    Some(output) => take_apart(&path, output, 0, &mut found),
                    None => {
                        let schema = other.config.output_schema.as_ref();
                        let properties = schema.and_then(|schema| schema["properties"].as_object());
                        found.push((path.clone(), format!("what “{}” gives", other.name)));
                        for name in properties.into_iter().flat_map(Map::keys) {
                            found.push((format!("{path}.{name}"), String::new()));
                        }
                    }
                }
            }
        }
        found.truncate(REFERENCES_MAX);
        found
    }
}

/// The steps that lead to a step, those of a decision before it included.
fn before(sheet: &LoadedWorkflow, step: &str) -> Vec<String> {
    let Some(workflow) = &sheet.workflow else {
        return Vec::new();
    };
    let leading = |to: &str| -> Vec<String> {
        let edges = workflow
            .edges()
            .iter()
            .filter(|edge| edge.to.as_str() == to);
        edges.map(|edge| edge.from.as_str().to_owned()).collect()
    };
    let near = leading(step);
    let far: Vec<String> = near.iter().flat_map(|id| leading(id)).collect();
    near.into_iter().chain(far).collect()
}

/// Adds a path with its value, and the paths inside of it.
fn take_apart(path: &str, value: &Value, depth: usize, found: &mut Vec<(String, String)>) {
    if !value.is_null() {
        found.push((path.to_owned(), value_line(value)));
    }
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if let Value::Object(map) = value
        && depth < DEPTH_MAX
    {
        for (name, inner) in map.iter().filter(|(name, _)| is_name(name)) {
            take_apart(&format!("{path}.{name}"), inner, depth + 1, found);
        }
    }
}
