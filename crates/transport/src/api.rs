//! A provider's model: one call for all questions, and as many corrections as the questions allow.

use std::sync::Arc;

use exec::CommandCancel;
use llm::budget::Meter;
use llm::{
    AiErrorCode, ChatMessage, MessagePart, Model, ModelResponse, ResponseFormat, StopReason,
    SystemBlock,
};
use prompt::{Answers, reply};
use tokio::runtime::Runtime;

use crate::assemble;
use crate::error::{Error, Result};
use crate::observe::{AskEvent, AskObserver};
use crate::question;
use crate::schema;
use crate::selection::ApiPlan;
use crate::tape::RecordMode;
use crate::transport::AnswerRequest;

/// The beginning of every request. It never changes, so that providers can cache it.
const SYSTEM: &str = include_str!("prompts/system.md");
/// The schema's name in the request.
const SCHEMA_NAME: &str = "answers";

pub(crate) struct ApiTransport {
    model: Arc<dyn Model>,
    runtime: Runtime,
    cancel: CommandCancel,
    name: String,
    max_tokens: u32,
    temperature: Option<f64>,
}

impl ApiTransport {
    pub(crate) fn open(
        plan: &ApiPlan,
        meter: &Arc<Meter>,
        taping: &RecordMode,
        cancel: CommandCancel,
    ) -> Result<ApiTransport> {
        Ok(ApiTransport {
            model: assemble::model(plan, meter, taping)?,
            runtime: assemble::runtime()?,
            cancel,
            name: plan.first.route.model.clone(),
            max_tokens: plan.max_tokens,
            temperature: plan.temperature,
        })
    }

    pub(crate) fn ask(
        &mut self,
        request: &AnswerRequest<'_>,
        observer: &mut dyn AskObserver,
    ) -> Result<Answers> {
        let mut asked = self.first_turn(request);
        let corrections = question::corrections(request.questionnaire);
        let mut left = corrections;
        loop {
            let response = self.call(&asked, observer)?;
            let why = match reply::read(&response.text(), request.questionnaire) {
                Ok(answers) => return Ok(answers),
                Err(why) if left == 0 => {
                    return Err(Error::unusable(&response.model, &why, corrections));
                }
                Err(why) => why,
            };
            left -= 1;
            observer.notice(AskEvent::Correcting {
                why: &why.to_string(),
            });
            let correction = reply::correction(&why, request.questionnaire);
            correct(&mut asked.messages, response, correction);
        }
    }

    fn first_turn(&self, request: &AnswerRequest<'_>) -> llm::ModelRequest {
        let mut asked = llm::ModelRequest::ask(&self.name, question::all(request));
        asked.system = vec![SystemBlock::stable(SYSTEM)];
        asked.output = ResponseFormat::Json {
            name: SCHEMA_NAME.to_owned(),
            schema: schema::native(request.questionnaire),
        };
        asked.max_tokens = self.max_tokens;
        asked.temperature = self.temperature;
        asked
    }

    /// Calls the model, and returns a complete answer.
    fn call(
        &self,
        asked: &llm::ModelRequest,
        observer: &mut dyn AskObserver,
    ) -> Result<ModelResponse> {
        observer.notice(AskEvent::Asking { whom: &self.name });
        let mut watch = ForwardingObserver(observer);
        let pending = self.model.respond(asked, &mut watch);
        let waiting = assemble::unless_cancelled(pending, &self.cancel);
        let response = self.runtime.block_on(waiting)??;
        match &response.stop {
            StopReason::MaxTokens => Err(Error::new(
                AiErrorCode::GenerationFailed,
                format!(
                    "the answer of {} was cut off at its limit (`ai.max_tokens` = {})",
                    response.model, self.max_tokens
                ),
                "Raise `ai.max_tokens`, or ask for less at a time.",
            )),
            StopReason::Refusal(word) => Err(refused(&response, word)),
            _ => Ok(response),
        }
    }
}

fn refused(response: &ModelResponse, word: &str) -> Error {
    Error::new(
        AiErrorCode::GenerationFailed,
        format!("{} refused to answer ({word})", response.model),
        "Reword the prompt or its context, or ask another model.",
    )
    .saying(&response.text())
}

/// Keeps the earlier turn, so that the model sees its own reply. An empty turn cannot be sent back:
/// then the correction goes below the question.
fn correct(messages: &mut Vec<ChatMessage>, response: ModelResponse, correction: String) {
    if response.text().trim().is_empty() {
        if let Some(last) = messages.last_mut() {
            last.parts
                .push(MessagePart::Text(format!("\n\n{correction}")));
        }
        return;
    }
    messages.push(response.into_message());
    messages.push(ChatMessage::user(correction));
}

/// Passes the model's events on to the transport's observer.
struct ForwardingObserver<'a>(&'a mut dyn AskObserver);

impl llm::ModelObserver for ForwardingObserver<'_> {
    fn wants_stream(&self) -> bool {
        self.0.wants_stream()
    }

    fn notice(&mut self, event: llm::ModelEvent<'_>) {
        match event {
            llm::ModelEvent::Text(text)
            | llm::ModelEvent::Reasoning(text)
            | llm::ModelEvent::ToolArguments(text) => {
                self.0.notice(AskEvent::Streamed { bytes: text.len() });
            }
            llm::ModelEvent::ToolCall { .. } | llm::ModelEvent::Counted(_) => {}
            llm::ModelEvent::Waiting {
                attempt,
                attempts_max,
                wait,
                error,
            } => self.0.notice(AskEvent::Waiting {
                attempt,
                attempts_max,
                wait,
                why: &error.to_string(),
            }),
            llm::ModelEvent::Adapted { without } => {
                let note = format!("the provider does not take {without}; it is left out");
                self.0.notice(AskEvent::Note(&note));
            }
            llm::ModelEvent::Fallback { from, to, error } => self.0.notice(AskEvent::Fallback {
                from,
                to,
                why: &error.to_string(),
            }),
        }
    }
}
