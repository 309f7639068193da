//! HTTP to a forge: limits on time and size, bounded retries, and a token that goes to one host
//! only.
// tidy: allow long-file, because it is one client with its limits and its errors

use std::error::Error as Cause;
use std::time::Duration;

use exec::CommandCancel;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, Url};
use serde_json::Value;

use crate::{Error, ForgeToken, VcsErrorKind, retry_after};

/// Limits of requests to a forge, in milliseconds and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgeLimits {
    pub connect_ms_max: u64,
    /// The longest time for one request and its answer.
    pub call_ms_max: u64,
    pub response_bytes_max: usize,
    /// Attempts before a request has failed.
    pub attempts_max: u32,
    /// The longest pause that the forge may ask for before the next attempt.
    pub wait_ms_max: u64,
    /// The pause after the first failure, if the forge names none; it doubles.
    pub wait_ms_first: u64,
}

impl Default for ForgeLimits {
    fn default() -> Self {
        Self {
            connect_ms_max: 10_000,
            call_ms_max: 30_000,
            response_bytes_max: 16 * 1024 * 1024,
            attempts_max: 4,
            wait_ms_max: 60_000,
            wait_ms_first: 500,
        }
    }
}

/// The most redirects of a moved repository that are followed.
const REDIRECTS_MAX: u32 = 3;
/// Pause between two checks of the cancel switch.
const CANCEL_TICK: Duration = Duration::from_millis(50);
/// The most characters of the forge's message in an error.
const WORDS_CHARS_MAX: usize = 500;

/// The connection to a forge: address, token and limits.
pub(crate) struct ForgeClient {
    client: Client,
    base: Url,
    token: ForgeToken,
    limits: ForgeLimits,
    cancel: CommandCancel,
    /// The media type of the answers.
    accept: &'static str,
}

/// The media type that GitHub expects; other forges do not know it.
const GITHUB_ACCEPT: &str = "application/vnd.github+json";

/// A request as data, so that it can be repeated.
#[derive(Clone)]
pub(crate) struct ForgeRequest {
    pub(crate) method: Method,
    /// Below the base, with percent-encoded parts.
    pub(crate) path: String,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
}

/// A final answer: sending the request again would not change it.
#[derive(Debug)]
pub(crate) struct ForgeReply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// The outcome of a request that must not be sent twice.
pub(crate) enum OnceOutcome {
    Answered(ForgeReply),
    /// The forge may or may not have acted on it; the error says why that is unknown.
    Unsure(Error),
}

/// The outcome of one attempt.
enum RequestAttempt {
    Reply(ForgeReply),
    /// Worth another attempt after this pause; the forge did not act on it.
    Wait(Duration, Error),
    /// Worth another attempt; the forge may already have acted on it.
    Unsure(Error),
}

