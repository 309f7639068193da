//! A request for a page by a person who has signed in, and the answers to it.

use app::{ClientPlace, Permission, UseCases};
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use std::net::SocketAddr;
use store::AuditOutcome;

use super::form::FormData;
use super::frame;
use crate::identity::{CallerIdentity, RequestCredential};
use crate::problem::{ApiProblem, ProblemCode};
use crate::request_log::RequestFacts;
use crate::state::ServerState;

/// The answer of a page.
pub(super) type PageResult = Result<Response, PageProblem>;

/// A request of a person who has signed in.
pub(super) struct PageVisit {
    pub(super) state: ServerState,
    pub(super) identity: CallerIdentity,
    pub(super) use_cases: UseCases,
    pub(super) query: FormData,
    pub(super) form: FormData,
    pub(super) now_ms: u64,
    path: Vec<(String, String)>,
    place: ClientPlace,
}

/// A problem that is shown as a page.
#[derive(Debug)]
pub(super) struct PageProblem(pub(super) ApiProblem);

impl<E: Into<ApiProblem>> From<E> for PageProblem {
    fn from(error: E) -> PageProblem {
        PageProblem(error.into())
    }
}

impl IntoResponse for PageProblem {
    fn into_response(self) -> Response {
        let PageProblem(problem) = self;
        let (_, _, title) = problem.code.about();
        let body = html! {
            section class="card narrow" {
                h1 { (title) }
                p class="wrong" role="alert" { (problem.detail()) }
                @if let Some(hint) = problem.hint_text() { p class="muted" { (hint) } }
                p { a class="btn" href="/inbox" { "To the inbox" } }
            }
        };
        let mut response = (problem.status(), frame::bare(title, &body)).into_response();
        problem.tell_log(&mut response);
        response
    }
}

impl FromRequest<ServerState> for PageVisit {
    type Rejection = Response;

    async fn from_request(request: Request, state: &ServerState) -> Result<PageVisit, Response> {
        let failed = |problem: ApiProblem| PageProblem(problem).into_response();
        let found = CallerIdentity::find(state, request.headers())
            .await
            .map_err(failed)?;
        let Some(identity) = found else {
            return Err(Redirect::to("/login").into_response());
        };
        RequestFacts::of(request.extensions()).note_actor(identity.actor.name());
        if !matches!(identity.credential, RequestCredential::Session(_)) {
            let message = "pages are for people who sign in; programs use /api/v1";
            return Err(failed(ApiProblem::new(ProblemCode::Forbidden, message)));
        }
        let throttles = &state.shared.throttles;
        throttles.check_request(&identity.key()).map_err(failed)?;
        let (mut parts, body) = request.into_parts();
        let params = RawPathParams::from_request_parts(&mut parts, state).await;
        let params = params.map_err(IntoResponse::into_response)?;
        let path = params
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let max = state.limits().body_bytes_max;
        let body = axum::body::to_bytes(body, max).await.map_err(|_| {
            let message = format!("a form may have {max} bytes (body_bytes_max) at most");
            failed(ApiProblem::new(ProblemCode::TooLarge, message))
        })?;
        let connection = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let agent = parts.headers.get(header::USER_AGENT);
        Ok(PageVisit {
            use_cases: state.app().acting(identity.actor.clone()),
            query: FormData::read(parts.uri.query().unwrap_or_default()),
            form: FormData::read(&String::from_utf8_lossy(&body)),
            now_ms: state.app().now_ms(),
            place: ClientPlace {
                user_agent: agent
                    .and_then(|agent| agent.to_str().ok())
                    .unwrap_or_default()
                    .to_owned(),
                address: connection.map_or_else(
                    || "local".to_owned(),
                    |ConnectInfo(address)| address.ip().to_string(),
                ),
            },
            state: state.clone(),
            identity,
            path,
        })
    }
}

impl PageVisit {
    /// A part of the path.
    pub(super) fn path(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Returns whether the person may do something: buttons are shown to those who may.
    pub(super) fn may(&self, action: Permission) -> bool {
        self.use_cases.permit(action).is_ok()
    }

    /// Notes a change in the audit log.
    pub(super) async fn note(&self, what: (&str, &str)) {
        let outcome = Some((AuditOutcome::Done, &self.place));
        let access = self.state.access();
        access.note(self.identity.actor.name(), what, outcome).await;
    }

    /// Notes a change in the audit log and leads on; `said` names the sentence that the next page shows.
    pub(super) async fn done(&self, what: (&str, &str), to: &str, said: &str) -> PageResult {
        self.note(what).await;
        let mark = match to.contains('?') {
            true => '&',
            false => '?',
        };
        Ok(Redirect::to(&format!("{to}{mark}said={said}")).into_response())
    }
}

/// An answer that is a part of a page.
pub(super) fn fragment(markup: maud::Markup) -> Response {
    (StatusCode::OK, markup).into_response()
}
