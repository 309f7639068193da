//! One run under way: the recipe, its values, and the walks that are made over them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use indexmap::IndexMap;
use prompt::Answers;
use serde_json::{Map, Value};
use workspace::{ChangeSet, Root};

use crate::effect::{Command, Effect, Run, Write};
use crate::error::{Diagnostic, Error, Kind, Place};
use crate::evaluate::{Over, Settings};
use crate::load::Recipe;
use crate::manifest::{Step, Text, Tool, Variable};
use crate::perform::{Guarded, Performer, check_own, check_trust};
use crate::project::{Observed, Project};
use crate::record::Remembered;
use crate::request::{AskMissing, Mode, Request, Strictness};
use crate::scope::Scope;
use crate::step::{Found, Known, Stage, Walk, prompt_variable};
use crate::unit::{Library, Unit};
use crate::variables::assign;

/// A run under way.
pub(crate) struct Session<'s> {
    pub(crate) root: &'s Root,
    pub(crate) request: &'s Request,
    pub(crate) unit: Rc<Unit>,
    library: Library,
    assigned: Map<String, Value>,
    /// Files to be taken as not there: those an update makes anew.
    hidden: ChangeSet,
    /// Answers of an earlier run, used where they still fit.
    remembered: BTreeMap<String, Remembered>,
}

/// What one walk came to.
pub(crate) struct Walked {
    pub(crate) found: Found,
    pub(crate) changes: ChangeSet,
    pub(crate) runs: Vec<Run>,
    pub(crate) scope: Scope,
    /// Variables given on the command line.
    pub(crate) assigned: BTreeSet<String>,
    /// What the decisions were based on.
    pub(crate) observed: Observed,
}

/// A walk that failed while performing, with the one who can put things back.
pub(crate) struct Failed<'p> {
    pub(crate) error: Error,
    pub(crate) performer: Option<Box<Performer<'p>>>,
}

impl<'s> Session<'s> {
    pub(crate) fn new(
        recipe: &Recipe,
        root: &'s Root,
        request: &'s Request,
    ) -> Result<Self, Error> {
        let variables = with_prompts(recipe);
        let assigned = assign(&variables, &request.values)?;
        Self::with_values(recipe, root, request, assigned)
    }

