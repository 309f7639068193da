//! The builder: the text of a workflow, its picture, and a panel for what is selected in it.
//!
//! Everything is one form. Each act on the diagram is a button in it that sends the text along and gets the
//! edited text back: as a whole page, or as parts where a module asks for them.

use app::workflows::LoadedWorkflow;
use app::{Permission, TextSave};
use axum::http::StatusCode;
use axum::response::Response;
use flow::{DrawingEdit, DrawnKind, ProblemSeverity, TextHash};
use maud::{Markup, html};
use serde_json::Value;

use super::form::FormData;
use super::frame::{NavPage, page_with};
use super::panel::{self, PanelChoice};
use super::parts::{count, line, state};
use super::picture::{DiagramMarks, NodeMark, editable};
use super::samples::RunSample;
use super::visit::{PageResult, PageVisit, fragment};
use super::workflows::problems;
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

/// The text that a new workflow begins with.
const NEW_TEXT: &str = "graph TD
    A[Prepare] --> B(Review it)
    B --> C{Good enough?}
    C -->|\"output.approved == true\"| D[Publish]
    C -->|default| A

%% === WORKFLOW_CONFIG ===
%% @A: { \"handler\": \"no_op\" }
%% @B: { \"prompt\": \"Is it good enough to be published?\" }
%% @D: { \"handler\": \"no_op\" }
%% === END_CONFIG ===
";

/// Everything that the page of an edited text shows.
struct EditorView<'v> {
    /// Empty for a workflow that is new.
    name: &'v str,
    seen: Option<&'v str>,
    sheet: &'v LoadedWorkflow,
    choice: PanelChoice,
    wrong: Option<&'v ApiProblem>,
}

/// The builder of a workflow that is there.
pub(super) async fn edit(visit: PageVisit) -> PageResult {
    let name = visit.path("name").to_owned();
    let sheet = visit.use_cases.sheet(&name).await?;
    let seen = TextHash::of(&sheet.source).as_str().to_owned();
    let view = EditorView {
        name: &name,
        seen: Some(&seen),
        sheet: &sheet,
        choice: PanelChoice::read(&visit.query),
        wrong: None,
    };
    Ok(whole(&visit, &view).await?)
}

/// The builder with a text to begin with.
pub(super) async fn new(visit: PageVisit) -> PageResult {
    let copied = match visit.query.text("copy") {
        Some(name) => Some(visit.use_cases.sheet(name).await?.source),
        None => None,
    };
    let text = match (copied, visit.query.get("from")) {
        (Some(text), _) => text,
        (None, Some("nothing")) => "graph TD\n".to_owned(),
        (None, _) => NEW_TEXT.to_owned(),
    };
    let sheet = visit.use_cases.check_text("new", text).await?;
    let view = EditorView {
        name: "",
        seen: None,
        sheet: &sheet,
        choice: PanelChoice::read(&visit.query),
        wrong: None,
    };
    Ok(whole(&visit, &view).await?)
}

async fn whole(visit: &PageVisit, view: &EditorView<'_>) -> Result<Response, ApiProblem> {
    let EditorView { name, sheet, .. } = view;
    let title = title(name, sheet);
    let may = visit.may(Permission::EditWorkflows);
    let typed = &visit.form;
    let panel = panel_of(visit, view).await?;
    let body = html! {
        div class="head" { div {
            p class="small muted" { a href="/workflows" { "Workflows" } @if !name.is_empty() { " / " a href={ "/workflows/" (encoded(name)) } { (name) } } }
            h1 dir="auto" { (title) }
            @if name.is_empty() { p class="small muted" { "Click a step to change it, add the next one behind it, then save it under a name. " a href="/builder?from=nothing" { "Begin with nothing" } " · " a href="/builder" { "Begin with an example" } } }
        } }
        div id="wrong" { (wrong_line(view.wrong)) }
        form class="builder" method="post" action="/builder" data-builder="/builder/check" {
            div class="text" {
                label for="text" { "Text" }
                div class="paper" {
                    div class="marks mono" id="marks" aria-hidden="true" {}
                    textarea id="text" name="text" class="mono" spellcheck="false" wrap="off" rows="22" { "\n" (sheet.source) }
                }
                @if let Some(seen) = view.seen { input type="hidden" name="seen" value=(seen); }
                div class="save" {
                    @if name.is_empty() {
                        div class="field" { label for="name" { "Name" } input id="name" name="name" value=(typed.get("name").map_or_else(|| copy_name(visit), str::to_owned)) placeholder="release-check"; }
                    } @else { input type="hidden" name="name" value=(name); }
                    @if may { div class="field" { label for="message" { "What changes, in a line" } input id="message" name="message" value=(typed.get("message").unwrap_or_default()); } }
                    div class="actions" {
                        @if may { button class="primary" { "Save a version" } }
                        button formaction="/builder/look" { "Draw and check" }
                    }
                }
            }
            div id="checked" { (checked(view)) }
            div id="panel" { (panel) }
        }
        dialog id="rename" aria-label="Rename the step" {
            form method="dialog" {
                div class="field" { label for="rename-field" { "Another name" } input id="rename-field"; }
                div class="actions" { button class="primary" value="ok" { "Rename" } button value="" formnovalidate { "Leave it" } }
            }
        }
    };
    let status = view.wrong.map_or(StatusCode::OK, ApiProblem::status);
    Ok(page_with(visit, status, (NavPage::Workflows, &title), &body).await)
}

/// The name that a copy begins with.
fn copy_name(visit: &PageVisit) -> String {
    let copied = visit.query.text("copy");
    copied.map_or_else(String::new, |name| format!("{name}-copy"))
}

fn wrong_line(wrong: Option<&ApiProblem>) -> Markup {
    html! {
        @if let Some(wrong) = wrong { p class="wrong" role="alert" { (wrong.detail()) @if let Some(hint) = wrong.hint_text() { " " (hint) } } }
    }
}

async fn panel_of(visit: &PageVisit, view: &EditorView<'_>) -> Result<Markup, ApiProblem> {
    let sample = RunSample::of(&visit.use_cases, view.sheet).await?;
    let users = visit.use_cases.users(store::UserFilter::Everybody).await?;
    let people: Vec<String> = users
        .iter()
        .map(|user| user.slug.as_str().to_owned())
        .collect();
    Ok(panel::markup(view.sheet, &view.choice, &sample, &people))
}

/// The sentence about a text that is edited.
fn title(name: &str, sheet: &LoadedWorkflow) -> String {
    let shown = match name {
        "" => "A new workflow",
        name => name,
    };
    match sheet.problems.len() {
        0 => format!("{shown} has no problems"),
        number => format!("{shown} has {}", count(number, "problem", "problems")),
    }
}

/// The picture, the problems and the steps of a text, with the title that the page gets.
fn checked(view: &EditorView<'_>) -> Markup {
    let sheet = view.sheet;
    html! {
        div hidden data-title=(title(view.name, sheet)) {}
        (picture(sheet))
        @if sheet.problems.is_empty() { p class="why" { (state("ok", "no problems")) " It can be saved and run." } } @else { (problems(sheet)) }
        @if let Some(workflow) = &sheet.workflow {
            details class="card" {
                summary { (count(workflow.steps().len(), "step", "steps")) }
                ul class="plain steps" {
                    @for step in workflow.steps() {
                        li data-step=(step.id.as_str()) data-line=(step.spot.line) {
                            code { (step.id.as_str()) } " " span dir="auto" { (line(&step.name)) } " "
                            span class="small muted" { (step.step_type.name()) " · line " (step.spot.line) @if let Some(name) = &step.config.default_assignee_id { " · " (name) } }
                        }
                    }
                }
            }
        }
    }
}

/// The picture with problems on their nodes.
fn picture(sheet: &LoadedWorkflow) -> Markup {
    let mut marks = DiagramMarks::editable();
    let lines = sheet.source.lines();
    let mut wrong: Vec<(String, &str)> = Vec::new();
    if let Ok(document) = mermaid::parse(&sheet.source) {
        for problem in sheet
            .problems
            .iter()
            .filter(|problem| problem.severity == ProblemSeverity::Error)
        {
            let text = lines
                .clone()
                .nth(problem.line.saturating_sub(1))
                .unwrap_or_default();
            let nodes = document.diagram().nodes.iter();
            let about = nodes.filter(|node| {
                is_about(
                    text,
                    &node.id,
                    document.line_of(document.node_span(&node.id).unwrap_or_default())
                        == problem.line,
                )
            });
            wrong.extend(about.map(|node| (node.id.clone(), problem.message.as_str())));
        }
    }
    for (node, message) in wrong {
        let mark = NodeMark {
            class: "has-problem",
            glyph: '!',
            word: message.to_owned(),
        };
        marks.mark(&node, mark);
    }
    let is_empty = mermaid::parse(&sheet.source).is_ok_and(|read| read.diagram().nodes.is_empty());
    match editable(&sheet.source, &marks) {
        Some(_) if is_empty => {
            html! { div class="diagram" id="diagram" { p class="muted" { "Nothing is drawn yet: add the first step in the panel." } } }
        }
        Some(drawn) => drawn,
        None => html! { p class="why" { "The text is no diagram yet; there is nothing to draw." } },
    }
}

/// Returns whether a line with a problem is about a node: its config, or its place in the diagram.
fn is_about(text: &str, id: &str, is_its_line: bool) -> bool {
    let config = text.trim_start().strip_prefix("%% @");
    match config.and_then(|rest| rest.strip_prefix(id)) {
        Some(rest) => rest.starts_with(':'),
        None => is_its_line && !text.trim_start().starts_with("%%"),
    }
}

/// Draws and checks a text: what the builder's module asks for while a person types.
pub(super) async fn check(visit: PageVisit) -> PageResult {
    let sheet = typed_sheet(&visit, None).await?;
    parts(&visit, &sheet, PanelChoice::read(&visit.form), None).await
}

async fn typed_sheet(
    visit: &PageVisit,
    text: Option<String>,
) -> Result<LoadedWorkflow, ApiProblem> {
    let text = text.unwrap_or_else(|| visit.form.get("text").unwrap_or_default().to_owned());
    let name = visit.form.text("name").unwrap_or("new");
    Ok(visit.use_cases.check_text(name, text).await?)
}

/// The parts of the page that change with the text.
async fn parts(
    visit: &PageVisit,
    sheet: &LoadedWorkflow,
    choice: PanelChoice,
    wrong: Option<&ApiProblem>,
) -> PageResult {
    // A workflow that is there is named by its own title; a new one has no name yet.
    let name = match visit.form.text("seen") {
        Some(_) => visit.form.text("name").unwrap_or_default(),
        None => "",
    };
    let view = EditorView {
        name,
        seen: None,
        sheet,
        choice,
        wrong,
    };
    let panel = panel_of(visit, &view).await?;
    Ok(fragment(html! {
        textarea data-part="text" { "\n" (sheet.source) }
        div data-part="wrong" { (wrong_line(wrong)) }
        div data-part="checked" { (checked(&view)) }
        div data-part="panel" { (panel) }
    }))
}

/// The same as a whole page, for browsers without modules.
pub(super) async fn look(visit: PageVisit) -> PageResult {
    let sheet = typed_sheet(&visit, None).await?;
    respond_typed(&visit, &sheet, PanelChoice::read(&visit.form), None).await
}

async fn respond_typed(
    visit: &PageVisit,
    sheet: &LoadedWorkflow,
    choice: PanelChoice,
    wrong: Option<&ApiProblem>,
) -> PageResult {
    let seen = visit.form.text("seen").map(str::to_owned);
    let given = visit.form.text("name").unwrap_or_default().to_owned();
    let name = match &seen {
        Some(_) => given.as_str(),
        None => "",
    };
    let view = EditorView {
        name,
        seen: seen.as_deref(),
        sheet,
        choice,
        wrong,
    };
    Ok(whole(visit, &view).await?)
}

/// Does something to the diagram: an edit of the text that was sent, which is not saved.
pub(super) async fn draw(visit: PageVisit) -> PageResult {
    let text = visit.form.get("text").unwrap_or_default();
    let mut choice = PanelChoice::read(&visit.form);
    let mut drawn = text.to_owned();
    let mut wrong = None;
    match edits(&visit.form, text) {
        Ok(edits) => {
            for edit in edits {
                match flow::redraw(&drawn, &edit) {
                    Ok(next) => {
                        drawn = next.source;
                        choice = PanelChoice::after(&edit, next.step, choice);
                    }
                    Err(error) => wrong = Some(refusal(&error)),
                }
            }
        }
        Err(problem) => wrong = Some(problem),
    }
    let sheet = typed_sheet(&visit, Some(drawn)).await?;
    match visit.form.get("parts") {
        Some(_) => parts(&visit, &sheet, choice, wrong.as_ref()).await,
        None => respond_typed(&visit, &sheet, choice, wrong.as_ref()).await,
    }
}

fn refusal(error: &flow::Error) -> ApiProblem {
    let first = error.problems().first();
    let message = first.map_or_else(String::new, |problem| problem.message.clone());
    let problem = ApiProblem::new(ProblemCode::Invalid, message);
    match first.and_then(|problem| problem.hint.clone()) {
        Some(hint) => problem.hint(&hint),
        None => problem,
    }
}

/// Reads which act a form asks for.
fn edits(form: &FormData, text: &str) -> Result<Vec<DrawingEdit>, ApiProblem> {
    let owned = |name: &str| form.required(name).map(str::to_owned);
    let edge = || {
        let number = form.required("edge")?;
        number.parse::<usize>().map_err(|_| {
            ApiProblem::new(
                ProblemCode::Invalid,
                format!("`{number}` is no number of an edge"),
            )
        })
    };
    let new_kind = || kind_of(form.get("add-kind").unwrap_or("machine"));
    let name = form.text("add-name").unwrap_or("New step").to_owned();
    let label = form.get("label").unwrap_or_default().to_owned();
    Ok(match form.get("act").unwrap_or_default() {
        "add" => vec![DrawingEdit::Add {
            after: form.text("step").map(str::to_owned),
            kind: new_kind()?,
            name,
        }],
        "insert" => vec![DrawingEdit::Insert {
            edge: edge()?,
            kind: new_kind()?,
            name,
        }],
        "connect" => vec![DrawingEdit::Connect {
            from: owned("step")?,
            to: owned("to")?,
            label: String::new(),
        }],
        "relabel" => vec![DrawingEdit::Relabel {
            edge: edge()?,
            label,
        }],
        "disconnect" => vec![DrawingEdit::Disconnect { edge: edge()? }],
        "delete" => vec![DrawingEdit::Delete {
            step: owned("step")?,
        }],
        "rename" => vec![DrawingEdit::Rename {
            step: owned("step")?,
            name: owned("new-name")?,
        }],
        "apply" => applied(form, text)?,
        other => {
            let message = format!("`{other}` is nothing that can be drawn");
            return Err(ApiProblem::new(ProblemCode::BadRequest, message));
        }
    })
}

fn kind_of(word: &str) -> Result<DrawnKind, ApiProblem> {
    let found = DrawnKind::named(word);
    found.ok_or_else(|| {
        ApiProblem::new(ProblemCode::Invalid, format!("`{word}` is no kind of step"))
    })
}

/// The edits of the step's panel: only what differs from the text.
fn applied(form: &FormData, text: &str) -> Result<Vec<DrawingEdit>, ApiProblem> {
    let step = form.required("step")?.to_owned();
    let mut edits = Vec::new();
    let kind = form.text("kind").map(kind_of).transpose()?;
    if let Some(kind) = kind.filter(|kind| flow::drawn_kind(text, &step) != Some(*kind)) {
        edits.push(DrawingEdit::Retype {
            step: step.clone(),
            kind,
        });
    }
    if let Some(name) = form
        .text("new-name")
        .filter(|name| form.text("old-name") != Some(name))
    {
        edits.push(DrawingEdit::Rename {
            step: step.clone(),
            name: name.to_owned(),
        });
    }
    let written = flow::settings_of(text, &step);
    let mut values = panel::read(form, &written)?;
    // A person does not need the handler that does nothing.
    if kind == Some(DrawnKind::Person) && written.get("handler") == Some(&Value::from("no_op")) {
        values.retain(|(name, _)| name != "handler");
        values.push(("handler".to_owned(), None));
    }
    if !values.is_empty() {
        edits.push(DrawingEdit::Configure { step, values });
    }
    Ok(edits)
}

/// Saves a version. A text that is no workflow, or one that another has changed, is shown again.
pub(super) async fn save(visit: PageVisit) -> PageResult {
    let form: &FormData = &visit.form;
    let name = form.text("name").unwrap_or_default().to_owned();
    let save = TextSave {
        name: name.clone(),
        source: form.get("text").unwrap_or_default().to_owned(),
        seen: form.text("seen").map(str::to_owned),
        message: form.text("message").unwrap_or_default().to_owned(),
    };
    let wrong = match name.is_empty() {
        true => ApiProblem::new(ProblemCode::Invalid, "the workflow has no name yet")
            .hint("write one below the text"),
        false => match visit.use_cases.save_workflow(save).await {
            Ok(_) => {
                let to = format!("/workflows/{}", encoded(&name));
                return visit.done(("workflows.save", &name), &to, "saved").await;
            }
            Err(error) => error.into(),
        },
    };
    let sheet = typed_sheet(&visit, None).await?;
    respond_typed(&visit, &sheet, PanelChoice::read(&visit.form), Some(&wrong)).await
}
