//! `RelPath`: a path that stays inside a root by its spelling.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Error, WorkspaceErrorKind};

/// The longest whole path, as on Linux.
pub(crate) const PATH_BYTES_MAX: usize = 4096;
/// The longest single name in a path, as on most filesystems.
pub const NAME_BYTES_MAX: usize = 255;
/// The deepest path; one file handle is open per level while applying.
pub(crate) const PATH_DEPTH_MAX: usize = 128;

/// A relative path with `/` between names, no `..`, no `.`, no NUL.
///
/// Ordered as a tree is printed: `a`, `a/b`, `a-b`. So everything inside a
/// directory is next to it.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RelPath(String);

impl RelPath {
    /// Parses a path as people write it in `to:`. Backslashes are separators and `./` is dropped; a
    /// path that could leave the project is refused.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |why: &str| {
            Err(Error::new(
                WorkspaceErrorKind::InvalidPath,
                format!("path {text:?} {why}"),
            ))
        };
        if text.is_empty() {
            return invalid("is empty; give a path inside the project");
        }
        if text.len() > PATH_BYTES_MAX {
            return Err(Error::new(
                WorkspaceErrorKind::Limit,
                format!(
                    "path is {} bytes long, more than PATH_BYTES_MAX ({PATH_BYTES_MAX})",
                    text.len()
                ),
            ));
        }
        if let Some(bad) = text.chars().find(|c| c.is_control()) {
            return invalid(&format!(
                "contains the control character {bad:?}; check the value it was made from"
            ));
        }
        let text_slashed = text.replace('\\', "/");
        if text_slashed.starts_with('/') || has_drive(&text_slashed) {
            return invalid("is absolute; use a path relative to the project's root");
        }
        if text_slashed.starts_with("~/") || text_slashed == "~" {
            return invalid("starts in the home directory; use a path inside the project");
        }
        let mut names: Vec<&str> = Vec::new();
        for name in text_slashed.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    return invalid("contains `..`; use a path that stays inside the project");
                }
                _ if name.len() > NAME_BYTES_MAX => {
                    return invalid(&format!(
                        "has a name longer than NAME_BYTES_MAX ({NAME_BYTES_MAX} bytes)"
                    ));
                }
                _ => names.push(name),
            }
        }
        if names.len() > PATH_DEPTH_MAX {
            return invalid(&format!(
                "is deeper than PATH_DEPTH_MAX ({PATH_DEPTH_MAX} levels)"
            ));
        }
        Ok(Self(names.join("/")))
    }

    /// The root itself, the result of parsing `.`.
    #[must_use]
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Returns true for the root itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, with `/` between names; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names from the root down.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The last name; `None` for the root.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        let name = match memchr::memrchr(b'/', self.0.as_bytes()) {
            Some(cut) => &self.0[cut + 1..],
            None => &self.0,
        };
        (!name.is_empty()).then_some(name)
    }

    /// The text after the last dot of the last name, as in `Path::extension`.
    #[must_use]
    pub fn extension(&self) -> Option<&str> {
        match self.file_name()?.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => Some(extension),
            _ => None,
        }
    }

    /// The parent directory; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let cut = self.0.rfind('/').unwrap_or(0);
        Some(Self(self.0[..cut].to_owned()))
    }

    /// Appends another path to this one.
    pub fn join(&self, below: &Self) -> Result<Self, Error> {
        match (self.is_root(), below.is_root()) {
            (true, _) => Ok(below.clone()),
            (_, true) => Ok(self.clone()),
            _ => Self::parse(&format!("{}/{}", self.0, below.0)),
        }
    }

    /// Returns true if this is `dir` or lies below it.
    #[must_use]
    pub fn is_within(&self, dir: &Self) -> bool {
        dir.is_root()
            || self
                .0
                .strip_prefix(&dir.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns this path relative to `dir`.
    #[must_use]
    pub fn strip_prefix(&self, dir: &Self) -> Option<Self> {
        if dir.is_root() {
            return Some(self.clone());
        }
        let rest = self.0.strip_prefix(&dir.0)?;
        match rest.strip_prefix('/') {
            Some(below) => Some(Self(below.to_owned())),
            None if rest.is_empty() => Some(Self::root()),
            None => None,
        }
    }

    /// The path in the operating system's form; `.` for the root.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        if self.is_root() {
            Path::new(".")
        } else {
            Path::new(&self.0)
        }
    }

    /// A name found in a directory, when it can be spelled as a `RelPath`.
    pub(crate) fn child(&self, name: &str) -> Option<Self> {
        let fits = self.0.len() + 1 + name.len() <= PATH_BYTES_MAX;
        if !fits || !Self::is_name(name) || self.depth() >= PATH_DEPTH_MAX {
            return None;
        }
        if self.is_root() {
            return Some(Self(name.to_owned()));
        }
        let mut whole = String::with_capacity(self.0.len() + 1 + name.len());
        whole.push_str(&self.0);
        whole.push('/');
        whole.push_str(name);
        Some(Self(whole))
    }

    /// Returns true if this is one name of a path that [`RelPath::parse`] accepts unchanged.
    pub(crate) fn is_name(name: &str) -> bool {
        !matches!(name, "" | "." | ".." | "~")
            && name.len() <= NAME_BYTES_MAX
            && !name.contains(['/', '\\'])
            && !name.contains(char::is_control)
            && !has_drive(name)
    }

    pub(crate) fn depth(&self) -> usize {
        self.names().count()
    }
}

impl Ord for RelPath {
    fn cmp(&self, other: &Self) -> Ordering {
        // Sorts `/` before every other byte: the order of a tree, not of a word list.
        let key = |byte: u8| if byte == b'/' { 0 } else { byte };
        self.0.bytes().map(key).cmp(other.0.bytes().map(key))
    }
}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::str::FromStr for RelPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl TryFrom<String> for RelPath {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl From<RelPath> for String {
    fn from(path: RelPath) -> Self {
        path.to_string()
    }
}

impl AsRef<Path> for RelPath {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

impl From<&RelPath> for PathBuf {
    fn from(path: &RelPath) -> Self {
        path.as_path().to_owned()
    }
}

/// `C:/…` and `C:`; a colon elsewhere is an ordinary character.
fn has_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', rest @ ..]
        if letter.is_ascii_alphabetic() && matches!(rest, [] | [b'/', ..]))
}
