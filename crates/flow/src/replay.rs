//! Replays a run: computes its state from its events alone.
//!
//! Events record what happened; rows hold the present state. One decision writes both, so that each
//! can be checked against the other: [`replay`] of the events must give the [`RunSkeleton`] of the
//! rows.

use std::collections::BTreeMap;

use crate::engine::{EventKind, ItemStatus, RunEvent, RunStatus, TaskStatus, WorkflowTaskKind};
use crate::id::{RunId, TaskId};
use crate::memory::MemoryRows;

/// The state of a run without the outputs of its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSkeleton {
    pub status: RunStatus,
    pub seq: u64,
    pub active: u32,
    pub tasks: BTreeMap<TaskId, (WorkflowTaskKind, TaskStatus)>,
    pub groups: BTreeMap<TaskId, ForeachCounts>,
    pub items: BTreeMap<(TaskId, u32), ItemStatus>,
}

/// The counts of a foreach's items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeachCounts {
    pub total: u32,
    pub running: u32,
    pub succeeded: u32,
    pub failed: u32,
    pub closed: bool,
}

/// The error of events that cannot be the history of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq}: {message}")]
pub struct ReplayError {
    pub seq: u64,
    pub message: String,
}

/// Computes the state of a run from its events.
///
/// # Errors
///
/// When a number is missing, a task changes that does not exist, or a change does not start from
/// the task's status.
pub fn replay(events: &[RunEvent]) -> Result<RunSkeleton, ReplayError> {
    let mut skeleton = RunSkeleton {
        status: RunStatus::Running,
        seq: 0,
        active: 0,
        tasks: BTreeMap::new(),
        groups: BTreeMap::new(),
        items: BTreeMap::new(),
    };
    for event in events {
        let wrong = |message: String| ReplayError {
            seq: event.seq,
            message,
        };
        if event.seq != skeleton.seq + 1 {
            return Err(wrong(format!("it follows {}", skeleton.seq)));
        }
        skeleton.seq = event.seq;
        skeleton.take(&event.what).map_err(wrong)?;
    }
    Ok(skeleton)
}

impl RunSkeleton {
    /// Returns the state of a run according to its rows.
    #[must_use]
    pub fn of(memory: &MemoryRows, run: &RunId) -> Option<RunSkeleton> {
        let row = memory.runs.get(run)?;
        let tasks = memory.tasks.values().filter(|task| task.id.run == *run);
        let groups = memory.groups.values().filter(|group| group.id.run == *run);
        let items = memory.items.values().filter(|item| item.group.run == *run);
        Some(RunSkeleton {
            status: row.status,
            seq: row.seq,
            active: row.active,
            tasks: tasks
                .map(|task| (task.id.clone(), (task.kind, task.status)))
                .collect(),
            groups: groups
                .map(|group| {
                    let count = ForeachCounts {
                        total: group.total,
                        running: group.running,
                        succeeded: group.succeeded,
                        failed: group.failed,
                        closed: group.closed,
                    };
                    (group.id.clone(), count)
                })
                .collect(),
            items: items
                .map(|item| ((item.group.clone(), item.index), item.status))
                .collect(),
        })
    }

