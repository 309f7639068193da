//! Where a path goes on: through decisions, which create nothing, to the steps that do.
//!
//! [`plan`](Ledger::plan) reads and decides; it changes nothing. So a condition that cannot be
//! evaluated is known before anything has happened, and puts the task on hold that led to it.

use serde_json::Value;

use crate::config::StepType;
use crate::engine::Stop;
use crate::engine::action::{Evaluated, What};
use crate::engine::ledger::{Enter, Ledger, Todo};
use crate::engine::rows::Rows;
use crate::engine::view::Viewpoint;
use crate::expression;
use crate::id::{Path, StepId, TaskId};
use crate::workflow::{Edge, When};

/// How many decisions may follow each other without a task between.
pub const HOPS_MAX: usize = 100;
/// How many characters of a value are kept in the event of a decision.
const VALUE_CHARS_MAX: usize = 200;

/// The ways on from some place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) targets: Vec<StepId>,
    pub(crate) decided: Vec<What>,
}

/// Where the plan comes from, and what its tasks are told.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) path: Path,
    pub(crate) from: Option<TaskId>,
    pub(crate) failed: bool,
    pub(crate) passed: Vec<(StepId, u32)>,
}

impl<R: Rows> Ledger<'_, R> {
    /// Follows edges through every decision. The inner error is a sentence for a person.
    pub(crate) fn plan(
        &mut self,
        starts: Vec<StepId>,
        view: &Viewpoint,
        from: Option<&TaskId>,
    ) -> Result<Result<Plan, String>, Stop<R::Error>> {
        let mut plan = Plan::default();
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
                        plan.decided.push(What::Decided {
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

    /// Sets out on the planned ways.
    pub(crate) fn follow(&mut self, plan: Plan, origin: &Origin) -> Result<(), Stop<R::Error>> {
        for decided in plan.decided {
            self.tell(decided)?;
        }
        for step in plan.targets {
            self.todo.push_back(Todo::Enter(Enter {
                step,
                path: origin.path.clone(),
                from: origin.from.clone(),
                failed: origin.failed,
                passed: origin.passed.clone(),
            }));
        }
        Ok(())
    }

    /// The steps right after one, when it has succeeded.
    pub(crate) fn next(&self, step: &StepId) -> Vec<StepId> {
        let edges = self.workflow.outgoing(step);
        let taken = edges.filter(|edge| edge.when == When::Always);
        taken.map(|edge| edge.to.clone()).collect()
    }

    /// The step after one, when it has failed for good.
    pub(crate) fn next_on_error(&self, step: &StepId) -> Option<StepId> {
        let mut edges = self.workflow.outgoing(step);
        edges
            .find(|edge| edge.when == When::OnError)
            .map(|edge| edge.to.clone())
    }

    #[expect(
        clippy::type_complexity,
        reason = "the outer error is the store's, the inner one the person's"
    )]
    fn decide_at(
        &mut self,
        decision: &StepId,
        view: &Viewpoint,
    ) -> Result<Result<(StepId, Vec<Evaluated>), String>, Stop<R::Error>> {
        let workflow = self.workflow;
        let mut evaluated = Vec::new();
        let mut default: Option<&Edge> = None;
        for edge in workflow.outgoing(decision) {
            let condition = match &edge.when {
                When::Condition(condition) => condition,
                When::Default => {
                    default = default.or(Some(edge));
                    continue;
                }
                When::Always | When::OnError => continue,
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
                // What JavaScript adds to a value by itself, as `length`, is no part of its JSON.
                let stored = expression::follow(&reference.path, &state).cloned();
                let value = stored.or_else(|| expression::value(&path, &state).ok().flatten());
                (path, shortened(value.as_ref()))
            });
            evaluated.push(Evaluated {
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
