//! A body as bytes, made from the one before it: a conversation grows at its end, and what is the
//! same up to there is not written again.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::{CacheControl, ChatMessage};

/// The last body and the messages in it; the next body reuses as much of it as is unchanged.
///
/// Every turn of an agent sends its whole conversation. Comparing it with the last body is many
/// times faster than writing it, and callers need not promise that they changed nothing.
#[derive(Default)]
pub(crate) struct BodyCache {
    bytes: Bytes,
    head_end: usize,
    messages: Vec<CachedMessage>,
}

impl BodyCache {
    /// Writes the body that begins with `head` and ends with these messages, each with its mark as
    /// the format sends it. `write` gives a message's entries; they may depend on nothing else.
    pub(super) fn body(
        &mut self,
        head: JsonListWriter,
        messages: &[(&ChatMessage, CacheControl)],
        write: impl Fn(&ChatMessage, CacheControl, &mut JsonListWriter) -> serde_json::Result<()>,
    ) -> serde_json::Result<Bytes> {
        // Taken, so that nothing stays of a body that fails half-way.
        let mut draft = std::mem::take(self);
        let head_end = head.0.len();
        let mut entries = draft.beginning(head, messages);
        for (message, cache) in &messages[draft.messages.len()..] {
            write(message, *cache, &mut entries)?;
            draft.messages.push(CachedMessage {
                message: (*message).clone(),
                cache: *cache,
                end: entries.0.len(),
            });
        }
        entries.0.extend(b"]}");
        let bytes = Bytes::from(entries.0);
        *self = BodyCache {
            bytes: bytes.clone(),
            head_end,
            messages: draft.messages,
        };
        Ok(bytes)
    }

    /// Returns the reusable beginning; the messages in it are those that stay in the draft.
    fn beginning(
        &mut self,
        head: JsonListWriter,
        messages: &[(&ChatMessage, CacheControl)],
    ) -> JsonListWriter {
        let same_head = self.bytes.get(..self.head_end) == Some(&head.0);
        let pairs = self.messages.iter().zip(messages);
        let same = pairs.take_while(|(written, (message, cache))| {
            same_head && written.cache == *cache && written.message == **message
        });
        let same = same.count();
        self.messages.truncate(same);
        let Some(last) = self.messages.last() else {
            return head;
        };
        // Copies nothing, unless a connection still holds the body.
        let mut bytes = Vec::from(std::mem::take(&mut self.bytes));
        bytes.truncate(last.end);
        JsonListWriter(bytes)
    }
}

/// A message in a body.
struct CachedMessage {
    message: ChatMessage,
    cache: CacheControl,
    /// The end of its entries.
    end: usize,
}

/// An object whose last field is a list under way.
pub(super) struct JsonListWriter(Vec<u8>);

impl JsonListWriter {
    /// Begins an object with `fields` and, last, the field `list`.
    pub(super) fn after(
        fields: &Map<String, Value>,
        list: &str,
    ) -> serde_json::Result<JsonListWriter> {
        let mut bytes = vec![b'{'];
        for (name, value) in fields {
            serde_json::to_writer(&mut bytes, name)?;
            bytes.push(b':');
            serde_json::to_writer(&mut bytes, value)?;
            bytes.push(b',');
        }
        serde_json::to_writer(&mut bytes, list)?;
        bytes.extend(b":[");
        Ok(JsonListWriter(bytes))
    }

