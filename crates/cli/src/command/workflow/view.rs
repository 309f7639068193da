//! What a run looks like while it goes: the graph, redrawn on a terminal, and a line for what matters.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use app::worker::Watcher;
use dialoguer::console::Term;
use flow::engine::{
    Begin, Evaluated, Event, ItemStatus, Move, RunStatus, TaskKind, TaskStatus, What,
};
use flow::{Execution, RunId, TaskId, Workflow};
use mermaid::Status;
use serde_json::{Value, json};

use crate::output::{self, Form};

/// How often the graph is redrawn at most.
const REDRAW: Duration = Duration::from_millis(80);
/// How wide a graph is drawn where nobody knows better.
const WIDTH_DEFAULT: usize = 100;

/// The width of the screen.
pub(super) fn width() -> usize {
    let size = Term::stdout()
        .size_checked()
        .or_else(|| Term::stderr().size_checked());
    size.map_or(WIDTH_DEFAULT, |(_, columns)| usize::from(columns))
        .max(40)
}

/// Shows a run as it goes.
pub(crate) struct View {
    form: Form,
    workflow: Arc<Workflow>,
    picture: Picture,
    /// The terminal, where the graph is redrawn.
    term: Option<Term>,
    drawn_lines: usize,
    drawn_at: Option<Instant>,
    is_stale: bool,
    /// The last event of every run that was shown.
    seen: BTreeMap<RunId, u64>,
}

impl View {
    pub(super) fn new(form: Form, workflow: Arc<Workflow>) -> View {
        let term = Term::stderr();
        let is_live = form == Form::Text && term.is_term();
        View {
            form,
            workflow,
            picture: Picture::default(),
            term: is_live.then_some(term),
            drawn_lines: 0,
            drawn_at: None,
            is_stale: true,
            seen: BTreeMap::new(),
        }
    }

    /// Draws it a last time, and leaves it standing.
    pub(super) fn finish(&mut self) {
        if self.term.is_some() {
            self.redraw();
            self.drawn_lines = 0;
        }
    }

    fn say(&mut self, line: &str) {
        self.clear();
        output::say(output::harmless(line));
    }

    fn clear(&mut self) {
        if let Some(term) = &self.term {
            // A terminal that cannot be cleared shows the graph once more.
            let _ = term.clear_last_lines(self.drawn_lines);
        }
        self.drawn_lines = 0;
    }

    fn redraw(&mut self) {
        let Some(term) = &self.term else { return };
        let (rows, columns) = term.size();
        let text = self.workflow.document().diagram();
        let text = text.to_text(usize::from(columns), &self.picture.statuses());
        let text = output::harmless(text.trim_end_matches('\n'));
        let lines = text.lines().count();
        // What does not fit the screen cannot be taken back; the lines say what happens.
        if lines + 1 >= usize::from(rows) {
            return;
        }
        self.clear();
        output::say(&text);
        self.drawn_lines = lines;
        self.drawn_at = Some(Instant::now());
        self.is_stale = false;
    }
}

impl Watcher for View {
    fn events(&mut self, events: &[Event]) {
        let names = Arc::clone(&self.workflow);
        for event in events {
            let seen = self.seen.entry(event.run.clone()).or_default();
            // Whoever goes on after an answer begins from the first event.
            if event.seq <= *seen {
                continue;
            }
            *seen = event.seq;
            self.picture.add(event);
            match self.form {
                Form::Json => {
                    // A reader that is gone is noticed when the result is printed.
                    let _ = output::data(format!("{}\n", event_json(event)).as_bytes());
                }
                Form::Text => {
                    if let Some(line) = told(&names, event, self.term.is_some()) {
                        self.say(&line);
                    }
                }
            }
        }
        self.is_stale = true;
        let is_due = self.drawn_at.is_none_or(|at| at.elapsed() > REDRAW);
        if is_due {
            self.redraw();
        }
    }

    fn tick(&mut self) {
        if self.is_stale {
            self.redraw();
        }
    }
}

/// How far the steps of a run are.
#[derive(Default)]
struct Picture {
    tasks: BTreeMap<TaskId, (TaskKind, TaskStatus)>,
    decided: Vec<String>,
}

impl Picture {
    fn add(&mut self, event: &Event) {
        match &event.what {
            What::TaskCreated {
                task, kind, begin, ..
            } => {
                self.tasks.insert(task.clone(), (*kind, begin.status()));
            }
            What::TaskMoved { task, by, .. } => {
                if let Some((_, status)) = self.tasks.get_mut(task) {
                    *status = by.to();
                }
            }
            What::Decided { decision, .. } => self.decided.push(decision.to_string()),
            _ => {}
        }
    }

