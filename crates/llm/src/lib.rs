//! Models behind one trait, and the one door to model HTTP.
//!
//! Callers hold a `dyn` [`Model`], hand it a [`Request`] and get a [`Response`] or an [`Error`].
//! What they hold is put together from wrappers that are all models themselves:
//!
//! ```text
//! Record ─ Router ─ Retry ─ Metered ─ Client ─ wire::{anthropic, openai, gemini} ─ HTTP
//! ```
//!
//! The crate reads no clock and no files, and prints nothing: keys, the day's spending, tapes and
//! the date of the price list are handed in. Nor does it read the environment, save that the HTTP
//! client follows the usual proxy variables (not for addresses on this machine).
//!
//! ```no_run
//! # async fn example(prices: llm::price::Prices, key: llm::Secret) -> Result<(), llm::Error> {
//! use std::sync::Arc;
//! use llm::budget::{Budget, Meter, Metered, Spent};
//! use llm::retry::{Retry, RetryLimits};
//! use llm::{Client, Endpoint, Limits, Model, Provider, Request, Silent};
//!
//! let meter = Arc::new(Meter::new(Budget::default(), prices, Spent::default()));
//! let client = Client::new(&Endpoint::new(Provider::Anthropic, Some(key)), Limits::default())?;
//! let metered = Metered::new(client, Arc::clone(&meter), Provider::Anthropic, None);
//! let model: Arc<dyn Model> = Arc::new(Retry::new(metered, RetryLimits::default()));
//! let response = model.respond(&Request::ask("claude-sonnet-4-5", "Hello?"), &mut Silent).await?;
//! # let _ = response;
//! # Ok(())
//! # }
//! ```
//!
//! # Why the wire formats are ours
//!
//! Client crates for many providers exist, and `genai` was tried. A wrapper would have had to mend
//! this: a stream that is cut just ends, errors on opening a stream hide their status and headers,
//! a 200 of the wrong shape reads as an empty answer, malformed tool arguments fail the whole
//! response and lose its usage, and the error's text prints the request. Stop reasons, cache
//! buckets, tool calls and error bodies are what the rest of the program decides on, so they have
//! to arrive intact; the wrapper would have been as large as the three modules of `wire`.

pub mod model;

pub mod error;
mod fault;
mod wait;

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

pub use client::{Client, Endpoint, JsonVia};
pub use error::{Code, Error};
pub use http::Limits;
pub use model::{
    Arguments, Block, Cache, Event, Message, Model, Observer, Outcome, Output, Part, Pending,
    Reasoning, Request, Response, Role, Silent, Stop, Tool, ToolCall, ToolChoice, ToolResult,
};
pub use provider::{Format, Provider};
pub use secret::Secret;
pub use usage::{Cost, Usage};
