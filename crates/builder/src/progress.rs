//! Progress events of a build, beside the events of the agent loop.

use agent::{AgentObserver, NoAgentObserver};
use serde::{Deserialize, Serialize};

use crate::job::JobId;
use crate::status::JobStatus;

/// The name of the progress event.
pub const EVENT: &str = "builder.progress";

/// One event of a job. It is stored with the job, and reported as it happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildProgress {
    /// Always [`EVENT`].
    pub event: String,
    /// The job.
    pub job_id: JobId,
    /// The job's status after the event.
    pub status: JobStatus,
    /// A sentence.
    pub message: String,
    /// The subject, such as a path or a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Watches builds and the loop inside them.
pub trait BuildObserver: AgentObserver {
    /// Called for each event as it happens. Must not block: the build waits for it.
    fn notice_progress(&mut self, progress: &BuildProgress);
}

impl BuildObserver for NoAgentObserver {
    fn notice_progress(&mut self, _progress: &BuildProgress) {}
}
