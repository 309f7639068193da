//! The database of a project: a file of its own, or one on a server that machines share.

use std::path::PathBuf;
use std::sync::Arc;

use llm::Secret;
use store::{Outbox, People, Postgres, PostgresOptions, Queries, Schedules, Store};

use crate::tasks::clock::SystemClock;
use crate::tasks::keeping;
use crate::{Code, Error, Project, Surroundings, ignoring, settings};

/// A database, opened. Clones share it.
#[derive(Clone)]
pub(crate) enum Database {
    File(Store),
    Server(Postgres),
}

impl Database {
    /// Opens the database: the one given, that of DRAWLOOM_DATABASE_URL or of the settings, or the
    /// project's own. `secrets` are taken out of everything that is kept.
    pub(crate) async fn open(
        project: &Project,
        surroundings: &Surroundings,
        given: Option<&str>,
        secrets: Vec<Secret>,
    ) -> Result<Database, Error> {
        require_trust(project, surroundings, given)?;
        if let Some(address) = server_address(project, surroundings, given) {
            return Ok(Database::Server(connect(address, secrets).await?));
        }
        let place = database_place(project, surroundings, given)?;
        let store = keeping::open_at(&place, secrets).await?;
        ignoring::ignore_private(&project.root)?;
        Ok(Database::File(store))
    }

    pub(crate) fn people(&self) -> Arc<dyn People> {
        match self {
            Database::File(store) => Arc::new(store.clone()),
            Database::Server(server) => Arc::new(server.clone()),
        }
    }

    pub(crate) fn schedules(&self) -> Arc<dyn Schedules> {
        match self {
            Database::File(store) => Arc::new(store.clone()),
            Database::Server(server) => Arc::new(server.clone()),
        }
    }

    /// What people ask about runs and tasks.
    pub(crate) fn queries(&self) -> Arc<dyn Queries> {
        match self {
            Database::File(store) => Arc::new(store.clone()),
            Database::Server(server) => Arc::new(server.clone()),
        }
    }

    pub(crate) fn outbox(&self) -> Arc<dyn Outbox> {
        match self {
            Database::File(store) => Arc::new(store.clone()),
            Database::Server(server) => Arc::new(server.clone()),
        }
    }

    /// Gives the room of deleted rows back; how large the database was and is, in bytes.
    pub(crate) async fn compact(&self) -> store::Result<(u64, u64)> {
        match self {
            Database::File(store) => store.compact().await,
            Database::Server(server) => server.compact().await,
        }
    }

    /// The runs. Must be called inside a runtime, which does the writing.
    pub(crate) async fn workflows(&self) -> Result<Arc<dyn flow::Store>, Error> {
        Ok(match self {
            Database::File(store) => store.workflows().await?,
            Database::Server(server) => server.workflows().await?,
        })
    }
}

/// Opens the database on a server; what is wrong is said by the kind of the error.
pub(crate) async fn connect(address: &str, secrets: Vec<Secret>) -> store::Result<Postgres> {
    let options = PostgresOptions {
        clock: Arc::new(SystemClock),
        scrub: Some(keeping::scrubbing(secrets)),
    };
    Postgres::open(address, options).await
}

/// Refuses a database that the project names and its user has not trusted: it would learn of every
/// run, and of the password that is sent to it.
pub(crate) fn require_trust(
    project: &Project,
    surroundings: &Surroundings,
    given: Option<&str>,
) -> Result<(), Error> {
    let is_users = given.is_some()
        || surroundings
            .variables
            .contains_key(settings::DATABASE_VARIABLE);
    match is_users {
        true => Ok(()),
        false => project.trust.require_settings(&["workflows.database"]),
    }
}

/// Where the server is, if the database is on one.
pub(crate) fn server_address<'a>(
    project: &'a Project,
    surroundings: &'a Surroundings,
    given: Option<&'a str>,
) -> Option<&'a str> {
    let url = database_url(project, surroundings, given);
    url.filter(|url| url.starts_with("postgres:") || url.starts_with("postgresql:"))
}

/// The file that everything is kept in, where it is not on a server.
pub(crate) fn database_place(
    project: &Project,
    surroundings: &Surroundings,
    given: Option<&str>,
) -> Result<PathBuf, Error> {
    let Some(url) = database_url(project, surroundings, given) else {
        return Ok(keeping::place(project));
    };
    let path = url.strip_prefix("sqlite:").unwrap_or(url);
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.contains("://") {
        // The address is not repeated: there may be a password in it.
        let scheme = url.split("://").next().unwrap_or_default();
        let message = format!("`{scheme}:` is no database");
        let hint = "give a file, sqlite:PATH, or a server, postgres://USER@HOST/DATABASE";
        return Err(Error::new(Code::Usage, message).hint(hint));
    }
    Ok(match given {
        Some(_) => surroundings.path(path.as_ref()),
        None => project.folder().join(path),
    })
}

/// The database that is named: by the flag, by DRAWLOOM_DATABASE_URL, or by the settings.
fn database_url<'a>(
    project: &'a Project,
    surroundings: &'a Surroundings,
    given: Option<&'a str>,
) -> Option<&'a str> {
    let variable = surroundings.variables.get(settings::DATABASE_VARIABLE);
    let setting = project.settings.workflows.database.as_deref();
    let url = given.or(variable.map(String::as_str)).or(setting);
    url.filter(|url| !url.is_empty())
}
