//! The rows of the floor: what our engine keeps of the three shapes, transaction by transaction.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::shorthand;
use super::{
    EVENTS, GROUPS, INPUTS, ITEMS, Kind, NO_LONGER_READY, NOTICES, READY, RUNS, STREAM, TASKS,
};

const CHAIN_STEPS: usize = 10;
/// Runs of a chain that are under way at a time.
const RUNS_AT_A_TIME: usize = 8;
/// When something happened; any number is as long as another.
const AT_MS: u64 = 1_800_000_000_000;
pub(crate) const WORKFLOW: &str =
    "0da6e5c10c5c271f810834996414c44447e5bca03fbc019c59c8fb6a136ca194";

const WORKER: &str = "vm-12345-d78ace";
/// Limits the bytes and the events of a page, as in the store.
const PAGE_BYTES_MAX: usize = 1_800;
const PAGE_EVENTS_MAX: usize = 32;

pub(crate) type Row = Vec<Value>;

/// Rows of a kind, for one statement.
pub(crate) struct Put(pub(crate) &'static Kind, pub(crate) Vec<Row>);

pub(crate) struct Job {
    shape: Shape,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Chain,
    FanOut,
    Loop,
}

/// One step of one run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    shape: Shape,
    run: usize,
    number: usize,
    is_last: bool,
}

/// The progress of a task.
#[derive(Clone, Copy)]
enum Stage {
    Created,
    Claimed,
    Ended,
}

impl Job {
    pub(crate) fn new(shape: &str, count: usize) -> Result<Self> {
        let (shape, runs, steps_each) = match shape {
            "chain" => (Shape::Chain, count, CHAIN_STEPS),
            "fan-out" => (Shape::FanOut, 1, count),
            "loop" => (Shape::Loop, 1, count),
            other => bail!("there is no shape `{other}`"),
        };
        let runs: Vec<usize> = (0..runs).collect();
        // Runs that are under way together take turns.
        let mut steps = Vec::new();
        for together in runs.chunks(RUNS_AT_A_TIME) {
            for number in 0..steps_each {
                steps.extend(together.iter().map(|run| Step {
                    shape,
                    run: *run,
                    number,
                    is_last: number + 1 == steps_each,
                }));
            }
        }
        Ok(Self { shape, steps })
    }

    /// Returns the writes of each transaction: as many steps end as begin, and runs start one
    /// transaction before their first step is claimed, because starting is a command by itself.
    pub(crate) fn transactions(&self, group: usize) -> Vec<Vec<Put>> {
        let groups: Vec<&[Step]> = self.steps.chunks(group).collect();
        let at = |place: Option<usize>| -> &[Step] {
            let found = place.and_then(|place| groups.get(place));
            found.copied().unwrap_or_default()
        };
        let is_start = |step: &&Step| match self.shape {
            Shape::FanOut => step.number < group,
            Shape::Chain | Shape::Loop => step.number == 0,
        };
        let mut told = vec![0; self.steps.len()];
        let turn = |place: usize| {
            let begun = at(place.checked_sub(1)).iter();
            let (claimed, entered) = begun.partition(is_start);
            Turn {
                started: at(Some(place)).iter().filter(is_start).collect(),
                claimed,
                entered,
                ended: at(place.checked_sub(2)).iter().collect(),
            }
        };
        let turns = (0..groups.len() + 2).map(turn);
        turns
            .map(|turn| self.transaction(&turn, &mut told))
            .collect()
    }

    /// Rows of a kind are one statement.
    fn transaction(&self, turn: &Turn<'_>, told: &mut [u64]) -> Vec<Put> {
        let events = pages(turn.events(told));
        let stream = events.iter().map(|page| page[..2].to_vec()).collect();
        let new = turn.new_runs();
        let done = turn.done_runs();
        let runs: BTreeSet<usize> = turn.all().map(|step| step.run).collect();
        let runs = runs
            .iter()
            .map(|run| self.run_row(*run, told[*run], done.contains(run)));
        let claimed = turn.claimed.iter().map(|step| vec![json!(step.id())]);
        let mut tasks = turn.task_rows();
        if self.shape == Shape::FanOut && !done.is_empty() {
            tasks.extend(self.gathered_rows());
        }
        let mut puts = vec![
            Put(&RUNS, runs.collect()),
            Put(
                &INPUTS,
                new.iter().map(|run| self.input_row(*run)).collect(),
            ),
            Put(&TASKS, tasks),
            Put(&NO_LONGER_READY, claimed.collect()),
            Put(
                &READY,
                turn.started.iter().map(|step| step.ready_row()).collect(),
            ),
        ];
        if self.shape == Shape::FanOut {
            puts.push(Put(&GROUPS, vec![self.group_row(&turn.ended)]));
            puts.push(Put(&ITEMS, self.item_rows(turn)));
        }
        puts.push(Put(&EVENTS, events));
        puts.push(Put(&STREAM, stream));
        puts.push(Put(
            &NOTICES,
            done.iter().map(|run| notice_row(*run)).collect(),
        ));
        puts.retain(|Put(_, rows)| !rows.is_empty());
        puts
    }

