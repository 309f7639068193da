//! `drawloom workflow check`: what is wrong with a workflow, before it runs.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::{sheet, wrong};
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Check a workflow before it runs
///
/// Checks the diagram, its config block, every expression, every handler's settings, agents and
/// subflows; runs nothing. Warnings do not make it fail.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow check review.mmd
  drawloom workflow check pr-review            (.drawloom/workflows/pr-review.mmd)
  drawloom workflow check review.mmd --json | jq '.problems[]'")]
pub(crate) struct WorkflowCheckArgs {
    /// The workflow's file, its name, or `-` for stdin
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl WorkflowCheckArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = super::DatabaseArgs::default().project(session)?;
        let sheet = sheet(session, &project, &self.file)?;
        if self.json {
            let problems: Vec<Value> = sheet
                .problems
                .iter()
                .map(|problem| {
                    let severity = match problem.severity {
                        flow::ProblemSeverity::Error => "error",
                        flow::ProblemSeverity::Warning => "warning",
                    };
                    json!({
                        "severity": severity, "code": problem.code.name(), "line": problem.line,
                        "column": problem.column, "width": problem.width,
                        "message": problem.message, "hint": problem.hint,
                    })
                })
                .collect();
            let steps = sheet
                .workflow
                .as_ref()
                .map(|workflow| workflow.steps().len());
            output::json(&json!({
                "file": sheet.shown, "ok": sheet.is_fine(), "steps": steps, "problems": problems,
            }))?;
            return Ok(match sheet.is_fine() {
                true => CliExit::Done,
                false => CliExit::Failed,
            });
        }
        if !sheet.is_fine() {
            return Err(wrong(&sheet));
        }
        for warning in &sheet.problems {
            output::say(warning.report(&sheet.shown, &sheet.source).trim_end());
        }
        let steps = sheet
            .workflow
            .as_ref()
            .map_or(0, |workflow| workflow.steps().len());
        output::say(match sheet.problems.len() {
            0 => format!("{}: {}, fine", sheet.shown, counted(steps, "step")),
            count => format!(
                "{}: {}, fine, {}",
                sheet.shown,
                counted(steps, "step"),
                counted(count, "warning")
            ),
        });
        Ok(CliExit::Done)
    }
}

/// Returns the count with the word in singular or plural.
fn counted(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}
