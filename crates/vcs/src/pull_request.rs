//! Pull requests as data.

use crate::BranchName;

/// The most characters of a pull request's title, by GitHub's rules.
pub const PULL_TITLE_CHARS_MAX: usize = 256;
/// The most characters of a pull request's body, by GitHub's rules.
pub const PULL_BODY_CHARS_MAX: usize = 65_536;

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
    /// Labels to put on it; missing ones are created.
    pub labels: Vec<String>,
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
