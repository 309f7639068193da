//! `drawloom run` without a name: the person chooses a recipe or a workflow from a list.

use app::Project;
use app::run_target::TargetKind;
use dialoguer::Select;
use dialoguer::theme::ColorfulTheme;

use crate::exit::CliError;
use crate::output::OutputFormat;
use crate::{interrupt, output};

/// More things than this are on further pages of the list.
const LISTED_MAX: usize = 20;

/// Returns the name of the chosen thing, among those of some kinds; `None` if the person chose nothing.
pub(super) fn choose(
    project: &Project,
    kinds: &[TargetKind],
    form: OutputFormat,
) -> Result<Option<String>, CliError> {
    let listed = listed(project, kinds)?;
    if listed.is_empty() {
        return Err(CliError::usage("there are no recipes here")
            .hint("`drawloom init` writes two examples, `drawloom recipe new NAME` begins one"));
    }
    if !output::has_person() || form == OutputFormat::Json {
        let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
        let message = match kinds {
            [_] => "a recipe's name is missing",
            _ => "the name of a recipe or a workflow is missing",
        };
        return Err(CliError::usage(message).hint(format!("there are: {}", names.join(", "))));
    }
    let width = listed
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let items = listed
        .iter()
        .map(|(name, about)| output::harmless(&format!("{name:width$}  {about}")));
    interrupt::watch();
    let chosen = Select::with_theme(&ColorfulTheme::default())
        .with_prompt(match kinds {
            [_] => "Which recipe?",
            _ => "What should run?",
        })
        .items(items.collect::<Vec<_>>())
        .default(0)
        .max_length(LISTED_MAX)
        .interact_opt();
    let Ok(Some(chosen)) = chosen else {
        interrupt::cancel().cancel();
        return Ok(None);
    };
    let name = listed[chosen].0.clone();
    output::say(format!("running   drawloom run {name}"));
    Ok(Some(name))
}

/// Returns names, each with a line about it. A workflow with the name of a recipe goes by its file.
fn listed(project: &Project, kinds: &[TargetKind]) -> Result<Vec<(String, String)>, CliError> {
    let catalog = app::recipes::catalog(project)?;
    let mut listed: Vec<(String, String)> = catalog
        .all()
        .filter(|listing| listing.problem.is_none())
        .map(|listing| {
            let about = listing.description.as_deref().unwrap_or_default();
            (listing.id.clone(), about.to_owned())
        })
        .collect();
    if kinds.contains(&TargetKind::Workflow) {
        let taken: Vec<String> = listed.iter().map(|(name, _)| name.clone()).collect();
        let names = app::workflows::names(project)?.into_iter();
        listed.extend(
            names
                .filter(|name| !taken.contains(name))
                .map(|name| (name, "workflow".to_owned())),
        );
    }
    Ok(listed)
}
