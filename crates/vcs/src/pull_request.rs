//! Pull requests as data.

use serde_json::Value;

use crate::{BranchName, MANUAL_FIX_LABEL, NOT_JUDGED_LABEL};

/// The most characters of a pull request's title, by the rules of GitLab and Gitea; GitHub allows one
/// more.
pub(crate) const PULL_TITLE_CHARS_MAX: usize = 255;
/// The most characters of a pull request's body, by GitHub's rules.
pub(crate) const PULL_BODY_CHARS_MAX: usize = 65_536;

/// The state in which a pull request is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullReadiness {
    /// Ready for review.
    Ready,
    /// A draft that needs more work first.
    Draft,
}

/// A pull request to open, or to update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// Its title.
    pub title: String,
    /// Its body, in Markdown.
    pub body: String,
    /// The branch with the work, which has been pushed.
    pub head: BranchName,
    /// The branch to merge into.
    pub base: BranchName,
    /// The state in which it is opened.
    pub readiness: PullReadiness,
    /// Labels to put on it; missing ones are created. Those of ours that are not among them are
    /// taken off.
    pub labels: Vec<String>,
}

/// The labels that say how the checks ended. They are ours to take off again.
const OUR_LABELS: [&str; 2] = [MANUAL_FIX_LABEL, NOT_JUDGED_LABEL];

/// A label that is on a pull request and says what is no longer true.
pub(crate) struct StaleLabel {
    pub(crate) name: &'static str,
    /// Its id, where the forge goes by ids.
    pub(crate) id: Option<u64>,
}

/// A pull request on the forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// Its page.
    pub url: String,
    /// True if the forge has it as a draft.
    pub draft: bool,
}

/// The outcome of publishing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishOutcome {
    /// The pull request.
    pub pull: PullRequest,
    /// True if it existed before and was updated.
    pub was_there: bool,
    /// Minor problems that did not make it fail, as sentences.
    pub notes: Vec<String>,
}

impl NewPullRequest {
    /// The names of our labels that this one must not have.
    pub(crate) fn unwanted_labels(&self) -> impl Iterator<Item = &'static str> {
        let is_wanted = |name: &&str| self.labels.iter().any(|label| label == name);
        OUR_LABELS.into_iter().filter(move |name| !is_wanted(name))
    }

    /// The unwanted labels that a pull request has, as the forge shows it.
    pub(crate) fn stale_labels(&self, found: &Value) -> Vec<StaleLabel> {
        let labels = found.get("labels").and_then(Value::as_array);
        let labels = labels.map_or(&[][..], Vec::as_slice);
        let named = |name: &'static str| {
            let is_it = |label: &&Value| label.get("name").and_then(Value::as_str) == Some(name);
            let label = labels.iter().find(is_it)?;
            let id = label.get("id").and_then(Value::as_u64);
            Some(StaleLabel { name, id })
        };
        self.unwanted_labels().filter_map(named).collect()
    }

    /// The title within its limit; `prefix` is not cut.
    pub(crate) fn title_after(&self, prefix: &str) -> String {
        let room = PULL_TITLE_CHARS_MAX - prefix.len();
        let line = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = line.chars().take(room).collect();
        format!("{prefix}{cut}")
    }

    /// The body within its limit, saying so if it was cut.
    pub(crate) fn bounded_body(&self) -> String {
        if self.body.chars().count() <= PULL_BODY_CHARS_MAX {
            return self.body.clone();
        }
        let note = format!(
            "\n\n_The rest is left out: there is room for {PULL_BODY_CHARS_MAX} characters._\n"
        );
        let room = PULL_BODY_CHARS_MAX - note.chars().count();
        let mut kept: String = self.body.chars().take(room).collect();
        // A code block that was cut would swallow the note.
        if kept.matches("```").count() % 2 == 1 {
            kept = kept.chars().take(room - 4).collect();
            kept.push_str("\n```");
        }
        kept + &note
    }
}
