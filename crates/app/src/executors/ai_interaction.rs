//! `ai_interaction`: one question, put to whoever answers here, whose reply is read and checked.
//!
//! A reply that cannot be read goes back with what is wrong with it, twice; one that still cannot be
//! is a failed attempt and never a result. Where nobody answers, a person does.

use std::sync::Arc;

use agent::handlers::Models as _;
use flow::engine::{Outcome, Report};
use flow::layers::{self, Form, Parts};
use flow::response::{self, REPAIRS_MAX, Unreadable};
use flow::{Step, engine::FailureClass};
use llm::{Message, Output, Request, Response, Stop};
use transport::{CommandMode, Mode, Silent};

use super::purse::{Asks, within_budget};
use super::{Executor, Job, Working, class_of, failed, failed_by, invalid, on_a_thread};
use super::{over_budget, unknown_settings};
use crate::ai::{self, Answerer, Company, Errand, Wish, model, question};

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
            let (prompt, unknown) = match prompt(job, form) {
                Ok(prompt) => prompt,
                Err(problem) => return invalid(problem),
            };
            let mut report = match mode {
                Mode::Api => {
                    within_budget(job, Asks::Surely, |wish| ask_model(job, wish, prompt)).await
                }
                Mode::Command | Mode::Stdio => {
                    within_budget(job, Asks::Surely, |wish| ask_program(job, wish, prompt)).await
                }
                mode => nobody(mode.name()),
            };
            report.warnings.extend(unknown);
            report
        })
    }
}

/// The four layers, and a warning for every reference that nothing is known of.
fn prompt(job: &Job, form: Form) -> Result<(String, Vec<String>), String> {
    let step = &job.step;
    let filled = layers::prompt(step, &job.state)
        .map_err(|cause| format!("The prompt cannot be filled in: {cause}"))?;
    let instructions = job.setting("instructions").and_then(|value| value.as_str());
    let instructions = instructions.map(|text| super::fill::text(text, &job.state));
    let instructions = instructions.transpose()?;
    let settings = &job.hands.project.settings.workflows;
    let agent = job.task.assignee.as_ref();
    let agent = agent.and_then(|name| settings.agents.get(name));
    let more = more(job);
    let parts = Parts {
        agent: agent.map(|agent| agent.prompt.as_str()),
        step: (!filled.text.is_empty()).then_some(filled.text.as_str()),
        instructions: instructions.as_deref(),
        title: &step.name,
        summary: step.config.description.as_deref(),
        tags: &job.task.tags,
        more: more.as_deref(),
        output_schema: step.config.output_schema.as_ref(),
        form,
    };
    let unknown = filled
        .unknown
        .iter()
        .map(|path| format!("The prompt names `{path}`, of which nothing is known here."));
    Ok((layers::assemble(step, &parts), unknown.collect()))
}

/// What the attempts and turns before have left, and what the step before gave.
fn more(job: &Job) -> Option<String> {
    let mut told = Vec::new();
    let says_itself = job
        .step
        .config
        .prompt
        .as_ref()
        .is_some_and(|text| text.contains("{{"));
    if let Some(output) = job.state.get("output").filter(|_| !says_itself) {
        let pretty = serde_json::to_string_pretty(output).unwrap_or_default();
        told.push(format!("The step before gave:\n{}", shortened(&pretty)));
    }
    if let (Some(note), Some(output)) = (&job.task.note, &job.task.output) {
        let pretty = serde_json::to_string_pretty(output).unwrap_or_default();
        told.push(format!(
            "You asked for another turn ({note}). Your output so far:\n{}",
            shortened(&pretty)
        ));
    } else if let Some(note) = &job.task.note {
        told.push(format!("You asked for another turn: {note}"));
    }
    if let Some(failure) = &job.task.failure {
        told.push(format!("The attempt before failed: {}", failure.message));
    }
    (!told.is_empty()).then(|| told.join("\n\n"))
}

/// How much of an earlier output is shown.
const OUTPUT_CHARS_MAX: usize = 20_000;

fn shortened(text: &str) -> String {
    let all = text.chars().count();
    let mut shown: String = text.chars().take(OUTPUT_CHARS_MAX).collect();
    if all > OUTPUT_CHARS_MAX {
        shown.push_str(&format!(
            "\n[cut here: {all} characters are more than OUTPUT_CHARS_MAX = {OUTPUT_CHARS_MAX}]"
        ));
    }
    shown
}

/// A model, held to the envelope of a reply where its provider can do that.
async fn ask_model(job: &Job, wish: Wish, prompt: String) -> Report {
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
        if let Stop::Refusal(word) = &response.stop {
            let message = format!("{} refused to answer ({word}).", response.model);
            return failed(FailureClass::Failed, message);
        }
        match read(&response, schema) {
            Ok(reply) => return response::report(reply, job.step.config.confidence),
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
async fn ask_program(job: &Job, mut wish: Wish, prompt: String) -> Report {
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
            let said = match question::ask(&mut answerer, &text) {
                Ok(question::Reply::Answered { text, .. }) => text,
                Ok(_) => return nobody(answerer.mode().name()),
                Err(error) => return failed_by(&error),
            };
            match response::read(&said, schema.as_ref()) {
                Ok(reply) => return response::report(reply, confidence),
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
