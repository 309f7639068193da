//! Recipes: the list, a form of the variables, questions, and the differences before anything is written.

use app::{Permission, ProposedAnswers, RecipeOutcome, RecipePass, RecipeRunInput};
use axum::http::StatusCode;
use maud::{Markup, html};
use recipe::manifest::{RecipeVariable, VariableType};
use serde_json::{Map, Value};

use super::diff;
use super::form::{FieldKind, FormData, FormField, any_value, read_all, shown};
use super::frame::{NavPage, page, page_with};
use super::parts::{count, empty, line, state, text_block, value};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::ApiProblem;

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

pub(super) fn field(name: &str, variable: &RecipeVariable) -> FormField {
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
        default: suggestion(variable),
        is_proposed: false,
    }
}

/// The value that the field begins with; empty if it is made from other values.
fn suggestion(variable: &RecipeVariable) -> Option<Value> {
    let default = variable
        .default
        .as_ref()
        .map(|default| default.value.clone());
    let is_plain = |value: &Value| value.as_str().is_none_or(|text| !text.contains("{{"));
    variable.suggestion.clone().or(default.filter(is_plain))
}

pub(super) async fn show(visit: PageVisit) -> PageResult {
    respond(&visit, &RecipeView::default()).await
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

/// Everything that the page of a recipe shows beside its fields.
#[derive(Default)]
struct RecipeView {
    outcome: Option<RecipeOutcome>,
    /// Answers of a model, which the person looks at.
    proposed: Option<ProposedAnswers>,
    wrong: Option<ApiProblem>,
}

impl RecipeView {
    fn title(&self, name: &str) -> String {
        match &self.outcome {
            Some(RecipeOutcome::AnswersNeeded(_)) => format!("{name} has questions"),
            Some(RecipeOutcome::Ready(_)) => format!("{name} would change these files"),
            Some(RecipeOutcome::Conflicts(_)) => format!("{name} found files that differ"),
            Some(RecipeOutcome::Done(_)) => format!("{name} is done"),
            None if self.wrong.is_some() => format!("{name} needs other values"),
            None => format!("{name} can be run"),
        }
    }

    /// The questions that are open, and those that a model has answered.
    fn questions(&self) -> Vec<Value> {
        let needed = match &self.outcome {
            Some(RecipeOutcome::AnswersNeeded(needed)) => needed["questions"].as_array(),
            _ => None,
        };
        let proposed = self
            .proposed
            .iter()
            .flat_map(|proposed| &proposed.questions);
        needed
            .into_iter()
            .flatten()
            .chain(proposed)
            .cloned()
            .collect()
    }
}

async fn respond(visit: &PageVisit, view: &RecipeView) -> PageResult {
    let name = visit.path("name").to_owned();
    let (description, fields) = fields(visit, &name)?;
    let title = view.title(&name);
    let may_run = visit.may(Permission::RunRecipes);
    let may_update = may_run && visit.use_cases.has_generated(&name).await.unwrap_or(false);
    let address = format!("/recipes/{}", encoded(&name));
    let body = html! {
        div class="head" {
            div { p class="small muted" { a href="/recipes" { "Recipes" } } h1 { (title) } @if let Some(description) = &description { p class="muted" dir="auto" { (description) } } }
            @if may_update { div class="actions" { a class="btn" href={ (address) "/update" } { "Update what it made" } } }
        }
        @if let Some(RecipeOutcome::Done(report)) = &view.outcome {
            (done(report, &address))
        } @else {
            form class="split split-run" method="post" action=(address) {
                section class="card" {
                    h2 { "Values" }
                    @if let Some(wrong) = &view.wrong { p class="wrong" role="alert" { (wrong.detail()) @if let Some(hint) = wrong.hint_text() { " " (hint) } } }
                    @if fields.is_empty() { p class="muted" { "It asks for nothing." } }
                    @for field in &fields { (field.markup(&visit.form)) }
                    (questions(visit, view))
                    @if may_run { (buttons(view)) }
                }
                div { @if let Some(outcome) = &view.outcome { (preview(outcome)) } @else { (empty("Nothing is written yet", &html! { p { "Fill in the values and look at the differences first. Nothing is written before you say so." } })) } }
            }
        }
    };
    let status = view
        .wrong
        .as_ref()
        .map_or(StatusCode::OK, ApiProblem::status);
    Ok(page_with(visit, status, (NavPage::Recipes, &title), &body).await)
}

fn buttons(view: &RecipeView) -> Markup {
    let asks = matches!(view.outcome, Some(RecipeOutcome::AnswersNeeded(_)));
    let is_first = !matches!(view.outcome, Some(RecipeOutcome::Ready(_)));
    html! {
        div class="actions" {
            button class=[is_first.then_some("primary")] name="act" value="preview" { @if asks { "Go on with these answers" } @else { "Show what would change" } }
            @if asks { button name="act" value="ask" { "Let the model answer the rest" } }
        }
        @if asks { p class="hint" { "What the model answers comes back here, to be read and changed. It is paid for from the budget of the settings." } }
    }
}

/// Lists the files that were written.
fn done(report: &Value, address: &str) -> Markup {
    let files: Vec<&Value> = report["files"].as_array().into_iter().flatten().collect();
    let commands: Vec<&Value> = report["commands"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    html! {
        section class="card" {
            h2 { (count(files.len(), "file was written", "files were written")) @if !commands.is_empty() { ", " (count(commands.len(), "command ran", "commands ran")) } }
            ul class="plain" {
                @for file in &files { li { (state("ok", file["status"].as_str().unwrap_or("written"))) " " code dir="auto" { (line(file["path"].as_str().unwrap_or_default())) } } }
            }
            details { summary class="small muted" { "The whole report" } (value(report)) }
            div class="actions more" { a class="btn" href=(address) { "Run it again" } a class="btn quiet" href="/recipes" { "Other recipes" } }
        }
    }
}

/// The questions with what was answered. An answer stays on the page until the files are written, so that the
/// person can change it.
fn questions(visit: &PageVisit, view: &RecipeView) -> Markup {
    let asked = view.questions();
    let is_asked = |key: &str| asked.iter().any(|one| one["key"] == key);
    let kept: Vec<(&str, &str)> = visit
        .form
        .0
        .iter()
        .filter_map(|(name, text)| Some((name.strip_prefix("q.")?, text.as_str())))
        .filter(|(key, _)| !is_asked(key))
        .collect();
    html! {
        @if !asked.is_empty() || !kept.is_empty() { h2 class="more" { "Questions" } }
        @for question in &asked { (question_field(visit, view, question)) }
        @for (key, text) in kept {
            @let label = visit.form.get(&format!("l.{key}")).unwrap_or(key).to_owned();
            (answer_field((key, &label), text, &Value::Null))
        }
    }
}

fn question_field(visit: &PageVisit, view: &RecipeView, question: &Value) -> Markup {
    let key = question["key"].as_str().unwrap_or_default();
    let label = question["prompt"]
        .as_str()
        .filter(|text| !text.is_empty())
        .unwrap_or(key);
    let proposed = view.proposed.as_ref().and_then(|one| one.answers.get(key));
    let typed = visit.form.text(&format!("q.{key}")).map(str::to_owned);
    let is_proposed = typed.is_none() && proposed.is_some();
    let text = typed.or_else(|| proposed.map(shown)).unwrap_or_default();
    html! {
        (answer_field((key, label), &text, question))
        @if is_proposed { p class="small" { (state("hold", "answered by the model")) } }
    }
}

/// One answer: a choice where the question has some, a text otherwise.
fn answer_field((key, label): (&str, &str), text: &str, question: &Value) -> Markup {
    let id = format!("q.{key}");
    let choices: Vec<String> = match question["kind"].as_str() {
        Some("boolean") => vec!["true".to_owned(), "false".to_owned()],
        Some("select") => question["from"]
            .as_array()
            .into_iter()
            .flatten()
            .map(shown)
            .collect(),
        _ => Vec::new(),
    };
    let is_code = matches!(question["kind"].as_str(), Some("code" | "json" | "list"));
    let context: Vec<&str> = question["contexts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    html! {
        div class="field" {
            label for=(id) dir="auto" { (label) }
            input type="hidden" name={ "l." (key) } value=(label);
            @if choices.is_empty() {
                textarea id=(id) name=(id) rows="3" dir="auto" class=[is_code.then_some("code")] { "\n" (text) }
            } @else {
                select id=(id) name=(id) { option value="" { "—" } @for one in &choices { option value=(one) selected[one == text] { (one) } } }
            }
            @if let Some(format) = question["format"].as_str().filter(|text| !text.is_empty()) { div class="hint" dir="auto" { (format) } }
            @if !context.is_empty() { details { summary class="small muted" { "What it is about" } @for one in context { (text_block(one)) } } }
        }
    }
}

fn preview(outcome: &RecipeOutcome) -> Markup {
    html! {
        @match outcome {
            RecipeOutcome::Ready(plan) => {
                @let files: Vec<&Value> = plan["files"].as_array().into_iter().flatten().collect();
                @if files.is_empty() { p class="why" { "No file would change." } }
                @for file in files { (diff::file(file["path"].as_str().unwrap_or_default(), file["diff"].as_str().unwrap_or_default(), 400)) }
                @for command in plan["commands"].as_array().into_iter().flatten() { p class="why" { "runs " code { (line(&command_line(command))) } } }
                div class="actions" { button class="primary" name="act" value="apply" { "Write these changes" } }
            },
            RecipeOutcome::Conflicts(paths) => {
                section class="card" { h2 { "These files are there and differ" } ul class="plain" { @for path in paths { li class="mono" { (path) } } } button name="act" value="force" { "Overwrite them" } }
            },
            RecipeOutcome::AnswersNeeded(_) => (empty("Answer the questions first", &html! { p { "By hand, by the model, or some of each. Then look at the differences." } })),
            RecipeOutcome::Done(_) => {},
        }
    }
}

/// A command as people read it.
fn command_line(command: &Value) -> String {
    let text = command.as_str().or_else(|| command["command"].as_str());
    text.map_or_else(|| command.to_string(), str::to_owned)
}

/// Reads the answers that a form gives.
pub(super) fn answers_of(form: &FormData) -> Map<String, Value> {
    let given = form.0.iter().filter(|(_, text)| !text.trim().is_empty());
    given
        .filter_map(|(name, text)| {
            let read = any_value(text).unwrap_or_else(|_| Value::from(text.as_str()));
            Some((name.strip_prefix("q.")?.to_owned(), read))
        })
        .collect()
}

/// Shows the differences, asks the model, or writes.
pub(super) async fn run(visit: PageVisit) -> PageResult {
    let name = visit.path("name").to_owned();
    let view = match carry_out(&visit, &name).await {
        Ok(view) => view,
        // The typed values stay in their fields; only what is not there or not allowed has a page of its own.
        Err(problem) if is_about_the_form(&problem) => RecipeView {
            wrong: Some(problem),
            ..RecipeView::default()
        },
        Err(problem) => return Err(problem.into()),
    };
    respond(&visit, &view).await
}

/// Tells whether a person can go on from the same form: with other values, other answers, or a model.
pub(super) fn is_about_the_form(problem: &ApiProblem) -> bool {
    matches!(
        problem.status(),
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::CONFLICT | StatusCode::SERVICE_UNAVAILABLE
    )
}

async fn carry_out(visit: &PageVisit, name: &str) -> Result<RecipeView, ApiProblem> {
    let (_, fields) = fields(visit, name)?;
    let act = visit.form.get("act").unwrap_or_default();
    let mut wish = RecipeRunInput {
        recipe: name.to_owned(),
        values: read_all(&fields, &visit.form)?,
        answers: answers_of(&visit.form),
        ..RecipeRunInput::default()
    };
    wish.is_forced = act == "force";
    let pass = match act {
        "apply" | "force" => RecipePass::Apply,
        _ => RecipePass::Preview,
    };
    let mut proposed = None;
    if act == "ask" {
        let found = visit.use_cases.propose_answers(&wish).await?;
        visit.note(("recipes.ask", name)).await;
        wish.answers.clone_from(&found.answers);
        proposed = Some(found);
    }
    let outcome = visit.use_cases.run_recipe(&wish, pass).await?;
    if matches!(outcome, RecipeOutcome::Done(_)) {
        visit.note(("recipes.run", name)).await;
    }
    Ok(RecipeView {
        outcome: Some(outcome),
        proposed,
        wrong: None,
    })
}
