//! Finds settings that are valid by themselves but have no effect where they are: a remark, not an
//! error.

use crate::config::{ExecutionMode, RetryClass, StepConfig, StepHandler, StepType};
use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::expression;
use crate::workflow::{EdgeCondition, Workflow, WorkflowStep};

/// Reports the settings of a step that change nothing.
pub(crate) fn check(workflow: &Workflow, step: &WorkflowStep) -> Vec<WorkflowProblem> {
    let found = by_person(step)
        .into_iter()
        .chain(without_timeout(step))
        .chain(behind_error_edge(workflow, step))
        .chain(of_handler(step))
        .chain(of_join(workflow, step))
        .chain(item(step));
    let problems = found.map(|(name, why)| {
        let message = format!("`{name}` of `{}` does nothing: {why}.", step.id);
        WorkflowProblem::warning(WorkflowProblemCode::Setting, step.key(name), message)
    });
    problems.collect()
}

/// A setting without effect, and the reason.
type IdleSetting = (&'static str, String);

/// Settings that only a worker obeys, on a step that a person does.
fn by_person(step: &WorkflowStep) -> Vec<IdleSetting> {
    let config = &step.config;
    let has_task = step.step_type == StepType::Task && step.execution == ExecutionMode::Manual;
    let why = || "a person does this step".to_owned();
    listed(
        has_task,
        &[
            ("handler", config.handler.is_some()),
            ("retry", config.retry.is_some()),
            ("budget", config.budget.is_some()),
            ("confidence", config.confidence.is_some()),
            ("fallbackAssigneeId", config.fallback_assignee_id.is_some()),
        ],
        why,
    )
}

fn listed(
    applies: bool,
    settings: &[(&'static str, bool)],
    why: impl Fn() -> String,
) -> Vec<IdleSetting> {
    let set = settings.iter().filter(|(_, is_set)| applies && *is_set);
    set.map(|(name, _)| (*name, why())).collect()
}

fn is_automated_task(step: &WorkflowStep) -> bool {
    step.step_type == StepType::Task && step.execution == ExecutionMode::Automated
}

fn without_timeout(step: &WorkflowStep) -> Vec<IdleSetting> {
    let StepConfig {
        timeout,
        on_timeout,
        escalate_to,
        remind,
        ..
    } = &step.config;
    if is_automated_task(step) {
        return listed(
            true,
            &[
                ("onTimeout", on_timeout.is_some()),
                ("escalateTo", escalate_to.is_some()),
                ("remind", remind.is_some()),
            ],
            || {
                "an attempt that takes too long has failed, and `retry` and `onError` decide"
                    .to_owned()
            },
        );
    }
    listed(
        timeout.is_none(),
        &[
            ("onTimeout", on_timeout.is_some()),
            ("escalateTo", escalate_to.is_some()),
        ],
        || "the step has no `timeout`".to_owned(),
    )
}

/// Settings that would apply after the error edge, which always comes first.
fn behind_error_edge(workflow: &Workflow, step: &WorkflowStep) -> Vec<IdleSetting> {
    let mut edges = workflow.outgoing(&step.id);
    let has_edge = edges.any(|edge| edge.when == EdgeCondition::OnError);
    listed(
        has_edge,
        &[
            ("failFast", step.config.fail_fast == Some(true)),
            (
                "fallbackAssigneeId",
                step.config.fallback_assignee_id.is_some(),
            ),
        ],
        || "its `onError` edge is taken before".to_owned(),
    )
}

fn of_handler(step: &WorkflowStep) -> Vec<IdleSetting> {
    if step.execution == ExecutionMode::Manual || !step.has_work() {
        return Vec::new();
    }
    let handler = step.handler();
    let config = &step.config;
    let asks = handler == StepHandler::AiInteraction;
    let mut found = listed(
        !asks,
        &[
            ("confidence", config.confidence.is_some()),
            ("contextFrom", config.context_from.is_some()),
            ("contextTokensMax", config.context_tokens_max.is_some()),
        ],
        || "only `ai_interaction` reads it".to_owned(),
    );
    let is_mute = matches!(
        handler,
        StepHandler::Command
            | StepHandler::Http
            | StepHandler::Mcp
            | StepHandler::NoOp
            | StepHandler::Task
    );
    found.extend(listed(
        is_mute,
        &[(
            "prompt",
            config.prompt.is_some() && step.step_type == StepType::Task,
        )],
        || "its handler reads no prompt".to_owned(),
    ));
    found.extend(listed(
        handler != StepHandler::Http,
        &[("awaitCallback", config.await_callback.is_some())],
        || "only `http` waits for a callback".to_owned(),
    ));
    let given = config.retry.map(|retry| retry.on.classes());
    // The default lists more than any one handler needs.
    let is_default = config
        .retry
        .is_some_and(|retry| retry.on == crate::RetryOn::default());
    for class in given.into_iter().flatten().filter(|_| !is_default) {
        let fits = match class {
            RetryClass::Exit => handler == StepHandler::Command,
            RetryClass::Http4xx => handler == StepHandler::Http,
            RetryClass::Reply => asks,
            _ => true,
        };
        if !fits {
            let why = format!("its handler never fails with \"{}\"", class.name());
            found.push(("retry.on", why));
        }
    }
    found
}

/// A foreach with a join leaves the policy to the join.
fn of_join(workflow: &Workflow, step: &WorkflowStep) -> Vec<IdleSetting> {
    let config = &step.config;
    let join = step.join.as_ref().and_then(|join| workflow.step(join));
    let Some(join) = join else {
        return Vec::new();
    };
    listed(
        true,
        &[
            ("policy", config.policy.is_some()),
            ("minCount", config.min_count.is_some()),
            ("minSuccessPercent", config.min_success_percent.is_some()),
            ("onTimeout", config.on_timeout.is_some()),
        ],
        || format!("its join `{}` decides", join.id),
    )
}

/// Remarks on a foreach whose steps never mention the item: every item would get the same work.
fn item(step: &WorkflowStep) -> Vec<IdleSetting> {
    let asks = step.handler() == StepHandler::AiInteraction;
    if step.step_type != StepType::Foreach || !step.has_work() || asks {
        return Vec::new();
    }
    let names = [step.item_variable(), "index"];
    let reads = |reference: &expr::NameReference| {
        let first = reference.path.first().map(String::as_str);
        first.is_some_and(|first| names.contains(&first))
    };
    if step.reads.iter().any(reads) || expression::reads(step.item_variable()).is_empty() {
        return Vec::new();
    }
    let variable = step.item_variable();
    vec![(
        "itemsPath",
        format!("the same is done for every item, because nothing names `{{{{{variable}}}}}`"),
    )]
}
