//! The one trait, what goes in and comes out of it, and the way from a choice to answers.

use std::path::PathBuf;
use std::sync::Arc;

use exec::Cancel;
use llm::budget::{Entry, Meter};
use llm::{Cost, Secret, Usage};
use prompt::{Answers, Questionnaire};

use crate::api::Api;
use crate::choose::{Chosen, Way};
use crate::command::Command;
use crate::error::Result;
use crate::observe::{Event, Observer};
use crate::person::{self, Person};
use crate::stdio::Stdio;
use crate::tape::{self, Taping};

/// Something that questionnaires are put to.
pub trait Transport {
    /// Answers the questionnaire, or hands it on.
    fn resolve(&mut self, request: &Request<'_>) -> Result<Resolution>;
}

/// Questions, and the same as a document for readers.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub questionnaire: &'a Questionnaire,
    /// The rendered document.
    pub document: &'a str,
    /// What is wrong with answers given earlier, when they are asked for again.
    pub feedback: Option<&'a str>,
}

/// What became of a questionnaire.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    /// Every answer has passed its check and is here as it was given; the answers carry the
    /// questionnaire's request id.
    Resolved(Answers, Spending),
    /// Nobody here answers: the document has to go to somebody else.
    Deferred(Reason),
}

/// Why nobody answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The mode is to print the document.
    Stdout,
    /// No AI is wanted and there is no person to ask.
    NobodyThere,
    /// The person left; these answers had been given and are worth keeping.
    PersonLeft { answered: Answers },
}

/// The calls that were paid for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spending {
    pub entries: Vec<Entry>,
}

impl Spending {
    pub fn usage(&self) -> Usage {
        self.entries.iter().map(|entry| entry.usage).sum()
    }

    /// Unknown as soon as the price of one call is.
    pub fn cost(&self) -> Cost {
        self.entries.iter().map(|entry| entry.cost).sum()
    }
}

/// What a transport is given of the world.
pub struct Surroundings<'a> {
    /// The person at the terminal, for the mode `off`.
    pub person: Option<&'a mut dyn Person>,
    pub observer: &'a mut dyn Observer,
    /// The run's meter: see [`crate::Setup::meter`].
    pub meter: Arc<Meter>,
    pub taping: Taping,
    /// Where programs are started.
    pub cwd: PathBuf,
    pub cancel: Cancel,
}

/// Gets hold of whoever was chosen, and tells the observer what the choice warns of. Programs are
/// started when they are first needed.
pub fn open(chosen: Chosen, surroundings: Surroundings<'_>) -> Result<Opened<'_>> {
    let secrets = chosen.secrets;
    let Surroundings {
        person,
        observer,
        meter,
        taping,
        cwd,
        cancel,
    } = surroundings;
    for warning in &chosen.warnings {
        observer.notice(Event::Warning(warning));
    }
    let answerer = match chosen.way {
        Way::Api(plan) => Api::open(&plan, &meter, &taping, cancel)
            .map(|api| Answerer::Api(Box::new(api)))
            .map_err(|error| error.scrubbed(&secrets))?,
        Way::Command(command) => Answerer::Command(Command::new(command, cwd, cancel)),
        Way::Stdio(stdio) => Answerer::Stdio(Box::new(Stdio::new(stdio, cwd, cancel))),
        // Whoever answered then is not needed now.
        Way::Stdout | Way::Off if taping.is_replay() => Answerer::Taped,
        Way::Stdout => Answerer::Deferred(Reason::Stdout),
        Way::Off => match person {
            Some(person) => Answerer::Person(person),
            None => Answerer::Deferred(Reason::NobodyThere),
        },
    };
    Ok(Opened {
        answerer,
        observer,
        meter,
        taping,
        secrets,
    })
}

/// Whoever was chosen, ready to be asked.
pub struct Opened<'a> {
    answerer: Answerer<'a>,
    observer: &'a mut dyn Observer,
    meter: Arc<Meter>,
    taping: Taping,
    secrets: Vec<Secret>,
}

