//! The actors that use the store: workers, processes that handle timers and leases, the reader of
//! notices, and people. Each does one thing at a time with the state it saw before, and may die in
//! between.

use flow::ExecutionMode;
use flow::engine::{
    AttemptFailure, AttemptOutcome, AttemptReport, ChildRun, CommandRefusal, EngineCommand,
    FailureClass, Notice, RefusalKind, RunStart, TaskAnswer, TaskStatus, TimerPurpose, TimerRow,
    WorkflowTaskKind,
};
use flow::{RunId, TaskId};
use serde_json::{Value, json};

use crate::world::{Answered, LEASE_MS, World};

/// A task in a worker's hands, as the worker sees it.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) task: TaskId,
    pub(crate) fence: u64,
}

/// An actor, and its progress.
#[derive(Clone)]
pub(crate) enum Actor {
    Worker(Worker),
    Tender(Tender),
    Messenger(Messenger),
}

#[derive(Clone)]
pub(crate) enum Worker {
    Idle,
    /// It saw a task that is ready.
    Seen(TaskId),
    Holding(Held),
    /// The work is done; whether the report came through is not known.
    Reporting {
        held: Held,
        outcome: AttemptOutcome,
        committed: bool,
    },
}

#[derive(Clone)]
pub(crate) enum Tender {
    Idle,
    /// Timers that were due when it looked.
    Timers(Vec<TimerRow>),
    /// A child run that was started for a timer which is still there.
    Started(Box<TimerRow>, Vec<TimerRow>),
    /// Leases that had ended when it looked.
    Leases(Vec<(TaskId, u64)>),
}

#[derive(Clone)]
pub(crate) enum Messenger {
    Idle,
    Read(Vec<(usize, Notice)>),
    /// Told, and not acknowledged yet.
    Told(Vec<usize>),
}

impl Actor {
    pub(crate) fn all() -> Vec<Actor> {
        vec![
            Actor::Worker(Worker::Idle),
            Actor::Worker(Worker::Idle),
            Actor::Worker(Worker::Idle),
            Actor::Tender(Tender::Idle),
            Actor::Tender(Tender::Idle),
            Actor::Messenger(Messenger::Idle),
        ]
    }

    pub(crate) fn holding(held: Held) -> Actor {
        Actor::Worker(Worker::Holding(held))
    }
}

impl World {
    /// Lets a random actor take one step.
    pub(crate) fn act(&mut self) {
        let at = usize::try_from(self.chance.up_to(self.actors.len() as u64)).unwrap();
        let next = match self.actors[at].clone() {
            Actor::Worker(worker) => Actor::Worker(self.work(worker)),
            Actor::Tender(tender) => Actor::Tender(self.tend(tender)),
            Actor::Messenger(messenger) => Actor::Messenger(self.hand_on(messenger)),
        };
        self.actors[at] = next;
    }

    /// Kills a random actor with everything it knew. Another takes its place.
    pub(crate) fn kill(&mut self) {
        let at = usize::try_from(self.chance.up_to(self.actors.len() as u64)).unwrap();
        self.actors[at] = match self.actors[at] {
            Actor::Worker(_) => Actor::Worker(Worker::Idle),
            Actor::Tender(_) => Actor::Tender(Tender::Idle),
            Actor::Messenger(_) => Actor::Messenger(Messenger::Idle),
        };
        let workers = |actor: &&Actor| matches!(actor, Actor::Worker(_));
        if self.actors.iter().filter(workers).count() > 6 {
            self.actors.remove(at);
            let kept = Actor::all().into_iter();
            let lacking = kept.filter(|actor| {
                let same =
                    |other: &Actor| std::mem::discriminant(other) == std::mem::discriminant(actor);
                !self.actors.iter().any(same)
            });
            let lacking: Vec<Actor> = lacking.collect();
            self.actors.extend(lacking);
        }
    }

    fn work(&mut self, worker: Worker) -> Worker {
        match worker {
            Worker::Idle => {
                // A hint that got lost: it does not look now.
                if self.chance.one_in(5) {
                    return Worker::Idle;
                }
                let ready = self.memory.ready(self.now_ms, 8);
                let seen = self.chance.pick(&ready).cloned();
                seen.map_or(Worker::Idle, Worker::Seen)
            }
            Worker::Seen(task) => self.claim(task).map_or(Worker::Idle, Worker::Holding),
            Worker::Holding(held) if self.chance.one_in(4) => self.beat(held),
            Worker::Holding(held) => Worker::Reporting {
                outcome: self.outcome(),
                held,
                committed: false,
            },
            Worker::Reporting {
                held,
                outcome,
                committed,
            } => self.say(held, outcome, committed),
        }
    }

