//! Pull requests as data.

use crate::Branch;

/// The most characters of a pull request's title, by GitHub's rules.
pub const PULL_TITLE_CHARS_MAX: usize = 256;
/// The most characters of a pull request's body, by GitHub's rules.
pub const PULL_BODY_CHARS_MAX: usize = 65_536;

/// Whether a pull request may be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It is ready for review.
    Ready,
    /// Somebody has to work on it first.
    Draft,
}

/// A pull request to open, or to bring up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPull {
    /// Its title.
    pub title: String,
    /// Its body, in Markdown.
    pub body: String,
    /// The branch with the work, which has been pushed.
    pub head: Branch,
    /// The branch that the work shall go into.
    pub base: Branch,
    /// Whether it may be merged.
    pub readiness: Readiness,
    /// Labels to put on it; those that do not exist are made.
    pub labels: Vec<String>,
}

/// A pull request on the forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// Its number in the repository.
    pub number: u64,
    /// Its page.
    pub url: String,
    /// Whether the forge has it as a draft.
    pub draft: bool,
}

/// What became of publishing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The pull request.
    pub pull: Pull,
    /// Whether it was there before and was brought up to date.
    pub was_there: bool,
    /// What did not go as asked and does not matter enough to fail, as sentences.
    pub notes: Vec<String>,
}

impl NewPull {
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
