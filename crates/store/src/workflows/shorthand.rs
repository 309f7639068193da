//! Shortens the documents of tasks and events before they are stored.
//!
//! Most of such a document is the same in every other one: names of fields, values that are rarely
//! set, and the id of its run. One control character replaces each of these pieces. JSON escapes
//! all control characters, so that none of them is ever part of a document itself, and expanding a
//! text that was not shortened changes nothing: rows of older versions are read as they are.

use std::borrow::Cow;

/// Replaces the id of the run.
const RUN: u8 = 0x01;

/// Pieces of text and the characters that replace them, in the order of replacement. A piece may
/// begin or end with the character of an earlier one. A character's meaning never changes, because
/// rows are kept for years.
pub(crate) struct TextShorthand(&'static [(u8, &'static str)]);

/// The pieces of event pages.
pub(crate) const EVENTS: TextShorthand = TextShorthand(&[
    (0x02, "{\"run\":\"\u{1}\",\"seq\":"),
    (0x03, ",\"at_ms\":"),
    (0x04, ",\"what\":{\"what\":\"task_moved\",\"task\":\"\u{1}/"),
    (
        0x05,
        ",\"what\":{\"what\":\"task_created\",\"task\":\"\u{1}/",
    ),
    (0x06, "\",\"by\":\"claim\",\"attempt\":1"),
    (0x07, "\",\"by\":\"complete\",\"attempt\":1"),
    (0x08, "\",\"by\":\""),
    (
        0x0b,
        "\",\"kind\":\"work\",\"begin\":\"pending\",\"from\":\"\u{1}/",
    ),
    (
        0x0c,
        "\",\"kind\":\"work\",\"begin\":\"pending\",\"from\":null",
    ),
    (0x0e, "\",\"kind\":\"work\",\"begin\":"),
    (
        0x0f,
        ",\"what\":{\"what\":\"item_started\",\"group\":\"\u{1}/",
    ),
    (
        0x10,
        ",\"what\":{\"what\":\"item_ended\",\"group\":\"\u{1}/",
    ),
    (0x11, "\",\"index\":"),
    (0x12, ",\"status\":\"succeeded\"}}"),
    (0x13, ",\"what\":{\"what\":\"decided\",\"decision\":\""),
    (0x14, ",\"evaluated\":[{\"condition\":\""),
    (0x15, ",\"what\":{\"what\":\"run_started\",\"workflow\":\""),
    (
        0x16,
        ",\"what\":{\"what\":\"run_ended\",\"status\":\"completed\",\"reason\":null}}",
    ),
    (0x17, ",\"what\":{\"what\":\""),
    (0x18, ",\"why\":\""),
    (0x19, ",\"attempt\":"),
    (0x1a, "\u{1}/"),
    (0x1b, "\"}},\u{2}"),
    (0x1c, "}},\u{2}"),
]);

/// The pieces of tasks.
pub(crate) const TASKS: TextShorthand = TextShorthand(&[
    (0x02, "{\"id\":\"\u{1}/"),
    (
        0x03,
        "\",\"kind\":\"work\",\"execution\":\"automated\",\"status\":\"completed\",\"from\":",
    ),
    (
        0x04,
        "\",\"kind\":\"work\",\"execution\":\"automated\",\"status\":\"",
    ),
    (
        0x05,
        "\",\"kind\":\"work\",\"execution\":\"manual\",\"status\":\"",
    ),
    (0x06, ",\"ready_ms\":"),
    (0x07, ",\"attempt\":1,\"fence\":1,\"lease\":null"),
    (0x08, ",\"attempt\":0,\"fence\":0,\"lease\":null"),
    (0x0b, ",\"lease\":{\"worker\":\""),
    (0x0c, "\",\"until_ms\":"),
    (
        0x0e,
        ",\"assignee\":null,\"fallen_back\":false,\"turns\":0,\"note\":null,\"output\":",
    ),
    (
        0x0f,
        ",\"fallen_back\":false,\"turns\":0,\"note\":null,\"output\":",
    ),
    (
        0x10,
        ",\"partial\":false,\"failure\":null,\"hold\":null,\"tags\":[]",
    ),
    (0x11, ",\"partial\":false,\"failure\":"),
    (0x12, ",\"hold\":null,\"tags\":[]"),
    (
        0x13,
        ",\"arrivals\":[],\"passed\":[],\"spent\":{\"tokens\":0,\"micros\":0},\"created_ms\":",
    ),
    (
        0x14,
        ",\"arrivals\":[],\"passed\":[],\"spent\":{\"tokens\":",
    ),
    (0x15, ",\"ended_ms\":"),
    (0x16, ",\"created_ms\":"),
    (0x17, "null"),
    (0x18, "\u{1}/"),
]);