    /// The foreach and its join have the results of all items: beside short rows of items, that counts.
    fn gathered_rows(&self) -> [Row; 2] {
        let results: Vec<Value> = self.steps.iter().map(|_| json!({"ok": true})).collect();
        let count = results.len();
        let counts = json!({"total": count, "succeeded": count, "failed": 0, "skipped": 0});
        let output = json!({"results": results, "failed": [], "counts": counts});
        [("Each", "foreach"), ("Join", "join")]
            .map(|(step, kind)| gathered_row(step, kind, &output))
    }

    /// Items are known when the run starts, and those that are started with it start at once.
    fn item_rows(&self, turn: &Turn<'_>) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let row = |status: &'static str, active| move |step: &&Step| step.item_row(status, active);
        rows.extend(turn.ended.iter().map(row("succeeded", 0)));
        rows.extend(turn.entered.iter().map(row("running", 1)));
        rows.extend(turn.started.iter().map(row("running", 1)));
        if !turn.started.is_empty() {
            let waiting = self.steps.iter().skip(turn.started.len());
            rows.extend(waiting.map(|step| step.item_row("waiting", 0)));
        }
        rows
    }

    fn group_row(&self, ended: &[&Step]) -> Row {
        let succeeded = ended.last().map_or(0, |step| step.number + 1);
        let id = format!("{}/Each", run_id(0));
        let body = json!({
            "id": id, "total": self.steps.len(), "next": succeeded, "running": 256,
            "succeeded": succeeded, "failed": 0, "closed": false, "pristine": true,
        });
        vec![json!(id), json!(body.to_string())]
    }

    fn run_row(&self, run: usize, told: u64, is_ended: bool) -> Row {
        let id = run_id(run);
        let status = if is_ended { "completed" } else { "running" };
        let name = match self.shape {
            Shape::Chain => "chain",
            Shape::FanOut => "fan-out",
            Shape::Loop => "loop",
        };
        let body = json!({
            "id": id, "workflow": WORKFLOW, "name": name, "status": status, "reason": null,
            "pause": null, "result": null, "parent": null, "depth": 0, "assignee": null, "tags": [],
            "active": 1, "seq": told, "spent": {"tokens": 0, "micros": 0}, "created_ms": AT_MS,
            "ended_ms": is_ended.then_some(AT_MS),
        });
        let body = body.to_string();
        cells(json!([id, WORKFLOW, status, AT_MS, true, body]))
    }

    fn input_row(&self, run: usize) -> Row {
        let input = match self.shape {
            Shape::Chain => json!({}),
            Shape::Loop => json!({"rounds": self.steps.len()}),
            Shape::FanOut => {
                let items: Vec<Value> = (0..self.steps.len()).map(|id| json!({"id": id})).collect();
                json!({"items": items})
            }
        };
        vec![json!(run_id(run)), json!(input.to_string())]
    }
}

/// The writes of one transaction.
struct Turn<'s> {
    /// Created with their run.
    started: Vec<&'s Step>,
    /// Created with their run before, and claimed now.
    claimed: Vec<&'s Step>,
    /// Created because others ended, and claimed at once: written once.
    entered: Vec<&'s Step>,
    ended: Vec<&'s Step>,
}

