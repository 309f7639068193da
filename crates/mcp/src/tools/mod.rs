//! The tools: one table of names, sets, descriptions and schemas, and one call for each.

pub(crate) mod author;
pub(crate) mod build;
pub(crate) mod generate;
pub(crate) mod look;
pub(crate) mod runs;

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::failure::ToolFailure;
use crate::{DrawloomServer, ToolSet};

/// The result of a call.
pub(crate) type CallOutcome = Result<Value, ToolFailure>;

/// The effect of a tool on the project and its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    Reads,
    Writes,
}

/// One tool.
pub(crate) struct ToolEntry {
    pub(crate) name: ToolName,
    set: ToolSet,
    pub(crate) effect: ToolEffect,
    description: &'static str,
    schema: fn() -> Map<String, Value>,
    /// Fields that every result has: `name:type`, with spaces between.
    output: &'static str,
}

/// The name of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolName {
    ListRecipes,
    RunRecipe,
    ListWorkflows,
    StartRun,
    GetRun,
    ControlRun,
    ListTasks,
    AnswerTask,
    CheckWorkflow,
    SaveWorkflow,
    ExplainStep,
    RenderTemplate,
    PlanBuild,
    ApproveBuild,
    GetBuild,
    BuildDiff,
    ProjectIndex,
    Impact,
}

impl ToolName {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ToolName::ListRecipes => "list_recipes",
            ToolName::RunRecipe => "run_recipe",
            ToolName::ListWorkflows => "list_workflows",
            ToolName::StartRun => "start_run",
            ToolName::GetRun => "get_run",
            ToolName::ControlRun => "control_run",
            ToolName::ListTasks => "list_tasks",
            ToolName::AnswerTask => "answer_task",
            ToolName::CheckWorkflow => "check_workflow",
            ToolName::SaveWorkflow => "save_workflow",
            ToolName::ExplainStep => "explain_step",
            ToolName::RenderTemplate => "render_template",
            ToolName::PlanBuild => "plan_build",
            ToolName::ApproveBuild => "approve_build",
            ToolName::GetBuild => "get_build",
            ToolName::BuildDiff => "build_diff",
            ToolName::ProjectIndex => "project_index",
            ToolName::Impact => "impact",
        }
    }

    /// Returns the resource that scopes of tokens name, as the routes of the API have it.
    fn resource(self) -> &'static str {
        match self {
            ToolName::ListRecipes | ToolName::RunRecipe | ToolName::RenderTemplate => "recipes",
            ToolName::ListWorkflows
            | ToolName::CheckWorkflow
            | ToolName::SaveWorkflow
            | ToolName::ExplainStep => "workflows",
            ToolName::StartRun | ToolName::GetRun | ToolName::ControlRun => "runs",
            ToolName::ListTasks | ToolName::AnswerTask => "tasks",
            ToolName::PlanBuild
            | ToolName::ApproveBuild
            | ToolName::GetBuild
            | ToolName::BuildDiff => "builder",
            ToolName::ProjectIndex | ToolName::Impact => "index",
        }
    }

    /// Returns the name of the thing that a call is about, for the audit log.
    pub(crate) fn object(self, arguments: &Map<String, Value>) -> String {
        let named = ["name", "workflow", "id"]
            .into_iter()
            .find_map(|key| arguments.get(key)?.as_str());
        let named: String = named
            .unwrap_or_default()
            .chars()
            .take(OBJECT_CHARS_MAX)
            .collect();
        format!("{}/{named}", self.resource())
    }
}

/// How many characters of a name the audit log keeps.
const OBJECT_CHARS_MAX: usize = 200;

impl ToolEntry {
    pub(crate) fn tool(&self) -> Tool {
        let schema = Arc::new((self.schema)());
        let mut tool = Tool::new(self.name.as_str(), self.description, schema);
        let reads = self.effect == ToolEffect::Reads;
        tool.annotations = Some(ToolAnnotations::new().read_only(reads));
        tool.output_schema = Some(Arc::new(output_schema(self.output)));
        tool
    }
}

/// The schema of a result, from the list of what it has.
fn output_schema(fields: &str) -> Map<String, Value> {
    let fields = fields.split(' ').filter_map(|field| field.split_once(':'));
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, kind) in fields {
        properties.insert(name.to_owned(), json!({ "type": kind }));
        required.push(name);
    }
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

