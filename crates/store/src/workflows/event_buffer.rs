//! A ring buffer of the events that this process wrote last, so that watching a run needs no query.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use flow::RunId;
use flow::engine::RunEvent;

/// Limits the buffered events; older ones are read from the database.
const EVENTS_MAX: usize = 8_192;

/// The last events of this process. Clones share them.
#[derive(Clone, Default)]
pub(super) struct EventBuffer(Arc<Mutex<BufferedEvents>>);

/// The buffered events, oldest first.
#[derive(Default)]
struct BufferedEvents {
    /// Set by the first reader: without readers, buffering would be wasted.
    is_watched: bool,
    events: VecDeque<RunEvent>,
}

impl EventBuffer {
    /// Adds events that are on the disk now.
    pub(super) fn keep(&self, events: Vec<RunEvent>) {
        self.with(|inner| {
            if !inner.is_watched {
                return;
            }
            inner.events.extend(events);
            let surplus = inner.events.len().saturating_sub(EVENTS_MAX);
            inner.events.drain(..surplus);
        });
    }

    /// Drops the events of deleted runs.
    pub(super) fn forget(&self, runs: &[RunId]) {
        self.with(|inner| inner.events.retain(|event| !runs.contains(&event.run)));
    }

    /// Returns the buffered events of a run that follow a number without a gap; `None` if the very
    /// next one is not buffered.
    pub(super) fn after(&self, run: &RunId, after: u64, max: usize) -> Vec<RunEvent> {
        self.with(|inner| {
            inner.is_watched = true;
            let mut last = after;
            let mut found = Vec::new();
            for event in inner.events.iter().filter(|event| event.run == *run) {
                if event.seq == last + 1 && found.len() < max {
                    last = event.seq;
                    found.push(event.clone());
                }
            }
            found
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut BufferedEvents) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::engine::EventKind;

    fn event(run: &str, seq: u64) -> RunEvent {
        RunEvent {
            run: RunId::from(run),
            seq,
            at_ms: 0,
            what: EventKind::RunPaused {
                reason: String::new(),
            },
        }
    }

    #[test]
    fn only_what_follows_without_a_gap_is_given() {
        let event_buffer = EventBuffer::default();
        event_buffer.keep(vec![event("a", 1)]);
        let numbers = |run: &str, after, max| -> Vec<u64> {
            let found = event_buffer.after(&RunId::from(run), after, max);
            found.iter().map(|event| event.seq).collect()
        };
        // No reader has asked yet, so that nothing was buffered.
        assert!(numbers("a", 0, 9).is_empty());
        event_buffer.keep(vec![event("a", 2), event("b", 7), event("a", 3)]);
        event_buffer.keep(vec![event("a", 5), event("b", 8)]);
        for (run, after, max, expected) in [
            ("a", 0, 9, vec![]),
            ("a", 1, 9, vec![2, 3]),
            ("a", 1, 1, vec![2]),
            ("a", 2, 9, vec![3]),
            ("a", 3, 9, vec![]),
            ("a", 4, 9, vec![5]),
            ("b", 6, 9, vec![7, 8]),
            ("c", 0, 9, vec![]),
        ] {
            assert_eq!(numbers(run, after, max), expected, "{run} {after} {max}");
        }
        event_buffer.forget(&[RunId::from("a")]);
        assert!(numbers("a", 1, 9).is_empty());
        assert_eq!(numbers("b", 6, 9), [7, 8]);
        event_buffer.keep((9..20_000).map(|seq| event("b", seq)).collect());
        assert!(numbers("b", 8, 9).is_empty());
        assert_eq!(numbers("b", 19_998, 9), [19_999]);
    }
}
