//! What all tests share: clients with short limits, an observer that remembers, and the hunt for keys.

use std::sync::Mutex;
use std::time::Duration;

use llm::{
    Client, Endpoint, Error, Event, Limits, Model, Observer, Part, Provider, Request, Response,
    Secret,
};

/// The key of every test. It must never be seen outside a request's header.
pub(crate) const KEY: &str = "sk-test-1234567890-SECRET/+=";

pub(crate) const LIMITS: Limits = Limits {
    connect_ms_max: 2_000,
    silence_ms_max: 800,
    call_ms_max: 2_000,
    response_bytes_max: 256 * 1024,
};

/// No fault may take longer than this, whatever the server does.
pub(crate) const FAULT_MS_MAX: u128 = 8_000;

pub(crate) fn endpoint(provider: Provider, base_url: &str) -> Endpoint {
    let mut endpoint = Endpoint::new(provider, Some(Secret::new(KEY)));
    endpoint.base_url = Some(base_url.to_owned());
    endpoint
}

pub(crate) fn client(provider: Provider, base_url: &str) -> Client {
    Client::new(&endpoint(provider, base_url), LIMITS).unwrap()
}

/// The providers that stand for the three formats.
pub(crate) const FORMATS: [Provider; 3] = [Provider::Anthropic, Provider::OpenAi, Provider::Google];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Whole,
    Streamed,
}

pub(crate) const MODES: [Mode; 2] = [Mode::Whole, Mode::Streamed];

/// Remembers what it was told, as lines.
pub(crate) struct Watcher {
    pub(crate) mode: Mode,
    pub(crate) seen: Vec<String>,
}

impl Watcher {
    pub(crate) fn new(mode: Mode) -> Watcher {
        Watcher {
            mode,
            seen: Vec::new(),
        }
    }

    /// The text of all text events.
    pub(crate) fn text(&self) -> String {
        self.seen
            .iter()
            .filter_map(|line| line.strip_prefix("text "))
            .collect()
    }
}

impl Observer for Watcher {
    fn wants_stream(&self) -> bool {
        self.mode == Mode::Streamed
    }

    fn notice(&mut self, event: Event<'_>) {
        let seen = match event {
            Event::Text(text) => format!("text {text}"),
            Event::Reasoning(text) => format!("thought {text}"),
            Event::ToolCall { name } => format!("call {name}"),
            Event::ToolArguments(text) => format!("arguments {text}"),
            Event::Waiting {
                attempt,
                attempts_max,
                wait,
                error,
            } => {
                format!(
                    "waiting {attempt}/{attempts_max} {} ms {}: {error}",
                    wait.as_millis(),
                    error.code
                )
            }
            Event::Adapted { without } => format!("adapted without {without}"),
            Event::Fallback { from, to, error } => format!("fallback {from} -> {to}: {error}"),
            // What is counted is asserted on the meter.
            Event::Counted(_) => return,
        };
        self.seen.push(seen);
    }
}

/// Asks, and makes sure that no key is in anything that could be shown or stored.
pub(crate) async fn ask(
    model: &dyn Model,
    request: &Request,
    watcher: &mut Watcher,
) -> Result<Response, Error> {
    Listener::listen();
    let answer =
        tokio::time::timeout(Duration::from_secs(300), model.respond(request, watcher)).await;
    let answer = answer.expect("a call takes no longer than its limits");
    let shown = match &answer {
        Ok(response) => format!("{response:?} {}", serde_json::to_string(response).unwrap()),
        Err(error) => format!("{error} {error:?}"),
    };
    assert_no_key(&shown);
    assert_no_key(&watcher.seen.join("\n"));
    assert_eq!(
        *LISTENER.0.lock().unwrap(),
        Vec::<String>::new(),
        "the key is in the log"
    );
    answer
}

/// Reads every log line of every crate below, at the most talkative level, and keeps those with
/// a key in them.
struct Listener(Mutex<Vec<String>>);

static LISTENER: Listener = Listener(Mutex::new(Vec::new()));

impl Listener {
    fn listen() {
        // Fails from the second test on, when it listens already.
        let _ = log::set_logger(&LISTENER);
        log::set_max_level(log::LevelFilter::Trace);
    }
}

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}", record.target(), record.args());
        if has_key(&line) {
            self.0.lock().unwrap().push(line);
        }
    }

    fn flush(&self) {}
}

#[track_caller]
pub(crate) fn assert_no_key(text: &str) {
    assert!(!has_key(text), "the key is in: {text}");
}

fn has_key(text: &str) -> bool {
    let forms = [
        KEY,
        "1234567890-SECRET",
        "1234567890%2DSECRET",
        "SECRET/+=",
        "SECRET%2F%2B%3D",
    ];
    forms.iter().any(|form| text.contains(form))
}

/// A response on one line per part, to compare with.
pub(crate) fn show(response: &Response) -> String {
    let mut lines: Vec<_> = response
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => format!("text {text}"),
            Part::Reasoning(reasoning) => {
                let block = reasoning.block.as_ref().map(|(_, block)| block.to_string());
                format!("thought {} {}", reasoning.text, block.unwrap_or_default())
                    .trim_end()
                    .to_owned()
            }
            Part::ToolCall(call) => {
                let valid = if call.arguments.value().is_ok() {
                    "call"
                } else {
                    "malformed call"
                };
                format!("{valid} {} {} {}", call.id, call.name, call.arguments.raw())
            }
            Part::ToolResult(_) => panic!("models give no tool results"),
        })
        .collect();
    let usage = response.usage;
    lines.push(format!(
        "{:?} in {} out {} read {} write {} thinking {}",
        response.stop,
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning
    ));
    lines.push(format!(
        "{} {}",
        response.model,
        response.id.as_deref().unwrap_or("-")
    ));
    lines.join("\n")
}
