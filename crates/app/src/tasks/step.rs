//! Carries out a task that is a step of a run: in a checkout, with its conversation and its result
//! stored, so that a later attempt goes on with it.

use agent::handlers::{self, EarlierResult, FailureKind, TaskEvent, TaskInput, TaskObserver};
use agent::plan::{PlanJournal, TaskFingerprint, TaskRecord, TaskState};
use agent::task::{Task, TaskKind};
use agent::{AgentClock as _, CommandCancel, TurnJournal};
use store::{CallTotals, LockedRun, RunKind, RunState, TaskRecords as _};
use workspace::Root;

use super::TaskEnd;
use super::clock::SystemClock;
use super::environment::TaskEnvironment;
use super::kept_files::{self, FilingConversation};
use super::run_archive::{self, RunArchive};
use crate::ai::{AiOverrides, CallPurpose};
use crate::{Error, ProcessEnvironment, Project};

/// Where and with what a task is carried out.
pub(crate) struct StepWork<'a> {
    pub(crate) project: &'a Project,
    pub(crate) surroundings: &'a ProcessEnvironment,
    pub(crate) wish: AiOverrides,
    pub(crate) observer: &'a mut dyn TaskObserver,
    pub(crate) cancel: CommandCancel,
}

/// A task with the name under which its work is stored.
pub(crate) struct RecordedTask<'a> {
    pub(crate) name: &'a str,
    pub(crate) task: &'a Task,
    pub(crate) key: &'a TaskFingerprint,
    /// Results of the tasks it depends on.
    pub(crate) earlier: &'a [EarlierResult],
    /// The names of the other tasks of its run, the oldest first.
    pub(crate) others: &'a [String],
}

/// The end of an attempt at a task.
pub(crate) struct StepEnd {
    pub(crate) came: TaskEnd,
    /// Problems beside the work, a sentence each.
    pub(crate) warnings: Vec<String>,
    /// True if an earlier attempt had done it, so that nothing was repeated.
    pub(crate) was_done: bool,
    /// The cost of its conversation before this attempt.
    pub(crate) spent_before: CallTotals,
}

/// Returns what a task asks a model for.
pub(crate) fn purpose_of(task: &Task) -> CallPurpose {
    match task.kind {
        TaskKind::Planning => CallPurpose::Plan,
        _ => CallPurpose::Generate,
    }
}

/// Carries out a task: begins its work, or goes on with what is stored under its name.
pub(crate) async fn run_step(
    work: StepWork<'_>,
    recorded: RecordedTask<'_>,
) -> Result<StepEnd, Error> {
    let StepWork {
        project,
        surroundings,
        wish,
        observer,
        cancel,
    } = work;
    let task = recorded.task;
    let office = TaskEnvironment::open(project, surroundings, &wish, purpose_of(task))?;
    office.check(task)?;
    let archive = RunArchive::open(project, surroundings, office.secrets()).await?;
    let mut run = archive
        .open_run(recorded.name, &recorded.key.fingerprint)
        .await?;
    let spent_before = archive.runs().spent(run.id()).await?;
    let mut records = run.load().await?.into_iter();
    let known = records.find(|record| record.key == *recorded.key);
    if let Some(TaskState::Completed { result }) = known.map(|record| record.standing) {
        let task = &task.subtask_id;
        observer.notice_task(&TaskEvent::TaskKept { task });
        archive.end(run, RunState::Done).await;
        return Ok(StepEnd {
            came: Ok(*result),
            warnings: Vec::new(),
            was_done: true,
            spent_before,
        });
    }
    let servers = office.servers(project).await?;
    let mut warnings = restored(&archive, &run, &recorded, project).await?;
    let mut deeds = run.deeds().await?;
    for other in archive.numbers(recorded.others).await? {
        deeds.extend(archive.runs().deeds(other).await?);
    }
    let workshop = office.workshop(project, &servers, &deeds)?;
    run.keep(&record(recorded.key, TaskState::Running)).await?;
    let files = run.is_shared().then(|| run.file_store());
    let came = {
        let mut conversation: Box<dyn TurnJournal> =
            PlanJournal::conversation(&mut run, recorded.key).await?;
        if let Some(files) = files {
            let root = Root::open(project.folder())?;
            conversation = Box::new(FilingConversation::new(conversation, files, root));
        }
        let earlier = recorded.earlier;
        let input = TaskInput { task, earlier };
        let bench = workshop.bench(&cancel);
        handlers::run(&bench, input, conversation.as_mut(), observer).await
    };
    let (state, standing) = came_to(&came);
    let kept = run.keep(&record(recorded.key, standing)).await;
    archive.end(run, state).await;
    // A failure is worth more than the news that it could not be kept.
    if came.is_ok() {
        kept?;
    }
    warnings.extend(office.warnings(&servers));
    Ok(StepEnd {
        came,
        warnings,
        was_done: false,
        spent_before,
    })
}

/// Puts the files that the tasks of a run have written into this checkout, where another machine may
/// have begun it.
async fn restored(
    archive: &RunArchive,
    run: &LockedRun,
    recorded: &RecordedTask<'_>,
    project: &Project,
) -> Result<Vec<String>, Error> {
    if !run.is_shared() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for other in archive.numbers(recorded.others).await? {
        files.extend(archive.runs().files(other).await?);
    }
    files.extend(archive.runs().files(run.id()).await?);
    kept_files::restore(files, &project.root)
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
                FailureKind::Stopped(_) => RunState::Stopped,
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

impl RunArchive {
    /// Opens the stored work of a task, and holds its lock.
    async fn open_run(&self, name: &str, definition: &str) -> Result<LockedRun, Error> {
        let runs = self.runs();
        Ok(match runs.latest(RunKind::Task, name).await? {
            Some(known) => runs.resume(known.id).await?,
            None => {
                let new = run_archive::new_run(RunKind::Task, name, definition);
                runs.begin(&new).await?
            }
        })
    }

    /// Returns the numbers of the stored work of these names, as far as there is some.
    async fn numbers(&self, names: &[String]) -> Result<Vec<store::RunNumber>, Error> {
        let mut numbers = Vec::new();
        for name in names {
            let known = self.runs().latest(RunKind::Task, name).await?;
            numbers.extend(known.map(|record| record.id));
        }
        Ok(numbers)
    }

    /// Returns the record of a task of a definition, if any work on it is stored.
    pub(super) async fn record_of(
        &self,
        name: &str,
        key: &TaskFingerprint,
    ) -> Result<Option<TaskRecord>, Error> {
        let Some(known) = self.runs().latest(RunKind::Task, name).await? else {
            return Ok(None);
        };
        let records = self.runs().task_records(known.id).await?;
        Ok(records.into_iter().find(|record| record.key == *key))
    }
}
