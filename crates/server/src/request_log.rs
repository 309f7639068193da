//! One line of the log for every request, and its part in the metrics.
//!
//! The line names the route and never the path: the path of a claim link is a secret.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::Response;

use crate::problem::{ApiProblem, ProblemCode};
use crate::state::ServerState;

/// The name of a request in the log, in `X-Request-Id` and in problem documents.
pub(crate) const REQUEST_ID_HEADER: &str = "x-request-id";

/// Facts about a request that handlers find out and the log tells.
#[derive(Debug, Default)]
pub(crate) struct RequestFacts {
    pub(crate) id: String,
    /// The name of the user, once it is known.
    pub(crate) actor: OnceLock<String>,
    /// The run that the request is about.
    pub(crate) run: OnceLock<String>,
}

impl RequestFacts {
    /// Returns the facts of a request; fresh ones for a request that passes no observer.
    pub(crate) fn of(extensions: &axum::http::Extensions) -> Arc<RequestFacts> {
        let found = extensions.get::<Arc<RequestFacts>>();
        found.map_or_else(|| Arc::new(RequestFacts::new()), Arc::clone)
    }

    fn new() -> RequestFacts {
        let mut bytes = [0_u8; 8];
        // Without random bytes requests are only harder to tell apart.
        let _ = getrandom::fill(&mut bytes);
        RequestFacts {
            id: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            ..RequestFacts::default()
        }
    }

    /// Notes the user who asks.
    pub(crate) fn note_actor(&self, name: &str) {
        // The first name stays: a request has one.
        let _ = self.actor.set(name.to_owned());
    }
}

/// The reason of a failure inside, which the log tells and the answer does not.
#[derive(Clone, Debug)]
pub(crate) struct FailureCause(pub(crate) String);

/// Writes the line about a request and counts it.
pub(crate) async fn observe(
    State(state): State<ServerState>,
    mut request: Request,
    next: Next,
) -> Response {
    let facts = Arc::new(RequestFacts::new());
    request.extensions_mut().insert(Arc::clone(&facts));
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("none", |route| route.as_str()).to_owned();
    let metrics = &state.shared.metrics;
    let begun = Instant::now();
    let under_way = metrics.begin_request();
    let mut response = match method.is_safe() {
        true => next.run(request).await,
        false => to_the_end(next.run(request), &facts.id).await,
    };
    drop(under_way);
    let took = begun.elapsed();
    let status = response.status().as_u16();
    metrics.count_request((method.as_str(), &route, status), took);
    if let Ok(id) = HeaderValue::from_str(&facts.id) {
        response.headers_mut().insert(REQUEST_ID_HEADER, id);
    }
    let cause = response.extensions_mut().remove::<FailureCause>();
    let line = RequestLine {
        method: method.as_str(),
        route: &route,
        status,
        ms: took.as_secs_f64() * 1_000.0,
    };
    line.write(&facts, cause.as_ref());
    response
}

/// Lets a change come to its end when its client hangs up: half of it could be done, with no line in the
/// audit log, and an idempotency key that is free again.
async fn to_the_end(
    answering: impl Future<Output = Response> + Send + 'static,
    request_id: &str,
) -> Response {
    match tokio::spawn(answering).await {
        Ok(response) => response,
        Err(cause) => {
            let message = format!("the request broke off: {cause}");
            ApiProblem::new(ProblemCode::Internal, message).response("", request_id)
        }
    }
}

struct RequestLine<'a> {
    method: &'a str,
    route: &'a str,
    status: u16,
    ms: f64,
}

impl RequestLine<'_> {
    fn write(&self, facts: &RequestFacts, cause: Option<&FailureCause>) {
        let RequestLine {
            method,
            route,
            status,
            ..
        } = *self;
        let ms = (self.ms * 10.0).round() / 10.0;
        let request_id = facts.id.as_str();
        let actor = facts.actor.get().map(String::as_str);
        let run = facts.run.get().map(String::as_str);
        match cause {
            Some(FailureCause(cause)) => {
                let cause = cause.as_str();
                tracing::error!(
                    method,
                    route,
                    status,
                    ms,
                    requestId = request_id,
                    actor,
                    run,
                    cause,
                    "request"
                );
            }
            None if matches!(route, "/healthz" | "/readyz" | "/metrics") && status < 400 => {
                tracing::debug!(
                    method,
                    route,
                    status,
                    ms,
                    requestId = request_id,
                    actor,
                    "request"
                );
            }
            None => {
                tracing::info!(
                    method,
                    route,
                    status,
                    ms,
                    requestId = request_id,
                    actor,
                    run,
                    "request"
                );
            }
        }
    }
}
