//! `drawloom workflow start`: begins a run, and with `--wait` sees it through to its end.

use std::path::PathBuf;

use app::RunRequest;
use app::workflows::LoadedWorkflow;
use clap::Args;
use flow::Workflow;
use serde_json::{Map, Value, json};

use super::inputs::names_needed;
use super::{
    DatabaseArgs, DeclaredInputs, SeenEvents, fine_sheet, input_lines, input_of, settle,
    value_words,
};
use crate::ai_args::AiArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;

/// Options about the run of a workflow that is started.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Workflows")]
pub(crate) struct StartOptions {
    /// The input: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Start one run per line of a file of JSON values, or of stdin with `-`: all of them or none
    #[arg(long, value_name = "FILE", conflicts_with_all = ["values", "input", "wait"])]
    pub(crate) inputs: Option<PathBuf>,
    /// Priority from -100 to 100; tasks of runs with a higher one are done first
    #[arg(long, value_name = "NUMBER", default_value_t = 0, allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-100..=100))]
    priority: i32,
    /// A tag for the run; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    #[command(flatten)]
    pub(crate) keeping: DatabaseArgs,
}

/// Start a run of a workflow
///
/// `drawloom run WORKFLOW` does the same and waits for the end. The workflow's text is stored with the run: changing the file later changes no run. `drawloom
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
    /// Work on the run here, until it has ended or waits for a person
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    options: StartOptions,
    #[command(flatten)]
    answering: AiArgs,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl WorkflowStartArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.options.keeping.open(session, self.answering.wish())?;
        let sheet = fine_sheet(session, use_cases.project(), &self.file)?;
        let declared = DeclaredInputs::of(Some(&sheet));
        let words = value_words(&self.values)?.into_iter();
        let values = words.map(|(name, text)| (name.to_owned(), declared.value(name, text)));
        let start = WorkflowStart {
            sheet: &sheet,
            options: &self.options,
            values: values.collect(),
            wait: match self.wait {
                true => StartWait::Yes,
                false => StartWait::No,
            },
            form: OutputFormat::from(self.json),
        };
        start.begin(session, &use_cases)
    }
}

/// The choice of a command that has started a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartWait {
    /// It works on the run, until the run has ended or waits for a person.
    Yes,
    /// It leaves the run to workers.
    No,
}

/// A workflow to start, as a command line says it.
pub(crate) struct WorkflowStart<'a> {
    pub(crate) sheet: &'a LoadedWorkflow,
    pub(crate) options: &'a StartOptions,
    /// Values of the input by name.
    pub(crate) values: Vec<(String, Value)>,
    pub(crate) wait: StartWait,
    pub(crate) form: OutputFormat,
}

impl WorkflowStart<'_> {
    /// Starts the run, or one for each line of `--inputs`.
    pub(crate) fn begin(
        mut self,
        session: &CliSession,
        use_cases: &TerminalUseCases,
    ) -> Result<CliExit, CliError> {
        if let Some(file) = &self.options.inputs {
            if !self.values.is_empty() {
                let message = "`--inputs` has the values of every run";
                return Err(CliError::usage(message).hint("leave out the other values"));
            }
            let inputs = input_lines(session, file)?;
            return self.begin_many(use_cases, inputs);
        }
        let values = std::mem::take(&mut self.values);
        let input = input_of(session, self.options.input.as_deref(), values)?;
        let request = self.request(input.unwrap_or_else(|| Value::Object(Map::new())));
        if let Some(workflow) = &self.sheet.workflow {
            let read = names_needed(workflow).into_iter();
            let is_open =
                |name: &String| request.input.get(name).is_none() && !is_declared(workflow, name);
            for name in read.filter(is_open) {
                output::say(format!(
                    "warning: the workflow reads `input.{name}`, which is not given; write {name}=VALUE"
                ));
            }
        }
        let run = use_cases.wait(use_cases.start(self.sheet, request))?;
        if self.wait == StartWait::Yes {
            return settle(session, use_cases, (&run, SeenEvents::default()), self.form);
        }
        match self.form {
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

    fn request(&self, input: Value) -> RunRequest {
        RunRequest {
            input,
            tags: self.options.tag.clone(),
            assignee: None,
            priority: self.options.priority,
            name: None,
        }
    }

    fn begin_many(
        &self,
        use_cases: &TerminalUseCases,
        inputs: Vec<Value>,
    ) -> Result<CliExit, CliError> {
        let begins = inputs.into_iter().map(|input| self.request(input));
        let runs = use_cases.wait(use_cases.start_many(self.sheet, begins.collect()))?;
        for run in &runs {
            let line = match self.form {
                OutputFormat::Json => json!({ "run": run.as_str() }).to_string(),
                OutputFormat::Text => run.to_string(),
            };
            output::data(format!("{line}\n").as_bytes())?;
        }
        if self.form == OutputFormat::Text {
            let count = runs.len();
            output::say(format!(
                "{count} runs started; `drawloom worker` works on them"
            ));
        }
        Ok(CliExit::Done)
    }
}

/// Tells whether `@input` sees to a name: a required one is an error where it is missing, and a default fills
/// in the others.
fn is_declared(workflow: &Workflow, name: &str) -> bool {
    let Some(schema) = workflow.input_schema() else {
        return false;
    };
    let required = schema["required"].as_array().into_iter().flatten();
    let is_required = required.into_iter().any(|one| one == name);
    is_required || schema["properties"][name].get("default").is_some()
}
