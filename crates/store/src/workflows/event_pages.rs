//! Pages of events: consecutive events of a run share a row, because a row costs more than its
//! content, and a step has several events.

use flow::engine::RunEvent;

use super::shorthand;

/// Limits a page before it is shortened, in bytes. The stored text has about a fourth of that, and
/// fits into the part of a row that both engines store in one piece.
const BYTES_MAX: usize = 1_800;
/// Limits the events of a page.
pub(crate) const EVENTS_MAX: usize = 32;

/// Events of a run as they are stored: one document, or an array of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventPage {
    pub(crate) run: String,
    /// The number of its last event.
    pub(crate) seq: u64,
    pub(crate) body: String,
    events: usize,
}

impl EventPage {
    fn of(event: &RunEvent, body: String) -> EventPage {
        EventPage {
            run: event.run.to_string(),
            seq: event.seq,
            body,
            events: 1,
        }
    }

    fn has_room(&self, event: &RunEvent, body: &str) -> bool {
        self.run == event.run.as_str()
            && self.seq + 1 == event.seq
            && self.events < EVENTS_MAX
            && self.body.len() + body.len() + 3 <= BYTES_MAX
    }

    fn add(&mut self, body: &str) {
        match self.events {
            1 => self.body.insert(0, '['),
            _ => {
                self.body.pop();
            }
        }
        self.body.push(',');
        self.body.push_str(body);
        self.body.push(']');
        self.seq += 1;
        self.events += 1;
    }
}

/// Puts events on as few pages as possible; `body` encodes one event.
pub(crate) fn pages<E>(
    events: &[RunEvent],
    mut body: impl FnMut(&RunEvent) -> Result<String, E>,
) -> Result<Vec<EventPage>, E> {
    let mut by_run: Vec<&RunEvent> = events.iter().collect();
    by_run.sort_by(|one, other| one.run.cmp(&other.run));
    let mut pages: Vec<EventPage> = Vec::new();
    for event in by_run {
        let body = body(event)?;
        match pages.last_mut() {
            Some(page) if page.has_room(event, &body) => page.add(&body),
            _ => pages.push(EventPage::of(event, body)),
        }
    }
    for page in &mut pages {
        page.body = shorthand::EVENTS.shorten(&page.run, &page.body);
    }
    Ok(pages)
}

/// Returns the events of a page. Rows that are older than pages have one event each.
pub(crate) fn events(run: &str, body: &str) -> serde_json::Result<Vec<RunEvent>> {
    let body = shorthand::EVENTS.expand(run, body);
    let body = body.as_ref();
    match body.starts_with('[') {
        true => serde_json::from_str(body),
        false => serde_json::from_str(body).map(|event| vec![event]),
    }
}

#[cfg(test)]
mod tests {
    use flow::RunId;
    use flow::engine::EventKind;

    use super::*;

    /// Creates an event whose document has about this length.
    fn event(run: &str, seq: u64, length: usize) -> RunEvent {
        RunEvent {
            run: RunId::new(run),
            seq,
            at_ms: 1,
            what: EventKind::Warned {
                task: None,
                message: "x".repeat(length),
            },
        }
    }

    /// Checks how many events each page has, run by run, and that no event is lost.
    fn check(given: &[RunEvent], expected: &[(&str, u64, usize)]) {
        let pages = pages(given, serde_json::to_string).unwrap();
        let mut read = Vec::new();
        let mut shape = Vec::new();
        for page in &pages {
            let on_it = events(&page.run, &page.body).unwrap();
            shape.push((page.run.as_str(), page.seq, on_it.len()));
            assert!(on_it.len() == 1 || page.body.len() <= BYTES_MAX);
            read.extend(on_it);
        }
        assert_eq!(shape, expected);
        let mut given = given.to_vec();
        given.sort_by(|one, other| one.run.cmp(&other.run));
        assert_eq!(read, given);
    }

    #[test]
    fn consecutive_events_of_a_run_share_a_page() {
        check(&[], &[]);
        check(&[event("a", 7, 1)], &[("a", 7, 1)]);
        let three = [event("a", 1, 1), event("a", 2, 1), event("a", 3, 1)];
        check(&three, &[("a", 3, 3)]);
    }

    #[test]
    fn every_run_has_pages_of_its_own() {
        let mixed = [
            event("b", 1, 1),
            event("a", 5, 1),
            event("b", 2, 1),
            event("a", 6, 1),
        ];
        check(&mixed, &[("a", 6, 2), ("b", 2, 2)]);
    }

    #[test]
    fn a_page_ends_where_a_number_is_left_out() {
        let gap = [event("a", 1, 1), event("a", 3, 1)];
        check(&gap, &[("a", 1, 1), ("a", 3, 1)]);
    }

    #[test]
    fn a_page_that_is_full_is_followed_by_the_next() {
        let long = [
            event("a", 1, 900),
            event("a", 2, 900),
            event("a", 3, 9_000),
            event("a", 4, 1),
        ];
        check(&long, &[("a", 1, 1), ("a", 2, 1), ("a", 3, 1), ("a", 4, 1)]);
        let seven: Vec<RunEvent> = (1..=7).map(|seq| event("a", seq, 500)).collect();
        check(&seven, &[("a", 3, 3), ("a", 6, 3), ("a", 7, 1)]);
    }
}