    /// A session over values that are typed already.
    pub(crate) fn with_values(
        recipe: &Recipe,
        root: &'s Root,
        request: &'s Request,
        assigned: Map<String, Value>,
    ) -> Result<Self, Error> {
        let strict = request.strict == Strictness::Strict;
        let library = Library::new(
            root,
            Settings {
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
    pub(crate) fn remembering(mut self, answers: BTreeMap<String, Remembered>) -> Self {
        self.remembered = answers;
        self
    }

    pub(crate) fn remembered(&self, key: &str) -> Option<&Remembered> {
        self.remembered.get(key)
    }

    pub(crate) fn answers(&self) -> Option<&Answers> {
        self.request.answers.as_ref()
    }

    pub(crate) fn ask_missing(&self) -> AskMissing {
        self.request.ask_missing
    }

    /// What is known at the beginning.
    pub(crate) fn known(&self) -> Known {
        // A prompt's value on the command line answers the prompt before it is made.
        let prompts = prompts(&self.unit.recipe.manifest.steps);
        let values = self
            .assigned
            .iter()
            .filter(|(name, _)| prompts.contains_key(*name));
        Known {
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

    /// Decides everything that can be decided with what is known. Nothing is done.
    pub(crate) fn walk(&self, known: &Known) -> Result<Walked, Error> {
        let (walked, _) = self.walk_in(known, Stage::Planning)?;
        Ok(walked)
    }

    /// Decides again, doing everything that later steps need done.
    pub(crate) fn walk_performing<'p>(
        &'p self,
        known: &'p Known,
        performer: Performer<'p>,
    ) -> Result<(Walked, Box<Performer<'p>>), Box<Failed<'p>>> {
        let stage = Stage::Performing(Box::new(performer));
        let project = Project::open(self.root).map_err(|error| {
            Box::new(Failed {
                error,
                performer: None,
            })
        })?;
        project.set_pending(self.hidden.clone());
        let mut walk = Walk::new(
            project.clone(),
            &self.library,
            known,
            &self.request.policy,
            stage,
        );
        let ended = walk.recipe(&self.unit, Scope::of(&self.assigned));
        let (found, runs, stage) = walk.finish();
        let Stage::Performing(performer) = stage else {
            let error = Error::new(Kind::Command, "the walk lost its performer");
            return Err(Box::new(Failed {
                error,
                performer: None,
            }));
        };
        match ended {
            Ok(scope) => Ok((self.walked(found, runs, scope, &project), performer)),
            Err(error) => Err(Box::new(Failed {
                error,
                performer: Some(performer),
            })),
        }
    }

    fn walk_in<'p>(
        &'p self,
        known: &'p Known,
        stage: Stage<'p>,
    ) -> Result<(Walked, Stage<'p>), Error> {
        let project = Project::open(self.root)?;
        project.set_pending(self.hidden.clone());
        let mut walk = Walk::new(
            project.clone(),
            &self.library,
            known,
            &self.request.policy,
            stage,
        );
        let scope = walk.recipe(&self.unit, Scope::of(&self.assigned))?;
        let (found, runs, stage) = walk.finish();
        Ok((self.walked(found, runs, scope, &project), stage))
    }

    fn walked(&self, found: Found, runs: Vec<Run>, scope: Scope, project: &Project) -> Walked {
        let assigned = self.assigned.keys().cloned().collect();
        Walked {
            found,
            changes: project.take_pending(),
            runs,
            scope,
            assigned,
            observed: project.take_observed(),
        }
    }

    /// Refuses what an untrusted recipe would run or set up, before anybody is asked anything.
    pub(crate) fn check_trust(&self, walked: &Walked) -> Result<(), Error> {
        match self.request.mode {
            Mode::DryRun => Ok(()),
            Mode::Perform => {
                let commands = commands(&walked.found).into_iter();
                let commands = commands.filter_map(Guarded::command);
                let writes = writes(&walked.found).filter_map(Guarded::write);
                check_trust(commands.chain(writes), self.request.trust)?;
                let all = crate::session::commands(&walked.found).into_iter();
                check_own(all, &self.request.own_recipes)
            }
        }
    }

    /// Refuses names that nothing defines, all of them at once, when strict.
    pub(crate) fn check_defined(&self, walked: &Walked) -> Result<(), Error> {
        let diagnostics: Vec<Diagnostic> = walked
            .found
            .undefined
            .iter()
            .map(|(name, file, line, column)| {
                let place = Place {
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
            false => Err(Error::of(Kind::Template, diagnostics)),
        }
    }

    /// The values a run was decided with, by name; what may be kept of them. Secrets may not.
    pub(crate) fn values(&self, walked: &Walked) -> Map<String, Value> {
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
    pub(crate) fn say(&self, text: Option<&Text>, scope: &Scope, result: &Value) -> Option<String> {
        let mut scope = scope.clone();
        scope.set_json("result", result);
        let answers = IndexMap::new();
        let over = Over {
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

/// Every command of a walk.
pub(crate) fn commands(found: &Found) -> Vec<&Command> {
    let runs = found.effects.iter().filter_map(|effect| match effect {
        Effect::Run(run) => Some(run.commands()),
        _ => None,
    });
    runs.flatten().collect()
}

/// Every file that a walk writes.
pub(crate) fn writes(found: &Found) -> impl Iterator<Item = &Write> {
    found.effects.iter().filter_map(|effect| match effect {
        Effect::Write(write) => Some(write),
        _ => None,
    })
}

/// The declared variables, and those that prompts of the recipe fill.
pub(crate) fn with_prompts(recipe: &Recipe) -> IndexMap<String, Variable> {
    let mut variables = recipe.manifest.variables.clone();
    for (name, variable) in prompts(&recipe.manifest.steps) {
        variables.entry(name).or_insert(variable);
    }
    variables
}

fn prompts(steps: &[Step]) -> IndexMap<String, Variable> {
    let mut found = IndexMap::new();
    for step in steps {
        match &step.tool {
            Tool::Prompt(tool) => {
                let message = tool.message.as_ref().map(|text| text.text.clone());
                found.insert(tool.variable.clone(), prompt_variable(tool, message));
            }
            Tool::Sequence(group) | Tool::Parallel(group) => found.extend(prompts(&group.steps)),
            _ => {}
        }
    }
    found
}
