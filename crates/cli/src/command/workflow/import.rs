//! `drawloom workflow import`: a workflow from elsewhere, into the project.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::exit::{Exit, Trouble};
use crate::input;
use crate::output;
use crate::session::Session;

/// Take over a workflow: an exported JSON file, or a bare diagram
///
/// Everything is checked before anything is written. Agents that travel with the workflow are printed as
/// sections for drawloom.toml, which stays yours to change.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow import pipeline.json --dry-run
  drawloom workflow import pipeline.json --create-agents
  drawloom workflow import review.mmd --name pr-review")]
pub(crate) struct Import {
    /// The file, or `-` for stdin
    file: PathBuf,
    /// What to call it; its own name if left out
    #[arg(long)]
    name: Option<String>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Take it although it names agents that are not known here
    #[arg(long)]
    create_agents: bool,
    /// Replace a workflow of the same name
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = super::Keeping::default().project(session)?;
        let text = input::file_text(session, &self.file)?;
        let shown = self.file.display().to_string();
        let wish = (self.name.as_deref(), self.create_agents);
        let imported = app::workflows::import(&project, (&text, &shown), wish)?;
        let sheet = (imported.file.as_str(), imported.name.as_str());
        let sheet = app::workflows::read_text(&project, sheet, imported.text.clone());
        let about_agents = |problem: &flow::Problem| {
            self.create_agents && problem.code == flow::Code::UnknownAgent
        };
        let is_wrong = |problem: &flow::Problem| {
            problem.severity == flow::Severity::Error && !about_agents(problem)
        };
        let travels = |problem: &flow::Problem| {
            let named = |agent: &flow::export::Agent| problem.message.contains(&agent.id);
            problem.code == flow::Code::UnknownAgent && imported.agents.iter().any(named)
        };
        if sheet
            .problems
            .iter()
            .any(|one| is_wrong(one) && !travels(one))
        {
            return Err(super::wrong(&sheet));
        }
        if imported.replaces && !self.force && !self.dry_run {
            let message = format!("{} exists already", imported.file);
            return Err(Trouble::failed("E_CONFLICT", message)
                .hint("give `--force` to replace it, or `--name` for another name"));
        }
        if !self.dry_run {
            imported.write(&project)?;
        }
        if self.json {
            let agents: Vec<_> = imported.agents.iter().map(|agent| json!(agent)).collect();
            output::json(&json!({
                "name": imported.name, "file": imported.file, "replaces": imported.replaces,
                "written": !self.dry_run, "agents": agents,
            }))?;
            return Ok(Exit::Done);
        }
        let verb = match (self.dry_run, imported.replaces) {
            (true, true) => "would replace",
            (true, false) => "would write",
            (false, true) => "replaced",
            (false, false) => "wrote",
        };
        output::say(format!("{verb} {}", imported.file));
        if !imported.agents.is_empty() {
            output::say("its agents, for drawloom.toml:");
            output::data(imported.settings().as_bytes())?;
        }
        Ok(Exit::Done)
    }
}
