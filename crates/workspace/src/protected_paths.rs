//! The floor of the write policy: places that no change set may touch, under any policy.

use crate::casefold::{folded, is_short_name_of};
use crate::policy::{Denial, DenialRule, PathAccess};
use crate::{Error, RelPath};

/// This program's directory in a project.
pub const PROGRAM_FOLDER: &str = ".drawloom";
/// The directory for an apply's staged files, inside [`PROGRAM_FOLDER`].
pub(crate) const STAGING: &str = "apply";

/// Git's directory, everywhere.
const GIT: &str = ".git";

/// Refuses paths that must never be a target: git's own files, because writing there runs code
/// (hooks) and corrupts history, and the staging area.
///
/// Checked on the path as written and again on the path it resolves to, so that a symlink to `.git`
/// does not help.
pub(crate) fn check_write(path: &RelPath) -> Result<(), Error> {
    let denied = |rule, name: &str| Err(Denial::new(path, PathAccess::Write, rule, name).into());
    if path.is_root() {
        return denied(DenialRule::Root, ".");
    }
    if let Some(name) = path.names().find(|name| is_git_dir(name)) {
        return denied(DenialRule::Git, name);
    }
    let mut names = path.names();
    let in_home = names
        .next()
        .is_some_and(|name| folded(name) == PROGRAM_FOLDER);
    if in_home && names.next().is_some_and(|name| folded(name) == STAGING) {
        return denied(DenialRule::Own, path.as_str());
    }
    Ok(())
}

/// Returns true if some filesystem would open git's directory under this name.
fn is_git_dir(name: &str) -> bool {
    let name = folded(name);
    name == GIT || (name.contains('~') && is_short_name_of(&name, GIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkspaceErrorKind;

    #[track_caller]
    fn check(path: &str, expected: Option<WorkspaceErrorKind>) {
        let path = RelPath::parse(path).unwrap();
        let found = check_write(&path).err().map(|error| error.kind());
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn git_is_refused_under_every_spelling() {
        for path in [
            ".git",
            ".git/config",
            ".GIT/config",
            ".Git/hooks/pre-commit",
            "sub/.git/config",
            ".git./config",
            ".git /config",
            ".git::$INDEX_ALLOCATION/config",
            "GIT~1/config",
            ".g\u{200c}it/config",
            "\u{feff}.git/config",
        ] {
            check(path, Some(WorkspaceErrorKind::Denied));
        }
        for path in [
            ".github/workflows/ci.yml",
            ".gitignore",
            "git/x",
            "a.git/x",
            ".gitx",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn the_staging_area_is_refused_and_its_neighbours_are_not() {
        check(".drawloom/apply", Some(WorkspaceErrorKind::Denied));
        check(".drawloom/apply/journal", Some(WorkspaceErrorKind::Denied));
        check(".Drawloom/APPLY/x", Some(WorkspaceErrorKind::Denied));
        check(".drawloom/recipes/x.yml", None);
        check("apply/x", None);
        check(".", Some(WorkspaceErrorKind::Denied));
    }
}
