//! vcs.
