//! The walk over a recipe's steps: it decides everything and performs nothing.
//!
//! Every round repeats the walk. A step that depends on a missing answer is left out and decided in
//! a later round; one that depends on the output of a command is planned with a stand-in and
//! decided again while performing.

mod ai;
mod command;
mod data;
mod directives;
mod evaluation;
mod file_placement;
mod group;
mod inputs;
mod install;
mod prompt;
mod recipe;
mod template;
mod template_files;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ::prompt::Questionnaire;
use expr::Value;
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;
use workspace::{PolicySettings, RelPath};

use crate::conflict::{FileConflict, OnConflict};
use crate::effect::{CommandTree, Effect};
use crate::error::{Error, RecipeErrorKind};
use crate::evaluate::AnswerValues;
use crate::host::ConflictDecisions;
use crate::loaded_recipe::{LoadedRecipe, RecipeLibrary};
use crate::manifest::{RecipeStep, RecipeVariable, StepTool};
use crate::perform::EffectPerformer;
use crate::project::PendingProject;
use crate::scope::VariableScope;
use crate::unknown_values::ReadTracker;

pub(crate) use evaluation::ValueCertainty;
pub(crate) use inputs::{WantedVariable, missing};
pub(crate) use prompt::variable as prompt_variable;

/// Most recipes inside recipes.
pub(crate) const RECIPE_DEPTH_MAX: usize = 16;
/// Most steps one run takes, items of `forEach` counted.
pub(crate) const STEP_RUNS_MAX: usize = 200_000;

/// Everything known before a walk begins.
pub(crate) struct KnownInputs {
    pub(crate) answers: AnswerValues,
    /// Values of variables and prompts that were asked for and given.
    pub(crate) values: BTreeMap<String, serde_json::Value>,
    /// Those of them that a person gave.
    pub(crate) asked: serde_json::Map<String, serde_json::Value>,
    pub(crate) decisions: ConflictDecisions,
    /// The question of each answer, as a hash.
    pub(crate) questions: BTreeMap<String, String>,
    /// Answers of an earlier run whose question reads differently now.
    pub(crate) answers_kept: BTreeSet<String>,
    pub(crate) on_conflict: OnConflict,
}

/// Planning runs no commands; performing does.
pub(crate) enum PassStage<'p> {
    Planning,
    Performing(Box<EffectPerformer<'p>>),
}

/// Everything a walk finds out.
#[derive(Default)]
pub(crate) struct PassFindings {
    pub(crate) questionnaire: Questionnaire,
    /// Questions that wait for other answers: their keys, where known.
    pub(crate) postponed: IndexSet<String>,
    /// A decision is open because an answer is missing.
    pub(crate) unsettled: bool,
    /// Keys of answers that were read and are not there, with who read them.
    pub(crate) unanswered: IndexMap<String, String>,
    /// Errors that missing answers may explain.
    pub(crate) excused: Vec<Error>,
    pub(crate) undefined: IndexSet<(String, String, u32, u32)>,
    /// Variables that must be asked for.
    pub(crate) wanted: Vec<WantedVariable>,
    /// Every variable of every recipe of the run.
    pub(crate) variables: IndexMap<String, RecipeVariable>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) conflicts: Vec<FileConflict>,
    pub(crate) steps: Vec<StepReport>,
    /// Commands whose results later steps need.
    pub(crate) barriers: usize,
    /// Templates used and their hashes.
    pub(crate) templates: BTreeMap<String, String>,
}

/// Report about one step.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    pub name: String,
    pub tool: &'static str,
    pub status: StepStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepStatus {
    Done,
    Skipped,
    Failed,
}

/// One walk.
pub(crate) struct StepPass<'w> {
    pub(crate) project: Rc<PendingProject>,
    pub(crate) library: &'w RecipeLibrary,
    pub(crate) known: &'w KnownInputs,
    /// Policy for files that are read as context.
    pub(crate) policy: &'w PolicySettings,
    pub(crate) stage: PassStage<'w>,
    pub(crate) tracker: Rc<ReadTracker>,
    pub(crate) found: PassFindings,
    /// The recipes being run, outermost first.
    chain: Vec<String>,
    /// Commands decided and not yet handed over, by open group.
    runs: Vec<group::PendingGroup>,
    waiting: Vec<command::PendingExports>,
    /// Values that templates of the current step exported with `provide`.
    provided: Vec<(String, Value)>,
    /// The step that wrote each file of this run.
    written: BTreeMap<RelPath, String>,
    /// Files that will be there, or be different, once answers are.
    expected: BTreeSet<RelPath>,
    commands: usize,
    step_runs: usize,
}

