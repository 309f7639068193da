//! `drawloom users`: the people whom tasks can be given to.

use app::people::{Nature, Slug, User, Who};
use clap::{Args, Subcommand};

use super::records::{Changes, Listed, New, Records, document, standing};
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::session::Session;

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
    new: New,
}

/// List the people and the agents of this project
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom users list
  drawloom users list --json | jq '.users[].slug'")]
pub(crate) struct List {
    #[command(flatten)]
    records: Records,
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
        let email = self.email.clone();
        self.new.add(session, &self.slug, Nature::Person { email })
    }
}

impl List {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let (_, register) = self.records.register(session)?;
        let users = register.list(Who::Everybody)?;
        self.records.list(Listed {
            name: "users",
            documents: users.iter().map(document).collect(),
            rows: users.iter().map(row).collect(),
            nothing: "There is nobody here; `drawloom users add` adds people.",
        })
    }
}

impl Edit {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let nature = self.email.clone().map(|email| Nature::Person { email });
        self.changes
            .apply(session, (&self.slug, Who::People), nature)
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
