//! Values that are not known yet: variables somebody is still asked for, answers that are missing,
//! and what commands will print.
//!
//! Such a value is a lazy property with a stand-in. Reading it is noted, so whatever came about by
//! the read is known not to be final.

use std::cell::Cell;
use std::rc::Rc;

use expr::Value;

/// Why a value is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// A person or a document is asked for it; the next round knows it.
    Asked,
    /// A command gives it once it has run; nothing runs while a run is planned.
    Command,
}

/// Which kinds of unknown values were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    pub(crate) asked: bool,
    pub(crate) command: bool,
}

/// Notes reads of unknown values.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    reads: Cell<Reads>,
}

impl Tracker {
    /// A property that stands for an unknown value.
    pub(crate) fn unknown(self: &Rc<Self>, why: Why, stand_in: Value) -> Value {
        let tracker = Rc::downgrade(self);
        Value::lazy(move || {
            if let Some(tracker) = tracker.upgrade() {
                tracker.note(why);
            }
            stand_in.clone()
        })
    }

    /// Runs something and says what it read.
    pub(crate) fn watch<R>(&self, run: impl FnOnce() -> R) -> (R, Reads) {
        let outer = self.reads.take();
        let result = run();
        let seen = self.reads.replace(outer.and(self.reads.get()));
        (result, seen)
    }

    fn note(&self, why: Why) {
        let mut reads = self.reads.get();
        match why {
            Why::Asked => reads.asked = true,
            Why::Command => reads.command = true,
        }
        self.reads.set(reads);
    }
}

impl Reads {
    /// Both together.
    #[must_use]
    pub(crate) fn and(self, other: Reads) -> Reads {
        Reads {
            asked: self.asked || other.asked,
            command: self.command || other.command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expr::Object;

    #[test]
    fn reads_are_noted_by_kind_and_passed_outward() {
        let tracker = Rc::new(Tracker::default());
        let mut state = Object::new();
        state.insert("a", tracker.unknown(Why::Asked, Value::from("x")));
        state.insert("c", tracker.unknown(Why::Command, Value::from("y")));
        let ((inner, outer_only), outer) = tracker.watch(|| {
            state.get("a");
            let (_, inner) = tracker.watch(|| state.get("c"));
            (inner, ())
        });
        assert_eq!(outer_only, ());
        assert_eq!(
            inner,
            Reads {
                asked: false,
                command: true
            }
        );
        assert_eq!(
            outer,
            Reads {
                asked: true,
                command: true
            }
        );
        assert_eq!(tracker.watch(|| ()).1, Reads::default());
    }
}
