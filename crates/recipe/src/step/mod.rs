//! The walk through a recipe's steps: everything is decided, nothing is done.
//!
//! A walk is repeated in every round. Whatever depends on an answer that is still missing is left
//! out and decided in a later round; whatever depends on what a command will print is planned with
//! a stand-in and decided again while performing.

mod ai;
mod command;
mod data;
mod evaluation;
mod group;
mod inputs;
mod install;
mod origins;
mod placing;
mod prompt;
mod put;
mod recipe;
mod template;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ::prompt::Questionnaire;
use expr::Value;
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;
use workspace::{PolicySettings, RelPath};

use crate::conflict::{Conflict, OnConflict};
use crate::effect::{Effect, Run};
use crate::error::{Error, Kind};
use crate::evaluate::Answers;
use crate::host::Decisions;
use crate::manifest::{Step, Tool, Variable};
use crate::perform::Performer;
use crate::project::Project;
use crate::scope::Scope;
use crate::unit::{Library, Unit};
use crate::unknown::Tracker;

pub(crate) use evaluation::Certainty;
pub(crate) use inputs::{Wanted, missing};
pub(crate) use prompt::variable as prompt_variable;

/// Most recipes inside recipes.
pub(crate) const RECIPE_DEPTH_MAX: usize = 16;
/// Most steps one run takes, items of `forEach` counted.
pub(crate) const STEP_RUNS_MAX: usize = 200_000;

/// What is known before a walk begins.
pub(crate) struct Known {
    pub(crate) answers: Answers,
    /// Values of variables and prompts that were asked for and given.
    pub(crate) values: BTreeMap<String, serde_json::Value>,
    /// Those of them that a person gave.
    pub(crate) asked: serde_json::Map<String, serde_json::Value>,
    pub(crate) decisions: Decisions,
    /// What each answer was an answer to.
    pub(crate) questions: BTreeMap<String, String>,
    /// Answers of an earlier run whose question reads differently now.
    pub(crate) answers_kept: BTreeSet<String>,
    pub(crate) on_conflict: OnConflict,
}

/// Whether commands run.
pub(crate) enum Stage<'p> {
    Planning,
    Performing(Box<Performer<'p>>),
}

/// Everything a walk finds out.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) questionnaire: Questionnaire,
    /// Questions that wait for other answers: their keys, where known.
    pub(crate) postponed: IndexSet<String>,
    /// Something could not be decided for want of an answer.
    pub(crate) unsettled: bool,
    /// Keys of answers that were read and are not there, with who read them.
    pub(crate) unanswered: IndexMap<String, String>,
    /// Errors that missing answers may explain.
    pub(crate) excused: Vec<Error>,
    pub(crate) undefined: IndexSet<(String, String, u32, u32)>,
    /// Variables somebody must be asked for.
    pub(crate) wanted: Vec<Wanted>,
    /// Every variable of every recipe of the run.
    pub(crate) variables: IndexMap<String, Variable>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) steps: Vec<StepReport>,
    /// Commands whose results later steps need.
    pub(crate) barriers: usize,
    /// Templates used and their hashes.
    pub(crate) templates: BTreeMap<String, String>,
}

/// What became of a step.
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
pub(crate) struct Walk<'w> {
    pub(crate) project: Rc<Project>,
    pub(crate) library: &'w Library,
    pub(crate) known: &'w Known,
    /// For what is read as context.
    pub(crate) policy: &'w PolicySettings,
    pub(crate) stage: Stage<'w>,
    pub(crate) tracker: Rc<Tracker>,
    pub(crate) found: Found,
    /// The recipes being run, outermost first.
    chain: Vec<String>,
    /// Commands decided and not yet handed over, by open group.
    runs: Vec<group::Open>,
    waiting: Vec<command::Waiting>,
    /// What templates of the current step handed out with `provide`.
    provided: Vec<(String, Value)>,
    /// Who wrote which file in this run.
    written: BTreeMap<RelPath, String>,
    /// Files that will be there, or be different, once answers are.
    expected: BTreeSet<RelPath>,
    commands: usize,
    step_runs: usize,
}

/// A step at work: its recipe, itself, and the values it sees.
pub(crate) struct At<'s> {
    pub(crate) unit: &'s Rc<Unit>,
    pub(crate) step: &'s Step,
    pub(crate) scope: Scope,
}

/// What a tool gives back for `exports`.
pub(crate) enum Outcome {
    Value(serde_json::Value),
    /// A command that runs later; exports wait for it.
    Command(usize),
    /// It depends on an answer that is missing.
    Later,
}

impl<'w> Walk<'w> {
    pub(crate) fn new(
        project: Rc<Project>,
        library: &'w Library,
        known: &'w Known,
        policy: &'w PolicySettings,
        stage: Stage<'w>,
    ) -> Self {
        Self {
            project,
            library,
            known,
            policy,
            stage,
            tracker: Rc::default(),
            found: Found::default(),
            chain: Vec::new(),
            runs: vec![group::Open::sequence()],
            waiting: Vec::new(),
            provided: Vec::new(),
            written: BTreeMap::new(),
            expected: BTreeSet::new(),
            commands: 0,
            step_runs: 0,
        }
    }

