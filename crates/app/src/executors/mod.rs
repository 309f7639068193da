//! Executors of the automated steps of workflows: one file for each handler, behind one trait. The
//! products meet here and nowhere else.

mod agent_task;
mod ai_interaction;
mod budget;
mod build;
mod command;
mod file_task;
mod http;
mod interpolate;
mod log;
mod mcp;
mod no_op;
mod recipe;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use exec::CommandCancel;
use flow::engine::{
    AttemptFailure, AttemptOutcome, AttemptReport, FailureClass, SpentAmount, TaskRow,
};
use flow::{StepHandler, WorkflowStep, WorkflowStore};
use serde_json::{Map, Value};
use store::{ProjectKeys, Slug, UserKind, UserStore};

use crate::ai::AiOverrides;
use crate::settings::WorkflowAgent;
use crate::tasks::TaskWatch;
use crate::{Error, ProcessEnvironment, Project};

pub(crate) use agent_task::CRITERIA;
pub(crate) use budget::UnreportedSpend;
pub(crate) use mcp::problems_of as mcp_problems;
pub(crate) use recipe::problems_of as recipe_problems;

/// A running attempt. Dropping it ends it, with all its processes.
pub(crate) type ExecutorFuture<'a> = Pin<Box<dyn Future<Output = AttemptReport> + Send + 'a>>;

/// Runs the steps of one handler.
pub(crate) trait StepExecutor: Send + Sync {
    /// Returns the problems of a step that is given to it, as sentences. Runs nothing.
    fn check(&self, step: &WorkflowStep) -> Vec<String>;

    /// Does the step once.
    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a>;
}

/// Everything that executors share.
pub(crate) struct ExecutorContext {
    pub(crate) project: Arc<Project>,
    pub(crate) surroundings: ProcessEnvironment,
    pub(crate) wish: AiOverrides,
    pub(crate) store: Arc<dyn WorkflowStore>,
    pub(crate) till: UnreportedSpend,
    /// The people and agents of the database, who may change while the process runs.
    pub(crate) people: Arc<dyn UserStore>,
    /// The secrets that the machines of the project share.
    pub(crate) keys: Arc<dyn ProjectKeys>,
    /// The address of the server that callbacks come to, once one listens.
    pub(crate) callback_origin: OnceLock<String>,
    /// How this process shows and ends the tasks of a file that it runs.
    pub(crate) task_watch: OnceLock<Arc<TaskWatch>>,
}

impl ExecutorContext {
    /// Returns the agent with this name as it is now: an agent that was added or edited after the process
    /// started counts, one that was deactivated does not. Without the database the settings as they
    /// were read count.
    pub(crate) async fn agent(&self, name: &str) -> Option<WorkflowAgent> {
        let stored = match name.parse::<Slug>() {
            Ok(slug) => self.people.user(&slug).await.ok().flatten(),
            Err(_) => None,
        };
        let Some(user) = stored else {
            return self.project.settings.workflows.agents.get(name).cloned();
        };
        match user.nature {
            UserKind::Agent { prompt } if user.is_active => Some(WorkflowAgent {
                display_name: user.display_name,
                prompt,
            }),
            _ => None,
        }
    }
}

/// One attempt at one task.
pub(crate) struct StepAttempt {
    pub(crate) hands: Arc<ExecutorContext>,
    /// The task's row after the claim.
    pub(crate) task: TaskRow,
    pub(crate) step: WorkflowStep,
    /// The agent that the task is assigned to.
    pub(crate) agent: Option<WorkflowAgent>,
    /// The values that the step reads.
    pub(crate) state: Map<String, Value>,
    /// The spending of the whole run so far.
    pub(crate) run_spent: SpentAmount,
}

/// Returns the executor of a handler.
pub(crate) fn of(handler: StepHandler) -> &'static dyn StepExecutor {
    match handler {
        StepHandler::AiInteraction => &ai_interaction::AiInteraction,
        StepHandler::CodeGeneration => &agent_task::AgentTask("code_generation"),
        StepHandler::Planning => &agent_task::AgentTask(agent_task::PLANNING),
        StepHandler::Validation => &agent_task::AgentTask(agent_task::VALIDATION),
        StepHandler::NoOp => &no_op::NoOp,
        StepHandler::Recipe => &recipe::RunRecipe,
        StepHandler::Build => &build::BuildExecutor,
        StepHandler::Command => &command::RunCommand,
        StepHandler::Http => &http::HttpExecutor,
        StepHandler::Task => &file_task::FileTask,
        StepHandler::Mcp => &mcp::CallTool,
    }
}

/// Says the agent's name beside its id, as prompts may.
pub(crate) fn name_agent(known: Option<&WorkflowAgent>, state: &mut Map<String, Value>) {
    let Some(Value::Object(agent)) = state.get_mut("agent") else {
        return;
    };
    let id = agent.get("id").and_then(Value::as_str).unwrap_or_default();
    let name = known.map(|agent| agent.display_name.as_str());
    let name = name
        .filter(|name| !name.is_empty())
        .unwrap_or(id)
        .to_owned();
    agent.insert("name".to_owned(), name.clone().into());
    agent.insert("displayName".to_owned(), name.into());
}

