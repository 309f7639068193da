//! Git, by running the `git` program: the door to version control.
//!
//! The user's own git does the work, so their credentials, proxies and helpers
//! apply. It is never asked to ask: no prompt, no editor, no pager. What comes
//! from outside (an address, a revision) cannot become an option or a command.
//!
//! What is not here: what a kit is, and where clones are kept.

mod address;
mod commit;
mod error;
mod git;

pub use commit::Commit;
pub use error::{Error, ErrorKind};
pub use git::{FETCH_TIMEOUT_MAX, Git, LOCAL_TIMEOUT_MAX, fetch_at};
