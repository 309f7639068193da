//! A request as handlers see it, and the answer they give.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;

use app::{ClientPlace, UseCases};
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::identity::CallerIdentity;
use crate::problem::{ApiProblem, ProblemCode};
use crate::state::ServerState;

/// A request with everything that was found out about it.
pub(crate) struct ApiRequest {
    pub(crate) state: ServerState,
    /// The caller; `None` on public routes.
    pub(crate) identity: Option<CallerIdentity>,
    pub(crate) place: ClientPlace,
    pub(crate) path: BTreeMap<String, String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ApiRequest {
    pub(crate) fn state(&self) -> &ServerState {
        &self.state
    }

    /// The use cases of the caller.
    pub(crate) fn use_cases(&self) -> Result<UseCases, ApiProblem> {
        let identity = self
            .identity
            .as_ref()
            .ok_or_else(ApiProblem::unauthorized)?;
        Ok(self.state.app().acting(identity.actor.clone()))
    }

    /// A part of the path.
    pub(crate) fn path(&self, name: &str) -> &str {
        self.path.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// A parameter that is read from its text.
    pub(crate) fn query_as<T: std::str::FromStr>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, ApiProblem> {
        let Some(text) = self.query(name) else {
            return Ok(None);
        };
        let read = text.parse().map_err(|_| {
            let message = format!("the parameter `{name}` cannot be used");
            ApiProblem::new(ProblemCode::BadRequest, message).at(format!("/query/{name}"), expected)
        });
        read.map(Some)
    }

    /// A word of the path, read as what it names.
    pub(crate) fn path_as<T: std::str::FromStr>(&self, name: &str) -> Result<T, ApiProblem> {
        self.path(name).parse().map_err(|_| {
            let message = format!("`{}` names nothing here", self.path(name));
            ApiProblem::new(ProblemCode::NotFound, message)
        })
    }

    /// The body as what the route takes. Fields that it does not know are refused.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, ApiProblem> {
        read_json(&self.body)
    }

    /// The same, where nothing may be sent as well.
    pub(crate) fn body_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, ApiProblem> {
        match self.body.is_empty() {
            true => Ok(T::default()),
            false => read_json(&self.body),
        }
    }

    /// The tag that an edit has seen. Without one it is refused: it could undo what another has done.
    pub(crate) fn if_match(&self) -> Result<String, ApiProblem> {
        let given = self.headers.get(header::IF_MATCH);
        let Some(given) = given.and_then(|value| value.to_str().ok()) else {
            let message =
                "this changes what others may have changed, and needs the header If-Match";
            return Err(ApiProblem::new(ProblemCode::MatchRequired, message)
                .hint("GET it first and send its ETag back"));
        };
        let tag = given
            .trim()
            .strip_prefix('"')
            .and_then(|tag| tag.strip_suffix('"'));
        tag.map(str::to_owned).ok_or_else(|| {
            ApiProblem::new(
                ProblemCode::BadRequest,
                "If-Match is not one ETag in quotes",
            )
        })
    }

    /// Refuses to remove what was edited since the caller has seen it.
    pub(crate) fn require_revision(&self, now: u64) -> Result<(), ApiProblem> {
        if self.if_match_revision()? == now {
            return Ok(());
        }
        Err(ApiProblem::new(ProblemCode::Stale, "it was edited meanwhile").hint("GET it again"))
    }

    /// The number that an edit has seen.
    pub(crate) fn if_match_revision(&self) -> Result<u64, ApiProblem> {
        let tag = self.if_match()?;
        tag.parse().map_err(|_| {
            ApiProblem::new(ProblemCode::Stale, "the ETag is not one of this").hint("GET it again")
        })
    }
}

fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiProblem> {
    serde_json::from_slice(body).map_err(|cause| {
        let is_data = cause.classify() == serde_json::error::Category::Data;
        let code = match is_data {
            true => ProblemCode::Invalid,
            false => ProblemCode::BadRequest,
        };
        let place = format!("line {}, column {}", cause.line(), cause.column());
        ApiProblem::new(code, format!("the body does not fit: {cause}"))
            .at("", place)
            .hint("/api/v1/openapi.json describes every body")
    })
}

impl ApiProblem {
    pub(crate) fn unauthorized() -> ApiProblem {
        ApiProblem::new(ProblemCode::Unauthorized, "this request is not signed in")
            .hint("send `Authorization: Bearer dl_…`, or sign in at /login")
            .header("www-authenticate", "Bearer realm=\"drawloom\"")
    }
}

/// The browser and the address that a request comes from.
pub(crate) struct PageVisitor(pub(crate) ClientPlace);

impl PageVisitor {
    pub(crate) fn of(headers: &HeaderMap, extensions: &axum::http::Extensions) -> PageVisitor {
        let connection = extensions.get::<ConnectInfo<SocketAddr>>();
        let address = connection.map(|ConnectInfo(address)| address.ip().to_string());
        let agent = headers.get(header::USER_AGENT);
        let agent = agent.and_then(|agent| agent.to_str().ok());
        PageVisitor(ClientPlace {
            user_agent: agent.unwrap_or_default().to_owned(),
            address: address.unwrap_or_else(|| "local".to_owned()),
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PageVisitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<PageVisitor, Infallible> {
        Ok(PageVisitor::of(&parts.headers, &parts.extensions))
    }
}

/// The answer to a request.
pub(crate) struct ApiReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: ReplyBody,
}

pub(crate) enum ReplyBody {
    Nothing,
    Json(Value),
    /// A text with its content type.
    Text(&'static str, String),
    /// Something that takes its time, such as a stream of events.
    Stream(Box<Response>),
}

impl ApiReply {
    pub(crate) fn json(value: Value) -> ApiReply {
        ApiReply::new(StatusCode::OK, ReplyBody::Json(value))
    }

    /// Something new, and where it is.
    pub(crate) fn created(value: Value, location: &str) -> ApiReply {
        ApiReply::new(StatusCode::CREATED, ReplyBody::Json(value)).header("location", location)
    }

    /// Something that goes on, and where to look.
    pub(crate) fn accepted(value: Value, location: &str) -> ApiReply {
        ApiReply::new(StatusCode::ACCEPTED, ReplyBody::Json(value)).header("location", location)
    }

    pub(crate) fn nothing() -> ApiReply {
        ApiReply::new(StatusCode::NO_CONTENT, ReplyBody::Nothing)
    }

    pub(crate) fn text(kind: &'static str, text: String) -> ApiReply {
        ApiReply::new(StatusCode::OK, ReplyBody::Text(kind, text))
    }

    pub(crate) fn stream(response: Response) -> ApiReply {
        ApiReply::new(StatusCode::OK, ReplyBody::Stream(Box::new(response)))
    }

    fn new(status: StatusCode, body: ReplyBody) -> ApiReply {
        ApiReply {
            status,
            headers: Vec::new(),
            body,
        }
    }

    #[must_use]
    pub(crate) fn status(mut self, status: StatusCode) -> ApiReply {
        self.status = status;
        self
    }

    /// Adds a header; what cannot be one is left out.
    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> ApiReply {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((HeaderName::from_static(name), value));
        }
        self
    }

    /// Says which state this is, for edits and for readers that have it already.
    #[must_use]
    pub(crate) fn etag(self, tag: impl std::fmt::Display) -> ApiReply {
        let tag = format!("\"{tag}\"");
        self.header("etag", &tag)
    }

    pub(crate) fn response(self) -> Response {
        let (kind, body) = match self.body {
            ReplyBody::Stream(response) => return *response,
            ReplyBody::Nothing => (None, Body::empty()),
            ReplyBody::Json(value) => (Some("application/json"), Body::from(value.to_string())),
            ReplyBody::Text(kind, text) => (Some(kind), Body::from(text)),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if let Some(kind) = kind {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        response
    }
}
