//! Command lines of steps: a value may stand only where it stays data.
//!
//! `expr::shell` decides; this says it with the place in the diagram. The run refuses the same.

use expr::Piece;
use expr::shell::{self, Part, Refusal};
use serde_json::Value;

use crate::config::Handler;
use crate::error::{Code, Problem};
use crate::workflow::Step;

/// What is wrong with the command line, or the words, of a step.
pub(crate) fn check(step: &Step) -> Vec<Problem> {
    if step.handler() != Handler::Command {
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

fn check_words(step: &Step, items: &[Value]) -> Option<Problem> {
    let texts: Vec<&str> = items
        .iter()
        .map(|item| item.as_str().unwrap_or_default())
        .collect();
    let words: Result<Vec<Vec<Part<'_>>>, _> =
        texts.iter().map(|text| shell::parts(text)).collect();
    // What does not parse is reported as an expression.
    let words = words.ok()?;
    let refusal = shell::words(&words).err()?;
    let mut number = refusal.value;
    for (at, (text, parts)) in texts.iter().zip(&words).enumerate() {
        let own = parts
            .iter()
            .filter(|part| matches!(part, Part::Value(_)))
            .count();
        if number < own {
            let path = format!("config.argv.{at}");
            return Some(refused(step, (&path, text), number, &refusal));
        }
        number -= own;
    }
    None
}

/// The problem, at the value's `{{ }}`.
fn refused(step: &Step, (path, text): (&str, &str), value: usize, refusal: &Refusal) -> Problem {
    let pieces = expr::pieces(text).unwrap_or_default();
    let mut values = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(_) => None,
        Piece::Expression { source, offset } => Some((*offset, source.len())),
    });
    let spot = match values.nth(value) {
        Some((offset, length)) => step.inside(path, offset - 2, offset + length + 2),
        None => step.key(path),
    };
    let message = format!("A value is not safe here: {refusal}.");
    Problem::error(Code::Setting, spot, message).hint(&refusal.hint)
}
