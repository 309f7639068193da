//! `drawloom plan`: tasks that depend on each other, made from requirements, run, and looked at.

use std::path::{Path, PathBuf};

use agent::plan::{PlanOutcome, PlanStatus, Standing};
use app::tasks::{self, Job, RunKind, Shown};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::command::task;
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output::{self, Form, harmless};
use crate::session::Session;
use crate::working::{Working, quoted, result_event, say_warnings};

/// Make, run and look at plans of tasks
///
/// A plan is a JSON file that lists tasks and which of them come first (docs/tasks.md; `drawloom
/// schema plan` prints its schema).
#[derive(Debug, Subcommand)]
pub(crate) enum Plan {
    Create(Create),
    Run(Run),
    Show(Show),
}

impl Plan {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Create(create) => create.run(session),
            Self::Run(run) => run.run(session),
            Self::Show(show) => show.run(session),
        }
    }
}

/// Have a model make a plan that fulfils the requirements in a file
///
/// The plan is checked before it is written: tasks that could not be run, ids used twice and
/// circles go back to the model.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom plan create REQUIREMENTS.md
  drawloom plan create docs/login.md -o plans/login.json")]
pub(crate) struct Create {
    /// What is wanted, in words
    requirements: PathBuf,
    /// Where the plan goes; beside the requirements unless said
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a plan that is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    working: Working,
}

impl Create {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let beside = tasks::plan_beside(&self.requirements);
        let plan = self.output.as_deref().unwrap_or(&beside);
        if workspace::fs::exists(&session.path(plan)) && !self.force {
            let message = format!("{} is there already", plan.display());
            return Err(Trouble::failed("E_FILE", message)
                .hint("`--force` replaces it, `-o FILE` writes another"));
        }
        let form = self.working.form();
        let ended = self.working.watched(session, &project, |job| {
            tasks::create_plan(job, &self.requirements, plan)
        });
        let file = quoted(&self.requirements);
        let exit = task::report(
            ended?,
            form,
            &format!("drawloom plan create {file} --resume"),
        )?;
        if form == Form::Text {
            let plan = quoted(plan);
            output::say(format!(
                "next: drawloom plan show {plan}; drawloom plan run {plan}"
            ));
        }
        Ok(exit)
    }
}

/// Run the plan in a file
///
/// Tasks are run in the order of their dependencies. One that fails takes those that depend on it
/// with it; the others go on. The exit code is 1 if any failed or was skipped because of that.
///
/// `--resume` goes on with the last run of the plan: tasks that are done stay done, unless the
/// plan says something else about them now, and the one under way goes on from its last turn.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom plan run plan.json
  drawloom plan run plan.json --resume
  drawloom plan run plan.json --json > events.jsonl")]
pub(crate) struct Run {
    /// The plan's file
    file: PathBuf,
    #[command(flatten)]
    working: Working,
}

impl Run {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let form = self.working.form();
        let unfinished = (RunKind::Plan, self.file.as_path());
        self.working.say_unfinished(session, &project, unfinished)?;
        let run = |job: Job<'_>| tasks::run_plan(job, &self.file);
        let ended = self.working.watched(session, &project, run)?;
        say_warnings(&ended.warnings, form);
        match form {
            Form::Json => {
                let event = result_event(&ended, None, &ended.came);
                output::json_line(&event)?;
            }
            Form::Text => output::styled(&text(&ended.came))?,
        }
        match ended.came.status {
            PlanStatus::Completed => Ok(Exit::Done),
            PlanStatus::Failed | PlanStatus::Stopped => Err(trouble(&ended.came, &self.file)),
        }
    }
}

/// A line for each task, and the report of those that failed.
fn text(outcome: &PlanOutcome) -> String {
    let mut text = String::new();
    for end in &outcome.tasks {
        let (word, what) = match &end.standing {
            Standing::Completed { result } => ("done", shown(&result.message)),
            Standing::Failed { failure } => ("failed", shown(&failure.message)),
            Standing::Skipped { because } => {
                let because: Vec<&str> = because.iter().map(|id| id.as_str()).collect();
                ("skipped", format!("it depends on {}", because.join(", ")))
            }
            Standing::Pending | Standing::Running => ("open", String::new()),
        };
        let kept = if end.kept { " (in an earlier run)" } else { "" };
        let line = format!("{word:<8}  {}  {what}{kept}", end.subtask_id);
        text.push_str(line.trim_end());
        text.push('\n');
        if let Standing::Failed { failure } = &end.standing {
            let details = task::details(&failure.report);
            text.extend(details.lines().map(|line| format!("          {line}\n")));
        }
    }
    text
}

fn trouble(outcome: &PlanOutcome, file: &Path) -> Trouble {
    let resume = format!("to go on: drawloom plan run {} --resume", quoted(file));
    if let Some(failure) = &outcome.stopped {
        let message = failure.message.trim_end();
        return Trouble::failed("E_PLAN_STOPPED", message).hint(resume);
    }
    let count = |wanted: fn(&Standing) -> bool| {
        outcome
            .tasks
            .iter()
            .filter(|end| wanted(&end.standing))
            .count()
    };
    let failed = count(|standing| matches!(standing, Standing::Failed { .. }));
    let skipped = count(|standing| matches!(standing, Standing::Skipped { .. }));
    let all = outcome.tasks.len();
    let message = format!("{failed} of {all} tasks failed, {skipped} skipped because of that");
    Trouble::failed("E_PLAN_FAILED", message).hint(resume)
}

/// Show the order of a plan's tasks and how far its last run came
///
/// Signs: ● open, ▶ under way, ✓ done, ✗ failed, ○ skipped because of a failure.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom plan show plan.json
  drawloom plan show plan.json --svg plan.svg")]
pub(crate) struct Show {
    /// The plan's file
    file: PathBuf,
    /// Write a picture of the graph, too
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print the graph and the states as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Show {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let shown = tasks::show_plan(&project, &session.surroundings, &self.file)?;
        if let Some(file) = &self.svg {
            let svg = shown.plan.graph.to_svg();
            workspace::fs::write_atomic(&session.path(file), svg.as_bytes())?;
            output::say(format!("wrote {}", file.display()));
        }
        match Form::from(self.json) {
            Form::Json => output::json(&graph(&shown))?,
            Form::Text => {
                if let Some(goal) = &shown.plan.goal {
                    output::styled(&format!("{}\n", harmless(goal)))?;
                }
                let graph = shown.plan.graph.to_text(|id| shown.mark(id));
                output::styled(&harmless(&graph))?;
                if shown.is_held {
                    output::say("a run is under way");
                }
            }
        }
        Ok(Exit::Done)
    }
}

fn graph(shown: &Shown) -> Value {
    let tasks = shown.plan.graph.nodes().iter().map(|node| {
        let standing = shown.standing(&node.id);
        let mut value = serde_json::to_value(node).unwrap_or_default();
        value["status"] = json!(standing.map_or("pending", Standing::word));
        value
    });
    json!({
        "goal": shown.plan.goal,
        "run": shown.run.map(|run| run.0),
        "is_running": shown.is_held,
        "tasks": tasks.collect::<Vec<_>>(),
    })
}
