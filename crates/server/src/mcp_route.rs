//! `/mcp`: programs that speak the Model Context Protocol, each with its bearer token.
//!
//! The way of a request is the one of the API: host and origin, who asks, how often, how large. Then the
//! endpoint of `mcp` answers. Cookies are ignored here, because a browser sends them by itself. The caller is
//! always an agent, even with the token of a person: it never answers for a person.

use std::sync::Arc;

use app::Permission;
use app::sign_in::agent_of;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::any;
use futures_util::StreamExt as _;
use mcp::TooManySessions;
use mcp::{EndpointLimits, HttpCaller, HttpToolServer, McpEndpoint, ServerHandler, ToolSet};

use crate::api::events::StreamPlace;
use crate::dispatch::{ArrivedRequest, collect_body};
use crate::headers::harden;
use crate::identity::{CallerIdentity, RequestCredential};
use crate::problem::{ApiProblem, ProblemCode};
use crate::state::ServerState;

/// The path of the endpoint.
const PATH: &str = "/mcp";

/// Returns the tools of the project as a service, or no route if the settings list no set of tools.
pub(crate) fn router(state: &ServerState) -> Router {
    let words = &state.app().project().settings.mcp_tools;
    // The settings know no other words.
    let sets: Vec<ToolSet> = words.iter().filter_map(|word| word.parse().ok()).collect();
    match sets.is_empty() {
        true => Router::new(),
        false => router_of(
            state,
            HttpToolServer::new(&sets, state.shared.cancel.clone()),
        ),
    }
}

/// Returns the endpoint around any server of tools, with the sign-in and the limits of this one.
pub fn router_of<S: ServerHandler + Clone>(state: &ServerState, handler: S) -> Router {
    let limits = state.limits();
    let limits = EndpointLimits {
        body_bytes_max: limits.body_bytes_max,
        sessions_max: limits.mcp_sessions_max,
        sessions_per_token_max: limits.mcp_sessions_per_token_max,
        session_idle_max: limits.mcp_session_idle_max,
    };
    let route = McpRoute {
        server: state.clone(),
        endpoint: Arc::new(McpEndpoint::new(handler, limits)),
    };
    Router::new().route(PATH, any(answer::<S>).with_state(route))
}

/// The endpoint and the server it belongs to.
struct McpRoute<S> {
    server: ServerState,
    endpoint: Arc<McpEndpoint<S>>,
}

impl<S> Clone for McpRoute<S> {
    fn clone(&self) -> Self {
        McpRoute {
            server: self.server.clone(),
            endpoint: Arc::clone(&self.endpoint),
        }
    }
}

async fn answer<S: ServerHandler + Clone>(
    State(route): State<McpRoute<S>>,
    request: Request,
) -> Response {
    let arrived = ArrivedRequest::of(&request);
    let mut response = match serve(&route, &arrived, request).await {
        Ok(response) => response,
        Err(problem) => problem.response(PATH, &arrived.facts.id),
    };
    let address = &route.server.shared.address;
    harden(
        response.headers_mut(),
        address.insists_on_https(&arrived.headers),
    );
    response
}

/// Everything between a request and the endpoint, in order.
async fn serve<S: ServerHandler + Clone>(
    route: &McpRoute<S>,
    arrived: &ArrivedRequest,
    request: Request,
) -> Result<Response, ApiProblem> {
    let server = &route.server;
    let address = &server.shared.address;
    let authority = request.uri().authority();
    address.check_host(
        &arrived.headers,
        authority.map(|authority| authority.as_str()),
    )?;
    // Pages of other sites may not even listen.
    address.check_origin(&Method::POST, &arrived.headers)?;
    let identity = CallerIdentity::find(server, &arrived.headers).await?;
    let identity = identity.ok_or_else(ApiProblem::unauthorized)?;
    let RequestCredential::Token { id, scopes } = &identity.credential else {
        return Err(ApiProblem::unauthorized());
    };
    let agent = agent_of(&identity.actor);
    arrived.facts.note_actor(agent.name());
    server.shared.throttles.check_request(&identity.key())?;
    agent.permit(Permission::Look)?;
    let place = StreamPlace::take(server, agent.name())?;
    let (parts, body) = request.into_parts();
    let body = collect_body(server, &arrived.headers, body).await?;
    let caller = HttpCaller {
        audit_name: format!("{} by token {id}", identity.actor.name()),
        key: identity.key(),
        scopes: scopes.clone(),
        place: arrived.place.clone(),
        use_cases: server.app().acting(agent),
    };
    let is_waiting = parts.method == Method::GET;
    let request = Request::from_parts(parts, body);
    let response = route.endpoint.answer(request, caller).await?;
    let (parts, body) = response.into_parts();
    let stream = body.into_data_stream();
    let mut closing = server.shared.closing.subscribe();
    // A stream on which nothing is under way ends with the server; calls come to their end.
    let ended = async move {
        match is_waiting {
            true => drop(closing.wait_for(|is_closing| *is_closing).await),
            false => std::future::pending().await,
        }
    };
    let stream = stream.take_until(Box::pin(ended)).map(move |bytes| {
        let _held = &place;
        bytes
    });
    Ok(Response::from_parts(parts, Body::from_stream(stream)))
}

impl From<TooManySessions> for ApiProblem {
    fn from(refused: TooManySessions) -> ApiProblem {
        let TooManySessions { limit, max } = refused;
        ApiProblem::new(
            ProblemCode::TooMany,
            format!("{max} sessions are open ({limit})"),
        )
        .hint("end one with DELETE, or use revision 2026-07-28, which has no sessions")
        .header("retry-after", "5")
    }
}
