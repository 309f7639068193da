//! The provider over HTTP: its description, its keys, and the exchange of a code.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent::AgentClock as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, Url, redirect};
use serde_json::{Map, Value};

use super::claims::{ExpectedClaims, TokenClaims};
use super::keys::{ProviderKeys, SignatureProblem};
use super::{is_safe, not_believed};
use crate::outbound::explained;
use crate::tasks::clock::SystemClock;
use crate::{AppErrorCode, Error};

/// How long an answer of the provider may take.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(10);
/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 512 << 10;
/// How long the description and the keys are believed.
const DESCRIPTION_LIFE: Duration = Duration::from_hours(1);
/// How long new keys are not asked for again, when a token names an unknown one.
const KEYS_PAUSE: Duration = Duration::from_secs(10);
const DESCRIPTION_PATH: &str = "/.well-known/openid-configuration";

/// The way to a provider.
pub(super) struct ProviderConnection {
    http: Client,
    issuer: String,
    url: Url,
    client: String,
    secret: Option<String>,
    known: Mutex<Option<KnownProvider>>,
}

/// The provider's description of itself.
#[derive(Clone)]
struct KnownProvider {
    entrance: Url,
    exchange: Url,
    keys_place: Url,
    more: Option<Url>,
    takes_basic: bool,
    keys: ProviderKeys,
    since: Instant,
}

/// The tokens that a code was exchanged for.
pub(super) struct ExchangedCode {
    pub(super) id_token: String,
    access_token: Option<String>,
}

impl ProviderConnection {
    pub(super) fn new(
        issuer: String,
        url: Url,
        client: String,
        secret: Option<String>,
    ) -> Result<ProviderConnection, Error> {
        // Fails only when one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let built = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(ANSWER_WAIT_MAX)
            .user_agent(concat!("drawloom/", env!("CARGO_PKG_VERSION")))
            .build();
        let http = built.map_err(|cause| unavailable(&explained(&cause)))?;
        Ok(ProviderConnection {
            http,
            issuer,
            url,
            client,
            secret,
            known: Mutex::default(),
        })
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(super) fn client(&self) -> &str {
        &self.client
    }

    /// Returns the address at which people sign in.
    pub(super) async fn entrance(&self) -> Result<Url, Error> {
        Ok(self.described().await?.entrance)
    }

    /// Exchanges a code, with the word that its challenge was made from.
    pub(super) async fn exchange(
        &self,
        code: &str,
        verifier: &str,
        return_address: &str,
    ) -> Result<ExchangedCode, Error> {
        let known = self.described().await?;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", return_address),
            ("code_verifier", verifier),
            ("client_id", &self.client),
        ];
        let mut basic = None;
        match &self.secret {
            Some(secret) if known.takes_basic => {
                basic = Some(basic_header(&self.client, secret)?);
            }
            Some(secret) => fields.push(("client_secret", secret)),
            None => {}
        }
        let mut form = Url::parse("form:").map_err(|_| unavailable("no form can be made"))?;
        form.query_pairs_mut().extend_pairs(fields);
        let body = form.query().unwrap_or_default().to_owned();
        let mut request = self
            .http
            .request(Method::POST, known.exchange)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(body);
        if let Some(basic) = basic {
            request = request.header(AUTHORIZATION, basic);
        }
        let (status, answer) = read(request).await?;
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        if status != 200 {
            // A word such as `invalid_grant`; what a provider adds is not shown.
            let word = text("error").unwrap_or_else(|| status.to_string());
            return Err(not_believed(&format!("it does not take the code ({word})")));
        }
        let id_token = text("id_token");
        Ok(ExchangedCode {
            id_token: id_token.ok_or_else(|| not_believed("it has no ID token"))?,
            access_token: text("access_token"),
        })
    }

    /// Checks a token's signature and its claims.
    pub(super) async fn check(&self, token: &str, nonce: &str) -> Result<TokenClaims, Error> {
        let known = self.described().await?;
        let opened = match known.keys.open(token) {
            // A provider changes its keys.
            Err(SignatureProblem::UnknownKey) => self.newer_keys(&known).await?.open(token),
            opened => opened,
        };
        let claims = opened.map_err(|problem| {
            not_believed(match problem {
                SignatureProblem::Form => "it is no signed token",
                SignatureProblem::Algorithm => "it is not signed with RS256 or ES256",
                SignatureProblem::UnknownKey => "it is signed with a key that the provider has not",
                SignatureProblem::Signature => "its signature is wrong",
            })
        })?;
        let now = i64::try_from(SystemClock.now_ms() / 1_000).unwrap_or(i64::MAX);
        let expected = ExpectedClaims {
            issuer: &self.issuer,
            client: &self.client,
            nonce,
            now_seconds: now,
        };
        TokenClaims::believe(claims, &expected)
    }

