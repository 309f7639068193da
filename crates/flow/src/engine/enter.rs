//! A path comes to a step: what it creates there.

use serde_json::{Map, Value};

use crate::config::{Execution, StepType};
use crate::engine::Stop;
use crate::engine::action::{Action, NewTask, NoticeKind, TaskChange};
use crate::engine::command::RefusalKind;
use crate::engine::ledger::{Enter, Ledger, Todo, broken};
use crate::engine::rows::{
    ChildRun, Due, Failure, FailureClass, Hold, HoldKind, Pause, Place, Rows, TaskKind, TaskRow,
    TimerRow,
};
use crate::engine::status::{Begin, Move};
use crate::engine::view::Viewpoint;
use crate::expression;
use crate::id::{RunId, TaskId};
use crate::workflow::Step;

impl<R: Rows> Ledger<'_, R> {
    pub(crate) fn enter(&mut self, enter: &Enter) -> Result<(), Stop<R::Error>> {
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

    /// Whether a path comes to the join from inside of the foreach, and not from the foreach itself.
    fn comes_out(&self, join: &Step, enter: &Enter) -> bool {
        enter.path.items().len() > join.scope.len()
    }

    /// Creates the next execution of a step. Where the step was visited too often, it is created
    /// on hold, and nothing is returned.
    pub(crate) fn visit(
        &mut self,
        step: &Step,
        enter: &Enter,
    ) -> Result<Option<TaskId>, Stop<R::Error>> {
        let (visits, max) = (
            self.visits(&place_of(&self.run, step, enter))?,
            step.visits_max(),
        );
        if visits < max {
            return self.revisit(step, enter).map(Some);
        }
        let hold = Hold {
            kind: HoldKind::LoopExhausted,
            reason: format!(
                "LoopExhausted: the step `{}` was visited maxVisits = {max} times.",
                step.id
            ),
        };
        let id = self.create_visit(step, enter, Some(hold.clone()))?;
        let row = self.the_task(&id)?;
        self.notify(NoticeKind::OnHold, Some(&row), hold.reason.clone())?;
        self.pause(Pause::Task(id), hold.reason)?;
        Ok(None)
    }

    /// The same however often the step was visited: a person wants it.
    pub(crate) fn revisit(&mut self, step: &Step, enter: &Enter) -> Result<TaskId, Stop<R::Error>> {
        self.create_visit(step, enter, None)
    }

    fn create_visit(
        &mut self,
        step: &Step,
        enter: &Enter,
        hold: Option<Hold>,
    ) -> Result<TaskId, Stop<R::Error>> {
        let place = place_of(&self.run, step, enter);
        let visit = self.visits(&place)? + 1;
        let id = TaskId {
            run: place.run,
            path: place.path,
            step: place.step,
            visit,
        };
        let run_assignee = self.of_run(|run| run.assignee.clone())?;
        let begin = match hold {
            Some(_) => Begin::OnHold,
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
        })?;
        Ok(id)
    }

    /// Sets a new task going, as its kind wants it.
    pub(crate) fn begin(&mut self, step: &Step, task: &TaskId) -> Result<(), Stop<R::Error>> {
        let row = self.the_task(task)?;
        match row.kind {
            TaskKind::Work => self.offer(step, &row),
            TaskKind::Foreach => self.open(step, &row),
            TaskKind::Subflow => self.begin_child(step, &row, 0),
            TaskKind::Join => self.begin_join(step, &row),
            TaskKind::Wait => self.begin_wait(step, &row),
        }
    }

    /// Tells a person of a task that is now to be done. Workers look for theirs.
    pub(crate) fn offer(&mut self, step: &Step, row: &TaskRow) -> Result<(), Stop<R::Error>> {
        if row.execution == Execution::Automated {
            return Ok(());
        }
        if row.kind == TaskKind::Work {
            self.arm_timeout(step, &row.id)?;
            self.arm_reminder(step, &row.id)?;
        }
        let message = format!("`{}` is for you to do.", step.name);
        self.notify(NoticeKind::TaskForYou, Some(row), message)
    }

    pub(crate) fn arm_timeout(&mut self, step: &Step, task: &TaskId) -> Result<(), Stop<R::Error>> {
        let Some(timeout) = step.config.timeout else {
            return Ok(());
        };
        self.act(Action::Arm(TimerRow {
            run: self.run.clone(),
            key: timeout_key(task),
            at_ms: self.now_ms.saturating_add(timeout.ms),
            due: Due::Timeout { task: task.clone() },
        }))
    }

    /// Takes back the timers a task may have.
    pub(crate) fn disarm_of(&mut self, task: &TaskId) -> Result<(), Stop<R::Error>> {
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
                self.act(Action::Disarm {
                    run: run.clone(),
                    key,
                })?;
            }
        }
        Ok(())
    }

    /// Has a child run started, after a while where an earlier one has failed.
    pub(crate) fn begin_child(
        &mut self,
        step: &Step,
        row: &TaskRow,
        wait_ms: u64,
    ) -> Result<(), Stop<R::Error>> {
        let depth = self.the_run()?.depth + 1;
        let max = step.depth_max();
        if depth > max {
            let failure = Failure {
                class: FailureClass::Limit,
                message: format!(
                    "The subflow `{}` stands deeper than maxDepth = {max}.",
                    step.id
                ),
            };
            return self.fail_waiting(&row.id, failure);
        }
        let input = match self.mapped(step, row)? {
            Ok(input) => input,
            Err(message) => {
                let failure = Failure {
                    class: FailureClass::Invalid,
                    message,
                };
                return self.fail_waiting(&row.id, failure);
            }
        };
        // A subflow that is tried again has another child.
        let fence = row.fence + 1;
        self.change(
            &row.id,
            TaskChange {
                fence: Some(fence),
                ..TaskChange::default()
            },
        )?;
        self.act(Action::Arm(TimerRow {
            run: self.run.clone(),
            key: child_key(&row.id, fence),
            at_ms: self.now_ms.saturating_add(wait_ms),
            due: Due::StartChild {
                child: ChildRun {
                    run: RunId::child_of(&row.id, fence),
                    parent: row.id.clone(),
                    subflow: step.subflow().to_owned(),
                    input,
                    depth,
                },
            },
        }))
    }

    /// The input of a child run: what `inputMapping` says, or what the step itself would see.
    fn mapped(
        &mut self,
        step: &Step,
        row: &TaskRow,
    ) -> Result<Result<Value, String>, Stop<R::Error>> {
        let view = Viewpoint::of(row);
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

    /// The join after a foreach: it has work on the results, or passes them on.
    fn begin_join(&mut self, step: &Step, row: &TaskRow) -> Result<(), Stop<R::Error>> {
        let from = row.from.clone();
        let output = match &from {
            Some(from) => self.the_task(from)?.output.clone().unwrap_or_default(),
            None => Value::Null,
        };
        if step.has_work() {
            self.shift(&row.id, Move::Release, None)?;
            return self.offer(step, row);
        }
        self.todo.push_back(Todo::Conclude {
            task: row.id.clone(),
            output,
        });
        Ok(())
    }

    /// Keeps an output with a task that has not ended.
    pub(crate) fn keep_output(
        &mut self,
        task: &TaskId,
        output: Option<Value>,
    ) -> Result<(), Stop<R::Error>> {
        self.change(
            task,
            TaskChange {
                output: Some(output),
                ..TaskChange::default()
            },
        )
    }

    /// The refusal that names a status.
    pub(crate) fn wrong_status<T>(&self, row: &TaskRow, wanted: &str) -> Result<T, Stop<R::Error>> {
        let message = format!("The task `{}` is {}: {wanted}.", row.id, row.status.name());
        Err(Stop::Refused(crate::engine::Refusal::new(
            RefusalKind::WrongStatus,
            message,
        )))
    }
}

