//! Handles a path that reaches a step: creates the task there.

use serde_json::{Map, Value};

use crate::config::{ExecutionMode, StepType};
use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, NewTask, NoticeKind, TaskChange};
use crate::engine::command::RefusalKind;
use crate::engine::decision_context::{DecisionContext, DeferredWork, StepEntry, broken};
use crate::engine::eval_scope::EvalScope;
use crate::engine::rows::{
    AttemptFailure, ChildRun, FailureClass, HoldKind, PauseCause, RowSource, StepAddress, TaskHold,
    TaskRow, TimerPurpose, TimerRow, WorkflowTaskKind,
};
use crate::engine::status::{InitialStatus, StatusMove};
use crate::expression;
use crate::id::{RunId, TaskId};
use crate::workflow::WorkflowStep;

impl<R: RowSource> DecisionContext<'_, R> {
    pub(crate) fn enter(&mut self, enter: &StepEntry) -> Result<(), DecisionStop<R::Error>> {
        let step = self.the_step(&enter.step)?;
        match step.step_type {
            StepType::Join if step.awaits.is_some() && self.comes_out(step, enter) => {
                self.reach_end_of_item(enter)
            }
            StepType::Join if step.awaits.is_none() => self.arrive(step, enter),
            StepType::Decision => Err(broken(format!("the decision `{}` was entered", step.id))),
            _ => {
                if let Some(task) = self.visit(step, enter)? {
                    self.begin(step, &task)?;
                }
                Ok(())
            }
        }
    }

    /// Tells whether a path reaches the join from inside the foreach, and not from the foreach
    /// itself.
    fn comes_out(&self, join: &WorkflowStep, enter: &StepEntry) -> bool {
        enter.path.items().len() > join.scope.len()
    }

    /// Creates the next execution of a step. If the step was visited too often, creates it on hold
    /// and returns `None`.
    pub(crate) fn visit(
        &mut self,
        step: &WorkflowStep,
        enter: &StepEntry,
    ) -> Result<Option<TaskId>, DecisionStop<R::Error>> {
        let (visits, max) = (
            self.visits(&place_of(&self.run, step, enter))?,
            step.visits_max(),
        );
        if visits < max {
            return self.revisit(step, enter).map(Some);
        }
        let hold = TaskHold {
            kind: HoldKind::LoopExhausted,
            reason: format!(
                "LoopExhausted: the step `{}` was visited maxVisits = {max} times.",
                step.id
            ),
        };
        let id = self.create_visit(step, enter, Some(hold.clone()))?;
        let row = self.the_task(&id)?;
        self.notify(NoticeKind::OnHold, Some(&row), hold.reason.clone())?;
        self.pause(PauseCause::Task(id), hold.reason)?;
        Ok(None)
    }

    /// Creates the next execution of a step without a visit limit, because a person wants it.
    pub(crate) fn revisit(
        &mut self,
        step: &WorkflowStep,
        enter: &StepEntry,
    ) -> Result<TaskId, DecisionStop<R::Error>> {
        self.create_visit(step, enter, None)
    }

    fn create_visit(
        &mut self,
        step: &WorkflowStep,
        enter: &StepEntry,
        hold: Option<TaskHold>,
    ) -> Result<TaskId, DecisionStop<R::Error>> {
        let place = place_of(&self.run, step, enter);
        let visit = self.visits(&place)? + 1;
        let id = TaskId {
            run: place.run,
            path: place.path,
            step: place.step,
            visit,
        };
        let (run_assignee, priority) = self.of_run(|run| (run.assignee.clone(), run.priority))?;
        let begin = match hold {
            Some(_) => InitialStatus::OnHold,
            None => begin_of(step, enter),
        };
        self.create(NewTask {
            id: id.clone(),
            kind: kind_of(step, enter),
            execution: step.execution,
            begin,
            from: enter.from.clone(),
            assignee: step.config.default_assignee_id.clone().or(run_assignee),
            hold,
            tags: step.config.tags.clone().unwrap_or_default(),
            passed: enter.passed.clone(),
            at_ms: self.now_ms,
            priority,
            lane: step.lane(),
        })?;
        Ok(id)
    }

    /// Starts a new task, according to its kind.
    pub(crate) fn begin(
        &mut self,
        step: &WorkflowStep,
        task: &TaskId,
    ) -> Result<(), DecisionStop<R::Error>> {
        let row = self.the_task(task)?;
        match row.kind {
            WorkflowTaskKind::Work => self.offer(step, &row),
            WorkflowTaskKind::Foreach => self.open(step, &row),
            WorkflowTaskKind::Subflow => self.begin_child(step, &row, 0),
            WorkflowTaskKind::Join => self.begin_join(step, &row),
            WorkflowTaskKind::Wait => self.begin_wait(step, &row),
        }
    }

    /// Notifies a person of a task that is ready. Workers find theirs by polling.
    pub(crate) fn offer(
        &mut self,
        step: &WorkflowStep,
        row: &TaskRow,
    ) -> Result<(), DecisionStop<R::Error>> {
        if row.execution == ExecutionMode::Automated {
            return self.wish_slot(step, row);
        }
        if row.kind == WorkflowTaskKind::Work {
            self.arm_timeout(step, &row.id)?;
            self.arm_reminder(step, &row.id)?;
        }
        let message = format!("`{}` is for you to do.", step.name);
        self.notify(NoticeKind::TaskForYou, Some(row), message)
    }

    pub(crate) fn arm_timeout(
        &mut self,
        step: &WorkflowStep,
        task: &TaskId,
    ) -> Result<(), DecisionStop<R::Error>> {
        let Some(timeout) = step.config.timeout else {
            return Ok(());
        };
        self.act(EngineAction::Arm(TimerRow {
            run: self.run.clone(),
            key: timeout_key(task),
            at_ms: self.now_ms.saturating_add(timeout.ms),
            due: TimerPurpose::Timeout { task: task.clone() },
        }))
    }

    /// Removes the timers of a task.
    pub(crate) fn disarm_of(&mut self, task: &TaskId) -> Result<(), DecisionStop<R::Error>> {
        let step = self.the_step(&task.step)?;
        let mut keys = Vec::new();
        if self.judge(step)?.config.timeout.is_some() || step.config.timeout.is_some() {
            keys.push(timeout_key(task));
        }
        if step.config.remind.is_some() {
            keys.push(remind_key(task));
        }
        if step.step_type == StepType::Wait {
            keys.push(wake_key(task));
        }
        if step.step_type == StepType::Subflow {
            let fence = self.of_task(task, |row| row.fence)?;
            let child = RunId::child_of(task, fence);
            keys.extend([
                child_key(task, fence),
                ended_key(&child),
                paused_key(&child),
            ]);
        }
        let run = self.run.clone();
        for key in keys {
            if self.find_timer(&run, &key)?.is_some() {
                self.act(EngineAction::Disarm {
                    run: run.clone(),
                    key,
                })?;
            }
        }
        Ok(())
    }

    /// Schedules the start of a child run, with a delay after an earlier one has failed.
    pub(crate) fn begin_child(
        &mut self,
        step: &WorkflowStep,
        row: &TaskRow,
        wait_ms: u64,
    ) -> Result<(), DecisionStop<R::Error>> {
        let (depth, priority) = self.of_run(|run| (run.depth + 1, run.priority))?;
        let max = step.depth_max();
        if depth > max {
            let failure = AttemptFailure {
                class: FailureClass::Limit,
                message: format!(
                    "The subflow `{}` is nested deeper than maxDepth = {max}.",
                    step.id
                ),
            };
            return self.fail_waiting(&row.id, failure);
        }
        let input = match self.mapped(step, row)? {
            Ok(input) => input,
            Err(message) => {
                let failure = AttemptFailure {
                    class: FailureClass::Invalid,
                    message,
                };
                return self.fail_waiting(&row.id, failure);
            }
        };
        // Each attempt of a subflow has a child of its own.
        let fence = row.fence + 1;
        self.change(
            &row.id,
            TaskChange {
                fence: Some(fence),
                ..TaskChange::default()
            },
        )?;
        self.act(EngineAction::Arm(TimerRow {
            run: self.run.clone(),
            key: child_key(&row.id, fence),
            at_ms: self.now_ms.saturating_add(wait_ms),
            due: TimerPurpose::StartChild {
                child: ChildRun {
                    run: RunId::child_of(&row.id, fence),
                    parent: row.id.clone(),
                    subflow: step.subflow().to_owned(),
                    input,
                    depth,
                    priority,
                },
            },
        }))
    }

    /// Returns the input of a child run: the values of `inputMapping`, or all that the step itself
    /// sees.
    fn mapped(
        &mut self,
        step: &WorkflowStep,
        row: &TaskRow,
    ) -> Result<Result<Value, String>, DecisionStop<R::Error>> {
        let view = EvalScope::of(row);
        let Some(mapping) = &step.config.input_mapping else {
            let name = if row.from.is_some() {
                "output"
            } else {
                "input"
            };
            let reads = expression::reads(name);
            let state = self.state(&view, &reads)?;
            return Ok(Ok(state.get(name).cloned().unwrap_or_default()));
        };
        let mut input = Map::new();
        for (name, source) in mapping {
            let is_text = source.contains("{{");
            let reads = match is_text {
                true => expression::text_reads(source),
                false => expression::reads(source),
            };
            let state = self.state(&view, &reads)?;
            let value = match is_text {
                true => {
                    expression::fill(source, &state).map(|filled| Some(Value::from(filled.text)))
                }
                false => expression::value(source, &state),
            };
            match value {
                Ok(value) => input.insert(name.clone(), value.unwrap_or_default()),
                Err(error) => {
                    return Ok(Err(format!(
                        "`inputMapping` of `{}` cannot fill in `{name}`: {}.",
                        step.id,
                        error.message().trim_end_matches('.')
                    )));
                }
            };
        }
        Ok(Ok(Value::Object(input)))
    }

    /// Starts the join behind a foreach: it works on the results, or passes them on.
    fn begin_join(
        &mut self,
        step: &WorkflowStep,
        row: &TaskRow,
    ) -> Result<(), DecisionStop<R::Error>> {
        let from = row.from.clone();
        let output = match &from {
            Some(from) => self.the_task(from)?.output.clone().unwrap_or_default(),
            None => Value::Null,
        };
        if step.has_work() {
            self.shift(&row.id, StatusMove::Release, None)?;
            return self.offer(step, row);
        }
        self.todo.push_back(DeferredWork::Conclude {
            task: row.id.clone(),
            output,
        });
        Ok(())
    }

    /// Stores an output with a task that has not ended.
    pub(crate) fn keep_output(
        &mut self,
        task: &TaskId,
        output: Option<Value>,
    ) -> Result<(), DecisionStop<R::Error>> {
        self.change(
            task,
            TaskChange {
                output: Some(output),
                ..TaskChange::default()
            },
        )
    }

    /// Refuses a command because of the task's status.
    pub(crate) fn wrong_status<T>(
        &self,
        row: &TaskRow,
        wanted: &str,
    ) -> Result<T, DecisionStop<R::Error>> {
        let message = format!("The task `{}` is {}: {wanted}.", row.id, row.status.name());
        Err(DecisionStop::Refused(crate::engine::CommandRefusal::new(
            RefusalKind::WrongStatus,
            message,
        )))
    }
}

