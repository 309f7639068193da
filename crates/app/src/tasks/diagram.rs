//! The workflow that the task or the plan of a file is run as: a step for each task, an edge for each
//! dependency.
//!
//! The text says everything that a worker on another machine needs. A task that fails takes those that
//! depend on it with it and leaves the others alone: its `onError` leads to the last step, which fails the
//! run when everything else has ended.

use std::collections::BTreeSet;

use agent::plan::{TaskFingerprint, TaskPlan, keys};
use agent::task::{Task, TaskName};
use flow::{StepId, WorkflowStep};
use serde_json::{Map, Value, json};

/// The last step of a plan, to which every task leads.
const LAST: &str = "all_done";
/// Words that mean something in a diagram or a config block.
const RESERVED: [&str; 17] = [
    LAST,
    "call",
    "class",
    "classDef",
    "click",
    "concurrency",
    "default",
    "direction",
    "end",
    "flowchart",
    "graph",
    "href",
    "input",
    "linkStyle",
    "style",
    "subgraph",
    "trigger",
];
/// Attempts of a task whose workers die; what fails otherwise is not tried again by itself.
const ATTEMPTS_MAX: u32 = 20;
/// The longest label of a node.
const LABEL_CHARS_MAX: usize = 60;

/// The names of the settings of a step.
pub(crate) const SETTINGS: [&str; 4] = [TASK, FILE, FINGERPRINT, AFTER];
const TASK: &str = "task";
const FILE: &str = "file";
const FINGERPRINT: &str = "fingerprint";
const AFTER: &str = "after";

/// The workflow of a file, and the step of each task in it.
pub(super) struct TaskDiagram {
    pub(super) text: String,
    /// In the order of the plan.
    pub(super) steps: Vec<TaskStep>,
}

/// The step that a task has become.
pub(super) struct TaskStep {
    pub(super) step: StepId,
    pub(super) title: String,
    pub(super) key: TaskFingerprint,
    /// The places of the tasks that come first.
    pub(super) after: Vec<usize>,
}

/// A task as a step holds it.
pub(crate) struct StepTask {
    pub(crate) task: Task,
    /// The file that the task comes from, by which a user trusts its commands.
    pub(crate) file: Option<String>,
    pub(crate) key: TaskFingerprint,
    /// The steps whose results it is told: the step, its task, and the task's title.
    pub(crate) after: Vec<(StepId, TaskName, String)>,
}

impl TaskDiagram {
    /// Draws a single task.
    pub(super) fn of_task(file: &str, task: &Task, key: TaskFingerprint) -> TaskDiagram {
        let step = TaskStep {
            step: StepId::new(step_name(&task.subtask_id, &mut BTreeSet::new())),
            title: task.title().to_owned(),
            key,
            after: Vec::new(),
        };
        let steps = vec![step];
        let text = drawn(file, &[task], &steps);
        TaskDiagram { text, steps }
    }

    /// Draws a plan.
    pub(super) fn of_plan(file: &str, plan: &TaskPlan) -> TaskDiagram {
        let mut keys = keys(plan);
        let mut used = BTreeSet::new();
        let (mut tasks, mut steps) = (Vec::new(), Vec::<TaskStep>::new());
        for node in plan.graph.nodes() {
            let (Some(task), Some(key)) = (plan.task(&node.id), keys.remove(&node.id)) else {
                continue;
            };
            let place = |id: &TaskName| steps.iter().position(|step| step.key.id == *id);
            let after = node.after.iter().filter_map(place).collect();
            tasks.push(task);
            steps.push(TaskStep {
                step: StepId::new(step_name(&node.id, &mut used)),
                title: node.title.clone(),
                key,
                after,
            });
        }
        let text = drawn(file, &tasks, &steps);
        TaskDiagram { text, steps }
    }
}

