//! Pages before one is signed in: no navigation around them.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::Markup;

use super::frame;
use crate::headers::harden;
use crate::state::ServerState;

/// Wraps the body of a page whose title says what is the case.
pub(crate) fn page(
    state: &ServerState,
    status: StatusCode,
    title: &str,
    body: &Markup,
) -> Response {
    let mut response = (status, frame::bare(title, body)).into_response();
    let address = &state.shared.address;
    harden(
        response.headers_mut(),
        address.insists_on_https(&HeaderMap::new()),
    );
    response
}