impl<'s> Turn<'s> {
    fn all(&self) -> impl Iterator<Item = &'s Step> {
        let begun = self.claimed.iter().chain(&self.entered);
        let all = self.ended.iter().chain(begun).chain(&self.started);
        all.copied()
    }

    fn new_runs(&self) -> BTreeSet<usize> {
        self.started.iter().map(|step| step.run).collect()
    }

    fn done_runs(&self) -> Vec<usize> {
        let last = self.ended.iter().filter(|step| step.is_last);
        last.map(|step| step.run).collect()
    }

    fn task_rows(&self) -> Vec<Row> {
        let row = |stage| move |step: &&Step| step.task_row(stage);
        let mut rows: Vec<Row> = self.ended.iter().map(row(Stage::Ended)).collect();
        rows.extend(self.claimed.iter().map(row(Stage::Claimed)));
        rows.extend(self.entered.iter().map(row(Stage::Claimed)));
        rows.extend(self.started.iter().map(row(Stage::Created)));
        rows
    }

    fn events(&self, told: &mut [u64]) -> Vec<Event> {
        let mut events = Vec::new();
        let mut tell = |run: usize, what: Value| {
            told[run] += 1;
            events.push(Event::new(run, told[run], &what));
        };
        self.ended.iter().for_each(|step| step.tell_end(&mut tell));
        for step in &self.entered {
            step.tell_creation(&mut tell);
            step.tell_claim(&mut tell);
        }
        self.claimed
            .iter()
            .for_each(|step| step.tell_claim(&mut tell));
        for run in self.new_runs() {
            let started = json!({"what": "run_started", "workflow": WORKFLOW, "parent": null});
            tell(run, started);
        }
        self.started
            .iter()
            .for_each(|step| step.tell_creation(&mut tell));
        for run in self.done_runs() {
            let ended = json!({"what": "run_ended", "status": "completed", "reason": null});
            tell(run, ended);
        }
        events
    }
}

impl Step {
    fn path(self) -> String {
        match self.shape {
            Shape::FanOut => format!("Each[{}]/", self.number),
            Shape::Chain | Shape::Loop => String::new(),
        }
    }

    fn place(self) -> String {
        let (run, number) = (run_id(self.run), self.number);
        match self.shape {
            Shape::Chain => format!("{run}/S{}", number + 1),
            Shape::FanOut => format!("{run}/{}Item", self.path()),
            Shape::Loop => format!("{run}/Work"),
        }
    }

    fn visit(self) -> usize {
        match self.shape {
            Shape::Loop => self.number + 1,
            Shape::Chain | Shape::FanOut => 1,
        }
    }

    fn id(self) -> String {
        match self.visit() {
            1 => self.place(),
            visit => format!("{}~{visit}", self.place()),
        }
    }

    fn from(self) -> Option<String> {
        if self.shape == Shape::FanOut {
            return None;
        }
        let number = self.number.checked_sub(1)?;
        Some(Self { number, ..self }.id())
    }

    fn task_row(self, stage: Stage) -> Row {
        let (status, ready_ms, lease_ms, fence) = match stage {
            Stage::Created => ("pending", Some(AT_MS), None, 0),
            Stage::Claimed => ("in_progress", None, Some(AT_MS), 1),
            Stage::Ended => ("completed", None, None, 1),
        };
        let is_ended = matches!(stage, Stage::Ended);
        let lease = lease_ms.map(|until_ms| json!({"worker": WORKER, "until_ms": until_ms}));
        let body = json!({
            "id": self.id(), "kind": "work", "execution": "automated", "status": status,
            "from": self.from(), "ready_ms": AT_MS, "attempt": fence, "fence": fence, "lease": lease,
            "assignee": null, "fallen_back": false, "turns": 0, "note": null,
            "output": is_ended.then(|| json!({"ok": true})), "partial": false, "failure": null,
            "hold": null, "tags": [], "arrivals": [], "passed": [],
            "spent": {"tokens": 0, "micros": 0}, "created_ms": AT_MS,
            "ended_ms": is_ended.then_some(AT_MS),
        });
        let place = [self.id(), run_id(self.run), self.path(), self.place()];
        let mut row: Row = place.into_iter().map(Value::String).collect();
        row.extend([
            json!(self.visit()),
            json!(status),
            Value::Null,
            json!(ready_ms),
        ]);
        let run = run_id(self.run);
        let body = shorthand::TASKS.shorten_whole(&run, &body.to_string());
        let (slot, rank) = (Value::Null, json!(0));
        row.extend([json!(lease_ms), json!(fence), json!(!is_ended)]);
        row.extend([slot, rank, json!(body)]);
        row
    }

    fn ready_row(self) -> Row {
        cells(json!([self.id(), run_id(self.run), AT_MS, null, null, 0]))
    }

    fn item_row(self, status: &str, active: usize) -> Row {
        let group = format!("{}/Each", run_id(self.run));
        let body = json!({
            "group": group, "index": self.number, "value": {"id": self.number}, "status": status,
            "active": active, "result": (status == "succeeded").then(|| self.id()), "failure": null,
        });
        vec![json!(group), json!(self.number), json!(body.to_string())]
    }

