//! Recipes for doors without a terminal: a run in two passes, questions first, then the files.
//!
//! Nothing is asked of a person here: missing values and questions come back as a document, and the
//! same call with answers continues. Nothing is written before [`RecipePass::Apply`].

use prompt::Answers;
use recipe::{
    AskMissing, GivenValues, OnConflict, Recipe, RecipeRunMode, RecipeRunOutcome, RecipeRunRequest,
    SilentHost,
};
use serde_json::{Map, Value};
use workspace::WriterRequest;

use super::UseCases;
use super::access::Permission;
use super::recipe_answers::{self, ProposedAnswers};
use super::recipe_updates::{self, RecipeUpdateInput, RecipeUpdateOutcome};
use crate::{AppErrorCode, Error, recipes, templates, trust};

/// The part of a recipe run to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecipePass {
    /// Up to the differences: nothing is written.
    Preview,
    /// All of it.
    Apply,
}

/// A run of a recipe, as doors ask for it.
#[derive(Clone, Debug, Default)]
pub struct RecipeRunInput {
    /// The recipe's name.
    pub recipe: String,
    /// Values of variables by name.
    pub values: Map<String, Value>,
    /// Answers to questions, by their keys.
    pub answers: Map<String, Value>,
    /// `true` if files that exist and differ are overwritten.
    pub is_forced: bool,
}

/// Result of a recipe run, as data.
#[derive(Clone, Debug)]
pub enum RecipeOutcome {
    /// Questions with their schemas.
    AnswersNeeded(Value),
    /// The differences; nothing is written yet.
    Ready(Value),
    /// Files that are there and differ; nothing was written.
    Conflicts(Vec<String>),
    /// The files that were written and the commands that ran.
    Done(Value),
}

/// A template that was rendered by itself.
#[derive(Clone, Debug)]
pub struct TemplatePreview {
    pub text: String,
    /// How many `@ai` blocks were left empty.
    pub questions: usize,
    /// Names that had no value.
    pub undefined: Vec<String>,
}

impl RecipeOutcome {
    fn of(outcome: RecipeRunOutcome) -> RecipeOutcome {
        let written = |value: serde_json::Result<Value>| value.unwrap_or_default();
        match outcome {
            RecipeRunOutcome::AnswersNeeded(needed) => RecipeOutcome::AnswersNeeded(needed.json),
            RecipeRunOutcome::Shown(plan) => {
                RecipeOutcome::Ready(written(serde_json::to_value(plan)))
            }
            RecipeRunOutcome::Done(report) => {
                RecipeOutcome::Done(written(serde_json::to_value(report)))
            }
            RecipeRunOutcome::Conflicts(conflicts) => {
                let paths = conflicts.iter().map(|conflict| conflict.path.to_string());
                RecipeOutcome::Conflicts(paths.collect())
            }
        }
    }
}

impl UseCases {
    /// Lists everything that can be run by name.
    pub fn recipes(&self) -> Result<recipe::kits::RecipeCatalog, Error> {
        self.permit(Permission::Look)?;
        recipes::catalog(self.project())
    }

    /// Returns the recipe of a name, never of a path.
    pub fn recipe(&self, name: &str) -> Result<Recipe, Error> {
        self.permit(Permission::Look)?;
        self.named_recipe(name)
    }

    /// Runs a recipe as far as a pass goes.
    pub async fn run_recipe(
        &self,
        wish: &RecipeRunInput,
        pass: RecipePass,
    ) -> Result<RecipeOutcome, Error> {
        self.permit(Permission::RunRecipes)?;
        let (use_cases, wish) = (self.clone(), wish.clone());
        // Reading, rendering and commands block; a recipe stays on the thread that has read it.
        let ran = tokio::task::spawn_blocking(move || {
            let recipe = use_cases.named_recipe(&wish.recipe)?;
            let request = use_cases.recipe_request(&wish, (&recipe, pass))?;
            let root = &use_cases.project().root;
            let outcome = recipe::run(&recipe, root, &request, &mut SilentHost)?;
            Ok(RecipeOutcome::of(outcome))
        });
        ran.await.map_err(|cause| {
            Error::new(AppErrorCode::Command, format!("the recipe ended: {cause}"))
        })?
    }

