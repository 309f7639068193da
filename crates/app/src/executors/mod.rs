//! Who does the automated steps of workflows: one file for each handler, behind one trait. The
//! products meet here and nowhere else.

mod agent_task;
mod ai_interaction;
mod build;
mod command;
mod fill;
mod http;
mod no_op;
mod purse;
mod recipe;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use exec::Cancel;
use flow::engine::{Failure, FailureClass, Outcome, Report, Spent, TaskRow};
use flow::{Handler, Step, Store};
use serde_json::{Map, Value};

use crate::ai::Wish;
use crate::{Error, Project, Surroundings};

pub(crate) use purse::Till;

/// Work under way. Dropping it ends it, processes and all.
pub(crate) type Working<'a> = Pin<Box<dyn Future<Output = Report> + Send + 'a>>;

/// Somebody who does steps.
pub(crate) trait Executor: Send + Sync {
    /// What is wrong with a step that is given to it: sentences. Nothing is done.
    fn check(&self, step: &Step) -> Vec<String>;

    /// Does the step once.
    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a>;
}

/// Where the work is done.
pub(crate) struct Hands {
    pub(crate) project: Arc<Project>,
    pub(crate) surroundings: Surroundings,
    pub(crate) wish: Wish,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) till: Till,
}

/// One attempt at one task.
pub(crate) struct Job {
    pub(crate) hands: Arc<Hands>,
    /// As it is after the claim.
    pub(crate) task: TaskRow,
    pub(crate) step: Step,
    /// What the step reads.
    pub(crate) state: Map<String, Value>,
    /// What the whole run has spent so far.
    pub(crate) run_spent: Spent,
}

/// The one who does what the handler says.
pub(crate) fn of(handler: Handler) -> &'static dyn Executor {
    match handler {
        Handler::AiInteraction => &ai_interaction::AiInteraction,
        Handler::CodeGeneration => &agent_task::AgentTask("code_generation"),
        Handler::Planning => &agent_task::AgentTask(agent_task::PLANNING),
        Handler::Validation => &agent_task::AgentTask(agent_task::VALIDATION),
        Handler::NoOp => &no_op::NoOp,
        Handler::Recipe => &recipe::RunRecipe,
        Handler::Build => &build::Build,
        Handler::Command => &command::RunCommand,
        Handler::Http => &http::Http,
    }
}

/// Says the agent's name beside its id, as prompts may.
pub(crate) fn name_agent(project: &Project, state: &mut Map<String, Value>) {
    let Some(Value::Object(agent)) = state.get_mut("agent") else {
        return;
    };
    let id = agent.get("id").and_then(Value::as_str).unwrap_or_default();
    let known = project.settings.workflows.agents.get(id);
    let name = known.map(|agent| agent.display_name.as_str());
    let name = name
        .filter(|name| !name.is_empty())
        .unwrap_or(id)
        .to_owned();
    agent.insert("name".to_owned(), name.clone().into());
    agent.insert("displayName".to_owned(), name.into());
}

/// What becomes of a task that has failed and is given to a person: nobody else tries it again.
pub(crate) fn left_to_a_person(job: &Job) -> Option<Report> {
    let assignee = job.task.assignee.as_ref()?;
    let agents = &job.hands.project.settings.workflows.agents;
    if !job.task.fallen_back || agents.contains_key(assignee) {
        return None;
    }
    let failure = job.task.failure.as_ref();
    let failed = failure.map_or("every attempt failed", |failure| failure.message.as_str());
    Some(Report::of(Outcome::Asked {
        reason: format!("`{assignee}` is asked in place of whoever failed: {failed}"),
        output: None,
    }))
}

impl Job {
    /// What the handler was told in the step's `config`.
    pub(crate) fn setting(&self, name: &str) -> Option<&Value> {
        setting(&self.step, name)
    }
}

/// What a step's `config` says under a name.
pub(crate) fn setting<'s>(step: &'s Step, name: &str) -> Option<&'s Value> {
    step.config.config.as_ref()?.get(name)
}

/// Refuses settings that the handler does not know, with the one that was probably meant.
pub(crate) fn unknown_settings(step: &Step, known: &[&str]) -> Vec<String> {
    let given = step.config.config.iter().flat_map(Map::keys);
    let unknown = given.filter(|name| !known.contains(&name.as_str()));
    let told = unknown.map(|name| {
        let meant = crate::nearest(name, known.iter().copied());
        let meant = meant.map_or_else(
            || format!("known here: {}", known.join(", ")),
            |meant| format!("did you mean `{meant}`?"),
        );
        format!("The handler knows no setting `{name}`; {meant}")
    });
    told.collect()
}

/// Refuses a step without a text under a name.
pub(crate) fn needs_text(step: &Step, name: &str) -> Option<String> {
    match setting(step, name) {
        Some(Value::String(text)) if !text.trim().is_empty() => None,
        _ => Some(format!(
            "The handler needs a text: `\"config\": {{ \"{name}\": \"…\" }}`."
        )),
    }
}

/// The attempt failed, and trying the same again does not help.
pub(crate) fn invalid(message: impl Into<String>) -> Report {
    failed(FailureClass::Invalid, message)
}

pub(crate) fn failed(class: FailureClass, message: impl Into<String>) -> Report {
    Report::failed(Failure {
        class,
        message: message.into(),
    })
}

/// A budget is used up: the task waits, and has not failed.
pub(crate) fn over_budget(reason: impl Into<String>) -> Report {
    Report::of(Outcome::OverBudget {
        reason: reason.into(),
    })
}

/// What an error of a use case means for an attempt.
pub(crate) fn failed_by(error: &Error) -> Report {
    let class = match error {
        Error::Ai(error) => class_of(error.code()),
        Error::Own(fault) => match fault.code {
            crate::Code::RunLocked => FailureClass::Unavailable,
            crate::Code::Interrupted => FailureClass::LeaseLost,
            crate::Code::Limit => FailureClass::Limit,
            crate::Code::Git | crate::Code::Command | crate::Code::File => FailureClass::Failed,
            _ => FailureClass::Invalid,
        },
        _ => FailureClass::Invalid,
    };
    if matches!(error, Error::Ai(error) if error.code() == llm::Code::BudgetExceeded) {
        return over_budget(error.to_string());
    }
    let hint = match error {
        Error::Own(fault) => fault.hint.as_deref(),
        _ => None,
    };
    let told = match hint {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    failed(class, told)
}

/// What sort of failure the failure of a model is.
pub(crate) fn class_of(code: llm::Code) -> FailureClass {
    match code {
        llm::Code::RateLimited => FailureClass::RateLimited,
        llm::Code::ProviderUnavailable | llm::Code::TransportFailed => FailureClass::Unavailable,
        llm::Code::ApiKeyMissing => FailureClass::Auth,
        llm::Code::ContextTooLarge | llm::Code::BudgetExceeded => FailureClass::Limit,
        llm::Code::AnswerInvalid => FailureClass::UnparsableReply,
        llm::Code::GenerationFailed => FailureClass::Failed,
    }
}

/// Does what blocks on a thread of its own; whoever stops waiting throws the switch.
pub(crate) async fn on_a_thread(work: impl FnOnce(Cancel) -> Report + Send + 'static) -> Report {
    struct CancelOnDrop(Cancel);
    impl Drop for CancelOnDrop {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    let guard = CancelOnDrop(Cancel::default());
    let cancel = guard.0.clone();
    let done = tokio::task::spawn_blocking(move || work(cancel)).await;
    done.unwrap_or_else(|cause| {
        failed(
            FailureClass::Failed,
            format!("The work broke down: {cause}."),
        )
    })
}
