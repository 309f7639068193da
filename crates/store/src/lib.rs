//! The database: runs of agents with their conversations, results and costs, and the runs of
//! workflows.
//!
//! This crate is the door to SQL. [`SqliteDatabase`] is the database of a project, `.drawloom/drawloom.db`;
//! [`PostgresDatabase`] is one on a server, for workers on several machines. Both are behind the same ports.
//!
//! A [`LockedRun`] ([`AgentRuns`]) is one `task run` or `plan run`, held by one process at a time, and gives
//! out a [`StoredConversation`], which is an [`agent::TurnJournal`], for everything that talks to a model.
//! Both databases are [`builder::JobStore`] as well: a build job is a document whose every change names the
//! revision it replaces, and has a run for its conversations and its lock.
//!
//! A change that returned `Ok` survives `kill -9` and the loss of power: every commit is flushed to
//! the disk. Several processes may use one database, and writers wait for each other. A process that holds
//! a run in a file holds a lock that the operating system releases when the process dies; on a server it
//! holds a lease, and every write names the lease's fence. Only the owner can read the file, and known
//! secrets are removed from everything before it is stored.
//!
//! Workflows are stored behind [`flow::WorkflowStore`], in the same file ([`SqliteDatabase::workflows`]) or on
//! the server. The deciding code, and the grouping
//! of requests into transactions, is the same for both; an engine only reads and writes rows.
//!
//! Users, schedules, saved views, tokens, notices and triggers have a port each ([`UserStore`],
//! [`ScheduleStore`], [`ViewStore`], [`TokenStore`], [`Outbox`], [`TriggerMemory`]), which both engines
//! implement. The [`attempts`] of a task are derived from the events of its run and stored nowhere
//! a second time.
//!
//! A server uses more ports, whose tables are plain and whose SQL both engines share (`tables`):
//! [`PersonCredentials`] and [`WebSessions`] for people who sign in, [`IdempotencyKeys`],
//! [`AuditLog`], [`WebhookEndpoints`], [`WorkflowVersions`] and [`TaskNotes`]. [`EventStream`] is
//! the one order of everything that happens.
//!
//! [`RunQueries`] answers people's questions about runs and tasks; the engine's own questions are in
//! [`flow::WorkflowStore`].
//! [`TaskLists`] (the inbox, lists page by page), [`RunParts`] (a run as a page shows it),
//! [`CostQueries`] and [`SearchIndex`] complete it.
//!
//! Each engine has a folder of its own with the same file names in it.

mod attempts;
mod audit;
mod builds;
mod costs;
mod credentials;
mod details;
mod error;
mod idempotency;
mod inbox;
mod journal;
mod lock;
mod outbox;
mod plan;
mod project_keys;
mod queries;
mod record;
mod run_parts;
mod runs;
mod schedule_table;
mod schedules;
mod search;
mod secrets;
mod sessions;
mod stream;
mod tables;
mod token_table;
mod tokens;
mod triggers;
mod urgency;
mod user_table;
mod users;
mod versions;
mod view_table;
mod views;
mod webhooks;
mod workflows;

mod postgres;
mod sqlite;

pub use attempts::{AttemptEnd, AttemptRecord, attempts};
pub use audit::AUDIT_DETAIL_CHARS_MAX;
pub use audit::{AuditEntry, AuditFilter, AuditLog, AuditOutcome, NewAuditEntry};
pub use builds::BuildHolds;
pub use costs::{CostDays, CostKind, CostQueries, CostSum};
pub use credentials::IDENTITY_CHARS_MAX;
pub use credentials::{ClaimProof, ForeignIdentity, LinkPurpose, NewLink, OneTimeLink};
pub use credentials::{PasswordHash, PersonCredentials};
pub use details::TASK_TITLE_CHARS_MAX;
pub use details::{TaskComment, TaskDetails, TaskNotes};
pub use error::{DatabaseErrorKind, Error, Result};
pub use idempotency::{IDEMPOTENCY_BODY_BYTES_MAX, IDEMPOTENCY_KEY_CHARS_MAX};
pub use idempotency::{IdempotencyKeys, KeyClaim, KeyTimes, RequestKey, StoredResponse};
pub use inbox::{InboxOwners, TaskCursor, TaskEntry, TaskLists};
pub use journal::StoredConversation;
pub use outbox::{Outbox, StoredNotice};
pub use plan::TaskRecords;
pub use postgres::{PostgresDatabase, PostgresOptions, ReadyHints};
pub use project_keys::ProjectKeys;
pub use queries::{PendingWork, RunCursor, RunFilter, RunQueries, TaskFilter};
pub use record::RunState;
pub use record::{CallTotals, DatabaseFuture, NewRun, RunFile, RunKind, RunNumber, RunRecord};
pub use run_parts::RunParts;
pub use runs::{AgentRuns, LockedRun, RunFileStore};
pub use schedules::{OverlapRule, Schedule, ScheduleFiring, SchedulePolicy, ScheduleStore};
pub use search::{DocumentKind, SearchHit, SearchIndex, SearchPage, SearchQuery};
pub use secrets::OpaqueSecret;
pub use sessions::{NewSession, SessionCheck, SessionId, WebSession, WebSessions};
pub use sessions::{SESSION_CLIENT_CHARS_MAX, SESSION_SEEN_MS_STEP};
pub use sqlite::{Options, SecretScrub, SqliteDatabase, restore_file};
pub use stream::{ChangedKind, EventStream, StreamContent, StreamEvent, StreamFilter, StreamPage};
pub use stream::{STREAM_ROWS_KEPT, StreamPosition, StreamWatch};
pub use tokens::TOKEN_USE_MS_STEP;
pub use tokens::{
    AccessToken, NewToken, TokenBearer, TokenCheck, TokenId, TokenSecret, TokenStore,
};
pub use triggers::TriggerMemory;
pub use urgency::TaskUrgency;
pub use users::{AGENT_PROMPT_BYTES_MAX, SLUG_CHARS_MAX};
pub use users::{Slug, User, UserFilter, UserKind, UserRole, UserStore};
pub use versions::WORKFLOW_NAME_CHARS_MAX;
pub use versions::{NewVersion, VersionOrigin, WorkflowVersion, WorkflowVersions};
pub use views::{NewView, SavedView, ViewId, ViewStore, ViewedList};
pub use views::{VIEW_FILTER_BYTES_MAX, VIEW_NAME_CHARS_MAX};
pub use webhooks::WEBHOOK_SECRETS_MAX;
pub use webhooks::{DeliveryAttempt, DeliveryStatus, NewDelivery, SigningSecrets, WebhookDelivery};
pub use webhooks::{WebhookEndpoint, WebhookEndpoints, WebhookId};
