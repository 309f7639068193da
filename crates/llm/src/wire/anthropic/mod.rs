//! Anthropic's format, `/v1/messages`: the only one with cache marks and signed thoughts.

mod request;
mod response;

use bytes::Bytes;

use crate::model::Output;
use crate::quirk::Quirk;
use crate::wire::{Draft, Plan, Reader, Wire};

pub(crate) struct Anthropic;

/// The API's version, sent with every request.
pub(crate) const VERSION: &str = "2023-06-01";

impl Wire for Anthropic {
    fn path(&self, _plan: &Plan<'_>) -> String {
        "messages".to_owned()
    }

    fn body(&self, plan: &Plan<'_>, draft: &mut Draft) -> serde_json::Result<Bytes> {
        request::body(plan, draft)
    }

    fn reader(&self, plan: &Plan<'_>) -> Box<dyn Reader> {
        Box::new(response::Reading::new(plan))
    }
}

/// The name of the tool whose arguments are to be the answer, if JSON is asked for that way.
///
/// A forced call would stand in the way of real tools; with those, the prompt has to do.
fn forced_tool<'a>(plan: &Plan<'a>) -> Option<&'a str> {
    match &plan.request.output {
        Output::Json { name, .. } if plan.request.tools.is_empty() => {
            (plan.force_tool || plan.has(Quirk::NoNativeJson)).then_some(name.as_str())
        }
        _ => None,
    }
}
