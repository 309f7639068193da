//! Answers questions: turns settings and flags into a transport, with its cost log and recordings.

pub mod answering;
pub mod asked;
pub mod cost;
pub mod question;

mod cost_log;
mod external_agent;
pub(crate) mod model;
mod saved_answers;
mod tape;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use exec::CommandCancel;
use transport::{
    AnswerRequest, AskObserver, AskResolution, ChosenTransport, CommandMode, ModelPurpose,
    OpenTransport, Person, ProviderOffers, RecordMode, ResolvedMode, Transport as _,
};

use crate::{Error, ProcessEnvironment, Project};

pub use answering::{AskOutcome, AskReport, RecipeAttempt, answer};
pub use asked::{AskHistory, AskTurn};
pub use cost_log::LEDGER_DIR;
pub use saved_answers::{ANSWERS_DIR, SavedAnswers, keep_answers};
pub use transport::{AskEvent, AskSpending, DeferReason, TransportMode};

/// Flags about answering that override the settings.
#[derive(Clone, Debug, Default)]
pub struct AiOverrides {
    pub mode: Option<TransportMode>,
    /// Mode of the external command, if it differs from the settings.
    pub command_mode: Option<CommandMode>,
    pub taping: RecordingFlag,
    /// Spending guard of every call, in addition to the budget of the settings.
    pub purse: Option<Arc<dyn llm::budget::SpendGuard>>,
}

/// Recording or replay of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordingFlag {
    #[default]
    No,
    Record(PathBuf),
    Replay(PathBuf),
}

/// Purpose of a call, as the ledger names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPurpose {
    /// The questions of a recipe.
    Answer,
    /// A single question of a person.
    Ask,
    /// Work with tools.
    Generate,
    /// A plan of tasks.
    Plan,
    /// The plan of a build.
    BuildPlan,
    /// The files of a build.
    Build,
}

impl CallPurpose {
    fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Ask => "ask",
            Self::Generate => "generate",
            Self::Plan => "plan",
            Self::BuildPlan => "build-plan",
            Self::Build => "build",
        }
    }
}

/// The other participants of a run: the person, the observer, and the switch that cancels it.
pub struct RunParticipants<'a> {
    /// The person at the terminal, if there is one.
    pub person: Option<&'a mut dyn Person>,
    pub observer: &'a mut dyn AskObserver,
    pub cancel: CommandCancel,
}

/// Opens the transport when the first question comes up and not before, and puts questions to it.
pub struct LazyAnswerer<'a> {
    project: &'a Project,
    surroundings: &'a ProcessEnvironment,
    wish: AiOverrides,
    errand: CallPurpose,
    company: Option<RunParticipants<'a>>,
    opened: Option<OpenTransport<'a>>,
    mode: TransportMode,
    because: String,
    trouble: cost_log::CostLogError,
    cancel: CommandCancel,
}

impl<'a> LazyAnswerer<'a> {
    pub fn new(
        project: &'a Project,
        surroundings: &'a ProcessEnvironment,
        wish: AiOverrides,
        errand: CallPurpose,
        company: RunParticipants<'a>,
    ) -> Self {
        Self {
            project,
            surroundings,
            wish,
            errand,
            cancel: company.cancel.clone(),
            company: Some(company),
            opened: None,
            mode: TransportMode::Auto,
            because: String::new(),
            trouble: cost_log::CostLogError::default(),
        }
    }

    /// Returns the chosen mode, once a question was asked.
    pub fn mode(&self) -> TransportMode {
        self.mode
    }

    /// Returns the reason for that mode, once a question was asked.
    pub fn because(&self) -> &str {
        &self.because
    }

    /// Returns the reason why calls could not be written into the ledger, if there is one.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.get()
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Puts questions to the transport.
    pub fn resolve(&mut self, request: &AnswerRequest<'_>) -> Result<AskResolution, Error> {
        if let Some(company) = self.company.take() {
            self.opened = Some(self.open(company)?);
        }
        match &mut self.opened {
            Some(opened) => Ok(opened.resolve(request)?),
            // An earlier call failed to open the transport; a caller that goes on regardless gets
            // no answers.
            None => Ok(AskResolution::Deferred(DeferReason::NobodyThere)),
        }
    }

    fn open(&mut self, company: RunParticipants<'a>) -> Result<OpenTransport<'a>, Error> {
        let mut setup = self.project.settings.ai.clone();
        setup.mode = self.wish.mode.unwrap_or(setup.mode);
        setup.command_mode = self.wish.command_mode.unwrap_or(setup.command_mode);
        let taping = tape::open(&self.wish.taping, self.surroundings)?;
        let lookup = |name: &str| self.surroundings.variable(name);
        let chosen = transport::choose(&setup, ModelPurpose::Answer, &taping, &lookup)?;
        if matches!(
            chosen.way,
            ResolvedMode::Api(_) | ResolvedMode::Command(_) | ResolvedMode::Stdio(_)
        ) {
            self.project.trust.require_settings(&["ai."])?;
        }
        self.mode = chosen.way.mode();
        self.because.clone_from(&chosen.because);
        let ledger = cost_log::CostLog::open(self.project, self.errand, self.trouble.clone())?;
        let meter = setup
            .meter(SystemTime::now(), llm::budget::SpentTotal::default())
            .with_ledger(Box::new(ledger))
            .with_purse(self.wish.purse.clone());
        let surroundings = transport::TransportContext {
            person: company.person,
            observer: company.observer,
            meter: Arc::new(meter),
            taping,
            cwd: self.project.folder().to_owned(),
            cancel: company.cancel,
        };
        Ok(transport::open(chosen, surroundings)?)
    }
}

/// Decides which transport these settings choose, and why. Asks no question.
pub fn choice(
    setup: &transport::AiSettings,
    surroundings: &ProcessEnvironment,
) -> Result<ChosenTransport, Error> {
    let lookup = |name: &str| surroundings.variable(name);
    let taping = RecordMode::Off;
    Ok(transport::choose(
        setup,
        ModelPurpose::Answer,
        &taping,
        &lookup,
    )?)
}

/// Decides the mode of these settings and flags. Asks no question.
pub(crate) fn mode(
    project: &Project,
    surroundings: &ProcessEnvironment,
    wish: &AiOverrides,
) -> Result<TransportMode, Error> {
    let mut setup = project.settings.ai.clone();
    setup.mode = wish.mode.unwrap_or(setup.mode);
    let taping = tape::open(&wish.taping, surroundings)?;
    let lookup = |name: &str| surroundings.variable(name);
    let chosen = transport::choose(&setup, ModelPurpose::Answer, &taping, &lookup)?;
    Ok(chosen.way.mode())
}

/// Lists the models of the configured providers.
pub fn models(
    project: &Project,
    surroundings: &ProcessEnvironment,
) -> Result<Vec<ProviderOffers>, Error> {
    project.trust.require_settings(&["ai."])?;
    let lookup = |name: &str| surroundings.variable(name);
    Ok(transport::models(&project.settings.ai, &lookup)?)
}
