//! Determines the type of a step: from its config, or else from its shape and label. There is no
//! third way.

use mermaid::DiagramNode;

use crate::config::{ExecutionMode, StepConfig, StepType, TimeSpan};
use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::line_span::LineSpan;

/// The type of a node, with the name that people see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepKind {
    pub(crate) step_type: StepType,
    pub(crate) execution: ExecutionMode,
    /// The label without `Each:`, `Run:` or `Join:`.
    pub(crate) name: String,
}

/// Returns the type of a node, or the problem that makes it ambiguous.
pub(crate) fn kind(
    node: &DiagramNode,
    config: &StepConfig,
    spot: impl Fn(&str) -> LineSpan,
) -> Result<StepKind, WorkflowProblem> {
    if node.id == "%%" {
        return Err(ambiguous(node, spot("")));
    }
    let label = one_line(&node.label.text);
    let shaped = match is_wait(node, &label, config) {
        true => Some((StepType::Wait, ExecutionMode::Automated)),
        false => shaped(node, &label),
    };
    let (step_type, execution) = match (config.step_type, shaped) {
        (Some(given), Some(shaped)) => (given, shaped.1),
        (Some(given), None) => (given, ExecutionMode::Automated),
        (None, Some(shaped)) => shaped,
        (None, None) => return Err(ambiguous(node, spot(""))),
    };
    let configured = match (config.execution, config.old_execution) {
        (Some(new), Some(old)) if new != old => {
            let message = format!(
                "`execution` and `type` of `{}` say different things.",
                node.id
            );
            let problem =
                WorkflowProblem::error(WorkflowProblemCode::Setting, spot("type"), message);
            return Err(problem.hint("`type` is the old name of `execution`: leave it out"));
        }
        (new, old) => new.or(old),
    };
    let name = config.name.clone();
    Ok(StepKind {
        step_type,
        execution: configured.unwrap_or(execution),
        name: name.unwrap_or_else(|| without_prefix(&label).to_owned()),
    })
}

/// Returns the label after `Run:`, which names the subflow where the config does not.
pub(crate) fn after_prefix<'l>(label: &'l str, word: &str) -> Option<&'l str> {
    let (prefix, rest) = label.split_once(':')?;
    prefix
        .trim()
        .eq_ignore_ascii_case(word)
        .then(|| rest.trim())
}

fn shaped(node: &DiagramNode, label: &str) -> Option<(StepType, ExecutionMode)> {
    let automated = |step_type| Some((step_type, ExecutionMode::Automated));
    match node.shape.family()? {
        "square" if begins_with_join(label) => automated(StepType::Join),
        "square" => automated(StepType::Task),
        "round" => Some((StepType::Task, ExecutionMode::Manual)),
        "diamond" => automated(StepType::Decision),
        "subroutine" if after_prefix(label, "each").is_some() => automated(StepType::Foreach),
        "subroutine" if after_prefix(label, "run").is_some() => automated(StepType::Subflow),
        "subroutine" if after_prefix(label, "join").is_some() => automated(StepType::Join),
        _ => None,
    }
}

/// Tells whether a node is a wait: the shape of a delay, or `[Wait: 2h]`. Any other label that
/// begins with Wait needs a config that says what it waits for.
fn is_wait(node: &DiagramNode, label: &str, config: &StepConfig) -> bool {
    if matches!(node.shape.name(), "delay" | "half-rounded-rectangle") {
        return true;
    }
    let rest = after_prefix(label, "wait").filter(|_| node.shape.family() == Some("square"));
    let is_told = config.wait_for.is_some() || config.until.is_some() || config.signal.is_some();
    rest.is_some_and(|rest| is_told || TimeSpan::read(rest).is_some())
}

fn begins_with_join(label: &str) -> bool {
    let word = label.split(|c: char| !c.is_alphanumeric()).next();
    word.is_some_and(|word| word.eq_ignore_ascii_case("join"))
}

fn without_prefix(label: &str) -> &str {
    let words = ["each", "run", "join", "wait"];
    let rest = words.iter().find_map(|word| after_prefix(label, word));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(label)
}

fn ambiguous(node: &DiagramNode, spot: LineSpan) -> WorkflowProblem {
    if node.id == "%%" {
        let message = "A line with nothing but `%%` is a node to Mermaid.";
        let problem = WorkflowProblem::error(WorkflowProblemCode::AmbiguousStep, spot, message);
        return problem.hint("write a space after it: `%% `");
    }
    let message = format!(
        "What `{}` does cannot be told from its shape `{}`.",
        node.id,
        node.shape.name()
    );
    let problem = WorkflowProblem::error(WorkflowProblemCode::AmbiguousStep, spot, message);
    problem.hint(match node.shape.family() {
        Some("subroutine") => {
            "begin the label with `Each:`, `Run:` or `Join:`, or set `stepType` in the config block"
        }
        Some("stadium" | "circle" | "doublecircle") => {
            "a run begins at the steps that no edge leads to and ends where none leads on: leave it \
             out, or let it do nothing with `{ \"stepType\": \"task\", \"handler\": \"no_op\" }` in the \
             config block"
        }
        _ => {
            "`[x]` is an automated task, `(x)` a manual task, `{x}` a decision; for other shapes set \
             `stepType` in the config block"
        }
    })
}

fn one_line(label: &str) -> String {
    let text = label.replace("<br/>", " ").replace("<br>", " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
