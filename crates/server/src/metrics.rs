//! Numbers about the server and its work, as Prometheus reads them.
//!
//! Requests are counted where they are answered. Work is counted from the one stream of events, so that
//! the numbers cover every worker on the same database, since this process began.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flow::engine::{EventKind, InitialStatus, RunEvent, StatusMove};

use crate::telemetry::SpanCounts;

/// The upper ends of the buckets of times, in seconds.
const BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0,
];
/// The most tasks whose beginnings are remembered; beyond it the oldest knowledge is thrown away.
const REMEMBERED_MAX: usize = 100_000;

/// Everything that is counted in this process.
pub(crate) struct ServerMetrics {
    begun: Instant,
    under_way: AtomicU64,
    requests: Mutex<RequestCounts>,
    work: Mutex<WorkCounts>,
    /// Shared with the sender of traces.
    pub(crate) spans: Arc<SpanCounts>,
}

#[derive(Default)]
struct RequestCounts {
    /// By method, route and status.
    answered: BTreeMap<(String, String, u16), u64>,
    /// By route.
    times: BTreeMap<String, TimeBuckets>,
}

/// Counts of work since the process began.
#[derive(Default)]
struct WorkCounts {
    events: BTreeMap<&'static str, u64>,
    runs_ended: BTreeMap<&'static str, u64>,
    attempts_ended: BTreeMap<&'static str, u64>,
    failures: BTreeMap<&'static str, u64>,
    tokens: u64,
    micros: u64,
    queue_wait: TimeBuckets,
    attempt_time: TimeBuckets,
    /// The time at which a task became ready, or was claimed, by its name.
    ready_ms: HashMap<String, u64>,
    claimed_ms: HashMap<String, u64>,
}

/// A histogram of times.
#[derive(Clone, Debug, Default)]
struct TimeBuckets {
    counts: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

impl TimeBuckets {
    fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.seconds += seconds;
        for (count, end) in self.counts.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= end);
        }
    }

    fn add_ms(&mut self, ms: u64) {
        self.add(Duration::from_millis(ms).as_secs_f64());
    }
}

/// A request that is being answered, for as long as it lives.
pub(crate) struct RequestUnderWay<'a>(&'a AtomicU64);

impl Drop for RequestUnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ServerMetrics {
    pub(crate) fn new() -> ServerMetrics {
        ServerMetrics {
            begun: Instant::now(),
            under_way: AtomicU64::new(0),
            requests: Mutex::default(),
            work: Mutex::default(),
            spans: Arc::default(),
        }
    }

    pub(crate) fn begin_request(&self) -> RequestUnderWay<'_> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        RequestUnderWay(&self.under_way)
    }

    pub(crate) fn count_request(&self, (method, route, status): (&str, &str, u16), took: Duration) {
        // A client can send a method of its own: those share one series.
        let method = match method {
            "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => method,
            _ => "OTHER",
        };
        let mut counts = locked(&self.requests);
        let series = (method.to_owned(), route.to_owned(), status);
        *counts.answered.entry(series).or_default() += 1;
        let times = counts.times.entry(route.to_owned()).or_default();
        times.add(took.as_secs_f64());
    }

    /// Counts an event of a run.
    pub(crate) fn count_event(&self, event: &RunEvent) {
        let mut work = locked(&self.work);
        work.count(event);
    }

    /// Writes everything in Prometheus' text format, after the gauges that were looked up for it.
    pub(crate) fn render(&self, gauges: &[MetricGauge]) -> String {
        let mut text = MetricText::default();
        for gauge in gauges {
            text.head(gauge.name, "gauge", gauge.help);
            for (labels, value) in &gauge.values {
                text.value(gauge.name, labels, *value);
            }
        }
        let up = self.begun.elapsed().as_secs_f64();
        text.head("drawloom_up_seconds", "gauge", "Time since the start.");
        text.value("drawloom_up_seconds", "", up);
        self.render_requests(&mut text);
        self.render_work(&mut text);
        self.render_spans(&mut text);
        text.0
    }

    fn render_spans(&self, text: &mut MetricText) {
        let [sent, failed, dropped] = self.spans.read();
        let name = "drawloom_trace_spans_total";
        text.head(
            name,
            "counter",
            "Spans of traces, by what the collector did.",
        );
        text.value(name, "outcome=\"sent\"", number(sent));
        text.value(name, "outcome=\"failed\"", number(failed));
        let name = "drawloom_trace_events_dropped_total";
        text.head(
            name,
            "counter",
            "Events that became no span: too many waited.",
        );
        text.value(name, "", number(dropped));
    }

    fn render_requests(&self, text: &mut MetricText) {
        let under_way = self.under_way.load(Ordering::Relaxed);
        let name = "drawloom_http_requests_under_way";
        text.head(name, "gauge", "Requests that are being answered.");
        text.value(name, "", number(under_way));
        let counts = locked(&self.requests);
        let name = "drawloom_http_requests_total";
        text.head(name, "counter", "Requests that were answered.");
        for ((method, route, status), count) in &counts.answered {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            text.value(name, &labels, number(*count));
        }
        let name = "drawloom_http_request_seconds";
        text.head(name, "histogram", "Time until the head of the answer.");
        for (route, times) in &counts.times {
            text.buckets(name, &format!("route=\"{route}\""), times);
        }
    }

    fn render_work(&self, text: &mut MetricText) {
        let work = locked(&self.work);
        for (name, help, label, counts) in [
            (
                "drawloom_events_total",
                "Events of runs.",
                "kind",
                &work.events,
            ),
            (
                "drawloom_runs_ended_total",
                "Runs that ended.",
                "status",
                &work.runs_ended,
            ),
            (
                "drawloom_attempts_ended_total",
                "Attempts that ended.",
                "outcome",
                &work.attempts_ended,
            ),
            (
                "drawloom_failures_total",
                "Attempts that failed.",
                "class",
                &work.failures,
            ),
        ] {
            text.head(name, "counter", help);
            for (word, count) in counts {
                text.value(name, &format!("{label}=\"{word}\""), number(*count));
            }
        }
        for (name, help, value) in [
            (
                "drawloom_tokens_total",
                "Tokens that models used.",
                number(work.tokens),
            ),
            (
                "drawloom_cost_total",
                "Money that models cost, in the currency of the prices.",
                number(work.micros) / 1_000_000.0,
            ),
        ] {
            text.head(name, "counter", help);
            text.value(name, "", value);
        }
        for (name, help, times) in [
            (
                "drawloom_queue_wait_seconds",
                "Time from ready to claimed.",
                &work.queue_wait,
            ),
            (
                "drawloom_attempt_seconds",
                "Time from claimed to ended.",
                &work.attempt_time,
            ),
        ] {
            text.head(name, "histogram", help);
            text.buckets(name, "", times);
        }
    }
}

