//! The floor of the write policy: places no change set may touch, whoever asks.

use crate::{Error, ErrorKind, RelPath};

/// The directory of ours in a project.
pub(crate) const HOME: &str = ".drawloom";
/// Where an apply keeps its staged files, inside [`HOME`].
pub(crate) const STAGING: &str = "apply";

/// Refuses what must never be a target: git's own files, because writing
/// there runs code (hooks) and corrupts history, and our staging area.
///
/// Checked on the path as written and again on the path it resolves to, so a
/// symlink to `.git` is no way in.
pub(crate) fn check_write(path: &RelPath) -> Result<(), Error> {
    if path.is_root() {
        return denied(path, "is the project itself; name a file inside it");
    }
    if path.names().any(is_git_dir) {
        return denied(
            path,
            "is inside git's own directory, which is never written",
        );
    }
    let mut names = path.names();
    let in_home = names.next().is_some_and(|name| folded(name) == HOME);
    if in_home && names.next().is_some_and(|name| folded(name) == STAGING) {
        return denied(path, "is where changes are staged while they are applied");
    }
    Ok(())
}

fn denied(path: &RelPath, why: &str) -> Result<(), Error> {
    Err(Error::new(
        ErrorKind::Denied,
        format!("`{path}` {why}; choose another path"),
    ))
}

/// Whether some filesystem would open git's directory under this name:
/// any case, the invisible characters HFS+ skips, the endings NTFS drops and
/// its short name.
fn is_git_dir(name: &str) -> bool {
    matches!(folded(name).as_str(), ".git" | "git~1")
}

/// The name as the most forgiving filesystem compares it.
fn folded(name: &str) -> String {
    let stream_cut = name.split(':').next().unwrap_or(name);
    let visible: String = stream_cut
        .chars()
        .filter(|&c| !is_ignored_by_hfs(c))
        .flat_map(char::to_lowercase)
        .collect();
    visible.trim_end_matches(['.', ' ']).to_owned()
}

fn is_ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

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
