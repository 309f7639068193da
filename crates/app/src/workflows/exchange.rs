//! Workflows that come from elsewhere and go elsewhere: checked whole before anything is written.

use std::path::PathBuf;

use flow::export::Agent;
use flow::{Problem, Workflow};
use serde_json::Value;
use workspace::{RelPath, fs};

use super::reading::{Sheet, WORKFLOWS_DIR};
use crate::{Code, Error, Project, Surroundings};

/// What an import would write, or has written.
#[derive(Debug)]
pub struct Imported {
    pub name: String,
    /// From the project's folder.
    pub file: String,
    pub text: String,
    /// Whether a file is replaced.
    pub replaces: bool,
    /// What may be put into the settings: agents that travel with the workflow and are not there.
    pub agents: Vec<Agent>,
    pub problems: Vec<Problem>,
}

/// Reads a file that was exported, or a bare diagram, and checks all of it. Nothing is written.
pub fn import(
    project: &Project,
    (text, shown): (&str, &str),
    (name, creates_agents): (Option<&str>, bool),
) -> Result<Imported, Error> {
    let known = project.settings.workflows.agents.keys().cloned().collect();
    let import = flow::export::import(text, &known).map_err(|error| {
        let told: Vec<String> = error
            .problems
            .iter()
            .map(|one| one.report(shown, text))
            .collect();
        let message = match told.is_empty() {
            true => error.message.clone(),
            false => format!("{}\n{}", error.message, told.join("\n")),
        };
        Error::new(Code::Data, message)
    })?;
    if let (false, [first, ..]) = (creates_agents, import.unknown_agents.as_slice()) {
        let message = format!("the workflow names the agent `{first}`, which is not known here");
        return Err(Error::new(Code::NotFound, message)
            .hint("add [agents.NAME] to drawloom.toml, or give `--create-agents`"));
    }
    let name = name.map_or_else(|| slug(&import.name, shown), str::to_owned);
    let file = format!("{WORKFLOWS_DIR}/{name}.mmd");
    let path = RelPath::parse(&file)?;
    let unknown = import.unknown_agents.iter().map(|id| Agent {
        id: id.clone(),
        display_name: id.clone(),
        agent_prompt: String::new(),
    });
    let agents = import.agents.iter().cloned().chain(unknown);
    let agents = agents.filter(|agent| !known.contains(&agent.id)).collect();
    Ok(Imported {
        replaces: fs::exists(&project.folder().join(path.as_path())),
        text: import.workflow.source().to_owned(),
        name,
        file,
        agents,
        problems: Vec::new(),
    })
}

impl Imported {
    /// Writes the workflow. Agents go into the settings only by a person's hand, see
    /// [`Imported::settings`].
    pub fn write(&self, project: &Project) -> Result<PathBuf, Error> {
        let path = project.folder().join(&self.file);
        let mut changes = workspace::ChangeSet::new();
        let change = workspace::Change::Write {
            bytes: self.text.clone().into_bytes(),
            executable: false,
        };
        changes.put(RelPath::parse(&self.file)?, change);
        project.root.apply(&changes)?;
        Ok(path)
    }

    /// The agents as sections of drawloom.toml.
    pub fn settings(&self) -> String {
        let sections = self.agents.iter().map(|agent| {
            format!(
                "[agents.{}]\nname = {}\nprompt = {}\n",
                toml::Value::String(agent.id.clone()),
                toml::Value::String(agent.display_name.clone()),
                toml::Value::String(agent.agent_prompt.clone()),
            )
        });
        sections.collect::<Vec<_>>().join("\n")
    }
}

/// A workflow as a document for others, with the agents it names.
pub fn export(
    project: &Project,
    surroundings: &Surroundings,
    (sheet, workflow): (&Sheet, &Workflow),
) -> Value {
    let agents = workflow.steps().iter().filter_map(|step| {
        let id = step.config.default_assignee_id.as_ref()?;
        let agent = project.settings.workflows.agents.get(id)?;
        Some(Agent {
            id: id.clone(),
            display_name: agent.display_name.clone(),
            agent_prompt: agent.prompt.clone(),
        })
    });
    let mut agents: Vec<Agent> = agents.collect();
    agents.sort_by(|a, b| a.id.cmp(&b.id));
    agents.dedup();
    let name = workflow.name().unwrap_or(&sheet.name);
    let now = jiff::Timestamp::from_millisecond(surroundings.now_ms as i64).unwrap_or_default();
    flow::export::export(workflow, (name, None), &agents, &now.to_string())
}

/// A name for a file.
fn slug(name: &str, shown: &str) -> String {
    let given = if name.trim().is_empty() { shown } else { name };
    let stem = given.rsplit('/').next().unwrap_or(given);
    let stem = stem.split('.').next().unwrap_or(stem);
    let words: String = stem
        .chars()
        .map(|c| {
            if c.is_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "workflow".to_owned(),
        false => words.join("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn files_are_named_by_plain_words() {
        for (name, shown, expected) in [
            ("PR Review Pipeline", "x", "pr-review-pipeline"),
            ("", "a/b/review.mmd", "review"),
            ("../..", "x", "workflow"),
        ] {
            assert_eq!(slug(name, shown), expected);
        }
    }
}
