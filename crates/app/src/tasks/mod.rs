//! Tasks and plans: read, run with a model and its tools, stored while they run, and resumed.
//!
//! Every run is a record in the project's database. Committed work is not done again: with
//! [`StartMode::Resume`], a run that was killed continues from its last committed turn.

pub(crate) mod clock;
mod credentials;
pub(crate) mod environment;
mod history;
mod input_file;
mod kept_files;
pub(crate) mod run_archive;

use std::path::Path;

use agent::handlers::{self, TaskFailure, TaskInput, TaskObserver, TaskResult};
use agent::plan::{self, PlanJournal, PlanOutcome, PlanStatus, TaskMark, TaskPlan, TaskState};
use agent::plan::{TaskFingerprint, TaskRecord};
use agent::task::{Task, TaskKind, TaskName};
use agent::{AgentClock as _, CommandCancel};
use store::{RunRecord, RunState};
use workspace::{RelPath, Root};

use crate::ai::{AiOverrides, CallPurpose};
use crate::trust::require_tasks;
use crate::workflows::database;
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};
use clock::SystemClock;
use environment::TaskEnvironment;
use kept_files::FilingConversation;
use run_archive::RunArchive;

pub use history::HistoryFilter;
pub use input_file::plan_beside;
pub use run_archive::DATABASE;
pub use store::{RunKind, RunNumber};

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
    pub project: &'a Project,
    pub surroundings: &'a ProcessEnvironment,
    pub wish: AiOverrides,
    pub start: StartMode,
    pub observer: &'a mut dyn TaskObserver,
    pub cancel: CommandCancel,
}

/// A run that ended, well or not.
#[derive(Debug)]
pub struct EndedRun<T> {
    /// The number of the run.
    pub run: RunNumber,
    pub came: T,
    /// Problems beside the work, a sentence each.
    pub warnings: Vec<String>,
}

/// Result of a task.
pub type TaskEnd = Result<TaskResult, TaskFailure>;

/// Runs the task in a file.
pub async fn run_task(job: TaskRequest<'_>, file: &Path) -> Result<EndedRun<TaskEnd>, Error> {
    let named = input_file::read(job.project, job.surroundings, file)?;
    let task = agent::task::read(&named.text, &named.shown)?;
    require_tasks(job.project, &named.name, std::slice::from_ref(&task))?;
    let key = TaskFingerprint {
        id: task.subtask_id.clone(),
        fingerprint: run_archive::digest(&named.text),
    };
    carry_out(job, &task, &key, (&named.name, CallPurpose::Generate)).await
}

/// Runs a task that is a step of something larger: continues the run of this name, or begins it.
pub(crate) async fn run_step(
    mut job: TaskRequest<'_>,
    task: &Task,
    (name, text): (&str, &str),
) -> Result<EndedRun<TaskEnd>, Error> {
    let key = TaskFingerprint {
        id: task.subtask_id.clone(),
        fingerprint: run_archive::digest(text),
    };
    let errand = match task.kind {
        TaskKind::Planning => CallPurpose::Plan,
        _ => CallPurpose::Generate,
    };
    let archive = RunArchive::open(job.project, job.surroundings, Vec::new()).await?;
    let begun = archive.last(RunKind::Task, name).await?.is_some();
    job.start = match begun {
        true => StartMode::Resume,
        false => StartMode::Anew,
    };
    carry_out(job, task, &key, (name, errand)).await
}

/// Asks a model for a plan that fulfils the requirements in a file.
pub async fn create_plan(
    job: TaskRequest<'_>,
    requirements: &Path,
    plan: &Path,
) -> Result<EndedRun<TaskEnd>, Error> {
    let named = input_file::read(job.project, job.surroundings, requirements)?;
    let from = named.inside(requirements)?;
    let to = input_file::inside(job.project, job.surroundings, plan)?;
    let task = Task::planning(&from, to.clone());
    let key = TaskFingerprint {
        id: task.subtask_id.clone(),
        fingerprint: run_archive::digest(&format!("{to}\n{}", named.text)),
    };
    carry_out(job, &task, &key, (&named.name, CallPurpose::Plan)).await
}

/// Runs the plan in a file.
pub async fn run_plan(job: TaskRequest<'_>, file: &Path) -> Result<EndedRun<PlanOutcome>, Error> {
    let plan = load(job.project, job.surroundings, file)?;
    let name = input_file::inside(job.project, job.surroundings, file)?;
    require_tasks(job.project, name.as_str(), &plan.tasks)?;
    let office = TaskEnvironment::open(
        job.project,
        job.surroundings,
        &job.wish,
        CallPurpose::Generate,
    )?;
    for task in &plan.tasks {
        office.check(task)?;
    }
    let new = run_archive::new_run(RunKind::Plan, name.as_str(), &plan.to_json());
    let TaskRequest {
        start,
        observer,
        cancel,
        project,
        surroundings,
        ..
    } = job;
    let servers = office.servers(project).await?;
    let archive = RunArchive::open(project, surroundings, office.secrets()).await?;
    let mut run = archive.run(&new, start).await?;
    let workshop = office.workshop(project, &servers, &run).await?;
    let outcome = plan::run(&workshop.bench(&cancel), &plan, &mut run, observer).await;
    let state = match &outcome {
        Ok(outcome) => match outcome.status {
            PlanStatus::Completed => RunState::Done,
            PlanStatus::Failed => RunState::Failed,
            PlanStatus::Stopped => RunState::Stopped,
        },
        Err(_) => RunState::Stopped,
    };
    let id = run.id();
    archive.end(run, state).await;
    Ok(EndedRun {
        run: id,
        came: outcome?,
        warnings: office.warnings(&servers),
    })
}

