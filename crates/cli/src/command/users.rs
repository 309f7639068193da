//! `drawloom users`: the people whom tasks can be given to.

use app::people::{Nature, Register, Role, Slug, User, Who};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::workflow::Keeping;
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output;
use crate::session::Session;
use crate::table;

/// The people whom tasks can be given to
///
/// Steps name them as `defaultAssigneeId`. Agents, which have a prompt, are added with `drawloom agents`.
#[derive(Debug, Subcommand)]
pub(crate) enum Users {
    Add(Add),
    List(List),
    Edit(Edit),
}

/// Add a person
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom users add ada --email ada@example.org --name \"Ada Lovelace\" --role admin")]
pub(crate) struct Add {
    /// What workflows call them: small letters, digits and `-`
    slug: Slug,
    /// Where they are written to
    #[arg(long)]
    email: String,
    #[command(flatten)]
    more: New,
    #[command(flatten)]
    keeping: Keeping,
    /// Print the user as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// List the people and the agents of this project
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom users list
  drawloom users list --json | jq '.users[].slug'")]
pub(crate) struct List {
    #[command(flatten)]
    keeping: Keeping,
    /// Print the list as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Edit a person
///
/// Refused when somebody else has edited them meanwhile; nothing is lost then. A person who has left is
/// made inactive and not removed: runs name them.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom users edit ada --role operator
  drawloom users edit ada --inactive")]
pub(crate) struct Edit {
    /// Whom
    slug: Slug,
    /// Where they are written to
    #[arg(long)]
    email: Option<String>,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    keeping: Keeping,
    /// Print the user as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// What people and agents are added with alike.
#[derive(Args, Debug)]
pub(crate) struct New {
    /// What people read; the slug if left out
    #[arg(long)]
    pub(super) name: Option<String>,
    /// What they may do: admin, operator, reviewer or viewer
    #[arg(long, default_value = "operator")]
    pub(super) role: Role,
}

/// What can be edited of people and agents alike.
#[derive(Args, Debug)]
pub(crate) struct Changes {
    /// What people read
    #[arg(long)]
    name: Option<String>,
    /// What they may do: admin, operator, reviewer or viewer
    #[arg(long)]
    role: Option<Role>,
    /// They take part again
    #[arg(long, conflicts_with = "inactive")]
    active: bool,
    /// They take part no more
    #[arg(long)]
    inactive: bool,
    /// Only if it stands at this revision, as `--json` shows it
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
}

impl Users {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Add(add) => add.run(session),
            Self::List(list) => list.run(session),
            Self::Edit(edit) => edit.run(session),
        }
    }
}

impl Add {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let nature = Nature::Person {
            email: self.email.clone(),
        };
        let user = self.more.user(&self.slug, nature);
        let project = session.project()?;
        let register = self.keeping.register(session, &project)?;
        let added = register.add(&project, &user)?;
        told(&added, "added", self.json)
    }
}

impl List {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let users = self
            .keeping
            .register(session, &project)?
            .list(Who::Everybody)?;
        if self.json {
            let users: Vec<Value> = users.iter().map(document).collect();
            output::json(&json!({ "users": users }))?;
            return Ok(Exit::Done);
        }
        if users.is_empty() {
            output::say("There is nobody here; `drawloom users add` adds people.");
        }
        let rows: Vec<Vec<String>> = users.iter().map(row).collect();
        output::styled(&table::render(&rows))?;
        Ok(Exit::Done)
    }
}

impl Edit {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let register = self.keeping.register(session, &project)?;
        let nature = self.email.clone().map(|email| Nature::Person { email });
        let edited = self
            .changes
            .apply(&register, (&self.slug, Who::People), nature)?;
        told(&edited, "edited", self.json)
    }
}

impl New {
    pub(super) fn user(&self, slug: &Slug, nature: Nature) -> User {
        let name = self.name.clone();
        User {
            slug: slug.clone(),
            display_name: name.unwrap_or_else(|| slug.to_string()),
            role: self.role,
            is_active: true,
            nature,
            revision: 0,
            created_ms: 0,
            updated_ms: 0,
        }
    }
}

impl Changes {
    /// Reads the user, changes what was asked for, and keeps it.
    pub(super) fn apply(
        &self,
        register: &Register,
        (slug, who): (&Slug, Who),
        nature: Option<Nature>,
    ) -> Result<User, Trouble> {
        let mut user = register.find(slug, who)?;
        let before = user.clone();
        if let Some(name) = &self.name {
            user.display_name.clone_from(name);
        }
        user.role = self.role.unwrap_or(user.role);
        user.is_active = (user.is_active || self.active) && !self.inactive;
        user.nature = nature.unwrap_or(user.nature);
        user.revision = self.if_revision.unwrap_or(user.revision);
        if user == before {
            let message = format!("nothing about `{slug}` would change");
            return Err(Trouble::usage(message).hint("say what is to be different"));
        }
        Ok(register.edit(&user)?)
    }
}

/// Says what became of a user.
pub(super) fn told(user: &User, verb: &str, json: bool) -> Result<Exit, Trouble> {
    match json {
        true => output::json(&document(user))?,
        false => output::say(format!("{verb} {}", user.slug)),
    }
    Ok(Exit::Done)
}

pub(super) fn document(user: &User) -> Value {
    json!({
        "slug": user.slug.as_str(),
        "email": user.email(),
        "displayName": user.display_name,
        "role": user.role.as_str(),
        "isActive": user.is_active,
        "isAgent": user.is_agent(),
        "agentPrompt": user.agent_prompt(),
        "revision": user.revision,
        "createdMs": user.created_ms,
        "updatedMs": user.updated_ms,
    })
}

fn row(user: &User) -> Vec<String> {
    vec![
        user.slug.to_string(),
        match user.is_agent() {
            true => "agent".to_owned(),
            false => "person".to_owned(),
        },
        user.role.as_str().to_owned(),
        standing(user).to_owned(),
        user.email().unwrap_or("-").to_owned(),
        shown(&user.display_name),
    ]
}

pub(super) fn standing(user: &User) -> &'static str {
    match user.is_active {
        true => "active",
        false => "inactive",
    }
}
