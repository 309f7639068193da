//! Checks a running server as its clients reach it, through every proxy in between.

use std::time::Duration;

use agent::AgentClock as _;
use jiff::fmt::rfc2822;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url, redirect};
use serde_json::Value;

use super::{DoctorFinding, FindingState, bad, good, note};
use crate::outbound::explained;
use crate::tasks::clock::SystemClock;

/// How long an answer may take.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(15);
/// How long the first event of a stream may take: a server sends it at once.
const HELLO_WAIT_MAX: Duration = Duration::from_secs(5);
/// How much of an answer is read.
const BODY_BYTES_MAX: usize = 64 << 10;
/// How many characters are shown of what a server says of itself.
const FOREIGN_CHARS_MAX: usize = 300;
/// How far apart the clocks may be before it is worth knowing.
const SKEW_SECONDS_NOTED: i64 = 30;
/// How far apart they may be before signatures of callbacks are refused.
const SKEW_SECONDS_MAX: i64 = 300;
/// A site that the server is not.
const OTHER_SITE: &str = "https://elsewhere.invalid";
/// Headers that every answer has, and a piece of their value.
const HEADERS: [(&str, &str); 4] = [
    ("content-security-policy", "default-src 'self'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
];

/// The server that is checked.
struct ServerProbe {
    client: Client,
    url: Url,
}

/// The answer to one request.
struct ProbeAnswer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl ProbeAnswer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The code of a problem document.
    fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

/// Checks a server. With a token, it checks the stream of events too.
pub async fn examine_server(url: &str, token: Option<&str>) -> Vec<DoctorFinding> {
    let probe = match ServerProbe::new(url) {
        Ok(probe) => probe,
        Err(finding) => return vec![finding],
    };
    let alive = match probe.ask(Method::GET, "/healthz", &[]).await {
        Ok(alive) => alive,
        Err(cause) => return vec![probe.unreachable(&cause)],
    };
    let mut findings = vec![probe.reached(&alive)];
    if alive.body["status"] != "alive" {
        return findings;
    }
    findings.push(probe.encryption());
    findings.push(clock(&alive));
    findings.push(request_id(&alive));
    let told = |checked: Result<DoctorFinding, String>| {
        checked.unwrap_or_else(|cause| bad("answer", cause, "look into the log of the proxy"))
    };
    findings.push(told(probe.readiness().await));
    let host = told(probe.host().await);
    let is_host_good = host.state == FindingState::Good;
    findings.push(host);
    if !is_host_good {
        // Everything else would be refused for the same reason.
        return findings;
    }
    let checks = [
        probe.own_origin().await,
        probe.other_origin().await,
        probe.headers().await,
        probe.stream(token).await,
    ];
    findings.extend(checks.map(told));
    findings
}

impl ServerProbe {
    fn new(text: &str) -> Result<ServerProbe, DoctorFinding> {
        let form = "write it as https://drawloom.example.org, without a path";
        let is_origin = |url: &Url| {
            let is_bare = url.path() == "/" && url.query().is_none() && url.username().is_empty();
            matches!(url.scheme(), "http" | "https") && url.has_host() && is_bare
        };
        let Some(url) = Url::parse(text).ok().filter(is_origin) else {
            let detail = format!("`{text}` is not the address of a server");
            return Err(bad("address", detail, form));
        };
        // Fails only when one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(ANSWER_WAIT_MAX)
            .user_agent(concat!("drawloom-doctor/", env!("CARGO_PKG_VERSION")))
            .build();
        match client {
            Ok(client) => Ok(ServerProbe { client, url }),
            Err(cause) => {
                let detail = format!("TLS cannot be set up: {}", explained(&cause));
                Err(bad(
                    "encryption",
                    detail,
                    "check the certificates of this machine",
                ))
            }
        }
    }

    fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    fn is_this_machine(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        matches!(host, "localhost" | "127.0.0.1" | "[::1]")
    }

    /// Returns the server's origin, as browsers write it.
    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Sends a request; the error is a sentence.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<ProbeAnswer, String> {
        let failed = |cause: reqwest::Error| {
            let cause = cause.without_url();
            if cause.is_timeout() {
                let seconds = ANSWER_WAIT_MAX.as_secs();
                return format!("{path} has no answer within {seconds} s");
            }
            explained(&cause)
        };
        let mut answer = self.request(method, path, headers).await.map_err(failed)?;
        let mut bytes = Vec::new();
        while let Some(more) = answer.chunk().await.map_err(failed)? {
            bytes.extend_from_slice(&more);
            if bytes.len() > BODY_BYTES_MAX {
                break;
            }
        }
        Ok(ProbeAnswer {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
        })
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> reqwest::Result<reqwest::Response> {
        let mut url = self.url.clone();
        url.set_path(path);
        let mut request = self.client.request(method, url);
        for (name, value) in headers {
            // A token that is no header is no token.
            if let Ok(value) = HeaderValue::from_str(value) {
                request = request.header(HeaderName::from_static(name), value);
            }
        }
        request.send().await
    }

    fn unreachable(&self, cause: &str) -> DoctorFinding {
        if self.is_https() && cause.contains("certificate") {
            return bad(
                "encryption",
                format!("the certificate of {} is refused: {cause}", self.origin()),
                "give the server one for this name from an authority that clients know, with its chain; \
                 a private authority is named by SSL_CERT_FILE",
            );
        }
        bad(
            "reachable",
            format!("{} cannot be reached: {cause}", self.origin()),
            "check that the server runs, the address, and every proxy in between",
        )
    }

    fn reached(&self, alive: &ProbeAnswer) -> DoctorFinding {
        let origin = self.origin();
        let status = alive.status;
        if let Some(place) = alive.header("location").map(foreign) {
            let detail = format!("{origin}/healthz leads to {place} ({status})");
            return bad("reachable", detail, "name the address that it leads to");
        }
        if alive.body["status"] == "alive" {
            return good("reachable", format!("{origin} answers"));
        }
        bad(
            "reachable",
            format!("{origin}/healthz answers {status}, and not as drawloom does"),
            "a proxy answers by itself, or another program does: check where it leads",
        )
    }

    fn encryption(&self) -> DoctorFinding {
        match (self.is_https(), self.is_this_machine()) {
            (true, _) => good(
                "encryption",
                "the certificate is valid for this name".to_owned(),
            ),
            (false, true) => good(
                "encryption",
                "none, and none is needed on one machine".to_owned(),
            ),
            (false, false) => bad(
                "encryption",
                "passwords and tokens travel in the open".to_owned(),
                "give the server a certificate (`tls.cert`, `tls.key`), or put a proxy with https in front",
            ),
        }
    }

    async fn readiness(&self) -> Result<DoctorFinding, String> {
        let ready = self.ask(Method::GET, "/readyz", &[]).await?;
        let detail = ready.body["detail"].as_str().map(foreign);
        let hint = ready.body["hint"].as_str().map(foreign);
        Ok(match ready.status {
            200 => good(
                "ready",
                "its database answers and its disk has room".to_owned(),
            ),
            status => bad(
                "ready",
                format!(
                    "not ready ({status}): {}",
                    detail.as_deref().unwrap_or("no reason is told")
                ),
                hint.as_deref().unwrap_or("look into the log of the server"),
            ),
        })
    }

    /// Checks that the name in the URL is the one that arrives.
    async fn host(&self) -> Result<DoctorFinding, String> {
        let asked = self.ask(Method::GET, "/api/v1/session", &[]).await?;
        let own = self.url.authority();
        if asked.code() != "wrong_host" {
            return Ok(good("host", format!("`{own}` is a name of the server")));
        }
        let arrived = foreign(asked.body["host"].as_str().unwrap_or_default());
        if arrived.eq_ignore_ascii_case(own) {
            let detail = format!("the server does not answer to `{own}`");
            let fix = format!("start the server with `--public-url {}`", self.origin());
            return Ok(bad("host", detail, &fix));
        }
        Ok(bad(
            "host",
            format!("`{own}` was asked for, and `{arrived}` arrives: a proxy rewrites Host"),
            "let the proxy keep Host (nginx: `proxy_set_header Host $host`), or set X-Forwarded-Host \
             and be in `server.proxies`",
        ))
    }

    /// Checks that a page of the server itself may ask for changes.
    async fn own_origin(&self) -> Result<DoctorFinding, String> {
        let origin = self.origin();
        let asked = self.ask_for_change(&origin).await?;
        Ok(match asked.code() {
            "cross_site" => bad(
                "origin",
                format!("the server takes its own pages at {origin} for another site's"),
                &format!("start it with `--public-url {origin}`, and let the proxy keep Origin"),
            ),
            _ => good("origin", format!("pages at {origin} may ask for changes")),
        })
    }

    /// Checks that a page of another site may not.
    async fn other_origin(&self) -> Result<DoctorFinding, String> {
        let asked = self.ask_for_change(OTHER_SITE).await?;
        Ok(match asked.code() {
            "cross_site" => good("other sites", "their pages are refused".to_owned()),
            _ => bad(
                "other sites",
                format!(
                    "a change that another site asks for gets {}, and not 403",
                    asked.status
                ),
                "let the proxy keep the headers Origin and Sec-Fetch-Site",
            ),
        })
    }

    /// A sign-in that has no address and no password, and so changes nothing.
    async fn ask_for_change(&self, origin: &str) -> Result<ProbeAnswer, String> {
        let headers = [("origin", origin), ("content-type", "application/json")];
        self.ask(Method::POST, "/api/v1/session", &headers).await
    }

    async fn headers(&self) -> Result<DoctorFinding, String> {
        let page = self.ask(Method::GET, "/login", &[]).await?;
        let has = |name: &str, piece: &str| {
            let value = page.header(name);
            value.is_some_and(|value| value.contains(piece))
        };
        let mut missing: Vec<&str> = HEADERS
            .iter()
            .filter(|(name, piece)| !has(name, piece))
            .map(|(name, _)| *name)
            .collect();
        let has_hsts = has("strict-transport-security", "max-age");
        if self.is_https() && !self.is_this_machine() && !has_hsts {
            missing.push("strict-transport-security");
        }
        Ok(match missing.as_slice() {
            [] => good("headers", "those that protect browsers arrive".to_owned()),
            [one] if *one == "strict-transport-security" => bad(
                "headers",
                format!("{one} is missing: the server does not know that it is reached by https"),
                &format!("start it with `--public-url {}`", self.origin()),
            ),
            missing => bad(
                "headers",
                format!("missing or changed: {}", missing.join(", ")),
                "let the proxy hand the server's headers on as they are",
            ),
        })
    }

    /// Checks that an event arrives when it is sent, and not when a proxy has collected enough.
    async fn stream(&self, token: Option<&str>) -> Result<DoctorFinding, String> {
        let Some(token) = token else {
            let detail = "events were not read: that takes a token".to_owned();
            let fix = "name a file with one by `--token-file` (the role viewer is enough)";
            return Ok(note("streams", detail, fix));
        };
        if !self.is_https() && !self.is_this_machine() {
            let detail = "events were not read: the token would travel in the open".to_owned();
            return Ok(note("streams", detail, "name the server's https address"));
        }
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("accept", "text/event-stream"),
        ];
        let hello = tokio::time::timeout(HELLO_WAIT_MAX, async {
            let mut answer = self
                .request(Method::GET, "/api/v1/events", &headers)
                .await?;
            let status = answer.status().as_u16();
            let mut text = String::new();
            while status == 200 && !text.contains("event: hello") {
                match answer.chunk().await? {
                    Some(more) => text.push_str(&String::from_utf8_lossy(&more)),
                    None => break,
                }
            }
            Ok::<_, reqwest::Error>((status, text.contains("event: hello")))
        });
        let seconds = HELLO_WAIT_MAX.as_secs();
        Ok(match hello.await {
            Err(_) => bad(
                "streams",
                format!("no event arrives within {seconds} s: a proxy holds streams back"),
                "let the proxy hand on what comes at once (nginx: `proxy_buffering off`)",
            ),
            Ok(Err(cause)) => bad(
                "streams",
                format!(
                    "the stream of events breaks off: {}",
                    explained(&cause.without_url())
                ),
                "look into the log of the proxy",
            ),
            Ok(Ok((_, true))) => good("streams", "events arrive at once".to_owned()),
            Ok(Ok((401 | 403, false))) => bad(
                "streams",
                "the server refuses this token".to_owned(),
                "make one with `drawloom tokens add NAME --user SLUG --role viewer`",
            ),
            Ok(Ok((status, false))) => bad(
                "streams",
                format!("the stream of events answers {status} and ends"),
                "let the proxy keep connections open",
            ),
        })
    }
}

/// Shows what a server says of itself as one line of bounded length: it may be any server.
fn foreign(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { '�' } else { c });
    shown.take(FOREIGN_CHARS_MAX).collect()
}

