//! Tasks and plans: read, run with a model and its tools, stored while they run, and resumed.
//!
//! Each is a run of the workflow engine: a step for a task, an edge for a dependency. Committed work is not
//! done again: with [`StartMode::Resume`], a run that was killed continues from its last committed turn.

pub(crate) mod clock;
mod credentials;
pub(crate) mod diagram;
pub(crate) mod environment;
pub(crate) mod file_run;
mod history;
mod input_file;
mod kept_files;
mod outcome;
pub(crate) mod run_archive;
pub(crate) mod step;
mod task_watch;

use std::path::Path;
use std::sync::Arc;

use agent::CommandCancel;
use agent::handlers::{TaskEvent, TaskFailure, TaskResult};
use agent::plan::TaskFingerprint;
use agent::plan::{self, PlanOutcome, TaskMark, TaskPlan, TaskState};
use agent::task::{Task, TaskKind, TaskName};
use flow::RunId;
use store::RunRecord;
use workspace::RelPath;

use crate::ai::{AiOverrides, CallPurpose};
use crate::application::{App, UseCases};
use crate::run_target::TargetKind;
use crate::trust::require_tasks;
use crate::workflows::database;
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};
use diagram::TaskDiagram;
use environment::TaskEnvironment;
use file_run::DrawnFile;
use outcome::RunOutcome;
use run_archive::RunArchive;

pub use history::HistoryFilter;
pub use input_file::plan_beside;
pub use run_archive::DATABASE;
pub use task_watch::TaskObservers;
pub(crate) use task_watch::TaskWatch;

/// The beginning of a run: new, or resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartMode {
    /// From the beginning.
    Anew,
    /// From where the last run of the same file stopped.
    Resume,
}

/// Everything a use case of tasks needs.
pub struct TaskRequest<'a> {
    pub project: Arc<Project>,
    pub surroundings: &'a ProcessEnvironment,
    pub wish: AiOverrides,
    pub start: StartMode,
    pub observers: TaskObservers,
    pub cancel: CommandCancel,
}

/// A run that ended, well or not.
#[derive(Debug)]
pub struct EndedRun<T> {
    pub run: RunId,
    pub came: T,
    /// Problems beside the work, a sentence each.
    pub warnings: Vec<String>,
}

/// Result of a task.
pub type TaskEnd = Result<TaskResult, TaskFailure>;

/// Runs the task in a file.
pub async fn run_task(job: TaskRequest<'_>, file: &Path) -> Result<EndedRun<TaskEnd>, Error> {
    let named = input_file::read(&job.project, job.surroundings, file)?;
    let task = agent::task::read(&named.text, &named.shown)?;
    require_tasks(&job.project, &named.name, std::slice::from_ref(&task))?;
    let key = TaskFingerprint {
        id: task.subtask_id.clone(),
        fingerprint: run_archive::digest(&named.text),
    };
    run_alone(job, &named.name, (&task, key)).await
}

/// Asks a model for a plan that fulfils the requirements in a file.
pub async fn create_plan(
    job: TaskRequest<'_>,
    requirements: &Path,
    plan: &Path,
) -> Result<EndedRun<TaskEnd>, Error> {
    let named = input_file::read(&job.project, job.surroundings, requirements)?;
    let from = named.inside(requirements)?;
    let to = input_file::inside(&job.project, job.surroundings, plan)?;
    let task = Task::planning(&from, to.clone());
    let key = TaskFingerprint {
        id: task.subtask_id.clone(),
        fingerprint: run_archive::digest(&format!("{to}\n{}", named.text)),
    };
    run_alone(job, &named.name, (&task, key)).await
}

/// Runs the plan in a file.
pub async fn run_plan(job: TaskRequest<'_>, file: &Path) -> Result<EndedRun<PlanOutcome>, Error> {
    let plan = load(&job.project, job.surroundings, file)?;
    let name = input_file::inside(&job.project, job.surroundings, file)?;
    require_tasks(&job.project, name.as_str(), &plan.tasks)?;
    check(&job, &plan.tasks).await?;
    let file = DrawnFile {
        kind: TargetKind::Plan,
        name: name.as_str(),
        diagram: TaskDiagram::of_plan(name.as_str(), &plan),
    };
    let ran = file_run::work(job, &file).await?;
    let outcome = RunOutcome {
        app: &ran.app,
        run: &ran.run,
        line: &ran.line,
        steps: &file.diagram.steps,
    };
    let came = outcome.of_plan(ran.taken_up_ms).await?;
    for end in &came.tasks {
        if let TaskState::Skipped { because } = &end.standing {
            let task = &end.subtask_id;
            let event = TaskEvent::TaskSkipped { task, because };
            ran.watch.observer().notice_task(&event);
        }
    }
    Ok(EndedRun {
        came,
        run: ran.run,
        warnings: ran.watch.take_warnings(),
    })
}

