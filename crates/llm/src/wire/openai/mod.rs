//! OpenAI's `/v1/chat/completions`, spoken by OpenRouter, Ollama and many servers besides.

mod request;
mod response;

use crate::wire::{Plan, Reader, Wire};

pub(crate) struct OpenAi;

impl Wire for OpenAi {
    fn path(&self, _plan: &Plan<'_>) -> String {
        "chat/completions".to_owned()
    }

    fn body(&self, plan: &Plan<'_>) -> serde_json::Result<Vec<u8>> {
        request::body(plan)
    }

    fn reader(&self, plan: &Plan<'_>) -> Box<dyn Reader> {
        Box::new(response::Reading::new(plan))
    }
}