fn place_of(run: &RunId, step: &Step, enter: &Enter) -> Place {
    Place {
        run: run.clone(),
        path: enter.path.clone(),
        step: step.id.clone(),
    }
}

pub(crate) fn timeout_key(task: &TaskId) -> String {
    format!("timeout:{task}")
}

/// Each try has a key of its own: whoever has seen to the child of an earlier one must not take away
/// what says that another is to be started.
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

/// In an item, the step of the foreach itself is the work of the item.
fn is_item_work(step: &Step, enter: &Enter) -> bool {
    step.step_type == StepType::Foreach && enter.path.items().len() > step.scope.len()
}

fn kind_of(step: &Step, enter: &Enter) -> TaskKind {
    match step.step_type {
        StepType::Foreach if !is_item_work(step, enter) => TaskKind::Foreach,
        StepType::Join => TaskKind::Join,
        StepType::Subflow => TaskKind::Subflow,
        StepType::Wait => TaskKind::Wait,
        _ => TaskKind::Work,
    }
}

fn begin_of(step: &Step, enter: &Enter) -> Begin {
    match kind_of(step, enter) {
        TaskKind::Work => Begin::Pending,
        TaskKind::Foreach | TaskKind::Join | TaskKind::Subflow | TaskKind::Wait => Begin::Waiting,
    }
}
