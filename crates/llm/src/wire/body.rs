//! A body as bytes, made from the one before it: a conversation grows at its end, and what is the
//! same up to there is not written again.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::{Cache, Message};

/// The body written last and what it says; the next one takes over as much of it as still holds.
///
/// Every turn of an agent sends its whole conversation. Comparing it with what was sent before is
/// many times faster than writing it, and nobody has to promise that nothing was changed.
#[derive(Default)]
pub(crate) struct Draft {
    bytes: Bytes,
    head_end: usize,
    messages: Vec<Written>,
}

impl Draft {
    /// The body that begins with `head` and ends with these messages, each with its mark as the
    /// format sends it. `write` gives a message's entries; they may depend on nothing else.
    pub(super) fn body(
        &mut self,
        head: Entries,
        messages: &[(&Message, Cache)],
        write: impl Fn(&Message, Cache, &mut Entries) -> serde_json::Result<()>,
    ) -> serde_json::Result<Bytes> {
        // Taken, so that nothing stays of a body that fails half-way.
        let mut draft = std::mem::take(self);
        let head_end = head.0.len();
        let mut entries = draft.beginning(head, messages);
        for (message, cache) in &messages[draft.messages.len()..] {
            write(message, *cache, &mut entries)?;
            draft.messages.push(Written {
                message: (*message).clone(),
                cache: *cache,
                end: entries.0.len(),
            });
        }
        entries.0.extend(b"]}");
        let bytes = Bytes::from(entries.0);
        *self = Draft {
            bytes: bytes.clone(),
            head_end,
            messages: draft.messages,
        };
        Ok(bytes)
    }

    /// What can be gone on from; the messages in it are those that stay in the draft.
    fn beginning(&mut self, head: Entries, messages: &[(&Message, Cache)]) -> Entries {
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
        Entries(bytes)
    }
}

/// A message in a body.
struct Written {
    message: Message,
    cache: Cache,
    /// Where its entries end.
    end: usize,
}

/// An object whose last field is a list under way.
pub(super) struct Entries(Vec<u8>);

impl Entries {
    /// Begins an object with `fields` and, last, the field `list`.
    pub(super) fn after(fields: &Map<String, Value>, list: &str) -> serde_json::Result<Entries> {
        let mut bytes = vec![b'{'];
        for (name, value) in fields {
            serde_json::to_writer(&mut bytes, name)?;
            bytes.push(b':');
            serde_json::to_writer(&mut bytes, value)?;
            bytes.push(b',');
        }
        serde_json::to_writer(&mut bytes, list)?;
        bytes.extend(b":[");
        Ok(Entries(bytes))
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

    use super::Draft;
    use crate::model::{
        Arguments, Block, Cache, Message, Outcome, Part, Request, ToolCall, ToolResult,
    };
    use crate::provider::{Format, Provider};
    use crate::quirk::Quirks;
    use crate::wire::{self, Plan};

    fn called(path: &str) -> Message {
        let mut message = Message::assistant("");
        message.parts.push(Part::ToolCall(ToolCall {
            id: "c1".into(),
            name: "read_file".into(),
            arguments: Arguments::read(format!("{{\"path\": \"{path}\"}}")),
            signature: Some("s".into()),
        }));
        message
    }

    fn result(content: &str) -> Message {
        Message::results(vec![ToolResult {
            id: "c1".into(),
            name: "read_file".into(),
            content: content.into(),
            outcome: Outcome::Done,
        }])
    }

    fn marked(mut message: Message) -> Message {
        message.cache = Cache::UpToHere;
        message
    }

    fn conversation(messages: Vec<Message>) -> Request {
        let mut request = Request::ask("m", "");
        request.system = vec![Block::stable("be brief")];
        request.messages = messages;
        request
    }

    /// Sends the requests one after the other, and each one as the first.
    #[track_caller]
    fn check(requests: &[Request]) {
        let quirks = Quirks::new();
        for (format, provider) in [
            (Format::OpenAi, Provider::OpenAi),
            (Format::Anthropic, Provider::Anthropic),
            (Format::Gemini, Provider::Google),
        ] {
            let body = |request, draft: &mut Draft| -> Bytes {
                let plan = Plan {
                    request,
                    provider,
                    quirks: &quirks,
                    streamed: false,
                    force_tool: false,
                };
                let body = wire::of(format).body(&plan, draft);
                body.expect("the body is written")
            };
            let mut draft = Draft::default();
            for (index, request) in requests.iter().enumerate() {
                let next = body(request, &mut draft);
                let first = body(request, &mut Draft::default());
                assert_eq!(next, first, "{format:?}, request {index}");
                serde_json::from_slice::<serde_json::Value>(&next).expect("the body is JSON");
            }
        }
    }

    #[test]
    fn a_conversation_that_grows_is_written_as_if_at_once() {
        let question = || Message::user("read it");
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
        let begun = || vec![Message::user("read it"), called("a"), result("x")];
        let other = |change: fn(&mut Request)| {
            let mut request = conversation(begun());
            change(&mut request);
            request
        };
        for change in [
            (|request| request.model = "n".into()) as fn(&mut Request),
            |request| request.system.clear(),
            |request| request.system = vec![Block::text("be brief")],
            |request| request.messages.clear(),
            |request| request.messages[0] = Message::user("read at"),
            |request| request.messages[1] = called("b"),
            |request| request.messages[1] = Message::assistant(""),
            |request| request.messages.truncate(1),
            |request| request.messages[2].parts.push(Part::Text("and on".into())),
            |request| request.messages.remove(1).parts.clear(),
        ] {
            check(&[conversation(begun()), other(change), conversation(begun())]);
        }
    }

    #[test]
    fn a_mark_that_falls_away_later_is_taken_out() {
        let marks = |count: usize| {
            let messages = (0..count).map(|number| marked(Message::user(number.to_string())));
            conversation(messages.collect())
        };
        check(&[marks(3), marks(4), marks(6), marks(5)]);
    }

    #[test]
    fn a_body_on_its_way_is_not_written_into() {
        let quirks = Quirks::new();
        let mut draft = Draft::default();
        let mut bodies = Vec::new();
        let mut request = conversation(Vec::new());
        for number in 0..3 {
            request.messages.push(Message::user(number.to_string()));
            let plan = Plan {
                request: &request,
                provider: Provider::OpenAi,
                quirks: &quirks,
                streamed: false,
                force_tool: false,
            };
            let body = wire::of(Format::OpenAi).body(&plan, &mut draft);
            bodies.push(body.expect("the body is written"));
        }
        for body in bodies {
            serde_json::from_slice::<serde_json::Value>(&body).expect("the body is JSON");
        }
    }
}
