//! A model behind HTTP: one provider, one address, one key.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use reqwest::Url;
use serde_json::Value;

use crate::error::{AiErrorCode, Error, FaultSide, Result};
use crate::http::{HttpAnswer, Limits, ProviderHttp, ResponseMode};
use crate::keys;
use crate::model::{Model, ModelEvent, ModelFuture, ModelObserver, ModelRequest, ModelResponse};
use crate::provider::{Provider, WireFormat};
use crate::provider_error;
use crate::quirk::{Quirk, QuirkSet};
use crate::secret::{self, Secret};
use crate::sse::SseDecoder;
use crate::wire::{
    self, BodyCache, ResponseError, ResponseReader, StreamStep, WireCodec, WireRequest,
};

/// The address of a provider, and the key and headers sent to it.
#[derive(Clone)]
pub struct ProviderEndpoint {
    pub provider: Provider,
    /// Another address than the provider's own.
    pub base_url: Option<String>,
    pub key: Option<Secret>,
    /// Further headers, for gateways; their values are treated as secrets.
    pub headers: Vec<(String, Secret)>,
    pub json: JsonVia,
}

/// The way to ask for a JSON answer first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonVia {
    /// By the format's own means.
    #[default]
    Native,
    /// By a tool the model has to call, where the format has forced calls: for servers that
    /// ignore the format's own means without saying so.
    ForcedTool,
}

impl ProviderEndpoint {
    pub fn new(provider: Provider, key: Option<Secret>) -> ProviderEndpoint {
        ProviderEndpoint {
            provider,
            base_url: None,
            key,
            headers: Vec::new(),
            json: JsonVia::Native,
        }
    }

    /// Returns the address as a URL; without a path, the format's usual one is meant.
    pub(crate) fn base(&self) -> Result<Url> {
        let text = self
            .base_url
            .as_deref()
            .or(self.provider.base_url())
            .ok_or_else(|| {
                let what = format!("the provider `{}` has no address", self.provider.name());
                Error::new(
                    AiErrorCode::ProviderUnavailable,
                    what,
                    "Set `ai.base_url` to the server's address.",
                )
            })?;
        let wrong = || {
            // Not shown: an address may have a password in it.
            let what = "the base URL is not an http or https address".to_owned();
            Error::new(
                AiErrorCode::ProviderUnavailable,
                what,
                "Set `ai.base_url` to something like http://127.0.0.1:8080/v1.",
            )
        };
        let mut url = Url::parse(text.trim()).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong());
        }
        if matches!(url.path(), "" | "/") {
            url.set_path(match self.provider.format() {
                WireFormat::Anthropic | WireFormat::OpenAi => "/v1",
                WireFormat::Gemini => "/v1beta",
            });
        }
        Ok(url)
    }

    /// Opens the connection to this address, with the key in its header.
    pub(crate) fn open(&self, limits: Limits) -> Result<ProviderHttp> {
        let key = self.key.as_ref().filter(|key| !key.is_empty());
        if key.is_none() && self.provider.needs_key() {
            return Err(keys::missing(self.provider, self.base_url.as_deref()));
        }
        let mut headers = wire::headers(self.provider.format(), key);
        headers.extend(self.headers.iter().cloned());
        let base = self.base()?;
        let password = base.password().map(secret::from_url);
        let mut http = ProviderHttp::new(self.provider.name(), base, &headers, limits)?;
        let given = key
            .into_iter()
            .chain(self.headers.iter().map(|(_, secret)| secret));
        http.hide(given.cloned().chain(password).collect());
        Ok(http)
    }
}

impl fmt::Debug for ProviderEndpoint {
    /// Without the address, which may have a password in it; its host is enough to know it by.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self
            .base_url
            .as_deref()
            .and_then(|url| Url::parse(url).ok());
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("host", &url.as_ref().and_then(Url::host_str))
            .field("key", &self.key)
            .field("headers", &self.headers)
            .field("json", &self.json)
            .finish()
    }
}

/// A provider's models. One client serves all models of its endpoint.
pub struct ProviderClient {
    http: ProviderHttp,
    provider: Provider,
    json: JsonVia,
    wire: &'static dyn WireCodec,
    /// Request parts that each model turned out not to accept.
    quirks: Mutex<HashMap<String, QuirkSet>>,
    draft: Mutex<BodyCache>,
}

impl ProviderClient {
    pub fn new(endpoint: &ProviderEndpoint, limits: Limits) -> Result<ProviderClient> {
        Ok(ProviderClient {
            http: endpoint.open(limits)?,
            provider: endpoint.provider,
            json: endpoint.json,
            wire: wire::of(endpoint.provider.format()),
            quirks: Mutex::new(HashMap::new()),
            draft: Mutex::default(),
        })
    }

    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// Asks, and asks again without what the model turns out not to take.
    async fn answer(
        &self,
        request: &ModelRequest,
        observer: &mut dyn ModelObserver,
    ) -> Result<ModelResponse> {
        let streamed = observer.wants_stream();
        loop {
            let quirks = self.known(&request.model);
            let force_tool = self.json == JsonVia::ForcedTool;
            let plan = WireRequest {
                request,
                provider: self.provider,
                quirks: &quirks,
                streamed,
                force_tool,
            };
            let error = match self.attempt(&plan, observer).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            // Ends: every round adds a quirk, and there are few.
            let Some(quirk) = Quirk::learn(&error, request, streamed, &quirks) else {
                return Err(error);
            };
            self.remember(&request.model, quirk);
            observer.notice(ModelEvent::Adapted {
                without: quirk.without(),
            });
        }
    }

