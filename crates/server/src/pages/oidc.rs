//! Signing in with a provider: the way there, and the way back.
//!
//! Both are GET, as the protocol wants it. The first changes nothing but the browser's own cookie; the second
//! needs that cookie, so that a link alone signs no one in.

use app::oidc::{RETURN_PATH, SignInReturn};
use app::{ClientPlace, Error};
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use serde::Deserialize;

use super::sign_in::{login_page, with_cookie};
use crate::headers::cookie;
use crate::identity::{CookiePurpose, session_cookie};
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::PageVisitor;
use crate::state::ServerState;

/// The way to the provider, from the page with the button.
pub(super) const DEPARTURE_PATH: &str = "/login/oidc";
/// How long a sign-in at the provider may take.
const SIGN_IN_SECONDS_MAX: u64 = 900;

pub(super) fn router() -> Router<ServerState> {
    Router::new()
        .route(DEPARTURE_PATH, get(depart))
        .route(RETURN_PATH, get(come_back))
}

/// The values that a provider adds to the address.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProviderAnswer {
    state: String,
    code: String,
    error: String,
}

async fn depart(
    State(state): State<ServerState>,
    PageVisitor(place): PageVisitor,
    headers: HeaderMap,
) -> Response {
    let Some(provider) = &state.shared.provider else {
        return refused(&state, &no_provider());
    };
    let counted = format!("address:{}", place.address);
    let throttled = state.shared.throttles.check_request(&counted);
    if let Err(problem) = throttled {
        return refused(&state, &problem);
    }
    match provider.depart(&state.shared.address.origin).await {
        Ok(departure) => {
            let purpose = CookiePurpose::Provider;
            let kept = purpose.header(&state, &headers, &departure.kept, SIGN_IN_SECONDS_MAX);
            with_cookie(Redirect::to(&departure.address).into_response(), &kept)
        }
        Err(error) => refused(&state, &told(error)),
    }
}

async fn come_back(
    State(state): State<ServerState>,
    PageVisitor(place): PageVisitor,
    headers: HeaderMap,
    answer: Result<Query<ProviderAnswer>, QueryRejection>,
) -> Response {
    let Query(answer) = answer.unwrap_or_default();
    let gone = CookiePurpose::Provider.header(&state, &headers, "", 0);
    let response = match sign_in(&state, &place, &headers, &answer).await {
        Ok(session) => with_cookie(Redirect::to("/").into_response(), &session),
        Err(problem) => refused(&state, &problem),
    };
    // One sign-in for each departure.
    with_cookie(response, &gone)
}

/// Signs in, and returns the cookie of the session.
async fn sign_in(
    state: &ServerState,
    place: &ClientPlace,
    headers: &HeaderMap,
    answer: &ProviderAnswer,
) -> Result<String, ApiProblem> {
    let provider = state.shared.provider.as_ref().ok_or_else(no_provider)?;
    check_pace(state, place)?;
    if !answer.error.is_empty() {
        let message = "the sign-in provider has not let you in";
        return Err(ApiProblem::new(ProblemCode::Forbidden, message).hint("begin again at /login"));
    }
    let name = CookiePurpose::Provider.name(state, headers);
    let came = SignInReturn {
        kept: cookie(headers, &name).unwrap_or_default(),
        state: &answer.state,
        code: &answer.code,
    };
    let arrived = provider.arrive(&state.shared.address.origin, came).await;
    let identity = arrived.map_err(told)?;
    let signed_in = state.access().sign_in_external(&identity, place).await;
    Ok(session_cookie(state, headers, &signed_in.map_err(told)?))
}

/// Refuses an address that ends too many sign-ins. No account is known yet that could be counted.
fn check_pace(state: &ServerState, place: &ClientPlace) -> Result<(), ApiProblem> {
    let account = format!("provider {}", place.address);
    let throttles = &state.shared.throttles;
    throttles.check_sign_in(&account, &place.address)
}

/// The problem for a person; the log has the cause.
fn told(error: Error) -> ApiProblem {
    let cause = error.to_string();
    tracing::warn!(cause = cause.as_str(), "no sign-in with the provider");
    error.into()
}

fn no_provider() -> ApiProblem {
    let message = "this server signs in with no provider";
    ApiProblem::new(ProblemCode::NotFound, message).hint("sign in by password at /login")
}

fn refused(state: &ServerState, problem: &ApiProblem) -> Response {
    let status = match problem.code {
        ProblemCode::Forbidden => StatusCode::UNAUTHORIZED,
        _ => problem.status(),
    };
    let said = match problem.hint_text() {
        Some(hint) => format!("{}; {hint}", problem.detail()),
        None => problem.detail().to_owned(),
    };
    login_page(state, status, Some(&said))
}