impl StepTask {
    /// Reads the task of a step; the error is a sentence.
    pub(crate) fn of(step: &WorkflowStep) -> Result<StepTask, String> {
        let empty = Map::new();
        let config = step.config.config.as_ref().unwrap_or(&empty);
        let Some(Value::Object(given)) = config.get(TASK) else {
            return Err("The handler needs a task: `\"config\": { \"task\": { … } }`.".to_owned());
        };
        let text = Value::Object(given.clone()).to_string();
        let mut task = agent::task::read(&text, TASK).map_err(|problems| {
            let problems = problems.iter().map(|problem| match problem.place.as_str() {
                "" => format!("The task is not one: {}.", problem.message),
                place => format!("`{TASK}.{place}`: {}.", problem.message),
            });
            problems.collect::<Vec<_>>().join(" ")
        })?;
        task.raw_text = given
            .get("raw_text")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let text_of = |name: &str| config.get(name).and_then(Value::as_str).map(str::to_owned);
        let fingerprint = text_of(FINGERPRINT).unwrap_or_else(|| super::run_archive::digest(&text));
        Ok(StepTask {
            key: TaskFingerprint {
                id: task.subtask_id.clone(),
                fingerprint,
            },
            task,
            file: text_of(FILE),
            after: after_of(config)?,
        })
    }
}

fn after_of(config: &Map<String, Value>) -> Result<Vec<(StepId, TaskName, String)>, String> {
    let Some(given) = config.get(AFTER) else {
        return Ok(Vec::new());
    };
    let wrong = || format!("`{AFTER}` must be a list of `{{\"step\", \"task\", \"name\"}}`.");
    let read = given.as_array().ok_or_else(wrong)?.iter().map(|entry| {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let (Some(step), Some(task)) = (text("step"), text("task")) else {
            return Err(wrong());
        };
        let name = text("name").unwrap_or(task).to_owned();
        let task = TaskName::parse(task).map_err(|problem| format!("`{AFTER}`: {problem}."))?;
        Ok((StepId::new(step), task, name))
    });
    read.collect()
}

/// Makes a name that a node of a diagram can have, and that no other step has.
fn step_name(id: &TaskName, used: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut name: String = id.as_str().chars().map(plain).collect();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || RESERVED.iter().any(|word| word.eq_ignore_ascii_case(&name)) {
        name = format!("task_{name}");
    }
    let (first, mut number) = (name.clone(), 2);
    while !used.insert(name.clone()) {
        name = format!("{first}_{number}");
        number += 1;
    }
    name
}

/// Writes the diagram.
fn drawn(file: &str, tasks: &[&Task], steps: &[TaskStep]) -> String {
    let mut text = "graph TD\n".to_owned();
    for step in steps {
        let label = label(&step.title, step.key.id.as_str());
        text.push_str(&format!("    {}[\"{label}\"]\n", step.step));
    }
    let has_last = steps.len() > 1;
    if has_last {
        text.push_str(&format!("    {LAST}[\"All done\"]\n"));
    }
    let mut leads_on = vec![false; steps.len()];
    for step in steps {
        for first in step.after.iter().copied() {
            leads_on[first] = true;
            text.push_str(&format!("    {} --> {}\n", steps[first].step, step.step));
        }
    }
    for (step, leads_on) in steps.iter().zip(leads_on).filter(|_| has_last) {
        if !leads_on {
            text.push_str(&format!("    {} --> {LAST}\n", step.step));
        }
    }
    text.push_str("%% === WORKFLOW_CONFIG ===\n");
    for (step, task) in steps.iter().zip(tasks) {
        let config = one_line(&config_of(file, (task, step), steps));
        text.push_str(&format!("%% @{}: {config}\n", step.step));
    }
    if has_last {
        let config = json!({ "stepType": "join", "name": "All done", "failFast": true });
        text.push_str(&format!("%% @{LAST}: {config}\n"));
    }
    text.push_str("%% === END_CONFIG ===\n");
    text
}

