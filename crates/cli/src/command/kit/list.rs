//! `drawloom kit list`: the kits of this project.

use clap::Args;
use recipe::kits::KitLock;
use serde_json::{Value, json};

use super::{as_json, origin};
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;
use crate::{output, table};

/// List the kits of this project
///
/// With the source, the commit and the recipes of each.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit list
  drawloom kit list --json")]
pub(crate) struct KitListArgs {
    /// Print the list as one JSON document
    #[arg(long)]
    json: bool,
}

impl KitListArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let lock = KitLock::read(&project.root)?;
        let catalog = app::recipes::catalog(&project)?;
        let kits = || {
            catalog
                .kits
                .iter()
                .map(|kit| (kit, lock.kits.get(&kit.name)))
        };
        if self.json {
            let kits: Vec<Value> = kits().map(|(kit, locked)| as_json(kit, locked)).collect();
            output::json(&json!({ "kits": kits }))?;
            return Ok(CliExit::Done);
        }
        let rows: Vec<Vec<String>> = kits()
            .map(|(kit, locked)| {
                let recipes: Vec<&str> = kit.all().map(|listing| listing.name.as_str()).collect();
                vec![kit.name.clone(), origin(locked), recipes.join(", ")]
            })
            .collect();
        if rows.is_empty() {
            output::say("There are no kits here; `drawloom kit add SOURCE` adds one.");
        }
        output::styled(&table::render(&rows))?;
        Ok(CliExit::Done)
    }
}
