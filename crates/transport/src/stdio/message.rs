//! Parses a line of the subprocess.

use llm::AiErrorCode;
use serde_json::Value;

use super::PROTOCOL;

/// The meaning of a line for the current request.
#[derive(Debug, PartialEq)]
pub(super) enum StdioMessage {
    Answers(Value),
    /// The program cannot answer; `code` is set if it named one of this crate's codes.
    Failed {
        code: Option<AiErrorCode>,
        message: String,
    },
    /// The program is still working.
    Alive(String),
    Log(String),
    /// Not a message, or one of another request.
    Noise(String),
}

/// Reads a line for request `id`; the error is the version of another protocol.
pub(super) fn read(line: &str, id: u64) -> Result<StdioMessage, String> {
    let noise = || Ok(StdioMessage::Noise(line.to_owned()));
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(line) else {
        return noise();
    };
    let text = |name: &str| {
        let field = fields.get(name).and_then(Value::as_str);
        field.unwrap_or_default().to_owned()
    };
    // A program that has one request at a time may leave the id out.
    let ours = fields.get("id").is_none_or(|given| given == id);
    match fields.get("type").and_then(Value::as_str) {
        Some("hello") => match fields.get("protocol") {
            Some(version) if version != PROTOCOL => Err(version.to_string()),
            _ => Ok(StdioMessage::Alive(format!(
                "{} is there",
                named(&text("name"))
            ))),
        },
        Some("answers") if ours => Ok(StdioMessage::Answers(
            fields.remove("answers").unwrap_or_default(),
        )),
        Some("error") if ours => {
            let code = text("code");
            Ok(StdioMessage::Failed {
                code: AiErrorCode::ALL
                    .into_iter()
                    .find(|known| known.as_str() == code),
                message: text("message"),
            })
        }
        Some("progress") if ours => Ok(StdioMessage::Alive(text("message"))),
        Some("log") => Ok(StdioMessage::Log(text("message"))),
        _ => noise(),
    }
}

fn named(name: &str) -> &str {
    if name.is_empty() { "it" } else { name }
}

#[cfg(test)]
mod tests {
    use super::{StdioMessage, read};
    use llm::AiErrorCode;
    use serde_json::json;

    #[track_caller]
    fn check(line: &str, expected: Result<StdioMessage, &str>) {
        assert_eq!(read(line, 7), expected.map_err(str::to_owned), "{line}");
    }

    #[test]
    fn lines_are_messages_or_noise() {
        let noise = |line: &str| Ok(StdioMessage::Noise(line.to_owned()));
        check(
            r#"{"type":"answers","id":7,"answers":{"a":1}}"#,
            Ok(StdioMessage::Answers(json!({ "a": 1 }))),
        );
        check(
            r#"{"type":"answers","answers":{"a":1}}"#,
            Ok(StdioMessage::Answers(json!({ "a": 1 }))),
        );
        check(
            r#"{"type":"error","id":7,"message":"no","code":"AI_RATE_LIMITED"}"#,
            Ok(StdioMessage::Failed {
                code: Some(AiErrorCode::RateLimited),
                message: "no".to_owned(),
            }),
        );
        check(
            r#"{"type":"progress","id":7,"message":"half"}"#,
            Ok(StdioMessage::Alive("half".to_owned())),
        );
        check(r#"{"type":"hello","protocol":2}"#, Err("2"));
        check(
            r#"{"type":"hello","protocol":1,"name":"x"}"#,
            Ok(StdioMessage::Alive("x is there".to_owned())),
        );
        for line in [
            "",
            "Loading…",
            "[1]",
            r#"{"type":"answers","id":6,"answers":{}}"#,
            r#"{"type":"unheard"}"#,
        ] {
            check(line, noise(line));
        }
    }
}
