//! `drawloom workflow start`: begins a run, and with `--wait` sees it through to its end.

use std::collections::BTreeSet;
use std::path::PathBuf;

use app::RunRequest;
use app::workflows::LoadedWorkflow;
use clap::Args;
use flow::{EdgeCondition, Workflow};
use serde_json::{Value, json};

use super::{DatabaseArgs, SeenEvents, fine_sheet, input_lines, input_value, settle};
use crate::ai_args::AiArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

/// Start a run of a workflow
///
/// The workflow's text is stored with the run: changing the file later changes no run. `drawloom
/// worker` does the work, or this command itself with `--wait`: it runs the diagram from start to
/// end, shows the graph as it goes, asks you for manual tasks on a terminal, and prints the output
/// of the last step. Without a terminal, a run that needs a person ends the command with exit code
/// 2 and the commands that answer. A killed process loses nothing: `drawloom runs resume ID --wait`
/// continues the run.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow start review.mmd --wait prNumber=7
  drawloom workflow start review.mmd --wait --input @pr.json
  echo '{\"prNumber\": 7}' | drawloom workflow start pr-review --input - --wait --json
  drawloom workflow start review.mmd && drawloom worker
  drawloom workflow start review.mmd --inputs prs.jsonl")]
pub(crate) struct WorkflowStartArgs {
    /// The workflow's file, its name, or `-` for stdin
    file: PathBuf,
    /// Input values as NAME=VALUE; a VALUE may be JSON
    values: Vec<String>,
    /// The input: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Start one run per line of a file of JSON values, or of stdin with `-`: all of them or none
    #[arg(long, value_name = "FILE", conflicts_with_all = ["values", "input", "wait"])]
    inputs: Option<PathBuf>,
    /// Work on the run here, until it has ended or waits for a person
    #[arg(long)]
    wait: bool,
    /// Priority from -100 to 100; tasks of runs with a higher one are done first
    #[arg(long, value_name = "NUMBER", default_value_t = 0, allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-100..=100))]
    priority: i32,
    /// A tag for the run; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    #[command(flatten)]
    answering: AiArgs,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl WorkflowStartArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let form = OutputFormat::from(self.json);
        let use_cases = self.keeping.open(session, self.answering.wish())?;
        let sheet = fine_sheet(session, use_cases.project(), &self.file)?;
        if let Some(file) = &self.inputs {
            let inputs = input_lines(session, file)?;
            return self.start_many(&use_cases, &sheet, inputs);
        }
        let input = input_value(session, self.input.as_deref(), &self.values)?;
        let begin = self.begin(input.unwrap_or_else(|| Value::Object(serde_json::Map::new())));
        if let Some(workflow) = &sheet.workflow {
            for name in missing(workflow, &begin.input) {
                output::say(format!(
                    "warning: the workflow reads `input.{name}`, which is not given; write {name}=VALUE"
                ));
            }
        }
        let run = use_cases.wait(use_cases.start(&sheet, begin))?;
        if self.wait {
            return settle(session, &use_cases, (&run, SeenEvents::default()), form);
        }
        match form {
            OutputFormat::Json => output::json(&json!({ "run": run.as_str() }))?,
            OutputFormat::Text => {
                output::data(format!("{run}\n").as_bytes())?;
                output::say(format!(
                    "started; `drawloom worker` works on it, `drawloom runs show {run}` shows it"
                ));
            }
        }
        Ok(CliExit::Done)
    }

    fn begin(&self, input: Value) -> RunRequest {
        RunRequest {
            input,
            tags: self.tag.clone(),
            assignee: None,
            priority: self.priority,
            name: None,
        }
    }

    fn start_many(
        &self,
        use_cases: &TerminalUseCases,
        sheet: &LoadedWorkflow,
        inputs: Vec<Value>,
    ) -> Result<CliExit, CliError> {
        let begins = inputs.into_iter().map(|input| self.begin(input));
        let runs = use_cases.wait(use_cases.start_many(sheet, begins.collect()))?;
        for run in &runs {
            let line = match OutputFormat::from(self.json) {
                OutputFormat::Json => json!({ "run": run.as_str() }).to_string(),
                OutputFormat::Text => run.to_string(),
            };
            output::data(format!("{line}\n").as_bytes())?;
        }
        if !self.json {
            let count = runs.len();
            output::say(format!(
                "{count} runs started; `drawloom worker` works on them"
            ));
        }
        Ok(CliExit::Done)
    }
}

/// Returns the names that steps and conditions read of the input, and that it does not have.
fn missing(workflow: &Workflow, input: &Value) -> BTreeSet<String> {
    let steps = workflow.steps().iter().flat_map(|step| step.reads.clone());
    let edges = workflow.steps().iter().flat_map(|step| {
        let conditions = workflow
            .outgoing(&step.id)
            .filter_map(|edge| match &edge.when {
                EdgeCondition::Condition(condition) => Some(flow::expression::reads(condition)),
                _ => None,
            });
        conditions.flatten().collect::<Vec<_>>()
    });
    let names = steps
        .chain(edges)
        .filter_map(|read| match read.path.as_slice() {
            [first, name, ..] if first == "input" => Some(name.clone()),
            _ => None,
        });
    names.filter(|name| input.get(name).is_none()).collect()
}
