//! Invariants of every run, whatever goes wrong: written as rules of their own, independent of the
//! engine.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use flow::engine::{
    EngineAction, EngineCommand, HoldKind, ItemStatus, PauseCause, RunStatus, StatusMove, TaskRow,
    TaskStatus, TimerPurpose, WorkflowTaskKind,
};
use flow::{ItemPath, MemoryRows, RunId, RunSkeleton, StepId, TaskId, TextHash, Workflow, replay};
use serde_json::json;

use crate::chance::Chance;

/// The moves there are between the statuses of a task, and no others.
const MOVES: [(TaskStatus, &[TaskStatus]); 4] = [
    (
        TaskStatus::Pending,
        &[TaskStatus::InProgress, TaskStatus::Cancelled],
    ),
    (
        TaskStatus::InProgress,
        &[
            TaskStatus::Completed,
            TaskStatus::Failed,
            TaskStatus::OnHold,
            TaskStatus::Pending,
            TaskStatus::Cancelled,
        ],
    ),
    (
        TaskStatus::Waiting,
        &[
            TaskStatus::Completed,
            TaskStatus::Failed,
            TaskStatus::OnHold,
            TaskStatus::Pending,
            TaskStatus::Cancelled,
        ],
    ),
    (
        TaskStatus::OnHold,
        &[
            TaskStatus::InProgress,
            TaskStatus::Pending,
            TaskStatus::Waiting,
            TaskStatus::Cancelled,
        ],
    ),
];

#[derive(Default)]
pub(crate) struct Law {
    /// The statuses of all tasks, as their moves say it.
    statuses: HashMap<TaskId, TaskStatus>,
    /// The number of times an item has ended, minus the times it was reopened.
    ended: BTreeMap<(TaskId, u32), i32>,
    /// The foreach steps that were joined.
    joined: HashSet<TaskId>,
    /// For each step the steps it may lead to.
    ways: HashMap<TextHash, HashMap<StepId, HashSet<StepId>>>,
    /// The waits that a signal ends.
    signalled: HashSet<StepId>,
    /// For each rate limit, when tasks began that it still counts.
    begun: BTreeMap<String, Vec<u64>>,
}

impl Law {
    pub(crate) fn of(workflows: [&Arc<Workflow>; 3]) -> Law {
        let ways = workflows.map(|workflow| {
            let steps = workflow.steps().iter();
            let ways = steps.map(|step| (step.id.clone(), onward(workflow, &step.id)));
            (workflow.hash().clone(), ways.collect())
        });
        let steps = workflows.iter().flat_map(|workflow| workflow.steps());
        let signalled = steps.filter(|step| step.config.signal.is_some());
        Law {
            signalled: signalled.map(|step| step.id.clone()).collect(),
            ways: ways.into(),
            ..Law::default()
        }
    }