/// Returns the report for a task that has failed and was given to a person: no automated attempt
/// may follow.
pub(crate) fn left_to_a_person(job: &StepAttempt) -> Option<AttemptReport> {
    let assignee = job.task.assignee.as_ref()?;
    if !job.task.fallen_back || job.agent.is_some() {
        return None;
    }
    let failure = job.task.failure.as_ref();
    let failed = failure.map_or("every attempt failed", |failure| failure.message.as_str());
    Some(AttemptReport::of(AttemptOutcome::Asked {
        reason: format!(
            "`{assignee}` is asked instead, because the first attempt failed: {failed}"
        ),
        output: None,
    }))
}

impl StepAttempt {
    /// Returns a setting of the handler from the step's `config`.
    pub(crate) fn setting(&self, name: &str) -> Option<&Value> {
        setting(&self.step, name)
    }
}

/// Returns the value under a name in a step's `config`.
pub(crate) fn setting<'s>(step: &'s WorkflowStep, name: &str) -> Option<&'s Value> {
    step.config.config.as_ref()?.get(name)
}

/// Refuses settings that the handler does not know, with the one that was probably meant.
pub(crate) fn unknown_settings(step: &WorkflowStep, known: &[&str]) -> Vec<String> {
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
pub(crate) fn needs_text(step: &WorkflowStep, name: &str) -> Option<String> {
    match setting(step, name) {
        Some(Value::String(text)) if !text.trim().is_empty() => None,
        _ => Some(format!(
            "The handler needs a text: `\"config\": {{ \"{name}\": \"…\" }}`."
        )),
    }
}

/// Reports a failed attempt that would fail in the same way again.
pub(crate) fn invalid(message: impl Into<String>) -> AttemptReport {
    failed(FailureClass::Invalid, message)
}

pub(crate) fn failed(class: FailureClass, message: impl Into<String>) -> AttemptReport {
    AttemptReport::failed(AttemptFailure {
        class,
        message: message.into(),
    })
}

/// Reports that a budget is used up: the task waits, and has not failed.
pub(crate) fn over_budget(reason: impl Into<String>) -> AttemptReport {
    AttemptReport::of(AttemptOutcome::OverBudget {
        reason: reason.into(),
        budget: None,
    })
}

/// Converts an error of a use case into the report of an attempt.
pub(crate) fn failed_by(error: &Error) -> AttemptReport {
    let class = match error {
        Error::Ai(error) => class_of(error.code()),
        Error::Own(fault) => match fault.code {
            crate::AppErrorCode::RunLocked => FailureClass::Unavailable,
            crate::AppErrorCode::Interrupted => FailureClass::LeaseLost,
            crate::AppErrorCode::Limit => FailureClass::Limit,
            crate::AppErrorCode::Git | crate::AppErrorCode::Command | crate::AppErrorCode::File => {
                FailureClass::Failed
            }
            _ => FailureClass::Invalid,
        },
        _ => FailureClass::Invalid,
    };
    if matches!(error, Error::Ai(error) if error.code() == llm::AiErrorCode::BudgetExceeded) {
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

/// Returns the failure class of a model's error.
pub(crate) fn class_of(code: llm::AiErrorCode) -> FailureClass {
    match code {
        llm::AiErrorCode::RateLimited => FailureClass::RateLimited,
        llm::AiErrorCode::ProviderUnavailable | llm::AiErrorCode::TransportFailed => {
            FailureClass::Unavailable
        }
        llm::AiErrorCode::ApiKeyMissing => FailureClass::Auth,
        llm::AiErrorCode::ContextTooLarge | llm::AiErrorCode::BudgetExceeded => FailureClass::Limit,
        llm::AiErrorCode::AnswerInvalid => FailureClass::UnparsableReply,
        llm::AiErrorCode::GenerationFailed => FailureClass::Failed,
    }
}

/// Runs blocking work on a thread of its own; when the caller stops waiting, the work is cancelled.
pub(crate) async fn on_a_thread(
    work: impl FnOnce(CommandCancel) -> AttemptReport + Send + 'static,
) -> AttemptReport {
    struct AttemptCancelGuard(CommandCancel);
    impl Drop for AttemptCancelGuard {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    let guard = AttemptCancelGuard(CommandCancel::default());
    let cancel = guard.0.clone();
    let done = tokio::task::spawn_blocking(move || work(cancel)).await;
    done.unwrap_or_else(|cause| {
        failed(
            FailureClass::Failed,
            format!("The work broke down: {cause}."),
        )
    })
}

/// Does asynchronous work on a thread and a runtime of its own, so that it can end in order after the
/// worker has stopped waiting for it: a build that is cancelled still keeps its patch.
pub(crate) async fn on_a_runtime<W>(work: W) -> AttemptReport
where
    W: AsyncFnOnce(CommandCancel) -> AttemptReport + Send + 'static,
{
    on_a_thread(move |cancel| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(work(cancel)),
            Err(cause) => {
                let message = format!("The system is out of handles: {cause}.");
                failed(FailureClass::Unavailable, message)
            }
        }
    })
    .await
}
