//! One call to the model: made within its time, listened to, and counted.

use std::time::Duration;

use llm::budget::{SpendEntry, TokenCountSource};
use llm::{CallCost, ModelRequest, ModelResponse};

use crate::dispatch;
use crate::error::{AgentErrorKind, Error};
use crate::event::{AgentEvent, AgentObserver};
use crate::run::LoopConfig;
use crate::spending::ConversationTotals;

/// Returns the model's response; `None` if it took too long.
pub(crate) async fn answer(
    job: &LoopConfig<'_>,
    request: &ModelRequest,
    ear: &mut CallObserver<'_>,
    time_left: Duration,
) -> Result<Option<ModelResponse>, Error> {
    let answered = tokio::select! {
        answered = job.model.respond(request, ear) => answered,
        () = dispatch::cancelled(job.cancel) => {
            return Err(Error::new(
                AgentErrorKind::Cancelled,
                "the run was cancelled while the model was asked. Finished work is kept; resume to go on.",
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

/// Returns the entry of a call that no meter counted.
fn uncounted(response: &ModelResponse) -> SpendEntry {
    let cost = response
        .billed_micro_usd
        .map_or(CallCost::Unknown, CallCost::Known);
    SpendEntry {
        provider: response.provider,
        model: response.model.clone(),
        usage: response.usage,
        cost,
        counted: TokenCountSource::ByProvider,
    }
}

/// Listens to a call to the model: passes on what is worth it, and counts.
pub(crate) struct CallObserver<'a> {
    pub(crate) observer: &'a mut dyn AgentObserver,
    pub(crate) totals: &'a mut ConversationTotals,
    pub(crate) phase: &'a str,
    pub(crate) calls: Vec<SpendEntry>,
}

impl CallObserver<'_> {
    fn count(&mut self, entry: SpendEntry) {
        self.totals.add(self.phase, &entry);
        let (usage, cost) = (entry.usage, entry.cost);
        self.calls.push(entry);
        self.observer.notice(&AgentEvent::Spent {
            usage,
            cost,
            totals: self.totals,
        });
    }
}

impl llm::ModelObserver for CallObserver<'_> {
    fn wants_stream(&self) -> bool {
        self.observer.wants_stream()
    }

    fn notice(&mut self, event: llm::ModelEvent<'_>) {
        let event = match event {
            llm::ModelEvent::Text(text) => AgentEvent::Text { text },
            llm::ModelEvent::Reasoning(text) => AgentEvent::Reasoning { text },
            llm::ModelEvent::ToolCall { name } => AgentEvent::ToolAnnounced { name },
            llm::ModelEvent::ToolArguments(_) => return,
            llm::ModelEvent::Waiting {
                attempt,
                attempts_max,
                wait,
                error,
            } => AgentEvent::Waiting {
                attempt,
                attempts_max,
                wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                why: error.to_string(),
            },
            llm::ModelEvent::Adapted { without } => AgentEvent::Adapted { without },
            llm::ModelEvent::Fallback { from, to, error } => AgentEvent::Fallback {
                from,
                to,
                why: error.to_string(),
            },
            llm::ModelEvent::Counted(entry) => return self.count(entry.clone()),
        };
        self.observer.notice(&event);
    }
}
