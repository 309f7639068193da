//! The desk that orders come to: as many as wait are decided in one transaction, and answered when it
//! is on the disk.
//!
//! One alone is not kept waiting for others. When a transaction fails, its orders are tried one by
//! one, so that nobody's order fails because of a neighbour's.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agent::Clock;
use flow::engine::{
    Batch, Command, Decision, Found, Lookup, Refusal, RefusalKind, Rows as _, Start, Stop, decide,
};
use flow::{
    Claim, Claimed, Executed, RunId, StoreError, StoreErrorKind, TaskId, TextHash, Workflow,
};
use tokio::sync::{mpsc, oneshot};

use super::shelf::Shelf;
use super::texts::Texts;
use crate::error::{Error, Kind, Result};

/// How many orders one transaction takes.
const ORDERS_MAX: usize = 512;

/// How often a transaction is tried when the server is gone or gives it up, and how long is waited
/// the first time; then twice as long each time.
const TRIES_MAX: u32 = 8;
const TRY_MS: u64 = 10;

/// What was ordered; what it changes is on the disk before it is answered.
#[derive(Clone)]
pub(super) enum Order {
    KeepText(Arc<str>),
    Start(TextHash, Start),
    Execute(Command),
    Claim(Claim),
    Heartbeat(Vec<(TaskId, u64)>, u64),
    Acknowledge(Vec<u64>),
}

/// What came of an order.
pub(super) enum Answer {
    Done,
    Executed(Executed),
    NoSuchWorkflow(TextHash),
    Claimed(Vec<Claimed>),
    Lost(Vec<(TaskId, Refusal)>),
}

pub(super) struct Ordered {
    pub(super) order: Order,
    pub(super) answer: oneshot::Sender<std::result::Result<Answer, StoreError>>,
}

pub(super) struct Desk<S> {
    pub(super) shelf: S,
    pub(super) texts: Texts,
    pub(super) clock: Arc<dyn Clock>,
}

impl<S: Shelf> Desk<S> {
    /// Works until nobody can order any more.
    pub(super) async fn serve(mut self, mut queue: mpsc::Receiver<Ordered>) {
        let mut waiting = Vec::new();
        while queue.recv_many(&mut waiting, ORDERS_MAX).await > 0 {
            let orders: Vec<Order> = waiting.iter().map(|one| one.order.clone()).collect();
            match self.transact(&orders).await {
                Ok(answers) => {
                    for (one, answer) in waiting.drain(..).zip(answers) {
                        // Whoever asked may have gone.
                        let _ = one.answer.send(Ok(answer));
                    }
                }
                Err(error) if waiting.len() > 1 && error.kind() != Kind::Lost => {
                    for one in waiting.drain(..) {
                        self.serve_alone(one).await;
                    }
                }
                Err(error) => {
                    for one in waiting.drain(..) {
                        let _ = one.answer.send(Err(error.clone().into()));
                    }
                }
            }
        }
    }

    async fn serve_alone(&mut self, one: Ordered) {
        let answered = self.transact(std::slice::from_ref(&one.order)).await;
        let answer = answered.map(|answers| answers.into_iter().next());
        let _ = one.answer.send(match answer {
            Ok(answer) => Ok(answer.unwrap_or(Answer::Done)),
            Err(error) => Err(error.into()),
        });
    }

