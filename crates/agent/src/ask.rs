//! One call to the model: made within its time, listened to, and counted.

use std::time::Duration;

use llm::budget::{Counted, Entry};
use llm::{Cost, Request, Response};

use crate::dispatch;
use crate::error::{Error, Kind};
use crate::event::{Event, Observer};
use crate::run::Job;
use crate::spending::Totals;

/// The model's response; `None` if it took too long.
pub(crate) async fn answer(
    job: &Job<'_>,
    request: &Request,
    ear: &mut Ear<'_>,
    time_left: Duration,
) -> Result<Option<Response>, Error> {
    let answered = tokio::select! {
        answered = job.model.respond(request, ear) => answered,
        () = dispatch::cancelled(job.cancel) => {
            return Err(Error::new(
                Kind::Cancelled,
                "the run was cancelled while the model was asked. What is done is kept; resume to go on.",
            ));
        }
        () = tokio::time::sleep(time_left) => return Ok(None),
    };
    match answered {
        Ok(response) => {
            if ear.calls.is_empty() {
                ear.count(uncounted(&response));
            }
            Ok(Some(response))
        }
        Err(error) => Err(error.into()),
    }
}

/// The entry of a call that no meter counted.
fn uncounted(response: &Response) -> Entry {
    let cost = response.billed_micro_usd.map_or(Cost::Unknown, Cost::Known);
    Entry {
        provider: response.provider,
        model: response.model.clone(),
        usage: response.usage,
        cost,
        counted: Counted::ByProvider,
    }
}

/// Listens to a call to the model: passes on what is worth it, and counts.
pub(crate) struct Ear<'a> {
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) totals: &'a mut Totals,
    pub(crate) phase: &'a str,
    pub(crate) calls: Vec<Entry>,
}

impl Ear<'_> {
    fn count(&mut self, entry: Entry) {
        self.totals.add(self.phase, &entry);
        let (usage, cost) = (entry.usage, entry.cost);
        self.calls.push(entry);
        self.observer.notice(&Event::Spent {
            usage,
            cost,
            totals: self.totals,
        });
    }
}

impl llm::Observer for Ear<'_> {
    fn wants_stream(&self) -> bool {
        self.observer.wants_stream()
    }

    fn notice(&mut self, event: llm::Event<'_>) {
        let event = match event {
            llm::Event::Text(text) => Event::Text { text },
            llm::Event::Reasoning(text) => Event::Reasoning { text },
            llm::Event::ToolCall { name } => Event::ToolAnnounced { name },
            llm::Event::ToolArguments(_) => return,
            llm::Event::Waiting {
                attempt,
                attempts_max,
                wait,
                error,
            } => Event::Waiting {
                attempt,
                attempts_max,
                wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                why: error.to_string(),
            },
            llm::Event::Adapted { without } => Event::Adapted { without },
            llm::Event::Fallback { from, to, error } => Event::Fallback {
                from,
                to,
                why: error.to_string(),
            },
            llm::Event::Counted(entry) => return self.count(entry.clone()),
        };
        self.observer.notice(&event);
    }
}
