//! The author of a commit: the user, as git knows them, or a fallback identity.

use crate::call::GitCall;
use crate::{Error, GitProgram};

/// The name on commits if the user has not configured one.
pub(crate) const FALLBACK_NAME: &str = "Drawloom";
/// The address on commits if the user has not configured one; it belongs to no person.
pub(crate) const FALLBACK_EMAIL: &str = "drawloom@localhost";

/// Returns git with an author. Without one git would guess from the machine's name.
pub(crate) fn with_identity(git: GitProgram) -> Result<GitProgram, Error> {
    let known = |git: &GitProgram, who: &str| {
        let call = GitCall::new(["var", who]).setting("user.useConfigOnly=true");
        git.ask(&call).map(|outcome| outcome.is_success())
    };
    let author = known(&git, "GIT_AUTHOR_IDENT")?;
    let committer = known(&git, "GIT_COMMITTER_IDENT")?;
    let mut git = git;
    if !author {
        git = git
            .variable("GIT_AUTHOR_NAME", FALLBACK_NAME)
            .variable("GIT_AUTHOR_EMAIL", FALLBACK_EMAIL);
    }
    if !committer {
        git = git
            .variable("GIT_COMMITTER_NAME", FALLBACK_NAME)
            .variable("GIT_COMMITTER_EMAIL", FALLBACK_EMAIL);
    }
    Ok(git)
}
