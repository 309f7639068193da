//! OpenAI's `/v1/chat/completions`, spoken by OpenRouter, Ollama and many servers besides.

mod request;
mod response;

use bytes::Bytes;

use crate::wire::{Draft, Plan, Reader, Wire};

pub(crate) struct OpenAi;

impl Wire for OpenAi {
    fn path(&self, _plan: &Plan<'_>) -> String {
        "chat/completions".to_owned()
    }

    fn body(&self, plan: &Plan<'_>, draft: &mut Draft) -> serde_json::Result<Bytes> {
        request::body(plan, draft)
    }

    fn reader(&self, plan: &Plan<'_>) -> Box<dyn Reader> {
        Box::new(response::Reading::new(plan))
    }
}
