//! `drawloom recipe validate`: everything that is wrong with recipes, without running them.

use clap::Args;
use serde_json::{Value, json};

use crate::command::recipe::info;
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Check recipes without running them
///
/// Reads the manifest and every template it names, and reports every problem with file and line.
/// Without a name, all recipes of the project and its kits are checked.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom recipe validate
  drawloom recipe validate hello --json")]
pub(crate) struct RecipeValidateArgs {
    /// Recipes' names or paths
    recipes: Vec<String>,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl RecipeValidateArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let names = match self.recipes.as_slice() {
            [] => app::recipes::catalog(&project)?
                .all()
                .map(|listing| listing.id.clone())
                .collect(),
            names => names.to_vec(),
        };
        let cwd = &session.surroundings.cwd;
        let mut wrong = 0;
        let mut results = Vec::new();
        for name in &names {
            let checked = app::recipes::check(&project, cwd, name).map_err(CliError::from);
            wrong += usize::from(checked.is_err());
            match checked {
                Ok(()) if !self.json => {
                    output::say(format!("{name} is valid"));
                    let found = app::recipes::find(&project, cwd, std::slice::from_ref(name))?;
                    for note in info::notes_on_names(&found.recipe) {
                        output::say(format!("  note: {note}"));
                    }
                }
                Err(trouble) if !self.json => output::trouble(&trouble, output::OutputFormat::Text),
                checked => results.push(result(name, checked.err())),
            }
        }
        if self.json {
            output::json(&json!({ "valid": wrong == 0, "recipes": results }))?;
        } else if names.is_empty() {
            output::say("There are no recipes here; `drawloom init` writes two examples.");
        }
        Ok(if wrong == 0 {
            CliExit::Done
        } else {
            CliExit::Failed
        })
    }
}

fn result(name: &str, trouble: Option<CliError>) -> Value {
    match trouble {
        None => json!({ "recipe": name, "valid": true }),
        Some(trouble) => {
            let error = trouble.to_json();
            json!({ "recipe": name, "valid": false, "error": error["error"] })
        }
    }
}
