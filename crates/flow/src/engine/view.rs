//! What expressions see at some place of a run: only what they name is looked up.

use serde_json::{Map, Value, json};

use expr::Reference;

use crate::config::StepType;
use crate::engine::Stop;
use crate::engine::ledger::Ledger;
use crate::engine::rows::{Place, Rows, TaskKind, TaskRow};
use crate::id::{Path, StepId, TaskId, group_of};

/// Where somebody looks from.
#[derive(Clone, Debug)]
pub(crate) struct Viewpoint {
    pub(crate) path: Path,
    /// What `output` is.
    pub(crate) output: Output,
    /// A step whose output is not stored yet.
    pub(crate) fresh: Option<(StepId, Value)>,
    pub(crate) assignee: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Output {
    /// There is no predecessor.
    None,
    Of(TaskId),
    Is(Value),
}

impl Viewpoint {
    /// What a task sees while it is worked on.
    pub(crate) fn of(task: &TaskRow) -> Viewpoint {
        let output = match (task.kind, &task.output, &task.from) {
            // A join of branches works on what has come together in it.
            (TaskKind::Join, Some(joined), None) => Output::Is(joined.clone()),
            (_, _, Some(from)) => Output::Of(from.clone()),
            _ => Output::None,
        };
        Viewpoint {
            path: task.id.path.clone(),
            output,
            fresh: None,
            assignee: task.assignee.clone(),
        }
    }

    /// What comes after a task that gives this output.
    pub(crate) fn after(task: &TaskRow, output: &Value) -> Viewpoint {
        Viewpoint {
            path: task.id.path.clone(),
            output: Output::Is(output.clone()),
            fresh: Some((task.id.step.clone(), output.clone())),
            assignee: task.assignee.clone(),
        }
    }
}

impl<R: Rows> Ledger<'_, R> {
    /// The values of the names that are read.
    pub(crate) fn state(
        &mut self,
        view: &Viewpoint,
        reads: &[Reference],
    ) -> Result<Map<String, Value>, Stop<R::Error>> {
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

    fn named(&mut self, view: &Viewpoint, name: &str) -> Result<Option<Value>, Stop<R::Error>> {
        let around = group_of(&self.run, &view.path);
        Ok(match (name, around) {
            ("input", _) => Some(self.input()?),
            ("output", _) => match &view.output {
                Output::None => None,
                Output::Is(value) => Some(value.clone()),
                Output::Of(task) => self.find_task(task)?.and_then(|task| task.output.clone()),
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

    /// The item of the innermost foreach whose variable has this name.
    fn item_named(
        &mut self,
        view: &Viewpoint,
        name: &str,
    ) -> Result<Option<Value>, Stop<R::Error>> {
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
        view: &Viewpoint,
        only: Option<&str>,
    ) -> Result<(), Stop<R::Error>> {
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

    /// What a step gave last, seen from some place: in the same item or in one around it.
    fn output_of(
        &mut self,
        view: &Viewpoint,
        step: &StepId,
    ) -> Result<Option<Value>, Stop<R::Error>> {
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
        // Inside of its items, a foreach that has work is the work of this item.
        let inner = view.path.items().get(depth);
        let path = match inner {
            Some(item) if item.foreach == *step => view.path.outer(depth + 1),
            _ => around,
        };
        let mut place = Place {
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
