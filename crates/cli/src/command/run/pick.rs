//! `drawloom run` without a name: the person chooses a recipe from a list.

use app::Project;
use dialoguer::Select;
use dialoguer::theme::ColorfulTheme;

use super::RunArgs;
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;
use crate::{interrupt, output};

/// More recipes than this are on further pages of the list.
const LISTED_MAX: usize = 20;

pub(super) fn pick(
    run: &RunArgs,
    session: &CliSession,
    project: &Project,
) -> Result<CliExit, CliError> {
    let catalog = app::recipes::catalog(project)?;
    let listed: Vec<(String, String)> = catalog
        .all()
        .filter(|listing| listing.problem.is_none())
        .map(|listing| {
            let about = listing.description.as_deref().unwrap_or_default();
            (listing.id.clone(), about.to_owned())
        })
        .collect();
    if listed.is_empty() {
        return Err(CliError::usage("there are no recipes here")
            .hint("`drawloom init` writes two examples, `drawloom recipe new NAME` begins one"));
    }
    if !output::has_person() || run.json {
        let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
        return Err(CliError::usage("a recipe's name is missing")
            .hint(format!("there are: {}", names.join(", "))));
    }
    let width = listed
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let items = listed
        .iter()
        .map(|(name, about)| format!("{name:width$}  {about}"));
    interrupt::watch();
    let chosen = Select::with_theme(&ColorfulTheme::default())
        .with_prompt("Which recipe?")
        .items(items.collect::<Vec<_>>())
        .default(0)
        .max_length(LISTED_MAX)
        .interact_opt();
    let Ok(Some(chosen)) = chosen else {
        interrupt::cancel().cancel();
        return Ok(CliExit::Interrupted);
    };
    let name = listed[chosen].0.clone();
    output::say(format!("running   drawloom run {name}"));
    let mut run = run.clone();
    run.words.push(name.clone().into());
    run.recipe = Some(name);
    run.run(session)
}
