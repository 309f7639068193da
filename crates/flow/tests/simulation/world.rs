//! The world a run lives in: a store, workers, people, a clock, and what goes wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flow::engine::{
    Action, Answer, Batch, Command, Decision, Due, Failure, FailureClass, Outcome, Refusal,
    RefusalKind, Report, RunStatus, Start, Stop, TaskKind, TaskStatus, decide,
};
use flow::{
    Execution, Memory, Path, RunId, Skeleton, Surroundings, TaskId, TextHash, Workflow, replay,
};
use serde_json::{Value, json};

use crate::chance::Chance;

const CHILD: &str = "graph TD\n a[Work] --> b{ok?}\n b -->|\"output.a\"| c[More]\n b -->|default| d[Other]\n c --> e[[Each: x]]\n e --> f[Join]\n%% === WORKFLOW_CONFIG ===\n%% @e: { \"itemsPath\": \"output.list\", \"prompt\": \"x\" }\n%% === END_CONFIG ===\n";
const LEASE_MS: u64 = 10_000;
/// A run with more tasks is not waited for.
const TASKS_MAX: usize = 600;
/// After so many steps of a world in order, every run has ended.
const STEPS_TO_THE_END: usize = 20_000;

/// A task in a worker's hands, as the worker sees it.
#[derive(Clone)]
struct Held {
    task: TaskId,
    fence: u64,
}

pub(crate) struct World {
    pub(crate) chance: Chance,
    memory: Memory,
    by_hash: BTreeMap<TextHash, Arc<Workflow>>,
    main: Arc<Workflow>,
    child: Arc<Workflow>,
    now_ms: u64,
    held: Vec<Held>,
    ended: BTreeMap<(TaskId, u32), i32>,
    commits: u64,
    /// The kinds of things that have happened.
    pub(crate) met: BTreeSet<String>,
}

impl World {
    pub(crate) fn new(source: &str, chance: Chance) -> World {
        let main = flow::parse(source).unwrap_or_else(|e| panic!("{}", e.report("drawn", source)));
        let problems = flow::check(&main, &Surroundings::default());
        assert!(flow::is_fine(&problems), "{problems:?}");
        let (main, child) = (Arc::new(main), Arc::new(flow::parse(CHILD).unwrap()));
        let by_hash = [&main, &child]
            .map(|w| (w.hash().clone(), w.clone()))
            .into();
        let mut world = World {
            chance,
            memory: Memory::new(),
            by_hash,
            main,
            child,
            now_ms: 1_000_000,
            held: Vec::new(),
            ended: BTreeMap::new(),
            commits: 0,
            met: BTreeSet::new(),
        };
        let workflow = world.main.clone();
        let start = Command::Start(Start::new("r", json!({ "list": [1, 2] })));
        world.execute_in(&workflow, &start).unwrap();
        world
    }

    /// One thing happens that may go wrong.
    pub(crate) fn trouble(&mut self) {
        match self.chance.up_to(40) {
            0..=9 => self.claim(),
            10..=21 => self.report(),
            22 => self.crash(),
            23 => self.report_twice(),
            24..=26 => self.tick(),
            27 => self.leases_end(),
            28..=31 => self.timers(),
            32 | 33 => self.person(),
            34 => self.beat(),
            35 => self.forget_a_decision(),
            36 | 37 => self.grouped(),
            38 => self.late(),
            _ => self.steer(),
        }
    }

    /// From now on nothing goes wrong, and everybody does their work: every run must end.
    pub(crate) fn come_to_an_end(&mut self) {
        self.held.clear();
        for _ in 0..STEPS_TO_THE_END {
            if self
                .memory
                .runs
                .values()
                .all(|run| run.status.is_terminal())
            {
                return self.look_back();
            }
            if self.memory.tasks.len() > TASKS_MAX {
                return self.cancel_all();
            }
            let ready = self.memory.ready(self.now_ms, 1);
            if let Some(task) = ready.into_iter().next() {
                self.claim_one(task);
                self.report_with(|world| world.good());
                continue;
            }
            let before = self.commits;
            self.leases_end();
            self.timers();
            self.let_people_work();
            self.resume_all();
            if self.commits == before {
                // Nothing to do now: on to the next timer, attempt or lease.
                self.now_ms += 5_000;
                let pending =
                    self.memory.tasks.values().any(|row| {
                        matches!(row.status, TaskStatus::Pending | TaskStatus::InProgress)
                    });
                assert!(
                    pending || !self.memory.timers.is_empty(),
                    "nothing will ever happen again"
                );
            }
        }
        panic!("the runs do not end");
    }

