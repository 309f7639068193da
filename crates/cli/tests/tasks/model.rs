//! A model that says what the test wrote down, over real HTTP, in each of the three formats.
//!
//! What it says depends only on how often it has answered in the conversation it is sent, as with
//! a model that does not remember: a run that is gone on with gets the answers it would have got.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The formats, by the provider that stands for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptedFormat {
    Anthropic,
    OpenAi,
    Google,
}

pub(crate) const FORMATS: [ScriptedFormat; 3] = [
    ScriptedFormat::Anthropic,
    ScriptedFormat::OpenAi,
    ScriptedFormat::Google,
];

impl ScriptedFormat {
    pub(crate) fn provider(self) -> &'static str {
        match self {
            ScriptedFormat::Anthropic => "anthropic",
            ScriptedFormat::OpenAi => "openai",
            ScriptedFormat::Google => "google",
        }
    }
}

/// One answer.
#[derive(Clone, Debug)]
pub(crate) enum ScriptedLine {
    Text(&'static str),
    /// Calls of tools: names and arguments.
    Calls(Vec<(&'static str, Value)>),
    /// No answer at all: the status and the body of an error.
    Fails(u16),
    /// The answer comes only after so many milliseconds.
    Slowly(u64, Box<ScriptedLine>),
}

/// A conversation is known by a text in it; the first that fits is meant.
pub(crate) type ModelScript = Vec<(&'static str, Vec<ScriptedLine>)>;

pub(crate) struct FakeProvider {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Value>>>,
}

impl FakeProvider {
    /// One conversation, whatever is in it.
    pub(crate) fn saying(format: ScriptedFormat, answers: Vec<ScriptedLine>) -> FakeProvider {
        FakeProvider::start(format, vec![("", answers)])
    }

    pub(crate) fn start(format: ScriptedFormat, script: ModelScript) -> FakeProvider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        // Ends with the test program.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (log, script) = (Arc::clone(&log), script.clone());
                thread::spawn(move || serve(stream, format, &script, &log));
            }
        });
        FakeProvider { url, received }
    }

    /// The bodies of all requests, in the order they came.
    pub(crate) fn received(&self) -> Vec<Value> {
        self.received.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    format: ScriptedFormat,
    script: &ModelScript,
    log: &Mutex<Vec<Value>>,
) {
    let Some(body) = receive(&mut stream) else {
        return;
    };
    log.lock().unwrap().push(body.clone());
    let text = body.to_string();
    let answers = script.iter().find(|(mark, _)| text.contains(mark));
    let answers = &answers
        .unwrap_or_else(|| panic!("nobody expected: {text}"))
        .1;
    let turn = turns(format, &body);
    let say = answers.get(turn).or(answers.last()).unwrap().clone();
    let say = match say {
        ScriptedLine::Slowly(ms, say) => {
            thread::sleep(Duration::from_millis(ms));
            *say
        }
        say => say,
    };
    let streams = body["stream"] == true;
    let (status, body) = match &say {
        ScriptedLine::Fails(status) => (*status, json!({"error": {"message": "scripted failure"}})),
        say => (200, answer(format, say, turn)),
    };
    let (kind, body) = match streams && status == 200 {
        true => ("text/event-stream", streamed(&body)),
        false => ("application/json", body.to_string()),
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: {kind}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    // The peer may be dead by now, which some tests want.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body.as_bytes()));
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read(&mut [0; 64]);
}

/// How often the model has answered so far.
fn turns(format: ScriptedFormat, body: &Value) -> usize {
    let (list, role) = match format {
        ScriptedFormat::Anthropic | ScriptedFormat::OpenAi => ("messages", "assistant"),
        ScriptedFormat::Google => ("contents", "model"),
    };
    let messages = body[list].as_array().unwrap();
    messages
        .iter()
        .filter(|message| message["role"] == role)
        .count()
}

fn answer(format: ScriptedFormat, say: &ScriptedLine, turn: usize) -> Value {
    let (text, calls) = match say {
        ScriptedLine::Text(text) => (*text, &[][..]),
        ScriptedLine::Calls(calls) => ("", calls.as_slice()),
        ScriptedLine::Fails(_) | ScriptedLine::Slowly(..) => panic!("these are no answers"),
    };
    let id = |index: usize| format!("call-{turn}-{index}");
    match format {
        ScriptedFormat::Anthropic => {
            let mut content = Vec::new();
            if !text.is_empty() {
                content.push(json!({"type": "text", "text": text}));
            }
            for (index, (name, input)) in calls.iter().enumerate() {
                content.push(
                    json!({"type": "tool_use", "id": id(index), "name": name, "input": input}),
                );
            }
            let stop = if calls.is_empty() {
                "end_turn"
            } else {
                "tool_use"
            };
            json!({"id": "m", "type": "message", "model": "m", "content": content,
                "stop_reason": stop, "usage": {"input_tokens": 100, "output_tokens": 10}})
        }
        ScriptedFormat::OpenAi => {
            let tools: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(index, (name, input))| {
                    json!({"id": id(index), "type": "function",
                        "function": {"name": name, "arguments": input.to_string()}})
                })
                .collect();
            let mut message = json!({"role": "assistant", "content": text});
            if !tools.is_empty() {
                message["tool_calls"] = Value::Array(tools);
            }
            let finish = if calls.is_empty() {
                "stop"
            } else {
                "tool_calls"
            };
            json!({"id": "m", "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10}})
        }
        ScriptedFormat::Google => {
            let mut parts = Vec::new();
            if !text.is_empty() {
                parts.push(json!({"text": text}));
            }
            for (name, input) in calls {
                parts.push(json!({"functionCall": {"name": name, "args": input}}));
            }
            json!({"candidates": [{"content": {"role": "model", "parts": parts},
                    "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10},
                "modelVersion": "m", "responseId": "m"})
        }
    }
}

/// An answer in OpenAI's format as a stream; the other formats are tried without.
fn streamed(whole: &Value) -> String {
    let choice = &whole["choices"][0];
    let mut delta = choice["message"].clone();
    if let Some(calls) = delta["tool_calls"].as_array_mut() {
        for (index, call) in calls.iter_mut().enumerate() {
            call["index"] = json!(index);
        }
    }
    let event = |choices: Value, usage: &Value| json!({"id": "m", "model": "m", "choices": choices, "usage": usage});
    let events = [
        event(json!([{"index": 0, "delta": delta}]), &Value::Null),
        event(
            json!([{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]),
            &Value::Null,
        ),
        event(json!([]), &whole["usage"]),
    ];
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    lines.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

fn receive(stream: &mut TcpStream) -> Option<Value> {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .ok()?;
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    let head = loop {
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend(&piece[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length?.trim().parse().ok()?;
    let mut body = bytes[head + 4..].to_vec();
    while body.len() < length {
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        body.extend(&piece[..count]);
    }
    serde_json::from_slice(&body).ok()
}
