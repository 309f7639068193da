//! `drawloom runs move`: lets a paused run go on with another text.

use std::path::PathBuf;

use clap::Args;
use flow::engine::RunStatus;
use flow::{MovePlan, StepId};
use serde_json::json;

use crate::command::workflow::{DatabaseArgs, fine_sheet};
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Move a paused run to another version of its workflow
///
/// A run keeps the workflow's text it started with. If that text is wrong (a condition that throws,
/// a limit that is too low), correct the file and move the run to it. The steps that the run has
/// reached must still be there, of the same kind; the differences are shown first. `drawloom runs
/// resume` then continues it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs move last --to review.mmd --dry-run
  drawloom runs move last --to review.mmd && drawloom runs resume last --wait")]
pub(crate) struct RunsMoveArgs {
    /// Run id, unique prefix, or `last`
    run: String,
    /// The new version: a workflow's file or its name
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Show the differences and if they fit, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl RunsMoveArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let sheet = fine_sheet(session, use_cases.project(), &self.to)?;
        let run = use_cases.wait(use_cases.find(&self.run))?;
        let plan = match self.dry_run {
            true => use_cases.wait(use_cases.plan_move(&run, &sheet))?,
            false => use_cases.wait(use_cases.move_run(&run, &sheet))?,
        };
        if let OutputFormat::Json = OutputFormat::from(self.json) {
            output::json(&json!({
                "run": run.id, "did": if self.dry_run { "nothing" } else { "moved" },
                "added": plan.added, "removed": plan.removed, "changed": plan.changed,
                "misfits": plan.misfits,
            }))?;
        } else {
            let mut text = shown(&plan);
            if self.dry_run && run.status != RunStatus::Paused {
                text.push_str(&format!(
                    "The run is {}, and not paused.\n",
                    run.status.name()
                ));
            }
            output::styled(&output::harmless(&text))?;
            if !self.dry_run {
                output::say(format!("{} now uses {}", run.id, sheet.shown));
                output::say(format!("`drawloom runs resume {}` continues it", run.id));
            }
        }
        Ok(match plan.misfits.is_empty() {
            true => CliExit::Done,
            false => CliExit::Failed,
        })
    }
}

/// Says what differs, a line for each step.
fn shown(plan: &MovePlan) -> String {
    let mut text = String::new();
    let mut lines = |mark: &str, steps: &[StepId]| {
        for step in steps {
            text.push_str(&format!("{mark} {step}\n"));
        }
    };
    lines("+", &plan.added);
    lines("-", &plan.removed);
    lines("~", &plan.changed);
    for misfit in &plan.misfits {
        text.push_str(&format!("✗ {misfit}\n"));
    }
    match text.is_empty() {
        true => "The steps are the same.\n".to_owned(),
        false => text,
    }
}
