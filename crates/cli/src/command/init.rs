//! `drawloom init`: the first files of a project.

use clap::Args;
use serde_json::json;

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Set up this folder: settings and example recipes
///
/// Writes a commented `drawloom.toml`, two example recipes under `.drawloom/recipes`, and lines for
/// `.gitignore`. Existing files stay unchanged. With `--agents` it also adds a section to `AGENTS.md` and
/// writes a skill to `.claude/skills/drawloom`, which tell coding agents how to use what is here; what you
/// have written in these files stays.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom init
  drawloom init --agents
  drawloom run hello World")]
pub(crate) struct InitArgs {
    /// Tell coding agents about this project, in AGENTS.md and a skill file
    #[arg(long)]
    agents: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl InitArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let root = workspace::Root::open(&session.surroundings.cwd)?;
        root.recover()?;
        let is_new = app::init::is_new(&root)?;
        let mut done = app::init::init(&root)?;
        if self.agents {
            let more = app::agent_files::write(&root)?;
            done.written.extend(more.written);
            done.kept.extend(more.kept);
        }
        if is_new {
            app::trust::trust_made_here(root.path(), &session.surroundings)?;
        }
        if self.json {
            output::json(&json!({ "written": done.written, "kept": done.kept }))?;
            return Ok(CliExit::Done);
        }
        for path in &done.written {
            output::say(format!("wrote {path}"));
        }
        for path in &done.kept {
            output::say(format!("kept  {path}, it exists"));
        }
        output::say(
            "\nNext:\n  \
             drawloom run hello World            one file from one template\n  \
             drawloom run about \"My project\"     a recipe that asks: prints its questions\n  \
             drawloom recipe list                what can be run here",
        );
        Ok(CliExit::Done)
    }
}
