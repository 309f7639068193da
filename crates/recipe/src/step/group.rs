//! `sequence` and `parallel`, and steps marked `parallel: true`: the shape commands run in.

use std::rc::Rc;

use serde_json::Value as Json;

use super::{StepContext, StepPass, ToolExport};
use crate::effect::CommandTree;
use crate::error::Error;
use crate::loaded_recipe::LoadedRecipe;
use crate::manifest::{GroupStep, RecipeStep};
use crate::scope::VariableScope;

/// Default number of commands that run at the same time.
pub(crate) const PARALLEL_DEFAULT: usize = 8;

/// A group whose commands are still being decided.
pub(super) struct PendingGroup {
    runs: Vec<CommandTree>,
    /// Most at a time; `None` for one after the other.
    limit: Option<usize>,
}

impl PendingGroup {
    pub(super) fn sequence() -> Self {
        Self {
            runs: Vec::new(),
            limit: None,
        }
    }

    fn parallel(limit: usize) -> Self {
        Self {
            runs: Vec::new(),
            limit: Some(limit),
        }
    }

    fn close(self) -> Option<CommandTree> {
        match (self.runs.len(), self.limit) {
            (0, _) => None,
            (1, _) => self.runs.into_iter().next(),
            (_, Some(limit)) => Some(CommandTree::Parallel {
                parallel: self.runs,
                limit,
            }),
            (_, None) => Some(CommandTree::Sequence {
                sequence: self.runs,
            }),
        }
    }
}

/// Counts the next steps that run together: neighbours marked `parallel`, none waiting for another.
pub(super) fn neighbours(steps: &[RecipeStep], order: &[usize]) -> usize {
    let mut count = 0;
    for &index in order {
        let step = &steps[index];
        let names = order[..count]
            .iter()
            .map(|&earlier| steps[earlier].name.as_str());
        let waits = names
            .into_iter()
            .any(|name| step.depends_on.iter().any(|on| on.text == name));
        if !step.parallel || waits {
            break;
        }
        count += 1;
    }
    count.max(1)
}

impl StepPass<'_> {
    pub(super) fn sequence(
        &mut self,
        at: &mut StepContext<'_>,
        group: &GroupStep,
        scope: &mut VariableScope,
    ) -> Result<ToolExport, Error> {
        let mut inner = at.scope.clone();
        self.runs.push(PendingGroup::sequence());
        let result = self.steps(at.unit, &mut inner, (&group.steps, &group.order));
        self.close_group();
        result?;
        hand_out(&group.steps, &inner, scope);
        Ok(ToolExport::Value(Json::Null))
    }

    pub(super) fn parallel(
        &mut self,
        at: &mut StepContext<'_>,
        group: &GroupStep,
        scope: &mut VariableScope,
    ) -> Result<ToolExport, Error> {
        let mut inner = at.scope.clone();
        let members = group
            .order
            .iter()
            .map(|&index| &group.steps[index])
            .collect();
        let limit = group.limit.map(|limit| limit as usize);
        self.at_once(at.unit, &mut inner, members, limit)?;
        hand_out(&group.steps, &inner, scope);
        Ok(ToolExport::Value(Json::Null))
    }

    /// Decides steps whose commands run at the same time.
    pub(super) fn at_once(
        &mut self,
        unit: &Rc<LoadedRecipe>,
        scope: &mut VariableScope,
        steps: Vec<&RecipeStep>,
        limit: Option<usize>,
    ) -> Result<(), Error> {
        self.runs
            .push(PendingGroup::parallel(limit.unwrap_or(PARALLEL_DEFAULT)));
        let result = steps.into_iter().try_for_each(|step| {
            // A step's own commands stay in order: a template's `sh`, an item of `forEach`.
            self.runs.push(PendingGroup::sequence());
            let result = self.step(unit, scope, step);
            self.close_group();
            result
        });
        self.close_group();
        result?;
        // Their exports are known once all of them have run.
        if !self.is_in_parallel() {
            self.settle(scope)
        } else {
            Ok(())
        }
    }

    pub(super) fn push_run(&mut self, run: CommandTree) {
        if let Some(open) = self.runs.last_mut() {
            open.runs.push(run);
        }
    }

    pub(super) fn runs_len(&self) -> usize {
        self.runs.last().map_or(0, |open| open.runs.len())
    }

    pub(super) fn truncate_runs(&mut self, len: usize) {
        if let Some(open) = self.runs.last_mut() {
            open.runs.truncate(len);
        }
    }

    pub(super) fn is_in_parallel(&self) -> bool {
        self.runs.iter().any(|open| open.limit.is_some())
    }

    /// Takes every command decided so far, in the shape it runs in.
    pub(super) fn drain_runs(&mut self) -> Vec<CommandTree> {
        let levels = self.runs.iter_mut().map(|open| PendingGroup {
            runs: std::mem::take(&mut open.runs),
            limit: open.limit,
        });
        levels.filter_map(PendingGroup::close).collect()
    }

    fn close_group(&mut self) {
        if self.runs.len() > 1
            && let Some(run) = self.runs.pop().and_then(PendingGroup::close)
        {
            self.push_run(run);
        }
    }
}

/// Exports of steps within a group belong to the recipe.
fn hand_out(steps: &[RecipeStep], inner: &VariableScope, outer: &mut VariableScope) {
    use crate::manifest::StepTool;
    for step in steps {
        for (name, _) in &step.exports {
            outer.take_over(name, inner, name);
        }
        match &step.tool {
            StepTool::Prompt(tool) => outer.take_over(&tool.variable, inner, &tool.variable),
            StepTool::Query(tool) => {
                let names = tool
                    .checks
                    .iter()
                    .flat_map(|c| [&c.export, &c.export_exists]);
                for name in names.flatten() {
                    outer.take_over(name, inner, name);
                }
            }
            StepTool::Sequence(group) | StepTool::Parallel(group) => {
                hand_out(&group.steps, inner, outer);
            }
            _ => {}
        }
    }
}
