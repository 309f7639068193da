//! What a step is: what its config says, or what its shape and label say. No third way.

use mermaid::Node;

use crate::config::{Config, Duration, Execution, StepType};
use crate::error::{Code, Problem};
use crate::spot::Spot;

/// What a node is to the engine, with the name people know it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) step_type: StepType,
    pub(crate) execution: Execution,
    /// The label without `Each:`, `Run:` or `Join:`.
    pub(crate) name: String,
}

/// Tells what a node is, or why it cannot be told.
pub(crate) fn kind(
    node: &Node,
    config: &Config,
    spot: impl Fn(&str) -> Spot,
) -> Result<Kind, Problem> {
    if node.id == "%%" {
        return Err(ambiguous(node, spot("")));
    }
    let label = one_line(&node.label.text);
    let shaped = match is_wait(node, &label, config) {
        true => Some((StepType::Wait, Execution::Automated)),
        false => shaped(node, &label),
    };
    let (step_type, execution) = match (config.step_type, shaped) {
        (Some(given), Some(shaped)) => (given, shaped.1),
        (Some(given), None) => (given, Execution::Automated),
        (None, Some(shaped)) => shaped,
        (None, None) => return Err(ambiguous(node, spot(""))),
    };
    let configured = match (config.execution, config.old_execution) {
        (Some(new), Some(old)) if new != old => {
            let message = format!(
                "`execution` and `type` of `{}` say different things.",
                node.id
            );
            let problem = Problem::error(Code::Setting, spot("type"), message);
            return Err(problem.hint("`type` is the old name of `execution`: leave it out"));
        }
        (new, old) => new.or(old),
    };
    let name = config.name.clone();
    Ok(Kind {
        step_type,
        execution: configured.unwrap_or(execution),
        name: name.unwrap_or_else(|| without_prefix(&label).to_owned()),
    })
}

/// What the label says after `Run:`: the subflow, where the config names none.
pub(crate) fn after_prefix<'l>(label: &'l str, word: &str) -> Option<&'l str> {
    let (prefix, rest) = label.split_once(':')?;
    prefix
        .trim()
        .eq_ignore_ascii_case(word)
        .then(|| rest.trim())
}

fn shaped(node: &Node, label: &str) -> Option<(StepType, Execution)> {
    let automated = |step_type| Some((step_type, Execution::Automated));
    match node.shape.family()? {
        "square" if begins_with_join(label) => automated(StepType::Join),
        "square" => automated(StepType::Task),
        "round" => Some((StepType::Task, Execution::Manual)),
        "diamond" => automated(StepType::Decision),
        "subroutine" if after_prefix(label, "each").is_some() => automated(StepType::Foreach),
        "subroutine" if after_prefix(label, "run").is_some() => automated(StepType::Subflow),
        "subroutine" if after_prefix(label, "join").is_some() => automated(StepType::Join),
        _ => None,
    }
}

/// The shape of a delay, or `[Wait: 2h]`. Any other label that begins so says a wait only together with
/// a config that says for what.
fn is_wait(node: &Node, label: &str, config: &Config) -> bool {
    if matches!(node.shape.name(), "delay" | "half-rounded-rectangle") {
        return true;
    }
    let rest = after_prefix(label, "wait").filter(|_| node.shape.family() == Some("square"));
    let is_told = config.wait_for.is_some() || config.until.is_some() || config.signal.is_some();
    rest.is_some_and(|rest| is_told || Duration::read(rest).is_some())
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

fn ambiguous(node: &Node, spot: Spot) -> Problem {
    if node.id == "%%" {
        let message = "A line with nothing but `%%` is a node to Mermaid.";
        let problem = Problem::error(Code::AmbiguousStep, spot, message);
        return problem.hint("write a space after it: `%% `");
    }
    let message = format!(
        "What `{}` does cannot be told from its shape `{}`.",
        node.id,
        node.shape.name()
    );
    let problem = Problem::error(Code::AmbiguousStep, spot, message);
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