impl ForgeClient {
    pub(crate) fn new(base: &str, token: ForgeToken, limits: ForgeLimits) -> Result<Self, Error> {
        let base = checked_base(base)?;
        if token.is_empty() || HeaderValue::try_from(token.expose()).is_err() {
            let message = "there is no token for the forge, or it has characters that no token \
                           has; set its variable to a token that may write pull requests";
            return Err(Error::new(VcsErrorKind::Unauthorized, message));
        }
        // Fails only if one is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_millis(limits.connect_ms_max))
            .timeout(Duration::from_millis(limits.call_ms_max))
            .user_agent(concat!("drawloom/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            let message = format!(
                "TLS could not be set up: {}; install the system's CA certificates",
                causes(&error)
            );
            Error::new(VcsErrorKind::Unreachable, message)
        })?;
        Ok(Self {
            client,
            base,
            token,
            limits,
            cancel: CommandCancel::default(),
            accept: GITHUB_ACCEPT,
        })
    }

    /// Sets the media type of the answers, for forges other than GitHub.
    pub(crate) fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    pub(crate) fn set_cancel(&mut self, cancel: CommandCancel) {
        self.cancel = cancel;
    }

    /// Sends a request that may be repeated without harm, until there is an answer.
    pub(crate) async fn call(&self, request: &ForgeRequest) -> Result<ForgeReply, Error> {
        let mut number = 0;
        loop {
            number += 1;
            let error = match self.call_once(request).await? {
                OnceOutcome::Answered(reply) => return Ok(reply),
                OnceOutcome::Unsure(error) => error,
            };
            if number >= self.limits.attempts_max {
                return Err(error);
            }
            self.pause(number).await?;
        }
    }

    /// Sends a request that must not be repeated: tries again only if the forge surely did not act
    /// on it.
    pub(crate) async fn call_once(&self, request: &ForgeRequest) -> Result<OnceOutcome, Error> {
        let mut number = 0;
        loop {
            number += 1;
            match self.attempt(request).await? {
                RequestAttempt::Reply(reply) => return Ok(OnceOutcome::Answered(reply)),
                RequestAttempt::Unsure(error) => return Ok(OnceOutcome::Unsure(error)),
                RequestAttempt::Wait(_, error) if number >= self.limits.attempts_max => {
                    return Err(error);
                }
                RequestAttempt::Wait(pause, _) => {
                    self.unless_cancelled(tokio::time::sleep(pause)).await?;
                }
            }
        }
    }

    /// Waits before a request with an unknown outcome is tried again.
    pub(crate) async fn pause(&self, number: u32) -> Result<(), Error> {
        let wait = self
            .limits
            .wait_ms_first
            .saturating_mul(1 << number.min(10));
        let wait = Duration::from_millis(wait.min(self.limits.wait_ms_max));
        self.unless_cancelled(tokio::time::sleep(wait)).await
    }

    pub(crate) fn attempts_max(&self) -> u32 {
        self.limits.attempts_max
    }

    /// Returns the forge's message on one line, without the token.
    pub(crate) fn words(&self, reply: &ForgeReply) -> String {
        let errors = reply.body.get("errors").and_then(Value::as_array);
        let details = errors.into_iter().flatten().filter_map(detail);
        let mut parts = Vec::new();
        for name in ["message", "error", "error_description"] {
            parts.extend(reply.body.get(name).into_iter().flat_map(sentences));
        }
        parts.extend(details);
        let text = match parts.is_empty() {
            true => format!("status {}", reply.status),
            false => parts.join(": "),
        };
        self.token.scrub(&one_line(&text))
    }

    async fn attempt(&self, request: &ForgeRequest) -> Result<RequestAttempt, Error> {
        let sent = self.unless_cancelled(self.send(request)).await?;
        let response = match sent {
            Ok(response) => response,
            Err(failure) => return failure,
        };
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = match self.unless_cancelled(self.body(response)).await? {
            Ok(body) => body,
            Err(error) if error.kind() == VcsErrorKind::TooLarge => return Err(error),
            Err(error) => return Ok(RequestAttempt::Unsure(error)),
        };
        // Proxies answer in HTML; only their status counts.
        let parsed = serde_json::from_slice(&body);
        if (200..300).contains(&status) && status != 204 && parsed.is_err() {
            let message = format!(
                "{} answered something that is not JSON; check the forge's base URL",
                self.host()
            );
            return Err(Error::new(VcsErrorKind::BadAnswer, message));
        }
        let reply = ForgeReply {
            status,
            body: parsed.unwrap_or(Value::Null),
        };
        self.judge(reply, &headers)
    }

    fn judge(&self, reply: ForgeReply, headers: &HeaderMap) -> Result<RequestAttempt, Error> {
        let words = self.words(&reply);
        if retry_after::is_asked(reply.status, said(&reply), headers) {
            let asked = retry_after::asked(headers);
            let wait = asked.unwrap_or(Duration::from_millis(self.limits.wait_ms_first));
            let limit = self.limits.wait_ms_max;
            let message = format!(
                "{} wants to be left alone for {} s: {words}; try again later (`wait_ms_max` is \
                 {limit}, `attempts_max` is {})",
                self.host(),
                wait.as_secs(),
                self.limits.attempts_max
            );
            let error = Error::new(VcsErrorKind::RateLimited, message);
            return match wait > Duration::from_millis(limit) {
                true => Err(error),
                false => Ok(RequestAttempt::Wait(wait, error)),
            };
        }
        if reply.status >= 500 {
            let message = format!(
                "{} has a fault of its own (status {}): {words}; try again later",
                self.host(),
                reply.status
            );
            return Ok(RequestAttempt::Unsure(Error::new(
                VcsErrorKind::Unreachable,
                message,
            )));
        }
        Ok(RequestAttempt::Reply(reply))
    }

    /// Sends a request and follows it if the project has moved on its host.
    async fn send(
        &self,
        request: &ForgeRequest,
    ) -> Result<Response, Result<RequestAttempt, Error>> {
        let mut url = self.address(request);
        let mut redirects = 0;
        loop {
            let sent = self.client.request(request.method.clone(), url.clone());
            let sent = sent.headers(self.headers());
            let sent = match &request.body {
                Some(body) => sent
                    .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
                    .body(body.to_string()),
                None => sent,
            };
            let response = sent.send().await.map_err(|error| self.unsent(&error))?;
            let status = response.status().as_u16();
            if !matches!(status, 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let keeps_method = matches!(status, 307 | 308) || request.method == Method::GET;
            redirects += 1;
            let target = redirect_target(&response, &url).filter(|target| {
                keeps_method && redirects <= REDIRECTS_MAX && same_host(target, &url)
            });
            url = target.ok_or_else(|| Err(self.moved(&response)))?;
        }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(self.accept));
        if self.accept == GITHUB_ACCEPT {
            headers.insert(
                "x-github-api-version",
                HeaderValue::from_static("2022-11-28"),
            );
        }
        let bearer = HeaderValue::try_from(format!("Bearer {}", self.token.expose()));
        if let Ok(mut bearer) = bearer {
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        headers
    }

    fn address(&self, request: &ForgeRequest) -> Url {
        let mut url = self.base.clone();
        let path = format!("{}/{}", url.path().trim_end_matches('/'), request.path);
        url.set_path(&path);
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(request.query.iter());
        }
        url
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        loop {
            let piece = response
                .chunk()
                .await
                .map_err(|error| self.broken(&error))?;
            let Some(piece) = piece else { return Ok(body) };
            body.extend_from_slice(&piece);
            let limit = self.limits.response_bytes_max;
            if body.len() > limit {
                let message = format!(
                    "the answer of {} is larger than `response_bytes_max` ({limit} bytes); check \
                     the forge's base URL",
                    self.host()
                );
                return Err(Error::new(VcsErrorKind::TooLarge, message));
            }
        }
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = std::pin::pin!(work);
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::new(
                    VcsErrorKind::Cancelled,
                    "the request was cancelled",
                ));
            }
            if let Ok(done) = tokio::time::timeout(CANCEL_TICK, work.as_mut()).await {
                return Ok(done);
            }
        }
    }

    fn unsent(&self, error: &reqwest::Error) -> Result<RequestAttempt, Error> {
        let broken = self.broken(error);
        Ok(match error.is_connect() {
            true => RequestAttempt::Wait(Duration::from_millis(self.limits.wait_ms_first), broken),
            false => RequestAttempt::Unsure(broken),
        })
    }

    fn broken(&self, error: &reqwest::Error) -> Error {
        let host = self.host();
        if error.is_timeout() && !error.is_connect() {
            let limit = self.limits.call_ms_max;
            let message =
                format!("{host} did not answer within `call_ms_max` ({limit} ms); try again later");
            return Error::new(VcsErrorKind::TimedOut, message);
        }
        let causes = self.token.scrub(&causes(error));
        let message = format!(
            "{host} cannot be reached, or broke off: {causes}; check the network and the forge's \
             base URL"
        );
        Error::new(VcsErrorKind::Unreachable, message)
    }

    fn moved(&self, response: &Response) -> Error {
        let location = response.headers().get(LOCATION);
        let to = location
            .and_then(|to| to.to_str().ok())
            .unwrap_or("nowhere");
        let message = format!(
            "{} sends us on to {:?}, and the token is not taken there; check the remote's address \
             and the forge's base URL",
            self.host(),
            self.token.scrub(&crate::address::without_credentials(to))
        );
        Error::new(VcsErrorKind::Refused, message)
    }

    pub(crate) fn host(&self) -> &str {
        self.base.host_str().unwrap_or("the forge")
    }
}