    /// Ends the walk: what it found, and the performer if there was one.
    pub(crate) fn finish(mut self) -> (Found, Vec<Run>, Stage<'w>) {
        let runs = self.drain_runs();
        (self.found, runs, self.stage)
    }

    /// Decides the steps of a list in their order.
    pub(crate) fn steps(
        &mut self,
        unit: &Rc<Unit>,
        scope: &mut Scope,
        (steps, order): (&[Step], &[usize]),
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
        unit: &Rc<Unit>,
        scope: &mut Scope,
        step: &Step,
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

    fn attempt(&mut self, unit: &Rc<Unit>, scope: &mut Scope, step: &Step) -> Result<(), Error> {
        let mut at = At {
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
        if certainty == Certainty::Later {
            self.found.unsettled = true;
            return Ok(());
        }
        for (index, item) in items.into_iter().enumerate() {
            let mut item_scope = at.scope.clone();
            item_scope.set(&for_each.item, item);
            item_scope.set(&for_each.index, Value::Number(index as f64));
            let mut each = At {
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
    fn once(&mut self, at: &mut At<'_>, scope: &mut Scope) -> Result<Option<Outcome>, Error> {
        self.step_runs += 1;
        if self.step_runs > STEP_RUNS_MAX {
            let message = format!("the run takes more than STEP_RUNS_MAX = {STEP_RUNS_MAX} steps");
            return Err(at.unit.error(Kind::Limit, at.step.place, message));
        }
        self.add_variables(at)?;
        match self.condition(at)? {
            Condition::No => {
                let reason = at
                    .step
                    .when
                    .as_ref()
                    .map(|when| format!("when: {}", when.text));
                self.report(at.step, StepStatus::Skipped, reason);
                return Ok(None);
            }
            Condition::Later => {
                self.found.unsettled = true;
                return Ok(None);
            }
            Condition::Yes => {}
        }
        let outcome = match &at.step.tool {
            Tool::Template(tool) => self.template(at, tool)?,
            Tool::Shell(tool) => self.shell(at, tool)?,
            Tool::Action(tool) => self.action(at, tool)?,
            Tool::Install(tool) => self.install(at, tool)?,
            Tool::Prompt(tool) => self.prompt(at, tool, scope)?,
            Tool::Query(tool) => self.query(at, tool, scope)?,
            Tool::Patch(tool) => self.patch(at, tool)?,
            Tool::Replace(tool) => self.replace_matches(at, tool)?,
            Tool::EnsureDirs(tool) => self.ensure_dirs(at, tool)?,
            Tool::Recipe(tool) => self.sub_recipe(at, tool, scope)?,
            Tool::Sequence(group) => self.sequence(at, group, scope)?,
            Tool::Parallel(group) => self.parallel(at, group, scope)?,
            Tool::Ai(tool) => self.ai(at, tool)?,
        };
        for (name, value) in std::mem::take(&mut self.provided) {
            scope.set(&name, value);
        }
        self.report(at.step, StepStatus::Done, None);
        Ok(Some(outcome))
    }

    /// Notes what became of a step; a step that runs for many items is noted once.
    pub(crate) fn report(&mut self, step: &Step, status: StepStatus, reason: Option<String>) {
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

    /// What must be as before if a step that may fail does.
    fn save(&self) -> Saved {
        Saved {
            effects: self.found.effects.len(),
            conflicts: self.found.conflicts.len(),
            waiting: self.waiting.len(),
            runs: self.runs_len(),
            pending: self.project.pending(),
            written: self.written.clone(),
        }
    }

    fn restore(&mut self, saved: Saved) {
        self.found.effects.truncate(saved.effects);
        self.found.conflicts.truncate(saved.conflicts);
        self.waiting.truncate(saved.waiting);
        self.truncate_runs(saved.runs);
        self.project.set_pending(saved.pending);
        self.written = saved.written;
    }
}

/// How a step's exports become variables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExportAs {
    Value,
    /// One of a list: the step runs for each item.
    Item(usize),
}

pub(crate) enum Condition {
    Yes,
    No,
    Later,
}

#[derive(Default)]
struct Saved {
    effects: usize,
    conflicts: usize,
    waiting: usize,
    runs: usize,
    pending: workspace::ChangeSet,
    written: BTreeMap<RelPath, String>,
}

/// A limit or a broken path is never a step's own small failure, and a failed command may be
/// another step's: whether it may fail was decided when it ran.
fn is_excusable(error: &Error) -> bool {
    !matches!(
        error.kind(),
        Kind::Limit
            | Kind::Path
            | Kind::Untrusted
            | Kind::UntrustedOwn
            | Kind::Aborted
            | Kind::Command
    )
}
