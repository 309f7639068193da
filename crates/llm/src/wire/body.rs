//! A body as bytes: a few fields, and a conversation that is written message by message.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::{Part, Request};

/// Writes an object of `fields` and, last, the field `list` with the entries it is given.
///
/// Every turn of an agent sends its whole conversation. As one tree it would be allocated, filled
/// and given back each time, which costs more than writing it.
pub(super) fn write(
    request: &Request,
    fields: &Map<String, Value>,
    list: &str,
    entries: impl FnOnce(&mut Entries) -> serde_json::Result<()>,
) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(bytes_about(request));
    bytes.push(b'{');
    for (name, value) in fields {
        serde_json::to_writer(&mut bytes, name)?;
        bytes.push(b':');
        serde_json::to_writer(&mut bytes, value)?;
        bytes.push(b',');
    }
    serde_json::to_writer(&mut bytes, list)?;
    bytes.extend(b":[");
    let mut written = Entries {
        bytes,
        is_empty: true,
    };
    entries(&mut written)?;
    let mut bytes = written.bytes;
    bytes.extend(b"]}");
    Ok(bytes)
}

/// The entries of a list under way.
pub(super) struct Entries {
    bytes: Vec<u8>,
    is_empty: bool,
}

impl Entries {
    pub(super) fn push(&mut self, entry: &impl Serialize) -> serde_json::Result<()> {
        if !std::mem::take(&mut self.is_empty) {
            self.bytes.push(b',');
        }
        serde_json::to_writer(&mut self.bytes, entry)
    }
}

/// The texts of a request, and room for what is around and escaped in them.
fn bytes_about(request: &Request) -> usize {
    const AROUND: usize = 4096;
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let texts: usize = parts.map(Part::bytes).sum();
    AROUND + texts + texts / 8
}
