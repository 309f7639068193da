//! The world a run lives in: a store, those who work with it, a clock, and what goes wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flow::engine::{
    AttemptOutcome, CommandRefusal, DecisionStop, EngineCommand, EngineDecision, RefusalKind,
    RowCache, RunStart, RunStatus, TaskStatus, TimerPurpose, decide,
};
use flow::{
    CheckSurroundings, MemoryRows, RateLimit, RateScope, RunId, StepHandler, TaskId, TextHash,
    Workflow,
};
use serde_json::json;

use crate::actors::Actor;
use crate::chance::Chance;
use crate::desks::{Desk, told};
use crate::law::Law;

const CHILD: &str = "graph TD\n a[Work] --> b{ok?}\n b -->|\"output.a\"| c[More]\n b -->|default| d[Other]\n c --> e[[Each: x]]\n e --> f[Join]\n%% === WORKFLOW_CONFIG ===\n%% @e: { \"itemsPath\": \"output.list\", \"prompt\": \"x\" }\n%% === END_CONFIG ===\n";
pub(crate) const LEASE_MS: u64 = 10_000;
/// A run with more tasks is not waited for.
const TASKS_MAX: usize = 600;
/// After so many steps of a world in order, every run has ended.
const STEPS_TO_THE_END: usize = 20_000;
/// One of so many commits is lost, and one of so many answers.
const LOST_ONE_IN: u64 = 50;

/// The outcome of a command.
pub(crate) enum Answered {
    Committed,
    Refused(CommandRefusal),
    /// The sender never learns the outcome: its process died before the commit or after it.
    Lost {
        committed: bool,
    },
}

pub(crate) struct World {
    pub(crate) chance: Chance,
    pub(crate) memory: MemoryRows,
    pub(crate) desks: [Desk; 3],
    /// Most of what happens, the desks do.
    is_quiet: bool,
    pub(crate) by_hash: BTreeMap<TextHash, Arc<Workflow>>,
    pub(crate) main: Arc<Workflow>,
    pub(crate) child: Arc<Workflow>,
    pub(crate) other: Arc<Workflow>,
    pub(crate) now_ms: u64,
    /// How fast tasks may begin; every worker has the same settings.
    pub(crate) rates: Vec<RateLimit>,
    pub(crate) actors: Vec<Actor>,
    /// The number of deliveries of each notice, and whether its reader knows.
    pub(crate) told: BTreeMap<usize, u32>,
    pub(crate) acknowledged: BTreeSet<usize>,
    /// Nothing goes wrong any more.
    calm: bool,
    commits: u64,
    pub(crate) law: Law,
    /// The kinds of things that have happened.
    pub(crate) met: BTreeSet<String>,
}

impl World {
    pub(crate) fn new(source: &str, chance: Chance) -> World {
        let main = flow::parse(source).unwrap_or_else(|e| panic!("{}", e.report("drawn", source)));
        let problems = flow::check(&main, &CheckSurroundings::default());
        assert!(flow::is_fine(&problems), "{problems:?}");
        let (main, child) = (Arc::new(main), Arc::new(flow::parse(CHILD).unwrap()));
        // The same steps in another text, which runs can be moved to.
        let other = Arc::new(flow::parse(&format!("{source}%% other\n")).unwrap());
        let by_hash = [&main, &child, &other]
            .map(|w| (w.hash().clone(), w.clone()))
            .into();
        let mut world = World {
            chance,
            memory: MemoryRows::new(),
            desks: Default::default(),
            is_quiet: false,
            law: Law::of([&main, &child, &other]),
            other,
            by_hash,
            main,
            child,
            now_ms: 1_000_000,
            rates: Vec::new(),
            actors: Actor::all(),
            told: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            calm: true,
            commits: 0,
            met: BTreeSet::new(),
        };
        let workflow = world.main.clone();
        let start = EngineCommand::Start(RunStart::new("r", json!({ "list": [1, 2] })));
        assert!(matches!(
            world.send_in(&workflow, &start),
            Answered::Committed
        ));
        world.calm = false;
        world.is_quiet = world.chance.one_in(3);
        world.rates = rates(&mut world.chance);
        world
    }

