//! The update of what a recipe has generated: shown first, conflicts settled on the page, then written.

use app::{Permission, RecipePass, RecipeRunInput, RecipeUpdateInput, RecipeUpdateOutcome};
use axum::http::StatusCode;
use maud::{Markup, html};
use recipe::{SettledConflict, UpdateReport, UpdateStatus};
use serde_json::Value;

use super::diff;
use super::form::{FieldKind, FormData, FormField, read_all, shown};
use super::frame::{NavPage, page_with};
use super::parts::{count, empty, line, state};
use super::recipes::{answers_of, field, is_about_the_form};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::ApiProblem;

/// How many lines of a file's difference are shown.
const LINES_MAX: usize = 400;

/// Shows what an update would change.
pub(super) async fn show(visit: PageVisit) -> PageResult {
    respond(&visit, RecipePass::Preview).await
}

/// Shows it again with other values and settled conflicts, or writes it.
pub(super) async fn act(visit: PageVisit) -> PageResult {
    let pass = match visit.form.get("act") {
        Some("apply") => RecipePass::Apply,
        _ => RecipePass::Preview,
    };
    respond(&visit, pass).await
}

async fn respond(visit: &PageVisit, pass: RecipePass) -> PageResult {
    let name = visit.path("name").to_owned();
    let fields = fields(visit, &name)?;
    let wish = RecipeUpdateInput {
        run: RecipeRunInput {
            recipe: name.clone(),
            values: read_all(&fields, &visit.form)?,
            answers: answers_of(&visit.form),
            ..RecipeRunInput::default()
        },
        resolutions: resolutions(&visit.form),
    };
    visit.use_cases.permit(Permission::RunRecipes)?;
    let outcome = match visit.use_cases.update_from_recipe(&wish, pass).await {
        Ok(outcome) => Ok(outcome),
        Err(error) => {
            let problem = ApiProblem::from(error);
            match is_about_the_form(&problem) {
                true => Err(problem),
                false => return Err(problem.into()),
            }
        }
    };
    if matches!(outcome, Ok(RecipeUpdateOutcome::Done(_))) {
        visit.note(("recipes.update", &name)).await;
    }
    let title = title(&name, &outcome);
    let body = html! {
        div class="head" { div {
            p class="small muted" { a href="/recipes" { "Recipes" } " / " a href={ "/recipes/" (encoded(&name)) } { (name) } }
            h1 { (title) }
            p class="muted" { "The recipe of today is merged into the files that it made before. What you have changed in them stays." }
        } }
        @match &outcome {
            Ok(RecipeUpdateOutcome::Done(report)) => section class="card" {
                h2 { "What was done" } (files(report))
                div class="actions more" { a class="btn" href={ "/recipes/" (encoded(&name)) } { "To the recipe" } }
            },
            _ => form method="post" action={ "/recipes/" (encoded(&name)) "/update" } { (proposal(visit, &fields, &outcome)) },
        }
    };
    let status = outcome
        .as_ref()
        .err()
        .map_or(StatusCode::OK, ApiProblem::status);
    Ok(page_with(visit, status, (NavPage::Recipes, &title), &body).await)
}

fn title(name: &str, outcome: &Result<RecipeUpdateOutcome, ApiProblem>) -> String {
    match outcome {
        Err(_) => format!("{name} cannot be updated like this"),
        Ok(RecipeUpdateOutcome::AnswersNeeded(_)) => format!("{name} has new questions"),
        Ok(RecipeUpdateOutcome::Done(report)) if report.conflicts > 0 => {
            format!(
                "{name} is updated; {} left in the files",
                conflicts(report.conflicts)
            )
        }
        Ok(RecipeUpdateOutcome::Done(_)) => format!("{name} is updated"),
        Ok(RecipeUpdateOutcome::Shown(report)) if report.conflicts > 0 => {
            format!(
                "{} of {name} with your edits to settle",
                conflicts(report.conflicts)
            )
        }
        Ok(RecipeUpdateOutcome::Shown(report)) => {
            match report
                .files
                .iter()
                .filter(|file| changes(file.status))
                .count()
            {
                0 => format!("{name} has nothing new for its files"),
                number => format!("{name} would update {}", count(number, "file", "files")),
            }
        }
    }
}

fn conflicts(number: usize) -> String {
    count(number, "conflict", "conflicts")
}

/// The fields of the variables, none of them needed: the values of the runs before are known.
fn fields(visit: &PageVisit, name: &str) -> Result<Vec<FormField>, app::Error> {
    let recipe = visit.use_cases.recipe(name)?;
    let variables = recipe.manifest.variables.iter();
    let wanted = variables.filter(|(_, variable)| variable.computed.is_none());
    let optional = wanted.map(|(name, variable)| {
        let mut field = field(name, variable);
        field.is_required = false;
        field.default = None;
        if field.kind == FieldKind::Flag {
            field.kind = FieldKind::Choice(vec![Value::Bool(true), Value::Bool(false)]);
        }
        field
    });
    Ok(optional.collect())
}

