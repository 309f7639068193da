//! The progress of a run, step by step, from its events.

use std::collections::{BTreeSet, HashMap, VecDeque};

use flow::engine::{EventKind, ItemStatus, RunEvent, RunStatus, TaskStatus, WorkflowTaskKind};
use flow::{ExecutionMode, ItemPath, RunId, StepId, TaskId, Workflow};
use mermaid::NodeStatus;

use super::describe::why;

/// How many of the last lines of a command are shown while it runs.
const PRINTED_MAX: usize = 3;

/// The progress of the steps of one run. Events of other runs, such as those it has started, do not
/// count.
#[derive(Debug)]
pub(crate) struct RunPicture {
    run: RunId,
    steps: HashMap<StepId, StepPicture>,
    /// The last visit of each step under a path.
    current: HashMap<(ItemPath, StepId), (u32, TaskStatus)>,
    /// The last visit of every foreach.
    groups: HashMap<(ItemPath, StepId), ForeachGroup>,
    /// Tasks that wait for a person.
    people: BTreeSet<TaskId>,
    pub(super) status: Option<RunStatus>,
    pub(super) begun_ms: Option<u64>,
    pub(super) ended_ms: Option<u64>,
}

/// The progress of one step.
#[derive(Debug, Default)]
pub(crate) struct StepPicture {
    counts: HashMap<TaskStatus, u32>,
    /// Number of visits outside of every foreach.
    pub(crate) visits: u32,
    pub(crate) items: Option<ForeachItems>,
    /// The current or last attempt.
    pub(crate) attempt: u32,
    pub(crate) begun_ms: Option<u64>,
    pub(crate) ended_ms: Option<u64>,
    /// Why it failed or is on hold.
    pub(crate) why: Option<String>,
    pub(crate) decided: Option<TakenEdge>,
    /// The last lines that its command has printed.
    pub(crate) printed: VecDeque<String>,
}

/// The items of a foreach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ForeachItems {
    pub(crate) total: u32,
    pub(crate) ended: u32,
    pub(crate) failed: u32,
}

/// One visit of a foreach.
#[derive(Debug)]
struct ForeachGroup {
    items: ForeachItems,
    failed: BTreeSet<u32>,
}

/// The edge that a decision took last.
#[derive(Debug)]
pub(crate) struct TakenEdge {
    pub(crate) to: StepId,
    pub(crate) why: String,
    pub(crate) times: u32,
}

impl RunPicture {
    pub(crate) fn new(run: RunId) -> Self {
        Self {
            run,
            steps: HashMap::new(),
            current: HashMap::new(),
            groups: HashMap::new(),
            people: BTreeSet::new(),
            status: None,
            begun_ms: None,
            ended_ms: None,
        }
    }

    pub(crate) fn of(run: &RunId, workflow: &Workflow, events: &[RunEvent]) -> Self {
        let mut picture = Self::new(run.clone());
        for event in events {
            picture.add(workflow, event);
        }
        picture
    }

    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    pub(crate) fn step(&self, step: &StepId) -> Option<&StepPicture> {
        self.steps.get(step)
    }

    /// Tasks of a step that wait for a person.
    pub(crate) fn people(&self, step: &StepId) -> impl Iterator<Item = &TaskId> {
        self.people.iter().filter(move |task| task.step == *step)
    }

    /// Counts the tasks of this status.
    pub(crate) fn count(&self, status: TaskStatus) -> u32 {
        self.steps.values().map(|step| step.count(status)).sum()
    }

    pub(crate) fn add(&mut self, workflow: &Workflow, event: &RunEvent) {
        if event.run != self.run {
            return;
        }
        match &event.what {
            EventKind::RunStarted { .. } => self.begin(event.at_ms),
            EventKind::RunResumed | EventKind::RunReopened { .. } => {
                self.status = Some(RunStatus::Running);
                self.ended_ms = None;
            }
            EventKind::RunPaused { .. } => self.status = Some(RunStatus::Paused),
            EventKind::RunEnded { status, .. } => {
                self.status = Some(*status);
                self.ended_ms = Some(event.at_ms);
            }
            EventKind::TaskCreated {
                task, kind, begin, ..
            } => {
                let step = workflow.step(&task.step);
                let is_manual = step.is_some_and(|step| step.execution == ExecutionMode::Manual)
                    && *kind == WorkflowTaskKind::Work;
                let is_held = begin.status() == TaskStatus::OnHold;
                if is_held || (is_manual && begin.status() == TaskStatus::Pending) {
                    self.people.insert(task.clone());
                }
                self.set(task, begin.status());
            }
            EventKind::TaskMoved {
                task,
                by,
                attempt,
                why,
                ..
            } => {
                self.people.remove(task);
                if by.to() == TaskStatus::OnHold {
                    self.people.insert(task.clone());
                }
                self.set(task, by.to());
                let step = self.steps.entry(task.step.clone()).or_default();
                step.moved(by.to(), event.at_ms);
                if by.to() == TaskStatus::InProgress && task.path.last().is_none() {
                    step.printed.clear();
                }
                step.attempt = *attempt;
                if matches!(
                    by.to(),
                    TaskStatus::Failed | TaskStatus::OnHold | TaskStatus::Pending
                ) {
                    step.why.clone_from(why);
                }
            }
            EventKind::Decided {
                decision,
                to,
                evaluated,
                ..
            } => self.decide(decision, to, why(evaluated)),
            EventKind::GroupOpened { group, total } => self.open(group, *total),
            EventKind::ItemEnded {
                group,
                index,
                status,
            } => self.end_item(group, *index, *status == ItemStatus::Failed),
            EventKind::ItemReopened { group, index } => self.reopen_item(group, *index),
            _ => {}
        }
    }

