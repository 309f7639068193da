//! The database of a project: a file of its own, or one on a server that machines share.

use std::path::PathBuf;
use std::sync::Arc;

use builder::JobStore;
use llm::Secret;
use store::{
    AgentRuns, BuildHolds, Outbox, PostgresDatabase, PostgresOptions, ProjectKeys, RunQueries,
    ScheduleStore, SqliteDatabase, TokenStore, TriggerMemory, UserStore, ViewStore,
};

use workspace::fs;

use crate::application::ServerPorts;
use crate::tasks::clock::SystemClock;
use crate::tasks::run_archive;
use crate::{AppErrorCode, Error, ProcessEnvironment, Project, ignoring, settings};

/// The ports to the work of agents, as one object for both engines.
pub(crate) trait AgentDatabase: AgentRuns + BuildHolds {}

impl<T: AgentRuns + BuildHolds> AgentDatabase for T {}

/// A database, opened. Clones share it.
#[derive(Clone)]
pub enum ProjectDatabase {
    File(SqliteDatabase),
    Server(PostgresDatabase),
}

impl ProjectDatabase {
    /// Opens the database: the one given, that of DRAWLOOM_DATABASE_URL or of the settings, or the
    /// project's own. `secrets` are taken out of everything that is kept.
    pub(crate) async fn open(
        project: &Project,
        surroundings: &ProcessEnvironment,
        given: Option<&str>,
        secrets: Vec<Secret>,
    ) -> Result<ProjectDatabase, Error> {
        require_trust(project, surroundings, given)?;
        if let Some(address) = server_address(project, surroundings, given) {
            return Ok(ProjectDatabase::Server(connect(address, secrets).await?));
        }
        let place = database_place(project, surroundings, given)?;
        let store = run_archive::open_at(&place, secrets).await?;
        ignoring::ignore_private(&project.root)?;
        Ok(ProjectDatabase::File(store))
    }

    pub(crate) fn people(&self) -> Arc<dyn UserStore> {
        match self {
            ProjectDatabase::File(store) => Arc::new(store.clone()),
            ProjectDatabase::Server(server) => Arc::new(server.clone()),
        }
    }

    pub(crate) fn triggers(&self) -> Arc<dyn TriggerMemory> {
        match self {
            ProjectDatabase::File(store) => Arc::new(store.clone()),
            ProjectDatabase::Server(server) => Arc::new(server.clone()),
        }
    }

    pub(crate) fn schedules(&self) -> Arc<dyn ScheduleStore> {
        match self {
            ProjectDatabase::File(store) => Arc::new(store.clone()),
            ProjectDatabase::Server(server) => Arc::new(server.clone()),
        }
    }

    /// Returns the queries about runs and tasks.
    pub(crate) fn queries(&self) -> Arc<dyn RunQueries> {
        match self {
            ProjectDatabase::File(store) => Arc::new(store.clone()),
            ProjectDatabase::Server(server) => Arc::new(server.clone()),
        }
    }

    pub(crate) fn outbox(&self) -> Arc<dyn Outbox> {
        match self {
            ProjectDatabase::File(store) => Arc::new(store.clone()),
            ProjectDatabase::Server(server) => Arc::new(server.clone()),
        }
    }

    pub(crate) fn tokens(&self) -> Arc<dyn TokenStore> {
        match self {
            ProjectDatabase::File(store) => Arc::new(store.clone()),
            ProjectDatabase::Server(server) => Arc::new(server.clone()),
        }
    }

    pub(crate) fn keys(&self) -> Arc<dyn ProjectKeys> {
        match self {
            ProjectDatabase::File(store) => Arc::new(store.clone()),
            ProjectDatabase::Server(server) => Arc::new(server.clone()),
        }
    }

    /// Returns the ports of everything a server stores beside runs.
    pub(crate) fn ports(&self) -> Arc<dyn ServerPorts> {
        match self {
            ProjectDatabase::File(store) => Arc::new(store.clone()),
            ProjectDatabase::Server(server) => Arc::new(server.clone()),
        }
    }

    pub(crate) fn views(&self) -> Arc<dyn ViewStore> {
        match self {
            ProjectDatabase::File(store) => Arc::new(store.clone()),
            ProjectDatabase::Server(server) => Arc::new(server.clone()),
        }
    }

    /// Returns whether the tables are those that this program knows.
    pub(crate) async fn has_current_tables(&self) -> store::Result<bool> {
        match self {
            ProjectDatabase::File(store) => store.has_current_tables().await,
            ProjectDatabase::Server(server) => server.has_current_tables().await,
        }
    }

    /// Gives the room of deleted rows back; how large the database was and is, in bytes.
    pub(crate) async fn compact(&self) -> store::Result<(u64, u64)> {
        match self {
            ProjectDatabase::File(store) => store.compact().await,
            ProjectDatabase::Server(server) => server.compact().await,
        }
    }

