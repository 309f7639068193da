//! Shared code of the commands about stored records: opens the database, changes one record, and
//! prints it as a sentence or as JSON; or lists them all.

use app::Project;
use app::people::{ProjectUsers, Slug, User, UserFilter, UserKind, UserRole};
use app::schedules::ProjectSchedules;
use clap::Args;
use serde_json::{Map, Value, json};

use super::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;
use crate::table;

/// The database of records, and the format of the output.
#[derive(Args, Debug)]
pub(crate) struct DatabaseJsonArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// A list as it is printed.
pub(super) struct PrintedList {
    /// The key of the list in JSON.
    pub(super) name: &'static str,
    pub(super) documents: Vec<Value>,
    pub(super) rows: Vec<Vec<String>>,
    /// The sentence for an empty list.
    pub(super) nothing: &'static str,
}

impl DatabaseJsonArgs {
    /// Opens the users of the project, which knows only the agents of its settings.
    pub(super) fn register(
        &self,
        session: &CliSession,
    ) -> Result<(Project, ProjectUsers), CliError> {
        let project = session.project()?;
        let register = self.keeping.register(session, &project)?;
        Ok((project, register))
    }

    /// Opens the schedules of the project, which knows all agents.
    pub(super) fn calendar(
        &self,
        session: &CliSession,
    ) -> Result<(Project, ProjectSchedules), CliError> {
        let project = self.keeping.project(session)?;
        let calendar = self.keeping.calendar(session, &project)?;
        Ok((project, calendar))
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints the outcome for one record.
    pub(super) fn told(&self, document: &Value, sentence: &str) -> Result<CliExit, CliError> {
        match self.json {
            true => output::json(document)?,
            false => output::say(sentence),
        }
        Ok(CliExit::Done)
    }

    pub(super) fn list(&self, listed: PrintedList) -> Result<CliExit, CliError> {
        if self.json {
            let mut whole = Map::new();
            whole.insert(listed.name.to_owned(), Value::Array(listed.documents));
            output::json(&Value::Object(whole))?;
            return Ok(CliExit::Done);
        }
        if listed.rows.is_empty() {
            output::say(listed.nothing);
        }
        output::styled(&table::render(&listed.rows))?;
        Ok(CliExit::Done)
    }
}

/// Arguments for adding a person or an agent.
#[derive(Args, Debug)]
pub(crate) struct NewUserArgs {
    /// The display name; the slug by default
    #[arg(long)]
    name: Option<String>,
    /// Their role: admin, operator, reviewer or viewer
    #[arg(long, default_value = "operator")]
    role: UserRole,
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

impl NewUserArgs {
    /// Adds the user, and says so.
    pub(super) fn add(
        &self,
        session: &CliSession,
        slug: &Slug,
        nature: UserKind,
    ) -> Result<CliExit, CliError> {
        self.add_as(session, (slug, None), nature)
    }

    /// Adds a user in a role that another flag has given.
    pub(super) fn add_as(
        &self,
        session: &CliSession,
        (slug, role): (&Slug, Option<UserRole>),
        nature: UserKind,
    ) -> Result<CliExit, CliError> {
        let name = self.name.clone();
        let user = User {
            slug: slug.clone(),
            display_name: name.unwrap_or_else(|| slug.to_string()),
            role: role.unwrap_or(self.role),
            is_active: true,
            nature,
            revision: 0,
            created_ms: 0,
            updated_ms: 0,
        };
        let (project, register) = self.records.register(session)?;
        let added = session.wait(register.add(&project, &user))?;
        let sentence = format!("added {slug}");
        self.records.told(&document(&added), &sentence)
    }
}

/// Arguments for editing a person or an agent.
#[derive(Args, Debug)]
pub(crate) struct EditUserArgs {
    /// The display name
    #[arg(long)]
    name: Option<String>,
    /// Their role: admin, operator, reviewer or viewer
    #[arg(long)]
    role: Option<UserRole>,
    /// Make them active again
    #[arg(long, conflicts_with = "inactive")]
    active: bool,
    /// Make them inactive
    #[arg(long)]
    inactive: bool,
    /// Edit only if the record is at this revision, as `--json` shows it
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

impl EditUserArgs {
    /// Reads the user, changes what was asked for, keeps it, and says so.
    pub(super) fn apply(
        &self,
        session: &CliSession,
        (slug, who): (&Slug, UserFilter),
        nature: Option<UserKind>,
    ) -> Result<CliExit, CliError> {
        let (_, register) = self.records.register(session)?;
        let mut user = session.wait(register.find(slug, who))?;
        let before = user.clone();
        if let Some(name) = &self.name {
            user.display_name.clone_from(name);
        }
        user.role = self.role.unwrap_or(user.role);
        user.is_active = (user.is_active || self.active) && !self.inactive;
        user.nature = nature.unwrap_or(user.nature);
        user.revision = self.if_revision.unwrap_or(user.revision);
        if user == before {
            let message = format!("`{slug}` would not change");
            return Err(CliError::usage(message).hint("give at least one option with a new value"));
        }
        let edited = session.wait(register.edit(&user))?;
        let sentence = format!("edited {slug}");
        self.records.told(&document(&edited), &sentence)
    }
}

/// Returns a user as programs see them.
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
