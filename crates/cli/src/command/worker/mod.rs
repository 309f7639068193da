//! `drawloom worker`: works on the runs of this project until it is stopped.

use std::time::Duration;

use app::worker::{PendingWork, RunWatcher, StopCondition, WorkerEnd, WorkerOptions};
use app::workflows::worker_name;
use clap::Args;
use flow::engine::RunEvent;

use crate::ai_args::AiArgs;
use crate::command::runs::when;
use crate::command::workflow::{DatabaseArgs, event_json};
use crate::exit::{CliError, CliExit};
use crate::interrupt;
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Work on the runs of workflows, until it is stopped
///
/// Any number of workers may share a database: each claims tasks, renews its leases, and works on
/// several tasks at a time. A worker that dies loses nothing: when its lease expires, other workers
/// take its tasks. On Ctrl-C or SIGTERM it claims no more tasks, gives running ones a moment to
/// end, hands back the rest, and ends with exit code 0. A second Ctrl-C ends it at once with exit
/// code 130; other workers take its tasks when its lease expires.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom worker
  drawloom worker --concurrency 4 --lease 60s
  drawloom worker --until-idle --max-wait 10m")]
pub(crate) struct WorkerArgs {
    /// Number of tasks at a time; `workflows.concurrency` by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: Option<u16>,
    /// Time after which a silent worker loses its tasks, such as 30s or 2m
    #[arg(long, value_name = "TIME", value_parser = lease)]
    lease: Option<Duration>,
    /// The worker's name; made of the machine, the process and a random word by default
    #[arg(long)]
    name: Option<String>,
    /// Only tasks of this assignee; may be repeated
    #[arg(long, value_name = "NAME")]
    assignee: Vec<String>,
    /// End when nothing can happen without a person; wait for retries, timers and leases
    #[arg(long)]
    until_idle: bool,
    /// With `--until-idle`: wait at most this long for retries, timers and leases, then exit 1
    #[arg(long, value_name = "TIME", value_parser = wait, requires = "until_idle")]
    max_wait: Option<Duration>,
    #[command(flatten)]
    answering: AiArgs,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print every event as one line of JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl WorkerArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.open(session, self.answering.wish())?;
        let settings = &use_cases.project().settings.workflows;
        let order = WorkerOptions {
            name: self
                .name
                .clone()
                .unwrap_or_else(|| worker_name(&session.surroundings)),
            concurrency: self.concurrency.map_or(settings.concurrency, usize::from),
            lease: self
                .lease
                .unwrap_or(Duration::from_secs(settings.lease_seconds)),
            assignees: self.assignee.clone(),
            until: match self.until_idle {
                true => StopCondition::Idle {
                    max_wait: self.max_wait,
                },
                false => StopCondition::Stopped,
            },
        };
        let mut lines = EventLines;
        let mut waits = WaitNotice::default();
        let form = OutputFormat::from(self.json);
        let watcher: &mut dyn RunWatcher = match form {
            OutputFormat::Json => &mut lines,
            OutputFormat::Text => {
                output::say(format!("worker {} works; Ctrl-C stops it", order.name));
                &mut waits
            }
        };
        let busy = interrupt::InterruptGuard::work();
        let ended = use_cases.wait(use_cases.work(&order, watcher, &interrupt::cancel()));
        drop(busy);
        let ended = ended?;
        // A worker that stopped in order when asked has succeeded.
        interrupt::obeyed();
        if let WorkerEnd::StillPending(pending) = ended {
            return Err(still_pending(pending));
        }
        if form == OutputFormat::Text {
            output::say(match ended {
                WorkerEnd::Stopped { given_back: 0 } => {
                    "stopped; no task was left unfinished".to_owned()
                }
                WorkerEnd::Stopped { given_back: 1 } => "stopped; 1 task was given back".to_owned(),
                WorkerEnd::Stopped { given_back } => {
                    format!("stopped; {given_back} tasks were given back")
                }
                _ => "nothing is left to do".to_owned(),
            });
        }
        Ok(CliExit::Done)
    }
}

/// Says once what a worker that would end waits for.
#[derive(Default)]
struct WaitNotice {
    told: Option<u64>,
}

impl RunWatcher for WaitNotice {
    fn events(&mut self, _events: &[RunEvent]) {}

    fn is_looking(&self) -> bool {
        false
    }

    fn waiting(&mut self, pending: PendingWork) {
        let next_ms = pending.next_ms();
        if std::mem::replace(&mut self.told, next_ms) != next_ms {
            output::say(format!("waiting for {}", awaited(pending)));
        }
    }
}

/// Describes what will happen next without a person, and when.
fn awaited(pending: PendingWork) -> String {
    let kinds = [
        (pending.ready_ms, "a retry"),
        (pending.lease_ms, "another worker's lease"),
        (pending.timer_ms, "a timer"),
    ];
    let timed = kinds.into_iter().filter_map(|(at, what)| Some((at?, what)));
    match timed.min() {
        Some((at, what)) => format!("{what} at {}", when(at)),
        None => "nothing".to_owned(),
    }
}

fn still_pending(pending: PendingWork) -> CliError {
    let message = format!("work is left after `--max-wait`: {}", awaited(pending));
    CliError::failed("E_WORK_LEFT", message)
        .hint("wait longer, or start another worker; nothing is lost")
}

/// Every event as it is.
struct EventLines;

impl RunWatcher for EventLines {
    fn events(&mut self, events: &[RunEvent]) {
        for event in events {
            // A reader that is gone does not stop the work.
            let _ = output::json_line(&event_json(event));
        }
    }
}

fn wait(text: &str) -> Result<Duration, String> {
    let read = flow::TimeSpan::read(text);
    read.map(|span| Duration::from_millis(span.ms))
        .ok_or_else(|| "write a time such as 30s or 10m".to_owned())
}

fn lease(text: &str) -> Result<Duration, String> {
    let read = flow::TimeSpan::read(text).filter(|span| span.ms >= 100);
    read.map(|span| Duration::from_millis(span.ms))
        .ok_or_else(|| "write a time of at least 100ms, such as 30s or 2m".to_owned())
}
