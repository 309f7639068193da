//! Google's `models/MODEL:generateContent` and `:streamGenerateContent`.

mod request;
mod response;

use bytes::Bytes;

use crate::wire::{BodyCache, ResponseReader, WireCodec, WireRequest};

pub(crate) struct GeminiCodec;

impl WireCodec for GeminiCodec {
    fn path(&self, plan: &WireRequest<'_>) -> String {
        let model = &plan.request.model;
        // Tuned models have a folder of their own.
        let folder = if model.contains('/') { "" } else { "models/" };
        let verb = if plan.streamed {
            "streamGenerateContent?alt=sse"
        } else {
            "generateContent"
        };
        // The name goes into the path: what could end it is left out.
        let model: String = model
            .chars()
            .filter(|c| !matches!(c, '?' | '#' | '%' | '\\') && !c.is_whitespace())
            .collect();
        format!("{folder}{}:{verb}", model.replace("..", ""))
    }

    fn body(&self, plan: &WireRequest<'_>, draft: &mut BodyCache) -> serde_json::Result<Bytes> {
        request::body(plan, draft)
    }

    fn reader(&self, plan: &WireRequest<'_>) -> Box<dyn ResponseReader> {
        Box::new(response::GeminiReader::new(plan))
    }
}
