//! The transport trait with its input and output, and the way from a choice to answers.

use std::path::PathBuf;
use std::sync::Arc;

use exec::CommandCancel;
use llm::budget::{Meter, SpendEntry};
use llm::{CallCost, Secret, Usage};
use prompt::{Answers, Questionnaire};

use crate::api::ApiTransport;
use crate::command::CommandTransport;
use crate::error::Result;
use crate::observe::{AskEvent, AskObserver};
use crate::person::{self, Person};
use crate::selection::{ChosenTransport, ResolvedMode};
use crate::stdio::StdioTransport;
use crate::tape::{self, RecordMode};

/// Gets questionnaires answered.
pub trait Transport {
    /// Answers the questionnaire, or defers it.
    fn resolve(&mut self, request: &AnswerRequest<'_>) -> Result<AskResolution>;
}

/// Questions, and the same as a document for readers.
#[derive(Clone, Copy, Debug)]
pub struct AnswerRequest<'a> {
    pub questionnaire: &'a Questionnaire,
    /// The rendered document.
    pub document: &'a str,
    /// The problems of earlier answers, if they are asked for again.
    pub feedback: Option<&'a str>,
}

/// The outcome of a questionnaire.
#[derive(Clone, Debug, PartialEq)]
pub enum AskResolution {
    /// Every answer has passed its check and is here unconverted; the answers carry the
    /// questionnaire's request id.
    Resolved(Answers, AskSpending),
    /// No answer here: the document has to go elsewhere.
    Deferred(DeferReason),
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeferReason {
    /// The mode prints the document.
    Stdout,
    /// The mode uses no AI, and there is no person to ask.
    NobodyThere,
    /// The person stopped; these answers were given before.
    PersonLeft { answered: Answers },
}

/// The calls that were paid for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskSpending {
    pub entries: Vec<SpendEntry>,
}

impl AskSpending {
    pub fn usage(&self) -> Usage {
        self.entries.iter().map(|entry| entry.usage).sum()
    }

    /// Unknown if the price of one call is unknown.
    pub fn cost(&self) -> CallCost {
        self.entries.iter().map(|entry| entry.cost).sum()
    }
}

/// The dependencies and limits of a transport.
pub struct TransportContext<'a> {
    /// The person at the terminal, for the mode `off`.
    pub person: Option<&'a mut dyn Person>,
    pub observer: &'a mut dyn AskObserver,
    /// The run's meter: see [`crate::AiSettings::meter`].
    pub meter: Arc<Meter>,
    pub taping: RecordMode,
    /// The directory in which programs are started.
    pub cwd: PathBuf,
    pub cancel: CommandCancel,
}

/// Prepares the chosen transport, and passes the warnings of the choice to the observer. Programs
/// are started when they are first needed.
pub fn open(
    chosen: ChosenTransport,
    surroundings: TransportContext<'_>,
) -> Result<OpenTransport<'_>> {
    let secrets = chosen.secrets;
    let TransportContext {
        person,
        observer,
        meter,
        taping,
        cwd,
        cancel,
    } = surroundings;
    for warning in &chosen.warnings {
        observer.notice(AskEvent::Warning(warning));
    }
    let answerer = match chosen.way {
        ResolvedMode::Api(plan) => ApiTransport::open(&plan, &meter, &taping, cancel)
            .map(|api| AnswerSource::Api(Box::new(api)))
            .map_err(|error| error.scrubbed(&secrets))?,
        ResolvedMode::Command(command) => {
            AnswerSource::Command(CommandTransport::new(command, cwd, cancel))
        }
        ResolvedMode::Stdio(stdio) => {
            AnswerSource::Stdio(Box::new(StdioTransport::new(stdio, cwd, cancel)))
        }
        // A replay needs no answerer.
        ResolvedMode::Stdout | ResolvedMode::Off if taping.is_replay() => AnswerSource::Taped,
        ResolvedMode::Stdout => AnswerSource::Deferred(DeferReason::Stdout),
        ResolvedMode::Off => match person {
            Some(person) => AnswerSource::Person(person),
            None => AnswerSource::Deferred(DeferReason::NobodyThere),
        },
    };
    Ok(OpenTransport {
        answerer,
        observer,
        meter,
        taping,
        secrets,
    })
}

