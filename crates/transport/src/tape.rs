//! Recordings: a model's turns by what was asked of it, everybody else's answers by the questions.

use std::fmt;
use std::sync::Arc;

use llm::Code;
use llm::record::Tape;
use llm::secret::{Secret, scrub};
use prompt::{Answers, reply};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::transport::Request;

/// Whether a run is recorded or played back.
#[derive(Clone, Default)]
pub enum Taping {
    #[default]
    Off,
    Record(Arc<dyn Tape>),
    /// Nobody is asked; keys and programs are not needed.
    Replay(Arc<dyn Tape>),
}

impl Taping {
    pub fn is_replay(&self) -> bool {
        matches!(self, Taping::Replay(_))
    }
}

impl fmt::Debug for Taping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Taping::Off => "Off",
            Taping::Record(_) => "Record",
            Taping::Replay(_) => "Replay",
        })
    }
}

/// A tape that several models may hold.
pub(crate) struct Shared(pub(crate) Arc<dyn Tape>);

impl Tape for Shared {
    fn get(&self, name: &str) -> std::result::Result<Option<String>, String> {
        self.0.get(name)
    }

    fn put(&self, name: &str, text: &str) -> std::result::Result<(), String> {
        self.0.put(name, text)
    }
}

/// The answers of a program as they were recorded.
pub(crate) fn recorded(tape: &dyn Tape, request: &Request<'_>) -> Result<Answers> {
    let name = name(request);
    let unreadable = |why: String| {
        Error::new(
            Code::TransportFailed,
            format!("the recording {name} cannot be read: {why}"),
            "Check the folder given to --replay, or record it again with --record.",
        )
    };
    let text = tape.get(&name).map_err(unreadable)?.ok_or_else(|| {
        Error::new(
            Code::TransportFailed,
            format!("there is no recording of these questions ({name})"),
            "The questions or their context have changed since; record it again with --record.",
        )
    })?;
    reply::read(&text, request.questionnaire).map_err(|error| unreadable(error.to_string()))
}

/// Records the answers of a program.
pub(crate) fn record(
    tape: &dyn Tape,
    request: &Request<'_>,
    answers: &Answers,
    secrets: &[Secret],
) -> Result<()> {
    let name = name(request);
    let text = scrub(&answers.to_json(), secrets);
    tape.put(&name, &text).map_err(|why| {
        Error::new(
            Code::TransportFailed,
            format!("the recording {name} could not be stored: {why}"),
            "Check the folder given to --record.",
        )
    })
}

/// By the questions and not by the document, which says how the run was started.
fn name(request: &Request<'_>) -> String {
    let mut digest = Sha256::new();
    digest.update(request.questionnaire.request_id().as_str());
    digest.update(request.feedback.unwrap_or_default());
    let hex: String = digest
        .finalize()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    format!("answers-{hex}")
}