    pub(crate) fn claim(&mut self, task: TaskId) -> Option<Held> {
        let claim = EngineCommand::Claim {
            task: task.clone(),
            worker: "w".to_owned(),
            lease_ms: LEASE_MS,
            rates: self.rates.clone(),
        };
        match self.send(&claim) {
            Answered::Committed => {
                let fence = self.memory.tasks[&task].fence;
                Some(Held { task, fence })
            }
            Answered::Refused(refusal) => {
                let fine = [
                    RefusalKind::WrongStatus,
                    RefusalKind::NotReady,
                    RefusalKind::NoRoom,
                ];
                assert!(fine.contains(&refusal.kind), "{refusal}");
                if self
                    .rates
                    .iter()
                    .any(|rate| refusal.to_string().contains(&rate.name))
                {
                    self.met.insert("held up by a rate".to_owned());
                }
                None
            }
            Answered::Lost { .. } => None,
        }
    }

    /// The worker says how it went, again where it does not know whether it was heard.
    fn say(&mut self, held: Held, outcome: AttemptOutcome, committed: bool) -> Worker {
        let report = EngineCommand::Report {
            task: held.task.clone(),
            fence: held.fence,
            report: AttemptReport::of(outcome.clone()),
        };
        match self.send(&report) {
            Answered::Committed if self.chance.one_in(8) => {
                let again = self.report(&held, outcome);
                assert!(
                    again.is_err(),
                    "the second report of {} was taken",
                    held.task
                );
                Worker::Idle
            }
            Answered::Committed => {
                assert!(!committed, "the second report of {} was taken", held.task);
                Worker::Idle
            }
            Answered::Refused(refusal) => {
                assert_eq!(refusal.kind, RefusalKind::StaleFence, "{refusal}");
                Worker::Idle
            }
            Answered::Lost { committed } => Worker::Reporting {
                held,
                outcome,
                committed,
            },
        }
    }

    pub(crate) fn report(
        &mut self,
        held: &Held,
        outcome: AttemptOutcome,
    ) -> Result<(), CommandRefusal> {
        let result = self.execute(&EngineCommand::Report {
            task: held.task.clone(),
            fence: held.fence,
            report: AttemptReport::of(outcome),
        });
        if let Err(refusal) = &result {
            assert_eq!(refusal.kind, RefusalKind::StaleFence, "{refusal}");
        }
        result
    }

    fn beat(&mut self, held: Held) -> Worker {
        let beat = EngineCommand::Heartbeat {
            task: held.task.clone(),
            fence: held.fence,
            lease_ms: LEASE_MS,
        };
        match self.send(&beat) {
            Answered::Refused(_) => Worker::Idle,
            _ => Worker::Holding(held),
        }
    }

    /// A worker that stalls until its lease is over, and then reports.
    pub(crate) fn stall(&mut self) {
        let held = self.actors.iter().find_map(|actor| match actor {
            Actor::Worker(Worker::Holding(held)) => Some(held.clone()),
            _ => None,
        });
        let Some(held) = held else {
            return;
        };
        self.now_ms += LEASE_MS;
        for (task, fence) in self.memory.expired(self.now_ms) {
            let _ = self.lease_lost(task, fence);
        }
        // A clock that went back in between leaves the lease where it was.
        let row = &self.memory.tasks[&held.task];
        let still = row.status == TaskStatus::InProgress && row.fence == held.fence;
        let outcome = self.outcome();
        let told = self.report(&held, outcome);
        assert_eq!(told.is_ok(), still, "a report under an old fence was taken");
    }

    /// Takes all tasks away from the workers.
    pub(crate) fn put_down(&mut self) -> Vec<Held> {
        let mut taken = Vec::new();
        for actor in &mut self.actors {
            if let Actor::Worker(Worker::Holding(held)) = actor {
                taken.push(held.clone());
                *actor = Actor::Worker(Worker::Idle);
            }
        }
        taken
    }

