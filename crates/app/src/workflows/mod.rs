//! Workflows: read and checked, started, queried and controlled; their runs are stored in the
//! project's database, and [`crate::worker`] works on them.

pub(crate) mod database;
mod exchange;
mod front_matter;
mod name;
mod reading;
mod run_activity;
pub(crate) mod token;

pub use database::has_database;
pub use exchange::{ImportOptions, ImportPlan, export, import};
pub use flow::RunDeletion;
pub use name::worker_name;
pub(crate) use reading::all;
pub(crate) use reading::text_of;
pub use reading::{LoadedWorkflow, WORKFLOWS_DIR, names, read, read_text};
pub use run_activity::RunActivity;
pub(crate) use run_activity::of as standing_of;
pub use store::{AttemptEnd, AttemptRecord, RunCursor, RunFilter, StoredNotice, TaskFilter};
