//! Tasks and plans: read, run with a model and its tools, kept as they go, and gone on with.
//!
//! Every run is a record in the project's database. What is committed there is not done again:
//! a run that was killed goes on, with [`Start::Resume`], from its last committed turn.

pub(crate) mod bench;
pub(crate) mod clock;
mod credentials;
mod history;
pub(crate) mod keeping;
mod named;

use std::path::Path;

use agent::handlers::{self, Order, TaskFailure, TaskObserver, TaskResult};
use agent::plan::{self, Mark, Plan, PlanJournal, PlanOutcome, PlanStatus, Standing};
use agent::plan::{TaskKey, TaskRecord};
use agent::task::{Task, TaskId, TaskKind};
use agent::{Cancel, Clock as _};
use store::RunState;
use workspace::RelPath;

use crate::ai::{Errand, Wish};
use crate::{Code, Error, Project, Surroundings};
use bench::Office;
use clock::SystemClock;
use keeping::Archive;

pub use history::HistoryFilter;
pub use keeping::DATABASE;
pub use named::plan_beside;
pub use store::{RunId, RunKind};

/// Whether a run is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// From the beginning.
    Anew,
    /// From where the last run of the same file stopped.
    Resume,
}

/// What a run is started with.
pub struct Job<'a> {
    pub project: &'a Project,
    pub surroundings: &'a Surroundings,
    pub wish: Wish,
    pub start: Start,
    pub observer: &'a mut dyn TaskObserver,
    pub cancel: Cancel,
}

/// A run that ended, well or not.
#[derive(Debug)]
pub struct Ended<T> {
    /// The number of the run.
    pub run: RunId,
    pub came: T,
    /// What went wrong beside the work, a sentence each.
    pub warnings: Vec<String>,
}

/// What became of a task, and whether that was in an earlier run.
pub type TaskEnd = Result<TaskResult, TaskFailure>;

/// Runs the task in a file.
pub fn run_task(job: Job<'_>, file: &Path) -> Result<Ended<TaskEnd>, Error> {
    let named = named::read(job.project, job.surroundings, file)?;
    let task = agent::task::read(&named.text, &named.shown)?;
    let key = TaskKey {
        id: task.subtask_id.clone(),
        fingerprint: keeping::digest(&named.text),
    };
    carry_out(job, &task, &key, (&named.name, Errand::Generate))
}

/// Carries out a task that is a step of something larger: the run of this name is gone on with, or
/// begun.
pub(crate) fn run_step(
    mut job: Job<'_>,
    task: &Task,
    (name, text): (&str, &str),
) -> Result<Ended<TaskEnd>, Error> {
    let key = TaskKey {
        id: task.subtask_id.clone(),
        fingerprint: keeping::digest(text),
    };
    let errand = match task.kind {
        TaskKind::Planning => Errand::Plan,
        _ => Errand::Generate,
    };
    let begun = bench::runtime()?.block_on(async {
        let archive = Archive::open(job.project, Vec::new()).await?;
        Ok::<_, Error>(archive.last(RunKind::Task, name).await?.is_some())
    })?;
    job.start = match begun {
        true => Start::Resume,
        false => Start::Anew,
    };
    carry_out(job, task, &key, (name, errand))
}

/// Asks a model for a plan that fulfils the requirements in a file.
pub fn create_plan(
    job: Job<'_>,
    requirements: &Path,
    plan: &Path,
) -> Result<Ended<TaskEnd>, Error> {
    let named = named::read(job.project, job.surroundings, requirements)?;
    let from = named.inside(requirements)?;
    let to = named::inside(job.project, job.surroundings, plan)?;
    let task = Task::planning(&from, to.clone());
    let key = TaskKey {
        id: task.subtask_id.clone(),
        fingerprint: keeping::digest(&format!("{to}\n{}", named.text)),
    };
    carry_out(job, &task, &key, (&named.name, Errand::Plan))
}

/// Runs the plan in a file.
pub fn run_plan(job: Job<'_>, file: &Path) -> Result<Ended<PlanOutcome>, Error> {
    let plan = load(job.project, job.surroundings, file)?;
    let name = named::inside(job.project, job.surroundings, file)?;
    let office = Office::open(job.project, job.surroundings, &job.wish, Errand::Generate)?;
    for task in &plan.tasks {
        office.check(task)?;
    }
    let new = keeping::new_run(RunKind::Plan, name.as_str(), &plan.to_json());
    let Job {
        start,
        observer,
        cancel,
        project,
        ..
    } = job;
    office.block_on(async {
        let servers = office.servers(project).await?;
        let archive = Archive::open(project, office.secrets()).await?;
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
        Ok(Ended {
            run: id,
            came: outcome?,
            warnings: office.warnings(&servers),
        })
    })
}

/// A plan and how its tasks stand.
#[derive(Debug)]
pub struct Shown {
    pub plan: Plan,
    /// The last run of it, if there was one.
    pub run: Option<RunId>,
    /// Whether somebody works on that run now.
    pub is_held: bool,
    standings: Vec<(TaskId, Standing)>,
}

impl Shown {
    /// How a task stands.
    pub fn standing(&self, id: &TaskId) -> Option<&Standing> {
        let found = self.standings.iter().find(|(known, _)| known == id);
        found.map(|(_, standing)| standing)
    }

    /// The sign of a task in the picture.
    pub fn mark(&self, id: &TaskId) -> Mark {
        match self.standing(id) {
            None | Some(Standing::Pending) => Mark::Open,
            Some(Standing::Running) if self.is_held => Mark::Running,
            Some(Standing::Running) => Mark::Open,
            Some(Standing::Completed { .. }) => Mark::Done,
            Some(Standing::Failed { .. }) => Mark::Failed,
            Some(Standing::Skipped { .. }) => Mark::Skipped,
        }
    }
}

