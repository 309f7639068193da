//! `http`: calls out, within limits; with `awaitCallback` the task then waits for a signed answer.
//!
//! What is called gets the name of the task, the same in every attempt, and with `awaitCallback` the
//! token with which the answer is accepted.

use std::time::Duration;

use flow::Step;
use flow::engine::{FailureClass, Outcome, Report};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url};
use serde_json::{Map, Value, json};

use super::{Executor, Job, Working, fill, needs_text, setting, unknown_settings};
use crate::workflows::token;

const SETTINGS: [&str; 4] = ["url", "method", "headers", "body"];
/// How much of an answer is read.
const BODY_BYTES_MAX: usize = 4 << 20;
/// How long a call may take when its step does not say.
const SECONDS_DEFAULT: u64 = 60;
const CONNECT_SECONDS_MAX: u64 = 10;
/// The most characters of an answer in a message.
const WORDS_CHARS_MAX: usize = 300;
/// Says which task calls; the same in every attempt.
const TASK_HEADER: &str = "idempotency-key";
/// The token with which the answer is accepted.
const TOKEN_HEADER: &str = "drawloom-callback-token";

pub(super) struct Http;

impl Executor for Http {
    fn check(&self, step: &Step) -> Vec<String> {
        let mut problems = unknown_settings(step, &SETTINGS);
        problems.extend(needs_text(step, "url"));
        if let Some(method) = setting(step, "method")
            && method
                .as_str()
                .and_then(|name| Method::try_from(name).ok())
                .is_none()
        {
            problems.push("`config.method` must be a method such as \"POST\".".to_owned());
        }
        if setting(step, "headers").is_some_and(|headers| !headers.is_object()) {
            problems.push("`config.headers` must be an object of texts.".to_owned());
        }
        problems
    }

    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a> {
        Box::pin(async move {
            match call(job).await {
                Ok(report) => report,
                Err(report) => *report,
            }
        })
    }
}

async fn call(job: &Job) -> Result<Report, Box<Report>> {
    let fields = Value::Object(job.step.config.config.clone().unwrap_or_default());
    let fields = fill::json(&fields, &job.state).map_err(invalid)?;
    let url = fields["url"].as_str().unwrap_or_default();
    let url =
        Url::parse(url).map_err(|cause| invalid(format!("`{url}` is no address: {cause}.")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid(format!("`{url}` is not http or https.")));
    }
    let body = fields.get("body");
    let usual = if body.is_some() { "POST" } else { "GET" };
    let method = fields["method"].as_str().unwrap_or(usual);
    let method = Method::try_from(method).map_err(|cause| invalid(cause.to_string()))?;
    let seconds = Duration::from_secs(SECONDS_DEFAULT);
    let timeout = job.step.config.timeout;
    let timeout = timeout.map_or(seconds, |timeout| Duration::from_millis(timeout.ms));
    let mut request = client(timeout)?.request(method, url.clone());
    request = request.headers(headers(job, fields.get("headers"))?);
    request = match body {
        Some(Value::String(text)) => request.body(text.clone()),
        Some(value) => request
            .header("content-type", "application/json")
            .body(value.to_string()),
        None => request,
    };
    let response = request
        .send()
        .await
        .map_err(|cause| unreachable(&url, &cause))?;
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").cloned();
    let text = bounded(response).await?;
    judge(job, (&url, status), parsed(&text, kind.as_ref()))
}

/// Why there is no answer, or none that counts.
fn failed(class: FailureClass, message: impl Into<String>) -> Box<Report> {
    Box::new(super::failed(class, message))
}

fn invalid(message: impl Into<String>) -> Box<Report> {
    Box::new(super::invalid(message))
}

fn client(timeout: Duration) -> Result<Client, Box<Report>> {
    // Fails only when one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let built = Client::builder()
        .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
        .timeout(timeout)
        .user_agent(concat!("drawloom/", env!("CARGO_PKG_VERSION")))
        .build();
    built.map_err(|cause| {
        failed(
            FailureClass::Unavailable,
            format!("TLS cannot be set up: {cause}."),
        )
    })
}

