//! HTTP to a forge: limits on time and size, bounded patience, and a token that leaves for one
//! host only.

use std::error::Error as Cause;
use std::time::Duration;

use exec::Cancel;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, Url};
use serde_json::Value;

use crate::{Error, ErrorKind, Secret, wait};

/// How long, how much and how often. Milliseconds and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgeLimits {
    pub connect_ms_max: u64,
    /// The longest time for one request and its answer.
    pub call_ms_max: u64,
    pub response_bytes_max: usize,
    /// How often a request is made before it has failed.
    pub attempts_max: u32,
    /// The longest the forge may ask us to wait before the next attempt.
    pub wait_ms_max: u64,
    /// The wait after the first failure, where the forge asks for none; it doubles.
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

/// How many moves of the repository on its host are followed.
const REDIRECTS_MAX: u32 = 3;
/// How often it is looked whether somebody wants an end.
const CANCEL_TICK: Duration = Duration::from_millis(50);
/// The most characters of the forge's words in a message.
const WORDS_CHARS_MAX: usize = 500;

/// A forge and what is sent along to it.
pub(crate) struct Http {
    client: Client,
    base: Url,
    token: Secret,
    limits: ForgeLimits,
    cancel: Cancel,
    /// The kind of answers that are asked for.
    accept: &'static str,
}

/// What GitHub wants to be asked for; others do not know it.
const GITHUB_ACCEPT: &str = "application/vnd.github+json";

/// A request as data, so that it can be made again.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// Below the base, with percent-encoded parts.
    pub(crate) path: String,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
}

/// An answer that is not about to change when asked again.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// What is known of a request that must not be done twice.
pub(crate) enum Once {
    Answered(Reply),
    /// Nobody knows whether it was done, and why.
    Unsure(Error),
}

/// How one attempt ended.
enum Attempt {
    Reply(Reply),
    /// Worth another attempt after this long; the forge did nothing.
    Wait(Duration, Error),
    /// Worth another attempt; the forge may have done it all the same.
    Unsure(Error),
}