    /// Lets one thing happen, or go wrong. Actors take one step at a time, with the state they saw
    /// before; anything may have happened since.
    pub(crate) fn trouble(&mut self) {
        if self.is_quiet && !self.chance.one_in(12) {
            return self.grouped();
        }
        match self.chance.up_to(40) {
            0..=23 => self.act(),
            24 => self.kill(),
            25..=27 => self.tick(),
            28..=30 => self.person(),
            31..=35 => self.grouped(),
            36 => self.stall(),
            37 => self.forget_a_decision(),
            _ => self.steer(),
        }
    }

    /// From now on nothing goes wrong, and every worker does its work: every run must end.
    pub(crate) fn come_to_an_end(&mut self) {
        self.calm = true;
        self.actors = Actor::all();
        for _ in 0..STEPS_TO_THE_END {
            let mut runs = self.memory.runs.values();
            if runs.all(|run| run.status.is_terminal()) {
                return self.look_back();
            }
            if self.memory.tasks.len() > TASKS_MAX {
                return self.cancel_all();
            }
            if let Some(task) = self.memory.ready(self.now_ms, 1).into_iter().next() {
                if let Some(held) = self.claim(task) {
                    let outcome = self.good();
                    self.report(&held, outcome).expect("what is held is taken");
                    continue;
                }
                assert!(!self.rates.is_empty(), "what is ready can be claimed");
            }
            let before = self.commits;
            self.tend_all();
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
            self.execute(&EngineCommand::Cancel { run, reason })
                .unwrap();
            self.tend_all();
        }
        self.look_back();
    }

    fn look_back(&mut self) {
        self.hand_on_all();
        for notice in 0..self.memory.outbox.len() {
            assert!(self.told.contains_key(&notice), "a notice was never told");
        }
        self.law.look_back(&self.memory);
    }

    fn tend_all(&mut self) {
        for (task, fence) in self.memory.expired(self.now_ms) {
            let _ = self.lease_lost(task, fence);
        }
        for timer in self.memory.due(self.now_ms) {
            if let TimerPurpose::StartChild { child } = &timer.due {
                self.start_child(child);
            }
            self.fire(&timer);
        }
    }

    fn resume_all(&mut self) {
        let runs: Vec<RunId> = self.memory.runs.keys().cloned().collect();
        for run in runs {
            if self.memory.runs[&run].status == RunStatus::Paused {
                self.execute(&EngineCommand::Resume { run }).unwrap();
            }
        }
    }

    fn tick(&mut self) {
        match self.chance.up_to(20) {
            0 => self.now_ms += 1_000_000,
            1 => self.now_ms -= self.chance.up_to(20_000),
            2 => self.now_ms += LEASE_MS,
            _ => self.now_ms += self.chance.up_to(4_000),
        }
    }

    // The store.

    /// Something is decided, and the process dies before it is committed.
    fn forget_a_decision(&mut self) {
        let Some(task) = self.memory.ready(self.now_ms, 1).into_iter().next() else {
            return;
        };
        let command = EngineCommand::Claim {
            task,
            worker: "dying".to_owned(),
            lease_ms: LEASE_MS,
            rates: self.rates.clone(),
        };
        let before = self.memory.clone();
        let workflow = self.workflow_of(&command);
        let _ = decide(&workflow, &mut self.memory, &command, self.now_ms);
        assert!(self.memory == before, "deciding changed something");
    }

    pub(crate) fn workflow_of(&self, command: &EngineCommand) -> Arc<Workflow> {
        let run = self.memory.runs.get(command.run());
        let hash = match command {
            EngineCommand::Move { to, .. } => Some(to),
            _ => run.map(|run| &run.workflow),
        };
        let workflow = hash.and_then(|hash| self.by_hash.get(hash));
        workflow.unwrap_or(&self.main).clone()
    }

    pub(crate) fn send(&mut self, command: &EngineCommand) -> Answered {
        let workflow = self.workflow_of(command);
        self.send_in(&workflow, command)
    }

