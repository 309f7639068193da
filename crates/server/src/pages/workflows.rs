//! One workflow: its diagram, its start form, its last runs and its versions.

use app::workflows::LoadedWorkflow;
use app::{Permission, RunRequest};
use axum::http::StatusCode;
use axum::response::Response;
use flow::ProblemSeverity;
use flow::engine::RunStatus;
use maud::{Markup, html};
use serde_json::{Value, json};
use store::{RunFilter, WorkflowVersion};

use super::form::{FormField, any_value, read_all};
use super::frame::{NavPage, page, page_with};
use super::parts::{count, line, state, text_block, when};
use super::picture::{DiagramMarks, diagram};
use super::runs;
use super::visit::{PageProblem, PageResult, PageVisit};
use super::workflow_list::RunStatistics;
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

/// How many runs of a workflow its page lists.
const RUNS_MAX: usize = 8;
/// How many runs are read for how a run usually goes.
const READ_MAX: usize = 60;

pub(super) async fn show(visit: PageVisit) -> PageResult {
    let name = visit.path("name").to_owned();
    respond(&visit, &name, None).await.map_err(PageProblem)
}

async fn respond(
    visit: &PageVisit,
    name: &str,
    wrong: Option<&ApiProblem>,
) -> Result<Response, ApiProblem> {
    let use_cases = &visit.use_cases;
    let sheet = use_cases.sheet(name).await?;
    let filter = RunFilter {
        workflow: Some(sheet.title().to_owned()),
        is_top: true,
        ..RunFilter::default()
    };
    let read = use_cases.runs(&filter, READ_MAX).await?;
    let statistics = RunStatistics::of(&read, sheet.title());
    let last: Vec<_> = read
        .iter()
        .filter(|run| run.name.as_deref() == Some(sheet.title()))
        .take(RUNS_MAX)
        .collect();
    let versions = use_cases.workflow_versions(name, None).await?;
    let title = match (sheet.is_fine(), last.first().map(|run| run.status)) {
        (false, _) => format!("{name} has problems and cannot run"),
        (true, Some(RunStatus::Running)) => format!("{name} is running"),
        (true, Some(status)) => format!("{name} can be started; its last run is {}", status.name()),
        (true, None) => format!("{name} can be started; it has never run"),
    };
    let link = encoded(name);
    let body = html! {
        div class="head" {
            div {
                p class="small muted" { a href="/workflows" { "Workflows" } }
                h1 dir="auto" { (title) }
                p class="small muted" {
                    @if let Some(version) = versions.first() { "Version " (version.number) " by " (version.author) ", " (when(version.created_ms, visit.now_ms)) } @else { "From its file; no version is saved yet." }
                }
            }
            div class="actions" {
                a class="btn" href={ "/workflows/" (link) "/edit" } { @if visit.may(Permission::EditWorkflows) { "Edit" } @else { "See the text" } }
                @if visit.may(Permission::EditWorkflows) { a class="btn quiet" href={ "/builder?copy=" (link) } { "Duplicate" } }
                a class="btn quiet" href={ "/workflows/" (link) "/export" } download { "Export" }
            }
        }
        div class="split split-run" {
            div { (picture(&sheet)) }
            div {
                @if visit.may(Permission::ControlRuns) && sheet.is_fine() { (start_card(visit, &sheet, (wrong, &statistics))) }
                @if !sheet.problems.is_empty() { section class="card" { h2 { "Problems" } (problems(&sheet)) } }
                section class="card" data-live="runs" {
                    h2 { "Last runs " (statistics.sparkline()) }
                    @if last.is_empty() { p class="muted" { "None yet." } }
                    div class="flat" { @for run in &last { (runs::row(run, visit.now_ms)) } }
                }
                (version_list(visit, &versions))
            }
        }
    };
    let status = wrong.map_or(StatusCode::OK, ApiProblem::status);
    Ok(page_with(visit, status, (NavPage::Workflows, &title), &body).await)
}

pub(super) fn picture(sheet: &LoadedWorkflow) -> Markup {
    match &sheet.workflow {
        Some(workflow) => diagram(workflow.document(), &DiagramMarks::default()),
        None => {
            html! { p class="why" { "The text is no workflow yet; there is nothing to draw." } }
        }
    }
}

/// The fields that a run is started with: of `@input`, or the names that steps read.
pub(super) fn input_fields(sheet: &LoadedWorkflow) -> Vec<FormField> {
    let Some(workflow) = &sheet.workflow else {
        return Vec::new();
    };
    if let Some(fields) = workflow.input_schema().and_then(FormField::all_of) {
        return fields;
    }
    let mut names: Vec<String> = Vec::new();
    let reads = workflow.steps().iter().flat_map(|step| &step.reads);
    for reference in reads {
        if let [first, name, ..] = reference.path.as_slice()
            && first == "input"
            && !names.contains(name)
        {
            names.push(name.clone());
        }
    }
    names
        .iter()
        .map(|name| FormField::of(name, &json!({}), false))
        .collect()
}

