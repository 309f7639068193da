//! Errors as RFC 9457 problem documents.

use app::AppErrorCode;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use recipe::RecipeErrorKind;
use serde_json::{Map, Value, json};

use crate::request_log::FailureCause;

/// The kinds of problems; the text form is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProblemCode {
    BadRequest,
    Unauthorized,
    Forbidden,
    CrossSite,
    NotFound,
    MethodNotAllowed,
    TooSlow,
    Conflict,
    KeyInUse,
    Stale,
    TooLarge,
    MediaType,
    WrongHost,
    Invalid,
    KeyReused,
    MatchRequired,
    TooMany,
    Internal,
    Unavailable,
}

impl ProblemCode {
    pub(crate) const ALL: [ProblemCode; 19] = [
        ProblemCode::BadRequest,
        ProblemCode::Unauthorized,
        ProblemCode::Forbidden,
        ProblemCode::CrossSite,
        ProblemCode::NotFound,
        ProblemCode::MethodNotAllowed,
        ProblemCode::TooSlow,
        ProblemCode::Conflict,
        ProblemCode::KeyInUse,
        ProblemCode::Stale,
        ProblemCode::TooLarge,
        ProblemCode::MediaType,
        ProblemCode::WrongHost,
        ProblemCode::Invalid,
        ProblemCode::KeyReused,
        ProblemCode::MatchRequired,
        ProblemCode::TooMany,
        ProblemCode::Internal,
        ProblemCode::Unavailable,
    ];

    /// The code, its status, and a title that is the same every time.
    pub(crate) fn about(self) -> (&'static str, u16, &'static str) {
        match self {
            ProblemCode::BadRequest => ("bad_request", 400, "The request cannot be read"),
            ProblemCode::Unauthorized => ("unauthorized", 401, "Sign in first"),
            ProblemCode::Forbidden => ("forbidden", 403, "Not allowed"),
            ProblemCode::CrossSite => ("cross_site", 403, "Asked for by another site"),
            ProblemCode::NotFound => ("not_found", 404, "Not found"),
            ProblemCode::MethodNotAllowed => ("method_not_allowed", 405, "Not with this method"),
            ProblemCode::TooSlow => ("too_slow", 408, "The request came too slowly"),
            ProblemCode::Conflict => ("conflict", 409, "Not possible as things are"),
            ProblemCode::KeyInUse => ("idempotency_key_in_use", 409, "Still under way"),
            ProblemCode::Stale => ("stale", 412, "Changed meanwhile"),
            ProblemCode::TooLarge => ("too_large", 413, "Too large"),
            ProblemCode::MediaType => ("media_type", 415, "Not JSON"),
            ProblemCode::WrongHost => ("wrong_host", 421, "Not this server"),
            ProblemCode::Invalid => ("invalid", 422, "Not valid"),
            ProblemCode::KeyReused => ("idempotency_key_reused", 422, "Key of another request"),
            ProblemCode::MatchRequired => ("match_required", 428, "If-Match is missing"),
            ProblemCode::TooMany => ("too_many_requests", 429, "Too many requests"),
            ProblemCode::Internal => ("internal", 500, "Something went wrong here"),
            ProblemCode::Unavailable => ("unavailable", 503, "Not available now"),
        }
    }
}

/// Something that could not be done, and what to do about it.
#[derive(Clone, Debug)]
pub(crate) struct ApiProblem {
    pub(crate) code: ProblemCode,
    detail: String,
    /// Boxed, so that results stay small.
    parts: Box<ProblemParts>,
}

