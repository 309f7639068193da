//! Users: people and agents, added, listed and edited in the project's database.
//!
//! An agent can be declared in `drawloom.toml` as well, where it is versioned with the code. One name
//! is one agent: what the file has is not added to the database, and wins where both have it.

use store::{People as _, Store};
use tokio::runtime::Runtime;

use crate::ai::{Errand, Wish, model};
use crate::settings::WorkflowAgent;
use crate::tasks::{bench, keeping};
use crate::workflows::database_place;
use crate::{Code, Error, Project, Surroundings};

pub use store::{Nature, Role, Slug, User, Who};

/// The users of a project, opened.
pub struct Register {
    runtime: Runtime,
    store: Store,
}

impl Register {
    /// Opens the database: the one given, or the one that runs are kept in.
    pub fn open(
        project: &Project,
        surroundings: &Surroundings,
        database: Option<&str>,
    ) -> Result<Self, Error> {
        let (runtime, store) = opened(project, surroundings, database)?;
        Ok(Self { runtime, store })
    }

    /// Adds a user. Their revision and times are set on the way.
    pub fn add(&self, project: &Project, user: &User) -> Result<User, Error> {
        if declared(project, &user.slug) {
            let message = format!("drawloom.toml has an agent `{}` already", user.slug);
            let hint = "choose another name, or take the section out of drawloom.toml";
            return Err(Error::new(Code::Conflict, message).hint(hint));
        }
        let added = self.runtime.block_on(self.store.add_user(user));
        added.map_err(explained)
    }

    /// Adds users, all of them or none.
    pub fn add_all(&self, users: &[User]) -> Result<(), Error> {
        let added = self.runtime.block_on(self.store.add_users(users));
        added.map(|_| ()).map_err(explained)
    }

    /// All of them, by slug.
    pub fn list(&self, who: Who) -> Result<Vec<User>, Error> {
        let listed = self.runtime.block_on(self.store.users(who));
        listed.map_err(explained)
    }

    /// The user of this slug, if they are of this kind.
    pub fn find(&self, slug: &Slug, who: Who) -> Result<User, Error> {
        let found = self.runtime.block_on(self.store.user(slug));
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
        let edited = self.runtime.block_on(self.store.edit_user(user));
        edited.map_err(explained)
    }
}

/// Joins the agents of the database to those of the settings, so that checks and prompts know them.
/// Agents that are not active are left out. No database is made for this.
pub fn enlist(
    project: &mut Project,
    surroundings: &Surroundings,
    database: Option<&str>,
) -> Result<(), Error> {
    // Users are in files only. What is wrong with an address is said by whoever opens it for runs.
    let place = database_place(project, surroundings, database).ok();
    if !place.is_some_and(|place| workspace::fs::exists(&place)) {
        return Ok(());
    }
    let stored = Register::open(project, surroundings, database)?.list(Who::Agents)?;
    let agents = &mut project.settings.workflows.agents;
    for user in stored.into_iter().filter(|user| user.is_active) {
        if let Nature::Agent { prompt } = user.nature {
            let display_name = user.display_name;
            let agent = WorkflowAgent {
                display_name,
                prompt,
            };
            agents.entry(user.slug.to_string()).or_insert(agent);
        }
    }
    Ok(())
}

/// The database, which takes known keys out of what it is given.
pub(crate) fn opened(
    project: &Project,
    surroundings: &Surroundings,
    database: Option<&str>,
) -> Result<(Runtime, Store), Error> {
    let place = database_place(project, surroundings, database)?;
    let wish = Wish::default();
    let source = model::Source::open(project, surroundings, &wish, Errand::Answer)?;
    let runtime = bench::runtime()?;
    let store = runtime.block_on(keeping::open_at(&place, source.secrets()))?;
    Ok((runtime, store))
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
