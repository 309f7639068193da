//! Keeps what a command prints, on its way to the run while the command still runs.

use std::sync::Arc;
use std::time::Duration;

use exec::OutputStream;
use flow::{LOG_BYTES_MAX, LOG_LINE_BYTES_MAX, LogLine, LogStream, TaskId, WorkflowStore};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::StepAttempt;

/// Time that lines wait for each other before they are written together.
const GATHER: Duration = Duration::from_millis(200);
/// Largest number of lines that are written at a time.
const LINES_MAX: usize = 500;

/// Collects the lines of one attempt. Lines over the limit are left out, and the last line says so.
pub(super) struct AttemptLog {
    lines: UnboundedSender<LogLine>,
    task: TaskId,
    attempt: u32,
    number: u64,
    bytes: usize,
}

/// The end of a log: everything is kept when it is over.
pub(super) struct LogEnd(JoinHandle<()>);

impl LogEnd {
    /// Waits until the lines are written. An error of writing does not fail the attempt.
    pub(super) async fn wait(self) {
        let _ = self.0.await;
    }
}

impl AttemptLog {
    /// Begins the log of an attempt. The lines are kept from time to time, and when the log is dropped.
    pub(super) fn begin(job: &StepAttempt) -> (AttemptLog, LogEnd) {
        let (lines, printed) = unbounded_channel();
        let log = AttemptLog {
            lines,
            task: job.task.id.clone(),
            // Every claim has its own, also where a turn or a worker that stops does not count.
            attempt: u32::try_from(job.task.fence).unwrap_or(u32::MAX),
            number: 0,
            bytes: 0,
        };
        let keeping = keep(Arc::clone(&job.hands.store), printed);
        (log, LogEnd(tokio::spawn(keeping)))
    }

    /// Adds a line that was printed.
    pub(super) fn add(&mut self, stream: OutputStream, text: &str, now_ms: u64) {
        if self.bytes > LOG_BYTES_MAX {
            return;
        }
        let end = text.floor_char_boundary(LOG_LINE_BYTES_MAX);
        self.bytes += end + 1;
        let (stream, text) = match self.bytes > LOG_BYTES_MAX {
            true => {
                let note = format!(
                    "It printed more than LOG_BYTES_MAX = {LOG_BYTES_MAX} bytes: the rest is left out."
                );
                (LogStream::Note, note)
            }
            false => {
                let stream = match stream {
                    OutputStream::Stdout => LogStream::Stdout,
                    OutputStream::Stderr => LogStream::Stderr,
                };
                (stream, text.get(..end).unwrap_or_default().to_owned())
            }
        };
        self.number += 1;
        // The line is lost when the worker is gone.
        let _ = self.lines.send(LogLine {
            task: self.task.clone(),
            attempt: self.attempt,
            number: self.number,
            at_ms: now_ms,
            stream,
            text,
        });
    }
}

async fn keep(store: Arc<dyn WorkflowStore>, mut printed: UnboundedReceiver<LogLine>) {
    let mut lines = Vec::new();
    while let Some(first) = printed.recv().await {
        lines.push(first);
        let end = Instant::now() + GATHER;
        while lines.len() < LINES_MAX {
            tokio::select! {
                next = printed.recv() => match next {
                    Some(line) => lines.push(line),
                    None => break,
                },
                () = sleep_until(end) => break,
            }
        }
        // The output is reported with the task, too: a log that cannot be kept loses no result.
        let _ = store.keep_log(&lines).await;
        lines.clear();
    }
}
