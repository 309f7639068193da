//! Resources: workflows, runs, builds, recipes, JSON Schemas and long results, each under a `drawloom://`
//! address.

use rmcp::model::{
    ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::{Value, json};

use crate::DrawloomServer;
use crate::tools::{ToolEffect, ToolName, build, runs};

const SCHEME: &str = "drawloom://";

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |kind: &str, variable: &str, description: &str| {
        ResourceTemplate::new(format!("{SCHEME}{kind}/{{{variable}}}"), kind)
            .with_description(description)
    };
    vec![
        template("workflow", "name", "The Mermaid text of a workflow"),
        template("run", "id", "A run with its steps, reasons and cost"),
        template("recipe", "name", "A recipe with its variables"),
        template("build", "id", "A build with its plan, checks and changes"),
        template("schema", "name", "The JSON Schema of a file or a result"),
        template(
            "result",
            "number",
            "A result that was too long for its call",
        ),
    ]
}

/// Lists the workflows and recipes of the project; runs are too many to be listed.
pub(crate) async fn list(server: &DrawloomServer) -> Result<ListResourcesResult, ErrorData> {
    let use_cases = &server.use_cases;
    let mut resources = Vec::new();
    // A resource that the scopes leave out is not listed.
    let is_seen = |resource| server.check_scope(resource, ToolEffect::Reads).is_ok();
    let names = if is_seen("workflows") {
        use_cases.workflow_names().await.map_err(refused)?
    } else {
        Vec::new()
    };
    for name in names {
        let resource = Resource::new(format!("{SCHEME}workflow/{name}"), name);
        resources.push(resource.with_mime_type("text/vnd.mermaid"));
    }
    let catalog = use_cases.recipes().map_err(refused)?;
    for listing in catalog.all().filter(|_| is_seen("recipes")) {
        let resource = Resource::new(format!("{SCHEME}recipe/{}", listing.id), &listing.id);
        let description = listing.description.clone().unwrap_or_default();
        resources.push(resource.with_description(description));
    }
    Ok(ListResourcesResult::with_all_items(resources))
}

pub(crate) async fn read(
    server: &DrawloomServer,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let message = format!("there is no resource {uri}");
        ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
    };
    let path = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
    let (kind, name) = path.split_once('/').ok_or_else(unknown)?;
    let use_cases = &server.use_cases;
    if let Some(resource) = scope_of(kind) {
        server
            .check_scope(resource, ToolEffect::Reads)
            .map_err(refused)?;
    }
    let (text, mime_type) = match kind {
        "workflow" => {
            let sheet = use_cases.sheet(name).await.map_err(refused)?;
            (sheet.source, "text/vnd.mermaid")
        }
        "run" => {
            let described = runs::describe(server, name).await;
            let described = described.map_err(|_| unknown())?;
            (described.to_string(), "application/json")
        }
        "recipe" => {
            let recipe = use_cases.recipe(name).map_err(refused)?;
            let described =
                json!({ "name": name, "variables": crate::tools::generate::variables(&recipe) });
            (described.to_string(), "application/json")
        }
        "build" => {
            let described = build::describe(server, name).await;
            let described = described.map_err(|_| unknown())?;
            (described.to_string(), "application/json")
        }
        "schema" => {
            let schema = app::schemas::find(name).ok_or_else(unknown)?;
            (schema.to_string(), "application/schema+json")
        }
        "result" => {
            let kept = server.kept.find(server.owner(), name);
            let kept = kept.ok_or_else(unknown)?;
            (kept.to_string(), "application/json")
        }
        _ => return Err(unknown()),
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(mime_type);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Returns the resource that scopes of tokens name; nothing for what every caller may read.
fn scope_of(kind: &str) -> Option<&'static str> {
    match kind {
        "workflow" => Some("workflows"),
        "run" => Some("runs"),
        "recipe" => Some("recipes"),
        "build" => Some("builder"),
        _ => None,
    }
}

/// The resource that has all of a tool's result, where there is one.
pub(crate) fn place_of(name: ToolName, result: &Value) -> Option<String> {
    let kind = match name {
        ToolName::StartRun | ToolName::GetRun | ToolName::ControlRun | ToolName::AnswerTask => {
            "run"
        }
        ToolName::GetBuild | ToolName::BuildDiff => "build",
        _ => return None,
    };
    let id = result.get(kind)?.as_str()?;
    Some(format!("{SCHEME}{kind}/{id}"))
}

fn refused(error: app::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}
