//! A model behind HTTP: one provider, one address, one key.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use reqwest::Url;
use serde_json::Value;

use crate::error::{Code, Error, Result, Side};
use crate::fault;
use crate::http::{Answer, Http, Limits, Pace};
use crate::keys;
use crate::model::{Event, Model, Observer, Pending, Request, Response};
use crate::provider::{Format, Provider};
use crate::quirk::{Quirk, Quirks};
use crate::secret::{self, Secret};
use crate::sse::Decoder;
use crate::wire::{self, Draft, Misread, Plan, Reader, Step, Wire};

/// Where a provider is reached and what is sent along.
#[derive(Clone)]
pub struct Endpoint {
    pub provider: Provider,
    /// Another address than the provider's own.
    pub base_url: Option<String>,
    pub key: Option<Secret>,
    /// Further headers, for gateways; their values are treated as secrets.
    pub headers: Vec<(String, Secret)>,
    pub json: JsonVia,
}

/// How JSON answers are asked for first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonVia {
    /// By the format's own means.
    #[default]
    Native,
    /// By a tool the model has to call, where the format has forced calls: for servers that
    /// ignore the format's own means without saying so.
    ForcedTool,
}

impl Endpoint {
    pub fn new(provider: Provider, key: Option<Secret>) -> Endpoint {
        Endpoint {
            provider,
            base_url: None,
            key,
            headers: Vec::new(),
            json: JsonVia::Native,
        }
    }

    /// The address as a URL; without a path, the format's usual one is meant.
    pub(crate) fn base(&self) -> Result<Url> {
        let text = self
            .base_url
            .as_deref()
            .or(self.provider.base_url())
            .ok_or_else(|| {
                let what = format!("the provider `{}` has no address", self.provider.name());
                Error::new(
                    Code::ProviderUnavailable,
                    what,
                    "Set `ai.base_url` to the server's address.",
                )
            })?;
        let wrong = || {
            // Not shown: an address may have a password in it.
            let what = "the base URL is not an http or https address".to_owned();
            Error::new(
                Code::ProviderUnavailable,
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
                Format::Anthropic | Format::OpenAi => "/v1",
                Format::Gemini => "/v1beta",
            });
        }
        Ok(url)
    }

    /// The door to this address, with the key in its header.
    pub(crate) fn open(&self, limits: Limits) -> Result<Http> {
        let key = self.key.as_ref().filter(|key| !key.is_empty());
        if key.is_none() && self.provider.needs_key() {
            return Err(keys::missing(self.provider, self.base_url.as_deref()));
        }
        let mut headers = wire::headers(self.provider.format(), key);
        headers.extend(self.headers.iter().cloned());
        let base = self.base()?;
        let password = base.password().map(secret::from_url);
        let mut http = Http::new(self.provider.name(), base, &headers, limits)?;
        let given = key
            .into_iter()
            .chain(self.headers.iter().map(|(_, secret)| secret));
        http.hide(given.cloned().chain(password).collect());
        Ok(http)
    }
}