/// Runs one task, as a run of one step.
async fn run_alone(
    job: TaskRequest<'_>,
    name: &str,
    (task, key): (&Task, TaskFingerprint),
) -> Result<EndedRun<TaskEnd>, Error> {
    check(&job, std::slice::from_ref(task)).await?;
    let file = DrawnFile {
        kind: TargetKind::Task,
        name,
        diagram: TaskDiagram::of_task(name, task, key),
    };
    let ran = file_run::work(job, &file).await?;
    let outcome = RunOutcome {
        app: &ran.app,
        run: &ran.run,
        line: &ran.line,
        steps: &file.diagram.steps,
    };
    let came = outcome.of_task().await?;
    Ok(EndedRun {
        came,
        run: ran.run,
        warnings: ran.watch.take_warnings(),
    })
}

/// Refuses tasks that cannot be carried out here, before anything is begun.
async fn check(job: &TaskRequest<'_>, tasks: &[Task]) -> Result<(), Error> {
    let purpose = match tasks {
        [task] => step::purpose_of(task),
        _ => CallPurpose::Generate,
    };
    let office = TaskEnvironment::open(&job.project, job.surroundings, &job.wish, purpose)?;
    for task in tasks {
        office.check(task)?;
    }
    // Each task starts servers of its own, so that tasks can work side by side.
    drop(office.servers(&job.project).await?);
    Ok(())
}

/// A plan and the states of its tasks.
#[derive(Debug)]
pub struct PlanSnapshot {
    pub plan: TaskPlan,
    /// The last run of it, if there was one.
    pub run: Option<RunId>,
    /// True if a process works on that run now.
    pub is_held: bool,
    standings: Vec<(TaskName, TaskState)>,
}

impl PlanSnapshot {
    /// Returns the state of a task.
    pub fn standing(&self, id: &TaskName) -> Option<&TaskState> {
        let found = self.standings.iter().find(|(known, _)| known == id);
        found.map(|(_, standing)| standing)
    }

    /// Returns the sign of a task in the picture.
    pub fn mark(&self, id: &TaskName) -> TaskMark {
        match self.standing(id) {
            None | Some(TaskState::Pending) => TaskMark::Open,
            Some(TaskState::Running) if self.is_held => TaskMark::Running,
            Some(TaskState::Running) => TaskMark::Open,
            Some(TaskState::Completed { .. }) => TaskMark::Done,
            Some(TaskState::Failed { failure }) if failure.kind.ends_the_plan() => TaskMark::Open,
            Some(TaskState::Failed { .. }) => TaskMark::Failed,
            Some(TaskState::Skipped { .. }) => TaskMark::Skipped,
        }
    }
}

/// Reads a plan and looks up how far its last run came.
pub async fn show_plan(
    project: Arc<Project>,
    surroundings: &ProcessEnvironment,
    file: &Path,
) -> Result<PlanSnapshot, Error> {
    let plan = load(&project, surroundings, file)?;
    let name = input_file::inside(&project, surroundings, file)?;
    let mut shown = PlanSnapshot {
        plan,
        run: None,
        is_held: false,
        standings: Vec::new(),
    };
    let Some(app) = opened(project, surroundings).await? else {
        return Ok(shown);
    };
    let Some(run) = file_run::last_run(&app, (TargetKind::Plan, name.as_str())).await? else {
        return Ok(shown);
    };
    shown.is_held = file_run::is_held(&app, &run).await?;
    let diagram = TaskDiagram::of_plan(name.as_str(), &shown.plan);
    let line = file_run::line_of(&run.id, Some(&app.input(&run.id).await?));
    // A task that was changed since has not been run.
    let pinned = app.workflow(&run).await?;
    let is_current = |step: &&diagram::TaskStep| {
        let known = pinned.step(&step.step).map(diagram::StepTask::of);
        matches!(known, Some(Ok(known)) if known.key == step.key)
    };
    let outcome = RunOutcome {
        app: &app,
        run: &run.id,
        line: &line,
        steps: &diagram.steps,
    };
    let states = outcome.states().await?;
    let current = diagram
        .steps
        .iter()
        .zip(states)
        .filter(|(step, _)| is_current(step));
    shown.standings = current
        .map(|(step, (state, _))| (step.key.id.clone(), state))
        .collect();
    shown.run = Some(run.id);
    Ok(shown)
}

