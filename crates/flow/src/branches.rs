//! Interprets the labels of edges: the conditions of decisions, and the edges that follow a
//! failure.

use crate::config::StepType;
use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::id::StepId;
use crate::workflow::{EdgeCondition, WorkflowEdge, WorkflowStep};

/// Returns the edges with their conditions; `onError` in a config adds the edge it names.
pub(crate) fn resolve(
    steps: &[WorkflowStep],
    mut edges: Vec<WorkflowEdge>,
    problems: &mut Vec<WorkflowProblem>,
) -> Vec<WorkflowEdge> {
    for step in steps {
        match step.step_type {
            StepType::Decision => decision(step, &mut edges, problems),
            _ => errors(step, steps, &mut edges, problems),
        }
    }
    edges
}

fn decision(step: &WorkflowStep, edges: &mut [WorkflowEdge], problems: &mut Vec<WorkflowProblem>) {
    let mut defaults = 0;
    for edge in edges.iter_mut().filter(|edge| edge.from == step.id) {
        match meaning(step, edge) {
            Ok(when) => {
                defaults += usize::from(when == EdgeCondition::Default);
                edge.when = when;
            }
            Err(problem) => problems.push(problem),
        }
    }
    if defaults > 1 {
        let message = format!(
            "The decision `{}` has {defaults} default branches.",
            step.id
        );
        let problem = WorkflowProblem::error(WorkflowProblemCode::Branch, step.spot, message);
        problems.push(problem.hint("label the others with their conditions"));
    }
    let branches = step.config.branches.iter().flatten().enumerate();
    let targets = branches
        .map(|(at, branch)| {
            (
                format!("branches.{at}.targetStepId"),
                &branch.target_step_id,
            )
        })
        .chain((step.config.default_branch.iter()).map(|id| ("defaultBranch".to_owned(), id)));
    for (path, target) in targets {
        let drawn = edges
            .iter()
            .any(|edge| edge.from == step.id && edge.to.as_str() == target);
        if !drawn {
            let message = format!(
                "The config of `{}` has a branch to `{target}`, but the diagram has no such edge.",
                step.id
            );
            problems.push(WorkflowProblem::error(
                WorkflowProblemCode::Branch,
                step.value(&path),
                message,
            ));
        }
    }
}

/// Returns the condition of a decision's edge. The label may give it, or the config, or both if
/// they agree.
fn meaning(step: &WorkflowStep, edge: &WorkflowEdge) -> Result<EdgeCondition, WorkflowProblem> {
    let labelled = match edge.label.as_str() {
        "" => None,
        label if is_default(label) => Some(EdgeCondition::Default),
        label => Some(EdgeCondition::Condition(label.to_owned())),
    };
    let branches = step.config.branches.iter().flatten();
    let configured = branches
        .filter(|branch| branch.target_step_id == edge.to.as_str())
        .map(|branch| match &branch.condition {
            Some(condition) if !is_default(condition) => {
                EdgeCondition::Condition(condition.clone())
            }
            _ => EdgeCondition::Default,
        });
    let configured: Vec<EdgeCondition> = configured.collect();
    let by_default = step.config.default_branch.as_deref() == Some(edge.to.as_str());
    match (labelled, configured.as_slice()) {
        (Some(label), []) if !by_default || label == EdgeCondition::Default => Ok(label),
        (Some(label), known) if known.iter().any(|when| same(when, &label)) => Ok(label),
        (None, [only]) if !by_default => Ok(only.clone()),
        (None, []) if by_default || step.config.branches.is_none() => Ok(EdgeCondition::Default),
        (None, _) if by_default => Ok(EdgeCondition::Default),
        _ => {
            let message = format!(
                "The edge from `{}` to `{}` and the config of `{}` say different things.",
                step.id, edge.to, step.id
            );
            let problem = WorkflowProblem::error(WorkflowProblemCode::Branch, edge.spot, message);
            Err(problem.hint("say it once: on the edge"))
        }
    }
}

fn errors(
    step: &WorkflowStep,
    steps: &[WorkflowStep],
    edges: &mut Vec<WorkflowEdge>,
    problems: &mut Vec<WorkflowProblem>,
) {
    let target = step.config.on_error.as_deref();
    let mut found = false;
    for edge in edges.iter_mut().filter(|edge| edge.from == step.id) {
        if is_error(&edge.label) || target == Some(edge.to.as_str()) {
            found |= target.is_none_or(|target| target == edge.to.as_str());
            edge.when = EdgeCondition::OnError;
        } else if reads_output(&edge.label) {
            let message = format!(
                "The edge from `{}` has a condition, but `{}` is no decision: it would always be taken.",
                step.id, step.id
            );
            let problem = WorkflowProblem::error(WorkflowProblemCode::Branch, edge.spot, message);
            problems.push(problem.hint("put a decision `{…}` between the two steps"));
        }
    }
    let known = |id: &str| steps.iter().any(|step| step.id.as_str() == id);
    match target {
        Some(target) if !known(target) => {
            let message = format!(
                "`onError` of `{}` names `{target}`, which is no step.",
                step.id
            );
            let spot = step.value("onError");
            problems.push(WorkflowProblem::error(
                WorkflowProblemCode::UnknownStep,
                spot,
                message,
            ));
        }
        Some(target) if !found => edges.push(WorkflowEdge {
            from: step.id.clone(),
            to: StepId::new(target),
            when: EdgeCondition::OnError,
            label: "onError".to_owned(),
            spot: step.value("onError"),
            text: None,
        }),
        _ => {}
    }
}

fn is_default(label: &str) -> bool {
    matches!(folded(label).as_str(), "default" | "else" | "otherwise")
}

fn is_error(label: &str) -> bool {
    matches!(folded(label).as_str(), "onerror" | "error")
}

fn folded(label: &str) -> String {
    let letters = label.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn same(left: &EdgeCondition, right: &EdgeCondition) -> bool {
    match (left, right) {
        (EdgeCondition::Condition(left), EdgeCondition::Condition(right)) => {
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            squeezed(left) == squeezed(right)
        }
        (left, right) => left == right,
    }
}

/// Tells whether a label is an expression over the state of a run, or contains one, and is not
/// plain words.
fn reads_output(label: &str) -> bool {
    let Ok(references) = expr::references(label) else {
        let words = label.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
        return words.into_iter().any(|word| {
            let path = word.split_once('.').filter(|(_, rest)| !rest.is_empty());
            path.is_some_and(|(name, _)| matches!(name, "output" | "steps" | "input"))
        });
    };
    references.iter().any(|reference| {
        reference.path.len() > 1
            && matches!(
                reference.path.first().map(String::as_str),
                Some("output" | "steps" | "input")
            )
    })
}
