//! The environment of a command, resolved once: variables, clock, settings, project, kits.
//!
//! This crate is the door to the environment and the clock, and it wires the products together into
//! use cases. It never prints: each use case returns its result, and the caller prints it.

#![expect(
    clippy::disallowed_methods,
    reason = "app is the door to the environment and the clock"
)]

mod error;
mod surroundings;

pub mod agent_files;
pub mod ai;
pub mod application;
pub mod builds;
pub mod demo;
pub mod doctor;
mod executors;
pub mod fetched;
mod ignoring;
pub mod import;
pub mod indexing;
pub mod init;
pub mod kit_refresh;
pub mod kits;
mod mcp_servers;
mod notices;
pub mod oidc;
mod outbound;
pub mod people;
pub mod project;
pub mod recipes;
pub mod run_target;
pub mod schedules;
pub mod schemas;
pub mod settings;
pub mod tasks;
pub mod templates;
pub mod triggers;
pub mod trust;
pub mod webhooks;
pub mod worker;
pub mod workflows;

pub use application::access::{Actor, Permission};
pub use application::passwords::{PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN};
pub use application::sign_in::{self, AccessControl, ClientPlace, SignedIn};
pub use application::{AddTaskRequest, AddedTask, TaskActivity, TaskEdit, TaskStory};
pub use application::{
    App, RecipePass, RecipeRunInput, RunRequest, ScheduleRequest, ServerPorts, TextSave,
};
pub use application::{AppHealth, RecipeOutcome, TokenRequest, UseCases, VERSIONS_MAX};
pub use application::{BULK_RUNS_MAX, BulkAct, BulkReport, BulkRequest};
pub use application::{COST_DAYS_MAX, COST_PAGE_MAX, CostLine, CostReport, CostRequest};
pub use application::{CallbackSignature, NewWebhook, WebhookChange};
pub use application::{DecisionView, ITEMS_PAGE_MAX, ItemView, ItemsPage, ItemsRequest, RunView};
pub use application::{FileState, NamedWorkflow, RestoreReport, TextMove, restore_database};
pub use application::{INBOX_COUNT_MAX, INBOX_PAGE_MAX, InboxGroup, InboxPage, InboxRequest};
pub use application::{InboxScope, InboxTask, StepView};
pub use application::{ListedKind, ListedRun, RUNS_COUNTED_MAX, RunListPage, RunListRequest};
pub use application::{ProposedAnswers, RecipeUpdateInput, RecipeUpdateOutcome};
pub use application::{RerunRequest, RerunText, TaskBulkAct, TaskBulkRequest};
pub use application::{ResultKind, SEARCH_PAGE_MAX, SearchRequest, SearchResult, SearchResults};
pub use diagnostics::nearest;
pub use error::{AppErrorCode, AppFailure, Error, FilePosition};
pub use exec::CommandCancel;
pub use outbound::IpNetwork;
pub use project::Project;
pub use settings::ProjectSettings;
pub use surroundings::{ProcessEnvironment, UserFolders};
pub use workspace::diff::unified as unified_diff;
