//! Traces for OpenTelemetry: one for each run, with a span for each attempt and each call of a model.
//!
//! They are made from the one stream of events, so that they cover every worker on the same database. No
//! prompt, no reply, no input and no message of a failure is in them: names, times, counts and words from
//! fixed lists only. By hand, because OTLP allows JSON, and the official crates bring tonic and protobuf.

mod spans;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use app::App;
use flow::engine::{EventKind, RunEvent, StatusMove};
use flow::{RunId, TaskId};
use reqwest::{Client, Url, redirect};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// The most events that wait to become spans; more are dropped and counted.
const EVENTS_WAITING_MAX: usize = 4_096;
/// The most spans in one message.
const BATCH_SPANS_MAX: usize = 256;
/// How long a span waits for others at most.
const BATCH_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long the collector may take.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long the last message may take when the server stops.
const LAST_WAIT_MAX: Duration = Duration::from_secs(2);
/// The most attempts whose beginnings are kept in memory.
const ATTEMPTS_KEPT_MAX: usize = 100_000;

/// The address that traces are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceCollector(Url);

impl TraceCollector {
    /// Reads the address of a collector, such as `http://127.0.0.1:4318`.
    pub fn read(text: &str) -> Option<TraceCollector> {
        let mut url = Url::parse(text).ok()?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return None;
        }
        let base = url.path().trim_end_matches('/').to_owned();
        if !base.ends_with("/v1/traces") {
            url.set_path(&format!("{base}/v1/traces"));
        }
        Some(TraceCollector(url))
    }
}

/// Counts of spans since the process began.
#[derive(Debug, Default)]
pub(crate) struct SpanCounts {
    sent: AtomicU64,
    /// Spans that the collector has not taken.
    failed: AtomicU64,
    /// Events for which there was no room.
    dropped: AtomicU64,
}

impl SpanCounts {
    /// Sent, failed and dropped.
    pub(crate) fn read(&self) -> [u64; 3] {
        [&self.sent, &self.failed, &self.dropped].map(|count| count.load(Ordering::Relaxed))
    }
}

/// The way of events to the collector. It never waits.
#[derive(Clone, Debug)]
pub(crate) struct TraceQueue {
    events: mpsc::Sender<RunEvent>,
    counts: Arc<SpanCounts>,
    /// Wakes the sender for its last message.
    end: Arc<Notify>,
}