impl WorkCounts {
    fn count(&mut self, event: &RunEvent) {
        let kind = kind_of(&event.what);
        *self.events.entry(kind).or_default() += 1;
        match &event.what {
            EventKind::RunEnded { status, .. } => {
                *self.runs_ended.entry(status.name()).or_default() += 1;
            }
            EventKind::TaskCreated {
                task,
                begin: InitialStatus::Pending,
                ..
            } => remember(&mut self.ready_ms, task.to_string(), event.at_ms),
            EventKind::TaskMoved {
                task,
                by,
                class,
                spent,
                ..
            } => {
                if let Some(class) = class {
                    *self.failures.entry(class.name()).or_default() += 1;
                }
                if let Some(spent) = spent {
                    self.tokens = self.tokens.saturating_add(spent.tokens);
                    self.micros = self.micros.saturating_add(spent.micros);
                }
                self.count_move(task.to_string(), *by, event.at_ms);
            }
            _ => {}
        }
    }

    fn count_move(&mut self, task: String, by: StatusMove, at_ms: u64) {
        match by {
            StatusMove::Claim => {
                if let Some(ready_ms) = self.ready_ms.remove(&task) {
                    self.queue_wait.add_ms(at_ms.saturating_sub(ready_ms));
                }
                remember(&mut self.claimed_ms, task, at_ms);
            }
            // A requeued task waits on purpose: its queue wait is not measured.
            StatusMove::Release | StatusMove::Retry => remember(&mut self.ready_ms, task, at_ms),
            StatusMove::Complete
            | StatusMove::Fail
            | StatusMove::Hold
            | StatusMove::Requeue
            | StatusMove::CancelInProgress => {
                self.ready_ms.remove(&task);
                let Some(claimed_ms) = self.claimed_ms.remove(&task) else {
                    return;
                };
                let outcome = match by {
                    StatusMove::Complete => "completed",
                    StatusMove::Fail => "failed",
                    StatusMove::Hold => "on_hold",
                    StatusMove::Requeue => "tried_again",
                    _ => "cancelled",
                };
                *self.attempts_ended.entry(outcome).or_default() += 1;
                self.attempt_time.add_ms(at_ms.saturating_sub(claimed_ms));
            }
            _ => {}
        }
    }
}

/// A number that is looked up when the metrics are read.
pub(crate) struct MetricGauge {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// Labels, such as `status="running"`, and the value.
    pub(crate) values: Vec<(String, f64)>,
}

/// The text that Prometheus reads. Writing to a string cannot fail.
#[derive(Default)]
struct MetricText(String);

impl MetricText {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &str, value: f64) {
        let _ = match labels.is_empty() {
            true => writeln!(self.0, "{name} {value}"),
            false => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    fn buckets(&mut self, name: &str, labels: &str, times: &TimeBuckets) {
        let comma = if labels.is_empty() { "" } else { "," };
        for (end, count) in BUCKETS.iter().zip(times.counts) {
            let labels = format!("{labels}{comma}le=\"{end}\"");
            self.value(&format!("{name}_bucket"), &labels, number(count));
        }
        let all = format!("{labels}{comma}le=\"+Inf\"");
        self.value(&format!("{name}_bucket"), &all, number(times.count));
        self.value(&format!("{name}_sum"), labels, times.seconds);
        self.value(&format!("{name}_count"), labels, number(times.count));
    }
}

fn kind_of(what: &EventKind) -> &'static str {
    match what {
        EventKind::RunStarted { .. } => "run_started",
        EventKind::RunPaused { .. } => "run_paused",
        EventKind::RunEnded { .. } => "run_ended",
        EventKind::TaskCreated { .. } => "task_created",
        EventKind::TaskMoved { .. } => "task_moved",
        EventKind::Decided { .. } => "decided",
        EventKind::Warned { .. } => "warned",
        _ => "other",
    }
}

fn remember(times: &mut HashMap<String, u64>, task: String, at_ms: u64) {
    if times.len() >= REMEMBERED_MAX {
        times.clear();
    }
    times.insert(task, at_ms);
}

/// Counters are far below the numbers at which a float loses whole ones.
fn number(count: u64) -> f64 {
    count as f64
}

/// A count may be taken further after a panic elsewhere: it is only a count.
fn locked<T>(counts: &Mutex<T>) -> MutexGuard<'_, T> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}
