//! `drawloom agents`: users with a prompt, whom automated steps can be given to.

use std::path::Path;

use app::people::{Nature, Slug, User, Who};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::users::{Changes, New, document, standing, told};
use super::workflow::Keeping;
use crate::exit::{Exit, Trouble};
use crate::input;
use crate::live::shown;
use crate::output;
use crate::session::Session;
use crate::table;

/// How much of a prompt the list shows.
const PROMPT_CHARS_MAX: usize = 60;

/// Agents: users with a prompt, whom automated steps can be given to
///
/// Steps name them as `defaultAssigneeId`; the prompt is the second layer of what the model is asked. An
/// agent that belongs to the code can be a section `[agents.NAME]` of drawloom.toml instead.
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    Add(Add),
    List(List),
    Edit(Edit),
}

/// Add an agent
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom agents add code-reviewer --prompt \"You are an expert code reviewer.\"
  drawloom agents add writer --name \"The writer\" --prompt @prompts/writer.md")]
pub(crate) struct Add {
    /// What workflows call it: small letters, digits and `-`
    slug: Slug,
    /// Its prompt: the text, @FILE, or - for stdin
    #[arg(long, value_name = "TEXT")]
    prompt: String,
    #[command(flatten)]
    more: New,
    #[command(flatten)]
    keeping: Keeping,
    /// Print the agent as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// List the agents of this project: those that were added, and those of drawloom.toml
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom agents list
  drawloom agents list --json | jq -r '.agents[0].agentPrompt'")]
pub(crate) struct List {
    #[command(flatten)]
    keeping: Keeping,
    /// Print the list as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Edit an agent that was added
///
/// Refused when somebody else has edited it meanwhile; nothing is lost then.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom agents edit code-reviewer --prompt @prompts/reviewer.md
  drawloom agents edit code-reviewer --inactive")]
pub(crate) struct Edit {
    /// Which
    slug: Slug,
    /// Its prompt: the text, @FILE, or - for stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    keeping: Keeping,
    /// Print the agent as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Agents {
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
        let prompt = text(session, &self.prompt)?;
        let user = self.more.user(&self.slug, Nature::Agent { prompt });
        let project = session.project()?;
        let register = self.keeping.register(session, &project)?;
        let added = register.add(&project, &user)?;
        told(&added, "added", self.json)
    }
}

impl List {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let agents = self
            .keeping
            .register(session, &project)?
            .list(Who::Agents)?;
        let declared = &project.settings.workflows.agents;
        if self.json {
            let mut listed: Vec<Value> = agents.iter().map(document).collect();
            listed.extend(declared.iter().map(|(slug, agent)| {
                json!({
                    "slug": slug, "displayName": agent.display_name, "isAgent": true,
                    "isActive": true, "agentPrompt": agent.prompt, "file": "drawloom.toml",
                })
            }));
            output::json(&json!({ "agents": listed }))?;
            return Ok(Exit::Done);
        }
        if agents.is_empty() && declared.is_empty() {
            output::say("There are no agents here; `drawloom agents add` adds one.");
        }
        let mut rows: Vec<Vec<String>> = agents.iter().map(row).collect();
        rows.extend(declared.iter().map(|(slug, agent)| {
            let (name, prompt) = (shown(&agent.display_name), opening(&agent.prompt));
            vec![slug.clone(), "drawloom.toml".to_owned(), name, prompt]
        }));
        output::styled(&table::render(&rows))?;
        Ok(Exit::Done)
    }
}

impl Edit {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let nature = match &self.prompt {
            Some(given) => Some(Nature::Agent {
                prompt: text(session, given)?,
            }),
            None => None,
        };
        let project = session.project()?;
        let register = self.keeping.register(session, &project)?;
        let edited = self
            .changes
            .apply(&register, (&self.slug, Who::Agents), nature)?;
        told(&edited, "edited", self.json)
    }
}

fn row(agent: &User) -> Vec<String> {
    vec![
        agent.slug.to_string(),
        standing(agent).to_owned(),
        shown(&agent.display_name),
        opening(agent.agent_prompt().unwrap_or_default()),
    ]
}

/// How a prompt begins.
fn opening(prompt: &str) -> String {
    shown(prompt).chars().take(PROMPT_CHARS_MAX).collect()
}

/// The text given directly, in a file, or on stdin.
fn text(session: &Session, given: &str) -> Result<String, Trouble> {
    match given.strip_prefix('@') {
        Some(file) => input::file_text(session, Path::new(file)),
        None if given == "-" => input::file_text(session, Path::new("-")),
        None => Ok(given.to_owned()),
    }
}