/// A step at work: its recipe, itself, and the values it sees.
pub(crate) struct StepContext<'s> {
    pub(crate) unit: &'s Rc<LoadedRecipe>,
    pub(crate) step: &'s RecipeStep,
    pub(crate) scope: VariableScope,
}

/// The value of a tool, for `exports`.
pub(crate) enum ToolExport {
    Value(serde_json::Value),
    /// A command that runs later; exports wait for it.
    Command(usize),
    /// It depends on an answer that is missing.
    Later,
}

impl<'w> StepPass<'w> {
    pub(crate) fn new(
        project: Rc<PendingProject>,
        library: &'w RecipeLibrary,
        known: &'w KnownInputs,
        policy: &'w PolicySettings,
        stage: PassStage<'w>,
    ) -> Self {
        Self {
            project,
            library,
            known,
            policy,
            stage,
            tracker: Rc::default(),
            found: PassFindings::default(),
            chain: Vec::new(),
            runs: vec![group::PendingGroup::sequence()],
            waiting: Vec::new(),
            provided: Vec::new(),
            written: BTreeMap::new(),
            expected: BTreeSet::new(),
            commands: 0,
            step_runs: 0,
        }
    }

    /// Ends the walk; returns its findings, and the performer if there was one.
    pub(crate) fn finish(mut self) -> (PassFindings, Vec<CommandTree>, PassStage<'w>) {
        let runs = self.drain_runs();
        (self.found, runs, self.stage)
    }

    /// Decides the steps of a list in their order.
    pub(crate) fn steps(
        &mut self,
        unit: &Rc<LoadedRecipe>,
        scope: &mut VariableScope,
        (steps, order): (&[RecipeStep], &[usize]),
    ) -> Result<(), Error> {
        let mut at = 0;
        while at < order.len() {
            let together = group::neighbours(steps, &order[at..]);
            if together > 1 {
                let members = order[at..at + together].iter().map(|&index| &steps[index]);
                self.at_once(unit, scope, members.collect(), None)?;
            } else {
                self.step(unit, scope, &steps[order[at]])?;
            }
            at += together;
        }
        Ok(())
    }

    /// Decides one step, for each of its items.
    pub(crate) fn step(
        &mut self,
        unit: &Rc<LoadedRecipe>,
        scope: &mut VariableScope,
        step: &RecipeStep,
    ) -> Result<(), Error> {
        let before = step.continue_on_error.then(|| self.save());
        match self.attempt(unit, scope, step) {
            Err(error) if before.is_some() && is_excusable(&error) => {
                self.restore(before.unwrap_or_default());
                let first = error.diagnostics().first();
                let reason = first.map(|diagnostic| diagnostic.message.clone());
                self.report(step, StepStatus::Failed, reason);
                Ok(())
            }
            result => result,
        }
    }

    fn attempt(
        &mut self,
        unit: &Rc<LoadedRecipe>,
        scope: &mut VariableScope,
        step: &RecipeStep,
    ) -> Result<(), Error> {
        let mut at = StepContext {
            unit,
            step,
            scope: self.step_scope(scope, step),
        };
        let Some(for_each) = &step.for_each else {
            if let Some(outcome) = self.once(&mut at, scope)? {
                self.export(at, outcome, scope, ExportAs::Value)?;
            }
            return Ok(());
        };
        self.add_variables(&mut at)?;
        let (items, certainty) = self.items(&at, &for_each.list)?;
        if certainty == ValueCertainty::Later {
            self.found.unsettled = true;
            return Ok(());
        }
        for (index, item) in items.into_iter().enumerate() {
            let mut item_scope = at.scope.clone();
            item_scope.set(&for_each.item, item);
            item_scope.set(&for_each.index, Value::Number(index as f64));
            let mut each = StepContext {
                unit,
                step,
                scope: item_scope,
            };
            if let Some(outcome) = self.once(&mut each, scope)? {
                self.export(each, outcome, scope, ExportAs::Item(index))?;
            }
        }
        Ok(())
    }

