//! Build jobs: from a sentence to a reviewed branch, and work is never lost.
//!
//! Two halves, because a person stands between them: [`run::plan`] makes a [`Plan`] of a
//! sentence, [`decide`] is what a person does about it, [`run::build`] carries it out in a worktree
//! of its own.
//!
//! ```text
//! queued → planning → plan_ready → generating → validating ⇄ repairing → publishing → completed
//!                       │ rejected       ├ dry run → completed           │ completed_draft
//!                                        └ review_ready → publishing     └ follow-up → planning
//! any step at work → failed (can be tried again) or cancelled
//! ```
//!
//! A [`Job`] is kept behind the port [`Jobs`] before and after every stage; every change is a
//! compare-and-set ([`Change`]), so that a job which was interrupted anywhere is gone on with, and
//! of two decisions made at once one is told so. The conversations with the model are kept turn by
//! turn behind [`agent::Journal`].
//!
//! The approved plan is the permission to write: the tools refuse other files, and what commands
//! change elsewhere is put back before the work is judged. The user's checkout, index and branches
//! are never touched.

mod error;

mod role;
mod status;
mod task_type;

pub mod plan;
pub mod validation;

mod job;
mod progress;
mod result;
pub mod review;

mod bench;
mod store;

mod atlas;
mod body;
mod context;
mod dependencies;
mod ground;
mod site;
mod talk;
mod words;

mod stage;

pub mod decide;
pub mod run;

pub use bench::{Authors, Bench, Outlet, PatchFolder, Places, Settings};
pub use error::{Error, Kind};
pub use ground::uncommitted;
pub use job::{
    Base, Change, Continued, Failure, FailureCode, Job, JobId, Options, PROMPT_CHARS_MAX,
    PROMPT_CHARS_MIN, Publish, StartFrom, Work,
};
pub use plan::{FileAction, Plan, PlanFile};
pub use progress::{BuildObserver, EVENT, Progress};
pub use result::{
    Became, BuildCost, BuildResult, ChangedFile, DraftReason, FileDiff, PhaseCost, PlanCoverage,
    TokenUsage,
};
pub use role::Role;
pub use status::{Status, Transition};
pub use store::{Hold, Jobs, Kept, MemoryJobs, Talk, held, moved_on, twice, unknown};
pub use task_type::{Checks, Nearness, Proof, Rules, TaskType, Touches};
