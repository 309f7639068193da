//! Starts runs, fires timers, and handles the end of child runs.

use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind};
use crate::engine::command::{CommandRefusal, RefusalKind, RunStart};
use crate::engine::decision_context::DecisionContext;
use crate::engine::eval_scope::{EvalScope, OutputSource};
use crate::engine::route::RouteOrigin;
use crate::engine::rows::{AttemptFailure, RowSource, RunRow, SpentAmount, TimerPurpose};
use crate::engine::status::{RunStatus, TaskStatus};
use crate::id::{ItemPath, RunId};
use crate::limits::{PRIORITY_MAX, PRIORITY_MIN};
use crate::workflow::DEPTH_MAX;

fn refuse<T, E>(kind: RefusalKind, message: String) -> Result<T, DecisionStop<E>> {
    Err(DecisionStop::Refused(CommandRefusal::new(kind, message)))
}

impl<R: RowSource> DecisionContext<'_, R> {
    pub(crate) fn start(&mut self, start: &RunStart) -> Result<(), DecisionStop<R::Error>> {
        if self.find_run(&start.run)?.is_some() {
            let message = format!("The run `{}` has started already.", start.run);
            return refuse(RefusalKind::AlreadyStarted, message);
        }
        if start.depth > DEPTH_MAX {
            let message = format!("The run is nested deeper than DEPTH_MAX = {DEPTH_MAX}.");
            return refuse(RefusalKind::Limit, message);
        }
        if let Some(parent) = &start.parent {
            // This row belongs to another run and may be old. That is safe: a subflow is cancelled
            // before its child may start.
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
            spent: SpentAmount::default(),
            created_ms: self.now_ms,
            ended_ms: None,
            priority: start.priority.clamp(PRIORITY_MIN, PRIORITY_MAX),
            slot: None,
            is_queued: false,
        };
        self.act(EngineAction::CreateRun {
            row: Box::new(row),
            input,
        })?;
        self.tell(EventKind::RunStarted {
            workflow: self.workflow.hash().to_string(),
            parent: start.parent.clone(),
        })?;
        match self.is_admitted()? {
            true => self.begin_steps(),
            false => Ok(()),
        }
    }

    /// Enters the steps that a run begins with.
    pub(crate) fn begin_steps(&mut self) -> Result<(), DecisionStop<R::Error>> {
        let view = EvalScope {
            path: ItemPath::default(),
            output: OutputSource::None,
            fresh: None,
            assignee: None,
        };
        let origin = RouteOrigin {
            path: ItemPath::default(),
            from: None,
            failed: false,
            passed: Vec::new(),
        };
        self.unsettle(&ItemPath::default());
        match self.plan(self.workflow.starts().to_vec(), &view, None)? {
            Ok(plan) => self.follow(plan, &origin),
            Err(reason) => self.end_run(RunStatus::Failed, Some(reason)),
        }
    }

    /// Refuses a workflow that is not the run's.
    pub(crate) fn belongs(&mut self) -> Result<(), DecisionStop<R::Error>> {
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
        Err(DecisionStop::Refused(CommandRefusal::new(
            RefusalKind::WrongWorkflow,
            message,
        )))
    }

    pub(crate) fn fire(&mut self, key: &str) -> Result<(), DecisionStop<R::Error>> {
        let run = self.run.clone();
        let Some(timer) = self.find_timer(&run, key)? else {
            let message = format!("The run `{run}` has no timer `{key}`.");
            return Err(DecisionStop::Refused(CommandRefusal::new(
                RefusalKind::NoSuchTimer,
                message,
            )));
        };
        if timer.at_ms > self.now_ms {
            let message = format!("The timer `{key}` is not due yet.");
            return Err(DecisionStop::Refused(CommandRefusal::new(
                RefusalKind::NotReady,
                message,
            )));
        }
        self.act(EngineAction::Disarm {
            run: run.clone(),
            key: key.to_owned(),
        })?;
        if self.find_run(&run)?.is_none() {
            // The child was cancelled before it began.
            return Ok(());
        }
        self.belongs()?;
        match &timer.due {
            TimerPurpose::Timeout { task } => self.timed_out(task),
            TimerPurpose::Remind { task } => self.remind(task),
            TimerPurpose::Wake { task } => self.wake(task),
            TimerPurpose::Admit => self.admit(),
            TimerPurpose::MakeRoom { task, reason } => self.make_room(task, reason),
            // The process that fires this timer has started the child, or was told that another one
            // had.
            TimerPurpose::StartChild { .. } => Ok(()),
            TimerPurpose::ChildEnded { task, child, end } => self.child_ended(task, child, end),
            TimerPurpose::ChildPaused {
                task,
                child,
                message,
                class,
            } => {
                let failure = class.map(|class| AttemptFailure {
                    class,
                    message: message.clone(),
                });
                self.child_paused((task, child), message, failure)
            }
            TimerPurpose::ChildResumed { task, child } => self.child_resumed(task, child),
            // The run has ended meanwhile.
            TimerPurpose::Cancel { .. } | TimerPurpose::GiveUp { .. }
                if self.of_run(is_over)? =>
            {
                Ok(())
            }
            TimerPurpose::Cancel { reason } => self.cancel(reason),
            TimerPurpose::GiveUp { reason } => {
                self.end_run(RunStatus::Failed, Some(reason.clone()))
            }
            TimerPurpose::Resume => match self.the_run()?.status {
                RunStatus::Paused => self.resume(),
                _ => Ok(()),
            },
        }
    }
}

fn is_over(run: &RunRow) -> bool {
    run.status.is_terminal()
}
