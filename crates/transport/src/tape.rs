//! Recordings: a model's turns, found by its request, and the answers of the other transports,
//! found by the questions.

use std::fmt;
use std::sync::Arc;

use llm::AiErrorCode;
use llm::record::Tape;
use llm::secret::{Secret, scrub};
use prompt::{Answers, reply};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::transport::AnswerRequest;

/// The choice to record a run or to replay it.
#[derive(Clone, Default)]
pub enum RecordMode {
    #[default]
    Off,
    Record(Arc<dyn Tape>),
    /// Replays the tape; no keys or programs are needed.
    Replay(Arc<dyn Tape>),
}

impl RecordMode {
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self, RecordMode::Replay(_))
    }
}

impl fmt::Debug for RecordMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordMode::Off => "Off",
            RecordMode::Record(_) => "Record",
            RecordMode::Replay(_) => "Replay",
        })
    }
}

/// A tape that several models share.
pub(crate) struct SharedTape(pub(crate) Arc<dyn Tape>);

impl Tape for SharedTape {
    fn get(&self, name: &str) -> std::result::Result<Option<String>, String> {
        self.0.get(name)
    }

    fn put(&self, name: &str, text: &str) -> std::result::Result<(), String> {
        self.0.put(name, text)
    }
}

/// Returns the recorded answers of a program.
pub(crate) fn recorded(tape: &dyn Tape, request: &AnswerRequest<'_>) -> Result<Answers> {
    let name = name(request);
    let unreadable = |why: String| {
        Error::new(
            AiErrorCode::TransportFailed,
            format!("the recording {name} cannot be read: {why}"),
            "Check the folder given to --replay, or record it again with --record.",
        )
    };
    let text = tape.get(&name).map_err(unreadable)?.ok_or_else(|| {
        Error::new(
            AiErrorCode::TransportFailed,
            format!("there is no recording of these questions ({name})"),
            "The questions or their context have changed since; record it again with --record.",
        )
    })?;
    reply::read(&text, request.questionnaire).map_err(|error| unreadable(error.to_string()))
}

/// Records the answers of a program.
pub(crate) fn record(
    tape: &dyn Tape,
    request: &AnswerRequest<'_>,
    answers: &Answers,
    secrets: &[Secret],
) -> Result<()> {
    let name = name(request);
    let text = scrub(&answers.to_json(), secrets);
    tape.put(&name, &text).map_err(|why| {
        Error::new(
            AiErrorCode::TransportFailed,
            format!("the recording {name} could not be stored: {why}"),
            "Check the folder given to --record.",
        )
    })
}

/// Names the recording by the questions; the document would not do, since it depends on how the run
/// was started.
fn name(request: &AnswerRequest<'_>) -> String {
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
