//! What a run looks like while it goes: a picture that is redrawn on a terminal, lines elsewhere, and
//! events for programs.

mod frame;
mod picture;
mod sample;
mod screen;
mod telling;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use app::worker::Watcher;
use dialoguer::console::Term;
use flow::engine::{Event, What};
use flow::{RunId, Workflow};

use crate::interrupt;
use crate::output::{self, Form};

pub(crate) use frame::{answer_words, quoted};
pub(crate) use picture::Picture;
use screen::Screen;
pub(crate) use telling::{Detail, event_json, place, span, told};

/// How often the picture is redrawn at most.
const REDRAW: Duration = Duration::from_millis(80);
/// How often it is redrawn when only time has passed.
const PASSING: Duration = Duration::from_millis(500);
/// How wide a graph is drawn where nobody knows better.
const WIDTH_DEFAULT: usize = 100;

/// The width of the screen.
pub(crate) fn width() -> usize {
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
    /// The terminal, where the picture is redrawn.
    screen: Option<Screen>,
    /// Lines that go above the picture when it is drawn next.
    above: Vec<String>,
    drawn_at: Option<Instant>,
    is_stale: bool,
    clock: Clock,
    /// The last event of every run that was shown.
    seen: BTreeMap<RunId, u64>,
    /// Runs that were started by others, and the step that did.
    children: BTreeMap<RunId, String>,
}

/// The time of day, from what it was at a moment.
struct Clock {
    now_ms: u64,
    at: Instant,
}

impl View {
    /// The view of a run of which this has happened and was told.
    pub(super) fn new(
        form: Form,
        (run, workflow): (&RunId, Arc<Workflow>),
        past: &[Event],
        now_ms: u64,
    ) -> View {
        let mut view = View {
            form,
            picture: Picture::new(run.clone()),
            workflow,
            screen: (form == Form::Text).then(Screen::open).flatten(),
            above: Vec::new(),
            drawn_at: None,
            is_stale: true,
            clock: Clock {
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
    fn note(&mut self, event: &Event) -> bool {
        let seen = self.seen.entry(event.run.clone()).or_default();
        // Whoever goes on after an answer begins from the first event.
        if event.seq <= *seen {
            return false;
        }
        *seen = event.seq;
        if let What::RunStarted {
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

    fn tell(&mut self, event: &Event) {
        if self.form == Form::Json {
            // A reader that is gone is noticed when the result is printed.
            let _ = output::json_line(&event_json(event));
            return;
        }
        let detail = match self.screen {
            Some(_) => Detail::BesidePicture,
            None => Detail::Lines,
        };
        let line = match self.children.get(&event.run) {
            None => told(Some(&self.workflow), event, detail),
            // The picture does not show what happens in there.
            Some(child) => told(None, event, Detail::Lines).map(|line| format!("{child} › {line}")),
        };
        let line = line.or_else(|| self.progress(event));
        let Some(line) = line else { return };
        match self.screen {
            Some(_) => self.above.push(output::harmless(&line)),
            None => output::say(output::harmless(&line)),
        }
    }

    /// How far a foreach is, each time another tenth of it is done; a picture shows it anyway.
    fn progress(&self, event: &Event) -> Option<String> {
        let What::ItemEnded { group, .. } = &event.what else {
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

impl Watcher for View {
    fn events(&mut self, events: &[Event]) {
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
