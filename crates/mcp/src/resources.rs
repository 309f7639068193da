//! Resources: workflows, runs, recipes and JSON Schemas, each under a `drawloom://` address.

use rmcp::model::{
    ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::json;

use crate::DrawloomServer;
use crate::tools::runs;

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
    ]
}

/// Lists the workflows and recipes of the project; runs are too many to be listed.
pub(crate) async fn list(server: &DrawloomServer) -> Result<ListResourcesResult, ErrorData> {
    let use_cases = &server.use_cases;
    let mut resources = Vec::new();
    for name in use_cases.workflow_names().await.map_err(refused)? {
        let resource = Resource::new(format!("{SCHEME}workflow/{name}"), name);
        resources.push(resource.with_mime_type("text/vnd.mermaid"));
    }
    let catalog = use_cases.recipes().map_err(refused)?;
    for listing in catalog.all() {
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
        _ => return Err(unknown()),
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(mime_type);
    Ok(ReadResourceResult::new(vec![contents]))
}

fn refused(error: app::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}
