//! The floor of the write policy: places no change set may touch, whoever asks.

use crate::fold::{folded, is_short_name_of};
use crate::policy::{Access, Denial, Rule};
use crate::{Error, RelPath};

/// The directory of ours in a project.
pub(crate) const HOME: &str = ".drawloom";
/// Where an apply keeps its staged files, inside [`HOME`].
pub(crate) const STAGING: &str = "apply";

/// Git's directory, everywhere.
const GIT: &str = ".git";

/// Refuses what must never be a target: git's own files, because writing
/// there runs code (hooks) and corrupts history, and our staging area.
///
/// Checked on the path as written and again on the path it resolves to, so a
/// symlink to `.git` is no way in.
pub(crate) fn check_write(path: &RelPath) -> Result<(), Error> {
    let denied = |rule, name: &str| Err(Denial::new(path, Access::Write, rule, name).into());
    if path.is_root() {
        return denied(Rule::Root, ".");
    }
    if let Some(name) = path.names().find(|name| is_git_dir(name)) {
        return denied(Rule::Git, name);
    }
    let mut names = path.names();
    let in_home = names.next().is_some_and(|name| folded(name) == HOME);
    if in_home && names.next().is_some_and(|name| folded(name) == STAGING) {
        return denied(Rule::Own, path.as_str());
    }
    Ok(())
}

/// Whether some filesystem would open git's directory under this name.
fn is_git_dir(name: &str) -> bool {
    let name = folded(name);
    name == GIT || (name.contains('~') && is_short_name_of(&name, GIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[track_caller]
    fn check(path: &str, expected: Option<ErrorKind>) {
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
            check(path, Some(ErrorKind::Denied));
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
        check(".drawloom/apply", Some(ErrorKind::Denied));
        check(".drawloom/apply/journal", Some(ErrorKind::Denied));
        check(".Drawloom/APPLY/x", Some(ErrorKind::Denied));
        check(".drawloom/recipes/x.yml", None);
        check("apply/x", None);
        check(".", Some(ErrorKind::Denied));
    }
}