/// A plan and the states of its tasks.
#[derive(Debug)]
pub struct PlanSnapshot {
    pub plan: TaskPlan,
    /// The last run of it, if there was one.
    pub run: Option<RunNumber>,
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
            Some(TaskState::Failed { .. }) => TaskMark::Failed,
            Some(TaskState::Skipped { .. }) => TaskMark::Skipped,
        }
    }
}

/// Reads a plan and looks up how far its last run came.
pub async fn show_plan(
    project: &Project,
    surroundings: &ProcessEnvironment,
    file: &Path,
) -> Result<PlanSnapshot, Error> {
    let plan = load(project, surroundings, file)?;
    let name = input_file::inside(project, surroundings, file)?;
    let mut shown = PlanSnapshot {
        plan,
        run: None,
        is_held: false,
        standings: Vec::new(),
    };
    if !database::exists(project, surroundings)? {
        return Ok(shown);
    }
    let archive = RunArchive::open(project, surroundings, Vec::new()).await?;
    let Some((record, records)) = archive.last(RunKind::Plan, name.as_str()).await? else {
        return Ok(shown);
    };
    shown.run = Some(record.id);
    shown.is_held = archive.is_held(record.id).await?;
    let keys = plan::keys(&shown.plan);
    // A task that was changed since has not been run.
    let current = |record: &TaskRecord| keys.get(&record.key.id) == Some(&record.key);
    let current = records.into_iter().filter(current);
    shown.standings = current
        .map(|record| (record.key.id, record.standing))
        .collect();
    Ok(shown)
}

/// Finds the last run of a file, if it did not finish and no process works on it: it could be
/// resumed.
pub async fn unfinished(
    project: &Project,
    surroundings: &ProcessEnvironment,
    kind: RunKind,
    file: &Path,
) -> Result<Option<RunNumber>, Error> {
    if !database::exists(project, surroundings)? {
        return Ok(None);
    }
    let named = input_file::read(project, surroundings, file)?;
    let archive = RunArchive::open(project, surroundings, Vec::new()).await?;
    let Some((record, _)) = archive.last(kind, &named.name).await? else {
        return Ok(None);
    };
    let is_open = matches!(record.state, RunState::Running | RunState::Stopped);
    let is_free = !archive.is_held(record.id).await?;
    Ok((is_open && is_free).then_some(record.id))
}

/// Returns the newest runs of task and plan files, each with whether a process works on it.
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

/// Runs one task, as a run of its own.
async fn carry_out(
    job: TaskRequest<'_>,
    task: &Task,
    key: &TaskFingerprint,
    (name, errand): (&str, CallPurpose),
) -> Result<EndedRun<TaskEnd>, Error> {
    let office = TaskEnvironment::open(job.project, job.surroundings, &job.wish, errand)?;
    office.check(task)?;
    let new = run_archive::new_run(RunKind::Task, name, &key.fingerprint);
    let TaskRequest {
        start,
        observer,
        cancel,
        project,
        surroundings,
        ..
    } = job;
    let servers = office.servers(project).await?;
    let archive = RunArchive::open(project, surroundings, office.secrets()).await?;
    let mut run = archive.run(&new, start).await?;
    let id = run.id();
    let records = run.load().await?;
    let known = records.into_iter().find(|record| record.key == *key);
    if let Some(TaskState::Completed { result }) = known.map(|record| record.standing) {
        archive.end(run, RunState::Done).await;
        let warnings = office.warnings(&servers);
        return Ok(EndedRun {
            run: id,
            came: Ok(*result),
            warnings,
        });
    }
    let files = run.is_shared().then(|| run.file_store());
    let mut warnings = Vec::new();
    if let Some(files) = &files {
        warnings = kept_files::restore(files, &project.root).await?;
    }
    let workshop = office.workshop(project, &servers, &run).await?;
    run.keep(&record(key, TaskState::Running)).await?;
    let ended = {
        let mut conversation = PlanJournal::conversation(&mut run, key).await?;
        if let Some(files) = files {
            let root = Root::open(project.folder())?;
            conversation = Box::new(FilingConversation::new(conversation, files, root));
        }
        let bench = workshop.bench(&cancel);
        handlers::run(
            &bench,
            TaskInput::new(task),
            conversation.as_mut(),
            observer,
        )
        .await
    };
    let (state, standing) = came_to(&ended);
    let kept = run.keep(&record(key, standing)).await;
    archive.end(run, state).await;
    // A failure is worth more than the news that it could not be kept.
    if ended.is_ok() {
        kept?;
    }
    warnings.extend(office.warnings(&servers));
    Ok(EndedRun {
        run: id,
        came: ended,
        warnings,
    })
}

/// Returns the states of a run and its task after this end.
fn came_to(ended: &TaskEnd) -> (RunState, TaskState) {
    match ended {
        Ok(result) => {
            let result = Box::new(result.clone());
            (RunState::Done, TaskState::Completed { result })
        }
        Err(failure) => {
            let state = match failure.kind {
                handlers::FailureKind::Stopped(_) => RunState::Stopped,
                _ => RunState::Failed,
            };
            let failure = Box::new(failure.clone());
            (state, TaskState::Failed { failure })
        }
    }
}

fn record(key: &TaskFingerprint, standing: TaskState) -> TaskRecord {
    TaskRecord {
        key: key.clone(),
        standing,
        at_ms: SystemClock.now_ms(),
    }
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
