//! Every route of the API in one table: the router, the OpenAPI document and the tests read it.

use std::pin::Pin;

use app::Permission;
use axum::http::Method;
use serde_json::Value;

use crate::api;
use crate::problem::ApiProblem;
use crate::request::{ApiReply, ApiRequest};

/// The future of a handler's answer.
pub(crate) type DocumentedAnswer =
    Pin<Box<dyn Future<Output = Result<ApiReply, ApiProblem>> + Send>>;

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteAccess {
    /// Every caller: health, signing in, the description of the API.
    Everybody,
    /// Every signed-in user, about their own things, or as the use case decides.
    SignedIn,
    /// Those whose role lets them do this.
    Needs(Permission),
}

/// One route.
pub(crate) struct ApiRoute {
    pub(crate) method: Method,
    /// From `/api/v1` on, or whole where it begins with `//`.
    pub(crate) path: &'static str,
    pub(crate) access: RouteAccess,
    /// A sentence.
    pub(crate) summary: &'static str,
    /// Parameters of the query, with what they mean.
    pub(crate) query: &'static [(&'static str, &'static str)],
    /// The schema of the body.
    pub(crate) body: Option<fn() -> Value>,
    pub(crate) has_optional_body: bool,
    /// The status and the media type of the answer.
    pub(crate) answer: (u16, &'static str),
    /// Fields that the answer has.
    pub(crate) fields: &'static [&'static str],
    /// Fields that every item of a list has.
    pub(crate) item_fields: &'static [&'static str],
    /// `true` if an edit has to say which version it has seen.
    pub(crate) needs_match: bool,
    /// `true` if a repetition with the same key is answered as the first was.
    pub(crate) keeps_answers: bool,
    pub(crate) handler: fn(ApiRequest) -> DocumentedAnswer,
}

impl ApiRoute {
    pub(crate) fn new(
        method: Method,
        path: &'static str,
        access: RouteAccess,
        summary: &'static str,
        handler: fn(ApiRequest) -> DocumentedAnswer,
    ) -> ApiRoute {
        let answer = match method {
            Method::DELETE => (204, ""),
            _ => (200, "application/json"),
        };
        ApiRoute {
            keeps_answers: method == Method::POST,
            method,
            path,
            access,
            summary,
            query: &[],
            body: None,
            has_optional_body: false,
            answer,
            fields: &[],
            item_fields: &[],
            needs_match: false,
            handler,
        }
    }

    #[must_use]
    pub(crate) fn query(mut self, query: &'static [(&'static str, &'static str)]) -> ApiRoute {
        self.query = query;
        self
    }

    #[must_use]
    pub(crate) fn body(mut self, schema: fn() -> Value) -> ApiRoute {
        self.body = Some(schema);
        self
    }

    #[must_use]
    pub(crate) fn optional_body(mut self, schema: fn() -> Value) -> ApiRoute {
        self.has_optional_body = true;
        self.body(schema)
    }

    #[must_use]
    pub(crate) fn answers(mut self, status: u16, fields: &'static [&'static str]) -> ApiRoute {
        self.answer.0 = status;
        self.fields = fields;
        self
    }

    #[must_use]
    pub(crate) fn items(mut self, fields: &'static [&'static str]) -> ApiRoute {
        self.item_fields = fields;
        self
    }

    #[must_use]
    pub(crate) fn media(mut self, media: &'static str) -> ApiRoute {
        self.answer.1 = media;
        self
    }

    #[must_use]
    pub(crate) fn needs_match(mut self) -> ApiRoute {
        self.needs_match = true;
        self
    }

    /// The answer has a secret: it is not kept for repetitions.
    #[must_use]
    pub(crate) fn secret(mut self) -> ApiRoute {
        self.keeps_answers = false;
        self
    }

    /// The whole path.
    pub(crate) fn full_path(&self) -> String {
        match self.path.strip_prefix('/') {
            Some(rest) if rest.starts_with('/') => rest.to_owned(),
            _ => format!("/api/v1{}", self.path),
        }
    }

    /// The resource, which scopes of tokens name: the first word of the path.
    pub(crate) fn resource(&self) -> &'static str {
        let words = self.path.trim_start_matches('/');
        words.split('/').next().unwrap_or_default()
    }
}

/// All routes.
pub(crate) fn routes() -> Vec<ApiRoute> {
    let mut routes = Vec::new();
    routes.extend(api::health::routes());
    routes.extend(api::docs::routes());
    routes.extend(api::session::routes());
    routes.extend(api::runs::routes());
    routes.extend(api::tasks::routes());
    routes.extend(api::task_notes::routes());
    routes.extend(api::task_acts::routes());
    routes.extend(api::questions::routes());
    routes.extend(api::workflows::routes());
    routes.extend(api::people::routes());
    routes.extend(api::schedules::routes());
    routes.extend(api::tokens::routes());
    routes.extend(api::notices::routes());
    routes.extend(api::webhooks::routes());
    routes.extend(api::callbacks::routes());
    routes.extend(api::builder::routes());
    routes.extend(api::recipes::routes());
    routes.extend(api::events::routes());
    routes.extend(api::audit::routes());
    routes.extend(api::costs::routes());
    routes.extend(api::views::routes());
    routes
}

/// The schema of a body, as JSON.
pub(crate) fn schema<T: schemars::JsonSchema>() -> Value {
    // A reference inside would lead to the whole document, and not into this schema.
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("$schema");
    }
    schema
}
