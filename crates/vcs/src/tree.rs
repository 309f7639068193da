//! The name of a state of files.

use std::fmt;

/// The id of a tree: equal for equal files, at any time and place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(String);

impl TreeId {
    pub(crate) fn new(name: String) -> Self {
        Self(name)
    }

    /// The full name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
