//! `drawloom plan`: tasks that depend on each other, made from requirements, run, and looked at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::plan::{PlanOutcome, PlanStatus, TaskState};
use app::Project;
use app::run_target::TargetKind;
use app::tasks::{self, PlanSnapshot, TaskRequest};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::agent_args::{AgentArgs, quoted, result_event, say_warnings};
use crate::agent_progress::shown;
use crate::command::task;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat, harmless};
use crate::session::CliSession;

/// Create, run and show plans of tasks
///
/// A plan is a JSON file that lists tasks and their dependencies (docs/tasks.md; `drawloom schema
/// plan` prints its schema).
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    Create(PlanCreateArgs),
    Run(PlanRunArgs),
    Show(PlanShowArgs),
}

impl PlanCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Create(create) => create.run(session),
            Self::Run(run) => run.run(session),
            Self::Show(show) => show.run(session),
        }
    }
}

/// Have a model write a plan for the requirements in a file
///
/// The plan is checked before it is written: tasks that could not be run, ids used twice and cycles
/// go back to the model.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom plan create REQUIREMENTS.md
  drawloom plan create docs/login.md -o plans/login.json")]
pub(crate) struct PlanCreateArgs {
    /// The file with the requirements, in prose
    requirements: PathBuf,
    /// The plan's file; next to the requirements by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing plan
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    working: AgentArgs,
}

impl PlanCreateArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = Arc::new(session.project()?);
        let beside = tasks::plan_beside(&self.requirements);
        let plan = self.output.as_deref().unwrap_or(&beside);
        if workspace::fs::exists(&session.path(plan)) && !self.force {
            let message = format!("{} already exists", plan.display());
            return Err(CliError::failed("E_FILE", message)
                .hint("`--force` replaces it, `-o FILE` writes another"));
        }
        let form = self.working.form();
        let ended = self.working.watched(session, &project, async |job| {
            tasks::create_plan(job, &self.requirements, plan).await
        });
        let file = quoted(&self.requirements);
        let exit = task::report(
            ended?,
            form,
            &format!("drawloom plan create {file} --resume"),
        )?;
        if form == OutputFormat::Text {
            let plan = quoted(plan);
            output::say(format!(
                "next: drawloom plan show {plan}; drawloom run {plan}"
            ));
        }
        Ok(exit)
    }
}

/// Run the plan in a file
///
/// `drawloom run FILE` is the same. Tasks run in the order of their dependencies, side by side where those
/// leave a choice. If one fails, those that depend on it are skipped; the others continue. The exit code is
/// 1 if any failed or was skipped.
///
/// `--resume` continues the last run of the plan: finished tasks stay finished, unless the plan has
/// changed them, and the interrupted one continues from its last turn.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom plan run plan.json
  drawloom plan run plan.json --resume
  drawloom plan run plan.json --json > events.jsonl")]
pub(crate) struct PlanRunArgs {
    /// The plan's file
    file: PathBuf,
    #[command(flatten)]
    working: AgentArgs,
}

impl PlanRunArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = Arc::new(session.project()?);
        run_file(session, &project, (&self.file, &self.working))
    }
}

/// Runs the plan in a file.
pub(crate) fn run_file(
    session: &CliSession,
    project: &Arc<Project>,
    (file, working): (&Path, &AgentArgs),
) -> Result<CliExit, CliError> {
    let form = working.form();
    working.say_unfinished(session, project, (TargetKind::Plan, file))?;
    let run = async |job: TaskRequest<'_>| tasks::run_plan(job, file).await;
    let ended = working.watched(session, project, run)?;
    say_warnings(&ended.warnings, form);
    match form {
        OutputFormat::Json => {
            let event = result_event(&ended, None, &ended.came);
            output::json_line(&event)?;
        }
        OutputFormat::Text => output::styled(&text(&ended.came))?,
    }
    match ended.came.status {
        PlanStatus::Completed => Ok(CliExit::Done),
        PlanStatus::Failed | PlanStatus::Stopped => Err(trouble(&ended.came, file)),
    }
}

/// Describes each task on a line, and reports those that failed.
fn text(outcome: &PlanOutcome) -> String {
    let mut text = String::new();
    for end in &outcome.tasks {
        let (word, what) = match &end.standing {
            TaskState::Completed { result } => ("done", shown(&result.message)),
            TaskState::Failed { failure } => ("failed", shown(&failure.message)),
            TaskState::Skipped { because } => {
                let because: Vec<&str> = because.iter().map(|id| id.as_str()).collect();
                ("skipped", format!("it depends on {}", because.join(", ")))
            }
            TaskState::Pending | TaskState::Running => ("open", String::new()),
        };
        let kept = if end.kept { " (in an earlier run)" } else { "" };
        let line = format!("{word:<8}  {}  {what}{kept}", end.subtask_id);
        text.push_str(line.trim_end());
        text.push('\n');
        if let TaskState::Failed { failure } = &end.standing {
            let details = task::details(&failure.report);
            text.extend(details.lines().map(|line| format!("          {line}\n")));
        }
    }
    text
}

fn trouble(outcome: &PlanOutcome, file: &Path) -> CliError {
    let resume = format!("to go on: drawloom run {} --resume", quoted(file));
    if let Some(failure) = &outcome.stopped {
        let message = failure.message.trim_end();
        return CliError::failed("E_PLAN_STOPPED", message).hint(resume);
    }
    let count = |wanted: fn(&TaskState) -> bool| {
        outcome
            .tasks
            .iter()
            .filter(|end| wanted(&end.standing))
            .count()
    };
    let failed = count(|standing| matches!(standing, TaskState::Failed { .. }));
    let skipped = count(|standing| matches!(standing, TaskState::Skipped { .. }));
    let all = outcome.tasks.len();
    let message = format!("{failed} of {all} tasks failed, {skipped} skipped because of that");
    CliError::failed("E_PLAN_FAILED", message).hint(resume)
}

/// Show the order of a plan's tasks and the progress of its last run
///
/// Signs: ● open, ▶ under way, ✓ done, ✗ failed, ○ skipped because of a failure.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom plan show plan.json
  drawloom plan show plan.json --svg plan.svg")]
pub(crate) struct PlanShowArgs {
    /// The plan's file
    file: PathBuf,
    /// Also write a picture of the graph
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print the graph and the states as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl PlanShowArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = Arc::new(session.project()?);
        let shown = session.wait(tasks::show_plan(project, &session.surroundings, &self.file))?;
        if let Some(file) = &self.svg {
            let svg = shown.plan.graph.to_svg();
            workspace::fs::write_atomic(&session.path(file), svg.as_bytes())?;
            output::say(format!("wrote {}", file.display()));
        }
        match OutputFormat::from(self.json) {
            OutputFormat::Json => output::json(&graph(&shown))?,
            OutputFormat::Text => {
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
        Ok(CliExit::Done)
    }
}

fn graph(shown: &PlanSnapshot) -> Value {
    let tasks = shown.plan.graph.nodes().iter().map(|node| {
        let standing = shown.standing(&node.id);
        let mut value = serde_json::to_value(node).unwrap_or_default();
        value["status"] = json!(standing.map_or("pending", TaskState::word));
        value
    });
    json!({
        "goal": shown.plan.goal,
        "run": shown.run,
        "is_running": shown.is_held,
        "tasks": tasks.collect::<Vec<_>>(),
    })
}