impl Http {
    pub(crate) fn new(base: &str, token: Secret, limits: ForgeLimits) -> Result<Self, Error> {
        let base = checked_base(base)?;
        if token.is_empty() || HeaderValue::try_from(token.expose()).is_err() {
            let message = "there is no token for the forge, or it has characters that no token \
                           has; set its variable to a token that may write pull requests";
            return Err(Error::new(ErrorKind::Unauthorized, message));
        }
        // Fails only when one is installed already, which is as good.
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
            Error::new(ErrorKind::Unreachable, message)
        })?;
        Ok(Self {
            client,
            base,
            token,
            limits,
            cancel: Cancel::default(),
            accept: GITHUB_ACCEPT,
        })
    }

    /// Asks for answers of this kind, as forges other than GitHub want it.
    pub(crate) fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    pub(crate) fn set_cancel(&mut self, cancel: Cancel) {
        self.cancel = cancel;
    }

    /// Makes a request that may be made twice without harm, until there is an answer.
    pub(crate) async fn call(&self, request: &Request) -> Result<Reply, Error> {
        let mut number = 0;
        loop {
            number += 1;
            let error = match self.call_once(request).await? {
                Once::Answered(reply) => return Ok(reply),
                Once::Unsure(error) => error,
            };
            if number >= self.limits.attempts_max {
                return Err(error);
            }
            self.pause(number).await?;
        }
    }

    /// Makes a request that must not be done twice: again only if it was surely not done.
    pub(crate) async fn call_once(&self, request: &Request) -> Result<Once, Error> {
        let mut number = 0;
        loop {
            number += 1;
            match self.attempt(request).await? {
                Attempt::Reply(reply) => return Ok(Once::Answered(reply)),
                Attempt::Unsure(error) => return Ok(Once::Unsure(error)),
                Attempt::Wait(_, error) if number >= self.limits.attempts_max => return Err(error),
                Attempt::Wait(pause, _) => {
                    self.unless_cancelled(tokio::time::sleep(pause)).await?;
                }
            }
        }
    }

    /// The pause before a request is made again after nobody knew.
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

    /// The forge's words on one line, without the token.
    pub(crate) fn words(&self, reply: &Reply) -> String {
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

    async fn attempt(&self, request: &Request) -> Result<Attempt, Error> {
        let sent = self.unless_cancelled(self.send(request)).await?;
        let response = match sent {
            Ok(response) => response,
            Err(failure) => return failure,
        };
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = match self.unless_cancelled(self.body(response)).await? {
            Ok(body) => body,
            Err(error) if error.kind() == ErrorKind::TooLarge => return Err(error),
            Err(error) => return Ok(Attempt::Unsure(error)),
        };
        // Proxies in between answer in HTML; their status is all that counts.
        let parsed = serde_json::from_slice(&body);
        if (200..300).contains(&status) && status != 204 && parsed.is_err() {
            let message = format!(
                "{} answered something that is not JSON; check the forge's base URL",
                self.host()
            );
            return Err(Error::new(ErrorKind::BadAnswer, message));
        }
        let reply = Reply {
            status,
            body: parsed.unwrap_or(Value::Null),
        };
        self.judge(reply, &headers)
    }

    fn judge(&self, reply: Reply, headers: &HeaderMap) -> Result<Attempt, Error> {
        let words = self.words(&reply);
        if wait::is_asked(reply.status, said(&reply), headers) {
            let asked = wait::asked(headers);
            let wait = asked.unwrap_or(Duration::from_millis(self.limits.wait_ms_first));
            let limit = self.limits.wait_ms_max;
            let message = format!(
                "{} wants to be left alone for {} s: {words}; try again later (`wait_ms_max` is \
                 {limit}, `attempts_max` is {})",
                self.host(),
                wait.as_secs(),
                self.limits.attempts_max
            );
            let error = Error::new(ErrorKind::RateLimited, message);
            return match wait > Duration::from_millis(limit) {
                true => Err(error),
                false => Ok(Attempt::Wait(wait, error)),
            };
        }
        if reply.status >= 500 {
            let message = format!(
                "{} has a fault of its own (status {}): {words}; try again later",
                self.host(),
                reply.status
            );
            return Ok(Attempt::Unsure(Error::new(ErrorKind::Unreachable, message)));
        }
        Ok(Attempt::Reply(reply))
    }

    /// Sends a request and follows it if the project has moved on its host.
    async fn send(&self, request: &Request) -> Result<Response, Result<Attempt, Error>> {
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

    fn address(&self, request: &Request) -> Url {
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
                return Err(Error::new(ErrorKind::TooLarge, message));
            }
        }
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = std::pin::pin!(work);
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::new(
                    ErrorKind::Cancelled,
                    "the request was cancelled",
                ));
            }
            if let Ok(done) = tokio::time::timeout(CANCEL_TICK, work.as_mut()).await {
                return Ok(done);
            }
        }
    }

    fn unsent(&self, error: &reqwest::Error) -> Result<Attempt, Error> {
        let broken = self.broken(error);
        Ok(match error.is_connect() {
            true => Attempt::Wait(Duration::from_millis(self.limits.wait_ms_first), broken),
            false => Attempt::Unsure(broken),
        })
    }

    fn broken(&self, error: &reqwest::Error) -> Error {
        let host = self.host();
        if error.is_timeout() && !error.is_connect() {
            let limit = self.limits.call_ms_max;
            let message =
                format!("{host} did not answer within `call_ms_max` ({limit} ms); try again later");
            return Error::new(ErrorKind::TimedOut, message);
        }
        let causes = self.token.scrub(&causes(error));
        let message = format!(
            "{host} cannot be reached, or broke off: {causes}; check the network and the forge's \
             base URL"
        );
        Error::new(ErrorKind::Unreachable, message)
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
        Error::new(ErrorKind::Refused, message)
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
        Error::new(ErrorKind::BadAddress, message)
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

fn said(reply: &Reply) -> Option<&str> {
    reply.body.get("message").and_then(Value::as_str)
}

/// The texts of a value: GitLab gives a sentence, a list of them, or lists by field.
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
