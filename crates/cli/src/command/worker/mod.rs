//! `drawloom worker`: works on the runs of this project until it is stopped.

use std::time::Duration;

use app::worker::{Ended, Order, PendingWork, Until, Watcher};
use app::workflows::worker_name;
use clap::Args;
use flow::engine::Event;

use crate::answering::Answering;
use crate::command::runs::when;
use crate::command::workflow::{Keeping, event_json};
use crate::exit::{Exit, Trouble};
use crate::interrupt;
use crate::output::{self, Form};
use crate::session::Session;

/// Work on the runs of workflows, until it is stopped
///
/// Any number of workers may share a database: each claims tasks, says regularly that it lives, and does
/// several at a time. One that dies loses nothing: when its lease ends, its tasks go to others. Ctrl-C and
/// SIGTERM stop it politely: nothing more is claimed, what is under way gets a moment to end, the rest is
/// given back, and it ends with exit code 0. A second Ctrl-C ends it at once, with 130; what it held goes
/// to others when its lease ends.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom worker
  drawloom worker --concurrency 4 --lease 60s
  drawloom worker --until-idle --max-wait 10m")]
pub(crate) struct Worker {
    /// How many tasks are done at a time; `workflows.concurrency` if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: Option<u16>,
    /// How long a task is this worker's without a word from it, such as 30s or 2m
    #[arg(long, value_name = "TIME", value_parser = lease)]
    lease: Option<Duration>,
    /// The name it claims under; the machine, the process and a random word if left out
    #[arg(long)]
    name: Option<String>,
    /// Only tasks of this assignee; may be given often
    #[arg(long, value_name = "NAME")]
    assignee: Vec<String>,
    /// End when nothing can change any more without a person; retries, timers and leases are waited for
    #[arg(long)]
    until_idle: bool,
    /// With `--until-idle`: wait at most this long for retries, timers and leases, then exit 1
    #[arg(long, value_name = "TIME", value_parser = wait, requires = "until_idle")]
    max_wait: Option<Duration>,
    #[command(flatten)]
    answering: Answering,
    #[command(flatten)]
    keeping: Keeping,
    /// Print every event as one line of JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Worker {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.open(session, self.answering.wish())?;
        let settings = &loom.project().settings.workflows;
        let order = Order {
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
                true => Until::Idle {
                    max_wait: self.max_wait,
                },
                false => Until::Stopped,
            },
        };
        let mut lines = Lines;
        let mut waits = Waits::default();
        let form = Form::from(self.json);
        let watcher: &mut dyn Watcher = match form {
            Form::Json => &mut lines,
            Form::Text => {
                output::say(format!("worker {} works; Ctrl-C stops it", order.name));
                &mut waits
            }
        };
        let busy = interrupt::Busy::work();
        let ended = loom.work(&order, watcher, &interrupt::cancel());
        drop(busy);
        let ended = ended?;
        // Whoever was asked to stop and has stopped in order has done what it was asked.
        interrupt::obeyed();
        if let Ended::StillPending(pending) = ended {
            return Err(still_pending(pending));
        }
        if form == Form::Text {
            output::say(match ended {
                Ended::Stopped { given_back: 0 } => "stopped; nothing was left undone".to_owned(),
                Ended::Stopped { given_back: 1 } => "stopped; 1 task was given back".to_owned(),
                Ended::Stopped { given_back } => {
                    format!("stopped; {given_back} tasks were given back")
                }
                _ => "nothing is left to do".to_owned(),
            });
        }
        Ok(Exit::Done)
    }
}

/// Says once what a worker that would end waits for.
#[derive(Default)]
struct Waits {
    told: Option<u64>,
}

impl Watcher for Waits {
    fn events(&mut self, _events: &[Event]) {}

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

/// What will happen next without a person, and when.
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

fn still_pending(pending: PendingWork) -> Trouble {
    let message = format!("work is left after `--max-wait`: {}", awaited(pending));
    Trouble::failed("E_WORK_LEFT", message)
        .hint("wait longer, or start another worker; nothing is lost")
}

/// Every event as it is.
struct Lines;

impl Watcher for Lines {
    fn events(&mut self, events: &[Event]) {
        for event in events {
            // A reader that is gone does not stop the work.
            let _ = output::json_line(&event_json(event));
        }
    }
}

fn wait(text: &str) -> Result<Duration, String> {
    let read = flow::Duration::read(text);
    read.map(|span| Duration::from_millis(span.ms))
        .ok_or_else(|| "write a time such as 30s or 10m".to_owned())
}

fn lease(text: &str) -> Result<Duration, String> {
    let read = flow::Duration::read(text).filter(|span| span.ms >= 100);
    read.map(|span| Duration::from_millis(span.ms))
        .ok_or_else(|| "write a time of at least 100ms, such as 30s or 2m".to_owned())
}
