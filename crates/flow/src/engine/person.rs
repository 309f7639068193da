//! What people do to a task: answer it, try it again, give it to somebody.

use serde_json::Value;

use crate::config::Execution;
use crate::engine::Stop;
use crate::engine::action::{Action, NoticeKind, TaskChange, What};
use crate::engine::call::ModelCall;
use crate::engine::command::{Answer, Outcome, Refusal, RefusalKind};
use crate::engine::ledger::{Ledger, Todo};
use crate::engine::rows::{Failure, FailureClass, Hold, HoldKind, Pause, Rows, TaskKind, TaskRow};
use crate::engine::status::{ItemStatus, Move, RunStatus, TaskStatus};
use crate::id::TaskId;
use crate::response::{self, Reply};

impl<R: Rows> Ledger<'_, R> {
    pub(crate) fn answer(
        &mut self,
        task: &TaskId,
        by: &str,
        answer: &Answer,
    ) -> Result<(), Stop<R::Error>> {
        self.goes_on()?;
        let row = self.the_task(task)?;
        let (answer, reply) = self.read_answer(&row, answer)?;
        let answer = &answer;
        let held = row.status == TaskStatus::OnHold;
        let waits = row.kind != TaskKind::Work && row.output_is_gathered();
        match (row.status, row.execution) {
            (TaskStatus::OnHold, _) if waits => return self.answer_waiting(&row, by, answer),
            (TaskStatus::OnHold, _) => self.shift(task, Move::TakeUp, Some(by.to_owned()))?,
            (TaskStatus::Pending, Execution::Manual) => {
                self.change(task, taken_up(&row))?;
                self.shift(task, Move::Claim, Some(by.to_owned()))?;
            }
            _ => {
                let wanted = "only a pending manual task or one on hold can be answered";
                return self.wrong_status(&row, wanted);
            }
        }
        self.unpause(task)?;
        if let Some(reply) = &reply {
            self.keep_reply(task, by, reply)?;
        }
        let row = self.the_task(task)?;
        let ends = (Move::Complete, Move::Hold);
        match (answer, &row.output) {
            (Answer::Asked { reason, output }, _) => {
                self.keep_output(task, output.clone())?;
                let hold = Hold {
                    kind: HoldKind::Asked,
                    reason: reason.clone(),
                };
                self.hold(task, Move::Hold, hold)
            }
            (Answer::Done { output }, _) => self.complete(&row, output.clone(), ends),
            (Answer::Accept, Some(output)) if held => self.complete(&row, output.clone(), ends),
            (Answer::Accept, _) => {
                let message = format!("The task `{task}` has no output to accept: give one.");
                Err(Stop::Refused(Refusal::new(RefusalKind::BadOutput, message)))
            }
            (Answer::Failed { message }, _) => {
                self.fail_for_good(&row, refused(message), Move::Fail)
            }
        }
    }

    /// A person decides about a foreach, a join or a subflow that is on hold.
    fn answer_waiting(
        &mut self,
        row: &TaskRow,
        by: &str,
        answer: &Answer,
    ) -> Result<(), Stop<R::Error>> {
        self.unpause(&row.id)?;
        let hold = row.hold.as_ref().map(|hold| hold.kind);
        if hold == Some(HoldKind::Child) {
            self.give_child_up(row, "Its subflow was answered by a person.")?;
        }
        self.shift(&row.id, Move::WaitAgain, Some(by.to_owned()))?;
        let output = match answer {
            Answer::Failed { message } => {
                self.seal_and_gather(row)?;
                return self.fail_for_good(row, refused(message), Move::FailWaiting);
            }
            Answer::Asked { reason, .. } => {
                let kind = HoldKind::Asked;
                let reason = reason.clone();
                return self.hold(&row.id, Move::HoldWaiting, Hold { kind, reason });
            }
            Answer::Done { output } => {
                self.seal_and_gather(row)?;
                output.clone()
            }
            Answer::Accept => match self.seal_and_gather(row)? {
                Some(output) => output,
                None => row.output.clone().unwrap_or_default(),
            },
        };
        self.todo.push_back(Todo::Conclude {
            task: row.id.clone(),
            output,
        });
        Ok(())
    }

    pub(crate) fn retry(&mut self, task: &TaskId) -> Result<(), Stop<R::Error>> {
        self.goes_on()?;
        let row = self.the_task(task)?;
        if row.status != TaskStatus::OnHold {
            return self.wrong_status(&row, "only a task on hold can be tried again");
        }
        self.unpause(task)?;
        self.try_again(&row)
    }

    /// Tries a task on hold again, with all its attempts.
    pub(crate) fn try_again(&mut self, row: &TaskRow) -> Result<(), Stop<R::Error>> {
        let hold = row.hold.as_ref().map(|hold| hold.kind);
        if hold == Some(HoldKind::Routing) {
            return self.route_again(row);
        }
        if hold == Some(HoldKind::Child) {
            self.give_child_up(row, "Its subflow is tried again.")?;
        }
        let fresh = TaskChange {
            attempt: Some(0),
            turns: Some(0),
            ready_ms: Some(self.now_ms),
            hold: Some(None),
            failure: Some(None),
            ..TaskChange::default()
        };
        self.change(&row.id, fresh)?;
        let step = self.the_step(&row.id.step)?;
        match row.kind {
            TaskKind::Work => {
                self.shift(&row.id, Move::Retry, None)?;
                let row = self.the_task(&row.id)?;
                self.offer(step, &row)
            }
            TaskKind::Join if !row.output_is_gathered() => self.shift(&row.id, Move::Retry, None),
            TaskKind::Join if row.from.is_none() => {
                self.shift(&row.id, Move::WaitAgain, None)?;
                self.arm_timeout(step, &row.id)?;
                self.unsettle(&row.id.path);
                self.todo.push_back(Todo::Weigh(row.id.clone()));
                Ok(())
            }
            TaskKind::Foreach if self.is_opened(&row.id)? => {
                self.shift(&row.id, Move::WaitAgain, None)?;
                self.reopen(&row.id)
            }
            TaskKind::Foreach | TaskKind::Subflow | TaskKind::Join | TaskKind::Wait => {
                self.shift(&row.id, Move::WaitAgain, None)?;
                self.begin(step, &row.id)
            }
        }
    }

    /// Looks for the way on from a task once more. What it gave is there: the work is not done again.
    fn route_again(&mut self, row: &TaskRow) -> Result<(), Stop<R::Error>> {
        let change = TaskChange {
            hold: Some(None),
            ..TaskChange::default()
        };
        self.change(&row.id, change)?;
        let output = row.output.clone().unwrap_or_default();
        if row.kind != TaskKind::Work && row.output_is_gathered() {
            self.shift(&row.id, Move::WaitAgain, None)?;
            let task = row.id.clone();
            self.todo.push_back(Todo::Conclude { task, output });
            return Ok(());
        }
        self.shift(&row.id, Move::TakeUp, None)?;
        let row = self.the_task(&row.id)?;
        self.complete(&row, output, (Move::Complete, Move::Hold))
    }

    /// Lets a foreach wait again, for those of its items that failed or never began.
    fn reopen(&mut self, group: &TaskId) -> Result<(), Stop<R::Error>> {
        if !self.the_group(group)?.closed {
            let step = self.the_step(&group.step)?;
            let judge = self.judge(step)?;
            self.arm_timeout(judge, group)?;
            self.todo.push_back(Todo::Advance(group.clone()));
            return Ok(());
        }
        self.reopen_group(group, &[ItemStatus::Failed, ItemStatus::Skipped])?;
        self.todo.push_back(Todo::Advance(group.clone()));
        Ok(())
    }

    /// Opens a foreach that was over, and its items that ended in one of these ways.
    pub(crate) fn reopen_group(
        &mut self,
        group: &TaskId,
        ended: &[ItemStatus],
    ) -> Result<(), Stop<R::Error>> {
        self.act(Action::ReopenGroup {
            group: group.clone(),
        })?;
        self.tell(What::GroupReopened {
            group: group.clone(),
        })?;
        for item in self.all_items(group)? {
            if ended.contains(&item.status) {
                self.reopen_item(group, item.index)?;
            }
        }
        let step = self.the_step(&group.step)?;
        let judge = self.judge(step)?;
        self.arm_timeout(judge, group)
    }

    pub(crate) fn reopen_item(&mut self, group: &TaskId, index: u32) -> Result<(), Stop<R::Error>> {
        self.act(Action::ReopenItem {
            group: group.clone(),
            index,
        })?;
        self.tell(What::ItemReopened {
            group: group.clone(),
            index,
        })
    }

    pub(crate) fn assign(
        &mut self,
        task: &TaskId,
        assignee: Option<&str>,
    ) -> Result<(), Stop<R::Error>> {
        let row = self.the_task(task)?;
        if row.status.is_terminal() {
            return self.wrong_status(&row, "only a task that has not ended can be assigned");
        }
        let assignee = assignee.map(str::to_owned);
        self.change(
            task,
            TaskChange {
                assignee: Some(assignee.clone()),
                ..TaskChange::default()
            },
        )?;
        self.tell(What::Assigned {
            task: task.clone(),
            assignee,
        })?;
        let row = self.the_task(task)?;
        let for_person = row.execution == Execution::Manual || row.status == TaskStatus::OnHold;
        if row.assignee.is_some() && for_person {
            let message = format!("`{}` is for you to do.", task.step);
            self.notify(NoticeKind::TaskForYou, Some(&row), message)?;
        }
        Ok(())
    }

    /// Refuses what is about a run that has ended.
    pub(crate) fn goes_on(&mut self) -> Result<(), Stop<R::Error>> {
        let run = self.the_run()?;
        if !run.status.is_terminal() {
            return Ok(());
        }
        let message = format!("The run `{}` is {}.", run.id, run.status.name());
        Err(Stop::Refused(Refusal::new(
            RefusalKind::WrongStatus,
            message,
        )))
    }

    /// Lets a run go on that was paused because of a task.
    pub(crate) fn unpause(&mut self, task: &TaskId) -> Result<(), Stop<R::Error>> {
        let run = self.the_run()?;
        match &run.pause {
            Some(Pause::Task(by)) if by == task || self.of_task(by, TaskRow::is_overdue)? => {
                self.run_on()
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn run_on(&mut self) -> Result<(), Stop<R::Error>> {
        let run = self.the_run()?;
        self.act(Action::SetRun {
            run: self.run.clone(),
            status: RunStatus::Running,
            reason: None,
            pause: None,
        })?;
        self.tell(What::RunResumed)?;
        self.tell_parent_of_resume(&run)
    }

    /// What an answer means: a reply in five sections or in an envelope is read as from anybody else,
    /// everything else is the output itself.
    fn read_answer(
        &mut self,
        row: &TaskRow,
        answer: &Answer,
    ) -> Result<(Answer, Option<Reply>), Stop<R::Error>> {
        let Answer::Done { output } = answer else {
            return Ok((answer.clone(), None));
        };
        let Some(text) = response::as_reply(output) else {
            self.fits_schema(row, output)?;
            return Ok((answer.clone(), None));
        };
        let step = self.the_step(&row.id.step)?;
        let reply = response::read(&text, step.config.output_schema.as_ref()).map_err(|wrong| {
            let message = format!("The reply cannot be used: {wrong}");
            Stop::Refused(Refusal::new(RefusalKind::BadOutput, message))
        })?;
        let answer = match response::report(reply.clone(), None).outcome {
            Outcome::Completed { output, .. } => Answer::Done { output },
            Outcome::Failed(failure) => Answer::Failed {
                message: failure.message,
            },
            Outcome::Asked { reason, output } => Answer::Asked { reason, output },
            Outcome::Continue { note, output } => Answer::Asked {
                reason: note,
                output,
            },
            _ => answer.clone(),
        };
        Ok((answer, Some(reply)))
    }

    /// Keeps what a person's reply says besides.
    fn keep_reply(&mut self, task: &TaskId, by: &str, reply: &Reply) -> Result<(), Stop<R::Error>> {
        let mut call = ModelCall {
            by: Some(by.to_owned()),
            begun_ms: self.now_ms,
            ended_ms: self.now_ms,
            ..ModelCall::default()
        };
        call.note(reply);
        self.keep_call(task, &call)?;
        let change = TaskChange {
            tags: reply.tags.clone(),
            ..TaskChange::default()
        };
        self.change(task, change)
    }

    fn fits_schema(&mut self, row: &TaskRow, output: &Value) -> Result<(), Stop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let Some(schema) = &step.config.output_schema else {
            return Ok(());
        };
        match response::violations(schema, output) {
            violations if violations.is_empty() => Ok(()),
            violations => {
                let message = format!(
                    "The output is not what `outputSchema` of `{}` wants: {}.",
                    step.id,
                    violations.join("; ")
                );
                Err(Stop::Refused(Refusal::new(RefusalKind::BadOutput, message)))
            }
        }
    }
}

impl TaskRow {
    /// Whether what the task gives comes from what it waits for, and not from somebody's work on it.
    fn output_is_gathered(&self) -> bool {
        match self.kind {
            TaskKind::Work => false,
            TaskKind::Foreach | TaskKind::Subflow | TaskKind::Wait => true,
            // A join that was released has work, and is in somebody's hands.
            TaskKind::Join => self.attempt == 0,
        }
    }
}

fn taken_up(row: &TaskRow) -> TaskChange {
    TaskChange {
        attempt: Some(row.attempt + 1),
        fence: Some(row.fence + 1),
        ..TaskChange::default()
    }
}

fn refused(message: &str) -> Failure {
    Failure {
        class: FailureClass::Failed,
        message: message.to_owned(),
    }
}
