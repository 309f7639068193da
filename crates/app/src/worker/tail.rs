//! The lines that commands print, on their way to a watcher while the commands run.

use std::collections::BTreeMap;
use std::time::Duration;

use flow::engine::{EventKind, RunEvent, TaskStatus};
use flow::{StoreError, TaskId, WorkflowStore};
use tokio::time::Instant;

use crate::worker::{RunWatcher, has_passed};

/// How often, at most, the lines of commands that run are read.
const LOOK: Duration = Duration::from_millis(200);
/// How many lines are read at a time.
const LINES_MAX: usize = 500;

/// The tasks whose lines are followed, each with the last line that was told.
#[derive(Default)]
pub(super) struct LogTail {
    open: BTreeMap<TaskId, (u32, u64)>,
    looked: Option<Instant>,
    /// Tells whether everything that happened before the watcher came was told.
    has_begun: bool,
}

impl LogTail {
    /// Tells events, and before the end of a task the last lines that it printed.
    pub(super) async fn tell(
        &mut self,
        store: &dyn WorkflowStore,
        events: &[RunEvent],
        watcher: &mut dyn RunWatcher,
    ) -> Result<(), StoreError> {
        let mut told = 0;
        for (at, event) in events.iter().enumerate() {
            let EventKind::TaskMoved { task, by, .. } = &event.what else {
                continue;
            };
            if by.to() == TaskStatus::InProgress {
                if watcher.wants_lines(task) {
                    self.open.entry(task.clone()).or_default();
                }
                continue;
            }
            let Some(after) = self.open.remove(task) else {
                continue;
            };
            // Lines of tasks that ended before were told when they did.
            if self.has_begun {
                watcher.events(events.get(told..at).unwrap_or_default());
                told = at;
                read(store, task, after, watcher).await?;
            }
        }
        watcher.events(events.get(told..).unwrap_or_default());
        Ok(())
    }

    /// Tells what the commands that run have printed since it was last told.
    pub(super) async fn look(
        &mut self,
        store: &dyn WorkflowStore,
        watcher: &mut dyn RunWatcher,
    ) -> Result<(), StoreError> {
        self.has_begun = true;
        if self.open.is_empty() || !has_passed(&mut self.looked, LOOK) {
            return Ok(());
        }
        for (task, after) in &mut self.open {
            *after = read(store, task, *after, watcher).await?;
        }
        Ok(())
    }
}

/// Tells the lines of a task after one of them; returns the last one.
async fn read(
    store: &dyn WorkflowStore,
    task: &TaskId,
    mut after: (u32, u64),
    watcher: &mut dyn RunWatcher,
) -> Result<(u32, u64), StoreError> {
    loop {
        let lines = store.log(task, after, LINES_MAX).await?;
        let Some(last) = lines.last() else {
            return Ok(after);
        };
        after = (last.attempt, last.number);
        watcher.printed(&lines);
    }
}
