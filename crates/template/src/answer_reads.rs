//! Tracks which unanswered keys a render has read, and the questions that depend on them.
//!
//! An unanswered key is a lazy property: each read is noted here and gives a stand-in. A question
//! is postponed when its text, or a condition around it, was made with such a read. Variables that
//! took such a value are remembered by name, so the dependency is not lost through `@let`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use expr::Value;
use indexmap::IndexSet;

use crate::parser::is_word;

/// Keys of unanswered questions.
pub(crate) type AnswerKeys = IndexSet<Rc<str>>;

#[derive(Default)]
pub(crate) struct AnswerReads {
    /// Some key is unanswered, so reads are worth following.
    active: Cell<bool>,
    /// The keys read so far, one set per open measurement.
    open: RefCell<Vec<AnswerKeys>>,
    all: RefCell<AnswerKeys>,
    stand_ins: RefCell<HashMap<Rc<str>, Value>>,
    /// Variables whose values came from unanswered keys.
    variables: RefCell<HashMap<Box<str>, AnswerKeys>>,
    /// The keys that conditions and loops around the current place have read.
    enclosing: RefCell<Vec<Rc<str>>>,
}

impl AnswerReads {
    /// Makes a lazy property for an unanswered key.
    pub(crate) fn unanswered(self: &Rc<Self>, key: &Rc<str>) -> Value {
        self.active.set(true);
        let (reads, key) = (Rc::downgrade(self), key.clone());
        Value::lazy(move || match reads.upgrade() {
            Some(reads) => {
                reads.note(&key);
                reads.stand_in(&key)
            }
            None => Value::from(""),
        })
    }

    /// Returns the stand-in of a key that is not answered yet.
    pub(crate) fn stand_in(&self, key: &str) -> Value {
        let known = self.stand_ins.borrow().get(key).cloned();
        known.unwrap_or_else(|| Value::from(""))
    }

    pub(crate) fn set_stand_in(&self, key: &Rc<str>, value: Value) {
        self.stand_ins.borrow_mut().insert(key.clone(), value);
    }

    pub(crate) fn activate(&self) {
        self.active.set(true);
    }

    pub(crate) fn is_active(&self) -> bool {
        self.active.get()
    }

    /// Returns true if any unanswered key has been read.
    pub(crate) fn any(&self) -> bool {
        self.is_active() && !self.all.borrow().is_empty()
    }

    /// Returns every unanswered key that has been read.
    pub(crate) fn all(&self) -> Vec<String> {
        self.all
            .borrow()
            .iter()
            .map(|key| key.to_string())
            .collect()
    }

    fn note(&self, key: &Rc<str>) {
        self.all.borrow_mut().insert(key.clone());
        if let Some(keys) = self.open.borrow_mut().last_mut() {
            keys.insert(key.clone());
        }
    }

    /// Runs something and says which unanswered keys it read.
    pub(crate) fn measure<R>(&self, run: impl FnOnce() -> R) -> (R, AnswerKeys) {
        // A key may become known while running; what ran before cannot have read it.
        if !self.is_active() {
            return (run(), AnswerKeys::default());
        }
        self.open.borrow_mut().push(AnswerKeys::default());
        let result = run();
        let mut open = self.open.borrow_mut();
        let keys = open.pop().unwrap_or_default();
        if let Some(outer) = open.last_mut() {
            outer.extend(keys.iter().cloned());
        }
        (result, keys)
    }

    /// Notes the keys behind the variables that a text mentions.
    pub(crate) fn note_text(&self, text: &str) {
        let variables = self.variables.borrow();
        if variables.is_empty() {
            return;
        }
        for word in words(text) {
            if let Some(keys) = variables.get(word) {
                keys.iter().for_each(|key| self.note(key));
            }
        }
    }

    /// Says where the values of these variables came from.
    pub(crate) fn taint<'n>(&self, names: impl Iterator<Item = &'n str>, keys: &AnswerKeys) {
        if !self.is_active() {
            return;
        }
        let mut variables = self.variables.borrow_mut();
        for name in names {
            if keys.is_empty() {
                variables.remove(name);
            } else {
                variables.insert(name.into(), keys.clone());
            }
        }
    }

    /// Taints everything a statement mentions in the same way: any of it may have been changed.
    pub(crate) fn taint_text(&self, text: &str, keys: &AnswerKeys) {
        if !keys.is_empty() {
            self.taint(words(text), keys);
        }
    }

    /// Begins a condition or loop; keys that are added hold until the guard is dropped.
    pub(crate) fn enclosing(&self) -> EnclosingKeys<'_> {
        let mark = if self.is_active() {
            self.enclosing.borrow().len()
        } else {
            0
        };
        EnclosingKeys {
            reads: self,
            mark,
            added: Cell::new(false),
        }
    }

    /// Returns the keys that decide whether the current place is reached at all.
    pub(crate) fn around(&self) -> Vec<Rc<str>> {
        self.enclosing.borrow().clone()
    }
}

/// Keys that hold for a block.
pub(crate) struct EnclosingKeys<'r> {
    reads: &'r AnswerReads,
    mark: usize,
    added: Cell<bool>,
}

impl EnclosingKeys<'_> {
    pub(crate) fn add(&self, keys: AnswerKeys) {
        if !keys.is_empty() {
            self.added.set(true);
            self.reads.enclosing.borrow_mut().extend(keys);
        }
    }
}

impl Drop for EnclosingKeys<'_> {
    fn drop(&mut self) {
        if self.added.get() {
            self.reads.enclosing.borrow_mut().truncate(self.mark);
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}
