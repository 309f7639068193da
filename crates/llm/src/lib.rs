//! Models behind one trait, and the one door to model HTTP.
//!
//! Callers hold a `dyn` [`Model`], hand it a [`ModelRequest`] and get a [`ModelResponse`] or an [`Error`].
//! That model is composed of wrappers, each a model itself:
//!
//! ```text
//! Record ─ Router ─ RetryingModel ─ MeteredModel ─ ProviderClient ─ wire::{anthropic, openai, gemini} ─ HTTP
//! ```
//!
//! The crate reads no clock and no files, and prints nothing: keys, the day's spending, tapes and
//! the date of the price list are handed in. Nor does it read the environment, save that the HTTP
//! client follows the usual proxy variables (not for addresses on this machine).
//!
//! ```no_run
//! # async fn example(prices: llm::price::PriceList, key: llm::Secret) -> Result<(), llm::Error> {
//! use std::sync::Arc;
//! use llm::budget::{SpendBudget, Meter, MeteredModel, SpentTotal};
//! use llm::retry::{RetryingModel, RetryLimits};
//! use llm::{ProviderClient, ProviderEndpoint, Limits, Model, Provider, ModelRequest, NoModelObserver};
//!
//! let meter = Arc::new(Meter::new(SpendBudget::default(), prices, SpentTotal::default()));
//! let client = ProviderClient::new(&ProviderEndpoint::new(Provider::Anthropic, Some(key)), Limits::default())?;
//! let metered = MeteredModel::new(client, Arc::clone(&meter), Provider::Anthropic, None);
//! let model: Arc<dyn Model> = Arc::new(RetryingModel::new(metered, RetryLimits::default()));
//! let response = model.respond(&ModelRequest::ask("claude-sonnet-4-5", "Hello?"), &mut NoModelObserver).await?;
//! # let _ = response;
//! # Ok(())
//! # }
//! ```
//!
//! # Why the wire formats are ours
//!
//! ProviderClient crates for many providers exist, and `genai` was tried. A wrapper would have had to work
//! around this: a stream that is cut just ends, errors on opening a stream hide their status and headers,
//! a 200 of the wrong shape reads as an empty answer, malformed tool arguments fail the whole
//! response and lose its usage, and the error's text prints the request. Stop reasons, cache
//! buckets, tool calls and error bodies are what the rest of the program decides on, so they have
//! to arrive intact; the wrapper would have been as large as the three modules of `wire`.

pub mod model;

pub mod error;
mod provider_error;
mod retry_after;

pub mod keys;
pub mod provider;
pub mod secret;

mod http;
mod sse;

mod client;
mod quirk;
mod wire;

pub mod budget;
pub mod models;
pub mod price;
pub mod record;
pub mod retry;
pub mod router;
pub mod usage;

pub use client::{JsonVia, ProviderClient, ProviderEndpoint};
pub use error::{AiErrorCode, Error};
pub use http::Limits;
pub use model::{
    CacheControl, ChatMessage, ChatRole, MessagePart, Model, ModelEvent, ModelFuture,
    ModelObserver, ModelRequest, ModelResponse, NoModelObserver, ReasoningPart, ResponseFormat,
    StopReason, SystemBlock, ToolArguments, ToolCall, ToolChoice, ToolDeclaration, ToolOutcome,
    ToolResult,
};
pub use provider::{Provider, WireFormat};
pub use secret::Secret;
pub use usage::{CallCost, Usage};
