//! Writes the documents of rows, with known keys taken out, the same for every engine.

use serde::Serialize;

use super::shelf::Kept;
use crate::error::{Error, Kind, Result};
use crate::sqlite::Scrub;

pub(crate) struct Scribe {
    scrub: Option<Scrub>,
    /// What documents are written on, one after another.
    paper: Vec<u8>,
    /// A key was taken out since it was last asked.
    has_scrubbed: bool,
}

impl Scribe {
    pub(crate) fn new(scrub: Option<Scrub>) -> Scribe {
        Scribe {
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
            Error::new(Kind::Conflict, message)
        })?;
        let scrubbed = self.scrub.as_ref().and_then(|scrub| scrub(&body));
        self.has_scrubbed |= scrubbed.is_some();
        Ok(scrubbed.unwrap_or(body))
    }

    /// A plain text, with known keys taken out.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let scrubbed = self.scrub.as_ref().and_then(|scrub| scrub(text));
        self.has_scrubbed |= scrubbed.is_some();
        scrubbed.unwrap_or_else(|| text.to_owned())
    }

    /// What became of everything since this was last asked.
    pub(crate) fn kept(&mut self) -> Kept {
        match std::mem::take(&mut self.has_scrubbed) {
            true => Kept::Scrubbed,
            false => Kept::AsTheyWere,
        }
    }
}
