//! What must hold of every run, whatever goes wrong: told by rules of its own, not by the engine's.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use flow::engine::{
    Action, Command, Due, HoldKind, ItemStatus, Move, Pause, RunStatus, TaskKind, TaskRow,
    TaskStatus,
};
use flow::{Memory, Path, RunId, Skeleton, StepId, TaskId, TextHash, Workflow, replay};
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
    /// How often an item has ended; reopening it takes one away.
    ended: BTreeMap<(TaskId, u32), i32>,
    /// The foreach steps that were joined.
    joined: HashSet<TaskId>,
    /// For each step the steps it may lead to.
    ways: HashMap<TextHash, HashMap<StepId, HashSet<StepId>>>,
    /// The waits that a signal ends.
    signalled: HashSet<StepId>,
}

impl Law {
    pub(crate) fn of(workflows: [&Arc<Workflow>; 2]) -> Law {
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
    pub(crate) fn kinds(&self, actions: &[Action]) -> Vec<String> {
        let kinds = actions.iter().filter_map(|action| match action {
            Action::MoveTask { by, .. } => Some(format!("{by:?}")),
            Action::CreateTask(task) => {
                let hold = task.hold.as_ref()?;
                Some(format!("hold {:?}", hold.kind))
            }
            Action::Append(event) => Some(
                json!(event.what)["what"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            ),
            Action::SetTask { change, .. } => {
                let hold = change.hold.as_ref()?.as_ref()?;
                Some(format!("hold {:?}", hold.kind))
            }
            _ => None,
        });
        kinds.collect()
    }

    /// What must never be decided: a step execution twice, a move that is none, an item that ends
    /// twice, a foreach that is joined twice.
    pub(crate) fn watch(&mut self, command: &Command, actions: &[Action]) {
        for action in actions {
            match action {
                Action::CreateTask(task) => {
                    let old = self.statuses.insert(task.id.clone(), task.begin.status());
                    assert!(old.is_none(), "{} is created twice", task.id);
                    if let (TaskKind::Join, Some(from)) = (task.kind, &task.from) {
                        let new = self.joined.insert(from.clone());
                        let again = matches!(command, Command::Rerun { .. });
                        assert!(new || again, "{from} is joined twice");
                    }
                }
                Action::MoveTask { task, by } => {
                    let status = self
                        .statuses
                        .get_mut(task)
                        .expect("a task that was created");
                    let row = MOVES.iter().find(|(from, _)| from == status);
                    let to = row.map_or(&[][..], |(_, to)| to);
                    assert!(to.contains(&by.to()), "{task}: {status:?} by {by:?}");
                    *status = by.to();
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

    /// A foreach gives what its items gave, each once and in their order.
    pub(crate) fn gathered(&self, memory: &Memory, command: &Command, actions: &[Action]) {
        if matches!(command, Command::Answer { .. }) {
            return;
        }
        let finished = actions.iter().filter_map(|action| match action {
            Action::MoveTask {
                task,
                by: Move::Finish,
            } => memory.tasks.get(task),
            _ => None,
        });
        for task in finished.filter(|task| task.kind == TaskKind::Foreach) {
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

    /// What is true of a run after every transaction.
    pub(crate) fn hold_together(&self, memory: &Memory, run: &RunId, chance: &mut Chance) {
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
                        || matches!(task.kind, TaskKind::Foreach | TaskKind::Join)
                            && task.status == TaskStatus::Waiting
                };
                assert!(
                    !active.iter().all(is_stuck),
                    "{run} is stuck and not paused"
                );
            }
            RunStatus::Paused => {
                assert!(row.reason.is_some(), "{run} is paused for no reason");
                if let Some(Pause::Task(by)) = &row.pause {
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
        for task in &active {
            self.explained(memory, task, &active);
            wanted(memory, task);
        }
        if chance.one_in(8) {
            counted(memory, run);
        }
        if chance.one_in(30) {
            let replayed = replay(&memory.events[run]).unwrap();
            assert_eq!(replayed, Skeleton::of(memory, run).unwrap());
        }
    }

    /// Every task that has not ended waits for something that can still happen.
    fn explained(&self, memory: &Memory, task: &TaskRow, active: &[&TaskRow]) {
        let id = &task.id;
        let leased = task.status == TaskStatus::InProgress;
        assert_eq!(task.lease.is_some(), leased, "{id}: {:?}", task.lease);
        match (task.status, task.kind) {
            (TaskStatus::OnHold, _) => assert!(task.hold.is_some(), "{id} is on hold for nothing"),
            (TaskStatus::Waiting, TaskKind::Foreach) => {
                let group = &memory.groups[id];
                assert!(group.running > 0 && !group.closed, "{id}: {group:?}");
            }
            (TaskStatus::Waiting, TaskKind::Join) => {
                assert!(task.from.is_none(), "{id} waits for a foreach that is over");
                let ways = &self.ways[&memory.runs[&id.run].workflow];
                let comes = active.iter().any(|other| {
                    other.id != *id
                        && other.id.path == id.path
                        && ways[&other.id.step].contains(&id.step)
                });
                assert!(comes, "{id} waits for nobody");
            }
            (TaskStatus::Waiting, TaskKind::Subflow) => {
                let child = RunId::child_of(id, task.fence);
                let lives = memory.runs.get(&child);
                let lives = lives.is_some_and(|run| !run.status.is_terminal());
                let due = memory.timers.values().any(|timer| match &timer.due {
                    Due::StartChild { child } => child.parent == *id,
                    Due::ChildEnded { child: ended, .. } => *ended == child,
                    _ => false,
                });
                assert!(lives || due, "{id} waits for a run that is not");
            }
            (TaskStatus::Waiting, TaskKind::Wait) => {
                let key = (id.run.clone(), format!("wake:{id}"));
                let ends = memory.timers.contains_key(&key) || self.signalled.contains(&id.step);
                assert!(ends, "{id} waits for nothing");
            }
            (TaskStatus::Waiting, TaskKind::Work) => panic!("{id} works and waits"),
            _ => {}
        }
    }

    /// What is true when everything has ended.
    pub(crate) fn look_back(&self, memory: &Memory) {
        for (run, row) in &memory.runs {
            let replayed = replay(&memory.events[run]).unwrap();
            assert_eq!(replayed, Skeleton::of(memory, run).unwrap());
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

/// Where a foreach is over, nothing is left of its items but what somebody is still working on.
fn wanted(memory: &Memory, task: &TaskRow) {
    let mut at = task.id.clone();
    while let Some((group, _)) = at.group() {
        let over = memory.groups[&group].closed || memory.tasks[&group].status.is_terminal();
        let working = task.status == TaskStatus::InProgress;
        assert!(!over || working, "{} is left over", task.id);
        at = group;
    }
}

/// The counters of a run's foreach steps and items are what they count, and its timers are somebody's.
fn counted(memory: &Memory, run: &RunId) {
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
        if let Due::Timeout { task } | Due::Remind { task } | Due::Wake { task } = &timer.due {
            let status = memory.tasks[task].status;
            assert!(!status.is_terminal(), "{} is over and timed", task);
        }
    }
}

fn tasks_of<'m>(memory: &'m Memory, run: &RunId) -> impl Iterator<Item = &'m TaskRow> + use<'m> {
    let run = run.clone();
    let first = TaskId {
        run: run.clone(),
        path: Path::default(),
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