    async fn attempt(
        &self,
        plan: &WireRequest<'_>,
        observer: &mut dyn ModelObserver,
    ) -> Result<ModelResponse> {
        let pace = if plan.streamed {
            ResponseMode::Pieces
        } else {
            ResponseMode::Whole
        };
        let body = self.body(plan)?;
        let mut answer = self.http.post(&self.wire.path(plan), body, pace).await?;
        let model = &plan.request.model;
        if !answer.is_success() {
            return Err(answer.refusal(model).await);
        }
        let mut reader = self.wire.reader(plan);
        let read = if answer.is_event_stream() {
            self.read_stream(&mut answer, reader.as_mut(), observer, model)
                .await
        } else {
            self.read_whole(&mut answer, reader.as_mut(), observer, model)
                .await
        };
        let usage = reader.usage();
        let finished = read.and_then(|()| {
            reader
                .finish()
                .map_err(|misread| self.misread(misread, model, ""))
        });
        finished.map_err(|mut error| {
            error.usage = usage;
            error.request_id = error.request_id.take().or_else(|| answer.request_id());
            error
        })
    }

    fn body(&self, plan: &WireRequest<'_>) -> Result<Bytes> {
        let mut draft = self.draft.lock().unwrap_or_else(PoisonError::into_inner);
        self.wire.body(plan, &mut draft).map_err(|error| {
            Error::new(
                AiErrorCode::TransportFailed,
                format!("the request cannot be written as JSON ({error})"),
                "This is a defect; please report it.",
            )
        })
    }

    async fn read_whole(
        &self,
        answer: &mut HttpAnswer<'_>,
        reader: &mut dyn ResponseReader,
        observer: &mut dyn ModelObserver,
        model: &str,
    ) -> Result<()> {
        let bytes = answer.whole().await?;
        let text = String::from_utf8_lossy(&bytes);
        let begins = |sign: &str| text.trim_start().starts_with(sign);
        let read = match serde_json::from_str::<Value>(&text) {
            Ok(body) => reader.whole(&body, observer),
            // A stream that is not called one.
            Err(_) if begins("data:") || begins("event:") => {
                let mut events = SseDecoder::default().push(&bytes).into_iter();
                events.try_for_each(|event| reader.event(&event, observer).map(drop))
            }
            Err(_) if begins("<") => Err(ResponseError::Shape("it is a web page".to_owned())),
            Err(error) => Err(ResponseError::Malformed(error.to_string())),
        };
        read.map_err(|misread| self.misread(misread, model, &text))
    }

    async fn read_stream(
        &self,
        answer: &mut HttpAnswer<'_>,
        reader: &mut dyn ResponseReader,
        observer: &mut dyn ModelObserver,
        model: &str,
    ) -> Result<()> {
        let mut decoder = SseDecoder::default();
        while let Some(piece) = answer.piece().await? {
            for event in decoder.push(&piece) {
                match reader.event(&event, observer) {
                    Ok(StreamStep::More) => {}
                    Ok(StreamStep::End) => return Ok(()),
                    Err(misread) => return Err(self.misread(misread, model, &event.data)),
                }
            }
        }
        Ok(())
    }

    fn misread(&self, misread: ResponseError, model: &str, body: &str) -> Error {
        let who = self.provider.name();
        let mut error = match misread {
            ResponseError::Complaint(mut complaint) => {
                complaint.message = self.http.scrub(&complaint.message);
                return provider_error::judge(who, model, None, &complaint);
            }
            ResponseError::Truncated => Error::passing(
                AiErrorCode::TransportFailed,
                format!("the answer of {who} stopped before its end"),
                "Run it again; if it stays, check proxies between here and the provider.",
            ),
            ResponseError::Malformed(why) => Error::passing(
                AiErrorCode::TransportFailed,
                format!("{who} sent something that is not JSON ({why})"),
                "Run it again; if it stays, check the base URL and proxies between here and the provider.",
            ),
            ResponseError::Shape(why) => {
                let mut error = Error::new(
                    AiErrorCode::TransportFailed,
                    format!("{who} sent something that is not an answer of its API ({why})"),
                    "Check `ai.provider` and `ai.base_url`: this address does not look like that provider's API.",
                );
                error.side = FaultSide::Provider;
                error
            }
        };
        let said = provider_error::one_line(&self.http.scrub(body));
        error.provider_message =
            (!said.is_empty()).then(|| crate::error::bounded(&said, SHOWN_BODY_BYTES_MAX));
        error
    }

    fn known(&self, model: &str) -> QuirkSet {
        let quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        quirks.get(model).cloned().unwrap_or_default()
    }

    fn remember(&self, model: &str, quirk: Quirk) {
        let mut quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        quirks.entry(model.to_owned()).or_default().insert(quirk);
    }
}

/// Bytes of an unreadable answer that are shown: enough to recognise it.
const SHOWN_BODY_BYTES_MAX: usize = 160;

impl Model for ProviderClient {
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        observer: &'a mut dyn ModelObserver,
    ) -> ModelFuture<'a> {
        Box::pin(self.answer(request, observer))
    }
}
