//! `drawloom agents`: users with a prompt, whom automated steps can be given to.

use app::people::{Slug, User, UserFilter, UserKind};
use clap::{Args, Subcommand};
use serde_json::json;

use super::stored_records::{
    DatabaseJsonArgs, EditUserArgs, NewUserArgs, PrintedList, document, standing,
};
use super::workflow::text_of;
use crate::agent_progress::shown;
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;

/// Characters of a prompt that the list shows.
const PROMPT_CHARS_MAX: usize = 60;

/// Manage agents: users with a prompt that automated steps are assigned to
///
/// Steps name them as `defaultAssigneeId`; the agent's prompt is the second part of the model's
/// prompt. An agent that belongs to the code can be a section `[agents.NAME]` of drawloom.toml
/// instead.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    Add(AgentsAddArgs),
    List(AgentsListArgs),
    Edit(AgentsEditArgs),
}

/// Add an agent
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom agents add code-reviewer --prompt \"You are an expert code reviewer.\"
  drawloom agents add writer --name \"The writer\" --prompt @prompts/writer.md")]
pub(crate) struct AgentsAddArgs {
    /// Its name in workflows: small letters, digits and `-`
    slug: Slug,
    /// Its prompt: the text, @FILE, or - for stdin
    #[arg(long, value_name = "TEXT")]
    prompt: String,
    #[command(flatten)]
    new: NewUserArgs,
}

/// List the agents of this project, added ones and those of drawloom.toml
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom agents list
  drawloom agents list --json | jq -r '.agents[0].agentPrompt'")]
pub(crate) struct AgentsListArgs {
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

/// Edit an agent that was added
///
/// Refused if it was edited in the meantime; nothing is lost then.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom agents edit code-reviewer --prompt @prompts/reviewer.md
  drawloom agents edit code-reviewer --inactive")]
pub(crate) struct AgentsEditArgs {
    /// The agent's name
    slug: Slug,
    /// Its prompt: the text, @FILE, or - for stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    #[command(flatten)]
    changes: EditUserArgs,
}

impl AgentsCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Add(add) => add.run(session),
            Self::List(list) => list.run(session),
            Self::Edit(edit) => edit.run(session),
        }
    }
}

impl AgentsAddArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let (prompt, _) = text_of(session, &self.prompt)?;
        self.new
            .add(session, &self.slug, UserKind::Agent { prompt })
    }
}

impl AgentsListArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let (project, register) = self.records.register(session)?;
        let agents = session.wait(register.list(UserFilter::Agents))?;
        let declared = &project.settings.workflows.agents;
        let documents = agents.iter().map(document);
        let documents = documents.chain(declared.iter().map(|(slug, agent)| {
            json!({
                "slug": slug, "displayName": agent.display_name, "isAgent": true,
                "isActive": true, "agentPrompt": agent.prompt, "file": "drawloom.toml",
            })
        }));
        let rows = agents.iter().map(row);
        let rows = rows.chain(declared.iter().map(|(slug, agent)| {
            let (name, prompt) = (shown(&agent.display_name), opening(&agent.prompt));
            vec![slug.clone(), "drawloom.toml".to_owned(), name, prompt]
        }));
        self.records.list(PrintedList {
            name: "agents",
            documents: documents.collect(),
            rows: rows.collect(),
            nothing: "There are no agents here; `drawloom agents add` adds one.",
        })
    }
}

impl AgentsEditArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let given = self.prompt.as_deref().map(|given| text_of(session, given));
        let nature = given
            .transpose()?
            .map(|(prompt, _)| UserKind::Agent { prompt });
        self.changes
            .apply(session, (&self.slug, UserFilter::Agents), nature)
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

/// Returns the beginning of a prompt.
fn opening(prompt: &str) -> String {
    shown(prompt).chars().take(PROMPT_CHARS_MAX).collect()
}
