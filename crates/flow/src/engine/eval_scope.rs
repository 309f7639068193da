//! The values that expressions see at a place in a run: only those they name are looked up.

use serde_json::{Map, Value, json};

use expr::NameReference;

use crate::config::StepType;
use crate::engine::DecisionStop;
use crate::engine::decision_context::DecisionContext;
use crate::engine::rows::{RowSource, StepAddress, TaskRow, WorkflowTaskKind};
use crate::id::{ItemPath, StepId, TaskId, group_of};

/// The scope in which an expression is evaluated.
#[derive(Clone, Debug)]
pub(crate) struct EvalScope {
    pub(crate) path: ItemPath,
    /// The source of `output`.
    pub(crate) output: OutputSource,
    /// A step whose output is not stored yet.
    pub(crate) fresh: Option<(StepId, Value)>,
    pub(crate) assignee: Option<String>,
}

/// The value of `output` in an expression.
#[derive(Clone, Debug)]
pub(crate) enum OutputSource {
    /// There is no predecessor.
    None,
    Of(TaskId),
    Is(Value),
}

impl EvalScope {
    /// Returns the scope of a task in progress.
    pub(crate) fn of(task: &TaskRow) -> EvalScope {
        let output = match (task.kind, &task.output, &task.from) {
            // A join of branches works on the joined results.
            (WorkflowTaskKind::Join, Some(joined), None) => OutputSource::Is(joined.clone()),
            (_, _, Some(from)) => OutputSource::Of(from.clone()),
            _ => OutputSource::None,
        };
        EvalScope {
            path: task.id.path.clone(),
            output,
            fresh: None,
            assignee: task.assignee.clone(),
        }
    }

    /// Returns the scope behind a task that gives this output.
    pub(crate) fn after(task: &TaskRow, output: &Value) -> EvalScope {
        EvalScope {
            path: task.id.path.clone(),
            output: OutputSource::Is(output.clone()),
            fresh: Some((task.id.step.clone(), output.clone())),
            assignee: task.assignee.clone(),
        }
    }
}

impl<R: RowSource> DecisionContext<'_, R> {
    /// Returns the values of the names that an expression reads.
    pub(crate) fn state(
        &mut self,
        view: &EvalScope,
        reads: &[NameReference],
    ) -> Result<Map<String, Value>, DecisionStop<R::Error>> {
        let mut state = Map::new();
        for reference in reads {
            let Some(name) = reference.path.first() else {
                continue;
            };
            let within = reference.path.get(1).map(String::as_str);
            if name == "steps" {
                self.add_steps(&mut state, view, within)?;
            } else if !state.contains_key(name)
                && let Some(value) = self.named(view, name)?
            {
                state.insert(name.clone(), value);
            }
        }
        Ok(state)
    }

    fn named(
        &mut self,
        view: &EvalScope,
        name: &str,
    ) -> Result<Option<Value>, DecisionStop<R::Error>> {
        let around = group_of(&self.run, &view.path);
        Ok(match (name, around) {
            ("input", _) => Some(self.input()?),
            ("output", _) => match &view.output {
                OutputSource::None => None,
                OutputSource::Is(value) => Some(value.clone()),
                OutputSource::Of(task) => {
                    self.find_task(task)?.and_then(|task| task.output.clone())
                }
            },
            ("run", _) => {
                let run = self.the_run()?;
                Some(json!({
                    "id": run.id, "status": run.status, "depth": run.depth, "tags": run.tags,
                    "startedAt": run.created_ms,
                }))
            }
            ("agent", _) => view.assignee.as_ref().map(|id| json!({ "id": id })),
            ("index", Some((_, index))) => Some(json!(index)),
            ("total", Some((group, _))) => Some(json!(self.the_group(&group)?.total)),
            ("parentId", Some((group, _))) => Some(json!(group)),
            ("parentId", None) => self.the_run()?.parent.as_ref().map(|parent| json!(parent)),
            _ => self.item_named(view, name)?,
        })
    }

    /// Returns the item of the innermost foreach whose variable has this name.
    fn item_named(
        &mut self,
        view: &EvalScope,
        name: &str,
    ) -> Result<Option<Value>, DecisionStop<R::Error>> {
        for depth in (1..=view.path.items().len()).rev() {
            let path = view.path.outer(depth);
            let Some((group, index)) = group_of(&self.run, &path) else {
                continue;
            };
            if self.the_step(&group.step)?.item_variable() == name {
                return Ok(Some(self.the_item(&group, index)?.value.clone()));
            }
        }
        Ok(None)
    }

    fn add_steps(
        &mut self,
        state: &mut Map<String, Value>,
        view: &EvalScope,
        only: Option<&str>,
    ) -> Result<(), DecisionStop<R::Error>> {
        let steps = state.entry("steps").or_insert_with(|| json!({}));
        let mut known = steps.as_object().cloned().unwrap_or_default();
        let workflow = self.workflow;
        let named = workflow.steps().iter().filter(|step| {
            only.is_none_or(|only| step.id.as_str() == only) && step.step_type != StepType::Decision
        });
        for step in named {
            if known.contains_key(step.id.as_str()) {
                continue;
            }
            if let Some(output) = self.output_of(view, &step.id)? {
                known.insert(step.id.to_string(), json!({ "output": output }));
            }
        }
        state.insert("steps".to_owned(), Value::Object(known));
        Ok(())
    }

    /// Returns the last output of a step, seen from a place: in the same item or in one around it.
    fn output_of(
        &mut self,
        view: &EvalScope,
        step: &StepId,
    ) -> Result<Option<Value>, DecisionStop<R::Error>> {
        if let Some((fresh, output)) = &view.fresh
            && fresh == step
        {
            return Ok(Some(output.clone()));
        }
        let scope = &self.the_step(step)?.scope;
        let depth = scope.len();
        let around = view.path.outer(depth);
        let same = around.items().len() == depth
            && around
                .items()
                .iter()
                .zip(scope)
                .all(|(item, foreach)| item.foreach == *foreach);
        if !same {
            return Ok(None);
        }
        // Inside its items, a foreach with work is the work of this item.
        let inner = view.path.items().get(depth);
        let path = match inner {
            Some(item) if item.foreach == *step => view.path.outer(depth + 1),
            _ => around,
        };
        let mut place = StepAddress {
            run: self.run.clone(),
            path,
            step: step.clone(),
        };
        loop {
            if let Some(task) = self.completed(&place)? {
                return Ok(task.output.clone());
            }
            match self.former(&place.path)? {
                Some(path) => place.path = path,
                None => return Ok(None),
            }
        }
    }
}