impl fmt::Debug for Endpoint {
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
pub struct Client {
    http: Http,
    provider: Provider,
    json: JsonVia,
    wire: &'static dyn Wire,
    /// What each model was found not to take.
    quirks: Mutex<HashMap<String, Quirks>>,
    draft: Mutex<Draft>,
}

impl Client {
    pub fn new(endpoint: &Endpoint, limits: Limits) -> Result<Client> {
        Ok(Client {
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
    async fn answer(&self, request: &Request, observer: &mut dyn Observer) -> Result<Response> {
        let streamed = observer.wants_stream();
        loop {
            let quirks = self.known(&request.model);
            let force_tool = self.json == JsonVia::ForcedTool;
            let plan = Plan {
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
            observer.notice(Event::Adapted {
                without: quirk.without(),
            });
        }
    }

    async fn attempt(&self, plan: &Plan<'_>, observer: &mut dyn Observer) -> Result<Response> {
        let pace = if plan.streamed {
            Pace::Pieces
        } else {
            Pace::Whole
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

    fn body(&self, plan: &Plan<'_>) -> Result<Bytes> {
        let mut draft = self.draft.lock().unwrap_or_else(PoisonError::into_inner);
        self.wire.body(plan, &mut draft).map_err(|error| {
            Error::new(
                Code::TransportFailed,
                format!("the request cannot be written as JSON ({error})"),
                "This is a defect; please report it.",
            )
        })
    }

    async fn read_whole(
        &self,
        answer: &mut Answer<'_>,
        reader: &mut dyn Reader,
        observer: &mut dyn Observer,
        model: &str,
    ) -> Result<()> {
        let bytes = answer.whole().await?;
        let text = String::from_utf8_lossy(&bytes);
        let begins = |sign: &str| text.trim_start().starts_with(sign);
        let read = match serde_json::from_str::<Value>(&text) {
            Ok(body) => reader.whole(&body, observer),
            // A stream that is not called one.
            Err(_) if begins("data:") || begins("event:") => {
                let mut events = Decoder::default().push(&bytes).into_iter();
                events.try_for_each(|event| reader.event(&event, observer).map(drop))
            }
            Err(_) if begins("<") => Err(Misread::Shape("it is a web page".to_owned())),
            Err(error) => Err(Misread::Malformed(error.to_string())),
        };
        read.map_err(|misread| self.misread(misread, model, &text))
    }

    async fn read_stream(
        &self,
        answer: &mut Answer<'_>,
        reader: &mut dyn Reader,
        observer: &mut dyn Observer,
        model: &str,
    ) -> Result<()> {
        let mut decoder = Decoder::default();
        while let Some(piece) = answer.piece().await? {
            for event in decoder.push(&piece) {
                match reader.event(&event, observer) {
                    Ok(Step::More) => {}
                    Ok(Step::End) => return Ok(()),
                    Err(misread) => return Err(self.misread(misread, model, &event.data)),
                }
            }
        }
        Ok(())
    }

    fn misread(&self, misread: Misread, model: &str, body: &str) -> Error {
        let who = self.provider.name();
        let mut error = match misread {
            Misread::Complaint(mut complaint) => {
                complaint.message = self.http.scrub(&complaint.message);
                return fault::judge(who, model, None, &complaint);
            }
            Misread::Truncated => Error::passing(
                Code::TransportFailed,
                format!("the answer of {who} stopped before its end"),
                "Run it again; if it stays, check proxies between here and the provider.",
            ),
            Misread::Malformed(why) => Error::passing(
                Code::TransportFailed,
                format!("{who} sent something that is not JSON ({why})"),
                "Run it again; if it stays, check the base URL and proxies between here and the provider.",
            ),
            Misread::Shape(why) => {
                let mut error = Error::new(
                    Code::TransportFailed,
                    format!("{who} sent something that is not an answer of its API ({why})"),
                    "Check `ai.provider` and `ai.base_url`: this address does not look like that provider's API.",
                );
                error.side = Side::Provider;
                error
            }
        };
        let said = fault::one_line(&self.http.scrub(body));
        error.provider_message =
            (!said.is_empty()).then(|| crate::error::bounded(&said, SHOWN_BODY_BYTES_MAX));
        error
    }

    fn known(&self, model: &str) -> Quirks {
        let quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        quirks.get(model).cloned().unwrap_or_default()
    }

    fn remember(&self, model: &str, quirk: Quirk) {
        let mut quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        quirks.entry(model.to_owned()).or_default().insert(quirk);
    }
}

/// How much of an unreadable answer is shown: enough to recognise it.
const SHOWN_BODY_BYTES_MAX: usize = 160;

impl Model for Client {
    fn respond<'a>(&'a self, request: &'a Request, observer: &'a mut dyn Observer) -> Pending<'a> {
        Box::pin(self.answer(request, observer))
    }
}
