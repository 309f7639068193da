//! `ai_interaction`: puts one question to the configured transport, and reads and checks the reply.
//!
//! A reply that cannot be read goes back with its problems, twice; if it still cannot be read, the
//! attempt has failed. Without a model, the task goes to a person.

use std::sync::{Arc, Mutex, PoisonError};

use agent::AgentClock as _;
use agent::handlers::ModelChooser as _;
use flow::engine::{AttemptOutcome, AttemptReport, ModelCall};
use flow::layers::{self, LayeredPrompt, PromptRequest, ReplyForm};
use flow::response::{self, REPAIRS_MAX, UnreadableReply};
use flow::{WorkflowStep, engine::FailureClass};
use llm::{ChatMessage, ModelRequest, ModelResponse, ResponseFormat, StopReason};
use transport::{CommandMode, SilentObserver, TransportMode};

use super::budget::{ModelUse, within_budget};
use super::{
    ExecutorFuture, StepAttempt, StepExecutor, class_of, failed, failed_by, invalid, on_a_thread,
};
use super::{over_budget, unknown_settings};
use crate::ai::{self, AiOverrides, CallPurpose, LazyAnswerer, RunParticipants, model, question};
use crate::tasks::clock::SystemClock;

/// Name of the reply's schema, for providers.
const SCHEMA_NAME: &str = "reply";

pub(super) struct AiInteraction;

impl StepExecutor for AiInteraction {
    fn check(&self, step: &WorkflowStep) -> Vec<String> {
        unknown_settings(step, &["instructions"])
    }

    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a> {
        Box::pin(async move {
            let hands = &job.hands;
            let mode = match ai::mode(&hands.project, &hands.surroundings, &hands.wish) {
                Ok(mode) => mode,
                Err(error) => return failed_by(&error),
            };
            let form = match mode {
                TransportMode::Api => ReplyForm::Envelope,
                _ => ReplyForm::Sections,
            };
            let prompted = match prompt(job, form) {
                Ok(prompted) => prompted,
                Err(problem) => return invalid(problem),
            };
            let text = layers::joined(&prompted.layers);
            let record = CallRecord::begin(prompted.layers);
            let mut report = match mode {
                TransportMode::Api => {
                    let record = record.clone();
                    within_budget(job, ModelUse::Surely, |wish| {
                        ask_model(job, wish, (text, record))
                    })
                    .await
                }
                TransportMode::Command | TransportMode::Stdio => {
                    let record = record.clone();
                    within_budget(job, ModelUse::Surely, |wish| {
                        ask_program(job, wish, (text, record))
                    })
                    .await
                }
                mode => nobody(mode.name()),
            };
            report.call = record.end();
            report.warnings.extend(prompted.warnings);
            report
        })
    }
}

/// The record of an attempt's conversation, written while it goes on.
#[derive(Clone)]
struct CallRecord(Arc<Mutex<ModelCall>>);

impl CallRecord {
    fn begin(layers: Vec<layers::PromptLayer>) -> CallRecord {
        CallRecord(Arc::new(Mutex::new(ModelCall {
            layers,
            begun_ms: SystemClock.now_ms(),
            ..ModelCall::default()
        })))
    }

