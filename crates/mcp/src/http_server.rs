//! The server of all callers over HTTP: each request is answered as its own caller.

use std::sync::Arc;

use app::CommandCancel;
use axum::http::request::Parts;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};

use crate::long_result::KeptResults;
use crate::server::server_config;
use crate::{DrawloomServer, HttpCaller, ToolSet, tools};

/// The tools of a project for callers over HTTP.
#[derive(Clone)]
pub struct HttpToolServer {
    sets: Arc<[ToolSet]>,
    kept: KeptResults,
    cancel: CommandCancel,
}

impl HttpToolServer {
    /// Makes a server with the tools of these sets; `cancel` stops the builds that it works on.
    pub fn new(sets: &[ToolSet], cancel: CommandCancel) -> Self {
        Self {
            sets: sets.into(),
            kept: KeptResults::default(),
            cancel,
        }
    }

    /// Returns the server as the caller of a request has it.
    fn acting(&self, context: &RequestContext<RoleServer>) -> Result<DrawloomServer, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get::<HttpCaller>());
        // The endpoint gives every request its caller.
        let caller = caller.ok_or_else(|| ErrorData::internal_error("no caller", None))?;
        Ok(DrawloomServer {
            use_cases: caller.use_cases.clone(),
            sets: Arc::clone(&self.sets),
            kept: self.kept.clone(),
            caller: Some(caller.clone()),
            cancel: self.cancel.clone(),
        })
    }
}

impl ServerHandler for HttpToolServer {
    fn get_info(&self) -> ServerConfig {
        server_config()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.acting(&context)?.list_tools(request, context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(name, &self.sets).map(|entry| entry.tool())
    }

    /// Lets a call come to its end when its client hangs up: half of it could be done, with no line in the
    /// audit log.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let server = self.acting(&context)?;
        let called = tokio::spawn(async move { server.call_tool(request, context).await });
        let broken =
            |cause| ErrorData::internal_error(format!("the call broke off: {cause}"), None);
        called.await.map_err(broken)?
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let server = self.acting(&context)?;
        server.list_resources(request, context).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let server = self.acting(&context)?;
        server.list_resource_templates(request, context).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let server = self.acting(&context)?;
        server.read_resource(request, context).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.acting(&context)?.list_prompts(request, context).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.acting(&context)?.get_prompt(request, context).await
    }
}