fn headers(job: &Job, given: Option<&Value>) -> Result<HeaderMap, Box<Report>> {
    let mut headers = HeaderMap::new();
    let mut put = |name: &str, value: &str| {
        let name = HeaderName::try_from(name);
        let value = HeaderValue::try_from(value);
        match (name, value) {
            (Ok(name), Ok(value)) => {
                headers.insert(name, value);
                Ok(())
            }
            _ => Err(invalid(format!("`{}` cannot be a header.", name_of(given)))),
        }
    };
    put(TASK_HEADER, &job.task.id.to_string())?;
    if job.step.config.await_callback == Some(true) {
        let token = token::sign(&job.hands.project, &job.task.id);
        let token = token.map_err(|error| invalid(error.to_string()))?;
        put(TOKEN_HEADER, &token)?;
    }
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        // A key stays in its variable and out of the diagram.
        let text = match text
            .strip_prefix('$')
            .and_then(|name| job.hands.surroundings.variable(name))
        {
            Some(secret) => secret,
            None => text,
        };
        put(name, &text)?;
    }
    Ok(headers)
}

fn name_of(given: Option<&Value>) -> String {
    let names = given.and_then(Value::as_object).map(Map::keys);
    names
        .into_iter()
        .flatten()
        .cloned()
        .collect::<Vec<_>>()
        .join(", ")
}

async fn bounded(mut response: reqwest::Response) -> Result<String, Box<Report>> {
    let mut bytes = Vec::new();
    loop {
        let piece = response.chunk().await.map_err(|cause| {
            failed(
                FailureClass::Unavailable,
                format!("The answer broke off: {cause}."),
            )
        })?;
        let Some(piece) = piece else { break };
        bytes.extend_from_slice(&piece);
        if bytes.len() > BODY_BYTES_MAX {
            let message = format!("The answer is longer than BODY_BYTES_MAX = {BODY_BYTES_MAX}.");
            return Err(failed(FailureClass::Limit, message));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parsed(text: &str, kind: Option<&HeaderValue>) -> Value {
    let is_json = kind
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.contains("json"));
    match serde_json::from_str(text) {
        Ok(value) if is_json => value,
        _ => Value::String(text.to_owned()),
    }
}

fn judge(job: &Job, (url, status): (&Url, u16), body: Value) -> Result<Report, Box<Report>> {
    let class = match status {
        200..=299 => None,
        401 | 403 => Some(FailureClass::Auth),
        408 => Some(FailureClass::Timeout),
        429 => Some(FailureClass::RateLimited),
        500..=599 => Some(FailureClass::Unavailable),
        400..=499 => Some(FailureClass::Http4xx),
        _ => Some(FailureClass::Failed),
    };
    if let Some(class) = class {
        let said = body
            .as_str()
            .map_or_else(|| body.to_string(), str::to_owned);
        let said: String = said.chars().take(WORDS_CHARS_MAX).collect();
        return Err(failed(class, format!("{url} answered {status}: {said}")));
    }
    let output = json!({ "status": status, "body": body });
    if job.step.config.await_callback != Some(true) {
        return Ok(Report::completed(output));
    }
    let reason = format!(
        "It waits for the call back: `drawloom tasks answer {} --token TOKEN` with the token it was sent.",
        job.task.id
    );
    Ok(Report::of(Outcome::Asked {
        reason,
        output: Some(output),
    }))
}

fn unreachable(url: &Url, cause: &reqwest::Error) -> Box<Report> {
    let class = match cause.is_timeout() {
        true => FailureClass::Timeout,
        false => FailureClass::Unavailable,
    };
    let mut message = format!("{url} cannot be called: {cause}");
    let mut deeper = std::error::Error::source(cause);
    while let Some(one) = deeper {
        message.push_str(&format!(": {one}"));
        deeper = one.source();
    }
    failed(class, message)
}
