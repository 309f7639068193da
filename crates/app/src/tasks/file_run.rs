//! The runs of task and plan files: begun, found, resumed, worked on in this process, and judged.
//!
//! Each is a run of the workflow engine, of a text that is made from the file ([`super::diagram`]), so
//! that leases, budgets, workers and pages are those of every run. A run that ended is continued by
//! another one of the same line, which repeats no finished task.

use std::sync::Arc;
use std::time::Duration;

use agent::AgentClock as _;
use agent::handlers::TaskEvent;
use agent::task::TaskName;
use flow::engine::{AttemptOutcome, AttemptReport, EngineCommand, RunRow, RunStatus, TaskStatus};
use flow::{RunId, TaskId, TaskSelection};
use serde_json::{Value, json};
use store::{RunCursor, RunFilter, RunKind};

use super::clock::SystemClock;
use super::diagram::{TaskDiagram, TaskStep};
use super::run_archive::{RunArchive, STEP_PREFIX};
use super::{StartMode, TaskRequest, TaskWatch};
use crate::application::{App, RunRequest, UseCases};
use crate::run_target::TargetKind;
use crate::worker::{NoWatcher, StopCondition, WorkerEnd, WorkerOptions};
use crate::workflows::{self, LoadedWorkflow, RunActivity};
use crate::{AppErrorCode, Error, Project};

/// Begins the tags that say of which kind of file a run is.
const KIND_TAG: &str = "kind:";
/// The fields of the input of such a run.
const FILE: &str = "file";
const CONTINUES: &str = "continues";
/// Number of runs in a page of the search for the last run of a file.
const RUNS_PAGE: usize = 50;
/// Number of tasks of one run that are read.
const TASKS_MAX: usize = 20_000;

/// Returns the tag of the runs of a kind of file.
pub(crate) fn kind_tag(kind: TargetKind) -> String {
    format!("{KIND_TAG}{}", kind.as_str())
}

/// Returns the kind of file that a run is of, if it is of one.
pub(crate) fn kind_of_run(run: &RunRow) -> Option<TargetKind> {
    let mut kinds = [TargetKind::Task, TargetKind::Plan].into_iter();
    kinds.find(|kind| run.tags.contains(&kind_tag(*kind)))
}

/// Returns the name under which the work on a task is stored, in its run's line.
pub(crate) fn record_name(task: &TaskId, line: &RunId) -> String {
    let mut named = task.clone();
    // A step that is run again is done again, whatever was done before.
    if task.visit == 1 {
        named.run = line.clone();
    }
    format!("{STEP_PREFIX}{named}")
}

/// Returns the first run of a line: the one that a run's input names, or the run itself.
pub(crate) fn line_of(run: &RunId, input: Option<&Value>) -> RunId {
    let named = input
        .and_then(|input| input.get(CONTINUES))
        .and_then(Value::as_str);
    named.map_or_else(|| run.clone(), RunId::new)
}

/// The file of a run, and the workflow that it is run as.
pub(super) struct DrawnFile<'a> {
    pub(super) kind: TargetKind,
    /// The name of its runs.
    pub(super) name: &'a str,
    pub(super) diagram: TaskDiagram,
}

/// A run of a file that this process has worked on.
pub(super) struct FileRun {
    pub(super) app: UseCases,
    pub(super) run: RunId,
    /// The first run of its line.
    pub(super) line: RunId,
    /// The time at which this process took the run up, in milliseconds since 1970.
    pub(super) taken_up_ms: u64,
    pub(super) watch: Arc<TaskWatch>,
}

/// Begins a run of a file or goes on with the last one, and works on it until nothing is left.
pub(super) async fn work(job: TaskRequest<'_>, file: &DrawnFile<'_>) -> Result<FileRun, Error> {
    let opening = App::open(Arc::clone(&job.project), job.surroundings, job.wish, None);
    let app = opening.await?;
    let watch = Arc::new(TaskWatch::new(job.observers, job.cancel.clone()));
    app.watch_tasks(Arc::clone(&watch));
    let use_cases = app.acting(app.terminal());
    let sheet = sheet_of(&job.project, file)?;
    let runs = FileRuns {
        use_cases: &use_cases,
        file,
        sheet,
    };
    let taken_up_ms = SystemClock.now_ms();
    let (run, line) = match job.start {
        StartMode::Anew => runs.begin_anew().await?,
        StartMode::Resume => runs.resume().await?,
    };
    runs.tell_kept(&run, &watch).await?;
    let order = WorkerOptions {
        name: workflows::worker_name(job.surroundings),
        concurrency: job.project.settings.workflows.concurrency,
        lease: Duration::from_secs(job.project.settings.workflows.lease_seconds),
        assignees: Vec::new(),
        until: StopCondition::Settled(run.clone()),
    };
    loop {
        let ended = use_cases.work(&order, &mut NoWatcher, &job.cancel).await?;
        match ended {
            WorkerEnd::Settled(standing) if matches!(*standing, RunActivity::Going) => {}
            WorkerEnd::Idle | WorkerEnd::StillPending(_) => {}
            WorkerEnd::Settled(_) | WorkerEnd::Stopped { .. } => break,
        }
    }
    Ok(FileRun {
        app: use_cases,
        run,
        line,
        taken_up_ms,
        watch,
    })
}

