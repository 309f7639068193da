//! The model call of an attempt, its prompt and its replies: stored with the run, so that a person
//! can look up later what a model saw and answered.

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::layers::PromptLayer;

/// Limits the stored bytes of one reply.
pub(crate) const KEPT_REPLY_BYTES_MAX: usize = 1 << 20;

/// The prompt and replies of one attempt at a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The sender of the reply: the name of the model, the command or the person.
    pub by: Option<String>,
    /// The layers, as they were sent.
    pub layers: Vec<PromptLayer>,
    /// The replies in order of arrival; the last one counts, those before it were corrected.
    pub replies: Vec<String>,
    pub summary: Option<String>,
    pub confidence: Option<f64>,
    #[serde(default)]
    pub suggested_tags: Vec<String>,
    /// Shown to people. Routing never reads it.
    pub suggested_next_stage: Option<String>,
    #[serde(default)]
    pub usage: CallUsage,
    pub begun_ms: u64,
    pub ended_ms: u64,
}

/// The tokens of all replies of one attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// A stored call. The key is the task's run and `seq`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRow {
    pub task: TaskId,
    /// The number of the run's event that ended the attempt.
    pub seq: u64,
    pub attempt: u32,
    pub call: ModelCall,
}

impl ModelCall {
    /// Adds a reply; one that is too long is cut, with a remark.
    pub fn add_reply(&mut self, reply: &str) {
        let kept = crate::expression::head(reply, KEPT_REPLY_BYTES_MAX);
        let mut kept = kept.to_owned();
        if kept.len() < reply.len() {
            kept.push_str(&format!(
                "\n[{} bytes are more than KEPT_REPLY_BYTES_MAX = {KEPT_REPLY_BYTES_MAX}]",
                reply.len()
            ));
        }
        self.replies.push(kept);
    }

    /// Adds the metadata of the last reply.
    pub fn note(&mut self, reply: &crate::response::AgentReply) {
        self.summary = Some(reply.summary.clone()).filter(|summary| !summary.is_empty());
        self.confidence = reply.confidence;
        self.suggested_tags.clone_from(&reply.tags);
        self.suggested_next_stage
            .clone_from(&reply.suggested_next_stage);
    }
}
