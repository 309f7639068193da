//! `drawloom workflow start`: begins a run, and with `--wait` sees it through to its end.

use std::collections::BTreeSet;
use std::path::PathBuf;

use app::workflows::{Begin, Loom, Sheet};
use clap::Args;
use flow::{When, Workflow};
use serde_json::{Value, json};

use super::{Keeping, Past, fine_sheet, input_lines, input_value, settle};
use crate::answering::Answering;
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// Begin a run of a workflow
///
/// The text is kept with the run: changing the file later changes no run. `drawloom worker` does the
/// work, or this command itself with `--wait`: it runs the diagram from start to end, shows the graph as
/// it goes, asks you for manual tasks on a terminal, and prints the output of the last step. Without a
/// terminal, a run that needs a person ends the command with exit code 2 and the commands that answer.
/// Whatever is killed on the way, nothing is lost: `drawloom runs resume ID --wait` goes on.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow start review.mmd --wait prNumber=7
  drawloom workflow start review.mmd --wait --input @pr.json
  echo '{\"prNumber\": 7}' | drawloom workflow start pr-review --input - --wait --json
  drawloom workflow start review.mmd && drawloom worker
  drawloom workflow start review.mmd --inputs prs.jsonl")]
pub(crate) struct Start {
    /// The workflow's file, its name, or `-` for stdin
    file: PathBuf,
    /// Values of the input, as NAME=VALUE; a VALUE that is JSON is taken as such
    values: Vec<String>,
    /// The input: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Begin a run for every line of a file of JSON values, or of stdin with -: all of them or none
    #[arg(long, value_name = "FILE", conflicts_with_all = ["values", "input", "wait"])]
    inputs: Option<PathBuf>,
    /// Work on the run here, until it has ended or waits for somebody
    #[arg(long)]
    wait: bool,
    /// A tag for the run; may be given often
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    #[command(flatten)]
    answering: Answering,
    #[command(flatten)]
    keeping: Keeping,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Start {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let form = Form::from(self.json);
        let loom = self.keeping.open(session, self.answering.wish())?;
        let sheet = fine_sheet(session, loom.project(), &self.file)?;
        if let Some(file) = &self.inputs {
            let inputs = input_lines(session, file)?;
            return self.start_many(&loom, &sheet, inputs);
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
        let run = loom.start(&sheet, begin)?;
        if self.wait {
            return settle(session, &loom, (&run, Past::default()), form);
        }
        match form {
            Form::Json => output::json(&json!({ "run": run.as_str() }))?,
            Form::Text => {
                output::data(format!("{run}\n").as_bytes())?;
                output::say(format!(
                    "begun; `drawloom worker` works on it, `drawloom runs show {run}` shows it"
                ));
            }
        }
        Ok(Exit::Done)
    }

    fn begin(&self, input: Value) -> Begin {
        Begin {
            input,
            tags: self.tag.clone(),
            assignee: None,
        }
    }

    fn start_many(&self, loom: &Loom, sheet: &Sheet, inputs: Vec<Value>) -> Result<Exit, Trouble> {
        let begins = inputs.into_iter().map(|input| self.begin(input));
        let runs = loom.start_many(sheet, begins.collect())?;
        for run in &runs {
            let line = match Form::from(self.json) {
                Form::Json => json!({ "run": run.as_str() }).to_string(),
                Form::Text => run.to_string(),
            };
            output::data(format!("{line}\n").as_bytes())?;
        }
        if !self.json {
            let count = runs.len();
            output::say(format!(
                "{count} runs begun; `drawloom worker` works on them"
            ));
        }
        Ok(Exit::Done)
    }
}

/// The names that steps and conditions read of the input, and that it does not have.
fn missing(workflow: &Workflow, input: &Value) -> BTreeSet<String> {
    let steps = workflow.steps().iter().flat_map(|step| step.reads.clone());
    let edges = workflow.steps().iter().flat_map(|step| {
        let conditions = workflow
            .outgoing(&step.id)
            .filter_map(|edge| match &edge.when {
                When::Condition(condition) => Some(flow::expression::reads(condition)),
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