/// The chosen transport, ready to be asked.
pub struct OpenTransport<'a> {
    answerer: AnswerSource<'a>,
    observer: &'a mut dyn AskObserver,
    meter: Arc<Meter>,
    taping: RecordMode,
    secrets: Vec<Secret>,
}

enum AnswerSource<'a> {
    Api(Box<ApiTransport>),
    Command(CommandTransport),
    Stdio(Box<StdioTransport>),
    Person(&'a mut dyn Person),
    /// Only the recording answers.
    Taped,
    Deferred(DeferReason),
}

/// Answers, or the reason why they have to come from elsewhere.
pub(crate) type AnswerResult = std::result::Result<Answers, DeferReason>;

impl Transport for OpenTransport<'_> {
    fn resolve(&mut self, request: &AnswerRequest<'_>) -> Result<AskResolution> {
        if request.questionnaire.is_empty() {
            return Ok(AskResolution::Resolved(
                Answers::empty(),
                AskSpending::default(),
            ));
        }
        let given = self.ask(request);
        let spending = self.book();
        match given {
            Ok(Ok(answers)) => Ok(AskResolution::Resolved(answers, spending)),
            Ok(Err(reason)) => Ok(AskResolution::Deferred(reason)),
            Err(error) => Err(error.scrubbed(&self.secrets).having_spent(spending)),
        }
    }
}

impl OpenTransport<'_> {
    fn ask(&mut self, request: &AnswerRequest<'_>) -> Result<AnswerResult> {
        let observer = &mut ScrubbingObserver {
            inner: self.observer,
            secrets: &self.secrets,
        };
        let given = match (&mut self.answerer, &self.taping) {
            // Models record every turn on their own tapes.
            (AnswerSource::Api(api), _) => return api.ask(request, observer).map(Ok),
            (AnswerSource::Deferred(reason), _) => return Ok(Err(reason.clone())),
            (_, RecordMode::Replay(tape)) => return tape::recorded(&**tape, request).map(Ok),
            (AnswerSource::Taped, _) => return Ok(Err(DeferReason::NobodyThere)),
            (AnswerSource::Person(person), _) => person::ask(*person, request)?,
            (AnswerSource::Command(command), _) => Ok(command.ask(request, observer)?),
            (AnswerSource::Stdio(stdio), _) => Ok(stdio.ask(request, observer)?),
        };
        if let (Ok(answers), RecordMode::Record(tape)) = (&given, &self.taping) {
            tape::record(&**tape, request, answers, &self.secrets)?;
        }
        Ok(given)
    }

    /// Reports the spending to the observer, whatever the outcome.
    fn book(&mut self) -> AskSpending {
        let entries = self.meter.take_entries();
        for entry in &entries {
            self.observer.notice(AskEvent::Spent(entry));
        }
        AskSpending { entries }
    }
}

/// Removes keys from every text for the observer.
struct ScrubbingObserver<'a> {
    inner: &'a mut dyn AskObserver,
    secrets: &'a [Secret],
}

impl AskObserver for ScrubbingObserver<'_> {
    fn wants_stream(&self) -> bool {
        self.inner.wants_stream()
    }

    fn notice(&mut self, event: AskEvent<'_>) {
        let clean = |text: &str| llm::secret::scrub(text, self.secrets);
        match event {
            AskEvent::Waiting {
                attempt,
                attempts_max,
                wait,
                why,
            } => self.inner.notice(AskEvent::Waiting {
                attempt,
                attempts_max,
                wait,
                why: &clean(why),
            }),
            AskEvent::Fallback { from, to, why } => self.inner.notice(AskEvent::Fallback {
                from,
                to,
                why: &clean(why),
            }),
            AskEvent::Asking { whom } => self.inner.notice(AskEvent::Asking { whom: &clean(whom) }),
            AskEvent::Correcting { why } => {
                self.inner.notice(AskEvent::Correcting { why: &clean(why) })
            }
            AskEvent::Note(text) => self.inner.notice(AskEvent::Note(&clean(text))),
            AskEvent::Warning(text) => self.inner.notice(AskEvent::Warning(&clean(text))),
            AskEvent::Progress(text) => self.inner.notice(AskEvent::Progress(&clean(text))),
            AskEvent::Log(text) => self.inner.notice(AskEvent::Log(&clean(text))),
            event @ (AskEvent::Streamed { .. } | AskEvent::Spent(_)) => self.inner.notice(event),
        }
    }
}