    /// Takes in a line that the command of a step has printed.
    pub(crate) fn print(&mut self, step: &StepId, line: String) {
        let step = self.steps.entry(step.clone()).or_default();
        if step.printed.len() >= PRINTED_MAX {
            step.printed.pop_front();
        }
        step.printed.push_back(line);
    }

    /// Returns the most urgent status of every step.
    pub(crate) fn statuses(&self) -> HashMap<String, NodeStatus> {
        let known = self.steps.iter();
        let known = known.filter_map(|(id, _)| Some((id.to_string(), self.status(id)?)));
        known.collect()
    }

    /// Returns the progress of a step, by its most urgent task; `None` if the run did not reach it.
    pub(crate) fn status(&self, step: &StepId) -> Option<NodeStatus> {
        let status = self.steps.get(step)?.status();
        match status {
            // It waits for a person, and not for its turn.
            Some(NodeStatus::Pending) if self.people(step).next().is_some() => {
                Some(NodeStatus::Waiting)
            }
            status => status,
        }
    }

    fn begin(&mut self, at_ms: u64) {
        self.status = Some(RunStatus::Running);
        self.begun_ms = Some(at_ms);
    }

    /// Opens the items of a foreach. Those of an earlier visit no longer count; those of the same
    /// foreach in other items do.
    fn open(&mut self, group: &TaskId, total: u32) {
        let key = (group.path.clone(), group.step.clone());
        let opened = ForeachGroup {
            items: ForeachItems {
                total,
                ..ForeachItems::default()
            },
            failed: BTreeSet::new(),
        };
        let before = self.groups.insert(key, opened);
        let before = before.map(|group| group.items).unwrap_or_default();
        let step = self.steps.entry(group.step.clone()).or_default();
        let items = step.items.get_or_insert_default();
        items.total = (items.total + total).saturating_sub(before.total);
        items.ended = items.ended.saturating_sub(before.ended);
        items.failed = items.failed.saturating_sub(before.failed);
    }

    fn end_item(&mut self, group: &TaskId, index: u32, has_failed: bool) {
        let key = (group.path.clone(), group.step.clone());
        let Some(known) = self.groups.get_mut(&key) else {
            return;
        };
        if has_failed {
            known.failed.insert(index);
        }
        let step = self.steps.entry(group.step.clone()).or_default();
        for items in [&mut known.items, step.items.get_or_insert_default()] {
            items.ended += 1;
            items.failed += u32::from(has_failed);
        }
    }

    fn reopen_item(&mut self, group: &TaskId, index: u32) {
        let key = (group.path.clone(), group.step.clone());
        let Some(known) = self.groups.get_mut(&key) else {
            return;
        };
        let had_failed = known.failed.remove(&index);
        let step = self.steps.entry(group.step.clone()).or_default();
        for items in [&mut known.items, step.items.get_or_insert_default()] {
            items.ended = items.ended.saturating_sub(1);
            items.failed = items.failed.saturating_sub(u32::from(had_failed));
        }
    }

    fn decide(&mut self, decision: &StepId, to: &StepId, why: String) {
        let step = self.steps.entry(decision.clone()).or_default();
        let times = step.decided.as_ref().map_or(0, |decided| decided.times) + 1;
        let to = to.clone();
        step.decided = Some(TakenEdge { to, why, times });
    }

    /// Sets the status of a task. The result of an earlier visit no longer counts.
    fn set(&mut self, task: &TaskId, status: TaskStatus) {
        let key = (task.path.clone(), task.step.clone());
        let before = self.current.get(&key).copied();
        if before.is_some_and(|(visit, _)| visit > task.visit) {
            return;
        }
        let step = self.steps.entry(task.step.clone()).or_default();
        if let Some((visit, status)) = before {
            if visit < task.visit {
                (step.begun_ms, step.ended_ms) = (None, None);
            }
            let count = step.counts.entry(status).or_default();
            *count = count.saturating_sub(1);
        }
        *step.counts.entry(status).or_default() += 1;
        if task.path.last().is_none() {
            step.visits = step.visits.max(task.visit);
        }
        self.current.insert(key, (task.visit, status));
    }
}

impl StepPicture {
    pub(crate) fn count(&self, status: TaskStatus) -> u32 {
        self.counts.get(&status).copied().unwrap_or(0)
    }

