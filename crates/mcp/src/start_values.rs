//! Start values that a call left out: asked for by elicitation where the client can, never for approvals.
//!
//! Only what begins something is asked about: variables of a recipe, and the input of a workflow. A client that
//! cannot ask gets the tool's usual answer, which names what is missing.

use std::collections::BTreeMap;

use recipe::Recipe;
use rmcp::model::{
    CallToolResponse, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};

use crate::DrawloomServer;
use crate::failure::ToolFailure;
use crate::tools::ToolName;

/// The key of the one question in a result that needs input.
const KEY: &str = "values";
/// How many values are asked for at once.
const VALUES_MAX: usize = 20;

/// A call with its start values, or the question that comes first.
pub(crate) enum StartValues {
    /// Nothing: the arguments are as complete as they will be.
    Complete(Map<String, Value>),
    /// The client asks the person and calls again.
    Asked(Box<CallToolResponse>),
}

/// The argument of a tool that holds start values, and the schemas of those that it lacks.
struct MissingValues {
    argument: &'static str,
    message: String,
    properties: Map<String, Value>,
}

/// Asks for values that are missing, or takes those that the client has asked for.
pub(crate) async fn complete(
    server: &DrawloomServer,
    (name, mut arguments): (ToolName, Map<String, Value>),
    responses: Option<InputResponses>,
    context: &RequestContext<RoleServer>,
) -> Result<StartValues, ToolFailure> {
    let Some(missing) = missing(server, name, &arguments).await else {
        return Ok(StartValues::Complete(arguments));
    };
    if let Some(response) = responses.as_ref().and_then(|all| all.get(KEY)) {
        let given = serde_json::from_value::<ElicitResult>(response.clone());
        let given = given.map_err(|cause| {
            ToolFailure::new(format!("the response to `{KEY}` cannot be read: {cause}"))
        })?;
        put(&mut arguments, &missing, given)?;
        return Ok(StartValues::Complete(arguments));
    }
    // Older revisions would have to be asked in the middle of a call; they get the usual answer.
    if context.protocol_version() < Some(ProtocolVersion::V_2026_07_28) {
        return Ok(StartValues::Complete(arguments));
    }
    let can_ask = context
        .client_capabilities()
        .and_then(|capabilities| capabilities.elicitation)
        // An empty object is the older way to say that forms can be shown.
        .is_some_and(|way| way.form.is_some() || way.url.is_none());
    if !can_ask {
        return Ok(StartValues::Complete(arguments));
    }
    let required: Vec<&String> = missing.properties.keys().collect();
    let schema = json!({
        "type": "object", "properties": missing.properties, "required": required,
    });
    let Ok(requested_schema) = serde_json::from_value::<ElicitationSchema>(schema) else {
        return Ok(StartValues::Complete(arguments));
    };
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: missing.message.clone(),
        requested_schema,
    };
    let question = InputRequest::Elicitation(ElicitRequest::new(params));
    let questions = BTreeMap::from([(KEY.to_owned(), question)]);
    let result = InputRequiredResult::from_input_requests(questions);
    Ok(StartValues::Asked(Box::new(result.into())))
}

/// Puts what the person gave beside what the call gave.
fn put(
    arguments: &mut Map<String, Value>,
    missing: &MissingValues,
    given: ElicitResult,
) -> Result<(), ToolFailure> {
    if given.action != ElicitationAction::Accept {
        let names: Vec<&str> = missing.properties.keys().map(String::as_str).collect();
        let message = format!("the person gave no values for {}", names.join(", "));
        return Err(ToolFailure::new(message).hint("ask the person what they want instead"));
    }
    let Some(Value::Object(values)) = given.content else {
        return Ok(());
    };
    let held = arguments
        .entry(missing.argument)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(held) = held {
        // Nothing but what was asked for.
        let asked = values
            .into_iter()
            .filter(|(name, _)| missing.properties.contains_key(name));
        held.extend(asked);
    }
    Ok(())
}

async fn missing(
    server: &DrawloomServer,
    name: ToolName,
    arguments: &Map<String, Value>,
) -> Option<MissingValues> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let found = match name {
        ToolName::RunRecipe => {
            let name = text("name")?;
            let recipe = server.use_cases.recipe(name).ok()?;
            MissingValues {
                argument: "values",
                message: format!("The recipe `{name}` needs values."),
                properties: of_recipe(&recipe, arguments.get("values"))?,
            }
        }
        ToolName::StartRun => {
            let name = text("workflow")?;
            let sheet = server.use_cases.sheet(name).await.ok()?;
            let schema = sheet.workflow.as_ref()?.input_schema()?.clone();
            MissingValues {
                argument: "input",
                message: format!("The workflow `{name}` needs input."),
                properties: of_schema(&schema, arguments.get("input"))?,
            }
        }
        _ => return None,
    };
    let is_askable = (1..=VALUES_MAX).contains(&found.properties.len());
    is_askable.then_some(found)
}

/// The required variables without a value; `None` if one of them is not a single word or must stay secret.
fn of_recipe(recipe: &Recipe, given: Option<&Value>) -> Option<Map<String, Value>> {
    let mut properties = Map::new();
    for (name, variable) in recipe.variables() {
        let is_given = given.is_some_and(|given| given.get(&name).is_some());
        let is_asked = variable.when.is_none() && variable.computed.is_none();
        if is_given || !variable.required || variable.default.is_some() || !is_asked {
            continue;
        }
        if variable.secret || variable.multiple {
            return None;
        }
        let kind = match format!("{:?}", variable.kind).to_lowercase().as_str() {
            "string" | "enum" | "file" | "directory" => "string",
            "number" => "number",
            "boolean" => "boolean",
            _ => return None,
        };
        let mut schema = json!({ "type": kind });
        let described = variable.prompt.as_ref().or(variable.description.as_ref());
        if let Some(described) = described {
            schema["description"] = described.as_str().into();
        }
        if !variable.values.is_empty() {
            schema["enum"] = json!(variable.values);
        }
        properties.insert(name, schema);
    }
    Some(properties)
}

/// The required properties of an input schema without a value; `None` if one of them is not a single word.
fn of_schema(schema: &Value, given: Option<&Value>) -> Option<Map<String, Value>> {
    let required = schema.get("required")?.as_array()?;
    let mut properties = Map::new();
    for name in required.iter().filter_map(Value::as_str) {
        let declared = schema.get("properties").and_then(|all| all.get(name));
        let is_given = given.is_some_and(|given| given.get(name).is_some());
        if is_given || declared.is_some_and(|one| one.get("default").is_some()) {
            continue;
        }
        let declared = declared?;
        let kind = declared.get("type")?.as_str()?;
        if !matches!(kind, "string" | "number" | "integer" | "boolean") {
            return None;
        }
        let mut asked = json!({ "type": kind });
        for key in ["title", "description", "enum"] {
            if let Some(value) = declared.get(key) {
                asked[key] = value.clone();
            }
        }
        properties.insert(name.to_owned(), asked);
    }
    Some(properties)
}