fn clock(answer: &ProbeAnswer) -> DoctorFinding {
    let date = answer.header("date");
    let Some(told) = date.and_then(|date| rfc2822::parse(date).ok()) else {
        let detail = "the answer has no time".to_owned();
        return note("clock", detail, "let the proxy hand the header Date on");
    };
    let now = i64::try_from(SystemClock.now_ms() / 1_000).unwrap_or(i64::MAX);
    let ahead = told.timestamp().as_second().saturating_sub(now);
    let seconds = ahead.abs();
    let side = if ahead > 0 { "ahead of" } else { "behind" };
    let detail = format!("the server's clock is {seconds} s {side} this machine's");
    let fix = "let both follow the network's time (NTP)";
    match seconds {
        SKEW_SECONDS_MAX.. => bad("clock", detail, fix),
        SKEW_SECONDS_NOTED.. => note("clock", detail, fix),
        _ => good("clock", "the clocks agree".to_owned()),
    }
}

fn request_id(answer: &ProbeAnswer) -> DoctorFinding {
    match answer.header("x-request-id") {
        Some(id) => good(
            "request id",
            format!("{} is in the server's log", foreign(id)),
        ),
        None => note(
            "request id",
            "a proxy takes X-Request-Id away: an answer cannot be found in the log".to_owned(),
            "let the proxy hand it on",
        ),
    }
}