    /// The kinds of what was decided.
    pub(crate) fn kinds(&self, actions: &[EngineAction]) -> Vec<String> {
        let kinds = actions.iter().filter_map(|action| match action {
            EngineAction::MoveTask { by, .. } => Some(format!("{by:?}")),
            EngineAction::CreateTask(task) => {
                let hold = task.hold.as_ref()?;
                Some(format!("hold {:?}", hold.kind))
            }
            EngineAction::Append(event) => Some(
                json!(event.what)["what"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            ),
            EngineAction::SetTask { change, .. } => {
                let hold = change.hold.as_ref()?.as_ref()?;
                Some(format!("hold {:?}", hold.kind))
            }
            _ => None,
        });
        kinds.collect()
    }

    /// Checks that a decision never creates a task twice, makes an impossible transition, ends an
    /// item twice, or joins a foreach twice.
    pub(crate) fn watch(&mut self, command: &EngineCommand, actions: &[EngineAction]) {
        for action in actions {
            match action {
                EngineAction::CreateTask(task) => {
                    let old = self.statuses.insert(task.id.clone(), task.begin.status());
                    assert!(old.is_none(), "{} is created twice", task.id);
                    if let (WorkflowTaskKind::Join, Some(from)) = (task.kind, &task.from) {
                        let new = self.joined.insert(from.clone());
                        let again = matches!(command, EngineCommand::Rerun { .. });
                        assert!(new || again, "{from} is joined twice");
                    }
                }
                EngineAction::MoveTask { task, by } => {
                    let status = self
                        .statuses
                        .get_mut(task)
                        .expect("a task that was created");
                    let row = MOVES.iter().find(|(from, _)| from == status);
                    let to = row.map_or(&[][..], |(_, to)| to);
                    assert!(to.contains(&by.to()), "{task}: {status:?} by {by:?}");
                    *status = by.to();
                }
                EngineAction::EndItem { group, index, .. } => {
                    let ended = self.ended.entry((group.clone(), *index)).or_default();
                    *ended += 1;
                    assert!(*ended <= 1, "item {index} of {group} ended twice");
                }
                EngineAction::ContinueGroup { items, .. } => {
                    let ended = items.iter().filter(|item| item.status.is_terminal());
                    let ended = ended.map(|item| ((item.group.clone(), item.index), 1));
                    self.ended.extend(ended);
                }
                EngineAction::ReopenItem { group, index } => {
                    *self.ended.entry((group.clone(), *index)).or_default() -= 1;
                }
                _ => {}
            }
        }
    }

    /// No more tasks begin within the span of a rate limit than it allows. Every task that a worker claims here
    /// asks a model, so each limit counts all of them.
    pub(crate) fn begin(&mut self, command: &EngineCommand, actions: &[EngineAction], now_ms: u64) {
        let EngineCommand::Claim { rates, .. } = command else {
            return;
        };
        let is_claim = |action: &EngineAction| {
            let by = match action {
                EngineAction::MoveTask { by, .. } => Some(*by),
                _ => None,
            };
            by == Some(StatusMove::Claim)
        };
        if !actions.iter().any(is_claim) {
            return;
        }
        for rate in rates {
            let begun = self.begun.entry(rate.name.clone()).or_default();
            // A clock that goes back makes nothing count again.
            begun.retain(|at_ms| at_ms + rate.per_ms > now_ms);
            assert!(
                begun.len() < rate.max as usize,
                "{rate:?} lets {command:?} begin beside {begun:?}"
            );
            begun.push(now_ms);
        }
    }

    /// A foreach gives what its items gave, each once and in their order.
    pub(crate) fn gathered(
        &self,
        memory: &MemoryRows,
        command: &EngineCommand,
        actions: &[EngineAction],
    ) {
        if matches!(command, EngineCommand::Answer { .. }) {
            return;
        }
        let finished = actions.iter().filter_map(|action| match action {
            EngineAction::MoveTask {
                task,
                by: StatusMove::Finish,
            } => memory.tasks.get(task),
            _ => None,
        });
        for task in finished.filter(|task| task.kind == WorkflowTaskKind::Foreach) {
            let items = memory.items.values().filter(|item| item.group == task.id);
            let (mut results, mut failed) = (Vec::new(), Vec::new());
            for item in items {
                let result = item.result.as_ref().map(|result| &memory.tasks[result]);
                match item.status {
                    ItemStatus::Succeeded => results.push(match result {
                        Some(result) => result.output.clone().unwrap_or_default(),
                        None => item.value.clone(),
                    }),
                    ItemStatus::Failed => failed.push(json!(item.index)),
                    _ => {}
                }
            }
            let output = task.output.clone().unwrap_or_default();
            assert_eq!(output["results"], json!(results), "{}", task.id);
            let named = output["failed"].as_array().into_iter().flatten();
            let named: Vec<_> = named.map(|failed| failed["index"].clone()).collect();
            assert_eq!(named, failed, "{}", task.id);
        }
    }

    /// Checks the invariants after every transaction.
    pub(crate) fn hold_together(&self, memory: &MemoryRows, run: &RunId, chance: &mut Chance) {
        let Some(row) = memory.runs.get(run) else {
            return;
        };
        let active: Vec<&TaskRow> = tasks_of(memory, run)
            .filter(|task| !task.status.is_terminal())
            .collect();
        assert_eq!(row.active as usize, active.len(), "{run} counts wrong");
        let overdue = active.iter().filter(|task| task.is_overdue()).count();
        assert_eq!(
            row.overdue as usize, overdue,
            "{run} counts what is overdue wrong"
        );
        match row.status {
            RunStatus::Running => {
                assert!(!active.is_empty(), "{run} runs and has nothing to do");
                assert!(row.pause.is_none() && row.reason.is_none(), "{run}");
                let is_stuck = |task: &&TaskRow| {
                    task.is_overdue()
                        || matches!(
                            task.kind,
                            WorkflowTaskKind::Foreach | WorkflowTaskKind::Join
                        ) && task.status == TaskStatus::Waiting
                };
                assert!(
                    !active.iter().all(is_stuck),
                    "{run} is stuck and not paused"
                );
            }
            RunStatus::Paused => {
                assert!(row.reason.is_some(), "{run} is paused for no reason");
                if let Some(PauseCause::Task(by)) = &row.pause {
                    assert_eq!(memory.tasks[by].status, TaskStatus::OnHold, "{by}");
                }
            }
            _ => assert!(active.is_empty(), "{run} ended too early"),
        }
        if let Some(parent) = row.parent.as_ref().filter(|_| !row.status.is_terminal()) {
            let above = &memory.tasks[parent];
            let is_held = above
                .hold
                .as_ref()
                .is_some_and(|hold| hold.kind == HoldKind::Child);
            let waits = above.status == TaskStatus::Waiting
                || (above.status == TaskStatus::OnHold && is_held);
            let told = memory
                .timers
                .contains_key(&(run.clone(), "cancel".to_owned()));
            assert!(waits || told, "{run} runs for nobody");
        }
        held_room(memory);
        counted_rates(memory);
        for task in &active {
            self.explained(memory, task, &active);
            wanted(memory, task);
        }
        if chance.one_in(8) {
            counted(memory, run);
        }
        if chance.one_in(30) {
            let replayed = replay(&memory.events[run]).unwrap();
            assert_eq!(replayed, RunSkeleton::of(memory, run).unwrap());
        }
    }

    /// Every task that has not ended waits for something that can still happen.
    fn explained(&self, memory: &MemoryRows, task: &TaskRow, active: &[&TaskRow]) {
        let id = &task.id;
        let leased = task.status == TaskStatus::InProgress;
        assert_eq!(task.lease.is_some(), leased, "{id}: {:?}", task.lease);
        match (task.status, task.kind) {
            (TaskStatus::OnHold, _) => assert!(task.hold.is_some(), "{id} is on hold for nothing"),
            (TaskStatus::Waiting, WorkflowTaskKind::Foreach) => {
                let group = &memory.groups[id];
                assert!(group.running > 0 && !group.closed, "{id}: {group:?}");
            }
            (TaskStatus::Waiting, WorkflowTaskKind::Join) => {
                assert!(task.from.is_none(), "{id} waits for a foreach that is over");
                let ways = &self.ways[&memory.runs[&id.run].workflow];
                let comes = active.iter().any(|other| {
                    other.id != *id
                        && other.id.path == id.path
                        && ways[&other.id.step].contains(&id.step)
                });
                assert!(comes, "{id} waits for nobody");
            }
            (TaskStatus::Waiting, WorkflowTaskKind::Subflow) => {
                let child = RunId::child_of(id, task.fence);
                let lives = memory.runs.get(&child);
                let lives = lives.is_some_and(|run| !run.status.is_terminal());
                let due = memory.timers.values().any(|timer| match &timer.due {
                    TimerPurpose::StartChild { child } => child.parent == *id,
                    TimerPurpose::ChildEnded { child: ended, .. } => *ended == child,
                    _ => false,
                });
                assert!(lives || due, "{id} waits for a run that is not");
            }
            (TaskStatus::Waiting, WorkflowTaskKind::Wait) => {
                let key = (id.run.clone(), format!("wake:{id}"));
                let ends = memory.timers.contains_key(&key) || self.signalled.contains(&id.step);
                assert!(ends, "{id} waits for nothing");
            }
            (TaskStatus::Waiting, WorkflowTaskKind::Work) => panic!("{id} works and waits"),
            _ => {}
        }
    }

    /// Checks the invariants when everything has ended.
    pub(crate) fn look_back(&self, memory: &MemoryRows) {
        for (run, row) in &memory.runs {
            let replayed = replay(&memory.events[run]).unwrap();
            assert_eq!(replayed, RunSkeleton::of(memory, run).unwrap());
            assert_eq!(row.active, 0, "{run}");
            counted(memory, run);
        }
        for (task, row) in &memory.tasks {
            assert_eq!(self.statuses.get(task), Some(&row.status), "{task}");
        }
        for (group, row) in &memory.groups {
            let task = &memory.tasks[group];
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
}

/// Checks that after the end of a foreach only tasks in progress are left of its items.
fn wanted(memory: &MemoryRows, task: &TaskRow) {
    let mut at = task.id.clone();
    while let Some((group, _)) = at.group() {
        let over = memory.groups[&group].closed || memory.tasks[&group].status.is_terminal();
        let working = task.status == TaskStatus::InProgress;
        assert!(!over || working, "{} is left over", task.id);
        at = group;
    }
}

/// Checks that the counters of foreach steps and items are right, and that every timer has an
/// owner.
fn counted(memory: &MemoryRows, run: &RunId) {
    for group in memory.groups.values().filter(|group| group.id.run == *run) {
        let items: Vec<_> = memory
            .items
            .values()
            .filter(|item| item.group == group.id)
            .collect();
        assert_eq!(items.len(), group.total as usize, "{group:?}");
        let count = |status: ItemStatus| items.iter().filter(|i| i.status == status).count();
        let counted = [
            (group.running, ItemStatus::Running),
            (group.succeeded, ItemStatus::Succeeded),
            (group.failed, ItemStatus::Failed),
        ];
        for (counter, status) in counted {
            assert_eq!(counter as usize, count(status), "{status:?} of {group:?}");
        }
        for item in items {
            let path = group.id.path.item(&group.id, item.index);
            let active = tasks_of(memory, run)
                .filter(|task| task.id.path == path && !task.status.is_terminal());
            assert_eq!(item.active as usize, active.count(), "{item:?}");
        }
    }
    for timer in memory.timers.values().filter(|timer| timer.run == *run) {
        if let TimerPurpose::Timeout { task }
        | TimerPurpose::Remind { task }
        | TimerPurpose::Wake { task } = &timer.due
        {
            let status = memory.tasks[task].status;
            assert!(!status.is_terminal(), "{} is over and timed", task);
        }
    }
}

fn tasks_of<'m>(
    memory: &'m MemoryRows,
    run: &RunId,
) -> impl Iterator<Item = &'m TaskRow> + use<'m> {
    let run = run.clone();
    let first = TaskId {
        run: run.clone(),
        path: ItemPath::default(),
        step: "".into(),
        visit: 0,
    };
    let tasks = memory.tasks.range(first..).map(|(_, task)| &**task);
    tasks.take_while(move |task: &&TaskRow| task.id.run == run)
}

fn onward(workflow: &Workflow, from: &StepId) -> HashSet<StepId> {
    let mut found = HashSet::new();
    let mut open = vec![from.clone()];
    while let Some(step) = open.pop() {
        for edge in workflow.outgoing(&step) {
            if found.insert(edge.to.clone()) {
                open.push(edge.to.clone());
            }
        }
    }
    found
}

/// Room is held by tasks in a worker's hands, by each that needs it, and by no more than may.
fn held_room(memory: &MemoryRows) {
    let mut held: BTreeMap<&str, usize> = BTreeMap::new();
    for row in memory.tasks.values() {
        let Some(wish) = row.slot.as_deref() else {
            continue;
        };
        let slot = memory.slots.get(&(wish.key.clone(), row.id.to_string()));
        let is_claimed = row.status == TaskStatus::InProgress && row.lease.is_some();
        assert!(
            slot.is_some() || !is_claimed,
            "{} works without room",
            row.id
        );
        assert!(
            slot.is_none() || row.status == TaskStatus::InProgress,
            "{} keeps its room",
            row.id
        );
        if slot.is_some() {
            *held.entry(&wish.key).or_default() += 1;
        }
    }
    assert!(held.values().all(|count| *count <= 2), "{held:?}");
    let rooms = memory.slots.keys();
    let rooms = rooms.filter(|(key, _)| !key.starts_with("rate:"));
    assert_eq!(held.values().sum::<usize>(), rooms.count());
}

/// Begun tasks are forgotten when their span is over: no limit keeps more rows than tasks it allows.
fn counted_rates(memory: &MemoryRows) {
    let mut begun: BTreeMap<&str, (usize, u32)> = BTreeMap::new();
    for row in memory.slots.values() {
        if row.key.starts_with("rate:") {
            let counted = begun.entry(&row.key).or_insert((0, row.max));
            counted.0 += 1;
        }
    }
    let over = begun.iter().find(|(_, (rows, max))| *rows > *max as usize);
    assert!(over.is_none(), "{over:?}");
}