    pub(crate) fn outcome(&mut self) -> AttemptOutcome {
        let reason = "Because.".to_owned();
        let failure = |class| {
            let message = "It failed.".to_owned();
            AttemptOutcome::Failed(AttemptFailure { class, message })
        };
        match self.chance.up_to(30) {
            0 => failure(FailureClass::Timeout),
            1 => failure(FailureClass::RateLimited),
            2 => failure(FailureClass::UnparsableReply),
            3 | 4 => failure(FailureClass::Failed),
            5 => failure(FailureClass::Auth),
            6 => AttemptOutcome::Asked {
                reason,
                output: None,
            },
            7 => AttemptOutcome::Unsure {
                reason,
                output: json!({ "list": [] }),
            },
            8 => AttemptOutcome::Continue {
                note: reason,
                output: None,
            },
            9 => AttemptOutcome::OverBudget {
                reason,
                budget: None,
            },
            11 => AttemptOutcome::GivenBack,
            10 => AttemptOutcome::Completed {
                output: Value::Null,
                partial: false,
            },
            _ => self.good(),
        }
    }

    // Timers and leases.

    fn tend(&mut self, tender: Tender) -> Tender {
        match tender {
            Tender::Idle if self.chance.one_in(3) => {
                Tender::Leases(self.memory.expired(self.now_ms))
            }
            Tender::Idle => Tender::Timers(self.memory.due(self.now_ms)),
            Tender::Timers(mut timers) => {
                let Some(timer) = timers.pop() else {
                    return Tender::Idle;
                };
                if let TimerPurpose::StartChild { child } = &timer.due {
                    self.start_child(child);
                    return Tender::Started(Box::new(timer), timers);
                }
                self.fire(&timer);
                Tender::Timers(timers)
            }
            Tender::Started(timer, rest) => {
                self.fire(&timer);
                Tender::Timers(rest)
            }
            Tender::Leases(mut leases) => {
                let Some((task, fence)) = leases.pop() else {
                    return Tender::Idle;
                };
                let _ = self.lease_lost(task, fence);
                Tender::Leases(leases)
            }
        }
    }

    pub(crate) fn lease_lost(&mut self, task: TaskId, fence: u64) -> Result<(), CommandRefusal> {
        let lost = self.execute(&EngineCommand::LeaseLost { task, fence });
        if let Err(refusal) = &lost {
            // Another actor was faster, or the clock went back.
            let fine = [RefusalKind::StaleFence, RefusalKind::NotReady];
            assert!(fine.contains(&refusal.kind), "{refusal}");
        }
        lost
    }

    pub(crate) fn start_child(&mut self, child: &ChildRun) {
        let workflow = match child.subflow.as_str() {
            "self" => self.main.clone(),
            _ => self.child.clone(),
        };
        let start = EngineCommand::Start(RunStart {
            parent: Some(child.parent.clone()),
            depth: child.depth,
            ..RunStart::new(child.run.clone(), child.input.clone())
        });
        if let Answered::Refused(refusal) = self.send_in(&workflow, &start) {
            let fine = [RefusalKind::AlreadyStarted, RefusalKind::WrongStatus];
            assert!(fine.contains(&refusal.kind), "{refusal}");
        }
    }

    pub(crate) fn fire(&mut self, timer: &TimerRow) {
        // An actor fires this timer only if it knows that the child has begun.
        if let TimerPurpose::StartChild { child } = &timer.due
            && !self.memory.runs.contains_key(&child.run)
            && self.waits(&child.parent)
        {
            return;
        }
        let fire = EngineCommand::Fire {
            run: timer.run.clone(),
            key: timer.key.clone(),
        };
        if let Answered::Refused(refusal) = self.send(&fire) {
            // Another has fired it, taken it back, put it off or ended its run.
            let fine = [
                RefusalKind::NoSuchTimer,
                RefusalKind::WrongStatus,
                RefusalKind::NotReady,
            ];
            assert!(fine.contains(&refusal.kind), "{refusal}");
            // The actor that fires timers removes one that the run refuses for good.
            if refusal.kind == RefusalKind::WrongStatus {
                self.memory
                    .timers
                    .remove(&(timer.run.clone(), timer.key.clone()));
            }
        }
    }

