//! `drawloom kit list`: the kits of this project.

use clap::Args;
use recipe::kits::Lock;
use serde_json::{Value, json};

use super::{as_json, origin};
use crate::exit::{Exit, Trouble};
use crate::session::Session;
use crate::{output, table};

/// List the kits of this project
///
/// With where each came from, its commit, and its recipes.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit list
  drawloom kit list --json")]
pub(crate) struct List {
    /// Print the list as one JSON document
    #[arg(long)]
    json: bool,
}

impl List {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let lock = Lock::read(&project.root)?;
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
            return Ok(Exit::Done);
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
        Ok(Exit::Done)
    }
}
