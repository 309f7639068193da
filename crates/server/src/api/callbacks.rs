//! Callbacks: the answers of those whom `http` steps with `awaitCallback` have called.

use app::CallbackSignature;
use axum::http::Method;
use serde_json::{Value, json};

use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess};

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::new(
            Method::POST,
            "//callbacks/{key}",
            RouteAccess::Everybody,
            "Answers the task that the key was made for, once; the body is its output.",
            |asked| Box::pin(answer(asked)),
        )
        .body(any_value)
        .answers(200, &["task"]),
    ]
}

fn any_value() -> Value {
    json!({ "description": "The output of the task." })
}

async fn answer(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let text = |name: &str| {
        let value = asked.headers.get(name)?;
        value.to_str().ok()
    };
    let signature = text("webhook-signature").map(|signature| CallbackSignature {
        id: text("webhook-id").unwrap_or_default(),
        timestamp: text("webhook-timestamp").unwrap_or_default(),
        signature,
    });
    let body = std::str::from_utf8(&asked.body).map_err(|_| {
        let message = "the body is not UTF-8";
        ApiProblem::new(ProblemCode::BadRequest, message)
    })?;
    // Parsed before the key is read: invalid JSON is an error for every key.
    let _: Value = asked.body()?;
    let app = asked.state().app();
    let task = app
        .answer_callback(asked.path("key"), body, signature)
        .await?;
    Ok(ApiReply::json(json!({ "task": task.to_string() })))
}
