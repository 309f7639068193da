//! Build jobs: from a sentence to a reviewed branch, and work is never lost.
//!
//! Two halves, because a person decides between them: [`run::plan`] makes a [`BuildPlan`] of a sentence,
//! [`decide`] records a person's decision, [`run::build`] carries it out in its own worktree.
//!
//! ```text
//! queued → planning → plan_ready → generating → validating ⇄ repairing → publishing → completed
//!                       │ rejected       ├ dry run → completed           │ completed_draft
//!                                        └ review_ready → publishing     └ follow-up → planning
//! any step at work → failed (can be tried again) or cancelled
//! ```
//!
//! Every stage reads a [`BuildJob`] from the port [`JobStore`] and writes it back; every change is a
//! compare-and-set ([`JobChange`]), so that a job can resume after an interruption anywhere, and of
//! two decisions made at the same time one gets a conflict. [`agent::TurnJournal`] stores the
//! conversations with the model turn by turn.
//!
//! The approved plan is the permission to write: the tools refuse other files, and changes that
//! commands make elsewhere are reverted before the checks run. The user's checkout, index and
//! branches are never touched.

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

mod build_context;
mod store;

mod active_job;
mod body;
mod context;
mod conversation;
mod dependencies;
mod job_repository;
mod kept_files;
mod prompts;
mod shown_text;
mod taken_places;
mod tree_index;

mod stage;

pub mod decide;
pub mod run;

pub use build_context::{
    BuildContext, BuildDirectories, BuildSettings, JobModels, PatchFolder, PublishDestination,
};
pub use error::{BuildErrorKind, Error};
pub use job::{
    BaseCommit, BuildJob, ContinuedBuild, FailureCode, JobChange, JobFailure, JobId, Options,
    PROMPT_CHARS_MAX, PROMPT_CHARS_MIN, PublishMode, ResumeState, StartFrom,
};
pub use job_repository::uncommitted;
pub use plan::{BuildPlan, BuildPlanFile, FileAction};
pub use progress::{BuildObserver, BuildProgress, EVENT};
pub use result::{
    BuildCost, BuildResult, ChangedFile, DraftReason, FileDiff, FileOutcome, PhaseCost,
    PlanCoverage, TokenUsage,
};
pub use role::FileRole;
pub use status::{JobStatus, StatusTransition};
pub use store::{
    ConversationKind, JobFile, JobFuture, JobLock, JobStore, MemoryJobs, held, moved_on, twice,
    unknown,
};
pub use task_type::{
    AllowedFiles, ChecksToRun, ContextNearness, ProofRequirement, TaskType, ValidationRules,
};
