//! Who a commit is by: the user, as git knows them, else a stated nobody.

use crate::call::Call;
use crate::{Error, Git};

/// The name on commits where the user has told git none.
pub const FALLBACK_NAME: &str = "Drawloom";
/// The address on commits where the user has told git none; nobody's.
pub const FALLBACK_EMAIL: &str = "drawloom@localhost";

/// Git with a name to commit under. Git would guess one from the machine's name; we do not.
pub(crate) fn with_identity(git: Git) -> Result<Git, Error> {
    let known = |git: &Git, who: &str| {
        let call = Call::new(["var", who]).setting("user.useConfigOnly=true");
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
