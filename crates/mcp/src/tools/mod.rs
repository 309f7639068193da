//! The tools: one table of names, sets, descriptions and schemas, and one call for each.

pub(crate) mod author;
pub(crate) mod build;
pub(crate) mod generate;
pub(crate) mod look;
pub(crate) mod runs;

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::ToolFailure;
use crate::{DrawloomServer, ToolSet};

/// How many bytes of a result are sent; what is longer is cut, and says so.
const RESULT_BYTES_MAX: usize = 50_000;

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
    effect: ToolEffect,
    description: &'static str,
    schema: fn() -> Map<String, Value>,
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
    PlanBuild,
    ApproveBuild,
    GetBuild,
    BuildDiff,
    ProjectIndex,
    Impact,
}

impl ToolName {
    fn as_str(self) -> &'static str {
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
            ToolName::PlanBuild => "plan_build",
            ToolName::ApproveBuild => "approve_build",
            ToolName::GetBuild => "get_build",
            ToolName::BuildDiff => "build_diff",
            ToolName::ProjectIndex => "project_index",
            ToolName::Impact => "impact",
        }
    }
}

impl ToolEntry {
    pub(crate) fn tool(&self) -> Tool {
        let schema = Arc::new((self.schema)());
        let mut tool = Tool::new(self.name.as_str(), self.description, schema);
        let reads = self.effect == ToolEffect::Reads;
        tool.annotations = Some(ToolAnnotations::new().read_only(reads));
        let mut output = Map::new();
        output.insert("type".to_owned(), "object".into());
        tool.output_schema = Some(Arc::new(output));
        tool
    }
}

macro_rules! tool {
    ($name:ident, $set:ident, $effect:ident, $arguments:ty, $description:expr) => {
        ToolEntry {
            name: ToolName::$name,
            set: ToolSet::$set,
            effect: ToolEffect::$effect,
            description: $description,
            schema: schema_of::<$arguments>,
        }
    };
}

const TOOLS: [ToolEntry; 17] = [
    tool!(
        ListRecipes,
        Generate,
        Reads,
        NoArguments,
        "Lists the recipes of this project with their variables. A recipe writes files from templates."
    ),
    tool!(
        RunRecipe,
        Generate,
        Writes,
        generate::RecipeArguments,
        "Runs a recipe. Returns status `done` with the files; or `answers_needed` with questions and \
         their schemas: call again with the same values and `answers` by key; or `conflicts` with files \
         that exist: nothing was written. `dry_run` shows what would be written."
    ),
    tool!(
        ListWorkflows,
        Runs,
        Reads,
        NoArguments,
        "Lists the workflows that can be started."
    ),
    tool!(
        StartRun,
        Runs,
        Writes,
        runs::StartRun,
        "Starts a run of a workflow and returns its id at once; `wait_seconds` (0 to 20) waits for it to \
         end or to wait for a person. Look again with get_run."
    ),
    tool!(
        GetRun,
        Runs,
        Reads,
        runs::GetRun,
        "Shows a run: status, steps with outputs and failures, decisions with the values that decided, \
         cost, and what it waits for."
    ),
    tool!(
        ControlRun,
        Runs,
        Writes,
        runs::ControlRun,
        "Cancels, pauses or resumes a run, or reruns it from a step (`from_step`)."
    ),
    tool!(
        ListTasks,
        Runs,
        Reads,
        runs::ListTasks,
        "Lists tasks that wait for a person, with their prompts."
    ),
    tool!(
        AnswerTask,
        Runs,
        Writes,
        runs::AnswerTask,
        "Answers a task that is assigned to you. Tasks for people, and tasks of runs that you started, \
         are refused: tell the person instead."
    ),
    tool!(
        CheckWorkflow,
        Author,
        Reads,
        author::CheckWorkflow,
        "Checks the Mermaid text of a workflow and returns every problem with line, column and hint."
    ),
    tool!(
        SaveWorkflow,
        Author,
        Writes,
        author::SaveWorkflow,
        "Saves the text of a workflow as a new version. `seen` is the hash of the text you changed, from \
         check_workflow or explain_step; leave it out for a new workflow."
    ),
    tool!(
        ExplainStep,
        Author,
        Reads,
        author::ExplainStep,
        "Shows one step of a workflow: type, settings, what it reads, where its edges go and when."
    ),
    tool!(
        PlanBuild,
        Build,
        Writes,
        build::PlanBuild,
        "Asks for a build: a model plans a change of this repository. Returns the build's id at once."
    ),
    tool!(
        ApproveBuild,
        Build,
        Writes,
        build::NamedBuild,
        "Approves a plan. Only people may: you get the command that a person runs."
    ),
    tool!(
        GetBuild,
        Build,
        Reads,
        build::NamedBuild,
        "Shows a build: status, plan, checks, result."
    ),
    tool!(
        BuildDiff,
        Build,
        Reads,
        build::NamedBuild,
        "Shows the changes that a build made, as unified diffs."
    ),
    tool!(
        ProjectIndex,
        Look,
        Reads,
        look::ProjectIndex,
        "Shows the files that matter most with what they define, within a budget of tokens."
    ),
    tool!(
        Impact,
        Look,
        Reads,
        look::ImpactOf,
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
        ToolName::PlanBuild => build::plan(server, read(arguments)?).await,
        ToolName::ApproveBuild => build::approve(server, read(arguments)?).await,
        ToolName::GetBuild => build::get(server, read(arguments)?).await,
        ToolName::BuildDiff => build::diff(server, read(arguments)?).await,
        ToolName::ProjectIndex => look::index(server, read(arguments)?).await,
        ToolName::Impact => look::impact(server, read(arguments)?).await,
    }
}

/// Reads the arguments of a call; what is wrong is said with its name.
fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolFailure> {
    serde_json::from_value(arguments).map_err(|cause| {
        ToolFailure::new(format!("the arguments do not fit: {cause}"))
            .hint("call the tool again as its input schema says")
    })
}

/// The result as the client gets it. A long one is text that ends where the limit is, and says so.
pub(crate) fn bounded(value: Value) -> CallToolResult {
    let text = value.to_string();
    if text.len() <= RESULT_BYTES_MAX {
        return CallToolResult::structured(value);
    }
    let end = (0..=RESULT_BYTES_MAX)
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let cut = &text[..end.unwrap_or(0)];
    let note = format!(
        "{cut}\n… cut after RESULT_BYTES_MAX = {RESULT_BYTES_MAX} of {} bytes; ask for less, or read the \
         drawloom:// resource",
        text.len()
    );
    let mut short = Map::new();
    short.insert("truncated".to_owned(), true.into());
    short.insert("bytes".to_owned(), text.len().into());
    let mut result = CallToolResult::structured(Value::Object(short));
    result.content = vec![ContentBlock::text(note)];
    result
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
    schema
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
    fn a_tool_of_a_set_that_is_off_is_not_there() {
        assert!(find("project_index", &ToolSet::DEFAULT).is_none());
        assert!(find("project_index", &[ToolSet::Look]).is_some());
    }

    #[test]
    fn a_long_result_is_cut_and_says_so() {
        let long = serde_json::json!({ "text": "ä".repeat(RESULT_BYTES_MAX) });
        let result = bounded(long);
        assert_eq!(result.structured_content.unwrap()["truncated"], true);
        let text = result.content[0].as_text().unwrap().text.clone();
        assert!(
            text.contains("RESULT_BYTES_MAX"),
            "{}",
            &text[text.len() - 200..]
        );
    }
}
