//! Recipes: the list, a form of the variables, questions, and the differences before anything is written.

use app::{Permission, RecipeOutcome, RecipePass, RecipeRunInput};
use maud::{Markup, html};
use recipe::manifest::{RecipeVariable, VariableType};
use serde_json::{Map, Value};

use super::diff;
use super::form::{FieldKind, FormField, any_value, read_all};
use super::frame::{NavPage, page};
use super::parts::{count, empty, line, state, value};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;

pub(super) async fn list(visit: PageVisit) -> PageResult {
    let catalog = visit.use_cases.recipes()?;
    let all: Vec<_> = catalog.all().collect();
    let title = match all.len() {
        0 => "There are no recipes here".to_owned(),
        number => count(number, "recipe can be run", "recipes can be run"),
    };
    let body = html! {
        div class="head" { div { h1 { (title) } p class="muted" { "A recipe asks for a few values and writes files. You see every change before it is made." } } }
        @if all.is_empty() {
            (empty("Make one", &html! { pre { "drawloom recipe new NAME" } p { "or add a kit with " code { "drawloom kit add" } "." } }))
        } @else {
            div class="list" data-keys="list" {
                @for listing in &all {
                    a class="row" href={ "/recipes/" (encoded(&listing.id)) } {
                        strong { (listing.id) }
                        @if listing.problem.is_some() { (state("bad", "broken")) } @else { (state("ok", "fine")) }
                        span class="small muted" dir="auto" { (line(listing.description.as_deref().unwrap_or_default())) }
                        span class="small muted" { (listing.version.as_deref().unwrap_or_default()) }
                    }
                }
            }
        }
    };
    Ok(page(&visit, NavPage::Recipes, &title, &body).await)
}

fn field(name: &str, variable: &RecipeVariable) -> FormField {
    let kind = match variable.kind {
        _ if variable.secret => FieldKind::Secret,
        VariableType::Number => FieldKind::Number { is_whole: false },
        VariableType::Boolean => FieldKind::Flag,
        VariableType::Enum => FieldKind::Choice(
            variable
                .values
                .iter()
                .map(|word| Value::from(word.as_str()))
                .collect(),
        ),
        VariableType::Array | VariableType::Object => FieldKind::Any,
        VariableType::String | VariableType::File | VariableType::Directory => FieldKind::Text,
    };
    FormField {
        name: name.to_owned(),
        title: variable.prompt.clone().unwrap_or_else(|| name.to_owned()),
        description: variable.description.clone(),
        kind,
        is_required: variable.required && variable.default.is_none(),
        default: variable.suggestion.clone(),
        is_proposed: false,
    }
}

pub(super) async fn show(visit: PageVisit) -> PageResult {
    respond(&visit, None).await
}

/// The fields of a recipe. It stays on the thread that has read it, so only data leaves here.
fn fields(visit: &PageVisit, name: &str) -> Result<(Option<String>, Vec<FormField>), app::Error> {
    let recipe = visit.use_cases.recipe(name)?;
    let wanted = recipe
        .manifest
        .variables
        .iter()
        .filter(|(_, variable)| variable.computed.is_none());
    let fields = wanted
        .map(|(name, variable)| field(name, variable))
        .collect();
    Ok((recipe.manifest.description.clone(), fields))
}

