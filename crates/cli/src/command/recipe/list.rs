//! `drawloom recipe list`: every recipe that `run` finds by name.

use clap::Args;
use serde_json::{Value, json};

use crate::exit::{CliError, CliExit};
use crate::session::CliSession;
use crate::{output, table};

/// List the recipes of this project and its kits
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom recipe list
  drawloom recipe list --json")]
pub(crate) struct RecipeListArgs {
    /// Print the list as one JSON document
    #[arg(long)]
    json: bool,
}

impl RecipeListArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let catalog = app::recipes::catalog(&project)?;
        if self.json {
            let recipes: Vec<Value> = catalog.all().map(|listing| json!(listing)).collect();
            output::json(&json!({ "recipes": recipes }))?;
            return Ok(CliExit::Done);
        }
        let rows: Vec<Vec<String>> = catalog
            .all()
            .map(|listing| {
                let about = match &listing.problem {
                    Some(_) => "(broken: see `drawloom recipe validate`)".to_owned(),
                    None => listing.description.clone().unwrap_or_default(),
                };
                vec![listing.id.clone(), about]
            })
            .collect();
        if rows.is_empty() {
            output::say("There are no recipes here; `drawloom init` writes two examples.");
        }
        output::styled(&table::render(&rows))?;
        Ok(CliExit::Done)
    }
}
