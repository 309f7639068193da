//! A run in progress: the recipe, its values, and the walks over its steps.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use indexmap::IndexMap;
use prompt::Answers;
use serde_json::{Map, Value};
use workspace::{ChangeSet, Root};

use crate::effect::{CommandTree, Effect, FileWrite, StepCommand};
use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};
use crate::evaluate::{EngineSettings, EvalInputs};
use crate::generation_record::RecordedAnswer;
use crate::load::Recipe;
use crate::loaded_recipe::{LoadedRecipe, RecipeLibrary};
use crate::manifest::{ManifestText, RecipeStep, RecipeVariable, StepTool};
use crate::perform::{EffectPerformer, GuardedAction, check_own, check_trust};
use crate::project::{ObservedFiles, PendingProject};
use crate::request::{AskMissing, RecipeRunMode, RecipeRunRequest, UndefinedPolicy};
use crate::scope::VariableScope;
use crate::step::{KnownInputs, PassFindings, PassStage, StepPass, prompt_variable};
use crate::variables::assign;

/// A run in progress.
pub(crate) struct RecipeSession<'s> {
    pub(crate) root: &'s Root,
    pub(crate) request: &'s RecipeRunRequest,
    pub(crate) unit: Rc<LoadedRecipe>,
    library: RecipeLibrary,
    assigned: Map<String, Value>,
    /// Files to be taken as not there: those an update makes anew.
    hidden: ChangeSet,
    /// Answers of an earlier run, used where they still fit.
    remembered: BTreeMap<String, RecordedAnswer>,
}

/// Result of one walk.
pub(crate) struct PassResult {
    pub(crate) found: PassFindings,
    pub(crate) changes: ChangeSet,
    pub(crate) runs: Vec<CommandTree>,
    pub(crate) scope: VariableScope,
    /// Variables given on the command line.
    pub(crate) assigned: BTreeSet<String>,
    /// The state of the disk that the decisions are based on.
    pub(crate) observed: ObservedFiles,
}

/// A walk that failed while performing, with the performer that can restore the files.
pub(crate) struct FailedPass<'p> {
    pub(crate) error: Error,
    pub(crate) performer: Option<Box<EffectPerformer<'p>>>,
}

impl<'s> RecipeSession<'s> {
    pub(crate) fn new(
        recipe: &Recipe,
        root: &'s Root,
        request: &'s RecipeRunRequest,
    ) -> Result<Self, Error> {
        let variables = with_prompts(recipe);
        let assigned = assign(&variables, &request.values)?;
        Self::with_values(recipe, root, request, assigned)
    }

    /// Makes a session over values that are typed already.
    pub(crate) fn with_values(
        recipe: &Recipe,
        root: &'s Root,
        request: &'s RecipeRunRequest,
        assigned: Map<String, Value>,
    ) -> Result<Self, Error> {
        let strict = request.strict == UndefinedPolicy::Strict;
        let library = RecipeLibrary::new(
            root,
            EngineSettings {
                limits: request.limits,
                now_ms: request.now_ms,
                strict,
            },
        )?;
        let unit = library.unit(&Rc::new(recipe.clone()))?;
        Ok(Self {
            root,
            request,
            unit,
            library,
            assigned,
            hidden: ChangeSet::new(),
            remembered: BTreeMap::new(),
        })
    }

    #[must_use]
    pub(crate) fn hiding(mut self, hidden: ChangeSet) -> Self {
        self.hidden = hidden;
        self
    }

    #[must_use]
    pub(crate) fn remembering(mut self, answers: BTreeMap<String, RecordedAnswer>) -> Self {
        self.remembered = answers;
        self
    }

    pub(crate) fn remembered(&self, key: &str) -> Option<&RecordedAnswer> {
        self.remembered.get(key)
    }

    pub(crate) fn answers(&self) -> Option<&Answers> {
        self.request.answers.as_ref()
    }

    pub(crate) fn ask_missing(&self) -> AskMissing {
        self.request.ask_missing
    }

    /// Returns the answers and values that are known at the beginning.
    pub(crate) fn known(&self) -> KnownInputs {
        // A prompt's value on the command line answers the prompt before it is made.
        let prompts = prompts(&self.unit.recipe.manifest.steps);
        let values = self
            .assigned
            .iter()
            .filter(|(name, _)| prompts.contains_key(*name));
        KnownInputs {
            answers: IndexMap::new(),
            values: values
                .chain(&self.request.asked)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            asked: self.request.asked.clone(),
            decisions: BTreeMap::new(),
            questions: BTreeMap::new(),
            answers_kept: BTreeSet::new(),
            on_conflict: self.request.conflicts,
        }
    }

    /// Decides everything that the known values and answers allow. Performs nothing.
    pub(crate) fn walk(&self, known: &KnownInputs) -> Result<PassResult, Error> {
        let (walked, _) = self.walk_in(known, PassStage::Planning)?;
        Ok(walked)
    }

