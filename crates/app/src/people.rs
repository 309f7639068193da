//! Users: people and agents, added, listed and edited in the database of the project, be it a file or
//! on a server.
//!
//! An agent can be declared in `drawloom.toml` as well, where it is versioned with the code. One name
//! is one agent: what the file has is not added to the database, and wins where both have it.

use std::collections::BTreeSet;
use std::sync::Arc;

use store::UserStore;

use crate::ai::{AiOverrides, CallPurpose, model};
use crate::settings::WorkflowAgent;
use crate::workflows::database::{
    ProjectDatabase, connect, database_place, require_trust, server_address,
};
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};

pub use store::{Slug, User, UserFilter, UserKind, UserRole};

/// The users of a project, opened.
pub struct ProjectUsers {
    people: Arc<dyn UserStore>,
}

impl ProjectUsers {
    /// Opens the database: the one given, or the one that runs are kept in.
    pub async fn open(
        project: &Project,
        surroundings: &ProcessEnvironment,
        database: Option<&str>,
    ) -> Result<Self, Error> {
        let database = opened(project, surroundings, database).await?;
        Ok(Self::of(&database))
    }

    /// Returns the users of an open database.
    pub(crate) fn of(database: &ProjectDatabase) -> Self {
        let people = database.people();
        Self { people }
    }

    /// Adds a user. Their revision and times are set on the way.
    pub async fn add(&self, project: &Project, user: &User) -> Result<User, Error> {
        if declared(project, &user.slug) {
            let message = format!("drawloom.toml has an agent `{}` already", user.slug);
            let hint = "choose another name, or take the section out of drawloom.toml";
            return Err(Error::new(AppErrorCode::Conflict, message).hint(hint));
        }
        let added = self.people.add_user(user).await;
        added.map_err(explained)
    }

    /// Adds users, all of them or none.
    pub async fn add_all(&self, users: &[User]) -> Result<(), Error> {
        let added = self.people.add_users(users).await;
        added.map(|_| ()).map_err(explained)
    }

    /// Lists all of them, by slug.
    pub async fn list(&self, who: UserFilter) -> Result<Vec<User>, Error> {
        let listed = self.people.users(who).await;
        listed.map_err(explained)
    }

    /// Finds the user of this slug, if they are of this kind.
    pub async fn find(&self, slug: &Slug, who: UserFilter) -> Result<User, Error> {
        let found = self.people.user(slug).await;
        let found = found.map_err(explained)?;
        let fits = |user: &User| match who {
            UserFilter::Everybody => true,
            UserFilter::People => !user.is_agent(),
            UserFilter::Agents => user.is_agent(),
        };
        let (is, list) = match who {
            UserFilter::Agents => ("agent", "agents"),
            UserFilter::People | UserFilter::Everybody => ("user", "users"),
        };
        match found {
            Some(user) if fits(&user) => Ok(user),
            Some(user) => {
                let (is_not, command) = match user.is_agent() {
                    true => ("an agent", "agents"),
                    false => ("a person", "users"),
                };
                let message = format!("`{slug}` is {is_not}");
                Err(Error::new(AppErrorCode::Usage, message)
                    .hint(format!("use `drawloom {command}`")))
            }
            None => Err(
                Error::new(AppErrorCode::NotFound, format!("there is no {is} `{slug}`"))
                    .hint(format!("`drawloom {list} list` lists them")),
            ),
        }
    }

    /// Stores an edited user, unless another process has edited them since they were read.
    pub async fn edit(&self, user: &User) -> Result<User, Error> {
        let edited = self.people.edit_user(user).await;
        edited.map_err(explained)
    }
}

/// Adds the active agents of the database to those of the settings, so that checks and prompts know
/// them, and lists the people. Creates no database file. An unreachable server is ignored here;
/// commands that need it report the error.
pub async fn enlist(
    project: &mut Project,
    surroundings: &ProcessEnvironment,
    database: Option<&str>,
) -> Result<(), Error> {
    let Some(stored) = users_kept(project, surroundings, database).await? else {
        return Ok(());
    };
    join(project, stored);
    Ok(())
}

/// Joins users that are active to the agents of the settings and the people of the project.
pub(crate) fn join(project: &mut Project, stored: Vec<User>) {
    let agents = &mut project.settings.workflows.agents;
    let mut people = BTreeSet::new();
    for user in stored.into_iter().filter(|user| user.is_active) {
        match user.nature {
            UserKind::Agent { prompt } => {
                let display_name = user.display_name;
                let agent = WorkflowAgent {
                    display_name,
                    prompt,
                };
                agents.entry(user.slug.to_string()).or_insert(agent);
            }
            UserKind::Person { .. } => {
                people.insert(user.slug.to_string());
            }
        }
    }
    // Without a list of people, any name is accepted.
    project.people = Some(people).filter(|people| !people.is_empty());
}

/// Reads the users of the database; `None` if there is no database.
async fn users_kept(
    project: &Project,
    surroundings: &ProcessEnvironment,
    database: Option<&str>,
) -> Result<Option<Vec<User>>, Error> {
    // Reading needs no trust: a database that the user has not trusted is skipped.
    if require_trust(project, surroundings, database).is_err() {
        return Ok(None);
    }
    if let Some(address) = server_address(project, surroundings, database) {
        let listed = match connect(address, Vec::new()).await {
            Ok(server) => server.users(UserFilter::Everybody).await,
            Err(error) => Err(error),
        };
        return match listed {
            Err(error) if error.kind() == store::DatabaseErrorKind::Lost => Ok(None),
            listed => Ok(Some(listed.map_err(explained)?)),
        };
    }
    // An invalid address is ignored here; the command that opens it for runs reports it.
    let place = database_place(project, surroundings, database).ok();
    if !place.is_some_and(|place| workspace::fs::exists(&place)) {
        return Ok(None);
    }
    let register = ProjectUsers::open(project, surroundings, database).await?;
    Ok(Some(register.list(UserFilter::Everybody).await?))
}

/// Opens the database, which redacts known keys in everything it stores.
pub(crate) async fn opened(
    project: &Project,
    surroundings: &ProcessEnvironment,
    database: Option<&str>,
) -> Result<ProjectDatabase, Error> {
    let wish = AiOverrides::default();
    let source = model::ModelResolver::open(project, surroundings, &wish, CallPurpose::Answer)?;
    ProjectDatabase::open(project, surroundings, database, source.secrets()).await
}

/// Converts an error of the database into one that tells the person what to do.
pub(crate) fn explained(error: store::Error) -> Error {
    match error.kind() {
        store::DatabaseErrorKind::Conflict => Error::new(AppErrorCode::Conflict, error.to_string()),
        store::DatabaseErrorKind::Invalid => Error::new(AppErrorCode::Usage, error.to_string()),
        _ => error.into(),
    }
}

fn declared(project: &Project, slug: &Slug) -> bool {
    let agents = &project.settings.workflows.agents;
    agents.contains_key(slug.as_str())
}
