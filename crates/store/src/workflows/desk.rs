//! The desk that orders come to: as many as wait are decided in one transaction, and answered when it
//! is on the disk.
//!
//! One alone is not kept waiting for others. When a transaction fails, its orders are tried one by
//! one, so that nobody's order fails because of a neighbour's.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use flow::engine::{Batch, Command, Event, Refusal, Start};
use flow::{
    Claim, Claimed, Deletion, Executed, RunId, StoreError, StoreErrorKind, TaskId, TextHash, Thrown,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::guess::{Guess, Looked};
use super::mind::Mind;
use super::recent::Recent;
use super::shelf::{Kept, Memory, Shelf};
use super::turn::Turn;
use crate::error::{Error, Kind, Result};

/// How many orders one transaction takes.
const ORDERS_MAX: usize = 512;

/// How many names of texts a process remembers that it has kept.
const NAMES_MAX: usize = 1_000;

/// How often a transaction is tried when the server is gone or gives it up, and how long is waited
/// the first time; then twice as long each time.
const TRIES_MAX: u32 = 8;
const TRY_MS: u64 = 10;

/// What was ordered; what it changes is on the disk before it is answered.
pub(super) enum Order {
    KeepText(Arc<str>),
    Start(TextHash, Start),
    Execute(Command),
    Turn(Vec<Command>, Claim),
    Heartbeat(Vec<(TaskId, u64)>, u64),
    Acknowledge(Vec<u64>),
    ThrowAway(u64, Thrown),
    Delete(Vec<RunId>),
}

/// What came of an order.
pub(super) enum Answer {
    Done,
    Executed(Executed),
    NoSuchWorkflow(TextHash),
    Claimed(Vec<Claimed>),
    Lost(Vec<(TaskId, Refusal)>),
    Thrown(Thrown),
    Deleted(Vec<Deletion>),
}

pub(super) type Answered = oneshot::Sender<std::result::Result<Answer, StoreError>>;

/// The tasks that have been ready for longest.
#[derive(Default)]
pub(super) enum Ready {
    /// They are to be looked up.
    #[default]
    Unknown,
    Found(Vec<TaskId>),
    /// They are to be looked up if there is room beside what a worker goes on with.
    Skipped,
}

pub(super) struct Desk<S> {
    pub(super) shelf: S,
    pub(super) mind: Mind,
    /// What is known from the transactions before, so that the next one need not ask.
    pub(super) known: Batch,
    pub(super) recent: Recent,
    pub(super) looked: Option<Looked>,
    pub(super) guess: Guess,
    /// When it was last seen that others go on with the same runs.
    pub(super) overtaken: Option<Instant>,
    pub(super) is_rehearsed: bool,
    /// Names of texts that are in the database.
    pub(super) named: HashSet<(TextHash, String)>,
}

impl<S: Shelf> Desk<S> {
    /// Works until nobody can order any more.
    pub(super) async fn serve(mut self, mut queue: mpsc::Receiver<(Order, Answered)>) {
        let mut waiting = Vec::new();
        while queue.recv_many(&mut waiting, ORDERS_MAX).await > 0 {
            let (orders, answered): (Vec<Order>, Vec<Answered>) = waiting.drain(..).unzip();
            match self.transact(&orders).await {
                Ok(answers) => {
                    let is_idle = answers.iter().any(is_nothing_claimed);
                    for (answered, answer) in answered.into_iter().zip(answers) {
                        // Whoever asked may have gone.
                        let _ = answered.send(Ok(answer));
                    }
                    if is_idle && !std::mem::replace(&mut self.is_rehearsed, true) {
                        // What goes wrong here will go wrong again where it matters.
                        let _ = self.shelf.rehearse().await;
                    }
                }
                Err(error) if orders.len() > 1 && error.kind() != Kind::Lost => {
                    for (order, answered) in orders.iter().zip(answered) {
                        self.serve_alone(order, answered).await;
                    }
                }
                Err(error) => {
                    for answered in answered {
                        let _ = answered.send(Err(error.clone().into()));
                    }
                }
            }
        }
    }

    async fn serve_alone(&mut self, order: &Order, answered: Answered) {
        let answers = self.transact(std::slice::from_ref(order)).await;
        let answer = answers.map(|answers| answers.into_iter().next());
        let _ = answered.send(match answer {
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
        // What goes wrong leaves nothing that would be known.
        let known = std::mem::take(&mut self.known);
        let known = match self.may_guess(&known, orders) {
            true => match self.guess(known, orders).await {
                Ok(Some((known, answers))) => {
                    self.known = known;
                    return Ok(answers);
                }
                Ok(None) => {
                    self.overtaken = Some(Instant::now());
                    Batch::new()
                }
                Err(error) => {
                    self.named.clear();
                    self.shelf.roll_back().await;
                    return Err(error);
                }
            },
            false => known,
        };
        match self.transact_knowing(known, orders).await {
            Ok((known, answers)) => {
                self.known = known;
                Ok(answers)
            }
            Err(error) => {
                self.named.clear();
                self.shelf.roll_back().await;
                Err(error)
            }
        }
    }

    async fn transact_knowing(
        &mut self,
        mut batch: Batch,
        orders: &[Order],
    ) -> Result<(Batch, Vec<Answer>)> {
        let has_looked = self.has_looked(orders);
        let claim = orders.iter().find_map(claim_of).filter(|_| !has_looked);
        let begun = self.shelf.begin(claim, self.mind.now_ms()).await?;
        let ready = match (has_looked, begun.ready) {
            (true, _) => Ready::Skipped,
            (false, None) => Ready::Unknown,
            (false, Some(oldest)) => {
                self.looked = Some(Looked::now(oldest.is_empty()));
                Ready::Found(oldest)
            }
        };
        match begun.memory {
            Memory::Holds => {}
            Memory::Fails => batch = Batch::new(),
            Memory::IsInDoubt => {
                batch.doubt();
                // Only a turn decides nothing by what changes without an event, which a lease does.
                let others = orders.iter().filter(|order| claim_of(order).is_none());
                others.flat_map(runs_of).for_each(|run| batch.forget(run));
            }
        }
        let answers = self.decide_all(&mut batch, orders, ready).await?;
        let changes = batch.flush();
        let kept = self.shelf.finish(&changes).await?;
        Ok((self.remember(batch, kept, changes.events), answers))
    }

    /// What is known once everything is on the disk.
    pub(super) fn remember(&mut self, mut batch: Batch, kept: Kept, events: Vec<Event>) -> Batch {
        if batch.was_overtaken() {
            self.overtaken = Some(Instant::now());
        }
        match kept {
            // What is kept is not what is known.
            Kept::Scrubbed => Batch::new(),
            Kept::AsTheyWere => {
                self.recent.keep(events);
                batch.settle();
                batch
            }
        }
    }

    pub(super) async fn decide_all(
        &mut self,
        batch: &mut Batch,
        orders: &[Order],
        mut ready: Ready,
    ) -> Result<Vec<Answer>> {
        // All at once and in order, so that transactions do not wait for each other in a circle.
        let runs: BTreeSet<RunId> = orders.iter().flat_map(runs_of).cloned().collect();
        self.learn_runs(batch, runs).await?;
        let commands: Vec<&Command> = orders.iter().flat_map(commands_of).collect();
        self.foresee(batch, &commands).await?;
        let mut answers = Vec::with_capacity(orders.len());
        let mut is_claimed_from = false;
        for order in orders {
            if matches!(order, Order::Turn(..)) && std::mem::replace(&mut is_claimed_from, true) {
                // What the turn before this one claimed is not to be found again.
                self.shelf.write(&batch.flush()).await?;
            }
            answers.push(self.obey(batch, order, std::mem::take(&mut ready)).await?);
        }
        Ok(answers)
    }

    async fn obey(&mut self, batch: &mut Batch, order: &Order, ready: Ready) -> Result<Answer> {
        match order {
            Order::KeepText(source) => {
                let now_ms = self.mind.now_ms();
                let hash = TextHash::of(source);
                self.shelf.keep_text(&hash, source, now_ms).await?;
                Ok(Answer::Done)
            }
            Order::Start(hash, start) => {
                let Some(workflow) = self.mind.texts.get(&mut self.shelf, hash).await? else {
                    return Ok(Answer::NoSuchWorkflow(hash.clone()));
                };
                self.keep_name(hash, start).await?;
                let command = Command::Start(start.clone());
                let executed = self.decide(batch, |mind, batch| {
                    mind.execute(batch, &workflow, &command)
                });
                Ok(Answer::Executed(executed.await?))
            }
            Order::Execute(command) => {
                Ok(Answer::Executed(self.execute_pinned(batch, command).await?))
            }
            Order::Turn(reports, claim) => {
                let turn = Turn::new(reports, claim);
                Ok(Answer::Claimed(self.take_turn(batch, turn, ready).await?))
            }
            Order::Heartbeat(tasks, lease_ms) => {
                Ok(Answer::Lost(self.keep(batch, tasks, *lease_ms).await?))
            }
            Order::Acknowledge(notices) => {
                self.shelf.acknowledge(notices).await?;
                Ok(Answer::Done)
            }
            Order::ThrowAway(age_ms, from) => {
                let thrown = self.throw_away(batch, *age_ms, from.clone()).await?;
                Ok(Answer::Thrown(thrown))
            }
            Order::Delete(runs) => Ok(Answer::Deleted(self.delete(batch, runs).await?)),
        }
    }

    /// Keeps what the workflow is called, once: lists find its runs by that.
    async fn keep_name(&mut self, hash: &TextHash, start: &Start) -> Result<()> {
        let Some(name) = &start.name else {
            return Ok(());
        };
        let key = (hash.clone(), name.clone());
        if !self.named.contains(&key) {
            self.shelf.keep_name(hash, name).await?;
            if self.named.len() >= NAMES_MAX {
                self.named.clear();
            }
            self.named.insert(key);
        }
        Ok(())
    }

    async fn keep(
        &mut self,
        batch: &mut Batch,
        tasks: &[(TaskId, u64)],
        lease_ms: u64,
    ) -> Result<Vec<(TaskId, Refusal)>> {
        let beats = tasks.iter().map(|(task, fence)| Command::Heartbeat {
            task: task.clone(),
            fence: *fence,
            lease_ms,
        });
        let beats: Vec<Command> = beats.collect();
        self.foresee(batch, &beats.iter().collect::<Vec<_>>())
            .await?;
        let mut lost = Vec::new();
        for (command, (task, _)) in beats.iter().zip(tasks) {
            if let Err(refusal) = self.execute_pinned(batch, command).await? {
                lost.push((task.clone(), refusal));
            }
        }
        Ok(lost)
    }

    /// Decides with the workflow that the command's run is pinned to.
    async fn execute_pinned(&mut self, batch: &mut Batch, command: &Command) -> Result<Executed> {
        let decide = |mind: &Mind, batch: &mut Batch| mind.execute_pinned(batch, command);
        self.decide(batch, decide).await
    }
}

pub(super) fn runs_of(order: &Order) -> Vec<&RunId> {
    match order {
        Order::Start(_, start) => vec![&start.run],
        Order::Execute(command) => vec![command.run()],
        Order::Turn(reports, _) => reports.iter().map(Command::run).collect(),
        Order::Heartbeat(tasks, _) => tasks.iter().map(|(task, _)| &task.run).collect(),
        Order::KeepText(_) | Order::Acknowledge(_) | Order::ThrowAway(..) | Order::Delete(_) => {
            Vec::new()
        }
    }
}

fn claim_of(order: &Order) -> Option<&Claim> {
    match order {
        Order::Turn(_, claim) => Some(claim),
        _ => None,
    }
}

fn commands_of(order: &Order) -> &[Command] {
    match order {
        Order::Execute(command) => std::slice::from_ref(command),
        Order::Turn(reports, _) => reports,
        _ => &[],
    }
}

fn is_nothing_claimed(answer: &Answer) -> bool {
    matches!(answer, Answer::Claimed(claimed) if claimed.is_empty())
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
