//! Commands of people to a task: answer it, retry it, reassign it.

use serde_json::{Map, Value};

use crate::config::ExecutionMode;
use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind, NoticeKind, TaskChange};
use crate::engine::call::ModelCall;
use crate::engine::command::{AttemptOutcome, CommandRefusal, RefusalKind, TaskAnswer};
use crate::engine::decision_context::{DecisionContext, DeferredWork};
use crate::engine::rows::{
    AttemptFailure, FailureClass, HoldKind, PauseCause, RowSource, TaskHold, TaskRow,
    WorkflowTaskKind,
};
use crate::engine::status::{ItemStatus, RunStatus, StatusMove, TaskStatus};
use crate::id::TaskId;
use crate::response::{self, AgentReply};

impl<R: RowSource> DecisionContext<'_, R> {
    pub(crate) fn answer(
        &mut self,
        task: &TaskId,
        by: &str,
        answer: &TaskAnswer,
    ) -> Result<(), DecisionStop<R::Error>> {
        self.goes_on()?;
        let row = self.the_task(task)?;
        let (answer, reply) = self.read_answer(&row, answer)?;
        let answer = &answer;
        let held = row.status == TaskStatus::OnHold;
        let waits = row.kind != WorkflowTaskKind::Work && row.output_is_gathered();
        match (row.status, row.execution) {
            (TaskStatus::OnHold, _) if waits => return self.answer_waiting(&row, by, answer),
            (TaskStatus::OnHold, _) => self.shift(task, StatusMove::TakeUp, Some(by.to_owned()))?,
            (TaskStatus::Pending, ExecutionMode::Manual) => {
                self.change(task, taken_up(&row))?;
                self.shift(task, StatusMove::Claim, Some(by.to_owned()))?;
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
        let ends = (StatusMove::Complete, StatusMove::Hold);
        match (answer, &row.output) {
            (TaskAnswer::Asked { reason, output }, _) => {
                self.keep_output(task, output.clone())?;
                let hold = TaskHold {
                    kind: HoldKind::Asked,
                    reason: reason.clone(),
                };
                self.hold(task, StatusMove::Hold, hold)
            }
            (TaskAnswer::Done { output }, _) => self.complete(&row, output.clone(), ends),
            (TaskAnswer::Accept, Some(output)) if held => self.complete(&row, output.clone(), ends),
            (TaskAnswer::Accept, _) => {
                let message = format!("The task `{task}` has no output to accept: give one.");
                Err(DecisionStop::Refused(CommandRefusal::new(
                    RefusalKind::BadOutput,
                    message,
                )))
            }
            (TaskAnswer::Failed { message }, _) => {
                self.fail_for_good(&row, refused(message), StatusMove::Fail)
            }
        }
    }

    /// Handles a person's answer to a foreach, a join or a subflow that is on hold.
    fn answer_waiting(
        &mut self,
        row: &TaskRow,
        by: &str,
        answer: &TaskAnswer,
    ) -> Result<(), DecisionStop<R::Error>> {
        self.unpause(&row.id)?;
        let hold = row.hold.as_ref().map(|hold| hold.kind);
        if hold == Some(HoldKind::Child) {
            self.give_child_up(row, "Its subflow was answered by a person.")?;
        }
        self.shift(&row.id, StatusMove::WaitAgain, Some(by.to_owned()))?;
        let output = match answer {
            TaskAnswer::Failed { message } => {
                self.seal_and_gather(row)?;
                return self.fail_for_good(row, refused(message), StatusMove::FailWaiting);
            }
            TaskAnswer::Asked { reason, .. } => {
                let kind = HoldKind::Asked;
                let reason = reason.clone();
                return self.hold(&row.id, StatusMove::HoldWaiting, TaskHold { kind, reason });
            }
            TaskAnswer::Done { output } => {
                self.seal_and_gather(row)?;
                output.clone()
            }
            TaskAnswer::Accept => match self.seal_and_gather(row)? {
                Some(output) => output,
                None => row.output.clone().unwrap_or_default(),
            },
        };
        self.todo.push_back(DeferredWork::Conclude {
            task: row.id.clone(),
            output,
        });
        Ok(())
    }

    pub(crate) fn retry(
        &mut self,
        task: &TaskId,
        with: Option<&Map<String, Value>>,
    ) -> Result<(), DecisionStop<R::Error>> {
        self.goes_on()?;
        let row = self.the_task(task)?;
        if row.status != TaskStatus::OnHold {
            return self.wrong_status(&row, "only a task on hold can be tried again");
        }
        if let Some(with) = with {
            self.override_step(&row, with)?;
        }
        self.unpause(task)?;
        self.try_again_with(&row, with)
    }

    /// Refuses overrides that this task cannot have.
    fn override_step(
        &mut self,
        row: &TaskRow,
        with: &Map<String, Value>,
    ) -> Result<(), DecisionStop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let is_work =
            row.kind == WorkflowTaskKind::Work && row.execution == ExecutionMode::Automated;
        let wrong = match step.overridden(with) {
            Ok(_) if is_work => return Ok(()),
            Ok(_) => format!(
                "No worker does `{}`: its settings are the text's.",
                row.id.step
            ),
            Err(wrong) => wrong,
        };
        Err(DecisionStop::Refused(CommandRefusal::new(
            RefusalKind::BadInput,
            wrong,
        )))
    }

    /// Retries a task on hold, with all its attempts.
    pub(crate) fn try_again(&mut self, row: &TaskRow) -> Result<(), DecisionStop<R::Error>> {
        self.try_again_with(row, None)
    }

    fn try_again_with(
        &mut self,
        row: &TaskRow,
        with: Option<&Map<String, Value>>,
    ) -> Result<(), DecisionStop<R::Error>> {
        let hold = row.hold.as_ref().map(|hold| hold.kind);
        if hold == Some(HoldKind::Routing) && with.is_none() {
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
            with: (with.is_some() || row.with.is_some()).then(|| with.cloned().map(Box::new)),
            ..TaskChange::default()
        };
        self.change(&row.id, fresh)?;
        let step = self.the_step(&row.id.step)?;
        match row.kind {
            WorkflowTaskKind::Work => {
                self.shift(&row.id, StatusMove::Retry, None)?;
                let row = self.the_task(&row.id)?;
                self.offer(step, &row)
            }
            WorkflowTaskKind::Join if !row.output_is_gathered() => {
                self.shift(&row.id, StatusMove::Retry, None)
            }
            WorkflowTaskKind::Join if row.from.is_none() => {
                self.shift(&row.id, StatusMove::WaitAgain, None)?;
                self.arm_timeout(step, &row.id)?;
                self.unsettle(&row.id.path);
                self.todo.push_back(DeferredWork::Weigh(row.id.clone()));
                Ok(())
            }
            WorkflowTaskKind::Foreach if self.is_opened(&row.id)? => {
                self.shift(&row.id, StatusMove::WaitAgain, None)?;
                self.reopen(&row.id)
            }
            WorkflowTaskKind::Foreach
            | WorkflowTaskKind::Subflow
            | WorkflowTaskKind::Join
            | WorkflowTaskKind::Wait => {
                self.shift(&row.id, StatusMove::WaitAgain, None)?;
                self.begin(step, &row.id)
            }
        }
    }

    /// Looks for the next step once more. The task has its output: the work is not repeated.
    fn route_again(&mut self, row: &TaskRow) -> Result<(), DecisionStop<R::Error>> {
        let change = TaskChange {
            hold: Some(None),
            ..TaskChange::default()
        };
        self.change(&row.id, change)?;
        let output = row.output.clone().unwrap_or_default();
        if row.kind != WorkflowTaskKind::Work && row.output_is_gathered() {
            self.shift(&row.id, StatusMove::WaitAgain, None)?;
            let task = row.id.clone();
            self.todo.push_back(DeferredWork::Conclude { task, output });
            return Ok(());
        }
        self.shift(&row.id, StatusMove::TakeUp, None)?;
        let row = self.the_task(&row.id)?;
        self.complete(&row, output, (StatusMove::Complete, StatusMove::Hold))
    }

    /// Lets a foreach wait again, for its items that failed or never began.
    fn reopen(&mut self, group: &TaskId) -> Result<(), DecisionStop<R::Error>> {
        if !self.the_group(group)?.closed {
            let step = self.the_step(&group.step)?;
            let judge = self.judge(step)?;
            self.arm_timeout(judge, group)?;
            self.todo.push_back(DeferredWork::Advance(group.clone()));
            return Ok(());
        }
        self.reopen_group(group, &[ItemStatus::Failed, ItemStatus::Skipped])?;
        self.todo.push_back(DeferredWork::Advance(group.clone()));
        Ok(())
    }

    /// Reopens a foreach that had ended, and its items with one of these statuses.
    pub(crate) fn reopen_group(
        &mut self,
        group: &TaskId,
        ended: &[ItemStatus],
    ) -> Result<(), DecisionStop<R::Error>> {
        self.act(EngineAction::ReopenGroup {
            group: group.clone(),
        })?;
        self.tell(EventKind::GroupReopened {
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

    pub(crate) fn reopen_item(
        &mut self,
        group: &TaskId,
        index: u32,
    ) -> Result<(), DecisionStop<R::Error>> {
        self.act(EngineAction::ReopenItem {
            group: group.clone(),
            index,
        })?;
        self.tell(EventKind::ItemReopened {
            group: group.clone(),
            index,
        })
    }

    pub(crate) fn assign(
        &mut self,
        task: &TaskId,
        assignee: Option<&str>,
    ) -> Result<(), DecisionStop<R::Error>> {
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
        self.tell(EventKind::Assigned {
            task: task.clone(),
            assignee,
        })?;
        let row = self.the_task(task)?;
        let for_person = row.execution == ExecutionMode::Manual || row.status == TaskStatus::OnHold;
        if row.assignee.is_some() && for_person {
            let message = format!("`{}` is for you to do.", task.step);
            self.notify(NoticeKind::TaskForYou, Some(&row), message)?;
        }
        Ok(())
    }

    /// Refuses commands about a run that has ended.
    pub(crate) fn goes_on(&mut self) -> Result<(), DecisionStop<R::Error>> {
        let run = self.the_run()?;
        if !run.status.is_terminal() {
            return Ok(());
        }
        let message = format!("The run `{}` is {}.", run.id, run.status.name());
        Err(DecisionStop::Refused(CommandRefusal::new(
            RefusalKind::WrongStatus,
            message,
        )))
    }

    /// Resumes a run that was paused because of this task.
    pub(crate) fn unpause(&mut self, task: &TaskId) -> Result<(), DecisionStop<R::Error>> {
        let run = self.the_run()?;
        match &run.pause {
            Some(PauseCause::Task(by))
                if by == task || self.of_task(by, TaskRow::is_overdue)? =>
            {
                self.run_on()
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn run_on(&mut self) -> Result<(), DecisionStop<R::Error>> {
        let run = self.the_run()?;
        self.act(EngineAction::SetRun {
            run: self.run.clone(),
            status: RunStatus::Running,
            reason: None,
            pause: None,
        })?;
        self.tell(EventKind::RunResumed)?;
        self.tell_parent_of_resume(&run)
    }

    /// Interprets an answer: a reply in five sections or in an envelope is read like a model's,
    /// anything else is the output itself.
    fn read_answer(
        &mut self,
        row: &TaskRow,
        answer: &TaskAnswer,
    ) -> Result<(TaskAnswer, Option<AgentReply>), DecisionStop<R::Error>> {
        let TaskAnswer::Done { output } = answer else {
            return Ok((answer.clone(), None));
        };
        let Some(text) = response::as_reply(output) else {
            self.fits_schema(row, output)?;
            return Ok((answer.clone(), None));
        };
        let step = self.the_step(&row.id.step)?;
        let reply = response::read(&text, step.config.output_schema.as_ref()).map_err(|wrong| {
            let message = format!("The reply cannot be used: {wrong}");
            DecisionStop::Refused(CommandRefusal::new(RefusalKind::BadOutput, message))
        })?;
        let answer = match response::report(reply.clone(), None).outcome {
            AttemptOutcome::Completed { output, .. } => TaskAnswer::Done { output },
            AttemptOutcome::Failed(failure) => TaskAnswer::Failed {
                message: failure.message,
            },
            AttemptOutcome::Asked { reason, output } => TaskAnswer::Asked { reason, output },
            AttemptOutcome::Continue { note, output } => TaskAnswer::Asked {
                reason: note,
                output,
            },
            _ => answer.clone(),
        };
        Ok((answer, Some(reply)))
    }

    /// Records the rest of a person's reply.
    fn keep_reply(
        &mut self,
        task: &TaskId,
        by: &str,
        reply: &AgentReply,
    ) -> Result<(), DecisionStop<R::Error>> {
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

    fn fits_schema(&mut self, row: &TaskRow, output: &Value) -> Result<(), DecisionStop<R::Error>> {
        let workflow = self.workflow;
        let step = workflow.step_of(row);
        let Some((step, schema)) = step.as_ref().and_then(|step| {
            let schema = step.config.output_schema.as_ref()?;
            Some((step, schema))
        }) else {
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
                Err(DecisionStop::Refused(CommandRefusal::new(
                    RefusalKind::BadOutput,
                    message,
                )))
            }
        }
    }
}

impl TaskRow {
    /// Tells whether the task's output is gathered from its items, branches or child run, and not
    /// the work of an assignee.
    fn output_is_gathered(&self) -> bool {
        match self.kind {
            WorkflowTaskKind::Work => false,
            WorkflowTaskKind::Foreach | WorkflowTaskKind::Subflow | WorkflowTaskKind::Wait => true,
            // A join that was released has work of its own, and an assignee does it.
            WorkflowTaskKind::Join => self.attempt == 0,
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

fn refused(message: &str) -> AttemptFailure {
    AttemptFailure {
        class: FailureClass::Failed,
        message: message.to_owned(),
    }
}
