//! Values that are not known yet: variables that are still asked for, answers that are missing, and
//! output of commands that have not run.
//!
//! Such a value is a lazy property with a stand-in. The tracker notes each read, so a result that
//! used the stand-in is known not to be final.

use std::cell::Cell;
use std::rc::Rc;

use expr::Value;

/// Reason why a value is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownReason {
    /// The run asks a person or a document for it; the next round knows it.
    Asked,
    /// A command gives it once it has run; nothing runs while a run is planned.
    Command,
}

/// The kinds of unknown values that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnknownReads {
    pub(crate) asked: bool,
    pub(crate) command: bool,
}

/// Notes reads of unknown values.
#[derive(Debug, Default)]
pub(crate) struct ReadTracker {
    reads: Cell<UnknownReads>,
}

impl ReadTracker {
    /// Makes a lazy property for an unknown value.
    pub(crate) fn unknown(self: &Rc<Self>, why: UnknownReason, stand_in: Value) -> Value {
        let tracker = Rc::downgrade(self);
        Value::lazy(move || {
            if let Some(tracker) = tracker.upgrade() {
                tracker.note(why);
            }
            stand_in.clone()
        })
    }

    /// Runs a function and returns which unknown values it read.
    pub(crate) fn watch<R>(&self, run: impl FnOnce() -> R) -> (R, UnknownReads) {
        let outer = self.reads.take();
        let result = run();
        let seen = self.reads.replace(outer.and(self.reads.get()));
        (result, seen)
    }

    fn note(&self, why: UnknownReason) {
        let mut reads = self.reads.get();
        match why {
            UnknownReason::Asked => reads.asked = true,
            UnknownReason::Command => reads.command = true,
        }
        self.reads.set(reads);
    }
}

impl UnknownReads {
    /// Combines both.
    #[must_use]
    pub(crate) fn and(self, other: UnknownReads) -> UnknownReads {
        UnknownReads {
            asked: self.asked || other.asked,
            command: self.command || other.command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expr::JsObject;

    #[test]
    fn reads_are_noted_by_kind_and_passed_outward() {
        let tracker = Rc::new(ReadTracker::default());
        let mut state = JsObject::new();
        state.insert("a", tracker.unknown(UnknownReason::Asked, Value::from("x")));
        state.insert(
            "c",
            tracker.unknown(UnknownReason::Command, Value::from("y")),
        );
        let ((inner, outer_only), outer) = tracker.watch(|| {
            state.get("a");
            let (_, inner) = tracker.watch(|| state.get("c"));
            (inner, ())
        });
        assert_eq!(outer_only, ());
        assert_eq!(
            inner,
            UnknownReads {
                asked: false,
                command: true
            }
        );
        assert_eq!(
            outer,
            UnknownReads {
                asked: true,
                command: true
            }
        );
        assert_eq!(tracker.watch(|| ()).1, UnknownReads::default());
    }
}