    /// Returns the port of the runs of tasks and plans.
    pub(crate) fn agent_runs(&self) -> &dyn AgentDatabase {
        match self {
            ProjectDatabase::File(store) => store,
            ProjectDatabase::Server(server) => server,
        }
    }

    /// Returns the port of build jobs.
    pub(crate) fn jobs(&self) -> &dyn JobStore {
        match self {
            ProjectDatabase::File(store) => store,
            ProjectDatabase::Server(server) => server,
        }
    }

    /// Reads all of a file and reports damage. A server checks its files itself.
    pub(crate) async fn check(&self) -> store::Result<()> {
        match self {
            ProjectDatabase::File(store) => store.check().await,
            ProjectDatabase::Server(_) => Ok(()),
        }
    }

    /// Closes it: another process then finds one file and not three, and no lease that must first end.
    pub(crate) async fn close(self) -> store::Result<()> {
        match self {
            ProjectDatabase::File(store) => store.close().await,
            ProjectDatabase::Server(server) => server.close().await,
        }
    }

    /// Opens the store of runs. Must be called inside a runtime, which does the writing.
    pub(crate) async fn workflows(&self) -> Result<Arc<dyn flow::WorkflowStore>, Error> {
        Ok(match self {
            ProjectDatabase::File(store) => store.workflows().await?,
            ProjectDatabase::Server(server) => server.workflows().await?,
        })
    }
}

/// Opens the database on a server; the kind of the error says what is wrong.
pub(crate) async fn connect(
    address: &str,
    secrets: Vec<Secret>,
) -> store::Result<PostgresDatabase> {
    let options = PostgresOptions {
        clock: Arc::new(SystemClock),
        scrub: Some(run_archive::scrubbing(secrets)),
    };
    PostgresDatabase::open(address, options).await
}

/// Returns true if there is a database: a file that is there, or one on a server.
pub(crate) fn exists(project: &Project, surroundings: &ProcessEnvironment) -> Result<bool, Error> {
    if server_address(project, surroundings, None).is_some() {
        return Ok(true);
    }
    Ok(fs::exists(&database_place(project, surroundings, None)?))
}

/// Refuses a database that the project names and its user has not trusted: it would learn of every
/// run, and of the password that is sent to it.
pub(crate) fn require_trust(
    project: &Project,
    surroundings: &ProcessEnvironment,
    given: Option<&str>,
) -> Result<(), Error> {
    let is_users = given.is_some()
        || surroundings.database.is_some()
        || surroundings
            .variables
            .contains_key(settings::DATABASE_VARIABLE);
    match is_users {
        true => Ok(()),
        false => project.trust.require_settings(&["workflows.database"]),
    }
}

/// Returns the address of the server, if the database is on one.
pub(crate) fn server_address<'a>(
    project: &'a Project,
    surroundings: &'a ProcessEnvironment,
    given: Option<&'a str>,
) -> Option<&'a str> {
    let url = database_url(project, surroundings, given);
    url.filter(|url| url.starts_with("postgres:") || url.starts_with("postgresql:"))
}

/// Returns the file of the database, if it is not on a server.
pub(crate) fn database_place(
    project: &Project,
    surroundings: &ProcessEnvironment,
    given: Option<&str>,
) -> Result<PathBuf, Error> {
    let Some(url) = database_url(project, surroundings, given) else {
        return Ok(run_archive::place(project));
    };
    let path = url.strip_prefix("sqlite:").unwrap_or(url);
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.contains("://") {
        // The address is not repeated: there may be a password in it.
        let scheme = url.split("://").next().unwrap_or_default();
        let message = format!("`{scheme}:` is not a database that Drawloom knows");
        let hint = "give a file, sqlite:PATH, or a server, postgres://USER@HOST/DATABASE";
        return Err(Error::new(AppErrorCode::Usage, message).hint(hint));
    }
    Ok(match given.or(surroundings.database.as_deref()) {
        Some(_) => surroundings.path(path.as_ref()),
        None => project.folder().join(path),
    })
}

/// True if there is a database, or one is named: opening it makes no new one for nothing.
pub fn has_database(
    project: &Project,
    surroundings: &ProcessEnvironment,
    given: Option<&str>,
) -> bool {
    database_url(project, surroundings, given).is_some()
        || exists(project, surroundings).unwrap_or_default()
}

/// Returns the database that is named: by the flag, by DRAWLOOM_DATABASE_URL, or by the settings.
fn database_url<'a>(
    project: &'a Project,
    surroundings: &'a ProcessEnvironment,
    given: Option<&'a str>,
) -> Option<&'a str> {
    let variable = surroundings.variables.get(settings::DATABASE_VARIABLE);
    let setting = project.settings.workflows.database.as_deref();
    let given = given.or(surroundings.database.as_deref());
    let url = given.or(variable.map(String::as_str)).or(setting);
    url.filter(|url| !url.is_empty())
}