    fn tell_creation(self, tell: &mut impl FnMut(usize, Value)) {
        let task = self.id();
        if self.shape == Shape::FanOut {
            let group = format!("{}/Each", run_id(self.run));
            tell(
                self.run,
                json!({"what": "item_started", "group": group, "index": self.number}),
            );
        }
        let from = self.from();
        let created = json!({"what": "task_created", "task": task, "kind": "work",
            "begin": "pending", "from": from});
        tell(self.run, created);
    }

    fn tell_claim(self, tell: &mut impl FnMut(usize, Value)) {
        let claimed = json!({"what": "task_moved", "task": self.id(), "by": "claim", "attempt": 1,
            "why": WORKER});
        tell(self.run, claimed);
    }

    fn tell_end(self, tell: &mut impl FnMut(usize, Value)) {
        let task = self.id();
        let ended = json!({"what": "task_moved", "task": task, "by": "complete", "attempt": 1});
        tell(self.run, ended);
        match self.shape {
            Shape::Chain => {}
            Shape::FanOut => {
                let group = format!("{}/Each", run_id(self.run));
                let ended = json!({"what": "item_ended", "group": group, "index": self.number,
                    "status": "succeeded"});
                tell(self.run, ended);
            }
            Shape::Loop => {
                let values = json!([["output.round", self.number], ["input.rounds", 100]]);
                let evaluated = json!([{"condition": "output.round < input.rounds",
                    "result": true, "values": values}]);
                let decided = json!({"what": "decided", "decision": "Again", "after": task,
                    "to": "Work", "evaluated": evaluated});
                tell(self.run, decided);
            }
        }
    }
}

fn gathered_row(step: &str, kind: &str, output: &Value) -> Row {
    let run = run_id(0);
    let id = format!("{run}/{step}");
    let body = json!({
        "id": id, "kind": kind, "execution": "automated", "status": "completed", "from": null,
        "ready_ms": AT_MS, "attempt": 1, "fence": 1, "lease": null, "assignee": null,
        "fallen_back": false, "turns": 0, "note": null, "output": output, "partial": false,
        "failure": null, "hold": null, "tags": [], "arrivals": [], "passed": [],
        "spent": {"tokens": 0, "micros": 0}, "created_ms": AT_MS, "ended_ms": AT_MS,
    });
    let body = shorthand::TASKS.shorten_whole(&run, &body.to_string());
    let mut row = cells(json!([id, run, "", id, 1, "completed"]));
    row.extend(cells(json!([null, null, null, 1, false, null, 0, body])));
    row
}

/// The cells of a row, written as a list.
fn cells(list: Value) -> Row {
    match list {
        Value::Array(cells) => cells,
        _ => Vec::new(),
    }
}

fn run_id(run: usize) -> String {
    format!("42dcc07c{run:09x}")
}

/// One event of a run as the engine encodes it.
struct Event {
    run: usize,
    seq: u64,
    body: String,
}

impl Event {
    fn new(run: usize, seq: u64, what: &Value) -> Self {
        let body = json!({"run": run_id(run), "seq": seq, "at_ms": AT_MS, "what": what});
        let body = body.to_string();
        Self { run, seq, body }
    }
}

/// Puts the events of a transaction on as few pages as possible, as the store does.
fn pages(mut events: Vec<Event>) -> Vec<Row> {
    events.sort_by_key(|event| event.run);
    let mut pages: Vec<Vec<Event>> = Vec::new();
    for event in events {
        let bytes = |page: &[Event]| page.iter().map(|event| event.body.len() + 1).sum::<usize>();
        match pages.last_mut() {
            Some(page)
                if page[0].run == event.run
                    && page.len() < PAGE_EVENTS_MAX
                    && bytes(page) + event.body.len() + 3 <= PAGE_BYTES_MAX =>
            {
                page.push(event);
            }
            _ => pages.push(vec![event]),
        }
    }
    let rows = pages.iter().map(|page| {
        let last = &page[page.len() - 1];
        let bodies: Vec<&str> = page.iter().map(|event| event.body.as_str()).collect();
        let body = match bodies.as_slice() {
            [only] => (*only).to_owned(),
            several => format!("[{}]", several.join(",")),
        };
        let run = run_id(last.run);
        let body = shorthand::EVENTS.shorten(&run, &body);
        vec![json!(run), json!(last.seq), json!(body)]
    });
    rows.collect()
}

fn notice_row(run: usize) -> Row {
    let body = json!({
        "run": run_id(run), "task": null, "kind": "run_completed",
        "message": "The run is completed.", "assignee": null,
    });
    vec![json!(run_id(run)), json!(body.to_string())]
}