macro_rules! tool {
    ($name:ident, $set:ident, $effect:ident, $arguments:ty, $output:literal, $description:expr) => {
        ToolEntry {
            name: ToolName::$name,
            set: ToolSet::$set,
            effect: ToolEffect::$effect,
            description: $description,
            schema: schema_of::<$arguments>,
            output: $output,
        }
    };
}

const TOOLS: [ToolEntry; 18] = [
    tool!(
        ListRecipes,
        Generate,
        Reads,
        NoArguments,
        "recipes:array",
        "Lists the recipes of this project with their variables. A recipe writes files from templates."
    ),
    tool!(
        RunRecipe,
        Generate,
        Writes,
        generate::RecipeArguments,
        "status:string",
        "Runs a recipe. Returns status `done` with the files; or `answers_needed` with questions and \
         their schemas: call again with the same values and `answers` by key; or `conflicts` with files \
         that exist: nothing was written. `dry_run` shows what would be written."
    ),
    tool!(
        ListWorkflows,
        Runs,
        Reads,
        NoArguments,
        "workflows:array",
        "Lists the workflows that can be started."
    ),
    tool!(
        StartRun,
        Runs,
        Writes,
        runs::StartRun,
        "run:string status:string next:string",
        "Starts a run of a workflow and returns its id at once; `wait_seconds` (0 to 20) waits for it to \
         end or to wait for a person. Look again with get_run."
    ),
    tool!(
        GetRun,
        Runs,
        Reads,
        runs::GetRun,
        "run:string status:string next:string",
        "Shows a run: status, steps with outputs and failures, decisions with the values that decided, \
         cost, and what it waits for."
    ),
    tool!(
        ControlRun,
        Runs,
        Writes,
        runs::ControlRun,
        "run:string status:string next:string",
        "Cancels, pauses or resumes a run, or reruns it from a step (`from_step`)."
    ),
    tool!(
        ListTasks,
        Runs,
        Reads,
        runs::ListTasks,
        "tasks:array",
        "Lists tasks that wait for a person, with their prompts."
    ),
    tool!(
        AnswerTask,
        Runs,
        Writes,
        runs::AnswerTask,
        "run:string status:string next:string",
        "Answers a task that is assigned to you. Tasks for people, and tasks of runs that you started, \
         are refused: tell the person instead."
    ),
    tool!(
        CheckWorkflow,
        Author,
        Reads,
        author::CheckWorkflow,
        "can_run:boolean problems:array hash:string",
        "Checks the Mermaid text of a workflow and returns every problem with line, column and hint."
    ),
    tool!(
        SaveWorkflow,
        Author,
        Writes,
        author::SaveWorkflow,
        "can_run:boolean problems:array hash:string version:integer",
        "Saves the text of a workflow as a new version. `seen` is the hash of the text you changed, from \
         check_workflow or explain_step; leave it out for a new workflow."
    ),
    tool!(
        ExplainStep,
        Author,
        Reads,
        author::ExplainStep,
        "step:string edges:array hash:string",
        "Shows one step of a workflow: type, settings, what it reads, where its edges go and when."
    ),
    tool!(
        RenderTemplate,
        Author,
        Reads,
        author::RenderTemplate,
        "text:string questions:integer",
        "Renders the text of a template with `data` and shows the result; `@ai` blocks stay empty. Writes nothing."
    ),
    tool!(
        PlanBuild,
        Build,
        Writes,
        build::PlanBuild,
        "build:string status:string next:string",
        "Asks for a build: a model plans a change of this repository. Returns the build's id at once."
    ),
    tool!(
        ApproveBuild,
        Build,
        Writes,
        build::NamedBuild,
        "build:string",
        "Approves a plan. Only people may: you get the command that a person runs."
    ),
    tool!(
        GetBuild,
        Build,
        Reads,
        build::NamedBuild,
        "build:string status:string next:string",
        "Shows a build: status, plan, checks, result."
    ),
    tool!(
        BuildDiff,
        Build,
        Reads,
        build::NamedBuild,
        "build:string diffs:array",
        "Shows the changes that a build made, as unified diffs."
    ),
    tool!(
        ProjectIndex,
        Look,
        Reads,
        look::ProjectIndex,
        "index:string",
        "Shows the files that matter most with what they define, within a budget of tokens."
    ),
    tool!(
        Impact,
        Look,
        Reads,
        look::ImpactOf,
        "files:array tests:array",
        "Shows the files and tests that changes to these files reach."
    ),
];