    /// Asks the provider for claims about a person that are not in the token.
    pub(super) async fn more_claims(
        &self,
        exchanged: &ExchangedCode,
        subject: &str,
    ) -> Result<Map<String, Value>, Error> {
        let known = self.described().await?;
        let (Some(place), Some(token)) = (known.more, &exchanged.access_token) else {
            return Ok(Map::new());
        };
        let header = HeaderValue::from_str(&format!("Bearer {token}"));
        let bearer = header.map_err(|_| not_believed("its access token is no token"))?;
        let request = self.http.request(Method::GET, place);
        let (status, answer) = read(request.header(AUTHORIZATION, bearer)).await?;
        match answer {
            Value::Object(claims) if status == 200 => {
                if claims.get("sub").and_then(Value::as_str) == Some(subject) {
                    return Ok(claims);
                }
                Err(not_believed("it is about two people (sub)"))
            }
            // A provider that says no more has said enough.
            _ => Ok(Map::new()),
        }
    }

    async fn described(&self) -> Result<KnownProvider, Error> {
        let kept = self.known().clone();
        if let Some(known) = kept.filter(|known| known.since.elapsed() < DESCRIPTION_LIFE) {
            return Ok(known);
        }
        let base = self.issuer.trim_end_matches('/');
        let description = Url::parse(&format!("{base}{DESCRIPTION_PATH}"))
            .map_err(|cause| unavailable(&cause.to_string()))?;
        let (status, about) = read(self.http.get(description)).await?;
        if status != 200 {
            return Err(unavailable(&format!("its description answers {status}")));
        }
        if about["issuer"].as_str() != Some(self.issuer.as_str()) {
            let says = about["issuer"].as_str().unwrap_or("nothing");
            return Err(unavailable(&format!("it calls itself {says}")));
        }
        let place = |name: &str| {
            let url = Url::parse(about[name].as_str()?).ok();
            // A provider with https must not lead to a place without it.
            url.filter(|url| {
                is_safe(url) && (self.url.scheme() == "http" || url.scheme() == "https")
            })
        };
        let needed = |name: &str| {
            place(name).ok_or_else(|| unavailable(&format!("its description has no good {name}")))
        };
        let methods = about["token_endpoint_auth_methods_supported"].as_array();
        let mut known = KnownProvider {
            entrance: needed("authorization_endpoint")?,
            exchange: needed("token_endpoint")?,
            keys_place: needed("jwks_uri")?,
            more: place("userinfo_endpoint"),
            takes_basic: methods
                .is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic")),
            keys: ProviderKeys::default(),
            since: Instant::now(),
        };
        known.keys = self.read_keys(&known).await?;
        *self.known() = Some(known.clone());
        Ok(known)
    }

    async fn newer_keys(&self, known: &KnownProvider) -> Result<ProviderKeys, Error> {
        if known.since.elapsed() < KEYS_PAUSE {
            return Ok(known.keys.clone());
        }
        let keys = self.read_keys(known).await?;
        *self.known() = Some(KnownProvider {
            keys: keys.clone(),
            since: Instant::now(),
            ..known.clone()
        });
        Ok(keys)
    }

    async fn read_keys(&self, known: &KnownProvider) -> Result<ProviderKeys, Error> {
        let (status, document) = read(self.http.get(known.keys_place.clone())).await?;
        match status {
            200 => Ok(ProviderKeys::read(&document)),
            status => Err(unavailable(&format!("its keys answer {status}"))),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Option<KnownProvider>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The credentials in the form of RFC 6749, section 2.3.1.
fn basic_header(client: &str, secret: &str) -> Result<HeaderValue, Error> {
    use base64::Engine as _;
    let encoded = |text: &str| {
        let bytes = text.bytes().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        });
        bytes.collect::<String>()
    };
    let plain = format!("{}:{}", encoded(client), encoded(secret));
    let pair = base64::engine::general_purpose::STANDARD.encode(plain);
    let read = HeaderValue::from_str(&format!("Basic {pair}"));
    let mut header = read.map_err(|_| unavailable("its secret cannot be sent"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Sends a request, and returns the status and the JSON that came back.
async fn read(request: reqwest::RequestBuilder) -> Result<(u16, Value), Error> {
    let failed = |cause: reqwest::Error| unavailable(&explained(&cause.without_url()));
    let mut answer = request.send().await.map_err(failed)?;
    let status = answer.status().as_u16();
    let mut bytes = Vec::new();
    while let Some(more) = answer.chunk().await.map_err(failed)? {
        bytes.extend_from_slice(&more);
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(unavailable("its answer is larger than ANSWER_BYTES_MAX"));
        }
    }
    Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
}

fn unavailable(reason: &str) -> Error {
    let message = format!("the sign-in provider cannot be used: {reason}");
    Error::new(AppErrorCode::Provider, message)
        .hint("try again in a moment, or sign in by password")
}