    /// A drawing that grows without end is cut off: that too must leave everything in order.
    fn cancel_all(&mut self) {
        while let Some(run) = self
            .memory
            .runs
            .values()
            .find(|run| !run.status.is_terminal())
        {
            let run = run.id.clone();
            let reason = "It grows.".to_owned();
            self.execute(&Command::Cancel { run, reason }).unwrap();
            self.timers();
        }
        self.look_back();
    }

    fn look_back(&self) {
        for (run, row) in &self.memory.runs {
            let replayed = replay(&self.memory.events[run]).unwrap();
            assert_eq!(replayed, Skeleton::of(&self.memory, run).unwrap());
            assert_eq!(row.active, 0, "{run}");
        }
        for (group, row) in &self.memory.groups {
            let task = &self.memory.tasks[group];
            if task.status != TaskStatus::Completed {
                continue;
            }
            let Some(counts) = task.output.as_ref().and_then(|output| output.get("counts")) else {
                continue;
            };
            assert_eq!(counts["total"], json!(row.total), "{group}");
            let sum: u64 = ["succeeded", "failed", "skipped"]
                .iter()
                .filter_map(|name| counts[*name].as_u64())
                .sum();
            assert_eq!(sum, u64::from(row.total), "{group}: every item once");
        }
    }

    // Workers.

    fn claim(&mut self) {
        let ready = self.memory.ready(self.now_ms, 8);
        if let Some(task) = self.chance.pick(&ready).cloned() {
            self.claim_one(task);
        }
    }

    fn claim_one(&mut self, task: TaskId) {
        let command = Command::Claim {
            task: task.clone(),
            worker: "w".to_owned(),
            lease_ms: LEASE_MS,
        };
        if self.execute(&command).is_ok() {
            let fence = self.memory.tasks[&task].fence;
            self.held.push(Held { task, fence });
        }
    }

    fn report(&mut self) {
        self.report_with(World::outcome);
    }

    fn report_with(&mut self, outcome: impl FnOnce(&mut World) -> Outcome) {
        let Some(held) = self.held.pop() else {
            return;
        };
        let outcome = outcome(self);
        let _ = self.tell(&held, outcome);
    }

    fn tell(&mut self, held: &Held, outcome: Outcome) -> Result<Decision, Refusal> {
        let result = self.execute(&Command::Report {
            task: held.task.clone(),
            fence: held.fence,
            report: Report::of(outcome),
        });
        if let Err(refusal) = &result {
            assert_eq!(refusal.kind, RefusalKind::StaleFence, "{refusal}");
        }
        result
    }

    /// The worker dies, and what it held with it.
    fn crash(&mut self) {
        if !self.held.is_empty() {
            let at = self.chance.up_to(self.held.len() as u64);
            self.held.remove(usize::try_from(at).unwrap());
        }
    }

    /// The answer to a report was lost, and the worker says it again.
    fn report_twice(&mut self) {
        let Some(held) = self.held.pop() else {
            return;
        };
        let outcome = self.outcome();
        let _ = self.tell(&held, outcome.clone());
        let again = self.tell(&held, outcome);
        assert!(
            again.is_err(),
            "the second report of {} was taken",
            held.task
        );
    }

    /// A worker that stalls until its lease is over, and then reports.
    fn late(&mut self) {
        let Some(held) = self.held.pop() else {
            return;
        };
        self.now_ms += LEASE_MS;
        self.leases_end();
        // A clock that went back in between leaves the lease where it was.
        let row = &self.memory.tasks[&held.task];
        let still = row.status == TaskStatus::InProgress && row.fence == held.fence;
        let outcome = self.outcome();
        let told = self.tell(&held, outcome);
        assert_eq!(told.is_ok(), still, "a report under an old fence was taken");
    }

    fn beat(&mut self) {
        let Some(held) = self.chance.pick(&self.held).cloned() else {
            return;
        };
        let beat = self.execute(&Command::Heartbeat {
            task: held.task.clone(),
            fence: held.fence,
            lease_ms: LEASE_MS,
        });
        if beat.is_err() {
            self.held.retain(|other| other.task != held.task);
        }
    }

    fn good(&mut self) -> Outcome {
        let most = if self.chance.one_in(4) { 8 } else { 3 };
        let list: Vec<u64> = (0..self.chance.up_to(most)).collect();
        let output =
            json!({ "a": self.chance.one_in(4), "n": self.chance.up_to(10), "list": list });
        let partial = self.chance.one_in(10);
        Outcome::Completed { output, partial }
    }