/// Finds the last run of a file, if it did not finish and no process works on it: it could be
/// resumed.
pub async fn unfinished(
    project: Arc<Project>,
    surroundings: &ProcessEnvironment,
    (kind, file): (TargetKind, &Path),
) -> Result<Option<RunId>, Error> {
    let named = input_file::read(&project, surroundings, file)?;
    let Some(app) = opened(project, surroundings).await? else {
        return Ok(None);
    };
    let Some(run) = file_run::last_run(&app, (kind, &named.name)).await? else {
        return Ok(None);
    };
    let is_free = !run.status.is_terminal() && !file_run::is_held(&app, &run).await?;
    Ok(is_free.then_some(run.id))
}

/// Opens the application, if there is a database.
async fn opened(
    project: Arc<Project>,
    surroundings: &ProcessEnvironment,
) -> Result<Option<UseCases>, Error> {
    if !database::exists(&project, surroundings)? {
        return Ok(None);
    }
    let app = App::open(project, surroundings, AiOverrides::default(), None).await?;
    let terminal = app.terminal();
    Ok(Some(app.acting(terminal)))
}

/// Returns the newest runs of task and plan files that older versions have kept apart from other runs, each
/// with whether a process works on it.
pub(crate) async fn recent(
    project: &Project,
    surroundings: &ProcessEnvironment,
    max: usize,
) -> Result<Vec<(RunRecord, bool)>, Error> {
    if !database::exists(project, surroundings)? {
        return Ok(Vec::new());
    }
    let archive = RunArchive::open(project, surroundings, Vec::new()).await?;
    archive.recent(max).await
}

/// Returns the problem of the project's database, if it has one and there is a problem.
pub async fn database_problem(
    project: &Project,
    surroundings: &ProcessEnvironment,
) -> Option<Error> {
    let checked = async {
        if database::exists(project, surroundings)? {
            let archive = RunArchive::open(project, surroundings, Vec::new()).await?;
            archive.check().await?;
        }
        Ok(())
    };
    checked.await.err()
}

fn load(
    project: &Project,
    surroundings: &ProcessEnvironment,
    file: &Path,
) -> Result<TaskPlan, Error> {
    let named = input_file::read(project, surroundings, file)?;
    let path = named.inside(file)?;
    // Named by the user, and so not subject to what a model may read.
    let files = |path: &RelPath| project.root.read_text(path);
    Ok(plan::read(&named.text, &path, &files)?)
}

/// Reads the tasks of a file, which may hold a plan or one task, and the name that its runs have.
pub(crate) fn read_tasks(
    project: &Project,
    surroundings: &ProcessEnvironment,
    file: &Path,
) -> Result<(String, Vec<Task>), Error> {
    let named = input_file::read(project, surroundings, file)?;
    let tasks = match is_plan(&named.text) {
        true => load(project, surroundings, file)?.tasks,
        false => vec![agent::task::read(&named.text, &named.shown)?],
    };
    Ok((named.name, tasks))
}

/// True if the text of a file is a plan's and not one task's.
pub(crate) fn is_plan(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|json| json.get("tasks").is_some())
}

/// Returns true if a task calls a model at all.
fn asks_a_model(task: &Task) -> bool {
    match task.kind {
        TaskKind::CodeGeneration | TaskKind::AiInteraction | TaskKind::Planning => true,
        TaskKind::Validation | TaskKind::NoOp => false,
    }
}

/// Makes the error about a file outside the project.
fn outside(file: &Path) -> Error {
    Error::new(
        AppErrorCode::File,
        format!("{} is not inside the project", file.display()),
    )
    .hint("plans and requirements lie in the project they are about; see `--cwd`")
}
