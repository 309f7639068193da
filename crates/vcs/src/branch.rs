//! Branch names: made from any text for this program's branches, and checked by git's rules.

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use crate::{Error, VcsErrorKind};

/// The most characters of the text in a branch's name.
pub const SLUG_CHARS_MAX: usize = 40;
/// The most characters of a job's id in a branch's name.
pub(crate) const JOB_CHARS_MAX: usize = 64;
/// Used if the text has no usable words.
const SLUG_EMPTY: &str = "change";

/// The name of a branch, such as `main`, by git's rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchName(String);

/// The purpose of a branch that this program makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchPurpose {
    /// Work that passed: `builder/…`.
    Finished,
    /// Work that a person has to repair: `draft/…`.
    Draft,
}

impl BranchName {
    /// Reads the name of a branch.
    pub fn parse(name: &str) -> Result<Self, Error> {
        if is_branch(name) {
            return Ok(Self(name.to_owned()));
        }
        Err(Error::new(
            VcsErrorKind::BadBranch,
            format!("{name:?} cannot be the name of a branch; use letters, digits, `-` and `/`"),
        ))
    }

    /// The branch of a job: `builder/{job}-{slug}` or `draft/{job}-{slug}`. Any text will do.
    #[must_use]
    pub fn of_job(purpose: BranchPurpose, job: &str, text: &str) -> Self {
        let folder = match purpose {
            BranchPurpose::Finished => "builder",
            BranchPurpose::Draft => "draft",
        };
        Self(format!("{folder}/{}-{}", job_part(job), slug(text)))
    }

    /// Appends a number, for a name that is taken.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        Self(format!("{}-{number}", self.0))
    }

    /// The name, without `refs/heads/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Turns a text into a part of a name: lower-case letters and digits of ASCII with `-` between,
/// never empty, at most [`SLUG_CHARS_MAX`] long and cut between words if possible.
#[must_use]
pub fn slug(text: &str) -> String {
    let plain = text.nfkd().filter(|c| !is_mark(*c));
    let mut slug = String::new();
    for c in plain.take(SLUG_CHARS_MAX * 64) {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let mut slug = slug.trim_end_matches('-');
    if slug.len() > SLUG_CHARS_MAX {
        let in_word = slug.as_bytes()[SLUG_CHARS_MAX] != b'-';
        slug = &slug[..SLUG_CHARS_MAX];
        if in_word
            && let Some(end) = slug.rfind('-')
            && end >= SLUG_CHARS_MAX / 2
        {
            slug = &slug[..end];
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        SLUG_EMPTY.to_owned()
    } else {
        slug.to_owned()
    }
}

/// Turns a job's id into a part of a name, without characters that git and shells treat specially.
pub(crate) fn job_part(job: &str) -> String {
    let kept: String = job
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(JOB_CHARS_MAX)
        .collect();
    let kept = kept.trim_matches('-');
    if kept.is_empty() {
        "job".to_owned()
    } else {
        kept.to_owned()
    }
}

/// Returns true for a combining accent, which remains when an accented letter is decomposed.
fn is_mark(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// The rules of `git check-ref-format --branch`.
fn is_branch(name: &str) -> bool {
    let forbidden = |c: char| c.is_control() || c == ' ' || "~^:?*[\\".contains(c);
    let is_component =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    !name.starts_with('-')
        && name != "HEAD"
        && name != "@"
        && name.len() <= 200
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(forbidden)
        && name.split('/').all(is_component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_has_a_slug() {
        for (text, expected) in [
            ("add rate limiting to login", "add-rate-limiting-to-login"),
            ("  Fix: the `parser`!! ", "fix-the-parser"),
            ("Überprüfe die Größe", "uberprufe-die-gro-e"),
            ("ﬁx №1", "fix-no1"),
            ("加入登录限制", "change"),
            ("", "change"),
            ("---", "change"),
            ("../../etc/passwd", "etc-passwd"),
            ("x.lock", "x-lock"),
            (
                "one two three four five six seven eight nine ten",
                "one-two-three-four-five-six-seven-eight",
            ),
            (
                "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
                "abcdefghijklmnopqrstuvwxyzabcdefghijklmn",
            ),
        ] {
            assert_eq!(slug(text), expected, "{text:?}");
        }
    }

    #[test]
    fn branches_are_named_for_job_and_text() {
        let branch = BranchName::of_job(BranchPurpose::Finished, "01J-x", "Add it");
        assert_eq!(branch.as_str(), "builder/01J-x-add-it");
        assert_eq!(branch.numbered(2).as_str(), "builder/01J-x-add-it-2");
        let branch = BranchName::of_job(BranchPurpose::Draft, "../;rm", "");
        assert_eq!(branch.as_str(), "draft/rm-change");
    }

    #[test]
    fn names_that_git_refuses_are_refused() {
        for name in ["main", "feature/x", "a-b_c.d", "ä", "@x", "x@y"] {
            assert!(BranchName::parse(name).is_ok(), "{name}");
        }
        for name in [
            "", "-x", "HEAD", "@", "a b", "a..b", "a/", "/a", "a//b", ".a", "a/.b", "a.", "a.lock",
            "a.lock/b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a@{1}", "a\n",
        ] {
            assert!(BranchName::parse(name).is_err(), "{name:?}");
        }
    }
}
