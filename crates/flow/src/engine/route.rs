//! Finds the next steps of a path: through decisions, which create no task, to the steps that do.
//!
//! [`plan`](DecisionContext::plan) reads and decides; it changes nothing. So a condition that cannot be
//! evaluated shows up before anything has happened, and puts the task on hold that led to it.

use serde_json::Value;

use crate::config::StepType;
use crate::engine::DecisionStop;
use crate::engine::action::{EvaluatedCondition, EventKind};
use crate::engine::decision_context::{DecisionContext, DeferredWork, StepEntry};
use crate::engine::eval_scope::EvalScope;
use crate::engine::rows::RowSource;
use crate::expression;
use crate::id::{ItemPath, StepId, TaskId};
use crate::workflow::{EdgeCondition, WorkflowEdge};

/// Limits the decisions that follow each other without a task between.
pub(crate) const HOPS_MAX: usize = 100;
/// Limits the characters of a value stored in the event of a decision.
const VALUE_CHARS_MAX: usize = 200;

/// The next steps from a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoutePlan {
    pub(crate) targets: Vec<StepId>,
    pub(crate) decided: Vec<EventKind>,
}

/// The task that a plan starts from, and the data that its new tasks get.
#[derive(Clone, Debug)]
pub(crate) struct RouteOrigin {
    pub(crate) path: ItemPath,
    pub(crate) from: Option<TaskId>,
    pub(crate) failed: bool,
    pub(crate) passed: Vec<(StepId, u32)>,
}

impl<R: RowSource> DecisionContext<'_, R> {
    /// Follows edges through every decision. The inner error is a sentence for a person.
    pub(crate) fn plan(
        &mut self,
        starts: Vec<StepId>,
        view: &EvalScope,
        from: Option<&TaskId>,
    ) -> Result<Result<RoutePlan, String>, DecisionStop<R::Error>> {
        let mut plan = RoutePlan::default();
        for start in starts {
            let mut at = start;
            let mut hops = 0;
            loop {
                if self.the_step(&at)?.step_type != StepType::Decision {
                    plan.targets.push(at);
                    break;
                }
                hops += 1;
                if hops > HOPS_MAX {
                    return Ok(Err(format!(
                        "More than HOPS_MAX = {HOPS_MAX} decisions follow each other at `{at}`."
                    )));
                }
                match self.decide_at(&at, view)? {
                    Ok((to, evaluated)) => {
                        plan.decided.push(EventKind::Decided {
                            decision: at,
                            after: from.cloned(),
                            to: to.clone(),
                            evaluated,
                        });
                        at = to;
                    }
                    Err(reason) => return Ok(Err(reason)),
                }
            }
        }
        Ok(Ok(plan))
    }

    /// Enters the planned steps.
    pub(crate) fn follow(
        &mut self,
        plan: RoutePlan,
        origin: &RouteOrigin,
    ) -> Result<(), DecisionStop<R::Error>> {
        for decided in plan.decided {
            self.tell(decided)?;
        }
        for step in plan.targets {
            self.todo.push_back(DeferredWork::Enter(StepEntry {
                step,
                path: origin.path.clone(),
                from: origin.from.clone(),
                failed: origin.failed,
                passed: origin.passed.clone(),
            }));
        }
        Ok(())
    }

    /// Returns the next steps of a step that has succeeded.
    pub(crate) fn next(&self, step: &StepId) -> Vec<StepId> {
        let edges = self.workflow.outgoing(step);
        let taken = edges.filter(|edge| edge.when == EdgeCondition::Always);
        taken.map(|edge| edge.to.clone()).collect()
    }

    /// Returns the next step of a step that has failed for good.
    pub(crate) fn next_on_error(&self, step: &StepId) -> Option<StepId> {
        let mut edges = self.workflow.outgoing(step);
        edges
            .find(|edge| edge.when == EdgeCondition::OnError)
            .map(|edge| edge.to.clone())
    }

    #[expect(
        clippy::type_complexity,
        reason = "the outer error is the store's, the inner one the person's"
    )]
    fn decide_at(
        &mut self,
        decision: &StepId,
        view: &EvalScope,
    ) -> Result<Result<(StepId, Vec<EvaluatedCondition>), String>, DecisionStop<R::Error>> {
        let workflow = self.workflow;
        let mut evaluated = Vec::new();
        let mut default: Option<&WorkflowEdge> = None;
        for edge in workflow.outgoing(decision) {
            let condition = match &edge.when {
                EdgeCondition::Condition(condition) => condition,
                EdgeCondition::Default => {
                    default = default.or(Some(edge));
                    continue;
                }
                EdgeCondition::Always | EdgeCondition::OnError => continue,
            };
            let reads = expression::reads(condition);
            let state = self.state(view, &reads)?;
            let result = match expression::condition(condition, &state) {
                Ok(result) => result,
                Err(error) => {
                    return Ok(Err(format!(
                        "The condition `{condition}` of the decision `{decision}` failed: {}.",
                        error.message().trim_end_matches('.')
                    )));
                }
            };
            let values = reads.iter().map(|reference| {
                let path = reference.path.join(".");
                // Properties that JavaScript adds, such as `length`, are not part of the JSON.
                let stored = expression::follow(&reference.path, &state).cloned();
                let value = stored.or_else(|| expression::value(&path, &state).ok().flatten());
                (path, shortened(value.as_ref()))
            });
            evaluated.push(EvaluatedCondition {
                condition: condition.clone(),
                result,
                values: values.collect(),
            });
            if result {
                return Ok(Ok((edge.to.clone(), evaluated)));
            }
        }
        match default {
            Some(edge) => Ok(Ok((edge.to.clone(), evaluated))),
            None => Ok(Err(format!(
                "No condition of the decision `{decision}` holds, and it has no default branch."
            ))),
        }
    }
}

fn shortened(value: Option<&Value>) -> Value {
    let Some(value) = value else {
        return Value::Null;
    };
    let text = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => return value.clone(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((at, _)) => Value::from(format!("{}…", &text[..at])),
        None if value.is_string() => value.clone(),
        None => Value::from(text),
    }
}
