//! OpenAI's `/v1/chat/completions`, spoken by OpenRouter, Ollama and many servers besides.

mod request;
mod response;

use bytes::Bytes;

use crate::wire::{BodyCache, ResponseReader, WireCodec, WireRequest};

pub(crate) struct OpenAiCodec;

impl WireCodec for OpenAiCodec {
    fn path(&self, _plan: &WireRequest<'_>) -> String {
        "chat/completions".to_owned()
    }

    fn body(&self, plan: &WireRequest<'_>, draft: &mut BodyCache) -> serde_json::Result<Bytes> {
        request::body(plan, draft)
    }

    fn reader(&self, plan: &WireRequest<'_>) -> Box<dyn ResponseReader> {
        Box::new(response::OpenAiReader::new(plan))
    }
}
