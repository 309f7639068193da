//! Runs begin, timers fire, child runs end.

use crate::engine::Stop;
use crate::engine::action::{Action, What};
use crate::engine::command::{Refusal, RefusalKind, Start};
use crate::engine::ledger::Ledger;
use crate::engine::route::Origin;
use crate::engine::rows::{Due, Failure, Rows, RunRow, Spent};
use crate::engine::status::{RunStatus, TaskStatus};
use crate::engine::view::{Output, Viewpoint};
use crate::id::{Path, RunId};
use crate::workflow::DEPTH_MAX;

fn refuse<T, E>(kind: RefusalKind, message: String) -> Result<T, Stop<E>> {
    Err(Stop::Refused(Refusal::new(kind, message)))
}

impl<R: Rows> Ledger<'_, R> {
    pub(crate) fn start(&mut self, start: &Start) -> Result<(), Stop<R::Error>> {
        if self.find_run(&start.run)?.is_some() {
            let message = format!("The run `{}` has started already.", start.run);
            return refuse(RefusalKind::AlreadyStarted, message);
        }
        if start.depth > DEPTH_MAX {
            let message = format!("The run stands deeper than DEPTH_MAX = {DEPTH_MAX}.");
            return refuse(RefusalKind::Limit, message);
        }
        if let Some(parent) = &start.parent {
            // Of another run, but whoever cancels a subflow has done so before its child may start.
            let waits = self.find_task(parent)?.is_some_and(|task| {
                let child = RunId::child_of(parent, task.fence);
                task.status == TaskStatus::Waiting && child == start.run
            });
            if !waits {
                let message =
                    format!("The subflow `{parent}` does not wait for this run any more.");
                return refuse(RefusalKind::WrongStatus, message);
            }
        }
        let checked = self.workflow.checked_input(start.input.clone());
        let input = checked.or_else(|message| refuse(RefusalKind::BadInput, message))?;
        let row = RunRow {
            id: start.run.clone(),
            workflow: self.workflow.hash().clone(),
            name: start.name.clone(),
            status: RunStatus::Running,
            reason: None,
            pause: None,
            result: None,
            parent: start.parent.clone(),
            depth: start.depth,
            assignee: start.assignee.clone(),
            tags: start.tags.clone(),
            active: 0,
            seq: 0,
            quiet_since: None,
            overdue: 0,
            signals: Vec::new(),
            spent: Spent::default(),
            created_ms: self.now_ms,
            ended_ms: None,
        };
        self.act(Action::CreateRun {
            row: Box::new(row),
            input,
        })?;
        self.tell(What::RunStarted {
            workflow: self.workflow.hash().to_string(),
            parent: start.parent.clone(),
        })?;
        let view = Viewpoint {
            path: Path::default(),
            output: Output::None,
            fresh: None,
            assignee: None,
        };
        let origin = Origin {
            path: Path::default(),
            from: None,
            failed: false,
            passed: Vec::new(),
        };
        self.unsettle(&Path::default());
        match self.plan(self.workflow.starts().to_vec(), &view, None)? {
            Ok(plan) => self.follow(plan, &origin),
            Err(reason) => self.end_run(RunStatus::Failed, Some(reason)),
        }
    }

    /// Refuses a workflow that is not the run's.
    pub(crate) fn belongs(&mut self) -> Result<(), Stop<R::Error>> {
        let hash = self.workflow.hash();
        if self.of_run(|run| run.workflow == *hash)? {
            return Ok(());
        }
        let run = self.the_run()?;
        let message = format!(
            "The run `{}` is of the workflow {}, not of {}.",
            run.id,
            run.workflow,
            self.workflow.hash()
        );
        Err(Stop::Refused(Refusal::new(
            RefusalKind::WrongWorkflow,
            message,
        )))
    }

    pub(crate) fn fire(&mut self, key: &str) -> Result<(), Stop<R::Error>> {
        let run = self.run.clone();
        let Some(timer) = self.find_timer(&run, key)? else {
            let message = format!("The run `{run}` has no timer `{key}`.");
            return Err(Stop::Refused(Refusal::new(
                RefusalKind::NoSuchTimer,
                message,
            )));
        };
        if timer.at_ms > self.now_ms {
            let message = format!("The timer `{key}` is not due yet.");
            return Err(Stop::Refused(Refusal::new(RefusalKind::NotReady, message)));
        }
        self.act(Action::Disarm {
            run: run.clone(),
            key: key.to_owned(),
        })?;
        if self.find_run(&run)?.is_none() {
            // A child that was cancelled before it began.
            return Ok(());
        }
        self.belongs()?;
        match &timer.due {
            Due::Timeout { task } => self.timed_out(task),
            Due::Remind { task } => self.remind(task),
            Due::Wake { task } => self.wake(task),
            // Whoever fires it has started the child, or was told that it has.
            Due::StartChild { .. } => Ok(()),
            Due::ChildEnded { task, child, end } => self.child_ended(task, child, end),
            Due::ChildPaused {
                task,
                child,
                message,
                class,
            } => {
                let failure = class.map(|class| Failure {
                    class,
                    message: message.clone(),
                });
                self.child_paused((task, child), message, failure)
            }
            Due::ChildResumed { task, child } => self.child_resumed(task, child),
            // It has ended by itself meanwhile.
            Due::Cancel { .. } | Due::GiveUp { .. } if self.of_run(is_over)? => Ok(()),
            Due::Cancel { reason } => self.cancel(reason),
            Due::GiveUp { reason } => self.end_run(RunStatus::Failed, Some(reason.clone())),
            Due::Resume => match self.the_run()?.status {
                RunStatus::Paused => self.resume(),
                _ => Ok(()),
            },
        }
    }
}

fn is_over(run: &RunRow) -> bool {
    run.status.is_terminal()
}
