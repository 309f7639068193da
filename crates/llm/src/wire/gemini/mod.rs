//! Google's `models/MODEL:generateContent` and `:streamGenerateContent`.

mod request;
mod response;

use bytes::Bytes;

use crate::wire::{Draft, Plan, Reader, Wire};

pub(crate) struct Gemini;

impl Wire for Gemini {
    fn path(&self, plan: &Plan<'_>) -> String {
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

    fn body(&self, plan: &Plan<'_>, draft: &mut Draft) -> serde_json::Result<Bytes> {
        request::body(plan, draft)
    }

    fn reader(&self, plan: &Plan<'_>) -> Box<dyn Reader> {
        Box::new(response::Reading::new(plan))
    }
}