/// Finds the last run of a file.
pub(super) async fn last_run(
    use_cases: &UseCases,
    (kind, name): (TargetKind, &str),
) -> Result<Option<RunRow>, Error> {
    let filter = RunFilter {
        workflow: Some(name.to_owned()),
        tag: Some(kind_tag(kind)),
        is_top: true,
        ..RunFilter::default()
    };
    let mut after: Option<RunCursor> = None;
    loop {
        let page = use_cases
            .runs_after(&filter, after.as_ref(), RUNS_PAGE)
            .await?;
        let Some(last) = page.last() else {
            return Ok(None);
        };
        after = Some(RunCursor::of(last));
        // The filter finds names that contain this one, too.
        let mut page = page.into_iter();
        if let Some(run) = page.find(|run| run.name.as_deref() == Some(name)) {
            return Ok(Some(run));
        }
    }
}

/// Tells whether a process works on a task of the run at this moment.
pub(super) async fn is_held(use_cases: &UseCases, run: &RunRow) -> Result<bool, Error> {
    let line = line_of(&run.id, Some(&use_cases.input(&run.id).await?));
    let archive = RunArchive::of(use_cases.app().database().clone());
    for task in in_progress(use_cases, &run.id).await? {
        let name = record_name(&task.id, &line);
        if let Some(record) = archive.runs().latest(RunKind::Task, &name).await?
            && archive.runs().is_held(record.id).await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the tasks of a run that some worker has.
async fn in_progress(
    use_cases: &UseCases,
    run: &RunId,
) -> Result<Vec<flow::engine::TaskRow>, Error> {
    let store = use_cases.app().store();
    let active = store
        .tasks(Some(run), TaskSelection::Active, TASKS_MAX)
        .await?;
    let is_held = |task: &flow::engine::TaskRow| task.status == TaskStatus::InProgress;
    Ok(active.into_iter().filter(is_held).collect())
}

fn sheet_of(project: &Project, file: &DrawnFile<'_>) -> Result<LoadedWorkflow, Error> {
    let text = file.diagram.text.clone();
    let sheet = workflows::read_text(project, (file.name, file.name), text);
    if sheet.is_fine() {
        return Ok(sheet);
    }
    let first = sheet.problems.first();
    let problem = first.map_or("", |problem| problem.message.as_str());
    let message = format!("{} cannot be made a workflow: {problem}", file.name);
    Err(Error::new(AppErrorCode::Limit, message).hint("split it into smaller files"))
}

/// The runs of one file.
struct FileRuns<'a> {
    use_cases: &'a UseCases,
    file: &'a DrawnFile<'a>,
    sheet: LoadedWorkflow,
}

impl FileRuns<'_> {
    async fn last(&self) -> Result<Option<RunRow>, Error> {
        last_run(self.use_cases, (self.file.kind, self.file.name)).await
    }

    /// Begins a new run. One that was left unfinished is paused, so that no worker does the same work
    /// beside it.
    async fn begin_anew(&self) -> Result<(RunId, RunId), Error> {
        if let Some(last) = self.last().await?
            && last.status == RunStatus::Running
            && !is_held(self.use_cases, &last).await?
        {
            let reason = "another run of the same file was begun".to_owned();
            let run = last.id;
            // It may have ended meanwhile.
            let _ = self.execute(EngineCommand::Pause { run, reason }).await;
        }
        let run = self.begin(None).await?;
        Ok((run.clone(), run))
    }

    async fn begin(&self, continues: Option<&RunId>) -> Result<RunId, Error> {
        let mut input = json!({ FILE: self.file.name });
        if let Some(line) = continues {
            input[CONTINUES] = json!(line);
        }
        let request = RunRequest {
            input,
            tags: vec![kind_tag(self.file.kind)],
            name: Some(self.file.name.to_owned()),
            ..RunRequest::default()
        };
        self.use_cases.start(&self.sheet, request).await
    }

    /// Goes on with the last run of the file: with the run itself, or with a new run of its line where
    /// the run has failed or the file has changed.
    async fn resume(&self) -> Result<(RunId, RunId), Error> {
        let Some(last) = self.last().await? else {
            return Err(self.nothing_to_resume().await?);
        };
        let input = self.use_cases.input(&last.id).await?;
        let line = line_of(&last.id, Some(&input));
        self.free(&last.id, &line).await?;
        let is_same = flow::TextHash::of(&self.file.diagram.text) == last.workflow;
        let run = last.id;
        match (last.status, is_same) {
            (RunStatus::Running | RunStatus::Completed, true) => return Ok((run, line)),
            (RunStatus::Paused, true) => {
                self.execute(EngineCommand::Resume { run: run.clone() })
                    .await?;
                return Ok((run, line));
            }
            (RunStatus::Running | RunStatus::Paused, false) => {
                let reason = "the file has changed, and another run goes on with it".to_owned();
                self.execute(EngineCommand::Cancel { run, reason }).await?;
            }
            _ => {}
        }
        Ok((self.begin(Some(&line)).await?, line))
    }

    /// Gives back the tasks that a dead process had; refuses if a living one has them.
    async fn free(&self, run: &RunId, line: &RunId) -> Result<(), Error> {
        let archive = RunArchive::of(self.use_cases.app().database().clone());
        for task in in_progress(self.use_cases, run).await? {
            let name = record_name(&task.id, line);
            if let Some(record) = archive.runs().latest(RunKind::Task, &name).await? {
                // The lock of the work tells the living from the dead at once; a lease takes its time.
                drop(archive.runs().resume(record.id).await?);
            }
            let report = EngineCommand::Report {
                task: task.id,
                fence: task.fence,
                report: AttemptReport::of(AttemptOutcome::GivenBack),
            };
            // A refusal means that the lease has ended meanwhile.
            let _ = self.use_cases.app().store().execute(report).await?;
        }
        Ok(())
    }

    async fn nothing_to_resume(&self) -> Result<Error, Error> {
        let name = self.file.name;
        let archive = RunArchive::of(self.use_cases.app().database().clone());
        let kind = match self.file.kind {
            TargetKind::Plan => RunKind::Plan,
            _ => RunKind::Task,
        };
        let old = archive.runs().latest(kind, name).await?;
        let hint = "leave out `--resume` to begin one";
        Ok(match old {
            Some(old) => {
                let message = format!(
                    "run {} of {name} was begun by an older drawloom, which kept it in another way; it \
                     can be listed and not resumed",
                    old.id
                );
                Error::new(AppErrorCode::Conflict, message).hint(hint)
            }
            None => {
                let message = format!("there is no run of {name} to resume");
                Error::new(AppErrorCode::NotFound, message).hint(hint)
            }
        })
    }

    /// Tells the watcher of tasks that are done already.
    async fn tell_kept(&self, run: &RunId, watch: &TaskWatch) -> Result<(), Error> {
        let rows = rows_of(self.use_cases, run).await?;
        for step in &self.file.diagram.steps {
            let row = newest(&rows, step);
            if row.is_some_and(|row| row.status == TaskStatus::Completed) {
                let task: &TaskName = &step.key.id;
                watch.observer().notice_task(&TaskEvent::TaskKept { task });
            }
        }
        Ok(())
    }

    async fn execute(&self, command: EngineCommand) -> Result<(), Error> {
        self.use_cases.execute(command).await
    }
}

/// Returns all tasks of a run.
pub(super) async fn rows_of(
    use_cases: &UseCases,
    run: &RunId,
) -> Result<Vec<flow::engine::TaskRow>, Error> {
    let store = use_cases.app().store();
    Ok(store
        .tasks(Some(run), TaskSelection::All, TASKS_MAX)
        .await?)
}

/// Returns the last task of a step.
pub(super) fn newest<'r>(
    rows: &'r [flow::engine::TaskRow],
    step: &TaskStep,
) -> Option<&'r flow::engine::TaskRow> {
    let of_step = rows.iter().filter(|row| row.id.step == step.step);
    of_step.max_by_key(|row| row.id.visit)
}