    /// Deciding changes nothing, so that a transaction that was lost can be decided anew.
    async fn transact(&mut self, orders: &[Order]) -> Result<Vec<Answer>> {
        let mut tries = 1;
        loop {
            match self.transact_once(orders).await {
                Err(error) if error.kind() == Kind::Lost && tries < TRIES_MAX => {
                    let wait_ms = TRY_MS << tries.min(7);
                    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    async fn transact_once(&mut self, orders: &[Order]) -> Result<Vec<Answer>> {
        self.shelf.begin().await?;
        match self.decide_all(orders).await {
            Ok(answers) => {
                self.shelf.commit().await?;
                Ok(answers)
            }
            Err(error) => {
                self.shelf.roll_back().await;
                Err(error)
            }
        }
    }

    async fn decide_all(&mut self, orders: &[Order]) -> Result<Vec<Answer>> {
        let mut batch = Batch::new();
        // All at once and in order, so that transactions do not wait for each other in a circle.
        let runs: BTreeSet<RunId> = orders.iter().flat_map(runs_of).cloned().collect();
        self.learn_runs(&mut batch, runs).await?;
        let tasks: Vec<TaskId> = orders.iter().flat_map(tasks_of).cloned().collect();
        self.learn(&mut batch, &tasks).await?;
        let mut answers = Vec::with_capacity(orders.len());
        for order in orders {
            answers.push(self.obey(&mut batch, order).await?);
        }
        self.shelf.write(&batch.flush()).await?;
        Ok(answers)
    }

    async fn obey(&mut self, batch: &mut Batch, order: &Order) -> Result<Answer> {
        match order {
            Order::KeepText(source) => {
                let now_ms = self.clock.now_ms();
                let hash = TextHash::of(source);
                self.shelf.keep_text(&hash, source, now_ms).await?;
                Ok(Answer::Done)
            }
            Order::Start(hash, start) => {
                let Some(workflow) = self.texts.get(&mut self.shelf, hash).await? else {
                    return Ok(Answer::NoSuchWorkflow(hash.clone()));
                };
                let command = Command::Start(start.clone());
                let executed = self.execute(batch, &workflow, &command).await?;
                Ok(Answer::Executed(executed.map(|decision| decision.actions)))
            }
            Order::Execute(command) => {
                let executed = self.execute_pinned(batch, command).await?;
                Ok(Answer::Executed(executed.map(|decision| decision.actions)))
            }
            Order::Claim(claim) => Ok(Answer::Claimed(self.claim(batch, claim).await?)),
            Order::Heartbeat(tasks, lease_ms) => {
                Ok(Answer::Lost(self.keep(batch, tasks, *lease_ms).await?))
            }
            Order::Acknowledge(notices) => {
                self.shelf.acknowledge(notices).await?;
                Ok(Answer::Done)
            }
        }
    }

    async fn claim(&mut self, batch: &mut Batch, claim: &Claim) -> Result<Vec<Claimed>> {
        // What the orders before this one made ready is found, too.
        self.shelf.write(&batch.flush()).await?;
        let ready = self.shelf.ready(claim, self.clock.now_ms()).await?;
        let runs = ready.iter().map(|task| task.run.clone()).collect();
        self.learn_runs(batch, runs).await?;
        self.learn(batch, &ready).await?;
        let mut claimed = Vec::with_capacity(ready.len());
        for task in ready {
            let command = Command::Claim {
                task: task.clone(),
                worker: claim.worker.clone(),
                lease_ms: claim.lease_ms,
            };
            // Refused means that somebody was faster.
            let Ok(decision) = self.execute_pinned(batch, &command).await? else {
                continue;
            };
            let rows = decision.changes.tasks.into_iter();
            let Some(row) = rows.into_iter().find(|row| row.id == task) else {
                continue;
            };
            let workflow = self.pinned(batch, &task.run).await?;
            if let Some(workflow) = workflow {
                claimed.push(Claimed {
                    task: row,
                    workflow,
                });
            }
        }
        Ok(claimed)
    }

    async fn keep(
        &mut self,
        batch: &mut Batch,
        tasks: &[(TaskId, u64)],
        lease_ms: u64,
    ) -> Result<Vec<(TaskId, Refusal)>> {
        let mut lost = Vec::new();
        for (task, fence) in tasks {
            let command = Command::Heartbeat {
                task: task.clone(),
                fence: *fence,
                lease_ms,
            };
            if let Err(refusal) = self.execute_pinned(batch, &command).await? {
                lost.push((task.clone(), refusal));
            }
        }
        Ok(lost)
    }

    /// Decides with the workflow that the command's run is pinned to.
    async fn execute_pinned(
        &mut self,
        batch: &mut Batch,
        command: &Command,
    ) -> Result<std::result::Result<Decision, Refusal>> {
        let hash = self.pinned(batch, command.run()).await?;
        let workflow = match &hash {
            Some(hash) => self.texts.get(&mut self.shelf, hash).await?,
            None => None,
        };
        match workflow {
            Some(workflow) => self.execute(batch, &workflow, command).await,
            None => Ok(Err(Refusal {
                kind: RefusalKind::NoSuchRun,
                message: format!("There is no run {}.", command.run()),
            })),
        }
    }

    async fn pinned(&mut self, batch: &mut Batch, run: &RunId) -> Result<Option<TextHash>> {
        loop {
            match batch.run(run) {
                Ok(row) => return Ok(row.map(|row| row.workflow)),
                Err(lookup @ Lookup::Run(_)) => {
                    let found = self.shelf.find(&lookup).await?;
                    batch.learn(lookup, found);
                }
                Err(_) => return Ok(None),
            }
        }
    }

    async fn execute(
        &mut self,
        batch: &mut Batch,
        workflow: &Workflow,
        command: &Command,
    ) -> Result<std::result::Result<Decision, Refusal>> {
        loop {
            let now_ms = self.clock.now_ms();
            match decide(workflow, batch, command, now_ms) {
                Ok(decision) => {
                    batch.commit(decision.clone());
                    return Ok(Ok(decision));
                }
                Err(Stop::Refused(refusal)) => return Ok(Err(refusal)),
                Err(Stop::Rows(lookup)) => {
                    let found = self.shelf.find(&lookup).await?;
                    batch.learn(lookup, found);
                }
            }
        }
    }

    async fn learn_runs(&mut self, batch: &mut Batch, runs: BTreeSet<RunId>) -> Result<()> {
        let unknown = runs.into_iter().filter(|run| batch.run(run).is_err());
        let unknown: Vec<RunId> = unknown.collect();
        if unknown.is_empty() {
            return Ok(());
        }
        for row in self.shelf.find_runs(&unknown).await? {
            batch.learn(Lookup::Run(row.id.clone()), Found::Run(Some(row)));
        }
        for run in unknown {
            batch.learn(Lookup::Run(run), Found::Run(None));
        }
        Ok(())
    }

    /// What orders about these tasks will ask for first, in a few questions instead of many.
    async fn learn(&mut self, batch: &mut Batch, tasks: &[TaskId]) -> Result<()> {
        if tasks.len() < 2 {
            return Ok(());
        }
        for (lookup, found) in self.shelf.find_tasks(tasks).await? {
            batch.learn(lookup, found);
        }
        Ok(())
    }
}

fn runs_of(order: &Order) -> Vec<&RunId> {
    match order {
        Order::Start(_, start) => vec![&start.run],
        Order::Execute(command) => vec![command.run()],
        Order::Heartbeat(tasks, _) => tasks.iter().map(|(task, _)| &task.run).collect(),
        Order::KeepText(_) | Order::Claim(_) | Order::Acknowledge(_) => Vec::new(),
    }
}

fn tasks_of(order: &Order) -> Vec<&TaskId> {
    match order {
        Order::Execute(
            Command::Report { task, .. }
            | Command::Heartbeat { task, .. }
            | Command::LeaseLost { task, .. },
        ) => vec![task],
        Order::Heartbeat(tasks, _) => tasks.iter().map(|(task, _)| task).collect(),
        _ => Vec::new(),
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        let kind = match error.kind() {
            Kind::Busy | Kind::Locked | Kind::Lost => StoreErrorKind::Unavailable,
            Kind::Corrupt | Kind::Missing => StoreErrorKind::Corrupt,
            Kind::Newer => StoreErrorKind::TooNew,
            _ => StoreErrorKind::NotKept,
        };
        StoreError {
            kind,
            message: error.to_string(),
        }
    }
}
