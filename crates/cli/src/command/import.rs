//! `drawloom import`: generators of other tools turned into a kit.

use app::kits::{Addition, Existing};
use clap::builder::styling::{AnsiColor, Style};
use clap::{Args, Subcommand};
use recipe::hygen::Warning;
use serde_json::{Value, json};

use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;

/// Turn another tool's generators into a kit
#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    Hygen(Hygen),
}

/// Turn hygen's `_templates` into a kit
///
/// Each generator and action becomes a recipe, EJS becomes Jig. What cannot be turned over is listed,
/// with file and line, and left for you.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom import hygen
  drawloom import hygen old/_templates --as ours")]
pub(crate) struct Hygen {
    /// The folder with the generators
    #[arg(default_value = "_templates")]
    dir: String,
    /// The name of the kit
    #[arg(long = "as", value_name = "KIT", default_value = "hygen")]
    kit: String,
    /// Replace a kit of the same name
    #[arg(long)]
    force: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Hygen(hygen) => hygen.run(session),
        }
    }
}

impl Hygen {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let addition = Addition {
            source: &self.dir,
            rev: None,
            name: Some(&self.kit),
            existing: if self.force {
                Existing::Replace
            } else {
                Existing::Refuse
            },
        };
        let imported = app::import::hygen(&project, &session.surroundings.cwd, &addition)?;
        let kit = &imported.kit;
        if self.json {
            let warnings = imported.warnings.iter().map(|warning| {
                let Warning {
                    file,
                    line,
                    message,
                } = warning;
                json!({ "file": file, "line": line, "message": message })
            });
            output::json(&json!({
                "name": kit.name,
                "source": self.dir,
                "files": kit.files,
                "replaced": kit.replaced,
                "recipes": kit.recipes,
                "warnings": warnings.collect::<Vec<Value>>(),
            }))?;
            return Ok(Exit::Done);
        }
        for warning in &imported.warnings {
            let Warning {
                file,
                line,
                message,
            } = warning;
            output::say(format!(
                "{WARNING}warning{WARNING:#}: {file}:{line}: {message}"
            ));
        }
        let verb = if kit.replaced { "replaced" } else { "added" };
        output::say(format!("{verb} {}, {} files", kit.name, kit.files));
        for id in &kit.recipes {
            output::say(format!("  drawloom run {id}"));
        }
        Ok(Exit::Done)
    }
}

const WARNING: Style = AnsiColor::Yellow.on_default().bold();
