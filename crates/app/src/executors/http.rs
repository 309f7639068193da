//! `http`: calls out, within limits; with `awaitCallback` the task then waits for a signed answer.
//!
//! The called server gets the name of the task, the same in every attempt, and with `awaitCallback`
//! the token with which the answer is accepted. `$NAME` and `{{secrets.NAME}}` are read from the
//! diagram's own text; a value is never expanded again. `crate::outbound` decides which addresses
//! may be called.

mod message;

use std::time::Duration;

use flow::WorkflowStep;
use flow::engine::{AttemptOutcome, AttemptReport, FailureClass};
use reqwest::header::HeaderValue;
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::{
    ExecutorFuture, StepAttempt, StepExecutor, interpolate, needs_text, setting, unknown_settings,
};
use crate::outbound::{self, AddressRule, UrlTemplate};
use message::HttpMessage;

const SETTINGS: [&str; 4] = ["url", "method", "headers", "body"];
/// Number of bytes of an answer that are read.
const BODY_BYTES_MAX: usize = 4 << 20;
/// Default time limit of a call.
const SECONDS_DEFAULT: u64 = 60;
/// The most characters of an answer in a message.
const WORDS_CHARS_MAX: usize = 300;

pub(super) struct HttpExecutor;

impl StepExecutor for HttpExecutor {
    fn check(&self, step: &WorkflowStep) -> Vec<String> {
        let mut problems = unknown_settings(step, &SETTINGS);
        problems.extend(needs_text(step, "url"));
        let url = setting(step, "url").and_then(Value::as_str);
        problems.extend(url.and_then(outbound::url_problem));
        if let Some(method) = setting(step, "method")
            && method
                .as_str()
                .and_then(|name| Method::try_from(name).ok())
                .is_none()
        {
            problems.push("`config.method` must be a method such as \"POST\".".to_owned());
        }
        match setting(step, "headers") {
            Some(Value::Object(headers)) => problems.extend(message::header_problems(headers)),
            Some(_) => problems.push("`config.headers` must be an object of texts.".to_owned()),
            None => {}
        }
        problems
    }

    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a> {
        Box::pin(async move {
            match call(job).await {
                Ok(report) => report,
                Err(report) => *report,
            }
        })
    }
}

async fn call(job: &StepAttempt) -> Result<AttemptReport, Box<AttemptReport>> {
    let text = job
        .setting("url")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let target = UrlTemplate::read(text).map_err(invalid)?;
    let value = |source: &str| {
        interpolate::known(source, &job.state).map(|value| interpolate::printed(&value))
    };
    let url = target.fill(value).map_err(invalid)?;
    let message = HttpMessage::of(job).await.map_err(invalid)?;
    let seconds = Duration::from_secs(SECONDS_DEFAULT);
    let timeout = job.step.config.timeout;
    let timeout = timeout.map_or(seconds, |timeout| Duration::from_millis(timeout.ms));
    let allowed = &job.hands.project.settings.workflows.http_allow;
    let rule = AddressRule::read(allowed).map_err(invalid)?;
    let client = outbound::prepare(&url, &rule, timeout).map_err(invalid)?;
    let usual = if message.body.is_some() {
        "POST"
    } else {
        "GET"
    };
    let method = job
        .setting("method")
        .and_then(Value::as_str)
        .unwrap_or(usual);
    let method = Method::try_from(method).map_err(|cause| invalid(cause.to_string()))?;
    let mut request = client
        .request(method, url.clone())
        .headers(message.headers.clone());
    request = match &message.body {
        Some(Value::String(text)) => request.body(text.clone()),
        Some(value) => request
            .header("content-type", "application/json")
            .body(value.to_string()),
        None => request,
    };
    let response = request
        .send()
        .await
        .map_err(|cause| unreachable(&url, cause))?;
    if response.status().is_redirection() {
        return Err(redirected(&url, &response));
    }
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").cloned();
    let text = bounded(response).await?;
    let parsed = parsed(&text, kind.as_ref());
    judge(job, (&url, status), parsed, &message)
}

/// Reports that there is no answer, or none that counts, and why.
fn failed(class: FailureClass, message: impl Into<String>) -> Box<AttemptReport> {
    Box::new(super::failed(class, message))
}

fn invalid(message: impl Into<String>) -> Box<AttemptReport> {
    Box::new(super::invalid(message))
}

/// Says where an answer leads that was not followed.
fn redirected(url: &Url, response: &reqwest::Response) -> Box<AttemptReport> {
    let status = response.status().as_u16();
    let location = response.headers().get("location");
    let location = location.and_then(|to| url.join(to.to_str().ok()?).ok());
    let host = location
        .as_ref()
        .filter(|to| !outbound::is_same_origin(url, to));
    let host = host.map(|to| to.origin().ascii_serialization());
    let why = match host {
        Some(host) => format!("to {host}; redirects to other hosts are not followed"),
        None => "again and again; too many redirects".to_owned(),
    };
    let shown = outbound::shown_url(url);
    failed(
        FailureClass::Failed,
        format!("{shown} answered {status}, {why}."),
    )
}

async fn bounded(mut response: reqwest::Response) -> Result<String, Box<AttemptReport>> {
    let mut bytes = Vec::new();
    loop {
        let piece = response.chunk().await.map_err(|cause| {
            failed(
                FailureClass::Unavailable,
                format!("The answer broke off: {}.", cause.without_url()),
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

fn judge(
    job: &StepAttempt,
    (url, status): (&Url, u16),
    body: Value,
    message: &HttpMessage,
) -> Result<AttemptReport, Box<AttemptReport>> {
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
        let said = message.without_secrets(&interpolate::printed(&body));
        let said: String = said.chars().take(WORDS_CHARS_MAX).collect();
        let shown = outbound::shown_url(url);
        return Err(failed(class, format!("{shown} answered {status}: {said}")));
    }
    let output = json!({ "status": status, "body": body });
    if job.step.config.await_callback != Some(true) {
        return Ok(AttemptReport::completed(output));
    }
    let reason = format!(
        "It waits for the call back: `drawloom tasks answer {} --token TOKEN` with the token it was sent.",
        job.task.id
    );
    Ok(AttemptReport::of(AttemptOutcome::Asked {
        reason,
        output: Some(output),
    }))
}

fn unreachable(url: &Url, cause: reqwest::Error) -> Box<AttemptReport> {
    let class = match cause.is_timeout() {
        true => FailureClass::Timeout,
        false => FailureClass::Unavailable,
    };
    let cause = cause.without_url();
    let message = format!(
        "{} cannot be called: {}",
        outbound::shown_url(url),
        outbound::explained(&cause)
    );
    // The settings decide about addresses; trying again does not help.
    if message.contains("workflows.http") {
        return invalid(message);
    }
    failed(class, message)
}
