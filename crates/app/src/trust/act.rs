//! Acts: what a project would start, use, send or permit, each with the words to show and a hash.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// One thing that a project would do on the user's behalf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectAct {
    /// The origin of the act in the project: a key of its settings, a recipe's folder, a step of a
    /// workflow.
    pub subject: String,
    /// The effects, each a sentence without its subject.
    pub does: Vec<String>,
    /// The hash of everything that decides what happens.
    pub digest: String,
    /// The recipe or workflow it comes from, where that is outside of Drawloom's own folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl ProjectAct {
    /// Makes an act that its words describe completely.
    pub(crate) fn said(subject: impl Into<String>, does: Vec<String>) -> Self {
        let subject = subject.into();
        let digest =
            digest(std::iter::once(subject.as_str()).chain(does.iter().map(String::as_str)));
        Self {
            subject,
            does,
            digest,
            file: None,
        }
    }
}

/// Hashes these texts, with their lengths in front so that no two lists give the same bytes.
pub(crate) fn digest<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