    /// Lets the model of the settings answer what the wish leaves open. Nothing is written.
    pub async fn propose_answers(&self, wish: &RecipeRunInput) -> Result<ProposedAnswers, Error> {
        self.permit(Permission::RunRecipes)?;
        let (use_cases, wish) = (self.clone(), wish.clone());
        // Rendering and waiting for the model block; a recipe stays on the thread that has read it.
        let asked = move || recipe_answers::ask_model(&use_cases, &wish);
        tokio::task::spawn_blocking(asked).await.map_err(ended)?
    }

    /// Tells if a recipe has generated files in this project.
    pub async fn has_generated(&self, name: &str) -> Result<bool, Error> {
        self.permit(Permission::Look)?;
        let (use_cases, name) = (self.clone(), name.to_owned());
        let found = move || recipe_updates::find_record(&use_cases, &name);
        tokio::task::spawn_blocking(found).await.map_err(ended)?
    }

    /// Merges the recipe of today into what it generated before, as far as the pass goes.
    pub async fn update_from_recipe(
        &self,
        wish: &RecipeUpdateInput,
        pass: RecipePass,
    ) -> Result<RecipeUpdateOutcome, Error> {
        self.permit(Permission::RunRecipes)?;
        let (use_cases, wish) = (self.clone(), wish.clone());
        let merged = move || recipe_updates::merge_today(&use_cases, wish, pass);
        tokio::task::spawn_blocking(merged).await.map_err(ended)?
    }

    /// Renders the text of a template by itself: no partials, no commands, nothing written.
    pub async fn render_template(
        &self,
        text: String,
        data: Map<String, Value>,
    ) -> Result<TemplatePreview, Error> {
        self.permit(Permission::Look)?;
        let limits = self.project().settings.limits;
        let now_ms = self.app().now_ms() as f64;
        let rendered = tokio::task::spawn_blocking(move || {
            let rendered = templates::render_text(&text, &data, (limits, now_ms))?;
            let names = rendered.undefined.iter().map(|one| one.name.clone());
            Ok(TemplatePreview {
                questions: rendered.questionnaire.len(),
                undefined: names.collect(),
                text: rendered.text,
            })
        });
        rendered.await.map_err(|cause| {
            Error::new(
                AppErrorCode::Command,
                format!("the template ended: {cause}"),
            )
        })?
    }

    pub(super) fn named_recipe(&self, name: &str) -> Result<Recipe, Error> {
        let catalog = recipes::catalog(self.project())?;
        if !catalog.all().any(|listing| listing.id == name) {
            let names = catalog.all().map(|listing| listing.id.as_str());
            let hint = match crate::nearest(name, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`drawloom recipe list` lists them".to_owned(),
            };
            let message = format!("there is no recipe `{name}`");
            return Err(Error::new(AppErrorCode::NotFound, message).hint(hint));
        }
        let found = recipes::find(self.project(), self.project().folder(), &[name.to_owned()])?;
        Ok(found.recipe)
    }

    pub(super) fn recipe_request(
        &self,
        wish: &RecipeRunInput,
        (recipe, pass): (&Recipe, RecipePass),
    ) -> Result<RecipeRunRequest, Error> {
        let project = self.project();
        let answers = Value::Object(wish.answers.clone()).to_string();
        let answers = Answers::read(&answers, "the answers")
            .map_err(|cause| Error::new(AppErrorCode::Data, cause.to_string()))?;
        Ok(RecipeRunRequest {
            values: GivenValues {
                named: wish
                    .values
                    .iter()
                    .map(|(name, value)| (name.clone(), words(value)))
                    .collect(),
                ..GivenValues::default()
            },
            answers: Some(answers).filter(|_| !wish.answers.is_empty()),
            conflicts: match wish.is_forced {
                true => OnConflict::Force,
                false => OnConflict::default(),
            },
            own_recipes: trust::own_recipes(project, recipe)?,
            mode: match pass {
                RecipePass::Preview => RecipeRunMode::DryRun,
                RecipePass::Apply => RecipeRunMode::Perform,
            },
            ask_missing: AskMissing::Document,
            writer: WriterRequest {
                command: format!("drawloom serve, for {}", self.actor().name()),
                ..WriterRequest::default()
            },
            policy: project.settings.agent.policy.clone(),
            limits: project.settings.limits,
            now_ms: Some(self.app().now_ms() as f64),
            ..RecipeRunRequest::default()
        })
    }
}

fn ended(cause: tokio::task::JoinError) -> Error {
    Error::new(AppErrorCode::Command, format!("the recipe ended: {cause}"))
}

/// Returns the words of a value on a command line: a list is several words, `true` is a bare flag.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::Bool(true) => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(words).collect(),
        other => vec![other.to_string()],
    }
}
