//! Models for work with tools: chosen by settings, flags and what a task prefers, with the same
//! books and recordings as everything else that asks a model.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use agent::handlers::{self, ModelChooser};
use agent::task::ModelPreference;
use llm::budget::{Meter, SpentTotal};
use llm::{Provider, Secret};
use transport::{AiSettings, ApiPlan, CommandPlan, ModelPurpose, RecordMode, ResolvedMode};

use super::external_agent::ExternalAgent;
use super::{AiOverrides, CallPurpose, cost_log, tape};
use crate::trust::TrustGate;
use crate::{AppErrorCode, Error, ProcessEnvironment, Project, settings};

/// Resolves the models of one run from the settings.
pub(crate) struct ModelResolver {
    setup: AiSettings,
    purpose: ModelPurpose,
    taping: RecordMode,
    meter: Arc<Meter>,
    surroundings: ProcessEnvironment,
    trust: TrustGate,
    folder: PathBuf,
    agent: settings::AgentSettings,
    trouble: cost_log::CostLogError,
    /// Chosen once each: a recording counts how often its model was asked the same.
    chosen: Mutex<HashMap<(String, PathBuf), handlers::ChosenModel>>,
}

impl ModelResolver {
    /// Opens the models for a run in this project.
    pub(crate) fn open(
        project: &Project,
        surroundings: &ProcessEnvironment,
        wish: &AiOverrides,
        errand: CallPurpose,
    ) -> Result<Self, Error> {
        let mut setup = project.settings.ai.clone();
        setup.mode = wish.mode.unwrap_or(setup.mode);
        let trouble = cost_log::CostLogError::default();
        let ledger = cost_log::CostLog::open(project, errand, trouble.clone())?;
        let meter = setup.meter(SystemTime::now(), SpentTotal::default());
        Ok(Self {
            purpose: match errand {
                CallPurpose::Plan | CallPurpose::BuildPlan => ModelPurpose::Plan,
                CallPurpose::Generate | CallPurpose::Build => ModelPurpose::Generate,
                CallPurpose::Answer | CallPurpose::Ask => ModelPurpose::Answer,
            },
            taping: tape::open(&wish.taping, surroundings)?,
            meter: Arc::new(
                meter
                    .with_ledger(Box::new(ledger))
                    .with_purse(wish.purse.clone()),
            ),
            setup,
            surroundings: surroundings.clone(),
            trust: project.trust.clone(),
            folder: project.folder().to_owned(),
            agent: project.settings.agent.clone(),
            trouble,
            chosen: Mutex::default(),
        })
    }