    pub(super) fn push(&mut self, entry: &impl Serialize) -> serde_json::Result<()> {
        if self.0.last() != Some(&b'[') {
            self.0.push(b',');
        }
        serde_json::to_writer(&mut self.0, entry)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::BodyCache;
    use crate::model::{
        CacheControl, ChatMessage, MessagePart, ModelRequest, SystemBlock, ToolArguments, ToolCall,
        ToolOutcome, ToolResult,
    };
    use crate::provider::{Provider, WireFormat};
    use crate::quirk::QuirkSet;
    use crate::wire::{self, WireRequest};

    fn called(path: &str) -> ChatMessage {
        let mut message = ChatMessage::assistant("");
        message.parts.push(MessagePart::ToolCall(ToolCall {
            id: "c1".into(),
            name: "read_file".into(),
            arguments: ToolArguments::read(format!("{{\"path\": \"{path}\"}}")),
            signature: Some("s".into()),
        }));
        message
    }

    fn result(content: &str) -> ChatMessage {
        ChatMessage::results(vec![ToolResult {
            id: "c1".into(),
            name: "read_file".into(),
            content: content.into(),
            outcome: ToolOutcome::Done,
        }])
    }

    fn marked(mut message: ChatMessage) -> ChatMessage {
        message.cache = CacheControl::UpToHere;
        message
    }

    fn conversation(messages: Vec<ChatMessage>) -> ModelRequest {
        let mut request = ModelRequest::ask("m", "");
        request.system = vec![SystemBlock::stable("be brief")];
        request.messages = messages;
        request
    }

    /// Sends the requests one after the other, and each one as the first.
    #[track_caller]
    fn check(requests: &[ModelRequest]) {
        let quirks = QuirkSet::new();
        for (format, provider) in [
            (WireFormat::OpenAi, Provider::OpenAi),
            (WireFormat::Anthropic, Provider::Anthropic),
            (WireFormat::Gemini, Provider::Google),
        ] {
            let body = |request, draft: &mut BodyCache| -> Bytes {
                let plan = WireRequest {
                    request,
                    provider,
                    quirks: &quirks,
                    streamed: false,
                    force_tool: false,
                };
                let body = wire::of(format).body(&plan, draft);
                body.expect("the body is written")
            };
            let mut draft = BodyCache::default();
            for (index, request) in requests.iter().enumerate() {
                let next = body(request, &mut draft);
                let first = body(request, &mut BodyCache::default());
                assert_eq!(next, first, "{format:?}, request {index}");
                serde_json::from_slice::<serde_json::Value>(&next).expect("the body is JSON");
            }
        }
    }

    #[test]
    fn a_conversation_that_grows_is_written_as_if_at_once() {
        let question = || ChatMessage::user("read it");
        check(&[
            conversation(vec![marked(question())]),
            conversation(vec![question(), called("a"), marked(result("x"))]),
            conversation(vec![question(), called("a"), marked(result("x"))]),
            conversation(vec![
                question(),
                called("a"),
                result("x"),
                called("b"),
                marked(result("\"y\"\n")),
            ]),
        ]);
    }

    #[test]
    fn whatever_is_changed_is_written_anew() {
        let begun = || vec![ChatMessage::user("read it"), called("a"), result("x")];
        let other = |change: fn(&mut ModelRequest)| {
            let mut request = conversation(begun());
            change(&mut request);
            request
        };
        for change in [
            (|request| request.model = "n".into()) as fn(&mut ModelRequest),
            |request| request.system.clear(),
            |request| request.system = vec![SystemBlock::text("be brief")],
            |request| request.messages.clear(),
            |request| request.messages[0] = ChatMessage::user("read at"),
            |request| request.messages[1] = called("b"),
            |request| request.messages[1] = ChatMessage::assistant(""),
            |request| request.messages.truncate(1),
            |request| {
                request.messages[2]
                    .parts
                    .push(MessagePart::Text("and on".into()))
            },
            |request| request.messages.remove(1).parts.clear(),
        ] {
            check(&[conversation(begun()), other(change), conversation(begun())]);
        }
    }

    #[test]
    fn a_mark_that_falls_away_later_is_taken_out() {
        let marks = |count: usize| {
            let messages = (0..count).map(|number| marked(ChatMessage::user(number.to_string())));
            conversation(messages.collect())
        };
        check(&[marks(3), marks(4), marks(6), marks(5)]);
    }

    #[test]
    fn a_body_on_its_way_is_not_written_into() {
        let quirks = QuirkSet::new();
        let mut draft = BodyCache::default();
        let mut bodies = Vec::new();
        let mut request = conversation(Vec::new());
        for number in 0..3 {
            request.messages.push(ChatMessage::user(number.to_string()));
            let plan = WireRequest {
                request: &request,
                provider: Provider::OpenAi,
                quirks: &quirks,
                streamed: false,
                force_tool: false,
            };
            let body = wire::of(WireFormat::OpenAi).body(&plan, &mut draft);
            bodies.push(body.expect("the body is written"));
        }
        for body in bodies {
            serde_json::from_slice::<serde_json::Value>(&body).expect("the body is JSON");
        }
    }
}