    fn status(&self) -> Option<NodeStatus> {
        let by_urgency = [
            (TaskStatus::OnHold, NodeStatus::Failed),
            (TaskStatus::InProgress, NodeStatus::Running),
            (TaskStatus::Waiting, NodeStatus::Waiting),
            (TaskStatus::Pending, NodeStatus::Pending),
            (TaskStatus::Failed, NodeStatus::Failed),
            (TaskStatus::Completed, NodeStatus::Done),
            (TaskStatus::Cancelled, NodeStatus::Skipped),
        ];
        let found = by_urgency
            .iter()
            .find(|(status, _)| self.count(*status) > 0);
        let decided = self.decided.as_ref().map(|_| NodeStatus::Done);
        found.map(|(_, status)| *status).or(decided)
    }

    fn moved(&mut self, to: TaskStatus, at_ms: u64) {
        if to == TaskStatus::InProgress {
            self.begun_ms.get_or_insert(at_ms);
        }
        if to.is_terminal() {
            self.ended_ms = Some(at_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use flow::engine::{InitialStatus, StatusMove};

    use super::*;

    const TEXT: &str = "graph TD\n A[[Each: Item]] --> J[Join] --> D{Again?}\n \
        D -->|\"output.more\"| A\n D -->|default| P(Person)\n";

    /// The picture after these events.
    fn picture(events: Vec<EventKind>) -> RunPicture {
        let workflow = flow::parse(TEXT).unwrap();
        let mut picture = RunPicture::new("r".into());
        for what in events {
            let event = RunEvent {
                run: "r".into(),
                seq: 0,
                at_ms: 0,
                what,
            };
            picture.add(&workflow, &event);
        }
        picture
    }

    fn task(name: &str) -> TaskId {
        name.parse().unwrap()
    }

    fn created(name: &str) -> EventKind {
        EventKind::TaskCreated {
            task: task(name),
            kind: WorkflowTaskKind::Work,
            begin: InitialStatus::Pending,
            from: None,
        }
    }

    fn moved(name: &str, by: StatusMove) -> EventKind {
        EventKind::TaskMoved {
            task: task(name),
            by,
            attempt: 1,
            why: None,
            class: None,
            spent: None,
            budget: None,
        }
    }

    fn ended(index: u32, status: ItemStatus) -> EventKind {
        let group = task("r/A");
        EventKind::ItemEnded {
            group,
            index,
            status,
        }
    }

    #[test]
    fn items_are_counted_for_the_last_visit_and_once_each() {
        let opened = |name: &str, total| EventKind::GroupOpened {
            group: task(name),
            total,
        };
        let first = vec![
            opened("r/A", 3),
            ended(0, ItemStatus::Succeeded),
            ended(1, ItemStatus::Failed),
        ];
        let items = |events| picture(events).step(&"A".into()).unwrap().items.unwrap();
        let counted = |total, ended, failed| ForeachItems {
            total,
            ended,
            failed,
        };
        assert_eq!(items(first.clone()), counted(3, 2, 1));
        let group = task("r/A");
        let reopened = [
            first.clone(),
            vec![EventKind::ItemReopened { group, index: 1 }],
        ]
        .concat();
        assert_eq!(items(reopened.clone()), counted(3, 1, 0));
        let again = [reopened, vec![ended(1, ItemStatus::Succeeded)]].concat();
        assert_eq!(items(again), counted(3, 2, 0));
        let visited = [first, vec![opened("r/A~2", 5)]].concat();
        assert_eq!(items(visited), counted(5, 0, 0));
    }

    #[test]
    fn a_step_has_the_state_of_its_last_visit() {
        let failed = vec![
            created("r/J"),
            moved("r/J", StatusMove::Claim),
            moved("r/J", StatusMove::Fail),
        ];
        let status = |events, step: &str| picture(events).status(&step.into());
        assert_eq!(status(failed.clone(), "J"), Some(NodeStatus::Failed));
        let rerun = [
            failed,
            vec![created("r/J~2"), moved("r/J~2", StatusMove::Claim)],
        ]
        .concat();
        assert_eq!(status(rerun, "J"), Some(NodeStatus::Running));
        // It waits for a person, and not for its turn.
        assert_eq!(status(vec![created("r/P")], "P"), Some(NodeStatus::Waiting));
        assert_eq!(status(vec![created("r/J")], "J"), Some(NodeStatus::Pending));
        assert_eq!(status(Vec::new(), "J"), None);
    }

    #[test]
    fn the_last_lines_of_a_command_are_kept_until_its_next_attempt() {
        let mut picture = picture(vec![created("r/P")]);
        let step = StepId::from("P");
        for line in ["1", "2", "3", "4"] {
            picture.print(&step, line.to_owned());
        }
        assert_eq!(picture.step(&step).unwrap().printed, ["2", "3", "4"]);
        let workflow = flow::parse(TEXT).unwrap();
        let event = RunEvent {
            run: "r".into(),
            seq: 0,
            at_ms: 0,
            what: moved("r/P", StatusMove::Claim),
        };
        picture.add(&workflow, &event);
        assert!(picture.step(&step).unwrap().printed.is_empty());
    }
}
