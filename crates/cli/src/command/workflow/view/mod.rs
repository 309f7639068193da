//! Shows a run while it goes: a picture that is redrawn on a terminal, lines elsewhere, and events
//! for programs.

mod describe;
mod frame;
mod picture;
mod sample;
mod screen;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use app::worker::RunWatcher;
use dialoguer::console::Term;
use flow::engine::{EventKind, RunEvent};
use flow::{LogLine, RunId, StepHandler, TaskId, Workflow};

use crate::interrupt;
use crate::output::{self, OutputFormat};

pub(crate) use describe::{EventDetail, event_json, place, span, told};
pub(crate) use frame::{answer_words, quoted};
pub(crate) use picture::RunPicture;
use screen::TerminalScreen;

/// Shortest interval between two redraws.
const REDRAW: Duration = Duration::from_millis(80);
/// Interval between redraws when only time has passed.
const PASSING: Duration = Duration::from_millis(500);
/// Width of a graph if the terminal's is unknown.
const WIDTH_DEFAULT: usize = 100;

/// Returns the width of the screen.
pub(crate) fn width() -> usize {
    let size = Term::stdout()
        .size_checked()
        .or_else(|| Term::stderr().size_checked());
    size.map_or(WIDTH_DEFAULT, |(_, columns)| usize::from(columns))
        .max(40)
}

/// Shows a run as it goes.
pub(crate) struct WorkflowRunView {
    form: OutputFormat,
    workflow: Arc<Workflow>,
    picture: RunPicture,
    /// The terminal, where the picture is redrawn.
    screen: Option<TerminalScreen>,
    /// Lines that go above the picture when it is drawn next.
    above: Vec<String>,
    drawn_at: Option<Instant>,
    is_stale: bool,
    clock: WallClock,
    /// The last event of every run that was shown.
    seen: BTreeMap<RunId, u64>,
    /// Runs that were started by others, and the step that did.
    children: BTreeMap<RunId, String>,
}

/// The time of day, from what it was at a moment.
struct WallClock {
    now_ms: u64,
    at: Instant,
}

impl WorkflowRunView {
    /// Makes the view of a run, given the events that were already shown.
    pub(super) fn new(
        form: OutputFormat,
        (run, workflow): (&RunId, Arc<Workflow>),
        past: &[RunEvent],
        now_ms: u64,
    ) -> WorkflowRunView {
        let mut view = WorkflowRunView {
            form,
            picture: RunPicture::new(run.clone()),
            workflow,
            screen: (form == OutputFormat::Text)
                .then(TerminalScreen::open)
                .flatten(),
            above: Vec::new(),
            drawn_at: None,
            is_stale: true,
            clock: WallClock {
                now_ms,
                at: Instant::now(),
            },
            seen: BTreeMap::new(),
            children: BTreeMap::new(),
        };
        for event in past {
            view.note(event);
        }
        view
    }

    /// Draws it a last time, and leaves it standing.
    pub(super) fn finish(&mut self) {
        self.redraw();
        if let Some(screen) = &mut self.screen {
            screen.leave();
        }
    }

    /// Takes an event in; says whether it is new.
    fn note(&mut self, event: &RunEvent) -> bool {
        let seen = self.seen.entry(event.run.clone()).or_default();
        // A view that is opened again after an answer starts from the first event.
        if event.seq <= *seen {
            return false;
        }
        *seen = event.seq;
        if let EventKind::RunStarted {
            parent: Some(parent),
            ..
        } = &event.what
        {
            let outer = self.children.get(&parent.run);
            let outer = outer.map_or(String::new(), |outer| format!("{outer} › "));
            self.children
                .insert(event.run.clone(), format!("{outer}{}", place(parent)));
        }
        self.picture.add(&self.workflow, event);
        true
    }

    fn tell(&mut self, event: &RunEvent) {
        if self.form == OutputFormat::Json {
            // A reader that is gone is noticed when the result is printed.
            let _ = output::json_line(&event_json(event));
            return;
        }
        let detail = match self.screen {
            Some(_) => EventDetail::BesidePicture,
            None => EventDetail::Lines,
        };
        let line = match self.children.get(&event.run) {
            None => told(Some(&self.workflow), event, detail),
            // The picture does not show what happens in there.
            Some(child) => {
                told(None, event, EventDetail::Lines).map(|line| format!("{child} › {line}"))
            }
        };
        let line = line.or_else(|| self.progress(event));
        let Some(line) = line else { return };
        match self.screen {
            Some(_) => self.above.push(output::harmless(&line)),
            None => output::say(output::harmless(&line)),
        }
    }

    /// Returns the progress of a foreach each time another tenth of it is done; a picture shows it
    /// anyway.
    fn progress(&self, event: &RunEvent) -> Option<String> {
        let EventKind::ItemEnded { group, .. } = &event.what else {
            return None;
        };
        let is_ours = self.screen.is_none() && group.run == *self.picture.run();
        let step = self.picture.step(&group.step).filter(|_| is_ours)?;
        let items = step.items?;
        let tenth = |ended: u32| u64::from(ended) * 10 / u64::from(items.total.max(1));
        let is_next = tenth(items.ended) > tenth(items.ended.saturating_sub(1));
        let failed = match items.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let (ended, total) = (items.ended, items.total);
        // The items of all its groups are counted together, so that it is the step that is named.
        is_next.then(|| format!("⧉ {}: {ended} of {total} done{failed}", group.step))
    }

    fn redraw(&mut self) {
        let Some(screen) = &mut self.screen else {
            return;
        };
        let passed = u64::try_from(self.clock.at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let now_ms = self.clock.now_ms.saturating_add(passed);
        let note = interrupt::was_interrupted().then_some("stopping");
        let about = (now_ms, note);
        let frame = frame::frame(&self.workflow, &self.picture, screen.size(), about);
        screen.draw(&std::mem::take(&mut self.above), frame);
        self.drawn_at = Some(Instant::now());
        self.is_stale = false;
    }

    fn is_due(&self, every: Duration) -> bool {
        self.drawn_at.is_none_or(|at| at.elapsed() >= every)
    }
}

impl WorkflowRunView {
    fn print(&mut self, line: &LogLine) {
        let text = output::harmless(&line.text);
        match self.screen {
            Some(_) => self.picture.print(&line.task.step, text),
            None => output::say(format!("{} │ {text}", place(&line.task))),
        }
    }
}

impl RunWatcher for WorkflowRunView {
    fn wants_lines(&self, task: &TaskId) -> bool {
        let step = self.workflow.step(&task.step);
        // Elsewhere than on a screen items are many: their foreach says how far they are.
        let is_told = self.screen.is_some() || task.path.last().is_none();
        self.form == OutputFormat::Text
            && is_told
            && task.run == *self.picture.run()
            && step.is_some_and(|step| step.handler() == StepHandler::Command)
    }

    fn printed(&mut self, lines: &[LogLine]) {
        lines.iter().for_each(|line| self.print(line));
        self.is_stale = true;
        if self.is_due(REDRAW) {
            self.redraw();
        }
    }

    fn events(&mut self, events: &[RunEvent]) {
        for event in events {
            if self.note(event) {
                self.tell(event);
                self.is_stale = true;
            }
        }
        if self.is_due(REDRAW) {
            self.redraw();
        }
    }

    fn tick(&mut self) {
        if (self.is_stale && self.is_due(REDRAW)) || self.is_due(PASSING) {
            self.redraw();
        }
    }
}
