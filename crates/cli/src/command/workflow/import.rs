//! `drawloom workflow import`: a workflow from elsewhere, into the project.

use std::path::PathBuf;

use app::workflows::{ImportOptions, ImportPlan};
use clap::Args;
use serde_json::{Value, json};
use workspace::diff::ContentDiff;

use super::DatabaseArgs;
use crate::diff;
use crate::exit::{CliError, CliExit};
use crate::input;
use crate::output;
use crate::session::CliSession;

/// Import a workflow: an exported JSON file, or a bare diagram
///
/// Checks everything before it writes anything, and writes all of it or nothing: the workflow, into
/// .drawloom/workflows, and with `--create-agents` the agents that it names and that this project
/// does not have. Existing agents stay unchanged.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow import pipeline.json --dry-run
  drawloom workflow import pipeline.json --create-agents
  drawloom workflow import review.mmd --name pr-review")]
pub(crate) struct WorkflowImportArgs {
    /// The file, or `-` for stdin
    file: PathBuf,
    /// Its name here; its own name by default
    #[arg(long)]
    name: Option<String>,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Add the agents that it names and that this project does not have
    #[arg(long)]
    create_agents: bool,
    /// Replace a workflow of the same name
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl WorkflowImportArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let mut project = self.keeping.project(session)?;
        let text = input::file_text(session, &self.file)?;
        let shown = self.file.display().to_string();
        let wish = ImportOptions {
            name: self.name.as_deref(),
            creates_agents: self.create_agents,
        };
        let imported = app::workflows::import(&mut project, (&text, &shown), wish)?;
        if !imported.sheet.is_fine() {
            return Err(super::wrong(&imported.sheet));
        }
        if imported.replaces() && !self.force && !self.dry_run {
            let message = format!("{} exists already, with another text", imported.file);
            return Err(CliError::failed("E_CONFLICT", message).hint(
                "`--dry-run` shows the difference; `--force` replaces it, `--name` takes another name",
            ));
        }
        if !self.dry_run {
            // No database is made for a workflow alone.
            let register = match imported.agents.is_empty() {
                true => None,
                false => Some(self.keeping.register(session, &project)?),
            };
            session.wait(imported.write(&project, register.as_ref()))?;
        }
        match self.json {
            true => output::json(&self.document(&imported))?,
            false => self.told(&imported)?,
        }
        Ok(CliExit::Done)
    }

    fn document(&self, imported: &ImportPlan) -> Value {
        let agents = imported.agents.iter().map(|agent| {
            json!({
                "id": agent.slug.as_str(), "displayName": agent.display_name,
                "agentPrompt": agent.agent_prompt(),
            })
        });
        json!({
            "name": imported.sheet.name, "file": imported.file, "replaces": imported.replaces(),
            "written": !self.dry_run, "agents": agents.collect::<Vec<_>>(),
            "keptAgents": imported.kept, "unwrittenAgents": imported.unwritten,
        })
    }

    fn told(&self, imported: &ImportPlan) -> Result<(), CliError> {
        for warning in &imported.sheet.problems {
            let report = warning.report(&imported.sheet.shown, &imported.sheet.source);
            output::say(report.trim_end());
        }
        let would = if self.dry_run { "would " } else { "" };
        let verb = |would: &'static str, did: &'static str| if self.dry_run { would } else { did };
        let file = &imported.file;
        match &imported.before {
            Some(before) if imported.replaces() => {
                output::say(format!("{would}{} {file}", verb("replace", "replaced")));
                let diff = ContentDiff::between(
                    Some(before.as_bytes()),
                    Some(imported.sheet.source.as_bytes()),
                );
                output::styled(&diff::render(&diff, file))?;
            }
            Some(_) => output::say(format!("{file} is unchanged")),
            None => output::say(format!("{would}{} {file}", verb("write", "wrote"))),
        }
        for agent in &imported.agents {
            let slug = &agent.slug;
            output::say(format!("{would}{} the agent {slug}", verb("add", "added")));
        }
        for slug in &imported.unwritten {
            output::say(format!(
                "no prompt is known for {slug}: `drawloom agents edit {slug} --prompt …` sets it"
            ));
        }
        for slug in &imported.kept {
            output::say(format!(
                "the agent {slug} has another prompt here and stays unchanged"
            ));
        }
        Ok(())
    }
}
