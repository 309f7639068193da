//! Long results: the client gets a link to a resource instead of a text that fills its context.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde_json::{Map, Value, json};

/// How many bytes of a result are sent; a longer one becomes a link.
pub(crate) const RESULT_BYTES_MAX: usize = 50_000;
/// How many bytes one field of a long result may have to be sent beside the link.
const FIELD_BYTES_MAX: usize = 2_000;
/// How many long results without an address of their own are kept; the oldest goes first.
const KEPT_MAX: usize = 16;

/// Long results that can be read for a while.
#[derive(Clone, Default)]
pub(crate) struct KeptResults {
    shared: Arc<Mutex<KeptTexts>>,
}

#[derive(Default)]
struct KeptTexts {
    last: u64,
    texts: VecDeque<KeptText>,
}

struct KeptText {
    number: u64,
    /// The one whose call it answers; no one else reads it.
    actor: String,
    text: Arc<str>,
}

impl KeptResults {
    /// Keeps a text and returns the name it is read by.
    fn keep(&self, actor: &str, text: &str) -> String {
        let mut kept = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last += 1;
        let number = kept.last;
        if kept.texts.len() >= KEPT_MAX {
            kept.texts.pop_front();
        }
        kept.texts.push_back(KeptText {
            number,
            actor: actor.to_owned(),
            text: text.into(),
        });
        number.to_string()
    }

    /// Returns a text that was kept for this actor.
    pub(crate) fn find(&self, actor: &str, name: &str) -> Option<Arc<str>> {
        let number: u64 = name.parse().ok()?;
        let kept = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.texts.iter().find(|one| one.number == number)?;
        (found.actor == actor).then(|| Arc::clone(&found.text))
    }

    /// Returns the result as the client gets it: whole, or its short fields and a link to all of it.
    pub(crate) fn bounded(
        &self,
        actor: &str,
        value: Value,
        place: Option<String>,
    ) -> CallToolResult {
        let text = value.to_string();
        let bytes = text.len();
        if bytes <= RESULT_BYTES_MAX {
            return CallToolResult::structured(value);
        }
        let uri = place.unwrap_or_else(|| format!("drawloom://result/{}", self.keep(actor, &text)));
        let note = format!(
            "the result has {bytes} bytes, more than RESULT_BYTES_MAX = {RESULT_BYTES_MAX}: read the \
             resource {uri}, or ask for less"
        );
        let mut link = Resource::new(uri.clone(), "result").with_mime_type("application/json");
        link.size = u64::try_from(bytes).ok();
        let mut short = match value {
            Value::Object(fields) => fields.into_iter().map(shortened).collect(),
            _ => Map::new(),
        };
        short.insert("truncated".to_owned(), true.into());
        short.insert("bytes".to_owned(), bytes.into());
        short.insert("resource".to_owned(), uri.into());
        let mut result = CallToolResult::structured(Value::Object(short));
        result.content = vec![ContentBlock::text(note), ContentBlock::resource_link(link)];
        result
    }
}

/// Returns a field as shown beside a link: long ones become empty values of the same type.
fn shortened((name, value): (String, Value)) -> (String, Value) {
    if value.to_string().len() <= FIELD_BYTES_MAX {
        return (name, value);
    }
    let empty = match value {
        Value::Array(_) => json!([]),
        Value::Object(_) => json!({}),
        _ => json!(""),
    };
    (name, empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_a_link_that_only_its_caller_reads() {
        let kept = KeptResults::default();
        let long = json!({ "status": "done", "text": "ä".repeat(RESULT_BYTES_MAX), "list": [1] });
        let result = kept.bounded("ada", long.clone(), None);
        let fields = result.structured_content.unwrap();
        assert_eq!(fields["status"], "done");
        assert_eq!(fields["text"], "");
        assert_eq!(fields["list"], json!([1]));
        let uri = fields["resource"].as_str().unwrap();
        assert_eq!(result.content[1].as_resource_link().unwrap().uri, uri);
        let name = uri.strip_prefix("drawloom://result/").unwrap();
        assert_eq!(&*kept.find("ada", name).unwrap(), long.to_string());
        assert!(kept.find("eve", name).is_none());
    }

    #[test]
    fn a_result_with_an_address_of_its_own_is_not_kept() {
        let kept = KeptResults::default();
        let long = json!({ "steps": vec!["x".repeat(100); 1_000] });
        let result = kept.bounded("ada", long, Some("drawloom://run/1".to_owned()));
        let fields = result.structured_content.unwrap();
        assert_eq!(fields["resource"], "drawloom://run/1");
        assert!(kept.find("ada", "1").is_none());
    }

    #[test]
    fn the_oldest_long_result_makes_room() {
        let kept = KeptResults::default();
        for number in 1..=KEPT_MAX + 1 {
            assert_eq!(kept.keep("ada", "x"), number.to_string());
        }
        assert!(kept.find("ada", "1").is_none());
        assert!(kept.find("ada", "2").is_some());
    }
}