    /// Decides again, doing everything that later steps need done.
    pub(crate) fn walk_performing<'p>(
        &'p self,
        known: &'p KnownInputs,
        performer: EffectPerformer<'p>,
    ) -> Result<(PassResult, Box<EffectPerformer<'p>>), Box<FailedPass<'p>>> {
        let stage = PassStage::Performing(Box::new(performer));
        let project = PendingProject::open(self.root).map_err(|error| {
            Box::new(FailedPass {
                error,
                performer: None,
            })
        })?;
        project.set_pending(self.hidden.clone());
        let mut walk = StepPass::new(
            project.clone(),
            &self.library,
            known,
            &self.request.policy,
            stage,
        );
        let ended = walk.recipe(&self.unit, VariableScope::of(&self.assigned));
        let (found, runs, stage) = walk.finish();
        let PassStage::Performing(performer) = stage else {
            let error = Error::new(RecipeErrorKind::Command, "the walk lost its performer");
            return Err(Box::new(FailedPass {
                error,
                performer: None,
            }));
        };
        match ended {
            Ok(scope) => Ok((self.walked(found, runs, scope, &project), performer)),
            Err(error) => Err(Box::new(FailedPass {
                error,
                performer: Some(performer),
            })),
        }
    }

    fn walk_in<'p>(
        &'p self,
        known: &'p KnownInputs,
        stage: PassStage<'p>,
    ) -> Result<(PassResult, PassStage<'p>), Error> {
        let project = PendingProject::open(self.root)?;
        project.set_pending(self.hidden.clone());
        let mut walk = StepPass::new(
            project.clone(),
            &self.library,
            known,
            &self.request.policy,
            stage,
        );
        let scope = walk.recipe(&self.unit, VariableScope::of(&self.assigned))?;
        let (found, runs, stage) = walk.finish();
        Ok((self.walked(found, runs, scope, &project), stage))
    }

    fn walked(
        &self,
        found: PassFindings,
        runs: Vec<CommandTree>,
        scope: VariableScope,
        project: &PendingProject,
    ) -> PassResult {
        let assigned = self.assigned.keys().cloned().collect();
        PassResult {
            found,
            changes: project.take_pending(),
            runs,
            scope,
            assigned,
            observed: project.take_observed(),
        }
    }

    /// Refuses commands and setup that an untrusted recipe would run, before it asks any question.
    pub(crate) fn check_trust(&self, walked: &PassResult) -> Result<(), Error> {
        match self.request.mode {
            RecipeRunMode::DryRun => Ok(()),
            RecipeRunMode::Perform => {
                let commands = commands(&walked.found).into_iter();
                let commands = commands.filter_map(GuardedAction::command);
                let writes = writes(&walked.found).filter_map(GuardedAction::write);
                check_trust(commands.chain(writes), self.request.trust)?;
                let all = crate::session::commands(&walked.found).into_iter();
                check_own(all, &self.request.own_recipes)
            }
        }
    }

    /// Refuses names that nothing defines, all of them at once, when strict.
    pub(crate) fn check_defined(&self, walked: &PassResult) -> Result<(), Error> {
        let diagnostics: Vec<Diagnostic> = walked
            .found
            .undefined
            .iter()
            .map(|(name, file, line, column)| {
                let place = FileSpan {
                    line: *line,
                    column: column + 1,
                    width: 1,
                };
                let message = format!("`{name}` is not defined");
                Diagnostic::new(message).in_file(file, Some(place))
            })
            .collect();
        match diagnostics.is_empty() {
            true => Ok(()),
            false => Err(Error::of(RecipeErrorKind::Template, diagnostics)),
        }
    }

    /// Returns the values a run was decided with, by name, without secrets, which must not be
    /// stored.
    pub(crate) fn values(&self, walked: &PassResult) -> Map<String, Value> {
        let declared = self.unit.recipe.manifest.variables.iter();
        let declared = declared.chain(&walked.found.variables);
        let kept = declared.filter(|(_, variable)| !variable.secret && variable.computed.is_none());
        let mut values = Map::new();
        for (name, _) in kept {
            if let Some(value) = walked.scope.json(name).filter(|value| !value.is_null()) {
                values.insert(name.clone(), value);
            }
        }
        values
    }

    /// Renders `onSuccess` or `onError` over the values of a walk.
    pub(crate) fn say(
        &self,
        text: Option<&ManifestText>,
        scope: &VariableScope,
        result: &Value,
    ) -> Option<String> {
        let mut scope = scope.clone();
        scope.set_json("result", result);
        let answers = IndexMap::new();
        let over = EvalInputs {
            state: scope.state(),
            answers: &answers,
        };
        let rendered = self.unit.evaluator.text(self.unit.site(), text?, over);
        // A text about the outcome must not change the outcome.
        Some(match rendered {
            Ok(rendered) => rendered.text,
            Err(error) => format!("(this text could not be rendered: {error})"),
        })
    }
}

/// Returns every command of a walk.
pub(crate) fn commands(found: &PassFindings) -> Vec<&StepCommand> {
    let runs = found.effects.iter().filter_map(|effect| match effect {
        Effect::Run(run) => Some(run.commands()),
        _ => None,
    });
    runs.flatten().collect()
}

/// Returns every file that a walk writes.
pub(crate) fn writes(found: &PassFindings) -> impl Iterator<Item = &FileWrite> {
    found.effects.iter().filter_map(|effect| match effect {
        Effect::Write(write) => Some(write),
        _ => None,
    })
}

/// Returns the declared variables, and those that prompts of the recipe fill.
pub(crate) fn with_prompts(recipe: &Recipe) -> IndexMap<String, RecipeVariable> {
    let mut variables = recipe.manifest.variables.clone();
    for (name, variable) in prompts(&recipe.manifest.steps) {
        variables.entry(name).or_insert(variable);
    }
    variables
}

fn prompts(steps: &[RecipeStep]) -> IndexMap<String, RecipeVariable> {
    let mut found = IndexMap::new();
    for step in steps {
        match &step.tool {
            StepTool::Prompt(tool) => {
                let message = tool.message.as_ref().map(|text| text.text.clone());
                found.insert(tool.variable.clone(), prompt_variable(tool, message));
            }
            StepTool::Sequence(group) | StepTool::Parallel(group) => {
                found.extend(prompts(&group.steps))
            }
            _ => {}
        }
    }
    found
}
