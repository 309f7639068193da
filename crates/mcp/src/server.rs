//! The server that clients talk to: tools, resources and prompts over the use cases of one actor.

use std::sync::Arc;

use app::{CommandCancel, UseCases};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use store::AuditOutcome;

use crate::failure::ToolFailure;
use crate::long_result::KeptResults;
use crate::start_values::{self, StartValues};
use crate::tools::ToolEffect;
use crate::{HttpCaller, ToolSet, prompts, resources, tools};

/// How many bytes the arguments of one call may have.
const ARGUMENT_BYTES_MAX: usize = 1 << 20;

const INSTRUCTIONS: &str = "Drawloom runs recipes (templates that become files), workflows (diagrams \
that run) and builds. You propose, the program disposes: values and answers are checked, files are \
written all or nothing. run_recipe may return answers_needed: call it again with answers. start_run \
returns at once: look with get_run. Steps for people wait for a person; say where they answer.";

/// The tools, resources and prompts of a project.
#[derive(Clone)]
pub struct DrawloomServer {
    pub(crate) use_cases: UseCases,
    pub(crate) sets: Arc<[ToolSet]>,
    pub(crate) kept: KeptResults,
    /// The caller over HTTP; nothing on stdio, where the client is the user's own program.
    pub(crate) caller: Option<HttpCaller>,
    /// Stops builds that the server works on.
    pub(crate) cancel: CommandCancel,
}

impl DrawloomServer {
    pub fn new(use_cases: UseCases, sets: &[ToolSet]) -> Self {
        Self {
            use_cases,
            sets: sets.into(),
            kept: KeptResults::default(),
            caller: None,
            cancel: CommandCancel::default(),
        }
    }

    /// Returns the key that long results are kept under: no other token reads them.
    pub(crate) fn owner(&self) -> &str {
        let key = self.caller.as_ref().map(|caller| caller.key.as_str());
        key.unwrap_or_else(|| self.use_cases.actor().name())
    }

    /// Refuses what the scopes of the caller's token leave out.
    pub(crate) fn check_scope(&self, resource: &str, effect: ToolEffect) -> Result<(), app::Error> {
        match &self.caller {
            Some(caller) => {
                let is_reading = effect == ToolEffect::Reads;
                app::sign_in::check_scope(&caller.scopes, resource, is_reading)
            }
            None => Ok(()),
        }
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = &request.name;
        let Some(entry) = tools::find(name, &self.sets) else {
            let message = format!("there is no tool `{name}`");
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let responses = json!(request.input_responses);
        let bytes = [json!(arguments), responses].map(|part| part.to_string().len());
        let bytes: usize = bytes.iter().sum();
        if bytes > ARGUMENT_BYTES_MAX {
            let message = format!(
                "the arguments have {bytes} bytes, more than ARGUMENT_BYTES_MAX = {ARGUMENT_BYTES_MAX}"
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        let called = (entry.name, arguments);
        let completed = start_values::complete(self, called, request.input_responses, context);
        let arguments = match completed.await {
            Ok(StartValues::Complete(arguments)) => arguments,
            Ok(StartValues::Asked(response)) => return Ok(*response),
            Err(failure) => return Ok(failure.into_result().into()),
        };
        let object = entry.name.object(&arguments);
        let outcome = tools::call(self, entry, Value::Object(arguments)).await;
        if let Some(caller) = &self.caller
            && entry.effect == ToolEffect::Writes
        {
            let noted = outcome
                .as_ref()
                .map_or_else(ToolFailure::outcome, |_| AuditOutcome::Done);
            caller.note(entry.name.as_str(), &object, noted).await;
        }
        Ok(match outcome {
            Ok(value) => {
                let place = resources::place_of(entry.name, &value);
                self.kept.bounded(self.owner(), value, place).into()
            }
            Err(failure) => failure.into_result().into(),
        })
    }
}

/// Describes the server to clients.
pub(crate) fn server_config() -> ServerConfig {
    let capabilities = ServerCapabilities::builder()
        .enable_prompts()
        .enable_resources()
        .enable_tools()
        .build();
    ServerConfig::new(capabilities)
        .with_server_info(Implementation::new("drawloom", env!("CARGO_PKG_VERSION")))
        .with_instructions(INSTRUCTIONS)
}

impl ServerHandler for DrawloomServer {
    fn get_info(&self) -> ServerConfig {
        server_config()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::listed(&self.sets)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(name, &self.sets).map(|entry| entry.tool())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, &context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(self).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(resources::read(self, &request.uri).await?.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        Ok(prompts::get(&request.name, &arguments)?.into())
    }
}

/// Serves one client on stdin and stdout until it closes them.
pub async fn serve_stdio(server: DrawloomServer) -> Result<(), String> {
    let serving = server.serve(rmcp::transport::stdio()).await;
    let running =
        serving.map_err(|cause| format!("the client did not begin a session: {cause}"))?;
    let ended = running.waiting().await;
    ended.map_err(|cause| format!("the session broke off: {cause}"))?;
    Ok(())
}
