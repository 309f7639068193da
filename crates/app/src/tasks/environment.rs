//! The environment of a task run, made from the settings: models, files, tools, limits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use agent::handlers::{HandlerContext, TaskLimits};
use agent::mcp::McpConnection;
use agent::task::Task;
use agent::tools::{CommandAccess, CommandSettings, standard};
use agent::{AgentTools, CommandCancel, FileChangeKind, Limits, ToolAction};
use llm::Secret;
use workspace::{AccessPolicy, Root, Workspace, WriteCounter};

use super::asks_a_model;
use super::clock::SystemClock;
use super::credentials;
use super::history::{HistoryFilter, OWNER_CHARS, cache_folder};
use super::run_archive::digest;
use crate::ai::{AiOverrides, CallPurpose, LEDGER_DIR, model};
use crate::{Error, ProcessEnvironment, Project, mcp_servers};

/// The environment before a run begins.
pub(super) struct TaskEnvironment {
    models: model::ModelResolver,
    surroundings: ProcessEnvironment,
    search_path: OsString,
}

impl TaskEnvironment {
    pub(super) fn open(
        project: &Project,
        surroundings: &ProcessEnvironment,
        wish: &AiOverrides,
        errand: CallPurpose,
    ) -> Result<Self, Error> {
        project.trust.require_settings(&["agent.", "mcp."])?;
        Ok(Self {
            models: model::ModelResolver::open(project, surroundings, wish, errand)?,
            surroundings: surroundings.clone(),
            search_path: surroundings.variable("PATH").unwrap_or_default().into(),
        })
    }

    /// Refuses a task whose model is not available, before anything begins.
    pub(super) fn check(&self, task: &Task) -> Result<(), Error> {
        if !asks_a_model(task) {
            return Ok(());
        }
        self.models.check(task.model_preference.as_ref())
    }

    pub(super) fn secrets(&self) -> Vec<Secret> {
        self.models.secrets()
    }

    /// Returns problems beside the work.
    pub(super) fn warnings(&self, servers: &[McpConnection]) -> Vec<String> {
        let unbooked = self
            .models
            .trouble()
            .map(|why| format!("a call could not be written into {LEDGER_DIR}: {why}"));
        let left_out = servers.iter().flat_map(McpConnection::left_out).cloned();
        unbooked.into_iter().chain(left_out).collect()
    }

    /// Connects to the MCP servers of the settings. Those that are programs end when they are dropped.
    pub(super) async fn servers(&self, project: &Project) -> Result<Vec<McpConnection>, Error> {
        let mut servers = Vec::new();
        for (name, server) in &project.settings.mcp {
            let connecting = mcp_servers::connect(project, &self.surroundings, (name, server));
            servers.push(connecting.await?);
        }
        Ok(servers)
    }

    /// Makes the files and tools of a task; the counters continue from what its run had written before.
    pub(super) fn workshop<'a>(
        &'a self,
        project: &'a Project,
        servers: &[McpConnection],
        deeds: &[ToolAction],
    ) -> Result<TaskDependencies<'a>, Error> {
        let settings = &project.settings.agent;
        let root = Root::open(project.folder())?;
        let workspace = Workspace::new(root, AccessPolicy::new(&settings.policy)?, settings.files);
        let workspace = Arc::new(workspace.with_ledger(ledger(deeds)));
        let commands = CommandAccess::Allowed(commands(project, &self.surroundings));
        let mut toolset = standard(&workspace, commands)?;
        for tool in servers.iter().flat_map(McpConnection::tools) {
            toolset.add(Arc::clone(tool))?;
        }
        Ok(TaskDependencies {
            office: self,
            workspace,
            toolset,
            limits: &settings.limits,
            task_limits: &settings.tasks,
        })
    }
}

/// Returns the sandbox settings of commands, without the user's keys and passwords.
pub(crate) fn commands(project: &Project, surroundings: &ProcessEnvironment) -> CommandSettings {
    let sandbox = &project.settings.agent.sandbox;
    let variable = |name: &str| surroundings.variable(name);
    let mut hidden = credentials::places(variable, &sandbox.shown);
    hidden.extend(credentials::expanded(variable, &sandbox.hidden));
    CommandSettings {
        sandbox: sandbox.requirement,
        network: sandbox.network,
        unix_sockets: sandbox.unix_sockets,
        hidden,
        writable: credentials::expanded(variable, &sandbox.writable),
        variables: sandbox.env.clone(),
        git: Some(Arc::new(HistoryFilter::new(surroundings))),
        limits: sandbox.limits,
        tmp_bytes_max: sandbox.tmp_bytes_max,
        tool_cache: Some(tool_cache(project, surroundings)),
        ..CommandSettings::default()
    }
}

/// Returns the directory in which compilers keep build results for commands of this project.
fn tool_cache(project: &Project, surroundings: &ProcessEnvironment) -> PathBuf {
    let name = digest(&project.folder().display().to_string());
    let caches = cache_folder(surroundings).join("tools");
    caches.join(&name[..OWNER_CHARS])
}

/// The environment of one run.
pub(super) struct TaskDependencies<'a> {
    office: &'a TaskEnvironment,
    workspace: Arc<Workspace>,
    toolset: AgentTools,
    limits: &'a Limits,
    task_limits: &'a TaskLimits,
}

impl TaskDependencies<'_> {
    pub(super) fn bench<'b>(&'b self, cancel: &'b CommandCancel) -> HandlerContext<'b> {
        HandlerContext {
            models: &self.office.models,
            workspace: &self.workspace,
            toolset: &self.toolset,
            limits: self.limits,
            task_limits: self.task_limits,
            clock: &SystemClock,
            cancel,
            search_path: &self.office.search_path,
        }
    }
}

/// Counts the files and bytes that a run had written before it was interrupted.
fn ledger(deeds: &[ToolAction]) -> WriteCounter {
    let mut ledger = WriteCounter::default();
    for deed in deeds {
        let ToolAction::Wrote {
            path,
            change,
            bytes,
            ..
        } = deed
        else {
            continue;
        };
        ledger.touched.insert(path.clone());
        ledger.bytes = ledger.bytes.saturating_add(*bytes);
        if *change == FileChangeKind::Created {
            ledger.created.insert(path.clone());
        }
    }
    ledger
}
