//! `drawloom schema`: the JSON Schemas of the files that people and models write, and of what `--json` prints.

use app::schemas;
use clap::Args;
use serde_json::json;

use crate::exit::{CliError, CliExit};
use crate::{output, table};

/// The word that lists the names instead of printing one schema.
const LIST: &str = "list";

/// Print the JSON Schema of a file drawloom reads, or of a result it prints
///
/// For editors, which then check and complete such a file, for models that write one, and for programs
/// that read what a command prints with `--json`. `drawloom schema list` lists all names: a result has the
/// words of its command, as in `runs-show`; every command that fails prints `error` instead.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schema list
  drawloom schema task > task.schema.json
  drawloom schema runs-show
  drawloom schema error")]
pub(crate) struct SchemaArgs {
    /// A name such as task, plan, build-plan, runs-show or error; or `list`
    #[arg(value_name = "NAME", num_args = 1.., required = true)]
    name: Vec<String>,
    /// With `list`: print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl SchemaArgs {
    pub(crate) fn run(&self) -> Result<CliExit, CliError> {
        // `drawloom schema runs show` is typed by those who have the command in mind.
        let name = self.name.join("-");
        if name == LIST {
            return self.list();
        }
        let Some(schema) = schemas::find(&name) else {
            let all = schemas::all();
            let names = all.iter().map(|one| one.name.as_str());
            let near = app::nearest(&name, names);
            let near = near.map(|near| format!("did you mean `{near}`? "));
            let hint = format!(
                "{}`drawloom schema list` lists them",
                near.unwrap_or_default()
            );
            return Err(CliError::usage(format!("there is no schema `{name}`")).hint(hint));
        };
        output::json(&schema)?;
        Ok(CliExit::Done)
    }

    fn list(&self) -> Result<CliExit, CliError> {
        let all = schemas::all();
        if self.json {
            let listed = all.iter().map(
                |one| json!({ "name": one.name, "of": one.subject.as_str(), "about": one.about }),
            );
            output::json(&json!({ "schemas": listed.collect::<Vec<_>>() }))?;
            return Ok(CliExit::Done);
        }
        let rows = all
            .into_iter()
            .map(|one| vec![one.name, one.subject.as_str().to_owned(), one.about]);
        output::styled(&table::render(&rows.collect::<Vec<_>>()))?;
        Ok(CliExit::Done)
    }
}
