//! Encodes rows as JSON and removes known secrets from it, the same for every engine.

use serde::Serialize;

use super::backend::WriteOutcome;
use crate::error::{DatabaseErrorKind, Error, Result};
use crate::sqlite::SecretScrub;

/// Encodes rows as JSON documents without secrets.
pub(crate) struct RowEncoder {
    scrub: Option<SecretScrub>,
    /// The buffer of the encoder, reused for every row.
    paper: Vec<u8>,
    /// A secret was removed since [`RowEncoder::kept`] was last called.
    has_scrubbed: bool,
}

impl RowEncoder {
    pub(crate) fn new(scrub: Option<SecretScrub>) -> RowEncoder {
        RowEncoder {
            scrub,
            paper: Vec::new(),
            has_scrubbed: false,
        }
    }

    pub(crate) fn body<T: Serialize>(&mut self, row: &T) -> Result<String> {
        self.paper.clear();
        let written =
            serde_json::to_writer(&mut self.paper, row).map_err(|cause| cause.to_string());
        let body = written.and_then(|()| {
            let body = std::str::from_utf8(&self.paper);
            body.map(str::to_owned).map_err(|cause| cause.to_string())
        });
        let body = body.map_err(|cause| {
            let message = format!("a row cannot be written as JSON: {cause}. Report this.");
            Error::new(DatabaseErrorKind::Conflict, message)
        })?;
        let scrubbed = self.scrub.as_ref().and_then(|scrub| scrub(&body));
        self.has_scrubbed |= scrubbed.is_some();
        Ok(scrubbed.unwrap_or(body))
    }

    /// Returns a plain text without the known secrets.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let scrubbed = self.scrub.as_ref().and_then(|scrub| scrub(text));
        self.has_scrubbed |= scrubbed.is_some();
        scrubbed.unwrap_or_else(|| text.to_owned())
    }

    /// Tells whether rows were stored exactly as decided, since the last call.
    pub(crate) fn kept(&mut self) -> WriteOutcome {
        match std::mem::take(&mut self.has_scrubbed) {
            true => WriteOutcome::Scrubbed,
            false => WriteOutcome::AsTheyWere,
        }
    }
}