    fn add(&self, change: impl FnOnce(&mut ModelCall)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the record if a model has replied.
    fn end(&self) -> Option<Box<ModelCall>> {
        let mut call = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        call.ended_ms = SystemClock.now_ms();
        (!call.replies.is_empty()).then(|| Box::new(call))
    }
}

/// Builds the four layers of the prompt, and warnings about parts that they could not show.
fn prompt(job: &StepAttempt, form: ReplyForm) -> Result<LayeredPrompt, String> {
    let instructions = job.setting("instructions").and_then(|value| value.as_str());
    let instructions = instructions.map(|text| super::interpolate::text(text, &job.state));
    let instructions = instructions.transpose()?;
    let asked = PromptRequest {
        agent: job.agent.as_ref().map(|agent| agent.prompt.as_str()),
        instructions: instructions.as_deref(),
        form,
    };
    layers::of_task(&job.step, &job.task, &job.state, asked)
        .map_err(|cause| format!("The prompt cannot be filled in: {cause}"))
}

/// Asks a model, with the reply's schema if its provider supports one.
async fn ask_model(
    job: &StepAttempt,
    wish: AiOverrides,
    (prompt, record): (String, CallRecord),
) -> AttemptReport {
    let hands = &job.hands;
    let source = model::ModelResolver::open(
        &hands.project,
        &hands.surroundings,
        &wish,
        CallPurpose::Answer,
    );
    let source = match source {
        Ok(source) => source,
        Err(error) => return failed_by(&error),
    };
    let chosen = match source.choose(None) {
        Ok(chosen) => chosen,
        Err(error) => return invalid(error.to_string()),
    };
    let schema = job.step.config.output_schema.as_ref();
    let mut request = ModelRequest::ask(&chosen.name, prompt);
    request.max_tokens = chosen.max_tokens;
    request.temperature = chosen.temperature;
    request.output = ResponseFormat::Json {
        name: SCHEMA_NAME.to_owned(),
        schema: layers::envelope(schema),
    };
    let mut unread = UnreadableReply {
        problems: Vec::new(),
    };
    for _ in 0..=REPAIRS_MAX {
        let response = match chosen
            .model
            .respond(&request, &mut llm::NoModelObserver)
            .await
        {
            Ok(response) => response,
            Err(error) => return of_model(&error),
        };
        record.add(|call| {
            call.by = Some(response.model.clone());
            call.add_reply(&response.text());
            call.usage.input_tokens += response.usage.total() - response.usage.output;
            call.usage.output_tokens += response.usage.output;
        });
        if let StopReason::Refusal(word) = &response.stop {
            let message = format!("{} refused to answer ({word}).", response.model);
            return failed(FailureClass::Failed, message);
        }
        match read(&response, schema) {
            Ok(reply) => {
                record.add(|call| call.note(&reply));
                return response::report(reply, job.step.config.confidence);
            }
            Err(unreadable) => unread = unreadable,
        }
        let said = ChatMessage::assistant(worded(&response.text()));
        let wanted = ChatMessage::user(response::correction(&unread, ReplyForm::Envelope));
        request.messages.extend([said, wanted]);
    }
    response::unreadable(&unread)
}

fn read(
    response: &ModelResponse,
    schema: Option<&serde_json::Value>,
) -> Result<response::AgentReply, UnreadableReply> {
    match &response.stop {
        StopReason::MaxTokens => Err(UnreadableReply {
            problems: vec!["The reply was cut off at its longest; say less.".to_owned()],
        }),
        _ => response::read(&response.text(), schema),
    }
}

/// Providers refuse a message without words.
fn worded(text: &str) -> String {
    match text.trim().is_empty() {
        true => "(no words)".to_owned(),
        false => text.to_owned(),
    }
}

/// Asks a program, or a command, in place of a model. A command prints the reply itself: there is
/// only one question, and a reply inside of JSON would only be harder to write.
async fn ask_program(
    job: &StepAttempt,
    mut wish: AiOverrides,
    (prompt, record): (String, CallRecord),
) -> AttemptReport {
    wish.command_mode = Some(CommandMode::PerBlock);
    let hands = Arc::clone(&job.hands);
    let schema = job.step.config.output_schema.clone();
    let confidence = job.step.config.confidence;
    on_a_thread(move |cancel| {
        let mut silent = SilentObserver;
        let company = RunParticipants {
            person: None,
            observer: &mut silent,
            cancel,
        };
        let (project, around) = (&*hands.project, &hands.surroundings);
        let mut answerer = LazyAnswerer::new(project, around, wish, CallPurpose::Answer, company);
        let mut text = prompt;
        let mut unread = UnreadableReply {
            problems: Vec::new(),
        };
        for _ in 0..=REPAIRS_MAX {
            let said = match question::ask_whole(&mut answerer, &text) {
                Ok(question::QuestionReply::Answered { text, .. }) => text,
                Ok(_) => return nobody(answerer.mode().name()),
                Err(error) => return failed_by(&error),
            };
            record.add(|call| {
                call.by = Some(answerer.mode().name().to_owned());
                call.add_reply(&said);
            });
            match response::read(&said, schema.as_ref()) {
                Ok(reply) => {
                    record.add(|call| call.note(&reply));
                    return response::report(reply, confidence);
                }
                Err(unreadable) => unread = unreadable,
            }
            let wanted = response::correction(&unread, ReplyForm::Sections);
            text = format!("{text}\n\nYou replied:\n{said}\n\n{wanted}");
        }
        response::unreadable(&unread)
    })
    .await
}

/// Hands the task to a person, because no model is configured.
fn nobody(mode: &str) -> AttemptReport {
    let reason = format!(
        "No model or program is set up to answer here (`ai.mode` is `{mode}`): answer the task, or set up a model \
         and retry it."
    );
    AttemptReport::of(AttemptOutcome::Asked {
        reason,
        output: None,
    })
}

fn of_model(error: &llm::Error) -> AttemptReport {
    match error.code {
        llm::AiErrorCode::BudgetExceeded => over_budget(error.to_string()),
        code => failed(class_of(code), error.to_string()),
    }
}
