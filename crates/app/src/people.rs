//! Users: people and agents, added, listed and edited in the database of the project, be it a file or
//! on a server.
//!
//! An agent can be declared in `drawloom.toml` as well, where it is versioned with the code. One name
//! is one agent: what the file has is not added to the database, and wins where both have it.

use std::collections::BTreeSet;
use std::sync::Arc;

use store::People;
use tokio::runtime::Runtime;

use crate::ai::{Errand, Wish, model};
use crate::settings::WorkflowAgent;
use crate::tasks::bench;
use crate::workflows::database::{
    Database, connect, database_place, require_trust, server_address,
};
use crate::{Code, Error, Project, Surroundings};

pub use store::{Nature, Role, Slug, User, Who};

/// The users of a project, opened.
pub struct Register {
    runtime: Runtime,
    people: Arc<dyn People>,
}

impl Register {
    /// Opens the database: the one given, or the one that runs are kept in.
    pub fn open(
        project: &Project,
        surroundings: &Surroundings,
        database: Option<&str>,
    ) -> Result<Self, Error> {
        let (runtime, database) = opened(project, surroundings, database)?;
        let people = database.people();
        Ok(Self { runtime, people })
    }

    /// Adds a user. Their revision and times are set on the way.
    pub fn add(&self, project: &Project, user: &User) -> Result<User, Error> {
        if declared(project, &user.slug) {
            let message = format!("drawloom.toml has an agent `{}` already", user.slug);
            let hint = "choose another name, or take the section out of drawloom.toml";
            return Err(Error::new(Code::Conflict, message).hint(hint));
        }
        let added = self.runtime.block_on(self.people.add_user(user));
        added.map_err(explained)
    }

    /// Adds users, all of them or none.
    pub fn add_all(&self, users: &[User]) -> Result<(), Error> {
        let added = self.runtime.block_on(self.people.add_users(users));
        added.map(|_| ()).map_err(explained)
    }

    /// All of them, by slug.
    pub fn list(&self, who: Who) -> Result<Vec<User>, Error> {
        let listed = self.runtime.block_on(self.people.users(who));
        listed.map_err(explained)
    }

    /// The user of this slug, if they are of this kind.
    pub fn find(&self, slug: &Slug, who: Who) -> Result<User, Error> {
        let found = self.runtime.block_on(self.people.user(slug));
        let found = found.map_err(explained)?;
        let fits = |user: &User| match who {
            Who::Everybody => true,
            Who::People => !user.is_agent(),
            Who::Agents => user.is_agent(),
        };
        let (is, list) = match who {
            Who::Agents => ("agent", "agents"),
            Who::People | Who::Everybody => ("user", "users"),
        };
        match found {
            Some(user) if fits(&user) => Ok(user),
            Some(user) => {
                let (is_not, command) = match user.is_agent() {
                    true => ("an agent", "agents"),
                    false => ("a person", "users"),
                };
                let message = format!("`{slug}` is {is_not}");
                Err(Error::new(Code::Usage, message).hint(format!("use `drawloom {command}`")))
            }
            None => Err(
                Error::new(Code::NotFound, format!("there is no {is} `{slug}`"))
                    .hint(format!("`drawloom {list} list` lists them")),
            ),
        }
    }

    /// Keeps an edited user, if nobody has edited them since they were read.
    pub fn edit(&self, user: &User) -> Result<User, Error> {
        let edited = self.runtime.block_on(self.people.edit_user(user));
        edited.map_err(explained)
    }
}

/// Joins the agents of the database to those of the settings, so that checks and prompts know them,
/// and tells who the people are. Users that are not active are left out. No file is made for this,
/// and a server that cannot be reached is no reason not to look at a workflow: whoever needs it says
/// so.
pub fn enlist(
    project: &mut Project,
    surroundings: &Surroundings,
    database: Option<&str>,
) -> Result<(), Error> {
    let Some(stored) = users_kept(project, surroundings, database)? else {
        return Ok(());
    };
    let agents = &mut project.settings.workflows.agents;
    let mut people = BTreeSet::new();
    for user in stored.into_iter().filter(|user| user.is_active) {
        match user.nature {
            Nature::Agent { prompt } => {
                let display_name = user.display_name;
                let agent = WorkflowAgent {
                    display_name,
                    prompt,
                };
                agents.entry(user.slug.to_string()).or_insert(agent);
            }
            Nature::Person { .. } => {
                people.insert(user.slug.to_string());
            }
        }
    }
    // Where nobody is listed, names are just names.
    project.people = Some(people).filter(|people| !people.is_empty());
    Ok(())
}

/// The users of the database; nothing where there is none.
fn users_kept(
    project: &Project,
    surroundings: &Surroundings,
    database: Option<&str>,
) -> Result<Option<Vec<User>>, Error> {
    // Looking needs no trust: a database that nobody has trusted is not asked.
    if require_trust(project, surroundings, database).is_err() {
        return Ok(None);
    }
    if let Some(address) = server_address(project, surroundings, database) {
        let runtime = bench::runtime()?;
        let listed = runtime.block_on(async {
            let server = connect(address, Vec::new()).await?;
            server.users(Who::Everybody).await
        });
        return match listed {
            Err(error) if error.kind() == store::Kind::Lost => Ok(None),
            listed => Ok(Some(listed.map_err(explained)?)),
        };
    }
    // What is wrong with an address is said by whoever opens it for runs.
    let place = database_place(project, surroundings, database).ok();
    if !place.is_some_and(|place| workspace::fs::exists(&place)) {
        return Ok(None);
    }
    let register = Register::open(project, surroundings, database)?;
    Ok(Some(register.list(Who::Everybody)?))
}

/// The database, which takes known keys out of what it is given.
pub(crate) fn opened(
    project: &Project,
    surroundings: &Surroundings,
    database: Option<&str>,
) -> Result<(Runtime, Database), Error> {
    let wish = Wish::default();
    let source = model::Source::open(project, surroundings, &wish, Errand::Answer)?;
    let runtime = bench::runtime()?;
    let opening = Database::open(project, surroundings, database, source.secrets());
    let database = runtime.block_on(opening)?;
    Ok((runtime, database))
}

/// What the database refuses, as what the person can do about it.
pub(crate) fn explained(error: store::Error) -> Error {
    match error.kind() {
        store::Kind::Conflict => Error::new(Code::Conflict, error.to_string()),
        store::Kind::Invalid => Error::new(Code::Usage, error.to_string()),
        _ => error.into(),
    }
}

fn declared(project: &Project, slug: &Slug) -> bool {
    let agents = &project.settings.workflows.agents;
    agents.contains_key(slug.as_str())
}
