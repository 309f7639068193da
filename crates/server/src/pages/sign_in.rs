//! The pages before one is signed in: sign in, claim a fresh server, set a new password.
//!
//! A link shows a form; only the form's button changes anything.

use axum::Router;
use axum::extract::{Form, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;
use store::LinkPurpose;

use super::layout::page;
use super::oidc;
use crate::headers::harden;
use crate::identity::{CallerIdentity, RequestCredential, no_cookie, session_cookie};
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::PageVisitor;
use crate::state::ServerState;

/// The largest form, in bytes.
const FORM_BYTES_MAX: usize = 64 << 10;

pub(crate) fn router() -> Router<ServerState> {
    Router::new()
        .route("/login", get(show_login).post(login))
        .route("/logout", post(logout))
        .route("/claim/{secret}", get(show_link).post(claim))
        .route("/reset/{secret}", get(show_link).post(reset))
        .merge(oidc::router())
        .layer(axum::extract::DefaultBodyLimit::max(FORM_BYTES_MAX))
}

/// Guards every page: the right host, and no change that another site asks for.
pub(crate) async fn guard(
    State(state): State<ServerState>,
    request: Request,
    next: Next,
) -> Response {
    let address = &state.shared.address;
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str().to_owned());
    let checked = address
        .check_host(request.headers(), authority.as_deref())
        .and_then(|()| address.check_origin(request.method(), request.headers()));
    let insists_on_https = address.insists_on_https(request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => failed(&state, &problem),
    };
    harden(response.headers_mut(), insists_on_https);
    response
}

/// Puts the guard before pages.
pub(crate) fn guarded(router: Router<ServerState>, state: &ServerState) -> Router<ServerState> {
    router.layer(from_fn_with_state(state.clone(), guard))
}

#[derive(Deserialize)]
struct LoginForm {
    email: String,
    password: String,
}

#[derive(Deserialize)]
struct ClaimForm {
    email: String,
    password: String,
}

#[derive(Deserialize)]
struct ResetForm {
    password: String,
}

async fn show_login(State(state): State<ServerState>) -> Response {
    login_page(&state, StatusCode::OK, None)
}

async fn login(
    State(state): State<ServerState>,
    PageVisitor(place): PageVisitor,
    headers: HeaderMap,
    Form(form): Form<LoginForm>,
) -> Response {
    let throttled = state
        .shared
        .throttles
        .check_sign_in(&form.email, &place.address);
    if let Err(problem) = throttled {
        return login_page(&state, problem.status(), Some(problem.detail()));
    }
    match state
        .access()
        .sign_in(&form.email, &form.password, &place)
        .await
    {
        Ok(signed_in) => {
            let cookie = session_cookie(&state, &headers, &signed_in);
            with_cookie(Redirect::to("/").into_response(), &cookie)
        }
        Err(error) => {
            let problem = ApiProblem::from(error);
            let status = match problem.code {
                ProblemCode::Forbidden => StatusCode::UNAUTHORIZED,
                _ => problem.status(),
            };
            login_page(&state, status, Some(problem.detail()))
        }
    }
}

async fn logout(State(state): State<ServerState>, headers: HeaderMap) -> Response {
    let found = CallerIdentity::find(&state, &headers).await;
    if let Ok(Some(identity)) = found
        && let RequestCredential::Session(session) = identity.credential
    {
        // A session that is gone already has ended as well.
        let _ = state.access().end_session(session).await;
    }
    with_cookie(
        Redirect::to("/login").into_response(),
        &no_cookie(&state, &headers),
    )
}

async fn show_link(State(state): State<ServerState>, Path(secret): Path<String>) -> Response {
    let found = match state.access().find_link(&secret).await {
        Ok(found) => found,
        Err(error) => return failed(&state, &error.into()),
    };
    match found.map(|link| link.purpose) {
        Some(LinkPurpose::Claim) => claim_page(&state, StatusCode::OK, None),
        Some(LinkPurpose::PasswordReset) => reset_page(&state, StatusCode::OK, None),
        None => link_gone(&state),
    }
}

