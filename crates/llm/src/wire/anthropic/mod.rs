//! Anthropic's format, `/v1/messages`: the only one with cache marks and signed thoughts.

mod request;
mod response;

use bytes::Bytes;

use crate::model::ResponseFormat;
use crate::quirk::Quirk;
use crate::wire::{BodyCache, ResponseReader, WireCodec, WireRequest};

pub(crate) struct AnthropicCodec;

/// The API's version, sent with every request.
pub(crate) const VERSION: &str = "2023-06-01";

impl WireCodec for AnthropicCodec {
    fn path(&self, _plan: &WireRequest<'_>) -> String {
        "messages".to_owned()
    }

    fn body(&self, plan: &WireRequest<'_>, draft: &mut BodyCache) -> serde_json::Result<Bytes> {
        request::body(plan, draft)
    }

    fn reader(&self, plan: &WireRequest<'_>) -> Box<dyn ResponseReader> {
        Box::new(response::AnthropicReader::new(plan))
    }
}

/// Returns the name of the tool whose arguments are to be the answer, if JSON is asked for that
/// way.
///
/// A forced call would prevent calls to real tools; with those, the prompt has to do.
fn forced_tool<'a>(plan: &WireRequest<'a>) -> Option<&'a str> {
    match &plan.request.output {
        ResponseFormat::Json { name, .. } if plan.request.tools.is_empty() => {
            (plan.force_tool || plan.has(Quirk::NoNativeJson)).then_some(name.as_str())
        }
        _ => None,
    }
}
