//! The one place that speaks HTTP: limits on time and size, no redirects, causes told apart.

use std::error::Error as Cause;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Url};
use tokio::time::{Instant, timeout_at};

use crate::error::{AiErrorCode, Error, Result, RetryAdvice};
use crate::provider_error::{self, ProviderError};
use crate::retry_after;
use crate::secret::{Secret, scrub};

/// Limits of a call, in milliseconds and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub connect_ms_max: u64,
    /// The longest silence between two pieces of a streamed answer.
    pub silence_ms_max: u64,
    /// The longest time for one call, streamed or not.
    pub call_ms_max: u64,
    pub response_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connect_ms_max: 10_000,
            silence_ms_max: 120_000,
            call_ms_max: 600_000,
            response_bytes_max: 32 * 1024 * 1024,
        }
    }
}

/// The most of an error's body that is read.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

/// A server and what is sent along to it.
pub(crate) struct ProviderHttp {
    client: Client,
    base: Url,
    who: &'static str,
    headers: HeaderMap,
    secrets: Vec<Secret>,
    limits: Limits,
}

impl ProviderHttp {
    /// Makes a connection; `headers` go with every request, and their values are never logged.
    pub(crate) fn new(
        who: &'static str,
        base: Url,
        headers: &[(String, Secret)],
        limits: Limits,
    ) -> Result<ProviderHttp> {
        // Fails only when one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_millis(limits.connect_ms_max))
            .user_agent(concat!("drawloom/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            let what = format!("TLS could not be set up: {}", causes(&error));
            Error::new(
                AiErrorCode::ProviderUnavailable,
                what,
                "Install the system's CA certificates and run it again.",
            )
        })?;
        Ok(ProviderHttp {
            client,
            base,
            who,
            headers: header_map(headers)?,
            secrets: Vec::new(),
            limits,
        })
    }

    /// Removes these from whatever the server says.
    pub(crate) fn hide(&mut self, secrets: Vec<Secret>) {
        self.secrets = secrets;
    }

    pub(crate) fn scrub(&self, text: &str) -> String {
        scrub(text, &self.secrets)
    }

    /// Sends JSON; resolves when the head of the answer is there. `pace` is the silence allowed.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: Bytes,
        pace: ResponseMode,
    ) -> Result<HttpAnswer<'_>> {
        let request = self.client.request(Method::POST, self.address(path));
        let request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(request.body(body), pace).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<HttpAnswer<'_>> {
        self.send(
            self.client.request(Method::GET, self.address(path)),
            ResponseMode::Whole,
        )
        .await
    }

    /// Joins a path to the base, and keeps the base's own query, as some gateways want.
    fn address(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if let Some(above) = path.strip_prefix("../") {
            let parent = url
                .path()
                .trim_end_matches('/')
                .rsplit_once('/')
                .map_or("", |(parent, _)| parent)
                .to_owned();
            url.set_path(&format!("{parent}/{above}"));
        } else {
            let joined = format!("{}/{path}", url.path().trim_end_matches('/'));
            url.set_path(&joined);
        }
        if !query.is_empty() {
            let joined = url
                .query()
                .map_or_else(|| query.to_owned(), |own| format!("{own}&{query}"));
            url.set_query(Some(&joined));
        }
        url
    }

    async fn send(&self, request: RequestBuilder, pace: ResponseMode) -> Result<HttpAnswer<'_>> {
        let deadline = Instant::now() + Duration::from_millis(self.limits.call_ms_max);
        let request = request.headers(self.headers.clone());
        let response = match timeout_at(self.next(pace, deadline), request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unreachable(&error)),
            Err(_) => return Err(self.silent(pace, deadline)),
        };
        Ok(HttpAnswer {
            http: self,
            response,
            pace,
            deadline,
            bytes: 0,
        })
    }

    fn next(&self, pace: ResponseMode, deadline: Instant) -> Instant {
        match pace {
            ResponseMode::Whole => deadline,
            ResponseMode::Pieces => {
                deadline.min(Instant::now() + Duration::from_millis(self.limits.silence_ms_max))
            }
        }
    }

    fn silent(&self, pace: ResponseMode, deadline: Instant) -> Error {
        let (limit, value, again) = if pace == ResponseMode::Whole || Instant::now() >= deadline {
            (
                "call_ms_max",
                self.limits.call_ms_max,
                RetryAdvice::Pointless,
            )
        } else {
            (
                "silence_ms_max",
                self.limits.silence_ms_max,
                RetryAdvice::Worthwhile,
            )
        };
        let mut error = Error::passing(
            AiErrorCode::ProviderUnavailable,
            format!(
                "{} did not answer in time (`{limit}` = {value} ms)",
                self.who
            ),
            "Run it again later, ask for a shorter answer, or raise `ai.timeout_ms`.",
        );
        error.again = again;
        error
    }

    fn unreachable(&self, error: &reqwest::Error) -> Error {
        let host = self.base.host_str().unwrap_or("its address");
        let port = self.base.port_or_known_default().unwrap_or(0);
        let text = self.scrub(&causes(error));
        let lower = text.to_ascii_lowercase();
        let (what, advice) = if error.is_timeout() {
            let limit = self.limits.connect_ms_max;
            let what = format!(
                "{} at {host}:{port} accepts no connection (limit `connect_ms_max` = {limit})",
                self.who
            );
            (
                what,
                "Check the network and the base URL, and run it again.",
            )
        } else if lower.contains("dns error") || lower.contains("lookup address") {
            (
                format!("the address {host} of {} is not known", self.who),
                "Check the network and the base URL.",
            )
        } else if is_refused(error) {
            let what = format!("nothing listens at {host}:{port} for {}", self.who);
            (what, "Start the server, or check the base URL.")
        } else if is_tls(error) {
            let what = format!(
                "no secure connection to {host}:{port} for {}: {text}",
                self.who
            );
            (
                what,
                "Check the base URL's https, the system's CA certificates and its clock.",
            )
        } else if error.is_connect() {
            (
                format!("{} at {host}:{port} cannot be reached: {text}", self.who),
                "Check the network and the base URL.",
            )
        } else {
            return self.cut(&text);
        };
        Error::passing(AiErrorCode::ProviderUnavailable, what, advice)
    }

    fn cut(&self, cause: &str) -> Error {
        Error::passing(
            AiErrorCode::TransportFailed,
            format!(
                "the connection to {} broke before the answer was complete: {cause}",
                self.who
            ),
            "Run it again; if it stays, check proxies between here and the provider.",
        )
    }
}

