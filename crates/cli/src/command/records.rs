//! What commands about kept records share: the database is opened, something is done to one record, and
//! it is printed, as a sentence or as JSON; or all of them are listed.

use app::Project;
use app::people::{Nature, Register, Role, Slug, User, Who};
use app::schedules::Calendar;
use clap::Args;
use serde_json::{Map, Value, json};

use super::workflow::Keeping;
use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;
use crate::table;

/// Where records are kept, and how they are printed.
#[derive(Args, Debug)]
pub(crate) struct Records {
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// A list as it is printed.
pub(super) struct Listed {
    /// What the list is called in JSON.
    pub(super) name: &'static str,
    pub(super) documents: Vec<Value>,
    pub(super) rows: Vec<Vec<String>>,
    /// What is said where there is nothing.
    pub(super) nothing: &'static str,
}

impl Records {
    /// The users of the project, which knows only the agents of its settings.
    pub(super) fn register(&self, session: &Session) -> Result<(Project, Register), Trouble> {
        let project = session.project()?;
        let register = self.keeping.register(session, &project)?;
        Ok((project, register))
    }

    /// The schedules of the project, which knows all agents.
    pub(super) fn calendar(&self, session: &Session) -> Result<(Project, Calendar), Trouble> {
        let project = self.keeping.project(session)?;
        let calendar = self.keeping.calendar(session, &project)?;
        Ok((project, calendar))
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Says what became of one record.
    pub(super) fn told(&self, document: &Value, sentence: &str) -> Result<Exit, Trouble> {
        match self.json {
            true => output::json(document)?,
            false => output::say(sentence),
        }
        Ok(Exit::Done)
    }

    pub(super) fn list(&self, listed: Listed) -> Result<Exit, Trouble> {
        if self.json {
            let mut whole = Map::new();
            whole.insert(listed.name.to_owned(), Value::Array(listed.documents));
            output::json(&Value::Object(whole))?;
            return Ok(Exit::Done);
        }
        if listed.rows.is_empty() {
            output::say(listed.nothing);
        }
        output::styled(&table::render(&listed.rows))?;
        Ok(Exit::Done)
    }
}

/// What people and agents are added with alike.
#[derive(Args, Debug)]
pub(crate) struct New {
    /// What people read; the slug if left out
    #[arg(long)]
    name: Option<String>,
    /// What they may do: admin, operator, reviewer or viewer
    #[arg(long, default_value = "operator")]
    role: Role,
    #[command(flatten)]
    records: Records,
}

impl New {
    /// Adds the user, and says so.
    pub(super) fn add(
        &self,
        session: &Session,
        slug: &Slug,
        nature: Nature,
    ) -> Result<Exit, Trouble> {
        let name = self.name.clone();
        let user = User {
            slug: slug.clone(),
            display_name: name.unwrap_or_else(|| slug.to_string()),
            role: self.role,
            is_active: true,
            nature,
            revision: 0,
            created_ms: 0,
            updated_ms: 0,
        };
        let (project, register) = self.records.register(session)?;
        let added = register.add(&project, &user)?;
        let sentence = format!("added {slug}");
        self.records.told(&document(&added), &sentence)
    }
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
    #[command(flatten)]
    records: Records,
}

impl Changes {
    /// Reads the user, changes what was asked for, keeps it, and says so.
    pub(super) fn apply(
        &self,
        session: &Session,
        (slug, who): (&Slug, Who),
        nature: Option<Nature>,
    ) -> Result<Exit, Trouble> {
        let (_, register) = self.records.register(session)?;
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
        let edited = register.edit(&user)?;
        let sentence = format!("edited {slug}");
        self.records.told(&document(&edited), &sentence)
    }
}

/// A user as programs see them.
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
        "created_ms": user.created_ms,
        "updated_ms": user.updated_ms,
        // The names of earlier versions.
        "createdMs": user.created_ms,
        "updatedMs": user.updated_ms,
    })
}

pub(super) fn standing(user: &User) -> &'static str {
    match user.is_active {
        true => "active",
        false => "inactive",
    }
}