enum Answerer<'a> {
    Api(Box<Api>),
    Command(Command),
    Stdio(Box<Stdio>),
    Person(&'a mut dyn Person),
    /// Nobody but the recording.
    Taped,
    Deferred(Reason),
}

/// Answers, unless somebody else has to give them.
pub(crate) type Given = std::result::Result<Answers, Reason>;

impl Transport for Opened<'_> {
    fn resolve(&mut self, request: &Request<'_>) -> Result<Resolution> {
        if request.questionnaire.is_empty() {
            return Ok(Resolution::Resolved(Answers::empty(), Spending::default()));
        }
        let given = self.ask(request);
        let spending = self.book();
        match given {
            Ok(Ok(answers)) => Ok(Resolution::Resolved(answers, spending)),
            Ok(Err(reason)) => Ok(Resolution::Deferred(reason)),
            Err(error) => Err(error.scrubbed(&self.secrets).having_spent(spending)),
        }
    }
}

impl Opened<'_> {
    fn ask(&mut self, request: &Request<'_>) -> Result<Given> {
        let observer = &mut Scrubbing {
            inner: self.observer,
            secrets: &self.secrets,
        };
        let given = match (&mut self.answerer, &self.taping) {
            // Models have tapes of their own, with every turn.
            (Answerer::Api(api), _) => return api.ask(request, observer).map(Ok),
            (Answerer::Deferred(reason), _) => return Ok(Err(reason.clone())),
            (_, Taping::Replay(tape)) => return tape::recorded(&**tape, request).map(Ok),
            (Answerer::Taped, _) => return Ok(Err(Reason::NobodyThere)),
            (Answerer::Person(person), _) => person::ask(*person, request)?,
            (Answerer::Command(command), _) => Ok(command.ask(request, observer)?),
            (Answerer::Stdio(stdio), _) => Ok(stdio.ask(request, observer)?),
        };
        if let (Ok(answers), Taping::Record(tape)) = (&given, &self.taping) {
            tape::record(&**tape, request, answers, &self.secrets)?;
        }
        Ok(given)
    }

    /// Tells the observer what was spent, whatever came of it.
    fn book(&mut self) -> Spending {
        let entries = self.meter.take_entries();
        for entry in &entries {
            self.observer.notice(Event::Spent(entry));
        }
        Spending { entries }
    }
}

/// Takes keys out of everything an observer is told.
struct Scrubbing<'a> {
    inner: &'a mut dyn Observer,
    secrets: &'a [Secret],
}

impl Observer for Scrubbing<'_> {
    fn wants_stream(&self) -> bool {
        self.inner.wants_stream()
    }

    fn notice(&mut self, event: Event<'_>) {
        let clean = |text: &str| llm::secret::scrub(text, self.secrets);
        match event {
            Event::Waiting {
                attempt,
                attempts_max,
                wait,
                why,
            } => self.inner.notice(Event::Waiting {
                attempt,
                attempts_max,
                wait,
                why: &clean(why),
            }),
            Event::Fallback { from, to, why } => self.inner.notice(Event::Fallback {
                from,
                to,
                why: &clean(why),
            }),
            Event::Asking { whom } => self.inner.notice(Event::Asking { whom: &clean(whom) }),
            Event::Correcting { why } => self.inner.notice(Event::Correcting { why: &clean(why) }),
            Event::Note(text) => self.inner.notice(Event::Note(&clean(text))),
            Event::Warning(text) => self.inner.notice(Event::Warning(&clean(text))),
            Event::Progress(text) => self.inner.notice(Event::Progress(&clean(text))),
            Event::Log(text) => self.inner.notice(Event::Log(&clean(text))),
            event @ (Event::Streamed { .. } | Event::Spent(_)) => self.inner.notice(event),
        }
    }
}