fn start_card(
    visit: &PageVisit,
    sheet: &LoadedWorkflow,
    (wrong, statistics): (Option<&ApiProblem>, &RunStatistics),
) -> Markup {
    let fields = input_fields(sheet);
    html! {
        section class="card" {
            h2 { "Start a run" }
            @if let Some(words) = statistics.usual() { p class="hint" { (words) } }
            @if let Some(wrong) = wrong { p class="wrong" role="alert" { (wrong.detail()) @if let Some(hint) = wrong.hint_text() { " " (hint) } } }
            form method="post" action={ "/workflows/" (encoded(&sheet.name)) "/start" } {
                @for field in &fields { (field.markup(&visit.form)) }
                @if fields.is_empty() {
                    details { summary class="small muted" { "No step reads an input; give one anyway" }
                        div class="field" { label for="input" { "Input, as JSON" } textarea id="input" name="input" rows="2" { (visit.form.get("input").unwrap_or_default()) } } }
                }
                button class="primary" { "Start" }
            }
        }
    }
}

fn version_list(visit: &PageVisit, versions: &[WorkflowVersion]) -> Markup {
    html! {
        @if !versions.is_empty() {
            section class="card" {
                h2 { (count(versions.len(), "version", "versions")) }
                ul class="plain" {
                    @for version in versions.iter().take(20) {
                        li { a href={ "/workflows/" (encoded(&version.name)) "/versions/" (version.number) } { "Version " (version.number) } " "
                            @if version.number > 1 { a class="small" href={ "/workflows/" (encoded(&version.name)) "/changes/" (version.number) } { "what changed" } " " }
                            span class="small muted" dir="auto" { (version.author) " · " (when(version.created_ms, visit.now_ms)) " · " (line(&version.message)) } }
                    }
                }
            }
        }
    }
}

/// One version with its text and picture.
pub(super) async fn version(visit: PageVisit) -> PageResult {
    let name = visit.path("name").to_owned();
    let number = visit.path("number").parse().map_err(|_| {
        ApiProblem::new(
            ProblemCode::NotFound,
            format!("`{}` is no number of a version", visit.path("number")),
        )
    })?;
    let (version, text) = visit.use_cases.workflow_version(&name, number).await?;
    let sheet = visit.use_cases.check_text(&name, text.clone()).await?;
    let title = format!("Version {number} of {name}");
    let body = html! {
        div class="head" { div {
            p class="small muted" { a href="/workflows" { "Workflows" } " / " a href={ "/workflows/" (encoded(&name)) } { (name) } }
            h1 dir="auto" { (title) }
            p class="small muted" dir="auto" { (version.author) " · " (when(version.created_ms, visit.now_ms)) " · " (line(&version.message)) }
        } }
        div class="split split-run" { div { (picture(&sheet)) } section class="card" { h2 { "Text" } (text_block(&text)) } }
    };
    Ok(page(&visit, NavPage::Workflows, &title, &body).await)
}

/// Starts a run with what the form gives.
pub(super) async fn start(visit: PageVisit) -> PageResult {
    let name = visit.path("name").to_owned();
    match begin(&visit, &name).await {
        Ok(run) => {
            let to = format!("/runs/{}", encoded(&run));
            visit.done(("runs.start", &name), &to, "started").await
        }
        Err(problem) => respond(&visit, &name, Some(&problem))
            .await
            .map_err(PageProblem),
    }
}

async fn begin(visit: &PageVisit, name: &str) -> Result<String, ApiProblem> {
    let sheet = visit.use_cases.sheet(name).await?;
    if !sheet.is_fine() {
        let message = format!("`{name}` has problems and cannot run");
        return Err(ApiProblem::new(ProblemCode::Invalid, message).hint("edit it first"));
    }
    let fields = input_fields(&sheet);
    let input = match visit.form.text("input").filter(|_| fields.is_empty()) {
        Some(text) => any_value(text).map_err(|why| {
            ApiProblem::new(
                ProblemCode::Invalid,
                format!("the input cannot be read: {why}"),
            )
        })?,
        None => Value::Object(read_all(&fields, &visit.form)?),
    };
    let begin = RunRequest {
        input,
        ..RunRequest::default()
    };
    let run = visit.use_cases.start(&sheet, begin).await?;
    Ok(run.to_string())
}

pub(super) fn problems(sheet: &LoadedWorkflow) -> Markup {
    html! {
        ul class="problems" {
            @for problem in &sheet.problems {
                @let class = match problem.severity { ProblemSeverity::Error => "bad", _ => "wait" };
                li class=(class) data-line=(problem.line) data-column=(problem.column) data-width=(problem.width) {
                    (state(class, &format!("line {}", problem.line))) " " span dir="auto" { (problem.message) }
                    @if let Some(hint) = &problem.hint { " " span class="muted" { (hint) } }
                }
            }
        }
    }
}