    /// Decides a step for one set of values; `None` when its condition says no, or not yet.
    fn once(
        &mut self,
        at: &mut StepContext<'_>,
        scope: &mut VariableScope,
    ) -> Result<Option<ToolExport>, Error> {
        self.step_runs += 1;
        if self.step_runs > STEP_RUNS_MAX {
            let message = format!("the run takes more than STEP_RUNS_MAX = {STEP_RUNS_MAX} steps");
            return Err(at
                .unit
                .error(RecipeErrorKind::Limit, at.step.place, message));
        }
        self.add_variables(at)?;
        match self.condition(at)? {
            StepCondition::No => {
                let reason = at
                    .step
                    .when
                    .as_ref()
                    .map(|when| format!("when: {}", when.text));
                self.report(at.step, StepStatus::Skipped, reason);
                return Ok(None);
            }
            StepCondition::Later => {
                self.found.unsettled = true;
                return Ok(None);
            }
            StepCondition::Yes => {}
        }
        let outcome = match &at.step.tool {
            StepTool::Template(tool) => self.template(at, tool)?,
            StepTool::Shell(tool) => self.shell(at, tool)?,
            StepTool::Action(tool) => self.action(at, tool)?,
            StepTool::Install(tool) => self.install(at, tool)?,
            StepTool::Prompt(tool) => self.prompt(at, tool, scope)?,
            StepTool::Query(tool) => self.query(at, tool, scope)?,
            StepTool::Patch(tool) => self.patch(at, tool)?,
            StepTool::Replace(tool) => self.replace_matches(at, tool)?,
            StepTool::EnsureDirs(tool) => self.ensure_dirs(at, tool)?,
            StepTool::Recipe(tool) => self.sub_recipe(at, tool, scope)?,
            StepTool::Sequence(group) => self.sequence(at, group, scope)?,
            StepTool::Parallel(group) => self.parallel(at, group, scope)?,
            StepTool::Ai(tool) => self.ai(at, tool)?,
        };
        for (name, value) in std::mem::take(&mut self.provided) {
            scope.set(&name, value);
        }
        self.report(at.step, StepStatus::Done, None);
        Ok(Some(outcome))
    }

    /// Notes the status of a step; a step that runs for many items is noted once.
    pub(crate) fn report(&mut self, step: &RecipeStep, status: StepStatus, reason: Option<String>) {
        match self.found.steps.last_mut() {
            Some(last) if step.for_each.is_some() && last.name == step.name => {
                if status == StepStatus::Done {
                    (last.status, last.reason) = (status, None);
                }
            }
            _ => {
                let (name, tool) = (step.name.clone(), step.tool.name());
                self.found.steps.push(StepReport {
                    name,
                    tool,
                    status,
                    reason,
                });
            }
        }
    }

    /// Saves the state to restore if a step that may fail does fail.
    fn save(&self) -> PassSnapshot {
        PassSnapshot {
            effects: self.found.effects.len(),
            conflicts: self.found.conflicts.len(),
            waiting: self.waiting.len(),
            runs: self.runs_len(),
            pending: self.project.pending(),
            written: self.written.clone(),
        }
    }

    fn restore(&mut self, saved: PassSnapshot) {
        self.found.effects.truncate(saved.effects);
        self.found.conflicts.truncate(saved.conflicts);
        self.waiting.truncate(saved.waiting);
        self.truncate_runs(saved.runs);
        self.project.set_pending(saved.pending);
        self.written = saved.written;
    }
}

/// The way a step's exports become variables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExportAs {
    Value,
    /// One of a list: the step runs for each item.
    Item(usize),
}

pub(crate) enum StepCondition {
    Yes,
    No,
    Later,
}

#[derive(Default)]
struct PassSnapshot {
    effects: usize,
    conflicts: usize,
    waiting: usize,
    runs: usize,
    pending: workspace::ChangeSet,
    written: BTreeMap<RelPath, String>,
}

/// Returns true for an error that a step marked as allowed to fail may have. Limits and broken
/// paths never count, nor does a failed command: it was decided when the command ran, and it may be
/// another step's.
fn is_excusable(error: &Error) -> bool {
    !matches!(
        error.kind(),
        RecipeErrorKind::Limit
            | RecipeErrorKind::Path
            | RecipeErrorKind::Untrusted
            | RecipeErrorKind::UntrustedOwn
            | RecipeErrorKind::Aborted
            | RecipeErrorKind::Command
    )
}