fn config_of(file: &str, (task, step): (&Task, &TaskStep), steps: &[TaskStep]) -> Value {
    let after = step.after.iter().map(|first| {
        let first = &steps[*first];
        json!({ "step": first.step, "task": first.key.id, "name": first.title })
    });
    let mut config = json!({
        "name": step.title,
        "handler": "task",
        "retry": { "attempts": ATTEMPTS_MAX, "delay": "1s", "max": "30s", "on": ["lease"] },
        "config": {
            TASK: task,
            FILE: file,
            FINGERPRINT: step.key.fingerprint,
            AFTER: after.collect::<Vec<_>>(),
        },
    });
    match step.after.len() {
        0 | 1 => config["stepType"] = json!("task"),
        count => {
            config["stepType"] = json!("join");
            config["minCount"] = json!(count);
        }
    }
    match steps.len() {
        1 => config["failFast"] = json!(true),
        _ => config["onError"] = json!(LAST),
    }
    config
}

/// Writes a value on one line of plain characters: a line end or a direction mark in a title would be
/// one in the diagram.
fn one_line(value: &Value) -> String {
    let mut line = String::new();
    for c in value.to_string().chars() {
        let is_plain =
            !c.is_control() && !matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if is_plain {
            line.push(c);
        } else {
            line.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    line
}

/// Returns a text that a node can show; its config has the whole title.
fn label(title: &str, id: &str) -> String {
    let fits =
        |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | '-' | '_' | '/' | ':');
    let words: String = title.chars().filter(fits).take(LABEL_CHARS_MAX).collect();
    match words.trim() {
        "" => id.to_owned(),
        words => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use agent::plan;
    use workspace::RelPath;

    use super::{StepTask, TaskDiagram};

    fn diagram(text: &str) -> (TaskDiagram, flow::Workflow) {
        let none = |_: &RelPath| Ok(None);
        let path = RelPath::parse("plan.json").unwrap();
        let plan = plan::read(text, &path, &none).unwrap();
        let diagram = TaskDiagram::of_plan("plan.json", &plan);
        let workflow = flow::parse(&diagram.text).unwrap();
        let around = flow::CheckSurroundings::default();
        let problems = flow::check(&workflow, &around);
        assert!(flow::is_fine(&problems), "{problems:?}\n{}", diagram.text);
        for (step, node) in diagram.steps.iter().zip(plan.graph.nodes()) {
            let read = StepTask::of(workflow.step(&step.step).unwrap()).unwrap();
            assert_eq!(Some(&read.task), plan.task(&node.id), "{}", diagram.text);
            assert_eq!(read.key, step.key);
            let after: Vec<_> = read.after.into_iter().map(|(_, task, _)| task).collect();
            assert_eq!(after, node.after);
        }
        (diagram, workflow)
    }

    #[test]
    fn a_plan_is_a_workflow_that_holds_its_tasks_word_for_word() {
        let (diagram, workflow) = diagram(
            r#"{"tasks": [
              {"subtask_id": "d", "type": "no_op", "depends_on": ["b-1", "end"]},
              {"subtask_id": "a", "type": "validation", "name": "Join \"x\" {{y}} \u202e\n %% é",
               "validation_criteria": [{"run": "echo '{{ no value }}'"}]},
              {"subtask_id": "b-1", "type": "ai_interaction", "description": "Wait: 2h `{{`", "depends_on": ["a"]},
              {"subtask_id": "b_1", "type": "no_op"},
              {"subtask_id": "end", "type": "no_op", "depends_on": ["a"]}]}"#,
        );
        let names: Vec<&str> = diagram
            .steps
            .iter()
            .map(|step| step.step.as_str())
            .collect();
        assert_eq!(names.len(), 5);
        for name in ["a", "b_1", "b_1_2", "task_end", "d"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert_eq!(workflow.steps().len(), 6);
        assert!(!diagram.text.contains('\u{202e}'));
    }

    #[test]
    fn the_same_plan_is_the_same_text() {
        let text = r#"{"tasks": [{"subtask_id": "a", "type": "no_op"}]}"#;
        assert_eq!(diagram(text).0.text, diagram(text).0.text);
    }
}
