//! What whoever watches a build is told, beside what the loop tells.

use agent::{Nobody, Observer};
use serde::{Deserialize, Serialize};

use crate::job::JobId;
use crate::status::Status;

/// The name of the event under which progress goes out.
pub const EVENT: &str = "builder.progress";

/// One thing that happened to a job. Kept with it, and told as it happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Always [`EVENT`].
    pub event: String,
    /// The job.
    pub job_id: JobId,
    /// How it stands.
    pub status: Status,
    /// A sentence.
    pub message: String,
    /// What it is about, such as a path or a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Watches builds and the loop inside them.
pub trait BuildObserver: Observer {
    /// Told as it happens. Must not block: the build waits for it.
    fn notice_progress(&mut self, progress: &Progress);
}

impl BuildObserver for Nobody {
    fn notice_progress(&mut self, _progress: &Progress) {}
}