    fn outcome(&mut self) -> Outcome {
        let reason = "Because.".to_owned();
        let failure = |class| {
            let message = "It failed.".to_owned();
            Outcome::Failed(Failure { class, message })
        };
        match self.chance.up_to(30) {
            0 => failure(FailureClass::Timeout),
            1 => failure(FailureClass::RateLimited),
            2 => failure(FailureClass::UnparsableReply),
            3 | 4 => failure(FailureClass::Failed),
            5 => failure(FailureClass::Auth),
            6 => Outcome::Asked {
                reason,
                output: None,
            },
            7 => Outcome::Unsure {
                reason,
                output: json!({ "list": [] }),
            },
            8 => Outcome::Continue {
                note: reason,
                output: None,
            },
            9 => Outcome::OverBudget { reason },
            10 => Outcome::Completed {
                output: Value::Null,
                partial: false,
            },
            _ => self.good(),
        }
    }

    // The clock, leases and timers.

    fn tick(&mut self) {
        match self.chance.up_to(20) {
            0 => self.now_ms += 1_000_000,
            1 => self.now_ms -= self.chance.up_to(20_000),
            _ => self.now_ms += self.chance.up_to(4_000),
        }
    }

    fn leases_end(&mut self) {
        for (task, fence) in self.memory.expired(self.now_ms) {
            if let Err(refusal) = self.execute(&Command::LeaseLost { task, fence }) {
                // Another of them has ended the run, or the foreach around.
                assert_eq!(refusal.kind, RefusalKind::StaleFence, "{refusal}");
            }
        }
    }

    fn timers(&mut self) {
        for timer in self.memory.due(self.now_ms) {
            if let Due::StartChild { child } = &timer.due {
                let workflow = match child.subflow.as_str() {
                    "self" => self.main.clone(),
                    _ => self.child.clone(),
                };
                let start = Command::Start(Start {
                    parent: Some(child.parent.clone()),
                    depth: child.depth,
                    ..Start::new(child.run.clone(), child.input.clone())
                });
                let started = self.execute_in(&workflow, &start);
                if let Err(refusal) = started {
                    let fine = [RefusalKind::AlreadyStarted, RefusalKind::WrongStatus];
                    assert!(fine.contains(&refusal.kind), "{refusal}");
                }
                if self.chance.one_in(4) {
                    continue;
                }
            }
            let fire = Command::Fire {
                run: timer.run.clone(),
                key: timer.key.clone(),
            };
            if let Err(refusal) = self.execute(&fire) {
                // Another of the due ones has taken it back or ended its run.
                let fine = [RefusalKind::NoSuchTimer, RefusalKind::WrongStatus];
                assert!(fine.contains(&refusal.kind), "{refusal}");
                self.drop_timer(timer.run, timer.key, refusal.kind);
            }
        }
    }

    /// A timer that a run refuses for good is taken away by whoever fires timers.
    fn drop_timer(&mut self, run: RunId, key: String, kind: RefusalKind) {
        if kind == RefusalKind::WrongStatus {
            self.memory.timers.remove(&(run, key));
        }
    }

    // People.

    fn for_people(&self) -> Vec<TaskId> {
        let rows = self.memory.tasks.values().filter(|row| {
            let pending = row.status == TaskStatus::Pending && row.execution == Execution::Manual;
            pending || row.status == TaskStatus::OnHold
        });
        rows.map(|row| row.id.clone()).collect()
    }

    fn person(&mut self) {
        let tasks = self.for_people();
        let Some(task) = self.chance.pick(&tasks).cloned() else {
            return;
        };
        let by = "me".to_owned();
        let command = match self.chance.up_to(10) {
            0 => Command::Answer {
                task,
                by,
                answer: Answer::Failed {
                    message: "No.".to_owned(),
                },
            },
            1 | 2 => Command::Answer {
                task,
                by,
                answer: Answer::Accept,
            },
            3..=5 => Command::Retry { task },
            6 => Command::Assign {
                task,
                assignee: Some("ann".to_owned()),
            },
            _ => {
                let output = json!({ "a": self.chance.one_in(2), "n": 7, "list": [1] });
                Command::Answer {
                    task,
                    by,
                    answer: Answer::Done { output },
                }
            }
        };
        let _ = self.execute(&command);
    }

