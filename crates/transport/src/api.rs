//! A provider's model: one call for all questions, and corrections as the questions want them.

use std::sync::Arc;

use exec::Cancel;
use llm::budget::Meter;
use llm::{Block, Code, Message, Model, Output, Part, Response, Stop};
use prompt::{Answers, reply};
use tokio::runtime::Runtime;

use crate::assemble;
use crate::choose::Plan;
use crate::error::{Error, Result};
use crate::observe::{Event, Observer};
use crate::question;
use crate::schema;
use crate::tape::Taping;
use crate::transport::Request;

/// What every request begins with; providers keep it.
const SYSTEM: &str = include_str!("prompts/system.md");
/// What the schema is called on the wire.
const SCHEMA_NAME: &str = "answers";

pub(crate) struct Api {
    model: Arc<dyn Model>,
    runtime: Runtime,
    cancel: Cancel,
    name: String,
    max_tokens: u32,
    temperature: Option<f64>,
}

impl Api {
    pub(crate) fn open(
        plan: &Plan,
        meter: &Arc<Meter>,
        taping: &Taping,
        cancel: Cancel,
    ) -> Result<Api> {
        Ok(Api {
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
        request: &Request<'_>,
        observer: &mut dyn Observer,
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
            observer.notice(Event::Correcting {
                why: &why.to_string(),
            });
            let correction = reply::correction(&why, request.questionnaire);
            correct(&mut asked.messages, response, correction);
        }
    }

    fn first_turn(&self, request: &Request<'_>) -> llm::Request {
        let mut asked = llm::Request::ask(&self.name, question::all(request));
        asked.system = vec![Block::stable(SYSTEM)];
        asked.output = Output::Json {
            name: SCHEMA_NAME.to_owned(),
            schema: schema::native(request.questionnaire),
        };
        asked.max_tokens = self.max_tokens;
        asked.temperature = self.temperature;
        asked
    }

    /// One answer that came to its end.
    fn call(&self, asked: &llm::Request, observer: &mut dyn Observer) -> Result<Response> {
        observer.notice(Event::Asking { whom: &self.name });
        let mut watch = Watch(observer);
        let pending = self.model.respond(asked, &mut watch);
        let waiting = assemble::unless_cancelled(pending, &self.cancel);
        let response = self.runtime.block_on(waiting)??;
        match &response.stop {
            Stop::MaxTokens => Err(Error::new(
                Code::GenerationFailed,
                format!(
                    "the answer of {} was cut off at its limit (`ai.max_tokens` = {})",
                    response.model, self.max_tokens
                ),
                "Raise `ai.max_tokens`, or ask for less at a time.",
            )),
            Stop::Refusal(word) => Err(refused(&response, word)),
            _ => Ok(response),
        }
    }
}

fn refused(response: &Response, word: &str) -> Error {
    Error::new(
        Code::GenerationFailed,
        format!("{} refused to answer ({word})", response.model),
        "Reword the prompt or its context, or ask another model.",
    )
    .saying(&response.text())
}

/// The earlier turn stays, so that the model sees what it said. One without words cannot be sent
/// back: then the correction goes below the question.
fn correct(messages: &mut Vec<Message>, response: Response, correction: String) {
    if response.text().trim().is_empty() {
        if let Some(last) = messages.last_mut() {
            last.parts.push(Part::Text(format!("\n\n{correction}")));
        }
        return;
    }
    messages.push(response.into_message());
    messages.push(Message::user(correction));
}

/// Tells our observer what the model's would be told.
struct Watch<'a>(&'a mut dyn Observer);

impl llm::Observer for Watch<'_> {
    fn wants_stream(&self) -> bool {
        self.0.wants_stream()
    }

    fn notice(&mut self, event: llm::Event<'_>) {
        match event {
            llm::Event::Text(text)
            | llm::Event::Reasoning(text)
            | llm::Event::ToolArguments(text) => {
                self.0.notice(Event::Streamed { bytes: text.len() });
            }
            llm::Event::ToolCall { .. } | llm::Event::Counted(_) => {}
            llm::Event::Waiting {
                attempt,
                attempts_max,
                wait,
                error,
            } => self.0.notice(Event::Waiting {
                attempt,
                attempts_max,
                wait,
                why: &error.to_string(),
            }),
            llm::Event::Adapted { without } => {
                let note = format!("the provider does not take {without}; it is left out");
                self.0.notice(Event::Note(&note));
            }
            llm::Event::Fallback { from, to, error } => self.0.notice(Event::Fallback {
                from,
                to,
                why: &error.to_string(),
            }),
        }
    }
}
