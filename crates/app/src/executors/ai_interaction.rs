//! `ai_interaction`: one question, put to whoever answers here, whose reply is read and checked.
//!
//! A reply that cannot be read goes back with what is wrong with it, twice; one that still cannot be
//! is a failed attempt and never a result. Where nobody answers, a person does.

use std::sync::{Arc, Mutex, PoisonError};

use agent::Clock as _;
use agent::handlers::Models as _;
use flow::engine::{ModelCall, Outcome, Report};
use flow::layers::{self, Asked, Form, Prompted};
use flow::response::{self, REPAIRS_MAX, Unreadable};
use flow::{Step, engine::FailureClass};
use llm::{Message, Output, Request, Response, Stop};
use transport::{CommandMode, Mode, Silent};

use super::purse::{Asks, within_budget};
use super::{Executor, Job, Working, class_of, failed, failed_by, invalid, on_a_thread};
use super::{over_budget, unknown_settings};
use crate::ai::{self, Answerer, Company, Errand, Wish, model, question};
use crate::tasks::clock::SystemClock;

/// What providers call the schema of a reply.
const SCHEMA_NAME: &str = "reply";

pub(super) struct AiInteraction;

impl Executor for AiInteraction {
    fn check(&self, step: &Step) -> Vec<String> {
        unknown_settings(step, &["instructions"])
    }

    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a> {
        Box::pin(async move {
            let hands = &job.hands;
            let mode = match ai::mode(&hands.project, &hands.surroundings, &hands.wish) {
                Ok(mode) => mode,
                Err(error) => return failed_by(&error),
            };
            let form = match mode {
                Mode::Api => Form::Envelope,
                _ => Form::Sections,
            };
            let prompted = match prompt(job, form) {
                Ok(prompted) => prompted,
                Err(problem) => return invalid(problem),
            };
            let text = layers::joined(&prompted.layers);
            let record = CallRecord::begin(prompted.layers);
            let mut report = match mode {
                Mode::Api => {
                    let record = record.clone();
                    within_budget(job, Asks::Surely, |wish| {
                        ask_model(job, wish, (text, record))
                    })
                    .await
                }
                Mode::Command | Mode::Stdio => {
                    let record = record.clone();
                    within_budget(job, Asks::Surely, |wish| {
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

/// What is said in an attempt, written down while it goes on.
#[derive(Clone)]
struct CallRecord(Arc<Mutex<ModelCall>>);

impl CallRecord {
    fn begin(layers: Vec<layers::Layer>) -> CallRecord {
        CallRecord(Arc::new(Mutex::new(ModelCall {
            layers,
            begun_ms: SystemClock.now_ms(),
            ..ModelCall::default()
        })))
    }

    fn add(&self, change: impl FnOnce(&mut ModelCall)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The record, where somebody has replied.
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

/// The four layers, and warnings about what they could not show.
fn prompt(job: &Job, form: Form) -> Result<Prompted, String> {
    let instructions = job.setting("instructions").and_then(|value| value.as_str());
    let instructions = instructions.map(|text| super::fill::text(text, &job.state));
    let instructions = instructions.transpose()?;
    let settings = &job.hands.project.settings.workflows;
    let agent = job.task.assignee.as_ref();
    let agent = agent.and_then(|name| settings.agents.get(name));
    let asked = Asked {
        agent: agent.map(|agent| agent.prompt.as_str()),
        instructions: instructions.as_deref(),
        form,
    };
    layers::of_task(&job.step, &job.task, &job.state, asked)
        .map_err(|cause| format!("The prompt cannot be filled in: {cause}"))
}

/// A model, held to the envelope of a reply where its provider can do that.
async fn ask_model(job: &Job, wish: Wish, (prompt, record): (String, CallRecord)) -> Report {
    let hands = &job.hands;
    let source = model::Source::open(&hands.project, &hands.surroundings, &wish, Errand::Answer);
    let source = match source {
        Ok(source) => source,
        Err(error) => return failed_by(&error),
    };
    let chosen = match source.choose(None) {
        Ok(chosen) => chosen,
        Err(error) => return invalid(error.to_string()),
    };
    let schema = job.step.config.output_schema.as_ref();
    let mut request = Request::ask(&chosen.name, prompt);
    request.max_tokens = chosen.max_tokens;
    request.temperature = chosen.temperature;
    request.output = Output::Json {
        name: SCHEMA_NAME.to_owned(),
        schema: layers::envelope(schema),
    };
    let mut unread = Unreadable {
        problems: Vec::new(),
    };
    for _ in 0..=REPAIRS_MAX {
        let response = match chosen.model.respond(&request, &mut llm::Silent).await {
            Ok(response) => response,
            Err(error) => return of_model(&error),
        };
        record.add(|call| {
            call.by = Some(response.model.clone());
            call.add_reply(&response.text());
            call.usage.input_tokens += response.usage.total() - response.usage.output;
            call.usage.output_tokens += response.usage.output;
        });
        if let Stop::Refusal(word) = &response.stop {
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
        let said = Message::assistant(worded(&response.text()));
        let wanted = Message::user(response::correction(&unread, Form::Envelope));
        request.messages.extend([said, wanted]);
    }
    response::unreadable(&unread)
}

fn read(
    response: &Response,
    schema: Option<&serde_json::Value>,
) -> Result<response::Reply, Unreadable> {
    match &response.stop {
        Stop::MaxTokens => Err(Unreadable {
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

/// A program, or a command, that answers in the place of a model. A command prints the reply as it
/// is: there is one question, and a reply inside of JSON would only be harder to write.
async fn ask_program(job: &Job, mut wish: Wish, (prompt, record): (String, CallRecord)) -> Report {
    wish.command_mode = Some(CommandMode::PerBlock);
    let hands = Arc::clone(&job.hands);
    let schema = job.step.config.output_schema.clone();
    let confidence = job.step.config.confidence;
    on_a_thread(move |cancel| {
        let mut silent = Silent;
        let company = Company {
            person: None,
            observer: &mut silent,
            cancel,
        };
        let (project, around) = (&*hands.project, &hands.surroundings);
        let mut answerer = Answerer::new(project, around, wish, Errand::Answer, company);
        let mut text = prompt;
        let mut unread = Unreadable {
            problems: Vec::new(),
        };
        for _ in 0..=REPAIRS_MAX {
            let said = match question::ask_whole(&mut answerer, &text) {
                Ok(question::Reply::Answered { text, .. }) => text,
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
            let wanted = response::correction(&unread, Form::Sections);
            text = format!("{text}\n\nYou replied:\n{said}\n\n{wanted}");
        }
        response::unreadable(&unread)
    })
    .await
}

/// A person answers where nobody else does.
fn nobody(mode: &str) -> Report {
    let reason = format!(
        "Nobody is set up to answer here (`ai.mode` is `{mode}`): answer the task, or set up a model \
         and retry it."
    );
    Report::of(Outcome::Asked {
        reason,
        output: None,
    })
}

fn of_model(error: &llm::Error) -> Report {
    match error.code {
        llm::Code::BudgetExceeded => over_budget(error.to_string()),
        code => failed(class_of(code), error.to_string()),
    }
}
