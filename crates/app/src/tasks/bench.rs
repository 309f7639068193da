//! What a run works with, put together from the settings: models, files, tools, limits.

use std::ffi::OsString;
use std::future::Future;
use std::sync::Arc;

use agent::handlers::{Bench, TaskLimits};
use agent::mcp::{Server, ServerSettings};
use agent::task::Task;
use agent::tools::{CommandSettings, Commands, standard};
use agent::{Cancel, Deed, FileChange, Limits, Toolset};
use llm::Secret;
use store::Run;
use tokio::runtime::Runtime;
use workspace::{Ledger, Policy, Root, Workspace};

use super::asks_a_model;
use super::clock::SystemClock;
use super::credentials;
use super::history::HistoryFilter;
use crate::ai::{Errand, LEDGER_DIR, Wish, model};
use crate::settings::Sandbox;
use crate::{Code, Error, Project, Surroundings};

/// What is there before a run begins.
pub(super) struct Office {
    models: model::Source,
    runtime: Runtime,
    surroundings: Surroundings,
    search_path: OsString,
}

impl Office {
    pub(super) fn open(
        project: &Project,
        surroundings: &Surroundings,
        wish: &Wish,
        errand: Errand,
    ) -> Result<Self, Error> {
        project.trust.require_settings(&["agent.", "mcp."])?;
        Ok(Self {
            models: model::Source::open(project, surroundings, wish, errand)?,
            runtime: runtime()?,
            surroundings: surroundings.clone(),
            search_path: surroundings.variable("PATH").unwrap_or_default().into(),
        })
    }

    /// Refuses a task whose model cannot be had, before anything is begun.
    pub(super) fn check(&self, task: &Task) -> Result<(), Error> {
        if !asks_a_model(task) {
            return Ok(());
        }
        self.models.check(task.model_preference.as_ref())
    }

    pub(super) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(super) fn secrets(&self) -> Vec<Secret> {
        self.models.secrets()
    }

    /// What went wrong beside the work.
    pub(super) fn warnings(&self, servers: &[Server]) -> Vec<String> {
        let unbooked = self
            .models
            .trouble()
            .map(|why| format!("a call could not be written into {LEDGER_DIR}: {why}"));
        let left_out = servers.iter().flat_map(Server::left_out).cloned();
        unbooked.into_iter().chain(left_out).collect()
    }

    /// The MCP servers of the settings, running. They end when they are dropped.
    pub(super) async fn servers(&self, project: &Project) -> Result<Vec<Server>, Error> {
        let mut servers = Vec::new();
        for (name, server) in &project.settings.mcp {
            let args: Vec<&str> = server.args.iter().map(String::as_str).collect();
            let mut settings = ServerSettings::new(&server.command, &args);
            for (variable, value) in &server.env {
                let value = self.value(name, value)?;
                settings.env.push((variable.clone(), value));
            }
            servers.push(Server::start(name, &settings, project.folder()).await?);
        }
        Ok(servers)
    }

    /// A value as it is, or that of the variable it names.
    fn value(&self, server: &str, value: &str) -> Result<String, Error> {
        let Some(name) = value.strip_prefix('$') else {
            return Ok(value.to_owned());
        };
        self.surroundings.variable(name).ok_or_else(|| {
            let message =
                format!("the MCP server `{server}` needs the variable {name}, which is not set");
            Error::new(Code::Settings, message)
                .hint(format!("set it, or change `mcp.servers.{server}.env`"))
        })
    }

    /// The files and tools of a run, which goes on counting what it had written.
    pub(super) async fn workshop<'a>(
        &'a self,
        project: &'a Project,
        servers: &[Server],
        run: &Run,
    ) -> Result<Workshop<'a>, Error> {
        let settings = &project.settings.agent;
        let root = Root::open(project.folder())?;
        let workspace = Workspace::new(root, Policy::new(&settings.policy)?, settings.files);
        let workspace = Arc::new(workspace.with_ledger(ledger(&run.deeds().await?)));
        let commands = Commands::Allowed(commands(&settings.sandbox, &self.surroundings));
        let mut toolset = standard(&workspace, commands)?;
        for tool in servers.iter().flat_map(Server::tools) {
            toolset.add(Arc::clone(tool))?;
        }
        Ok(Workshop {
            office: self,
            workspace,
            toolset,
            limits: &settings.limits,
            task_limits: &settings.tasks,
        })
    }
}

/// The cage of commands: what the settings say, without the user's keys and passwords.
pub(crate) fn commands(sandbox: &Sandbox, surroundings: &Surroundings) -> CommandSettings {
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
        ..CommandSettings::default()
    }
}

/// What a run works with.
pub(super) struct Workshop<'a> {
    office: &'a Office,
    workspace: Arc<Workspace>,
    toolset: Toolset,
    limits: &'a Limits,
    task_limits: &'a TaskLimits,
}

impl Workshop<'_> {
    pub(super) fn bench<'b>(&'b self, cancel: &'b Cancel) -> Bench<'b> {
        Bench {
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

/// One thread drives the conversation; files and commands have their own.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| {
            Error::new(Code::Command, format!("the run cannot be set up: {cause}"))
                .hint("close other programs: the system is out of handles")
        })
}

/// What a run had written before it was interrupted.
fn ledger(deeds: &[Deed]) -> Ledger {
    let mut ledger = Ledger::default();
    for deed in deeds {
        let Deed::Wrote {
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
        if *change == FileChange::Created {
            ledger.created.insert(path.clone());
        }
    }
    ledger
}
