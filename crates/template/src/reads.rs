//! Which answers that do not exist yet a render has read, and what depends on them.
//!
//! An unanswered key is a lazy property: reading it is noted here and gives a stand-in. A question
//! is postponed when its text, or a condition around it, came about by such a read. Variables that
//! took such a value are known by name, so the dependency is not lost through `@let`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use expr::Value;
use indexmap::IndexSet;

use crate::parser::is_word;

/// Keys of unanswered questions.
pub(crate) type Keys = IndexSet<Rc<str>>;

#[derive(Default)]
pub(crate) struct Reads {
    /// Some key is unanswered, so reads are worth following.
    active: Cell<bool>,
    /// What was read, one set per measurement under way.
    open: RefCell<Vec<Keys>>,
    all: RefCell<Keys>,
    stand_ins: RefCell<HashMap<Rc<str>, Value>>,
    /// Variables whose values came from unanswered keys.
    variables: RefCell<HashMap<Box<str>, Keys>>,
    /// The keys that conditions and loops around the current place have read.
    enclosing: RefCell<Vec<Rc<str>>>,
}

impl Reads {
    /// A property that stands for an unanswered key.
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

    /// What the key reads as until it is answered.
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

    /// Whether any unanswered key has been read.
    pub(crate) fn any(&self) -> bool {
        self.is_active() && !self.all.borrow().is_empty()
    }

    /// Every unanswered key that has been read.
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
    pub(crate) fn measure<R>(&self, run: impl FnOnce() -> R) -> (R, Keys) {
        // A key may become known while running; what ran before cannot have read it.
        if !self.is_active() {
            return (run(), Keys::default());
        }
        self.open.borrow_mut().push(Keys::default());
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
    pub(crate) fn taint<'n>(&self, names: impl Iterator<Item = &'n str>, keys: &Keys) {
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

    /// The same for everything a statement mentions: any of it may have been changed.
    pub(crate) fn taint_text(&self, text: &str, keys: &Keys) {
        if !keys.is_empty() {
            self.taint(words(text), keys);
        }
    }

    /// Begins a condition or loop; what is added holds until the guard is dropped.
    pub(crate) fn enclosing(&self) -> Enclosing<'_> {
        let mark = if self.is_active() {
            self.enclosing.borrow().len()
        } else {
            0
        };
        Enclosing {
            reads: self,
            mark,
            added: Cell::new(false),
        }
    }

    /// The keys that decide whether the current place is reached at all.
    pub(crate) fn around(&self) -> Vec<Rc<str>> {
        self.enclosing.borrow().clone()
    }
}

/// Keys that hold for a block.
pub(crate) struct Enclosing<'r> {
    reads: &'r Reads,
    mark: usize,
    added: Cell<bool>,
}

impl Enclosing<'_> {
    pub(crate) fn add(&self, keys: Keys) {
        if !keys.is_empty() {
            self.added.set(true);
            self.reads.enclosing.borrow_mut().extend(keys);
        }
    }
}

impl Drop for Enclosing<'_> {
    fn drop(&mut self) {
        if self.added.get() {
            self.reads.enclosing.borrow_mut().truncate(self.mark);
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}
