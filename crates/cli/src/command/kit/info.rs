//! `drawloom kit info`: one kit and its recipes.

use std::fmt::Write as _;

use clap::Args;
use recipe::kits::KitLock;

use super::{as_json, origin};
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;
use crate::{output, table};

/// Show a kit, its source and its recipes
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit info our-kit")]
pub(crate) struct KitInfoArgs {
    /// The kit's name
    kit: String,
    /// Print it as one JSON document
    #[arg(long)]
    json: bool,
}

impl KitInfoArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let lock = KitLock::read(&project.root)?;
        let locked = lock.kits.get(&self.kit);
        let catalog = app::recipes::catalog(&project)?;
        let kit = catalog.kits.iter().find(|kit| kit.name == self.kit);
        let kit = kit.ok_or_else(|| app::kits::unknown(&project, &self.kit))?;
        if self.json {
            output::json(&as_json(kit, locked))?;
            return Ok(CliExit::Done);
        }
        let mut text = kit.name.clone();
        if let Some(version) = &kit.manifest.version {
            text.push(' ');
            text.push_str(version);
        }
        // Writing to a String cannot fail.
        if let Some(description) = &kit.manifest.description {
            let _ = write!(text, ": {description}");
        }
        let _ = write!(text, "\n{} ({})\n\nRecipes:\n", kit.dir, origin(locked));
        let rows: Vec<Vec<String>> = kit
            .all()
            .map(|listing| {
                let about = listing.description.clone().unwrap_or_default();
                vec![format!("  {}", listing.id), about]
            })
            .collect();
        text.push_str(&table::render(&rows));
        output::styled(&text)?;
        Ok(CliExit::Done)
    }
}
