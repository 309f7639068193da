//! `drawloom users`: the people whom tasks can be given to.

use app::people::{Slug, User, UserFilter, UserKind, UserRole};
use clap::{Args, Subcommand};

use super::stored_records::{
    DatabaseJsonArgs, EditUserArgs, NewUserArgs, PrintedList, document, standing,
};
use super::workflow::DatabaseArgs;
use crate::agent_progress::shown;
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Manage the people that tasks are assigned to
///
/// Steps name them as `defaultAssigneeId`. Agents, which have a prompt, are added with `drawloom agents`.
#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    Add(UsersAddArgs),
    List(UsersListArgs),
    Edit(UsersEditArgs),
    ResetPassword(ResetPassword),
}

/// Add a person
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom users add ada --email ada@example.org --name \"Ada Lovelace\" --role operator
  drawloom users add ada --email ada@example.org --admin   (may do everything)")]
pub(crate) struct UsersAddArgs {
    /// Their name in workflows: small letters, digits and `-`
    slug: Slug,
    /// Their e-mail address
    #[arg(long)]
    email: String,
    /// Make them an admin; the same as `--role admin`
    #[arg(long)]
    admin: bool,
    #[command(flatten)]
    new: NewUserArgs,
}

/// Print a link with which a person sets a new password
///
/// The link can be used once, within two hours, at the server of `drawloom serve`. Setting the password
/// ends the person's sessions.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom users reset-password ada
  drawloom users reset-password ada --public-url https://drawloom.example.org")]
pub(crate) struct ResetPassword {
    /// The person's name
    slug: Slug,
    /// The address that people use
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7331")]
    public_url: String,
    #[command(flatten)]
    keeping: DatabaseArgs,
}

/// List the people and the agents of this project
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom users list
  drawloom users list --json | jq '.users[].slug'")]
pub(crate) struct UsersListArgs {
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

/// Edit a person
///
/// Refused if they were edited in the meantime; nothing is lost then. Make a person who has left
/// inactive: they cannot be removed, because runs name them.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom users edit ada --role operator
  drawloom users edit ada --inactive")]
pub(crate) struct UsersEditArgs {
    /// The person's name
    slug: Slug,
    /// Their e-mail address
    #[arg(long)]
    email: Option<String>,
    #[command(flatten)]
    changes: EditUserArgs,
}

impl UsersCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Add(add) => add.run(session),
            Self::List(list) => list.run(session),
            Self::Edit(edit) => edit.run(session),
            Self::ResetPassword(reset) => reset.run(session),
        }
    }
}

impl UsersAddArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let email = self.email.clone();
        let role = self.admin.then_some(UserRole::Admin);
        self.new
            .add_as(session, (&self.slug, role), UserKind::Person { email })
    }
}

impl UsersListArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let (_, register) = self.records.register(session)?;
        let users = session.wait(register.list(UserFilter::Everybody))?;
        self.records.list(PrintedList {
            name: "users",
            documents: users.iter().map(document).collect(),
            rows: users.iter().map(row).collect(),
            nothing: "There are no users here; `drawloom users add` adds one.",
        })
    }
}

impl UsersEditArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let nature = self.email.clone().map(|email| UserKind::Person { email });
        self.changes
            .apply(session, (&self.slug, UserFilter::People), nature)
    }
}

impl ResetPassword {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let user = use_cases.wait(use_cases.user(&self.slug, UserFilter::People))?;
        let access = use_cases.app().access_control();
        let secret = use_cases.wait(access.make_reset_link(&user.slug))?;
        let origin = self.public_url.trim_end_matches('/');
        output::say(format!(
            "{} sets a new password here, once, within two hours:",
            user.slug
        ));
        output::data(format!("{origin}/reset/{}\n", secret.reveal()).as_bytes())?;
        Ok(CliExit::Done)
    }
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