    /// The same for those who ask until they get an answer, and do not mind being told of what they
    /// did already.
    pub(crate) fn execute(&mut self, command: &EngineCommand) -> Result<(), CommandRefusal> {
        loop {
            match self.send(command) {
                Answered::Committed | Answered::Lost { committed: true } => return Ok(()),
                Answered::Refused(refusal) => return Err(refusal),
                Answered::Lost { committed: false } => {}
            }
        }
    }

    pub(crate) fn send_in(&mut self, workflow: &Workflow, command: &EngineCommand) -> Answered {
        let before = match self.chance.one_in(40) {
            true => Some(self.memory.clone()),
            false => None,
        };
        let decision = match decide(workflow, &mut self.memory, command, self.now_ms) {
            Ok(decision) => decision,
            Err(DecisionStop::Refused(refusal)) => {
                assert_ne!(refusal.kind, RefusalKind::Broken, "{command:?}: {refusal}");
                return Answered::Refused(refusal);
            }
            Err(DecisionStop::Rows(never)) => match never {},
        };
        if let Some(before) = before {
            self.same_through_a_batch(&before, workflow, command, &decision);
        }
        if !self.calm && self.chance.one_in(LOST_ONE_IN) {
            return Answered::Lost { committed: false };
        }
        self.law.watch(command, &decision.actions);
        self.law.begin(command, &decision.actions, self.now_ms);
        self.met.extend(self.law.kinds(&decision.actions));
        self.memory.commit(decision.changes.clone());
        self.commits += 1;
        self.law
            .hold_together(&self.memory, command.run(), &mut self.chance);
        self.law.gathered(&self.memory, command, &decision.actions);
        match !self.calm && self.chance.one_in(LOST_ONE_IN) {
            true => Answered::Lost { committed: true },
            false => Answered::Committed,
        }
    }

    fn same_through_a_batch(
        &self,
        before: &MemoryRows,
        workflow: &Workflow,
        command: &EngineCommand,
        expected: &EngineDecision,
    ) {
        let mut memory = before.clone();
        let mut batch = RowCache::new();
        let decision = loop {
            match decide(workflow, &mut batch, command, self.now_ms) {
                Ok(decision) => break decision,
                Err(DecisionStop::Rows(lookup)) => memory.teach(&mut batch, lookup),
                Err(DecisionStop::Refused(refusal)) => panic!("{refusal}"),
            }
        };
        assert_eq!(
            decision.actions, expected.actions,
            "a batch decides otherwise"
        );
        batch.commit(decision);
        let mut changes = told(&batch.changes());
        changes.timers.sort_by(|a, b| a.0.cmp(&b.0));
        let mut wanted = told(&expected.changes);
        wanted.timers.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(changes, wanted, "a batch changes otherwise");
    }

    /// Something well done.
    pub(crate) fn good(&mut self) -> AttemptOutcome {
        let most = if self.chance.one_in(4) { 8 } else { 3 };
        let list: Vec<u64> = (0..self.chance.up_to(most)).collect();
        let output =
            json!({ "a": self.chance.one_in(4), "n": self.chance.up_to(10), "list": list });
        let partial = self.chance.one_in(10);
        AttemptOutcome::Completed { output, partial }
    }

    /// Returns a random task of any run, in any state.
    pub(crate) fn any_task(&mut self) -> Option<TaskId> {
        let tasks: Vec<TaskId> = self.memory.tasks.keys().cloned().collect();
        self.chance.pick(&tasks).cloned()
    }
}

/// In every third world tasks may only begin so fast: those of a handler, those that ask a model, or both.
fn rates(chance: &mut Chance) -> Vec<RateLimit> {
    let scopes = [
        RateScope::Handler(StepHandler::AiInteraction),
        RateScope::Model {
            name: "large".to_owned(),
            handlers: vec![StepHandler::AiInteraction],
        },
    ];
    let mut rates = Vec::new();
    if !chance.one_in(3) {
        return rates;
    }
    for (number, scope) in scopes.into_iter().enumerate() {
        if number == 0 || chance.one_in(3) {
            rates.push(RateLimit {
                name: format!("limit {number}"),
                scope,
                max: 1 + u32::try_from(chance.up_to(3)).unwrap(),
                per_ms: 500 + chance.up_to(4_000),
            });
        }
    }
    rates
}
