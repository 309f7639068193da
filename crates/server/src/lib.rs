//! The door to sockets: HTTP in, use cases of `app` called, HTTP out.
//!
//! Nothing is decided here that another door would have to decide again. `table` lists every route of
//! the API with the right it takes; the router, the OpenAPI document and the tests are made from it.
//! `dispatch` is the one way of a request to its handler: who asks, from where, may they, has it been
//! asked before, and what to answer when it cannot be done. `mcp_route` does the same for `/mcp`, whose
//! answers are those of the crate `mcp`.

mod api;
mod connection;
mod cursor;
mod dispatch;
mod fields;
mod headers;
mod idempotency;
mod identity;
mod mcp_route;
mod metrics;
mod openapi;
mod origin;
mod pages;
mod problem;
mod proxies;
mod request;
mod request_log;
mod serving;
mod state;
mod systemd;
mod table;
mod telemetry;
mod throttle;
mod tls;

use axum::middleware::from_fn_with_state;

pub use mcp_route::router_of as mcp_router;
pub use openapi::document as openapi_document;
pub use proxies::TrustedProxies;
pub use serving::{BackgroundTasks, ServeError, ServeOptions, ServerHandle};
pub use state::{ServerLimits, ServerState};
pub use systemd::{NOTIFY_VARIABLE, SystemdSocket};
pub use telemetry::TraceCollector;
pub use tls::{CertificateProblem, TlsFiles};

/// Returns the whole server as one service: the API, the pages and `/mcp`.
pub fn router(state: &ServerState) -> axum::Router {
    let observe = from_fn_with_state(state.clone(), request_log::observe);
    let arrive = from_fn_with_state(state.clone(), proxies::arrive);
    dispatch::api_router(state)
        .merge(pages::router(state))
        .merge(mcp_route::router(state))
        .layer(observe)
        .layer(arrive)
}