    /// The most urgent thing of every step.
    fn statuses(&self) -> HashMap<String, Status> {
        let urgency = |status: Status| match status {
            Status::Failed => 5,
            Status::Running => 4,
            Status::Waiting => 3,
            Status::Pending => 2,
            Status::Done => 1,
            Status::Skipped => 0,
        };
        let mut statuses: HashMap<String, Status> = HashMap::new();
        for (task, (_, status)) in &self.tasks {
            let status = match status {
                TaskStatus::Pending => Status::Pending,
                TaskStatus::InProgress => Status::Running,
                TaskStatus::Waiting => Status::Waiting,
                TaskStatus::OnHold | TaskStatus::Failed => Status::Failed,
                TaskStatus::Completed => Status::Done,
                TaskStatus::Cancelled => Status::Skipped,
            };
            let known = statuses.entry(task.step.to_string()).or_insert(status);
            if urgency(status) > urgency(*known) {
                *known = status;
            }
        }
        for decision in &self.decided {
            statuses.insert(decision.clone(), Status::Done);
        }
        statuses
    }
}

/// How far the steps are after these events.
pub(crate) fn statuses(events: &[Event]) -> HashMap<String, Status> {
    let mut picture = Picture::default();
    events.iter().for_each(|event| picture.add(event));
    picture.statuses()
}

/// An event as one line of JSON.
pub(crate) fn event_json(event: &Event) -> Value {
    let mut line = json!({
        "event": null, "run": event.run, "seq": event.seq, "atMs": event.at_ms,
    });
    if let (Some(line), Ok(Value::Object(mut fields))) =
        (line.as_object_mut(), serde_json::to_value(&event.what))
    {
        line.insert(
            "event".to_owned(),
            fields.remove("what").unwrap_or_default(),
        );
        line.extend(fields);
    }
    line
}

/// An event as a sentence, if it is worth one. Beside a graph, what the graph shows is not said.
pub(crate) fn told(workflow: &Workflow, event: &Event, has_graph: bool) -> Option<String> {
    let name = |task: &TaskId| {
        let step = workflow.step(&task.step);
        let words = step.map_or("", |step| step.name.as_str());
        let place = task.to_string();
        let place = place
            .split_once('/')
            .map_or(place.as_str(), |(_, rest)| rest)
            .to_owned();
        format!("{place} {words}")
    };
    let is_manual = |task: &TaskId| {
        let step = workflow.step(&task.step);
        step.is_some_and(|step| step.execution == Execution::Manual)
    };
    Some(match &event.what {
        What::RunStarted { .. } => format!("run {} started", event.run),
        What::RunPaused { reason } => format!("‖ paused: {reason}"),
        What::RunResumed => "run resumed".to_owned(),
        What::RunEnded { status, reason } => ended(*status, reason.as_deref()),
        What::RunReopened { task } => format!("run goes on again from {task}"),
        What::Decided {
            decision,
            to,
            evaluated,
            ..
        } => {
            let step = workflow.step(decision);
            let words = step.map_or("", |step| step.name.as_str());
            format!("◇ {decision} {words} → {to}: {}", why(evaluated))
        }
        What::TaskCreated {
            task,
            begin: Begin::Pending,
            ..
        } if is_manual(task) => format!("◷ {} waits for a person", name(task)),
        What::TaskMoved { task, by, why, .. } => {
            let why = why
                .as_ref()
                .map(|why| format!(": {why}"))
                .unwrap_or_default();
            match by.to() {
                TaskStatus::OnHold => format!("✗ {} is on hold{why}", name(task)),
                TaskStatus::Failed => format!("✗ {} failed{why}", name(task)),
                TaskStatus::Pending if *by != Move::Release => {
                    format!("↻ {} again{why}", name(task))
                }
                TaskStatus::InProgress if !has_graph => format!("▶ {}", name(task)),
                TaskStatus::Completed if !has_graph => format!("✓ {}", name(task)),
                TaskStatus::Cancelled if !has_graph => format!("– {} cancelled", name(task)),
                _ => return None,
            }
        }
        What::GroupOpened { group, total } => format!("⧉ {}: {total} items", name(group)),
        What::ItemEnded {
            group,
            index,
            status: ItemStatus::Failed,
        } => format!("✗ item {index} of {} failed", name(group)),
        What::Warned { message, .. } => format!("warning: {message}"),
        _ => return None,
    })
}

fn ended(status: RunStatus, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("run {}: {reason}", status.name()),
        None => format!("run {}", status.name()),
    }
}

/// Why an edge was taken: what held, with its values, and what before it did not.
fn why(evaluated: &[Evaluated]) -> String {
    let told = evaluated.iter().map(|one| {
        let values: Vec<String> = one
            .values
            .iter()
            .map(|(path, value)| format!("{path} = {value}"))
            .collect();
        let values = match values.is_empty() {
            true => String::new(),
            false => format!(" ({})", values.join(", ")),
        };
        match one.result {
            true => format!("{}{values}", one.condition),
            false => format!("not {}{values}", one.condition),
        }
    });
    let told: Vec<String> = told.collect();
    match (told.is_empty(), evaluated.iter().any(|one| one.result)) {
        (true, _) => "the only way".to_owned(),
        (false, true) => told.join(", "),
        (false, false) => format!("{}, so the default", told.join(", ")),
    }
}