/// The way an answer is expected to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseMode {
    /// After one long silence.
    Whole,
    /// In pieces, with short silences between.
    Pieces,
}

/// An answer whose head has arrived.
pub(crate) struct HttpAnswer<'a> {
    http: &'a ProviderHttp,
    response: reqwest::Response,
    pace: ResponseMode,
    deadline: Instant,
    bytes: usize,
}

impl HttpAnswer<'_> {
    pub(crate) fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    pub(crate) fn is_event_stream(&self) -> bool {
        let kind = self
            .response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        kind.is_some_and(|kind| {
            kind.trim_start()
                .to_ascii_lowercase()
                .starts_with("text/event-stream")
        })
    }

    pub(crate) fn request_id(&self) -> Option<String> {
        let headers = self.response.headers();
        let id = ["request-id", "x-request-id"]
            .iter()
            .find_map(|name| headers.get(*name)?.to_str().ok());
        id.map(|id| self.http.scrub(&provider_error::one_line(id)))
    }

    /// Returns the next piece, or `None` at the proper end of the body.
    pub(crate) async fn piece(&mut self) -> Result<Option<Vec<u8>>> {
        let next = self.http.next(self.pace, self.deadline);
        let piece = match timeout_at(next, self.response.chunk()).await {
            Ok(Ok(piece)) => piece,
            Ok(Err(error)) => return Err(self.http.cut(&self.http.scrub(&causes(&error)))),
            Err(_) => return Err(self.http.silent(self.pace, self.deadline)),
        };
        let Some(piece) = piece else { return Ok(None) };
        self.bytes = self.bytes.saturating_add(piece.len());
        let limit = self.http.limits.response_bytes_max;
        if self.bytes > limit {
            return Err(Error::new(
                AiErrorCode::GenerationFailed,
                format!(
                    "the answer of {} is too large (limit `response_bytes_max` = {limit})",
                    self.http.who
                ),
                "Ask for a shorter answer, or raise the limit.",
            ));
        }
        Ok(Some(piece.to_vec()))
    }

    pub(crate) async fn whole(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await? {
            body.extend(piece);
        }
        Ok(body)
    }

    /// Makes the error of an error status, with the contents of its body and headers.
    pub(crate) async fn refusal(mut self, model: &str) -> Error {
        let status = self.response.status().as_u16();
        let mut body = Vec::new();
        // A body that cannot be read is still an error with a status.
        while let Ok(Some(piece)) = self.piece().await {
            body.extend(piece);
            if body.len() >= ERROR_BODY_BYTES_MAX {
                break;
            }
        }
        let body = self.http.scrub(&String::from_utf8_lossy(&body));
        let mut error = provider_error::judge(
            self.http.who,
            model,
            Some(status),
            &ProviderError::of_text(&body),
        );
        error.retry_after = retry_after::asked(self.response.headers()).or(error.retry_after);
        error.request_id = self.request_id().or_else(|| error.request_id.take());
        error
    }
}

/// True if the address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn header_map(headers: &[(String, Secret)]) -> Result<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, secret) in headers {
        let wrong = |what: &str| {
            let advice = "Check the settings for pasted spaces, line breaks or quotes.";
            Error::new(
                AiErrorCode::ApiKeyMissing,
                format!("the {what} of the header {name:?} cannot be sent"),
                advice,
            )
        };
        let header = HeaderName::try_from(name.as_str()).map_err(|_| wrong("name"))?;
        let mut value = HeaderValue::try_from(secret.expose()).map_err(|_| wrong("value"))?;
        value.set_sensitive(true);
        map.insert(header, value);
    }
    Ok(map)
}

/// Returns the error and its causes in one line, without the URL, which our own message has.
fn causes(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
        next = cause.source();
    }
    if text.is_empty() {
        "no cause given".to_owned()
    } else {
        provider_error::one_line(&text)
    }
}

fn is_refused(error: &reqwest::Error) -> bool {
    any_cause(error, &|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused)
    })
}

fn is_tls(error: &reqwest::Error) -> bool {
    any_cause(error, &|cause| cause.is::<rustls::Error>())
}

/// Looks also into I/O errors, whose `source` is not what they wrap but the source of that.
fn any_cause(
    error: &(dyn Cause + 'static),
    holds: &dyn Fn(&(dyn Cause + 'static)) -> bool,
) -> bool {
    let wrapped = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    holds(error)
        || wrapped.is_some_and(|cause| any_cause(cause, holds))
        || error.source().is_some_and(|cause| any_cause(cause, holds))
}