async fn respond(visit: &PageVisit, outcome: Option<&RecipeOutcome>) -> PageResult {
    let name = visit.path("name").to_owned();
    let (description, fields) = fields(visit, &name)?;
    let title = match outcome {
        Some(RecipeOutcome::AnswersNeeded(_)) => format!("{name} has questions"),
        Some(RecipeOutcome::Ready(_)) => format!("{name} would change these files"),
        Some(RecipeOutcome::Conflicts(_)) => format!("{name} found files that differ"),
        Some(RecipeOutcome::Done(_)) => format!("{name} is done"),
        None => format!("{name} can be run"),
    };
    let body = html! {
        div class="head" { div { p class="small muted" { a href="/recipes" { "Recipes" } } h1 { (title) } @if let Some(description) = &description { p class="muted" dir="auto" { (description) } } } }
        @if let Some(RecipeOutcome::Done(report)) = outcome { section class="card" { h2 { "What was written and run" } (value(report)) p { a class="btn" href={ "/recipes/" (encoded(&name)) } { "Run it again" } } } } @else {
            form class="split split-run" method="post" action={ "/recipes/" (encoded(&name)) } {
                section class="card" {
                    h2 { "Values" }
                    @if fields.is_empty() { p class="muted" { "It asks for nothing." } }
                    @for field in &fields { (field.markup(&visit.form)) }
                    @if let Some(outcome) = outcome { (questions(visit, outcome)) }
                    @if visit.may(Permission::RunRecipes) { div class="actions" { button class=[outcome.is_none().then_some("primary")] name="act" value="preview" { "Show what would change" } } }
                }
                div { @if let Some(outcome) = outcome { (preview(outcome)) } @else { (empty("Nothing is written yet", &html! { p { "Fill in the values and look at the differences first." } })) } }
            }
        }
    };
    Ok(page(visit, NavPage::Recipes, &title, &body).await)
}

/// Questions, with the answers that were given before.
fn questions(visit: &PageVisit, outcome: &RecipeOutcome) -> Markup {
    let asked = match outcome {
        RecipeOutcome::AnswersNeeded(needed) => {
            needed["questions"].as_array().cloned().unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let kept = visit
        .form
        .0
        .iter()
        .filter(|(name, _)| name.starts_with("q."));
    html! {
        @if asked.is_empty() { @for (name, text) in kept { input type="hidden" name=(name) value=(text); } }
        @for question in &asked {
            @let key = question["key"].as_str().unwrap_or_default();
            @let id = format!("q.{key}");
            div class="field" {
                label for=(id) { (question["question"].as_str().or(question["prompt"].as_str()).unwrap_or(key)) }
                textarea id=(id) name=(id) rows="3" { (visit.form.get(&id).unwrap_or_default()) }
            }
        }
    }
}

fn preview(outcome: &RecipeOutcome) -> Markup {
    html! {
        @match outcome {
            RecipeOutcome::Ready(plan) => {
                @for file in plan["files"].as_array().into_iter().flatten() { (diff::file(file["path"].as_str().unwrap_or_default(), file["diff"].as_str().unwrap_or_default(), 400)) }
                @for command in plan["commands"].as_array().into_iter().flatten() { p class="why" { "runs " code { (line(&command.to_string())) } } }
                button class="primary" name="act" value="apply" { "Write these changes" }
            },
            RecipeOutcome::Conflicts(paths) => {
                section class="card" { h2 { "These files are there and differ" } ul class="plain" { @for path in paths { li class="mono" { (path) } } } button name="act" value="force" { "Overwrite them" } }
            },
            RecipeOutcome::AnswersNeeded(_) => (empty("Answer the questions first", &html! { p { "Then look at the differences." } })),
            RecipeOutcome::Done(_) => {},
        }
    }
}

/// Shows the differences, or writes them.
pub(super) async fn run(visit: PageVisit) -> PageResult {
    let name = visit.path("name").to_owned();
    let (_, fields) = fields(&visit, &name)?;
    let mut answers = Map::new();
    for (key, text) in &visit.form.0 {
        if let Some(key) = key.strip_prefix("q.").filter(|_| !text.trim().is_empty()) {
            answers.insert(
                key.to_owned(),
                any_value(text).unwrap_or_else(|_| Value::from(text.as_str())),
            );
        }
    }
    let act = visit.form.get("act").unwrap_or_default();
    let wish = RecipeRunInput {
        recipe: name,
        values: read_all(&fields, &visit.form)?,
        answers,
        is_forced: act == "force",
    };
    let pass = match act {
        "apply" | "force" => RecipePass::Apply,
        _ => RecipePass::Preview,
    };
    let outcome = visit.use_cases.run_recipe(&wish, pass).await?;
    if matches!(outcome, RecipeOutcome::Done(_)) {
        visit.note(("recipes.run", &wish.recipe)).await;
    }
    respond(&visit, Some(&outcome)).await
}
