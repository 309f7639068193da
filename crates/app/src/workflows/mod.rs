//! Workflows: read and checked, started, looked at and steered; their runs are kept in the project's
//! database and worked on by [`crate::worker`].

pub(crate) mod database;
mod exchange;
mod heading;
mod loom;
mod name;
mod reading;
mod standing;
pub(crate) mod token;

pub use exchange::{Imported, Wish as ImportWish, export, import};
pub use flow::Deletion;
pub use loom::{Begin, Loom};
pub use name::worker_name;
pub(crate) use reading::all;
pub(crate) use reading::text_of;
pub use reading::{Sheet, WORKFLOWS_DIR, names, read, read_text};
pub use standing::Standing;
pub(crate) use standing::of as standing_of;
pub use store::{Attempt, AttemptEnd, KeptNotice, RunCursor, RunFilter, TaskFilter};
