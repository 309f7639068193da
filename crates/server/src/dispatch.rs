//! The one way of a request to its handler.

use std::collections::BTreeMap;
use std::sync::Arc;

use app::ClientPlace;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, Uri, header};
use axum::response::Response;
use axum::routing::any;
use store::AuditOutcome;

use crate::headers::harden;
use crate::idempotency::{self, RequestRepetition};
use crate::identity::{CallerIdentity, RequestCredential};
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest, PageVisitor};
use crate::request_log::RequestFacts;
use crate::state::ServerState;
use crate::table::{ApiRoute, RouteAccess, routes};

/// The routes of one path.
#[derive(Clone)]
struct PathRoutes {
    server: ServerState,
    routes: Arc<Vec<ApiRoute>>,
}

/// Returns the API as a service.
pub(crate) fn api_router(state: &ServerState) -> Router {
    let mut paths: BTreeMap<String, Vec<ApiRoute>> = BTreeMap::new();
    for route in routes() {
        paths.entry(route.full_path()).or_default().push(route);
    }
    let mut router = Router::new();
    for (path, routes) in paths {
        let routes = PathRoutes {
            server: state.clone(),
            routes: Arc::new(routes),
        };
        router = router.route(&path, any(answer).with_state(routes));
    }
    let unknown = PathRoutes {
        server: state.clone(),
        routes: Arc::default(),
    };
    router.fallback_service(any(nothing_here).with_state(unknown))
}

/// A request whose parts are read, before anything is known about who asks.
pub(crate) struct ArrivedRequest {
    method: Method,
    uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) place: ClientPlace,
    pub(crate) facts: Arc<RequestFacts>,
}

impl ArrivedRequest {
    pub(crate) fn of(request: &Request) -> ArrivedRequest {
        let headers = request.headers();
        let PageVisitor(place) = PageVisitor::of(headers, request.extensions());
        ArrivedRequest {
            method: match *request.method() {
                Method::HEAD => Method::GET,
                _ => request.method().clone(),
            },
            uri: request.uri().clone(),
            headers: headers.clone(),
            place,
            facts: RequestFacts::of(request.extensions()),
        }
    }
}

async fn nothing_here(State(routes): State<PathRoutes>, request: Request) -> Response {
    let arrived = ArrivedRequest::of(&request);
    let problem = ApiProblem::new(
        ProblemCode::NotFound,
        format!("there is nothing at {}", arrived.uri.path()),
    )
    .hint("/api/v1/openapi.json lists every route");
    finished(&routes.server, &arrived, Err(problem))
}

