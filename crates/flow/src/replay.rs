//! The state of a run, worked out from its events alone.
//!
//! Events say what happened; rows say how things are. Both are written by one decision, so each can
//! be held against the other: [`replay`] of the events must give the [`Skeleton`] of the rows.

use std::collections::BTreeMap;

use crate::engine::{Event, ItemStatus, RunStatus, TaskKind, TaskStatus, What};
use crate::id::{RunId, TaskId};
use crate::memory::Memory;

/// What there is of a run, without what its steps gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    pub status: RunStatus,
    pub seq: u64,
    pub active: u32,
    pub tasks: BTreeMap<TaskId, (TaskKind, TaskStatus)>,
    pub groups: BTreeMap<TaskId, Count>,
    pub items: BTreeMap<(TaskId, u32), ItemStatus>,
}

/// The items of a foreach, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub total: u32,
    pub running: u32,
    pub succeeded: u32,
    pub failed: u32,
    pub closed: bool,
}

/// Why events are not the history of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq}: {message}")]
pub struct Unreplayable {
    pub seq: u64,
    pub message: String,
}

/// Works out the state of a run from its events.
///
/// # Errors
///
/// When a number is missing, a task moves that is not there, or a move does not begin where the
/// task is.
pub fn replay(events: &[Event]) -> Result<Skeleton, Unreplayable> {
    let mut skeleton = Skeleton {
        status: RunStatus::Running,
        seq: 0,
        active: 0,
        tasks: BTreeMap::new(),
        groups: BTreeMap::new(),
        items: BTreeMap::new(),
    };
    for event in events {
        let wrong = |message: String| Unreplayable {
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

impl Skeleton {
    /// The state of a run as its rows say it.
    #[must_use]
    pub fn of(memory: &Memory, run: &RunId) -> Option<Skeleton> {
        let row = memory.runs.get(run)?;
        let tasks = memory.tasks.values().filter(|task| task.id.run == *run);
        let groups = memory.groups.values().filter(|group| group.id.run == *run);
        let items = memory.items.values().filter(|item| item.group.run == *run);
        Some(Skeleton {
            status: row.status,
            seq: row.seq,
            active: row.active,
            tasks: tasks
                .map(|task| (task.id.clone(), (task.kind, task.status)))
                .collect(),
            groups: groups
                .map(|group| {
                    let count = Count {
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

    fn take(&mut self, what: &What) -> Result<(), String> {
        match what {
            What::RunStarted { .. } | What::RunResumed | What::RunReopened { .. } => {
                self.status = RunStatus::Running;
            }
            What::RunPaused { .. } => self.status = RunStatus::Paused,
            What::RunEnded { status, .. } => self.status = *status,
            What::TaskCreated {
                task, kind, begin, ..
            } => {
                self.active += 1;
                let old = self.tasks.insert(task.clone(), (*kind, begin.status()));
                if old.is_some() {
                    return Err(format!("`{task}` is created twice"));
                }
            }
            What::TaskMoved { task, by, .. } => {
                let Some((_, status)) = self.tasks.get_mut(task) else {
                    return Err(format!("`{task}` moves and is not there"));
                };
                if *status != by.from() {
                    return Err(format!("`{task}` is {} and moves by {by:?}", status.name()));
                }
                *status = by.to();
                self.active -= u32::from(by.to().is_terminal());
            }
            What::GroupOpened { group, total } => {
                let count = Count {
                    total: *total,
                    ..Count::default()
                };
                self.groups.insert(group.clone(), count);
                let items = (0..*total).map(|index| ((group.clone(), index), ItemStatus::Waiting));
                self.items.extend(items);
            }
            What::ItemStarted { group, index } => {
                self.item(group, *index, ItemStatus::Running)?;
                self.group(group)?.running += 1;
            }
            What::ItemEnded {
                group,
                index,
                status,
            } => {
                let was = self.item(group, *index, *status)?;
                if was != ItemStatus::Running {
                    return Err(format!("item {index} of `{group}` ends and was {was:?}"));
                }
                let count = self.group(group)?;
                count.running -= 1;
                count.add(*status, 1);
            }
            What::ItemReopened { group, index } => {
                let was = self.item(group, *index, ItemStatus::Waiting)?;
                self.group(group)?.add(was, -1);
            }
            What::GroupClosed { group } => self.group(group)?.closed = true,
            What::GroupReopened { group } => self.group(group)?.closed = false,
            What::GroupContinued { group, of, index } => self.go_on_with(group, of, *index)?,
            What::Assigned { .. }
            | What::Decided { .. }
            | What::Arrived { .. }
            | What::CameLate { .. }
            | What::Signalled { .. }
            | What::Warned { .. } => {}
        }
        Ok(())
    }

    /// All items but one are as they ended in the foreach that is continued.
    fn go_on_with(&mut self, group: &TaskId, of: &TaskId, index: u32) -> Result<(), String> {
        let total = self.group(of)?.total;
        let mut count = Count {
            total,
            ..Count::default()
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

    fn group(&mut self, group: &TaskId) -> Result<&mut Count, String> {
        let count = self.groups.get_mut(group);
        count.ok_or_else(|| format!("the foreach `{group}` was never opened"))
    }

    /// Sets the status of an item, and gives the one it had.
    fn item(&mut self, group: &TaskId, index: u32, now: ItemStatus) -> Result<ItemStatus, String> {
        let status = self.items.get_mut(&(group.clone(), index));
        let status = status.ok_or_else(|| format!("`{group}` has no item {index}"))?;
        Ok(std::mem::replace(status, now))
    }
}

impl Count {
    fn add(&mut self, status: ItemStatus, by: i32) {
        let count = match status {
            ItemStatus::Succeeded => &mut self.succeeded,
            ItemStatus::Failed => &mut self.failed,
            _ => return,
        };
        *count = count.saturating_add_signed(by);
    }
}
