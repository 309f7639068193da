//! Tries a step of a text that is edited: its texts filled in, its conditions followed, nothing run.

use flow::expression;
use flow::{EdgeCondition, StepType, Workflow};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::parts::{line, state, text_block};
use super::visit::{PageResult, PageVisit, fragment};
use crate::problem::{ApiProblem, ProblemCode};

/// Answers with what the step would do.
pub(super) async fn respond(visit: PageVisit) -> PageResult {
    let text = visit.form.get("text").unwrap_or_default().to_owned();
    let name = visit.form.text("name").unwrap_or("new");
    let sheet = visit.use_cases.check_text(name, text).await?;
    let tried = match &sheet.workflow {
        Some(workflow) => tried(workflow, &visit),
        None => Err(ApiProblem::new(
            ProblemCode::Invalid,
            "the text is no workflow yet: mend its problems first",
        )),
    };
    let shown = match tried {
        Ok(shown) => shown,
        Err(problem) => html! { p class="wrong" role="alert" { (problem.detail()) } },
    };
    Ok(fragment(html! { div data-part="tried" { (shown) } }))
}

fn tried(workflow: &Workflow, visit: &PageVisit) -> Result<Markup, ApiProblem> {
    let id = visit.form.required("step")?;
    let step = workflow.steps().iter().find(|step| step.id.as_str() == id);
    let Some(step) = step else {
        return Err(ApiProblem::new(
            ProblemCode::NotFound,
            format!("there is no step `{id}`"),
        ));
    };
    let sample = visit.form.text("sample").unwrap_or("{}");
    let values: Map<String, Value> = serde_json::from_str(sample).map_err(|cause| {
        ApiProblem::new(
            ProblemCode::Invalid,
            format!("the values are no JSON object: {cause}"),
        )
    })?;
    if step.step_type == StepType::Decision {
        return Ok(followed(workflow, id, &values));
    }
    let prompt = step.config.prompt.as_deref().unwrap_or_default();
    let mut texts = vec![("prompt".to_owned(), prompt.to_owned())];
    if let Some(path) = &step.config.items_path {
        texts.push(("itemsPath".to_owned(), format!("{{{{{path}}}}}")));
    }
    for (name, value) in step.config.config.iter().flatten() {
        if let Value::String(text) = value {
            texts.push((name.clone(), text.clone()));
        }
    }
    texts.retain(|(_, text)| !text.is_empty());
    Ok(html! {
        @if texts.is_empty() { p class="muted" { "It has no text to fill in." } }
        @for (name, text) in &texts {
            h3 { code { (name) } }
            @match expression::fill_prompt(text, &values) {
                Ok(filled) => {
                    (text_block(&filled.text))
                    @for unknown in &filled.unknown { p class="small" { (state("hold", "unknown")) " " code { (unknown) } } }
                },
                Err(error) => p class="wrong" { (error.to_string()) },
            }
        }
    })
}

/// Every edge of a decision with what its condition comes to, and the one that is taken.
fn followed(workflow: &Workflow, id: &str, values: &Map<String, Value>) -> Markup {
    let edges: Vec<_> = workflow
        .edges()
        .iter()
        .filter(|edge| edge.from.as_str() == id)
        .collect();
    let results: Vec<Option<Result<bool, String>>> = edges
        .iter()
        .map(|edge| match &edge.when {
            EdgeCondition::Condition(condition) => {
                Some(expression::condition(condition, values).map_err(|error| error.to_string()))
            }
            _ => None,
        })
        .collect();
    let first = results
        .iter()
        .position(|result| matches!(result, Some(Ok(true))));
    let default = edges
        .iter()
        .position(|edge| edge.when == EdgeCondition::Default);
    let taken = first.or(default);
    html! {
        ul class="edges" {
            @for (at, (edge, result)) in edges.iter().zip(&results).enumerate() {
                li class=[(taken == Some(at)).then_some("taken")] {
                    code { @match &edge.when { EdgeCondition::Condition(condition) => (condition), _ => "default" } }
                    " → " (line(edge.to.as_str())) " "
                    @match result {
                        Some(Ok(true)) => (state("ok", "true")),
                        Some(Ok(false)) => (state("idle", "false")),
                        Some(Err(error)) => { (state("bad", "cannot be evaluated")) " " span class="small muted" { (error) } },
                        None => {},
                    }
                    @if taken == Some(at) { " " strong { "taken" } }
                }
            }
        }
        @if taken.is_none() { p class="wrong" { "No edge is taken: the run would pause here." } }
    }
}
