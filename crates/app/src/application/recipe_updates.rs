//! Updates of what a recipe has generated, for doors without a terminal: shown first, conflicts settled by a
//! person, then written.

use recipe::{SettledConflict, SilentHost, UpdateOutcome, UpdateReport};
use serde_json::Value;

use super::UseCases;
use super::recipe_runs::{RecipePass, RecipeRunInput};
use crate::Error;

/// An update, as doors ask for it.
#[derive(Clone, Debug, Default)]
pub struct RecipeUpdateInput {
    /// The recipe, with values for variables that are new and answers to questions that are.
    pub run: RecipeRunInput,
    /// Files with conflicts, as a person has settled them.
    pub resolutions: Vec<SettledConflict>,
}

/// Result of an update.
#[derive(Clone, Debug)]
pub enum RecipeUpdateOutcome {
    /// The newer recipe has questions that no recorded answer fits.
    AnswersNeeded(Value),
    /// The changes that it would make; nothing is written yet.
    Shown(UpdateReport),
    Done(UpdateReport),
}

/// Tells if a recipe has generated files in this project.
pub(super) fn find_record(use_cases: &UseCases, name: &str) -> Result<bool, Error> {
    let recipe = use_cases.named_recipe(name)?;
    Ok(recipe::has_generated(&recipe, &use_cases.project().root)?)
}

/// Merges the recipe of today into what it generated before, as far as the pass goes.
pub(super) fn merge_today(
    use_cases: &UseCases,
    wish: RecipeUpdateInput,
    pass: RecipePass,
) -> Result<RecipeUpdateOutcome, Error> {
    let recipe = use_cases.named_recipe(&wish.run.recipe)?;
    let mut request = use_cases.recipe_request(&wish.run, (&recipe, pass))?;
    request.resolutions = wish.resolutions;
    let root = &use_cases.project().root;
    let outcome = recipe::update(&recipe, root, &request, &mut SilentHost)?;
    Ok(match outcome {
        UpdateOutcome::AnswersNeeded(needed) => RecipeUpdateOutcome::AnswersNeeded(needed.json),
        UpdateOutcome::Shown(report) => RecipeUpdateOutcome::Shown(report),
        UpdateOutcome::Done(report) => RecipeUpdateOutcome::Done(report),
    })
}
