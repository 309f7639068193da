//! Who answers questions: settings and flags made into a transport, with its books and recordings.

pub mod answering;
pub mod cost;
pub mod question;

mod kept;
mod ledger;
pub(crate) mod model;
mod outside;
mod tape;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use exec::Cancel;
use transport::{
    Chosen, CommandMode, Observer, Offered, Opened, Person, Purpose, Request, Resolution, Taping,
    Transport as _, Way,
};

use crate::{Error, Project, Surroundings};

pub use answering::{Attempt, Came, Ended, answer};
pub use kept::{ANSWERS_DIR, Kept, keep_answers};
pub use ledger::LEDGER_DIR;
pub use transport::{Event, Mode, Reason, Spending};

/// What flags say about answering, beyond the settings.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    pub mode: Option<Mode>,
    /// How a command is asked, if not as the settings say.
    pub command_mode: Option<CommandMode>,
    pub taping: TapeWish,
    /// What every call is paid from, beside the budget of the settings.
    pub purse: Option<Arc<dyn llm::budget::Purse>>,
}

/// Whether a run is recorded or played back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TapeWish {
    #[default]
    No,
    Record(PathBuf),
    Replay(PathBuf),
}

/// What somebody is asked for, as the ledger calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
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

impl Errand {
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

/// Who else takes part in a run.
pub struct Company<'a> {
    /// The person at the terminal, if there is one.
    pub person: Option<&'a mut dyn Person>,
    pub observer: &'a mut dyn Observer,
    pub cancel: Cancel,
}

/// Whoever answers, found when the first question comes up and not before.
pub struct Answerer<'a> {
    project: &'a Project,
    surroundings: &'a Surroundings,
    wish: Wish,
    errand: Errand,
    company: Option<Company<'a>>,
    opened: Option<Opened<'a>>,
    mode: Mode,
    because: String,
    trouble: ledger::Trouble,
    cancel: Cancel,
}

impl<'a> Answerer<'a> {
    pub fn new(
        project: &'a Project,
        surroundings: &'a Surroundings,
        wish: Wish,
        errand: Errand,
        company: Company<'a>,
    ) -> Self {
        Self {
            project,
            surroundings,
            wish,
            errand,
            cancel: company.cancel.clone(),
            company: Some(company),
            opened: None,
            mode: Mode::Auto,
            because: String::new(),
            trouble: ledger::Trouble::default(),
        }
    }

    /// The mode that was chosen, once somebody was asked.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Why it is that mode, once somebody was asked.
    pub fn because(&self) -> &str {
        &self.because
    }

    /// Why calls could not be written into the ledger, if they could not.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.get()
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Puts questions to whoever answers.
    pub fn resolve(&mut self, request: &Request<'_>) -> Result<Resolution, Error> {
        if let Some(company) = self.company.take() {
            self.opened = Some(self.open(company)?);
        }
        match &mut self.opened {
            Some(opened) => Ok(opened.resolve(request)?),
            // Opening failed before; whoever goes on regardless gets no answers.
            None => Ok(Resolution::Deferred(Reason::NobodyThere)),
        }
    }

    fn open(&mut self, company: Company<'a>) -> Result<Opened<'a>, Error> {
        let mut setup = self.project.settings.ai.clone();
        setup.mode = self.wish.mode.unwrap_or(setup.mode);
        setup.command_mode = self.wish.command_mode.unwrap_or(setup.command_mode);
        let taping = tape::open(&self.wish.taping, self.surroundings)?;
        let lookup = |name: &str| self.surroundings.variable(name);
        let chosen = transport::choose(&setup, Purpose::Answer, &taping, &lookup)?;
        if matches!(chosen.way, Way::Api(_) | Way::Command(_) | Way::Stdio(_)) {
            self.project.trust.require_settings(&["ai."])?;
        }
        self.mode = chosen.way.mode();
        self.because.clone_from(&chosen.because);
        let ledger = ledger::Ledger::open(self.project, self.errand, self.trouble.clone())?;
        let meter = setup
            .meter(SystemTime::now(), llm::budget::Spent::default())
            .with_ledger(Box::new(ledger))
            .with_purse(self.wish.purse.clone());
        let surroundings = transport::Surroundings {
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

/// Who would answer with these settings, and why. Asks nobody.
pub fn choice(setup: &transport::Setup, surroundings: &Surroundings) -> Result<Chosen, Error> {
    let lookup = |name: &str| surroundings.variable(name);
    let taping = Taping::Off;
    Ok(transport::choose(setup, Purpose::Answer, &taping, &lookup)?)
}

/// How questions are answered with these settings and flags. Asks nobody.
pub(crate) fn mode(
    project: &Project,
    surroundings: &Surroundings,
    wish: &Wish,
) -> Result<Mode, Error> {
    let mut setup = project.settings.ai.clone();
    setup.mode = wish.mode.unwrap_or(setup.mode);
    let taping = tape::open(&wish.taping, surroundings)?;
    let lookup = |name: &str| surroundings.variable(name);
    let chosen = transport::choose(&setup, Purpose::Answer, &taping, &lookup)?;
    Ok(chosen.way.mode())
}

/// What the configured providers offer.
pub fn models(project: &Project, surroundings: &Surroundings) -> Result<Vec<Offered>, Error> {
    project.trust.require_settings(&["ai."])?;
    let lookup = |name: &str| surroundings.variable(name);
    Ok(transport::models(&project.settings.ai, &lookup)?)
}
