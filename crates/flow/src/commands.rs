//! Checks the command lines of steps: a value may appear only where the shell treats it as data.
//!
//! `expr::shell` decides; this module reports it with the place in the diagram. The run refuses the
//! same.

use expr::InterpolationPiece;
use expr::shell::{self, CommandPart, ValueRefusal};
use serde_json::Value;

use crate::config::StepHandler;
use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::workflow::WorkflowStep;

/// Returns the problems of a step's command line or word list.
pub(crate) fn check(step: &WorkflowStep) -> Vec<WorkflowProblem> {
    if step.handler() != StepHandler::Command {
        return Vec::new();
    }
    let setting = |name: &str| step.config.config.as_ref()?.get(name);
    let mut problems = Vec::new();
    if let Some(Value::String(line)) = setting("run")
        && let Ok(parts) = shell::parts(line)
        && let Err(refusal) = shell::command_line(&parts)
    {
        problems.push(refused(step, ("config.run", line), refusal.value, &refusal));
    }
    if let Some(Value::Array(items)) = setting("argv") {
        problems.extend(check_words(step, items));
    }
    problems
}

fn check_words(step: &WorkflowStep, items: &[Value]) -> Option<WorkflowProblem> {
    let texts: Vec<&str> = items
        .iter()
        .map(|item| item.as_str().unwrap_or_default())
        .collect();
    let words: Result<Vec<Vec<CommandPart<'_>>>, _> =
        texts.iter().map(|text| shell::parts(text)).collect();
    // An expression that does not parse is reported elsewhere.
    let words = words.ok()?;
    let refusal = shell::words(&words).err()?;
    let mut number = refusal.value;
    for (at, (text, parts)) in texts.iter().zip(&words).enumerate() {
        let own = parts
            .iter()
            .filter(|part| matches!(part, CommandPart::Value(_)))
            .count();
        if number < own {
            let path = format!("config.argv.{at}");
            return Some(refused(step, (&path, text), number, &refusal));
        }
        number -= own;
    }
    None
}

/// Reports a refused value at its `{{ }}`.
fn refused(
    step: &WorkflowStep,
    (path, text): (&str, &str),
    value: usize,
    refusal: &ValueRefusal,
) -> WorkflowProblem {
    let pieces = expr::pieces(text).unwrap_or_default();
    let mut values = pieces.iter().filter_map(|piece| match piece {
        InterpolationPiece::Text(_) => None,
        InterpolationPiece::Expression { source, offset } => Some((*offset, source.len())),
    });
    let spot = match values.nth(value) {
        Some((offset, length)) => step.inside(path, offset - 2, offset + length + 2),
        None => step.key(path),
    };
    let message = format!("A value is not safe here: {refusal}.");
    WorkflowProblem::error(WorkflowProblemCode::Setting, spot, message).hint(&refusal.hint)
}
