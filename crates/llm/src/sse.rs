//! Server-sent events from bytes, in whatever pieces the network cuts them.

/// One event: its `event:` name, if it has one, and its data lines joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub name: Option<String>,
    pub data: String,
}

/// Collects bytes into events. An event counts once the empty line after it is there.
#[derive(Default)]
pub(crate) struct SseDecoder {
    line: Vec<u8>,
    after_return: bool,
    started: bool,
    name: Option<String>,
    data: Vec<String>,
}

impl SseDecoder {
    /// Takes the next bytes and returns the events they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for &byte in bytes {
            // A line ends in \n, \r or \r\n, and the \n of the latter may come in the next piece.
            let ends_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if ends_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if std::mem::replace(&mut self.started, true) {
            &line
        } else {
            line.trim_start_matches('\u{feff}')
        };
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = Some(value.to_owned()),
            "data" => self.data.push(value.to_owned()),
            // Comments, ids and waits say nothing about an answer.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let name = self.name.take();
        let data = std::mem::take(&mut self.data);
        (!data.is_empty()).then(|| SseEvent {
            name,
            data: data.join("\n"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{SseDecoder, SseEvent};

    fn event(name: Option<&str>, data: &str) -> SseEvent {
        SseEvent {
            name: name.map(str::to_owned),
            data: data.to_owned(),
        }
    }

    /// The same events come out however the bytes are cut.
    #[track_caller]
    fn check(text: &str, expected: &[SseEvent]) {
        for size in 1..=text.len() {
            let mut decoder = SseDecoder::default();
            let events: Vec<_> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|piece| decoder.push(piece))
                .collect();
            assert_eq!(events, expected, "cut every {size} bytes");
        }
    }

    #[test]
    fn events_do_not_depend_on_how_the_network_cuts_them() {
        check(
            "\u{feff}event: a\ndata: {\"t\":\"ä→\"}\n\n: keep-alive\n\ndata:1\ndata: 2\n\ndata: [DONE]\n\n",
            &[
                event(Some("a"), "{\"t\":\"ä→\"}"),
                event(None, "1\n2"),
                event(None, "[DONE]"),
            ],
        );
        check(
            "data: a\r\n\r\nid: 4\rdata: b\r\rretry: 10\n\n",
            &[event(None, "a"), event(None, "b")],
        );
    }

    #[test]
    fn an_event_without_its_end_does_not_count() {
        check("data: a\n\ndata: half", &[event(None, "a")]);
        check("data: a\n", &[]);
    }
}