    fn waits(&self, task: &TaskId) -> bool {
        let row = self.memory.tasks.get(task);
        row.is_some_and(|row| row.status == TaskStatus::Waiting)
    }

    // Notices.

    fn hand_on(&mut self, messenger: Messenger) -> Messenger {
        match messenger {
            Messenger::Idle => {
                let unread = self.memory.outbox.iter().cloned().enumerate();
                let unread = unread.filter(|(at, _)| !self.acknowledged.contains(at));
                Messenger::Read(unread.take(5).collect())
            }
            Messenger::Read(notices) => {
                for (at, _) in &notices {
                    *self.told.entry(*at).or_default() += 1;
                }
                Messenger::Told(notices.into_iter().map(|(at, _)| at).collect())
            }
            Messenger::Told(notices) => {
                self.acknowledged.extend(notices);
                Messenger::Idle
            }
        }
    }

    pub(crate) fn hand_on_all(&mut self) {
        while self.acknowledged.len() < self.memory.outbox.len() {
            let read = self.hand_on(Messenger::Idle);
            let told = self.hand_on(read);
            self.hand_on(told);
        }
    }

    // People.

    fn for_people(&self) -> Vec<TaskId> {
        let rows = self.memory.tasks.values().filter(|row| {
            let pending =
                row.status == TaskStatus::Pending && row.execution == ExecutionMode::Manual;
            pending || row.status == TaskStatus::OnHold
        });
        rows.map(|row| row.id.clone()).collect()
    }

    pub(crate) fn person(&mut self) {
        let tasks = self.for_people();
        let Some(task) = self.chance.pick(&tasks).cloned() else {
            return;
        };
        let by = "me".to_owned();
        let answer = |answer| EngineCommand::Answer {
            task: task.clone(),
            by,
            answer,
        };
        let command = match self.chance.up_to(10) {
            0 => answer(TaskAnswer::Failed {
                message: "No.".to_owned(),
            }),
            1 | 2 => answer(TaskAnswer::Accept),
            3..=5 => EngineCommand::Retry { task, with: None },
            6 => EngineCommand::Assign {
                task,
                assignee: Some("ann".to_owned()),
            },
            _ => {
                let output = json!({ "a": self.chance.one_in(2), "n": 7, "list": [1] });
                answer(TaskAnswer::Done { output })
            }
        };
        let _ = self.execute(&command);
    }

    pub(crate) fn let_people_work(&mut self) {
        let waits =
            self.memory.tasks.values().filter(|row| {
                row.kind == WorkflowTaskKind::Wait && row.status == TaskStatus::Waiting
            });
        let runs: Vec<RunId> = waits.map(|row| row.id.run.clone()).collect();
        for run in runs {
            // The signal has no receiver where all waits are for a time.
            let _ = self.execute(&signal(run));
        }
        for task in self.for_people() {
            let output = json!({ "a": false, "n": 1, "list": [1] });
            let by = "me".to_owned();
            let answer = TaskAnswer::Done { output };
            if let Err(refusal) = self.execute(&EngineCommand::Answer { task, by, answer }) {
                assert_eq!(refusal.kind, RefusalKind::WrongStatus, "{refusal}");
            }
        }
    }

    pub(crate) fn steer(&mut self) {
        let runs: Vec<RunId> = self.memory.runs.keys().cloned().collect();
        let run = self.chance.pick(&runs).cloned().unwrap();
        let reason = "So be it.".to_owned();
        let command = match self.chance.up_to(14) {
            12 | 13 => signal(run),
            0 => EngineCommand::Cancel { run, reason },
            1..=3 => EngineCommand::Pause { run, reason },
            4..=6 => EngineCommand::Resume { run },
            7 => EngineCommand::Move {
                seq: self.memory.runs[&run].seq,
                to: match self.memory.runs[&run].workflow == *self.main.hash() {
                    true => self.other.hash().clone(),
                    false => self.main.hash().clone(),
                },
                run,
            },
            _ => match self.any_task() {
                Some(task) => EngineCommand::Rerun { task },
                None => return,
            },
        };
        let _ = self.execute(&command);
    }
}

fn signal(run: RunId) -> EngineCommand {
    EngineCommand::Signal {
        run,
        name: "go".to_owned(),
        payload: json!({ "a": true, "n": 1, "list": [1] }),
    }
}