impl TraceQueue {
    /// Starts to send; the task ends with the queue.
    pub(crate) fn start(
        app: App,
        collector: &TraceCollector,
        counts: Arc<SpanCounts>,
    ) -> Option<(TraceQueue, JoinHandle<()>)> {
        // Fails only when one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let built = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(ANSWER_WAIT_MAX)
            .user_agent(concat!("drawloom/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = match built {
            Ok(client) => client,
            Err(cause) => {
                let cause = cause.to_string();
                tracing::error!(cause = cause.as_str(), "traces cannot be sent");
                return None;
            }
        };
        let (events, waiting) = mpsc::channel(EVENTS_WAITING_MAX);
        let end = Arc::new(Notify::new());
        let sender = SpanSender {
            app,
            client,
            address: collector.0.clone(),
            counts: Arc::clone(&counts),
            begun: HashMap::new(),
            batch: Vec::new(),
            was_taken: true,
        };
        let task = tokio::spawn(sender.run(waiting, Arc::clone(&end)));
        let queue = TraceQueue {
            events,
            counts,
            end,
        };
        Some((queue, task))
    }

    /// Has the sender send what waits, and end.
    pub(crate) fn close(&self) {
        self.end.notify_one();
    }

    /// Takes an event, if there is room.
    pub(crate) fn add(&self, event: &RunEvent) {
        let is_of_span = matches!(
            event.what,
            EventKind::TaskMoved { .. } | EventKind::RunEnded { .. }
        );
        if is_of_span && self.events.try_send(event.clone()).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct SpanSender {
    app: App,
    client: Client,
    address: Url,
    counts: Arc<SpanCounts>,
    /// The begin times of attempts that are in progress.
    begun: HashMap<TaskId, u64>,
    batch: Vec<Value>,
    /// False after a message that the collector has not taken, so that the log says it once.
    was_taken: bool,
}

impl SpanSender {
    async fn run(mut self, mut waiting: mpsc::Receiver<RunEvent>, end: Arc<Notify>) {
        let mut pause = tokio::time::interval(BATCH_WAIT_MAX);
        loop {
            tokio::select! {
                event = waiting.recv() => match event {
                    Some(event) => self.take(&event).await,
                    None => break,
                },
                _ = pause.tick() => self.send().await,
                () = end.notified() => break,
            }
            if self.batch.len() >= BATCH_SPANS_MAX {
                self.send().await;
            }
        }
        let last = async {
            while let Ok(event) = waiting.try_recv() {
                self.take(&event).await;
            }
            self.send().await;
        };
        let _ = tokio::time::timeout(LAST_WAIT_MAX, last).await;
    }

    async fn take(&mut self, event: &RunEvent) {
        match &event.what {
            EventKind::TaskMoved { task, by, .. } => match by {
                StatusMove::Claim | StatusMove::TakeUp => {
                    if self.begun.len() >= ATTEMPTS_KEPT_MAX {
                        self.begun.clear();
                    }
                    self.begun.insert(task.clone(), event.at_ms);
                }
                by if by.from() == flow::engine::TaskStatus::InProgress => {
                    self.end_attempt(task, event).await;
                }
                _ => {}
            },
            EventKind::RunEnded { .. } => self.end_run(&event.run, event).await,
            _ => {}
        }
    }

    async fn end_attempt(&mut self, task: &TaskId, event: &RunEvent) {
        let terminal = self.app.acting(self.app.terminal());
        // Without its calls, the span of an attempt is still of use.
        let calls = terminal.calls(task).await.unwrap_or_default();
        let of_attempt: Vec<_> = calls.iter().filter(|row| row.seq == event.seq).collect();
        let first_call = of_attempt.iter().map(|row| row.call.begun_ms).min();
        let begun = self.begun.remove(task).or(first_call);
        self.batch
            .extend(spans::of_attempt(event, begun.unwrap_or(event.at_ms)));
        self.batch
            .extend(of_attempt.iter().map(|row| spans::of_call(row)));
    }

    async fn end_run(&mut self, run: &RunId, event: &RunEvent) {
        let terminal = self.app.acting(self.app.terminal());
        if let Ok(row) = terminal.find(&run.to_string()).await {
            self.batch.push(spans::of_run(&row, event));
        }
    }

    async fn send(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return;
        }
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let sent = self
            .client
            .post(self.address.clone())
            .header("content-type", "application/json")
            .body(spans::message(batch).to_string())
            .send()
            .await
            .and_then(reqwest::Response::error_for_status);
        match sent {
            Ok(_) => {
                self.counts.sent.fetch_add(count, Ordering::Relaxed);
                self.was_taken = true;
            }
            Err(cause) => {
                self.counts.failed.fetch_add(count, Ordering::Relaxed);
                if std::mem::replace(&mut self.was_taken, false) {
                    let cause = cause.without_url().to_string();
                    tracing::warn!(cause = cause.as_str(), "the collector takes no traces");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flow::engine::RunStatus;

    use super::*;

    #[test]
    fn the_address_of_a_collector_is_read() {
        for (text, expected) in [
            (
                "http://127.0.0.1:4318",
                Some("http://127.0.0.1:4318/v1/traces"),
            ),
            (
                "https://c.example.org/a/",
                Some("https://c.example.org/a/v1/traces"),
            ),
            ("http://c/v1/traces", Some("http://c/v1/traces")),
            ("c.example.org", None),
            ("grpc://c:4317", None),
        ] {
            let read = TraceCollector::read(text).map(|collector| collector.0.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn events_for_which_there_is_no_room_are_counted() {
        let (events, _waiting) = mpsc::channel(2);
        let queue = TraceQueue {
            events,
            counts: Arc::default(),
            end: Arc::default(),
        };
        for seq in 1..=5 {
            queue.add(&RunEvent {
                run: RunId::new("r"),
                seq,
                at_ms: 0,
                what: EventKind::RunEnded {
                    status: RunStatus::Completed,
                    reason: None,
                },
            });
        }
        assert_eq!(queue.counts.read(), [0, 0, 3]);
    }
}
