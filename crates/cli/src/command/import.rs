//! `drawloom import`: generators of other tools turned into a kit.

use app::kits::{ExistingKit, KitAddition};
use clap::builder::styling::{AnsiColor, Style};
use clap::{Args, Subcommand};
use hygen::ConversionWarning;
use serde_json::{Value, json};

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Turn another tool's generators into a kit
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    Hygen(ImportHygenArgs),
}

/// Turn hygen's `_templates` into a kit
///
/// Each generator and action becomes a recipe, EJS becomes Jig. Parts that cannot be converted are
/// listed with file and line, for you to convert by hand.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom import hygen
  drawloom import hygen old/_templates --as ours")]
pub(crate) struct ImportHygenArgs {
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

impl ImportCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Hygen(hygen) => hygen.run(session),
        }
    }
}

impl ImportHygenArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let addition = KitAddition {
            source: &self.dir,
            rev: None,
            name: Some(&self.kit),
            existing: if self.force {
                ExistingKit::Replace
            } else {
                ExistingKit::Refuse
            },
        };
        let imported = app::import::hygen(&project, &session.surroundings.cwd, &addition)?;
        let kit = &imported.kit;
        if self.json {
            let warnings = imported.warnings.iter().map(|warning| {
                let ConversionWarning {
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
            return Ok(CliExit::Done);
        }
        for warning in &imported.warnings {
            let ConversionWarning {
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
        Ok(CliExit::Done)
    }
}

const WARNING: Style = AnsiColor::Yellow.on_default().bold();