    fn take(&mut self, what: &EventKind) -> Result<(), String> {
        match what {
            EventKind::RunStarted { .. }
            | EventKind::RunResumed
            | EventKind::RunReopened { .. } => {
                self.status = RunStatus::Running;
            }
            EventKind::RunPaused { .. } => self.status = RunStatus::Paused,
            EventKind::RunEnded { status, .. } => self.status = *status,
            EventKind::TaskCreated {
                task, kind, begin, ..
            } => {
                self.active += 1;
                let old = self.tasks.insert(task.clone(), (*kind, begin.status()));
                if old.is_some() {
                    return Err(format!("`{task}` is created twice"));
                }
            }
            EventKind::TaskMoved { task, by, .. } => {
                let Some((_, status)) = self.tasks.get_mut(task) else {
                    return Err(format!("`{task}` moves and is not there"));
                };
                if *status != by.from() {
                    return Err(format!("`{task}` is {} and moves by {by:?}", status.name()));
                }
                *status = by.to();
                self.active -= u32::from(by.to().is_terminal());
            }
            EventKind::GroupOpened { group, total } => {
                let count = ForeachCounts {
                    total: *total,
                    ..ForeachCounts::default()
                };
                self.groups.insert(group.clone(), count);
                let items = (0..*total).map(|index| ((group.clone(), index), ItemStatus::Waiting));
                self.items.extend(items);
            }
            EventKind::ItemStarted { group, index } => {
                self.item(group, *index, ItemStatus::Running)?;
                self.group(group)?.running += 1;
            }
            EventKind::ItemEnded {
                group,
                index,
                status,
            } => self.end_item(group, *index, *status)?,
            EventKind::ItemReopened { group, index } => {
                let was = self.item(group, *index, ItemStatus::Waiting)?;
                self.group(group)?.add(was, -1);
            }
            EventKind::GroupClosed { group } => self.group(group)?.closed = true,
            EventKind::GroupReopened { group } => self.group(group)?.closed = false,
            EventKind::GroupContinued { group, of, index } => self.go_on_with(group, of, *index)?,
            EventKind::RunQueued { .. }
            | EventKind::RunAdmitted
            | EventKind::RunMoved { .. }
            | EventKind::Assigned { .. }
            | EventKind::Decided { .. }
            | EventKind::Arrived { .. }
            | EventKind::CameLate { .. }
            | EventKind::Signalled { .. }
            | EventKind::Warned { .. } => {}
        }
        Ok(())
    }

    fn end_item(&mut self, group: &TaskId, index: u32, status: ItemStatus) -> Result<(), String> {
        let was = self.item(group, index, status)?;
        if was != ItemStatus::Running {
            return Err(format!("item {index} of `{group}` ends and was {was:?}"));
        }
        let count = self.group(group)?;
        count.running -= 1;
        count.add(status, 1);
        Ok(())
    }

    /// Takes over the items of the continued foreach; all but one keep their status.
    fn go_on_with(&mut self, group: &TaskId, of: &TaskId, index: u32) -> Result<(), String> {
        let total = self.group(of)?.total;
        let mut count = ForeachCounts {
            total,
            ..ForeachCounts::default()
        };
        for at in 0..total {
            let was = self.items.get(&(of.clone(), at)).copied();
            let kept = was.filter(|was| {
                at != index && matches!(was, ItemStatus::Succeeded | ItemStatus::Failed)
            });
            let now = kept.unwrap_or(ItemStatus::Waiting);
            count.add(now, 1);
            self.items.insert((group.clone(), at), now);
        }
        match self.groups.insert(group.clone(), count) {
            None => Ok(()),
            Some(_) => Err(format!("the foreach `{group}` is opened twice")),
        }
    }

    fn group(&mut self, group: &TaskId) -> Result<&mut ForeachCounts, String> {
        let count = self.groups.get_mut(group);
        count.ok_or_else(|| format!("the foreach `{group}` was never opened"))
    }

    /// Sets the status of an item, and returns the previous one.
    fn item(&mut self, group: &TaskId, index: u32, now: ItemStatus) -> Result<ItemStatus, String> {
        let status = self.items.get_mut(&(group.clone(), index));
        let status = status.ok_or_else(|| format!("`{group}` has no item {index}"))?;
        Ok(std::mem::replace(status, now))
    }
}

impl ForeachCounts {
    fn add(&mut self, status: ItemStatus, by: i32) {
        let count = match status {
            ItemStatus::Succeeded => &mut self.succeeded,
            ItemStatus::Failed => &mut self.failed,
            _ => return,
        };
        *count = count.saturating_add_signed(by);
    }
}
