//! The ports that a server uses, as one object for both engines.

use store::{AuditLog, CostQueries, EventStream, IdempotencyKeys, PersonCredentials, RunParts};
use store::{SearchIndex, TaskLists, TaskNotes};
use store::{WebSessions, WebhookEndpoints, WorkflowVersions};

/// Everything that a server keeps beside runs: sign-ins, keys of requests, the audit log, the stream of
/// events, versions of workflows, notes of tasks and webhooks; and its questions about runs, tasks, costs
/// and texts.
pub trait ServerPorts:
    AuditLog
    + CostQueries
    + EventStream
    + IdempotencyKeys
    + PersonCredentials
    + RunParts
    + SearchIndex
    + TaskLists
    + TaskNotes
    + WebSessions
    + WebhookEndpoints
    + WorkflowVersions
{
}

impl<T> ServerPorts for T where
    T: AuditLog
        + CostQueries
        + EventStream
        + IdempotencyKeys
        + PersonCredentials
        + RunParts
        + SearchIndex
        + TaskLists
        + TaskNotes
        + WebSessions
        + WebhookEndpoints
        + WorkflowVersions
{
}