async fn claim(
    State(state): State<ServerState>,
    Path(secret): Path<String>,
    PageVisitor(place): PageVisitor,
    headers: HeaderMap,
    Form(form): Form<ClaimForm>,
) -> Response {
    if let Err(problem) = state
        .shared
        .throttles
        .check_sign_in("claim", &place.address)
    {
        return claim_page(&state, problem.status(), Some(problem.detail()));
    }
    let access = state.access();
    let signed_in = match access.claim(&secret, &form.email, &form.password).await {
        Ok(user) => access.begin_session(user, &place).await,
        Err(error) => Err(error),
    };
    match signed_in {
        Ok(signed_in) => {
            let cookie = session_cookie(&state, &headers, &signed_in);
            with_cookie(Redirect::to("/").into_response(), &cookie)
        }
        Err(error) => {
            let problem = ApiProblem::from(error);
            match problem.code {
                ProblemCode::NotFound => link_gone(&state),
                _ => claim_page(&state, problem.status(), Some(problem.detail())),
            }
        }
    }
}

async fn reset(
    State(state): State<ServerState>,
    Path(secret): Path<String>,
    PageVisitor(place): PageVisitor,
    Form(form): Form<ResetForm>,
) -> Response {
    if let Err(problem) = state
        .shared
        .throttles
        .check_sign_in("reset", &place.address)
    {
        return reset_page(&state, problem.status(), Some(problem.detail()));
    }
    match state.access().reset_password(&secret, &form.password).await {
        Ok(_) => Redirect::to("/login").into_response(),
        Err(error) => {
            let problem = ApiProblem::from(error);
            match problem.code {
                ProblemCode::NotFound => link_gone(&state),
                _ => reset_page(&state, problem.status(), Some(problem.detail())),
            }
        }
    }
}

pub(super) fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

pub(super) fn login_page(state: &ServerState, status: StatusCode, wrong: Option<&str>) -> Response {
    let body = html! {
        h1 { "Sign in" }
        p { "to Drawloom" }
        (said(wrong))
        form method="post" action="/login" {
            label for="email" { "E-mail address" }
            input id="email" name="email" type="email" autocomplete="username" required autofocus;
            label for="password" { "Password" }
            input id="password" name="password" type="password" autocomplete="current-password" required;
            button { "Sign in" }
        }
        @if let Some(provider) = &state.shared.provider {
            p { a class="btn" href=(oidc::DEPARTURE_PATH) { "Sign in with " (provider.label()) } }
        }
    };
    page(state, status, "Sign in", &body)
}

fn claim_page(state: &ServerState, status: StatusCode, wrong: Option<&str>) -> Response {
    let body = html! {
        h1 { "This server is yours" }
        p { "Choose how you sign in. You become its admin." }
        (said(wrong))
        form method="post" {
            label for="email" { "E-mail address" }
            input id="email" name="email" type="email" autocomplete="username" required autofocus;
            (new_password())
            button { "Claim it" }
        }
    };
    page(state, status, "Claim this server", &body)
}

fn reset_page(state: &ServerState, status: StatusCode, wrong: Option<&str>) -> Response {
    let body = html! {
        h1 { "A new password" }
        p { "Your other sessions end when you set it." }
        (said(wrong))
        form method="post" {
            (new_password())
            button { "Set it" }
        }
    };
    page(state, status, "Set a new password", &body)
}

fn new_password() -> Markup {
    html! {
        label for="password" { "Password, " (app::PASSWORD_CHARS_MIN) " characters or more" }
        input id="password" name="password" type="password" autocomplete="new-password"
            minlength=(app::PASSWORD_CHARS_MIN) required;
    }
}

fn said(wrong: Option<&str>) -> Markup {
    html! {
        @if let Some(wrong) = wrong { p.wrong role="alert" { (wrong) } }
    }
}

fn link_gone(state: &ServerState) -> Response {
    let body = html! {
        h1 { "This link is of no use any more" }
        p { "It was used, is too old, or was cut off. A new start of the server prints a new one; "
            code { "drawloom users reset-password NAME" } " prints one for a person." }
        p { a href="/login" { "Sign in" } }
    };
    page(
        state,
        StatusCode::NOT_FOUND,
        "This link is of no use any more",
        &body,
    )
}

/// A page that says what could not be done.
pub(crate) fn failed(state: &ServerState, problem: &ApiProblem) -> Response {
    let body = html! {
        h1 { "That did not work" }
        p.wrong role="alert" { (problem.detail()) }
        p { a href="/" { "Back" } }
    };
    page(state, problem.status(), "That did not work", &body)
}
