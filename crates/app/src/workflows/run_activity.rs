//! The state of a run, together with the runs it has started.

use std::collections::BTreeSet;

use flow::engine::{PauseCause, RunRow, RunStatus, TaskRow, TaskStatus, WorkflowTaskKind};
use flow::{ExecutionMode, RunId, StoreError, TaskSelection, WorkflowStore};

/// State of a run.
#[derive(Clone, Debug)]
pub enum RunActivity {
    /// A task runs, or will run without a person.
    Going,
    /// Nothing continues before a person does one of these.
    Waiting(Vec<TaskRow>),
    /// Nothing continues before a person resumes it.
    Paused(RunRow),
    Ended(RunRow),
}

/// Number of tasks of one run that are read.
const TASKS_MAX: usize = 20_000;

/// Returns the state of a run, and all runs of its family.
pub(crate) async fn of(
    store: &dyn WorkflowStore,
    root: &RunId,
) -> Result<(RunActivity, BTreeSet<RunId>), StoreError> {
    let mut family = BTreeSet::from([root.clone()]);
    let mut open = vec![root.clone()];
    let mut people = Vec::new();
    let mut goes_on = false;
    let mut paused = None;
    while let Some(id) = open.pop() {
        let Some(run) = store.run(&id).await? else {
            // A child that is about to be started.
            goes_on = true;
            continue;
        };
        if run.status.is_terminal() {
            if id == *root {
                return Ok((RunActivity::Ended(run), family));
            }
            // Its parent is about to be told.
            goes_on = true;
            continue;
        }
        let is_paused = run.status == RunStatus::Paused;
        if is_paused && id != *root && matches!(run.pause, Some(PauseCause::Task(_))) {
            // Its parent is about to be told and decides how to go on.
            goes_on = true;
        }
        for task in store
            .tasks(Some(&id), TaskSelection::Active, TASKS_MAX)
            .await?
        {
            if task.kind == WorkflowTaskKind::Subflow && task.status == TaskStatus::Waiting {
                let child = RunId::child_of(&task.id, task.fence);
                family.insert(child.clone());
                open.push(child);
                continue;
            }
            match task.status {
                TaskStatus::Waiting if task.kind == WorkflowTaskKind::Wait => {
                    match awaits_signal(store, &run, &task).await? {
                        true => people.push(task),
                        false => goes_on = true,
                    }
                }
                TaskStatus::OnHold => people.push(task),
                TaskStatus::Pending if task.execution == ExecutionMode::Manual => people.push(task),
                TaskStatus::InProgress => goes_on = true,
                TaskStatus::Pending if !is_paused => goes_on = true,
                _ => {}
            }
        }
        // The run that was asked about says best why it is paused.
        if is_paused && (paused.is_none() || id == *root) {
            paused = Some(run);
        }
    }
    let standing = match (goes_on, people.is_empty(), paused) {
        (true, ..) => RunActivity::Going,
        (false, _, Some(run)) => RunActivity::Paused(run),
        (false, false, None) => RunActivity::Waiting(people),
        // A foreach or a join whose end is being decided.
        (false, true, None) => RunActivity::Going,
    };
    Ok((standing, family))
}

/// Returns true if a wait goes on only when its signal is sent.
async fn awaits_signal(
    store: &dyn WorkflowStore,
    run: &RunRow,
    task: &TaskRow,
) -> Result<bool, StoreError> {
    let workflow = store.workflow(&run.workflow).await?;
    let step = workflow
        .as_ref()
        .and_then(|workflow| workflow.step(&task.id.step));
    Ok(step.is_some_and(|step| step.config.signal.is_some() && step.config.timeout.is_none()))
}