fn place_of(run: &RunId, step: &WorkflowStep, enter: &StepEntry) -> StepAddress {
    StepAddress {
        run: run.clone(),
        path: enter.path.clone(),
        step: step.id.clone(),
    }
}

pub(crate) fn timeout_key(task: &TaskId) -> String {
    format!("timeout:{task}")
}

/// Returns the timer key of a child run. Each attempt has its own key: firing the timer of an
/// earlier attempt must not remove the timer that starts the next child.
pub(crate) fn child_key(task: &TaskId, fence: u64) -> String {
    format!("child:{task}#{fence}")
}

pub(crate) fn remind_key(task: &TaskId) -> String {
    format!("remind:{task}")
}

pub(crate) fn wake_key(task: &TaskId) -> String {
    format!("wake:{task}")
}

pub(crate) fn paused_key(child: &RunId) -> String {
    format!("paused:{child}")
}

pub(crate) fn ended_key(child: &RunId) -> String {
    format!("ended:{child}")
}

/// Tells whether a step inside an item is the foreach itself, whose work is then the item's.
fn is_item_work(step: &WorkflowStep, enter: &StepEntry) -> bool {
    step.step_type == StepType::Foreach && enter.path.items().len() > step.scope.len()
}

fn kind_of(step: &WorkflowStep, enter: &StepEntry) -> WorkflowTaskKind {
    match step.step_type {
        StepType::Foreach if !is_item_work(step, enter) => WorkflowTaskKind::Foreach,
        StepType::Join => WorkflowTaskKind::Join,
        StepType::Subflow => WorkflowTaskKind::Subflow,
        StepType::Wait => WorkflowTaskKind::Wait,
        _ => WorkflowTaskKind::Work,
    }
}

fn begin_of(step: &WorkflowStep, enter: &StepEntry) -> InitialStatus {
    match kind_of(step, enter) {
        WorkflowTaskKind::Work => InitialStatus::Pending,
        WorkflowTaskKind::Foreach
        | WorkflowTaskKind::Join
        | WorkflowTaskKind::Subflow
        | WorkflowTaskKind::Wait => InitialStatus::Waiting,
    }
}
