//! Checks addresses and revisions before they are passed to git, and redacts them for messages.

use crate::{Error, VcsErrorKind};

/// The most bytes of an address or revision.
const TEXT_BYTES_MAX: usize = 2048;

/// Refuses an address that git would read as an option, or as a command to run.
pub(crate) fn check_address(address: &str) -> Result<(), Error> {
    let bad = |why: &str| {
        let shown = redacted(address, address);
        let message =
            format!("{shown:?} {why}; give an address such as https://host/owner/repository.git");
        Err(Error::new(VcsErrorKind::BadAddress, message))
    };
    if address.trim().is_empty() {
        return bad("is empty");
    }
    if address.starts_with('-') {
        return bad("begins with `-`, like an option");
    }
    if address.len() > TEXT_BYTES_MAX || address.chars().any(char::is_control) {
        return bad("is too long or contains control characters");
    }
    // `ext::sh -c …` is a command; other `name::` helpers are programs too.
    if let Some((helper, _)) = address.split_once("::")
        && helper
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return bad("would run a transport helper");
    }
    Ok(())
}

/// Refuses a text that cannot be the name of a branch, tag or commit.
pub(crate) fn check_revision(revision: &str) -> Result<(), Error> {
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let bad = revision.is_empty()
        || revision.starts_with('-')
        || revision.len() > TEXT_BYTES_MAX
        || revision.contains("..")
        || revision.contains(forbidden);
    if bad {
        return Err(Error::new(
            VcsErrorKind::UnknownRevision,
            format!("{revision:?} cannot be a branch, tag or commit; give one of those"),
        ));
    }
    Ok(())
}

/// `text` without the user and password that `address` may contain.
pub(crate) fn redacted(text: &str, address: &str) -> String {
    let Some((_, rest)) = address.split_once("://") else {
        return text.to_owned();
    };
    let authority = rest.split('/').next().unwrap_or(rest);
    match authority.rsplit_once('@') {
        Some((user, _)) if !user.is_empty() => text.replace(&format!("{user}@"), "***@"),
        _ => text.to_owned(),
    }
}

/// `text` without the user and password of any address in it.
pub(crate) fn without_credentials(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let ends = |c: char| c == '/' || c.is_whitespace() || "'\"<>`".contains(c);
        let authority = &after[..after.find(ends).unwrap_or(after.len())];
        rest = match authority.rfind('@') {
            Some(at) => {
                shown.push_str("***");
                &after[at..]
            }
            None => after,
        };
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, ok: bool) {
        assert_eq!(check_address(address).is_ok(), ok, "{address:?}");
    }

    #[test]
    fn addresses_that_run_something_are_refused() {
        for address in [
            "https://github.com/o/r",
            "git@github.com:o/r.git",
            "ssh://git@host:22/o/r.git",
            "file:///srv/r.git",
            "/srv/r",
            "../r",
            "http://[::1]:8080/r",
        ] {
            check(address, true);
        }
        for address in [
            "",
            "  ",
            "-u./evil",
            "--upload-pack=evil",
            "ext::sh -c evil",
            "fd::17",
            "remote-evil::x",
            "https://x\ny",
        ] {
            check(address, false);
        }
    }

    #[test]
    fn revisions_cannot_be_options_or_ranges() {
        for revision in ["main", "v1.2.3", "feature/x", "abc1234", "HEAD"] {
            assert!(check_revision(revision).is_ok(), "{revision}");
        }
        for revision in ["", "-f", "a b", "a..b", "a:b", "a~1", "a^", "a\n"] {
            assert!(check_revision(revision).is_err(), "{revision:?}");
        }
    }

    #[test]
    fn no_address_keeps_its_password() {
        for (text, shown) in [
            ("", ""),
            ("no address", "no address"),
            ("https://host/a@b", "https://host/a@b"),
            (
                "to https://u:p@host/x and 'ssh://git@h:22/y'",
                "to https://***@host/x and 'ssh://***@h:22/y'",
            ),
            ("https://u:p@ss@host", "https://***@host"),
            ("://@", "://***@"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        let address = "https://me:secret@host/r.git";
        let text = format!("fatal: unable to access '{address}': refused");
        let shown = redacted(&text, address);
        assert!(
            !shown.contains("secret") && shown.contains("***@host"),
            "{shown}"
        );
        assert_eq!(redacted("x", "git@host:o/r"), "x");
        assert!(
            !check_address("--https://me:secret@host")
                .unwrap_err()
                .to_string()
                .contains("secret")
        );
    }
}
