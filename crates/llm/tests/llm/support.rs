//! What all tests share: clients with short limits, an observer that remembers, and the hunt for keys.

use std::sync::Mutex;
use std::time::Duration;

use llm::{
    Error, Limits, MessagePart, Model, ModelEvent, ModelObserver, ModelRequest, ModelResponse,
    Provider, ProviderClient, ProviderEndpoint, Secret,
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

pub(crate) fn endpoint(provider: Provider, base_url: &str) -> ProviderEndpoint {
    let mut endpoint = ProviderEndpoint::new(provider, Some(Secret::new(KEY)));
    endpoint.base_url = Some(base_url.to_owned());
    endpoint
}

pub(crate) fn client(provider: Provider, base_url: &str) -> ProviderClient {
    ProviderClient::new(&endpoint(provider, base_url), LIMITS).unwrap()
}

/// The providers that stand for the three formats.
pub(crate) const FORMATS: [Provider; 3] = [Provider::Anthropic, Provider::OpenAi, Provider::Google];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamMode {
    Whole,
    Streamed,
}

pub(crate) const MODES: [StreamMode; 2] = [StreamMode::Whole, StreamMode::Streamed];

/// Remembers what it was told, as lines.
pub(crate) struct ModelWatcher {
    pub(crate) mode: StreamMode,
    pub(crate) seen: Vec<String>,
}

impl ModelWatcher {
    pub(crate) fn new(mode: StreamMode) -> ModelWatcher {
        ModelWatcher {
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

impl ModelObserver for ModelWatcher {
    fn wants_stream(&self) -> bool {
        self.mode == StreamMode::Streamed
    }

    fn notice(&mut self, event: ModelEvent<'_>) {
        let seen = match event {
            ModelEvent::Text(text) => format!("text {text}"),
            ModelEvent::Reasoning(text) => format!("thought {text}"),
            ModelEvent::ToolCall { name } => format!("call {name}"),
            ModelEvent::ToolArguments(text) => format!("arguments {text}"),
            ModelEvent::Waiting {
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
            ModelEvent::Adapted { without } => format!("adapted without {without}"),
            ModelEvent::Fallback { from, to, error } => format!("fallback {from} -> {to}: {error}"),
            // The counts are asserted on the meter.
            ModelEvent::Counted(_) => return,
        };
        self.seen.push(seen);
    }
}

/// Asks, and makes sure that no key is in anything that could be shown or stored.
pub(crate) async fn ask(
    model: &dyn Model,
    request: &ModelRequest,
    watcher: &mut ModelWatcher,
) -> Result<ModelResponse, Error> {
    LogListener::listen();
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
struct LogListener(Mutex<Vec<String>>);

static LISTENER: LogListener = LogListener(Mutex::new(Vec::new()));

impl LogListener {
    fn listen() {
        // Fails from the second test on, when it listens already.
        let _ = log::set_logger(&LISTENER);
        log::set_max_level(log::LevelFilter::Trace);
    }
}

impl log::Log for LogListener {
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
pub(crate) fn show(response: &ModelResponse) -> String {
    let mut lines: Vec<_> = response
        .parts
        .iter()
        .map(|part| match part {
            MessagePart::Text(text) => format!("text {text}"),
            MessagePart::Reasoning(reasoning) => {
                let block = reasoning.block.as_ref().map(|(_, block)| block.to_string());
                format!("thought {} {}", reasoning.text, block.unwrap_or_default())
                    .trim_end()
                    .to_owned()
            }
            MessagePart::ToolCall(call) => {
                let valid = if call.arguments.value().is_ok() {
                    "call"
                } else {
                    "malformed call"
                };
                format!("{valid} {} {} {}", call.id, call.name, call.arguments.raw())
            }
            MessagePart::ToolResult(_) => panic!("models give no tool results"),
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
