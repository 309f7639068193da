//! A task: what is to be done, with what, and how one knows that it is done.
//!
//! Tasks are JSON. [`read`] takes a file's text and answers with the task or with every problem it
//! has, each with its place; [`schema`] is the JSON Schema of the same types, for editors and
//! models. [`crate::handlers::run`] carries a task out.

mod field;
mod problem;
mod read;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workspace::RelPath;

pub(crate) use field::{ObjectFields, TaskFileReader, nearest};
pub use problem::{PROBLEMS_MAX, TaskFileProblem, TaskFileProblems};
pub use read::{TASK_BYTES_MAX, read};
pub(crate) use read::{TASK_KEYS, check_size, read_object};

/// One unit of work for a model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The name by which other tasks and records refer to it: letters, digits, `.`, `_` and `-`.
    #[schemars(with = "String", regex(pattern = r"^[A-Za-z0-9._-]{1,128}$"))]
    pub subtask_id: TaskName,
    /// The plan this task belongs to. Kept for the reader; nothing depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// A short title for people; the id by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The kind of task, which decides what happens.
    #[serde(rename = "type")]
    pub kind: TaskKind,
    /// The goal, in a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The steps to take. A single text is one step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub instructions: Vec<String>,
    /// Files and directories to begin with, from the project's root. They are shown to the model:
    /// files with their content, directories as trees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub input_artifacts: Vec<String>,
    /// Files that must be there in the end, from the project's root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub output_artifacts: Vec<RelPath>,
    /// Rules the result has to keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub constraints: Vec<String>,
    /// Checks that decide whether it is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrManyCriteria")]
    pub validation_criteria: Vec<Criterion>,
    /// The tasks that have to be done before this one, by `subtask_id` or by a `name` that only
    /// one task has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "OneOrMany")]
    pub depends_on: Vec<String>,
    /// Another model than the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preference: Option<ModelPreference>,
    /// The task as it was written; the file's text by default. The model sees it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_text: Option<String>,
}

impl Task {
    /// Makes a task of this kind with every other field empty.
    pub fn new(id: TaskName, kind: TaskKind) -> Task {
        Task {
            subtask_id: id,
            task_id: None,
            name: None,
            kind,
            description: String::new(),
            instructions: Vec::new(),
            input_artifacts: Vec::new(),
            output_artifacts: Vec::new(),
            constraints: Vec::new(),
            validation_criteria: Vec::new(),
            depends_on: Vec::new(),
            model_preference: None,
            raw_text: None,
        }
    }

    /// Returns the task behind `plan create`: requirements in, a plan file out.
    pub fn planning(requirements: &RelPath, plan: RelPath) -> Task {
        let mut task = Task::new(TaskName("plan".to_owned()), TaskKind::Planning);
        task.description =
            format!("Make a plan that fulfils the requirements in `{requirements}`.");
        task.input_artifacts = vec![requirements.to_string(), ".".to_owned()];
        task.output_artifacts = vec![plan];
        task
    }

    /// Returns the words for people.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(self.subtask_id.as_str())
    }
}

/// The name of a task: letters, digits, `.`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskName(String);

impl TaskName {
    /// The longest id.
    pub const BYTES_MAX: usize = 128;

    /// Reads an id; the error is a sentence.
    pub fn parse(text: &str) -> Result<TaskName, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if text.is_empty() {
            return Err("an id cannot be empty".to_owned());
        }
        if text.len() > TaskName::BYTES_MAX {
            return Err(format!(
                "the id has {} characters, more than TaskId::BYTES_MAX ({})",
                text.len(),
                TaskName::BYTES_MAX
            ));
        }
        match text.chars().find(|c| !allowed(*c)) {
            Some(bad) => Err(format!(
                "the id `{text}` contains {bad:?}; use letters, digits, `.`, `_` and `-`"
            )),
            None => Ok(TaskName(text.to_owned())),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for TaskName {
    type Error = String;

    fn try_from(text: String) -> Result<TaskName, String> {
        TaskName::parse(&text)
    }
}

impl From<TaskName> for String {
    fn from(id: TaskName) -> String {
        id.0
    }
}

/// The kinds of tasks. Each has a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// The model writes or changes files with its tools; then the criteria are checked.
    CodeGeneration,
    /// The criteria are checked and nothing else happens.
    Validation,
    /// One question; the answer goes into the first output artifact.
    AiInteraction,
    /// Requirements become a plan file: the first output artifact.
    Planning,
    /// Nothing happens. Joins other tasks.
    NoOp,
}

impl TaskKind {
    /// All of them.
    pub const ALL: [TaskKind; 5] = [
        TaskKind::CodeGeneration,
        TaskKind::Validation,
        TaskKind::AiInteraction,
        TaskKind::Planning,
        TaskKind::NoOp,
    ];

    /// Returns the word for it in a task file.
    pub fn word(self) -> &'static str {
        match self {
            TaskKind::CodeGeneration => "code_generation",
            TaskKind::Validation => "validation",
            TaskKind::AiInteraction => "ai_interaction",
            TaskKind::Planning => "planning",
            TaskKind::NoOp => "no_op",
        }
    }

    /// Returns the kind that a word names.
    pub fn from_word(word: &str) -> Option<TaskKind> {
        TaskKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// One check that decides whether a task is done.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Criterion {
    /// A command that has to end with code 0.
    Run(RunCriterion),
    /// A file or directory that has to be there.
    FileExists(FileCriterion),
    /// Something that has to be judged. No command can, so it is reported as not checked.
    Describe(DescribeCriterion),
    /// A command if its program exists, else a description. Which of the two is recorded.
    Text(String),
}

/// A command that has to end with code 0.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunCriterion {
    /// The command line, for `sh`.
    pub run: String,
    /// The directory it runs in; the project's root by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub cwd: Option<RelPath>,
    /// Seconds it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub timeout: Option<u64>,
}

/// A file or directory that has to be there.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileCriterion {
    /// Its path from the project's root.
    #[schemars(with = "String")]
    pub file_exists: RelPath,
}

/// Something that has to be judged.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeCriterion {
    /// The condition to judge.
    pub describe: String,
}

/// The model to ask instead of the configured one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPreference {
    /// The provider's name, such as `anthropic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model's name, as its provider knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// The longest reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
}

/// Returns the JSON Schema of a task file.
pub fn schema() -> Value {
    schema_of::<Task>("Drawloom task")
}

/// Returns the schema of a type under a title.
pub(crate) fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

// Only the schemas know these two: reading makes a list of both forms.

/// A text, or a list of texts.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it exists for its schema")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// A criterion, or a list of them.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it exists for its schema")]
enum OneOrManyCriteria {
    One(Criterion),
    Many(Vec<Criterion>),
}