    fn let_people_work(&mut self) {
        for task in self.for_people() {
            let output = json!({ "a": false, "n": 1, "list": [1] });
            let by = "me".to_owned();
            let answer = Answer::Done { output };
            if let Err(refusal) = self.execute(&Command::Answer { task, by, answer }) {
                assert_eq!(refusal.kind, RefusalKind::WrongStatus, "{refusal}");
            }
        }
    }

    fn resume_all(&mut self) {
        let runs: Vec<RunId> = self.memory.runs.keys().cloned().collect();
        for run in runs {
            if self.memory.runs[&run].status == RunStatus::Paused {
                self.execute(&Command::Resume { run }).unwrap();
            }
        }
    }

    fn steer(&mut self) {
        let runs: Vec<RunId> = self.memory.runs.keys().cloned().collect();
        let run = self.chance.pick(&runs).cloned().unwrap();
        let tasks: Vec<TaskId> = self.memory.tasks.keys().cloned().collect();
        let reason = "So be it.".to_owned();
        let command = match self.chance.up_to(12) {
            0 => Command::Cancel { run, reason },
            1..=3 => Command::Pause { run, reason },
            4..=8 => Command::Resume { run },
            _ => match self.chance.pick(&tasks).cloned() {
                Some(task) => Command::Rerun { task },
                None => return,
            },
        };
        let _ = self.execute(&command);
    }

    // The store.

    /// Something is decided, and the process dies before it is committed.
    fn forget_a_decision(&mut self) {
        let Some(task) = self.memory.ready(self.now_ms, 1).into_iter().next() else {
            return;
        };
        let command = Command::Claim {
            task,
            worker: "dying".to_owned(),
            lease_ms: LEASE_MS,
        };
        let before = self.memory.clone();
        let workflow = self.workflow_of(&command);
        let _ = decide(&workflow, &mut self.memory, &command, self.now_ms);
        assert!(self.memory == before, "deciding changed something");
    }

    /// Several commands in one transaction, through a batch.
    fn grouped(&mut self) {
        let mut batch = Batch::new();
        let mut commands: Vec<Command> = Vec::new();
        for held in std::mem::take(&mut self.held) {
            let outcome = self.outcome();
            commands.push(Command::Report {
                task: held.task,
                fence: held.fence,
                report: Report::of(outcome),
            });
        }
        let ready = self.memory.ready(self.now_ms, 3);
        commands.extend(ready.into_iter().map(|task| Command::Claim {
            task,
            worker: "b".to_owned(),
            lease_ms: LEASE_MS,
        }));
        for command in commands {
            let workflow = self.workflow_of(&command);
            loop {
                match decide(&workflow, &mut batch, &command, self.now_ms) {
                    Ok(decision) => {
                        batch.commit(decision);
                        break;
                    }
                    Err(Stop::Refused(_)) => break,
                    Err(Stop::Rows(lookup)) => self.memory.teach(&mut batch, lookup),
                }
            }
        }
        let changes = batch.changes();
        for row in &changes.tasks {
            if row.status == TaskStatus::InProgress {
                let (task, fence) = (row.id.clone(), row.fence);
                self.held.push(Held { task, fence });
            }
        }
        self.memory.commit(changes);
        self.recount();
        let runs: Vec<RunId> = self.memory.runs.keys().cloned().collect();
        for run in runs {
            self.hold_together(&run);
        }
    }

    fn workflow_of(&self, command: &Command) -> Arc<Workflow> {
        let run = self.memory.runs.get(command.run());
        let workflow = run.and_then(|run| self.by_hash.get(&run.workflow));
        workflow.unwrap_or(&self.main).clone()
    }

    fn execute(&mut self, command: &Command) -> Result<Decision, Refusal> {
        let workflow = self.workflow_of(command);
        self.execute_in(&workflow, command)
    }

    fn execute_in(&mut self, workflow: &Workflow, command: &Command) -> Result<Decision, Refusal> {
        let before = match self.chance.one_in(40) {
            true => Some(self.memory.clone()),
            false => None,
        };
        let decision = match decide(workflow, &mut self.memory, command, self.now_ms) {
            Ok(decision) => decision,
            Err(Stop::Refused(refusal)) => {
                assert_ne!(refusal.kind, RefusalKind::Broken, "{command:?}: {refusal}");
                return Err(refusal);
            }
            Err(Stop::Rows(never)) => match never {},
        };
        if let Some(before) = before {
            self.same_through_a_batch(&before, workflow, command, &decision);
        }
        self.watch(&decision.actions);
        self.memory.commit(decision.changes.clone());
        self.commits += 1;
        self.hold_together(command.run());
        Ok(decision)
    }