async fn answer(
    State(routes): State<PathRoutes>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response {
    let arrived = ArrivedRequest::of(&request);
    let Ok(path) = path else {
        let problem = ApiProblem::new(ProblemCode::BadRequest, "the path is not UTF-8");
        return finished(&routes.server, &arrived, Err(problem));
    };
    let path: BTreeMap<String, String> = path
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    if let Some(run) = run_of(&path) {
        let _ = arrived.facts.run.set(run);
    }
    let came = serve(&routes, &arrived, (path, request.into_body())).await;
    finished(&routes.server, &arrived, came)
}

/// The run that a path is about: it names the run, or a task of it.
fn run_of(path: &BTreeMap<String, String>) -> Option<String> {
    let named = path.get("run").or_else(|| path.get("task"))?;
    named.split('/').next().map(str::to_owned)
}

fn finished(
    server: &ServerState,
    arrived: &ArrivedRequest,
    came: Result<ApiReply, ApiProblem>,
) -> Response {
    let mut response = match came {
        Ok(reply) => reply.response(),
        Err(problem) => problem.response(arrived.uri.path(), &arrived.facts.id),
    };
    let address = &server.shared.address;
    harden(
        response.headers_mut(),
        address.insists_on_https(&arrived.headers),
    );
    response
}

/// Everything between a request and its handler, in order.
async fn serve(
    routes: &PathRoutes,
    arrived: &ArrivedRequest,
    (path, body): (BTreeMap<String, String>, Body),
) -> Result<ApiReply, ApiProblem> {
    let server = &routes.server;
    let route = find_route(routes, arrived)?;
    if !matches!(route.resource(), "healthz" | "readyz" | "metrics") {
        let authority = arrived.uri.authority().map(|authority| authority.as_str());
        server
            .shared
            .address
            .check_host(&arrived.headers, authority)?;
    }
    server
        .shared
        .address
        .check_origin(&arrived.method, &arrived.headers)?;
    let identity = match route.access {
        RouteAccess::Everybody => None,
        _ => Some(let_in(server, arrived, route).await?),
    };
    let counted = identity.as_ref().map_or_else(
        || format!("address:{}", arrived.place.address),
        CallerIdentity::key,
    );
    server.shared.throttles.check_request(&counted)?;
    let body = read_body(server, (route, arrived), body).await?;
    let query = read_query(route, arrived.uri.query())?;
    let mut held = None;
    if let Some(identity) = identity.as_ref().filter(|_| route.keeps_answers) {
        let request = (
            &arrived.method,
            arrived.uri.path(),
            &arrived.headers,
            &*body,
        );
        match idempotency::claim(server, identity, request).await? {
            RequestRepetition::Again(reply) => return Ok(*reply),
            RequestRepetition::First(key) => held = key,
        }
    }
    let audited = audited(route, (&identity, arrived));
    let asked = ApiRequest {
        state: server.clone(),
        identity,
        place: arrived.place.clone(),
        path,
        query,
        headers: arrived.headers.clone(),
        body,
    };
    let came = (route.handler)(asked).await;
    if let Some(held) = held {
        let stored = came.as_ref().ok().and_then(idempotency::stored_of);
        held.settle(server, stored).await;
    }
    if let Some((actor, action, object)) = audited {
        let outcome = match &came {
            Ok(_) => AuditOutcome::Done,
            Err(problem) if problem.code == ProblemCode::Forbidden => AuditOutcome::Refused,
            Err(_) => AuditOutcome::Failed,
        };
        let place = Some((outcome, &arrived.place));
        server
            .access()
            .note(&actor, (&action, &object), place)
            .await;
    }
    came
}

fn find_route<'r>(
    routes: &'r PathRoutes,
    arrived: &ArrivedRequest,
) -> Result<&'r ApiRoute, ApiProblem> {
    let found = routes
        .routes
        .iter()
        .find(|route| route.method == arrived.method);
    found.ok_or_else(|| {
        let methods: Vec<&str> = routes
            .routes
            .iter()
            .map(|route| route.method.as_str())
            .collect();
        let methods = methods.join(", ");
        let message = format!("{} is not possible here; {methods} is", arrived.method);
        ApiProblem::new(ProblemCode::MethodNotAllowed, message).header("allow", &methods)
    })
}

/// Finds out who asks, and refuses those who may not.
async fn let_in(
    server: &ServerState,
    arrived: &ArrivedRequest,
    route: &ApiRoute,
) -> Result<CallerIdentity, ApiProblem> {
    let found = CallerIdentity::find(server, &arrived.headers).await?;
    let identity = found.ok_or_else(ApiProblem::unauthorized)?;
    arrived.facts.note_actor(identity.actor.name());
    identity.check_scope(route.resource(), &arrived.method)?;
    if let RouteAccess::Needs(action) = route.access
        && let Err(error) = identity.actor.permit(action)
    {
        let outcome = Some((AuditOutcome::Refused, &arrived.place));
        let about = (action_name(route), arrived.uri.path().to_owned());
        let note = server
            .access()
            .note(identity.actor.name(), (&about.0, &about.1), outcome);
        note.await;
        return Err(error.into());
    }
    Ok(identity)
}

