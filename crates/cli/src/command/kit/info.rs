//! `drawloom kit info`: one kit and its recipes.

use std::fmt::Write as _;

use clap::Args;
use recipe::kits::Lock;

use super::{as_json, origin};
use crate::exit::{Exit, Trouble};
use crate::session::Session;
use crate::{output, table};

/// Show a kit, where it came from, and its recipes
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit info our-kit")]
pub(crate) struct Info {
    /// The kit's name
    kit: String,
    /// Print it as one JSON document
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let lock = Lock::read(&project.root)?;
        let locked = lock.kits.get(&self.kit);
        let catalog = app::recipes::catalog(&project)?;
        let kit = catalog.kits.iter().find(|kit| kit.name == self.kit);
        let kit = kit.ok_or_else(|| app::kits::unknown(&project, &self.kit))?;
        if self.json {
            output::json(&as_json(kit, locked))?;
            return Ok(Exit::Done);
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
        Ok(Exit::Done)
    }
}
