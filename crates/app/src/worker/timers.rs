//! Handles due work: timers, leases that have ended, and the runs of subflows.

use flow::engine::{
    ChildEnd, ChildRun, EngineCommand, RefusalKind, RunStart, TimerPurpose, TimerRow,
};
use flow::{StoreError, WorkflowStore};

use crate::Project;
use crate::workflows::text_of;

/// Number of due items that are taken at a time.
const DUE_MAX: usize = 100;

/// Fires due timers. Returns their number.
pub(super) async fn tend(
    store: &dyn WorkflowStore,
    project: &Project,
) -> Result<usize, StoreError> {
    let mut fired = 0;
    for (task, fence) in store.expired(DUE_MAX).await? {
        // Refused means that there was a word of it meanwhile.
        if store
            .execute(EngineCommand::LeaseLost { task, fence })
            .await?
            .is_ok()
        {
            fired += 1;
        }
    }
    for timer in store.due(DUE_MAX).await? {
        if fire(store, project, timer).await? {
            fired += 1;
        }
    }
    Ok(fired)
}

async fn fire(
    store: &dyn WorkflowStore,
    project: &Project,
    timer: TimerRow,
) -> Result<bool, StoreError> {
    if let TimerPurpose::StartChild { child } = &timer.due
        && let Err(message) = start_child(store, project, child).await?
    {
        let command = EngineCommand::ChildEnded {
            task: child.parent.clone(),
            child: child.run.clone(),
            end: ChildEnd::Failed {
                message,
                class: None,
            },
        };
        return Ok(store.execute(command).await?.is_ok());
    }
    let fire = EngineCommand::Fire {
        run: timer.run,
        key: timer.key,
    };
    Ok(store.execute(fire).await?.is_ok())
}

/// Starts the run of a subflow; the sentence says why it cannot be.
async fn start_child(
    store: &dyn WorkflowStore,
    project: &Project,
    child: &ChildRun,
) -> Result<Result<(), String>, StoreError> {
    // Another worker has started the child, so a missing workflow here does not matter.
    if store.run(&child.run).await?.is_some() {
        return Ok(Ok(()));
    }
    let name = &child.subflow;
    let text = match text_of(project, name) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(Err(format!("There is no workflow `{name}` here."))),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let title = match flow::parse(&text) {
        Ok(workflow) => workflow.name().unwrap_or(name).to_owned(),
        Err(error) => return Ok(Err(format!("The workflow `{name}` cannot run: {error}"))),
    };
    let hash = store.keep_workflow(&text).await?;
    let start = RunStart {
        parent: Some(child.parent.clone()),
        depth: child.depth,
        priority: child.priority,
        name: Some(title),
        ..RunStart::new(child.run.as_str(), child.input.clone())
    };
    Ok(match store.start(&hash, start).await? {
        Ok(_) => Ok(()),
        // The child was started by another worker, or its parent no longer waits for it. A late
        // starter must not report anything about the child that the parent waits for now.
        Err(refusal)
            if matches!(
                refusal.kind,
                RefusalKind::AlreadyStarted | RefusalKind::WrongStatus
            ) =>
        {
            Ok(())
        }
        Err(refusal) => Err(refusal.message),
    })
}