async fn read_body(
    server: &ServerState,
    (route, arrived): (&ApiRoute, &ArrivedRequest),
    body: Body,
) -> Result<Bytes, ApiProblem> {
    let body = collect_body(server, &arrived.headers, body).await?;
    if route.body.is_some() && !body.is_empty() {
        let kind = arrived.headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(ApiProblem::new(
                ProblemCode::MediaType,
                "the body has to be JSON, with `Content-Type: application/json`",
            ));
        }
    }
    Ok(body)
}

/// Reads all of a body, within the limits on its size and its time.
pub(crate) async fn collect_body(
    server: &ServerState,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, ApiProblem> {
    let max = server.limits().body_bytes_max;
    let too_large = || {
        let message = format!("a body may have {max} bytes (body_bytes_max) at most");
        ApiProblem::new(ProblemCode::TooLarge, message)
    };
    let announced = headers.get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > max) {
        return Err(too_large());
    }
    let wait = server.limits().body_wait_max;
    let read = tokio::time::timeout(wait, axum::body::to_bytes(body, max)).await;
    let read = read.map_err(|_| {
        let seconds = wait.as_secs();
        let message = format!("a body may take {seconds} s (body_wait_max) to arrive");
        ApiProblem::new(ProblemCode::TooSlow, message)
    })?;
    read.map_err(|_| too_large())
}

/// Reads the query; parameters that the route does not know are refused.
fn read_query(
    route: &ApiRoute,
    query: Option<&str>,
) -> Result<BTreeMap<String, String>, ApiProblem> {
    let uri: Result<Uri, _> = format!("/?{}", query.unwrap_or_default()).parse();
    let uri =
        uri.map_err(|_| ApiProblem::new(ProblemCode::BadRequest, "the query cannot be read"))?;
    let read = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri);
    let pairs =
        read.map_err(|_| ApiProblem::new(ProblemCode::BadRequest, "the query cannot be read"))?;
    let mut known = BTreeMap::new();
    for (name, value) in pairs.0 {
        if !route.query.iter().any(|(known, _)| *known == name) {
            let names: Vec<&str> = route.query.iter().map(|(name, _)| *name).collect();
            let message = format!("there is no parameter `{name}` here");
            let expected = match names.is_empty() {
                true => "this route takes none".to_owned(),
                false => format!("it takes {}", names.join(", ")),
            };
            return Err(ApiProblem::new(ProblemCode::BadRequest, message)
                .at(format!("/query/{name}"), expected));
        }
        // PostgreSQL stores no zero byte, and no name or text here has one.
        if value.contains('\0') {
            let message = format!("the parameter `{name}` has a zero byte");
            return Err(ApiProblem::new(ProblemCode::Invalid, message)
                .at(format!("/query/{name}"), "leave the zero byte out"));
        }
        if known.insert(name.clone(), value).is_some() {
            let message = format!("the parameter `{name}` is there twice");
            return Err(ApiProblem::new(ProblemCode::BadRequest, message)
                .at(format!("/query/{name}"), "give it once"));
        }
    }
    Ok(known)
}

/// The line of the audit log about a change: who, what, to which object.
fn audited(
    route: &ApiRoute,
    (identity, arrived): (&Option<CallerIdentity>, &ArrivedRequest),
) -> Option<(String, String, String)> {
    let identity = identity.as_ref().filter(|_| !route.method.is_safe())?;
    let actor = match &identity.credential {
        RequestCredential::Session(_) => identity.actor.name().to_owned(),
        RequestCredential::Token { id, .. } => format!("{} by token {id}", identity.actor.name()),
    };
    let object = arrived.uri.path().trim_start_matches("/api/v1").to_owned();
    Some((actor, action_name(route), object))
}

/// The name of a route's act, such as `POST /runs`.
fn action_name(route: &ApiRoute) -> String {
    format!("{} {}", route.method, route.path)
}