/// A base that a token may be sent to: encrypted, or on this machine.
fn checked_base(base: &str) -> Result<Url, Error> {
    let bad = |why: &str| {
        let shown = crate::address::without_credentials(base);
        let message = format!(
            "the forge's base URL {shown:?} {why}; give one such as https://api.github.com or \
             https://HOST/api/v3"
        );
        Error::new(VcsErrorKind::BadAddress, message)
    };
    let url = Url::parse(base.trim()).map_err(|_| bad("is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(
            "has a password in it, where a token is handed in apart",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() || url.cannot_be_a_base() {
        return Err(bad("has more than a host and a path"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(bad("would send the token unencrypted")),
        _ => Err(bad("is not https")),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn same_host(target: &Url, from: &Url) -> bool {
    target.origin() == from.origin()
}

fn redirect_target(response: &Response, from: &Url) -> Option<Url> {
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    from.join(location).ok()
}

fn said(reply: &ForgeReply) -> Option<&str> {
    reply.body.get("message").and_then(Value::as_str)
}

/// Collects the texts of a value: GitLab sends a sentence, a list of them, or lists by field.
fn sentences(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().flat_map(sentences).collect(),
        Value::Object(fields) => {
            let told = fields.iter().map(|(name, value)| {
                let texts = sentences(value);
                format!("{name} {}", texts.join(", "))
            });
            told.collect()
        }
        _ => Vec::new(),
    }
}

/// One entry of GitHub's `errors`: a sentence, or a field with a code.
fn detail(entry: &Value) -> Option<String> {
    let field = |name: &str| entry.get(name).and_then(Value::as_str);
    let sentence = entry.as_str().or_else(|| field("message"));
    sentence.map(str::to_owned).or_else(|| {
        let code = field("code")?;
        Some(format!("{} {code}", field("field").unwrap_or("a field")))
    })
}

fn one_line(text: &str) -> String {
    let shown: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(WORDS_CHARS_MAX)
        .collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The error's causes in one line, without the URL.
fn causes(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            let between = if text.is_empty() { "" } else { ": " };
            text.push_str(between);
            text.push_str(&said);
        }
        next = cause.source();
    }
    match text.as_str() {
        "" => "no cause given".to_owned(),
        text => one_line(text),
    }
}
