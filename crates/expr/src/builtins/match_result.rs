//! The named properties of match arrays: `index`, `input`, `groups`.
//!
//! JavaScript hangs them on the array itself. Our arrays have no room for names, so they are kept
//! beside the arrays, by address, for as long as the array lives.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use rustc_hash::FxHashMap;

use crate::value::{JsArray, Value};

/// Entries below which dead ones are not swept out.
const SWEEP_FROM: usize = 64;

/// Properties of a match array besides its groups.
pub(super) struct MatchDetails {
    pub(super) index: usize,
    pub(super) input: Rc<str>,
    pub(super) groups: Value,
    pub(super) indices: Option<Value>,
}

#[derive(Default)]
struct MatchTable {
    /// The weak reference keeps the address from being used again.
    entries: FxHashMap<usize, (Weak<JsArray>, MatchDetails)>,
    sweep_at: usize,
}

thread_local! {
    // Values never leave their thread, so neither does what belongs to them.
    static TABLE: RefCell<MatchTable> = RefCell::default();
}

/// Makes a match array with its details.
pub(super) fn array(items: Vec<Value>, details: MatchDetails) -> Value {
    let items = Rc::new(JsArray::from(items));
    let entry = (Rc::downgrade(&items), details);
    let swept = TABLE.with_borrow_mut(|table| {
        table.entries.insert(Rc::as_ptr(&items) as usize, entry);
        table.sweep()
    });
    // Dropping values can drop match arrays in turn; the table is free again by now.
    drop(swept);
    Value::Array(items)
}

/// Returns a named property of an array, if it is a match array.
pub(super) fn property(items: &Rc<JsArray>, name: &str) -> Option<Value> {
    if !matches!(name, "index" | "input" | "groups" | "indices") {
        return None;
    }
    TABLE.with_borrow(|table| {
        let (_, details) = table.entries.get(&(Rc::as_ptr(items) as usize))?;
        match name {
            "index" => Some(Value::Number(details.index as f64)),
            "input" => Some(Value::String(details.input.clone())),
            "groups" => Some(details.groups.clone()),
            _ => details.indices.clone(),
        }
    })
}

impl MatchTable {
    /// Removes the entries of freed arrays, once there are twice as many as last time.
    fn sweep(&mut self) -> Vec<MatchDetails> {
        if self.entries.len() < self.sweep_at.max(SWEEP_FROM) {
            return Vec::new();
        }
        let dead: Vec<usize> = self
            .entries
            .iter()
            .filter(|(_, (array, _))| array.strong_count() == 0)
            .map(|(address, _)| *address)
            .collect();
        let swept = dead
            .into_iter()
            .filter_map(|address| self.entries.remove(&address))
            .map(|(_, details)| details)
            .collect();
        self.sweep_at = self.entries.len() * 2;
        swept
    }
}