impl TextShorthand {
    /// Shortens the document of a run.
    pub(crate) fn shorten(&self, run: &str, document: &str) -> String {
        let mut text = match run.is_empty() {
            true => document.to_owned(),
            false => document.replace(run, "\u{1}"),
        };
        for (mark, piece) in self.0 {
            if text.contains(piece) {
                text = text.replace(piece, char::from(*mark).encode_utf8(&mut [0; 4]));
            }
        }
        text
    }

    /// Shortens it with the id of the run in front, for documents that are read without knowing the
    /// run.
    pub(crate) fn shorten_whole(&self, run: &str, document: &str) -> String {
        match run.bytes().any(|byte| byte < 0x20) {
            true => document.to_owned(),
            false => format!("{run}\u{1f}{}", self.shorten(run, document)),
        }
    }

    /// Restores a text that [`TextShorthand::shorten_whole`] wrote, and returns any other document
    /// unchanged.
    pub(crate) fn expand_whole<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match text.split_once('\u{1f}') {
            Some((run, short)) => self.expand(run, short),
            None => Cow::Borrowed(text),
        }
    }

    /// Restores the document.
    pub(crate) fn expand<'t>(&self, run: &str, text: &'t str) -> Cow<'t, str> {
        if !text.bytes().any(|byte| byte < 0x20) {
            return Cow::Borrowed(text);
        }
        let mut document = String::with_capacity(text.len() * 4);
        self.write_out(run, text, &mut document);
        Cow::Owned(document)
    }

    fn write_out(&self, run: &str, mut text: &str, document: &mut String) {
        while let Some(at) = text.bytes().position(|byte| byte < 0x20) {
            document.push_str(&text[..at]);
            let mark = text.as_bytes()[at];
            match self.0.iter().find(|(known, _)| *known == mark) {
                _ if mark == RUN => document.push_str(run),
                Some((_, piece)) => self.write_out(run, piece, document),
                // Not one of our characters: a document that a person has laid out over several
                // lines.
                None => document.push(char::from(mark)),
            }
            text = &text[at + 1..];
        }
        document.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shorthand: &TextShorthand, run: &str, document: &str) -> usize {
        let short = shorthand.shorten(run, document);
        assert_eq!(shorthand.expand(run, &short), document);
        let whole = shorthand.shorten_whole(run, document);
        assert_eq!(shorthand.expand_whole(&whole), document);
        assert_eq!(shorthand.expand_whole(document), document);
        short.len()
    }

    #[test]
    fn shortened_text_is_read_back_unchanged() {
        for document in [
            "",
            "{}",
            "null",
            "{\"run\":\"r1\",\"seq\":1,\"at_ms\":5,\"what\":{\"what\":\"task_moved\",\"task\":\"r1/A\",\"by\":\"claim\",\"attempt\":1}}",
            "[{\"a\":\"\\u0001 r1/ \\n\"},{\"why\":\"null \\u0003\"}]",
            "{\"text\":\",\\\"at_ms\\\":\"}",
            "{ \"laid\":\n\t\"out\" }",
        ] {
            for run in ["r1", "", "a", "\""] {
                check(&EVENTS, run, document);
                check(&TASKS, run, document);
            }
        }
    }

    #[test]
    fn a_document_of_an_older_version_is_read_as_it_is() {
        let old = "{\"run\":\"r1\",\"seq\":1}";
        assert!(matches!(EVENTS.expand("r1", old), Cow::Borrowed(text) if text == old));
    }

    #[test]
    fn usual_events_and_tasks_are_a_fourth_of_their_length() {
        let run = "19a8c0ffee1234567";
        let event = format!(
            "{{\"run\":\"{run}\",\"seq\":12,\"at_ms\":1763420000000,\"what\":{{\"what\":\"task_moved\",\"task\":\"{run}/A\",\"by\":\"complete\",\"attempt\":1}}}}"
        );
        assert!(check(&EVENTS, run, &event) * 4 < event.len());
        let task = format!(
            "{{\"id\":\"{run}/A\",\"kind\":\"work\",\"execution\":\"automated\",\"status\":\"completed\",\"from\":null,\"ready_ms\":1763420000000,\"attempt\":1,\"fence\":1,\"lease\":null,\"assignee\":null,\"fallen_back\":false,\"turns\":0,\"note\":null,\"output\":{{}},\"partial\":false,\"failure\":null,\"hold\":null,\"tags\":[],\"arrivals\":[],\"passed\":[],\"spent\":{{\"tokens\":0,\"micros\":0}},\"created_ms\":1763420000000,\"ended_ms\":1763420000000}}"
        );
        assert!(check(&TASKS, run, &task) * 4 < task.len());
    }
}
