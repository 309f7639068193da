//! Calls to the outside, for whatever makes them (`http` steps, webhooks, MCP servers): which addresses may be reached,
//! how values get into a URL, and a client that keeps to both.
//!
//! Not here: what is called for, and what an answer means.

mod address;
mod client;
mod network;
mod target;

pub(crate) use address::AddressRule;
pub(crate) use client::{explained, is_same_origin, prepare, shown_url};
pub use network::IpNetwork;
pub(crate) use target::{UrlTemplate, url_problem};