fn proposal(
    visit: &PageVisit,
    fields: &[FormField],
    outcome: &Result<RecipeUpdateOutcome, ApiProblem>,
) -> Markup {
    let can_write = matches!(outcome, Ok(RecipeUpdateOutcome::Shown(report)) if report.files.iter().any(|file| changes(file.status)));
    html! {
        div class="split split-build" {
            div {
                @match outcome {
                    Err(wrong) => p class="wrong" role="alert" { (wrong.detail()) @if let Some(hint) = wrong.hint_text() { " " (hint) } },
                    Ok(RecipeUpdateOutcome::Shown(report)) => (shown_files(report)),
                    Ok(RecipeUpdateOutcome::AnswersNeeded(needed)) => (questions(visit, needed)),
                    Ok(RecipeUpdateOutcome::Done(_)) => {},
                }
            }
            div {
                section class="card" {
                    @if let Ok(RecipeUpdateOutcome::Shown(report)) = outcome { h2 { "Files" } (files(report)) }
                    div class="actions" {
                        @if can_write { button class="primary" name="act" value="apply" { "Write the update" } }
                        button name="act" value="preview" { "Show it again" }
                    }
                    @if let Ok(RecipeUpdateOutcome::Shown(report)) = outcome {
                        @if !report.commands_not_run.is_empty() { p class="hint" { "An update runs no command. The recipe has: " @for command in &report.commands_not_run { code { (line(command)) } " " } } }
                        @for key in &report.answers_kept { p class="hint" { "The question of the answer " code { (key) } " reads differently now; the answer is kept." } }
                    }
                }
                @if !fields.is_empty() {
                    details class="card" open[outcome.is_err()] {
                        summary { "Other values" }
                        p class="hint" { "Empty means: as in the run before. A variable that is new may need one." }
                        @for field in fields { (field.markup(&visit.form)) }
                    }
                }
            }
        }
    }
}

fn changes(status: UpdateStatus) -> bool {
    matches!(
        status,
        UpdateStatus::Created
            | UpdateStatus::Updated
            | UpdateStatus::Merged
            | UpdateStatus::Conflicted
            | UpdateStatus::Moved
    )
}

fn words(status: UpdateStatus) -> (&'static str, &'static str) {
    match status {
        UpdateStatus::Created => ("ok", "new"),
        UpdateStatus::Updated => ("ok", "replaced"),
        UpdateStatus::Merged => ("ok", "merged"),
        UpdateStatus::Conflicted => ("bad", "conflict"),
        UpdateStatus::Unchanged => ("idle", "unchanged"),
        UpdateStatus::Moved => ("ok", "moved"),
        UpdateStatus::DeletedByUser => ("idle", "you deleted it"),
        UpdateStatus::Exists => ("hold", "another file is there"),
        UpdateStatus::NoLongerGenerated => ("idle", "not generated any more"),
    }
}

fn files(report: &UpdateReport) -> Markup {
    html! {
        ul class="plain" {
            @for file in &report.files {
                @let (class, word) = words(file.status);
                li class="small" { (state(class, word)) " " code { (file.path) } }
            }
        }
    }
}

fn shown_files(report: &UpdateReport) -> Markup {
    let marked: Vec<_> = report
        .files
        .iter()
        .filter_map(|file| Some((file, file.marked.as_ref()?)))
        .collect();
    let earlier: Vec<_> = report
        .files
        .iter()
        .filter(|file| file.status == UpdateStatus::Conflicted && file.marked.is_none())
        .collect();
    let plain: Vec<_> = report
        .files
        .iter()
        .filter(|file| file.marked.is_none() && !file.diff.is_empty())
        .collect();
    html! {
        @if marked.is_empty() && plain.is_empty() && earlier.is_empty() { (empty("Everything is up to date", &html! { p { "The files are as the recipe of today makes them, with your own edits." } })) }
        @for (at, (file, marked)) in marked.iter().enumerate() {
            section class="card settle" data-settle {
                h2 { (state("bad", "conflict")) " " code { (file.path) } }
                p class="hint" { "You and the recipe changed the same lines. Leave in the text what should be there, without the marks." }
                div class="actions needs-js" {
                    button type="button" data-take="ours" { "Keep yours" }
                    button type="button" data-take="theirs" { "Take the recipe's" }
                    button type="button" data-take="both" { "Keep both" }
                    button type="button" class="quiet" data-take="" { "Back to the marks" }
                    span class="hint" data-left aria-live="polite" {}
                }
                input type="hidden" name={ "r." (at) ".path" } value=(file.path);
                textarea hidden name={ "r." (at) ".marked" } aria-hidden="true" tabindex="-1" data-marked { "\n" (marked) }
                textarea class="mono" name={ "r." (at) ".text" } aria-label={ "Text of " (file.path) } rows="16" wrap="off" spellcheck="false" { "\n" (marked) }
            }
        }
        @if !marked.is_empty() { p class="hint" { "A conflict in a file that runs by itself, such as a workflow or a hook, stays: settle it in the file." } }
        @for file in &earlier { p class="why" { code { (file.path) } " still has the marks of an update before. Settle them in the file first." } }
        @for file in &plain { (diff::file(file.path.as_str(), &file.diff, LINES_MAX)) }
    }
}

/// The new questions of the recipe.
fn questions(visit: &PageVisit, needed: &Value) -> Markup {
    html! {
        section class="card" {
            h2 { "Questions that are new" }
            @for question in needed["questions"].as_array().into_iter().flatten() {
                @let key = question["key"].as_str().unwrap_or_default();
                @let id = format!("q.{key}");
                div class="field" {
                    label for=(id) dir="auto" { (question["prompt"].as_str().map_or_else(|| shown(&question["key"]), str::to_owned)) }
                    textarea id=(id) name=(id) rows="3" dir="auto" { "\n" (visit.form.get(&id).unwrap_or_default()) }
                }
            }
        }
    }
}

/// The files that a form settles: those whose text is another than the one with the marks.
fn resolutions(form: &FormData) -> Vec<SettledConflict> {
    let mut found = Vec::new();
    for at in 0.. {
        let field = |name: &str| form.get(&format!("r.{at}.{name}"));
        let (Some(path), Some(marked), Some(text)) =
            (field("path"), field("marked"), field("text"))
        else {
            break;
        };
        let Ok(path) = path.parse() else { continue };
        if text != marked {
            found.push(SettledConflict {
                path,
                marked: marked.to_owned(),
                text: text.to_owned(),
            });
        }
    }
    found
}
