//! The acts of recipes that belong to the project: the commands they run.

use std::collections::BTreeSet;
use std::path::Path;

use recipe::{OwnRecipes, Recipe};

use super::act::ProjectAct;
use crate::{Error, ProcessEnvironment, Project, recipes};

/// Returns one act for each recipe of the project that runs commands. Recipes of kits are not the
/// project's own: they need `--trust` each time.
pub(super) fn acts(project: &Project) -> Result<Vec<ProjectAct>, Error> {
    let mut acts = Vec::new();
    for listing in recipes::catalog(project)?.recipes {
        // A recipe that cannot be read cannot run either.
        let path = project.folder().join(listing.path.as_path());
        if let Ok(recipe) = recipe::load(&project.root, &path) {
            acts.extend(act(&recipe)?);
        }
    }
    Ok(acts)
}

pub(super) fn acts_of_path(
    project: &Project,
    surroundings: &ProcessEnvironment,
    path: &Path,
) -> Result<Vec<ProjectAct>, Error> {
    let words = [path.display().to_string()];
    let found = recipes::find(project, &surroundings.cwd, &words)?;
    Ok(act(&found.recipe)?.into_iter().collect())
}

fn act(recipe: &Recipe) -> Result<Option<ProjectAct>, Error> {
    let commands = recipe.commands()?;
    if recipe.is_outside() || commands.is_empty() {
        return Ok(None);
    }
    let subject = recipe.id.clone();
    let is_listed = subject.starts_with(".drawloom/");
    Ok(Some(ProjectAct {
        does: commands
            .iter()
            .map(|line| format!("runs `{line}`"))
            .collect(),
        digest: recipe.digest()?,
        file: (!is_listed).then(|| subject.clone()),
        subject,
    }))
}

/// Decides which of the project's own recipes may run commands when this one is run, and refuses this
/// one if it may not.
pub fn own_recipes(project: &Project, recipe: &Recipe) -> Result<OwnRecipes, Error> {
    let gate = &project.trust;
    if gate.trusts_all()? {
        return Ok(OwnRecipes::Trusted);
    }
    if recipe.is_outside() {
        return Ok(OwnRecipes::Only(BTreeSet::new()));
    }
    if !recipe.may_run_commands() {
        // The run refuses commands in a template's frontmatter unless the recipe is trusted.
        // Without any decision of the user nothing is trusted, so the templates need not be
        // searched.
        let is_trusted =
            gate.has_decision()? && gate.require(act(recipe)?.into_iter().collect()).is_ok();
        let trusted = is_trusted.then(|| recipe.file.clone());
        return Ok(OwnRecipes::Only(trusted.into_iter().collect()));
    }
    gate.require(act(recipe)?.into_iter().collect())?;
    let mut trusted = BTreeSet::from([recipe.file.clone()]);
    for listing in recipes::catalog(project)?.recipes {
        let path = project.folder().join(listing.path.as_path());
        let Ok(other) = recipe::load(&project.root, &path) else {
            continue;
        };
        if gate.require(act(&other)?.into_iter().collect()).is_ok() {
            trusted.insert(other.file);
        }
    }
    Ok(OwnRecipes::Only(trusted))
}

/// Makes the error for a recipe of the project whose commands came up while it ran.
pub fn untrusted_recipe(project: &Project, recipe: &Recipe) -> Result<(), Error> {
    project.trust.require(act(recipe)?.into_iter().collect())
}