/// The parts that only some problems have.
#[derive(Clone, Debug, Default)]
struct ProblemParts {
    hint: Option<String>,
    /// Where in the request, as a JSON pointer, and what is wrong there.
    errors: Vec<(String, String)>,
    headers: Vec<(&'static str, String)>,
    more: Map<String, Value>,
}

impl ApiProblem {
    pub(crate) fn new(code: ProblemCode, detail: impl Into<String>) -> ApiProblem {
        ApiProblem {
            code,
            detail: detail.into(),
            parts: Box::default(),
        }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> ApiProblem {
        self.parts.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn at(
        mut self,
        pointer: impl Into<String>,
        detail: impl Into<String>,
    ) -> ApiProblem {
        self.parts.errors.push((pointer.into(), detail.into()));
        self
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> ApiProblem {
        self.parts.headers.push((name, value.to_owned()));
        self
    }

    /// Adds a member of its own, such as the problems of a workflow's text.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: Value) -> ApiProblem {
        self.parts.more.insert(name.to_owned(), value);
        self
    }

    /// The sentence, for pages.
    pub(crate) fn detail(&self) -> &str {
        match self.code {
            ProblemCode::Internal => "something went wrong here",
            _ => &self.detail,
        }
    }

    /// The hint, for pages.
    pub(crate) fn hint_text(&self) -> Option<&str> {
        let is_shown = self.code != ProblemCode::Internal;
        self.parts.hint.as_deref().filter(|_| is_shown)
    }

    pub(crate) fn status(&self) -> StatusCode {
        let (_, status, _) = self.code.about();
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The document. A failure inside is not told outside: a 500 has its id only.
    pub(crate) fn document(&self, instance: &str, request_id: &str) -> Value {
        let (code, status, title) = self.code.about();
        let mut document = json!({
            "type": format!("/api/docs#{code}"),
            "title": title,
            "status": status,
            "instance": instance,
            "code": code,
            "requestId": request_id,
        });
        if self.code == ProblemCode::Internal {
            document["detail"] = json!("look for the requestId in the server's log");
            return document;
        }
        document["detail"] = json!(self.detail);
        if let Some(hint) = &self.parts.hint {
            document["hint"] = json!(hint);
        }
        if !self.parts.errors.is_empty() {
            let errors = self.parts.errors.iter();
            let errors: Vec<Value> = errors
                .map(|(pointer, detail)| json!({ "pointer": pointer, "detail": detail }))
                .collect();
            document["errors"] = json!(errors);
        }
        for (name, value) in &self.parts.more {
            document[name] = value.clone();
        }
        document
    }

    /// Hands the reason of a failure inside to the log.
    pub(crate) fn tell_log(&self, response: &mut Response) {
        if self.code == ProblemCode::Internal {
            let cause = FailureCause(self.detail.clone());
            response.extensions_mut().insert(cause);
        }
    }

    pub(crate) fn response(&self, instance: &str, request_id: &str) -> Response {
        let document = self.document(instance, request_id).to_string();
        let mut response = Response::new(Body::from(document));
        *response.status_mut() = self.status();
        self.tell_log(&mut response);
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        for (name, value) in &self.parts.headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

impl From<app::Error> for ApiProblem {
    fn from(error: app::Error) -> ApiProblem {
        match &error {
            app::Error::Own(fault) if fault.code == AppErrorCode::DatabaseAway => {
                tracing::warn!(cause = fault.message.as_str(), "database away");
                ApiProblem::new(ProblemCode::Unavailable, "the database does not answer")
                    .hint("try again in a moment")
                    .header("retry-after", "2")
            }
            app::Error::Own(fault) if fault.code == AppErrorCode::DiskFull => {
                tracing::error!(cause = fault.message.as_str(), "disk full");
                let detail = "the disk of the server is full: nothing was changed";
                ApiProblem::new(ProblemCode::Unavailable, detail)
                    .hint("the operator of the server makes room; then the same works again")
                    .header("retry-after", "30")
            }
            app::Error::Own(fault) => {
                let problem = ApiProblem::new(code_of(fault.code), fault.message.clone());
                match &fault.hint {
                    Some(hint) => problem.hint(hint.clone()),
                    None => problem,
                }
            }
            app::Error::Recipe(cause) if cause.kind() == RecipeErrorKind::NotFound => {
                ApiProblem::new(ProblemCode::NotFound, error.to_string())
            }
            app::Error::Recipe(_) | app::Error::Template(_) | app::Error::Definition(_) => {
                ApiProblem::new(ProblemCode::Invalid, error.to_string())
            }
            app::Error::Ai(_) => ApiProblem::new(ProblemCode::Unavailable, error.to_string()),
            app::Error::Untrusted(_) => ApiProblem::new(
                ProblemCode::Forbidden,
                "the person who runs the server has not trusted this project to do that",
            )
            .hint("`drawloom trust` on the server's machine shows what it asks for"),
        }
    }
}

fn code_of(code: AppErrorCode) -> ProblemCode {
    match code {
        AppErrorCode::NotFound => ProblemCode::NotFound,
        AppErrorCode::Forbidden => ProblemCode::Forbidden,
        AppErrorCode::Conflict | AppErrorCode::RunLocked => ProblemCode::Conflict,
        AppErrorCode::Stale => ProblemCode::Stale,
        AppErrorCode::Usage
        | AppErrorCode::Data
        | AppErrorCode::BuildPlan
        | AppErrorCode::Limit => ProblemCode::Invalid,
        AppErrorCode::NoModel
        | AppErrorCode::Provider
        | AppErrorCode::Build
        | AppErrorCode::Git
        | AppErrorCode::Agent
        | AppErrorCode::Interrupted => ProblemCode::Unavailable,
        _ => ProblemCode::Internal,
    }
}