/// No arguments at all.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoArguments {}

/// The tool of a name, if its set is on.
pub(crate) fn find(name: &str, sets: &[ToolSet]) -> Option<&'static ToolEntry> {
    let mut entries = TOOLS.iter().filter(|entry| sets.contains(&entry.set));
    entries.find(|entry| entry.name.as_str() == name)
}

pub(crate) fn listed(sets: &[ToolSet]) -> Vec<Tool> {
    let entries = TOOLS.iter().filter(|entry| sets.contains(&entry.set));
    entries.map(ToolEntry::tool).collect()
}

pub(crate) async fn call(
    server: &DrawloomServer,
    entry: &ToolEntry,
    arguments: Value,
) -> CallOutcome {
    server.check_scope(entry.name.resource(), entry.effect)?;
    match entry.name {
        ToolName::ListRecipes => generate::list(server, read(arguments)?).await,
        ToolName::RunRecipe => generate::run(server, read(arguments)?).await,
        ToolName::ListWorkflows => runs::workflows(server, read(arguments)?).await,
        ToolName::StartRun => runs::start(server, read(arguments)?).await,
        ToolName::GetRun => runs::get(server, read(arguments)?).await,
        ToolName::ControlRun => runs::control(server, read(arguments)?).await,
        ToolName::ListTasks => runs::tasks(server, read(arguments)?).await,
        ToolName::AnswerTask => runs::answer(server, read(arguments)?).await,
        ToolName::CheckWorkflow => author::check(server, read(arguments)?).await,
        ToolName::SaveWorkflow => author::save(server, read(arguments)?).await,
        ToolName::ExplainStep => author::explain(server, read(arguments)?).await,
        ToolName::RenderTemplate => author::render(server, read(arguments)?).await,
        ToolName::PlanBuild => build::plan(server, read(arguments)?).await,
        ToolName::ApproveBuild => build::approve(server, read(arguments)?).await,
        ToolName::GetBuild => build::get(server, read(arguments)?).await,
        ToolName::BuildDiff => build::diff(server, read(arguments)?).await,
        ToolName::ProjectIndex => look::index(server, read(arguments)?).await,
        ToolName::Impact => look::impact(server, read(arguments)?).await,
    }
}

/// Reads the arguments of a call; an error names the wrong argument.
fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolFailure> {
    serde_json::from_value(arguments).map_err(|cause| {
        ToolFailure::new(format!("the arguments do not fit: {cause}"))
            .hint("call the tool again as its input schema says")
    })
}

/// The input schema of a tool, without what every schema says.
fn schema_of<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    let Value::Object(mut schema) = schema.to_value() else {
        return Map::new();
    };
    schema.remove("title");
    schema.remove("description");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(one_type);
    }
    schema
}

/// Gives an optional property one type: some clients know no other, and none sends `null`.
fn one_type(property: &mut Value) {
    let Some(Value::Array(kinds)) = property.get("type") else {
        return;
    };
    let mut kinds = kinds.iter().filter(|kind| *kind != "null").cloned();
    if let (Some(kind), None) = (kinds.next(), kinds.next()) {
        property["type"] = kind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list is part of every conversation: it must stay short.
    #[test]
    fn all_tools_together_take_at_most_12_kilobytes() {
        let tools = listed(&ToolSet::ALL);
        assert_eq!(tools.len(), TOOLS.len());
        let bytes = serde_json::to_string(&tools).unwrap().len();
        assert!(bytes <= 12_000, "tools/list has {bytes} bytes");
    }

    #[test]
    fn every_schema_refuses_unknown_arguments() {
        for tool in listed(&ToolSet::ALL) {
            let refuses = tool.input_schema.get("additionalProperties");
            assert_eq!(refuses, Some(&Value::Bool(false)), "{}", tool.name);
        }
    }

    #[test]
    fn every_argument_has_one_type() {
        for tool in listed(&ToolSet::ALL) {
            let properties = tool
                .input_schema
                .get("properties")
                .and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                assert!(!property["type"].is_array(), "{}: {name}", tool.name);
            }
        }
    }

    #[test]
    fn a_tool_of_a_set_that_is_off_is_not_there() {
        assert!(find("project_index", &ToolSet::DEFAULT).is_none());
        assert!(find("project_index", &[ToolSet::Look]).is_some());
    }
}
