//! `drawloom agents`: users with a prompt, whom automated steps can be given to.

use app::people::{Nature, Slug, User, Who};
use clap::{Args, Subcommand};
use serde_json::json;

use super::records::{Changes, Listed, New, Records, document, standing};
use super::workflow::text_of;
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::session::Session;

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
    new: New,
}

/// List the agents of this project: those that were added, and those of drawloom.toml
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom agents list
  drawloom agents list --json | jq -r '.agents[0].agentPrompt'")]
pub(crate) struct List {
    #[command(flatten)]
    records: Records,
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
        let (prompt, _) = text_of(session, &self.prompt)?;
        self.new.add(session, &self.slug, Nature::Agent { prompt })
    }
}

impl List {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let (project, register) = self.records.register(session)?;
        let agents = register.list(Who::Agents)?;
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
        self.records.list(Listed {
            name: "agents",
            documents: documents.collect(),
            rows: rows.collect(),
            nothing: "There are no agents here; `drawloom agents add` adds one.",
        })
    }
}

impl Edit {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let given = self.prompt.as_deref().map(|given| text_of(session, given));
        let nature = given
            .transpose()?
            .map(|(prompt, _)| Nature::Agent { prompt });
        self.changes
            .apply(session, (&self.slug, Who::Agents), nature)
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
