//! How a run stands, together with the runs it has started.

use std::collections::BTreeSet;

use flow::engine::{Pause, RunRow, RunStatus, TaskKind, TaskRow, TaskStatus};
use flow::{Execution, RunId, Store, StoreError, Which};

/// What a run is doing.
#[derive(Clone, Debug)]
pub enum Standing {
    /// Something is done, or will be without anybody's help.
    Going,
    /// Nothing goes on before a person does one of these.
    Waiting(Vec<TaskRow>),
    /// Nothing goes on before somebody resumes it.
    Paused(RunRow),
    Ended(RunRow),
}

/// How many tasks of one run are looked at.
const TASKS_MAX: usize = 20_000;

/// How a run stands, and all runs of its family.
pub(crate) async fn of(
    store: &dyn Store,
    root: &RunId,
) -> Result<(Standing, BTreeSet<RunId>), StoreError> {
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
                return Ok((Standing::Ended(run), family));
            }
            // Its parent is about to be told.
            goes_on = true;
            continue;
        }
        let is_paused = run.status == RunStatus::Paused;
        if is_paused && id != *root && matches!(run.pause, Some(Pause::Task(_))) {
            // Its parent is about to be told, and decides what comes of it.
            goes_on = true;
        }
        for task in store.tasks(Some(&id), Which::Active, TASKS_MAX).await? {
            if task.kind == TaskKind::Subflow && task.status == TaskStatus::Waiting {
                let child = RunId::child_of(&task.id, task.fence);
                family.insert(child.clone());
                open.push(child);
                continue;
            }
            match task.status {
                TaskStatus::Waiting if task.kind == TaskKind::Wait => {
                    match awaits_signal(store, &run, &task).await? {
                        true => people.push(task),
                        false => goes_on = true,
                    }
                }
                TaskStatus::OnHold => people.push(task),
                TaskStatus::Pending if task.execution == Execution::Manual => people.push(task),
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
        (true, ..) => Standing::Going,
        (false, _, Some(run)) => Standing::Paused(run),
        (false, false, None) => Standing::Waiting(people),
        // A foreach or a join whose last word is being decided.
        (false, true, None) => Standing::Going,
    };
    Ok((standing, family))
}

/// Whether a wait goes on only when somebody sends its signal.
async fn awaits_signal(
    store: &dyn Store,
    run: &RunRow,
    task: &TaskRow,
) -> Result<bool, StoreError> {
    let workflow = store.workflow(&run.workflow).await?;
    let step = workflow
        .as_ref()
        .and_then(|workflow| workflow.step(&task.id.step));
    Ok(step.is_some_and(|step| step.config.signal.is_some() && step.config.timeout.is_none()))
}