    fn same_through_a_batch(
        &self,
        before: &Memory,
        workflow: &Workflow,
        command: &Command,
        expected: &Decision,
    ) {
        let mut memory = before.clone();
        let mut batch = Batch::new();
        let decision = loop {
            match decide(workflow, &mut batch, command, self.now_ms) {
                Ok(decision) => break decision,
                Err(Stop::Rows(lookup)) => memory.teach(&mut batch, lookup),
                Err(Stop::Refused(refusal)) => panic!("{refusal}"),
            }
        };
        assert_eq!(
            decision.actions, expected.actions,
            "a batch decides otherwise"
        );
        batch.commit(decision);
        let mut changes = batch.changes();
        changes.timers.sort_by(|a, b| a.0.cmp(&b.0));
        let mut wanted = expected.changes.clone();
        wanted.timers.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(changes, wanted, "a batch changes otherwise");
    }

    /// What must never be decided.
    fn watch(&mut self, actions: &[Action]) {
        for action in actions {
            self.note(action);
            match action {
                Action::CreateTask(task) => {
                    assert!(
                        !self.memory.tasks.contains_key(&task.id),
                        "{} twice",
                        task.id
                    );
                }
                Action::EndItem { group, index, .. } => {
                    let ended = self.ended.entry((group.clone(), *index)).or_default();
                    *ended += 1;
                    assert!(*ended <= 1, "item {index} of {group} ended twice");
                }
                Action::ContinueGroup { items, .. } => {
                    let ended = items.iter().filter(|item| item.status.is_terminal());
                    let ended = ended.map(|item| ((item.group.clone(), item.index), 1));
                    self.ended.extend(ended);
                }
                Action::ReopenItem { group, index } => {
                    *self.ended.entry((group.clone(), *index)).or_default() -= 1;
                }
                _ => {}
            }
        }
    }

    fn note(&mut self, action: &Action) {
        match action {
            Action::MoveTask { by, .. } => self.met.insert(format!("{by:?}")),
            Action::CreateTask(task) => match &task.hold {
                Some(hold) => self.met.insert(format!("hold {:?}", hold.kind)),
                None => false,
            },
            Action::Append(event) => self.met.insert(named(&event.what, "what")),
            Action::SetTask { change, .. } => match &change.hold {
                Some(Some(hold)) => self.met.insert(format!("hold {:?}", hold.kind)),
                _ => false,
            },
            _ => false,
        };
    }

    fn recount(&mut self) {
        self.ended = self
            .memory
            .items
            .iter()
            .map(|(key, item)| (key.clone(), i32::from(item.status.is_terminal())))
            .collect();
    }

    /// What is true of a run after every transaction.
    fn hold_together(&mut self, run: &RunId) {
        let Some(row) = self.memory.runs.get(run) else {
            return;
        };
        let first = TaskId {
            run: run.clone(),
            path: Path::default(),
            step: "".into(),
            visit: 0,
        };
        let tasks = self
            .memory
            .tasks
            .range(first.clone()..)
            .map(|(_, task)| task);
        let tasks = tasks.take_while(|task| task.id.run == *run);
        let active: Vec<_> = tasks.filter(|task| !task.status.is_terminal()).collect();
        assert_eq!(row.active as usize, active.len(), "{run} counts wrong");
        assert!(
            !row.status.is_terminal() || active.is_empty(),
            "{run} ended too early"
        );
        let explained = row.status != RunStatus::Running
            || active.iter().any(|task| match task.status {
                TaskStatus::Pending | TaskStatus::InProgress => true,
                TaskStatus::OnHold => task.hold.is_some(),
                TaskStatus::Waiting => task.kind == TaskKind::Subflow,
                _ => false,
            });
        assert!(explained, "{run} waits for no reason: {active:#?}");
        let groups = self.memory.groups.range(first..).map(|(_, group)| group);
        for group in groups.take_while(|group| group.id.run == *run) {
            let counted = group.succeeded + group.failed + group.running;
            assert!(counted <= group.total, "{group:?}");
        }
        if self.chance.one_in(30) {
            let replayed = replay(&self.memory.events[run]).unwrap();
            assert_eq!(replayed, Skeleton::of(&self.memory, run).unwrap());
        }
    }
}

/// The name of a variant, as it is kept.
fn named(value: &impl serde::Serialize, tag: &str) -> String {
    json!(value)[tag].as_str().unwrap_or_default().to_owned()
}