    /// Returns the reason why calls could not be written into the ledger, if there is one.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.get()
    }

    /// Returns every key that a text might quote, so that it can be redacted.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let lookup = |name: &str| self.surroundings.variable(name);
        let written = self.setup.api_key.iter().map(|key| {
            let name = key.expose().strip_prefix('$');
            let referred = name.and_then(|name| lookup(name.trim_matches(['{', '}'])));
            referred.map_or_else(|| key.clone(), Secret::new)
        });
        let names = Provider::ALL.into_iter().flat_map(Provider::key_variables);
        let known = names.filter_map(|name| lookup(name)).map(Secret::new);
        written
            .chain(known)
            .filter(|secret| !secret.is_empty())
            .collect()
    }

    /// Checks that a task with this preference could begin.
    pub(crate) fn check(&self, preference: Option<&ModelPreference>) -> Result<(), Error> {
        self.worker(preference).map(|_| ())
    }

    /// Chooses the model for work in this folder. A program in its place works on a copy of the
    /// folder.
    pub(crate) fn choose_for(
        &self,
        preference: Option<&ModelPreference>,
        folder: &Path,
    ) -> Result<handlers::ChosenModel, agent::Error> {
        let key = (format!("{preference:?}"), folder.to_owned());
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = chosen.get(&key) {
            return Ok(known.clone());
        }
        let made = self
            .make(preference, folder)
            .map_err(|error| agent::Error::new(agent::AgentErrorKind::Setup, error.to_string()))?;
        chosen.insert(key, made.clone());
        Ok(made)
    }

    fn worker(&self, preference: Option<&ModelPreference>) -> Result<WorkerKind, Error> {
        let setup = self.preferred(preference)?;
        let lookup = |name: &str| self.surroundings.variable(name);
        let chosen = transport::choose(&setup, self.purpose, &self.taping, &lookup)?;
        self.trust.require_settings(&["ai."])?;
        let mut plan = match chosen.way {
            ResolvedMode::Api(plan) => plan,
            ResolvedMode::Command(plan) => return Ok(WorkerKind::Program(plan)),
            other => return Err(no_tools(other.mode().name(), &chosen.because)),
        };
        if let Some(preference) = preference {
            plan.max_tokens = preference.max_tokens.unwrap_or(plan.max_tokens);
            plan.temperature = preference.temperature.or(plan.temperature);
        }
        Ok(WorkerKind::Model(Box::new(plan)))
    }

    /// Returns the settings with the task's preference applied. Another provider has its own
    /// address and key.
    fn preferred(&self, preference: Option<&ModelPreference>) -> Result<AiSettings, Error> {
        let mut setup = self.setup.clone();
        let Some(preference) = preference else {
            return Ok(setup);
        };
        if let Some(name) = &preference.provider {
            let provider = Provider::from_name(name).ok_or_else(|| unknown_provider(name))?;
            if setup.provider.is_some_and(|usual| usual != provider) {
                setup.base_url = None;
                setup.api_key = None;
            }
            setup.provider = Some(provider);
        }
        if let Some(model) = &preference.model {
            setup.model = Some(model.clone());
            setup.models = transport::PurposeModels::default();
            // Another model gives another result, so a named model has no fallbacks.
            setup.fallbacks = Vec::new();
        }
        Ok(setup)
    }

    fn make(
        &self,
        preference: Option<&ModelPreference>,
        folder: &Path,
    ) -> Result<handlers::ChosenModel, Error> {
        let plan = match self.worker(preference)? {
            WorkerKind::Model(plan) => plan,
            WorkerKind::Program(plan) => return Ok(self.program(plan, folder)),
        };
        Ok(handlers::ChosenModel {
            model: transport::model(&plan, &self.meter, &self.taping)?,
            name: plan.first.route.model,
            max_tokens: plan.max_tokens,
            temperature: plan.temperature,
        })
    }

    /// Makes a program that takes the place of a model.
    fn program(&self, plan: CommandPlan, folder: &Path) -> handlers::ChosenModel {
        handlers::ChosenModel {
            name: plan.words.program.clone(),
            model: Arc::new(ExternalAgent {
                plan,
                folder: folder.to_owned(),
                policy: self.agent.policy.clone(),
                files: self.agent.files,
                left: Mutex::default(),
            }),
            max_tokens: self.setup.max_tokens,
            temperature: None,
        }
    }
}

/// The one who does the work: a model, or an external program.
enum WorkerKind {
    Model(Box<ApiPlan>),
    Program(CommandPlan),
}

impl ModelChooser for ModelResolver {
    fn choose(
        &self,
        preference: Option<&ModelPreference>,
    ) -> Result<handlers::ChosenModel, agent::Error> {
        self.choose_for(preference, &self.folder)
    }
}

fn no_tools(mode: &str, because: &str) -> Error {
    let message =
        format!("this needs a model that calls tools, and the mode is `{mode}` here: {because}");
    Error::new(AppErrorCode::NoModel, message).hint(
        "set `ai.provider` and `ai.model` in drawloom.toml and the key in its variable, or \
         `ai.command` to a program that works by itself (docs/ai.md)",
    )
}

fn unknown_provider(name: &str) -> Error {
    let names = Provider::ALL.map(Provider::name);
    let hint = match crate::nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are: {}", names.join(", ")),
    };
    Error::new(
        AppErrorCode::NoModel,
        format!("a task prefers the provider `{name}`, which is not known"),
    )
    .hint(hint)
}