/// Reads a plan and looks up how far its last run came.
pub fn show_plan(
    project: &Project,
    surroundings: &Surroundings,
    file: &Path,
) -> Result<Shown, Error> {
    let plan = load(project, surroundings, file)?;
    let name = named::inside(project, surroundings, file)?;
    let mut shown = Shown {
        plan,
        run: None,
        is_held: false,
        standings: Vec::new(),
    };
    if !keeping::exists(project) {
        return Ok(shown);
    }
    bench::runtime()?.block_on(async {
        let archive = Archive::open(project, Vec::new()).await?;
        let Some((record, records)) = archive.last(RunKind::Plan, name.as_str()).await? else {
            return Ok(shown);
        };
        shown.run = Some(record.id);
        shown.is_held = archive.is_held(record.id)?;
        let keys = plan::keys(&shown.plan);
        // A task that was changed since has not been run.
        let current = |record: &TaskRecord| keys.get(&record.key.id) == Some(&record.key);
        let current = records.into_iter().filter(current);
        shown.standings = current
            .map(|record| (record.key.id, record.standing))
            .collect();
        Ok(shown)
    })
}

/// The last run of a file, if it came to no end and nobody works on it: it could be resumed.
pub fn unfinished(
    project: &Project,
    surroundings: &Surroundings,
    kind: RunKind,
    file: &Path,
) -> Result<Option<RunId>, Error> {
    if !keeping::exists(project) {
        return Ok(None);
    }
    let named = named::read(project, surroundings, file)?;
    bench::runtime()?.block_on(async {
        let archive = Archive::open(project, Vec::new()).await?;
        let Some((record, _)) = archive.last(kind, &named.name).await? else {
            return Ok(None);
        };
        let is_open = matches!(record.state, RunState::Running | RunState::Stopped);
        let is_free = !archive.is_held(record.id)?;
        Ok((is_open && is_free).then_some(record.id))
    })
}

/// What is wrong with the project's database, if it has one and something is.
pub fn database_problem(project: &Project) -> Option<Error> {
    if !keeping::exists(project) {
        return None;
    }
    let runtime = match bench::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return Some(error),
    };
    let checked =
        runtime.block_on(async { Archive::open(project, Vec::new()).await?.check().await });
    checked.err()
}

fn load(project: &Project, surroundings: &Surroundings, file: &Path) -> Result<Plan, Error> {
    let named = named::read(project, surroundings, file)?;
    let path = named.inside(file)?;
    // Named by the user, and so not subject to what a model may read.
    let files = |path: &RelPath| project.root.read_text(path);
    Ok(plan::read(&named.text, &path, &files)?)
}

/// One task, as a run of its own.
fn carry_out(
    job: Job<'_>,
    task: &Task,
    key: &TaskKey,
    (name, errand): (&str, Errand),
) -> Result<Ended<TaskEnd>, Error> {
    let office = Office::open(job.project, job.surroundings, &job.wish, errand)?;
    office.check(task)?;
    let new = keeping::new_run(RunKind::Task, name, &key.fingerprint);
    let Job {
        start,
        observer,
        cancel,
        project,
        ..
    } = job;
    office.block_on(async {
        let servers = office.servers(project).await?;
        let archive = Archive::open(project, office.secrets()).await?;
        let mut run = archive.run(&new, start).await?;
        let id = run.id();
        let records = run.load().await?;
        let known = records.into_iter().find(|record| record.key == *key);
        if let Some(Standing::Completed { result }) = known.map(|record| record.standing) {
            archive.end(run, RunState::Done).await;
            let warnings = office.warnings(&servers);
            return Ok(Ended {
                run: id,
                came: Ok(*result),
                warnings,
            });
        }
        let workshop = office.workshop(project, &servers, &run).await?;
        run.keep(&record(key, Standing::Running)).await?;
        let ended = {
            let mut conversation = PlanJournal::conversation(&mut run, key).await?;
            let bench = workshop.bench(&cancel);
            handlers::run(&bench, Order::new(task), conversation.as_mut(), observer).await
        };
        let (state, standing) = came_to(&ended);
        let kept = run.keep(&record(key, standing)).await;
        archive.end(run, state).await;
        // A failure is worth more than the news that it could not be kept.
        if ended.is_ok() {
            kept?;
        }
        Ok(Ended {
            run: id,
            came: ended,
            warnings: office.warnings(&servers),
        })
    })
}

/// How a run and its task stand after this end.
fn came_to(ended: &TaskEnd) -> (RunState, Standing) {
    match ended {
        Ok(result) => {
            let result = Box::new(result.clone());
            (RunState::Done, Standing::Completed { result })
        }
        Err(failure) => {
            let state = match failure.kind {
                handlers::FailureKind::Stopped(_) => RunState::Stopped,
                _ => RunState::Failed,
            };
            let failure = Box::new(failure.clone());
            (state, Standing::Failed { failure })
        }
    }
}

fn record(key: &TaskKey, standing: Standing) -> TaskRecord {
    TaskRecord {
        key: key.clone(),
        standing,
        at_ms: SystemClock.now_ms(),
    }
}

/// Whether a task asks a model at all.
fn asks_a_model(task: &Task) -> bool {
    match task.kind {
        TaskKind::CodeGeneration | TaskKind::AiInteraction | TaskKind::Planning => true,
        TaskKind::Validation | TaskKind::NoOp => false,
    }
}

/// What is wrong with the place of a file.
fn outside(file: &Path) -> Error {
    Error::new(
        Code::File,
        format!("{} is not inside the project", file.display()),
    )
    .hint("plans and requirements lie in the project they are about; see `--cwd`")
}
