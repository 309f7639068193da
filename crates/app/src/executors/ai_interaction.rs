//! `ai_interaction`: one question, put to whoever answers here, whose reply is read and checked.
//!
//! A reply that cannot be read goes back with what is wrong with it, twice; one that still cannot be
//! is a failed attempt and never a result. Where nobody answers, a person does.

use std::sync::Arc;

use agent::handlers::Models as _;
use flow::engine::{Outcome, Report, Spent};
use flow::layers::{self, Parts};
use flow::response::{self, REPAIRS_MAX};
use flow::{Step, engine::FailureClass};
use llm::usage::Cost;
use llm::{Message, Request, Stop};
use transport::{Mode, Silent};

use super::unknown_settings;
use super::{Executor, Hands, Job, Working, class_of, failed, failed_by, invalid, on_a_thread};
use crate::ai::{self, Answerer, Company, Errand, model, question};

pub(super) struct AiInteraction;

impl Executor for AiInteraction {
    fn check(&self, step: &Step) -> Vec<String> {
        unknown_settings(step, &["instructions"])
    }

    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a> {
        Box::pin(async move {
            let (prompt, unknown) = match prompt(job) {
                Ok(prompt) => prompt,
                Err(problem) => return invalid(problem),
            };
            if let Some(over) = over_budget(job, Spent::default()) {
                return over;
            }
            let mut report = match mode(&job.hands) {
                Ok(Mode::Api) => ask_model(job, prompt).await,
                Ok(Mode::Command | Mode::Stdio) => ask_program(job, prompt).await,
                Ok(mode) => nobody(mode.name()),
                Err(error) => failed_by(&error),
            };
            report.warnings.extend(unknown);
            report
        })
    }
}

/// The four layers, and a warning for every reference that nothing is known of.
fn prompt(job: &Job) -> Result<(String, Vec<String>), String> {
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

fn mode(hands: &Hands) -> Result<Mode, crate::Error> {
    let mut setup = hands.project.settings.ai.clone();
    setup.mode = hands.wish.mode.unwrap_or(setup.mode);
    Ok(ai::choice(&setup, &hands.surroundings)?.way.mode())
}

/// What a budget says before the next call, if it is used up.
fn over_budget(job: &Job, now: Spent) -> Option<Report> {
    let settings = &job.hands.project.settings.workflows;
    let task = sum(job.task.spent, now);
    let run = sum(job.run_spent, now);
    let budget = job.step.config.budget.unwrap_or_default();
    let micros = |money: Option<f64>| money.map(|money| (money * 1e6) as u64);
    let checks = [
        ("the step's `budget.tokens`", budget.tokens, task.tokens),
        (
            "the step's `budget.money`",
            micros(budget.money),
            task.micros,
        ),
        (
            "`workflows.run_tokens_max`",
            settings.run_tokens_max,
            run.tokens,
        ),
        (
            "`workflows.run_usd_max`",
            micros(settings.run_usd_max),
            run.micros,
        ),
    ];
    let tripped = checks
        .into_iter()
        .find(|(_, max, spent)| max.is_some_and(|max| *spent >= max));
    tripped.map(|(what, ..)| {
        let reason = format!("{what} is used up: raise it and resume the run.");
        let mut report = Report::of(Outcome::OverBudget { reason });
        report.spent = now;
        report
    })
}

fn sum(one: Spent, other: Spent) -> Spent {
    Spent {
        tokens: one.tokens.saturating_add(other.tokens),
        micros: one.micros.saturating_add(other.micros),
    }
}

async fn ask_model(job: &Job, prompt: String) -> Report {
    let hands = &job.hands;
    let source = model::Source::open(
        &hands.project,
        &hands.surroundings,
        &hands.wish,
        Errand::Answer,
    );
    let chosen = source.map(|source| (source.choose(None), source));
    let (chosen, _source) = match chosen {
        Ok((Ok(chosen), source)) => (chosen, source),
        Ok((Err(error), _)) => return invalid(error.to_string()),
        Err(error) => return failed_by(&error),
    };
    let mut request = Request::ask(&chosen.name, prompt);
    request.max_tokens = chosen.max_tokens;
    request.temperature = chosen.temperature;
    let mut count = Count::default();
    let schema = job.step.config.output_schema.as_ref();
    for repair in 0..=REPAIRS_MAX {
        if let Some(over) = over_budget(job, count.0) {
            return over;
        }
        let response = match chosen.model.respond(&request, &mut count).await {
            Ok(response) => response,
            Err(error) => return spending(of_model(&error), count.0),
        };
        let read = match &response.stop {
            Stop::MaxTokens => Err(response::Unreadable {
                problems: vec!["The reply was cut off at its longest; say less.".to_owned()],
            }),
            _ => response::read(&response.text(), schema),
        };
        match read {
            Ok(reply) => {
                return spending(response::report(reply, job.step.config.confidence), count.0);
            }
            Err(unreadable) if repair == REPAIRS_MAX => {
                return spending(unparsable(&unreadable), count.0);
            }
            Err(unreadable) => {
                request
                    .messages
                    .push(Message::assistant(worded(&response.text())));
                request
                    .messages
                    .push(Message::user(correction(&unreadable)));
            }
        }
    }
    unparsable(&response::Unreadable {
        problems: Vec::new(),
    })
}

/// Providers refuse a message without words.
fn worded(text: &str) -> String {
    match text.trim().is_empty() {
        true => "(no words)".to_owned(),
        false => text.to_owned(),
    }
}

/// A program, or a command, that answers in the place of a model.
async fn ask_program(job: &Job, prompt: String) -> Report {
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
        let mut answerer =
            Answerer::new(project, around, hands.wish.clone(), Errand::Answer, company);
        let mut text = prompt;
        let mut unread = response::Unreadable {
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
                Err(unreadable) => {
                    text = format!(
                        "{text}\n\nYou replied:\n{said}\n\n{}",
                        correction(&unreadable)
                    );
                    unread = unreadable;
                }
            }
        }
        unparsable(&unread)
    })
    .await
}

fn correction(unreadable: &response::Unreadable) -> String {
    let listed: Vec<String> = unreadable
        .problems
        .iter()
        .map(|one| format!("- {one}"))
        .collect();
    format!(
        "That reply cannot be used:\n{}\n\nReply again, with all five sections.",
        listed.join("\n")
    )
}

fn unparsable(unreadable: &response::Unreadable) -> Report {
    let message =
        format!("The reply could not be read after {REPAIRS_MAX} corrections: {unreadable}");
    failed(FailureClass::UnparsableReply, message)
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
    if error.code == llm::Code::BudgetExceeded {
        return Report::of(Outcome::OverBudget {
            reason: error.to_string(),
        });
    }
    failed(class_of(error.code), error.to_string())
}

fn spending(mut report: Report, spent: Spent) -> Report {
    report.spent = spent;
    report
}

/// Counts what calls took, also failed ones.
#[derive(Default)]
struct Count(Spent);

impl llm::Observer for Count {
    fn wants_stream(&self) -> bool {
        false
    }

    fn notice(&mut self, event: llm::Event<'_>) {
        if let llm::Event::Counted(entry) = event {
            let micros = match entry.cost {
                Cost::Known(micros) => micros,
                Cost::Unknown => 0,
            };
            self.0 = sum(
                self.0,
                Spent {
                    tokens: entry.usage.total(),
                    micros,
                },
            );
        }
    }
}
