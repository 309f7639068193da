//! A plan: tasks, and which of them come first.
//!
//! A plan file lists its tasks, each inline or in a file of its own. [`load`] reads them all and
//! answers with the [`TaskPlan`] or with every problem at once: a plan that could not be run to its
//! end is not begun. [`TaskGraph`] is the order; [`run`] carries the plan out.

mod graph;
mod journal;
mod load;
mod run;
mod svg;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use workspace::RelPath;

use crate::task::{Task, TaskKind, TaskName, schema_of};

pub use graph::{TaskGraph, TaskMark, TaskNode};
pub use journal::{MemoryPlan, PlanJournal, TaskFingerprint, TaskRecord, TaskState};
pub use load::{PLAN_TASKS_MAX, load, read};
pub use run::{PlanOutcome, PlanStatus, PlanTaskEnd, keys, run};

/// Tasks in the order of the file, checked: ids are unique, dependencies exist, nothing waits for
/// itself.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskPlan {
    /// The purpose of the whole plan.
    pub goal: Option<String>,
    /// The tasks, as the file lists them.
    pub tasks: Vec<Task>,
    /// The order of the tasks.
    pub graph: TaskGraph,
}

impl TaskPlan {
    /// Returns the task of this id.
    pub fn task(&self, id: &TaskName) -> Option<&Task> {
        self.tasks.iter().find(|task| task.subtask_id == *id)
    }

    /// Returns the plan as a file with every task inline.
    pub fn to_json(&self) -> String {
        let entries = self.tasks.iter().map(|task| {
            let mut task = task.clone();
            // The file itself is the raw text.
            task.raw_text = None;
            PlanEntry::Inline(Box::new(task))
        });
        let file = PlanFile {
            goal: self.goal.clone(),
            tasks: entries.collect(),
        };
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// A plan as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// The purpose of the whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The tasks. They are run in the order of their dependencies, and in this order where those
    /// leave a choice.
    #[schemars(length(min = 1))]
    pub tasks: Vec<PlanEntry>,
}

/// A task, or where it is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PlanEntry {
    /// The task itself.
    Inline(Box<Task>),
    /// A file with the task in it.
    File(TaskReference),
}

/// A task in a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskReference {
    /// The task's file, seen from the plan's directory. It lies inside the project.
    pub file_path: String,
    /// The id; it has to be the one in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub subtask_id: Option<TaskName>,
    /// The kind; it has to be the one in the file.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TaskKind>,
    /// A title for people, instead of the one in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tasks that come first, in addition to those the file names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

/// Returns the JSON Schema of a plan file.
pub fn schema() -> Value {
    schema_of::<PlanFile>("Drawloom plan")
}

/// Returns the file a reference names, relative to the plan's own path. `..` may be used as long as
/// the path stays inside the project; the error is a sentence.
fn beside(plan: &RelPath, file_path: &str) -> Result<RelPath, String> {
    let slashed = file_path.replace('\\', "/");
    if slashed.starts_with('/') || slashed.starts_with('~') {
        return Err(format!(
            "`{file_path}` is not a path from the plan's directory; plans name files of their own project"
        ));
    }
    let mut names: Vec<String> = plan
        .parent()
        .unwrap_or_else(RelPath::root)
        .names()
        .map(str::to_owned)
        .collect();
    for name in slashed.split('/') {
        match name {
            "" | "." => {}
            ".." if names.pop().is_none() => {
                return Err(format!("`{file_path}` leads out of the project"));
            }
            ".." => {}
            name => names.push(name.to_owned()),
        }
    }
    RelPath::parse(&names.join("/")).map_err(|error| error.to_string())
}
