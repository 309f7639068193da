//! Rows as they were and as they are: what was read, what was changed, and what that comes to.
//!
//! Rows are shared, and copied when they are changed: most are read many times on their way from
//! the store through a batch into a decision, and few are changed.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of one kind by their key. A row that is not here is not known; one that is `None` is known
/// not to exist.
#[derive(Clone, Debug)]
pub(crate) struct Table<K, T> {
    slots: BTreeMap<K, Slot<T>>,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    before: Option<Arc<T>>,
    now: Option<Arc<T>>,
}

impl<T: PartialEq> Slot<T> {
    fn is_changed(&self) -> bool {
        match (&self.before, &self.now) {
            (Some(before), Some(now)) => !Arc::ptr_eq(before, now) && before != now,
            (before, now) => before.is_some() != now.is_some(),
        }
    }
}

impl<K: Ord, T> Default for Table<K, T> {
    fn default() -> Self {
        Table {
            slots: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone, T: Clone + PartialEq> Table<K, T> {
    /// What is known of a key; `None` when nothing is.
    pub(crate) fn get(&self, key: &K) -> Option<Option<&Arc<T>>> {
        self.slots.get(key).map(|slot| slot.now.as_ref())
    }

    /// A row as it was before anything changed it.
    pub(crate) fn was(&self, key: &K) -> Option<&T> {
        self.slots.get(key)?.before.as_deref()
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut T> {
        let slot = self.slots.get_mut(key)?;
        slot.now.as_mut().map(Arc::make_mut)
    }

    /// Whether there is a row that was not there before.
    pub(crate) fn is_new(&self, key: &K) -> bool {
        let slot = self.slots.get(key);
        slot.is_some_and(|slot| slot.before.is_none() && slot.now.is_some())
    }

    /// What was found of a key, unless more is known already.
    pub(crate) fn learn(&mut self, key: K, found: Option<Arc<T>>) {
        self.slots.entry(key).or_insert_with(|| Slot {
            before: found.clone(),
            now: found,
        });
    }

    pub(crate) fn put(&mut self, key: K, row: T) {
        self.set(key, Some(Arc::new(row)));
    }

    pub(crate) fn set(&mut self, key: K, now: Option<Arc<T>>) {
        match self.slots.get_mut(&key) {
            Some(slot) => slot.now = now,
            None => {
                self.slots.insert(key, Slot { before: None, now });
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &Arc<T>)> {
        let slots = self.slots.iter();
        slots.filter_map(|(key, slot)| slot.now.as_ref().map(|now| (key, now)))
    }

    /// Forgets what is known of keys that are not to be kept.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&K, Option<&T>) -> bool) {
        self.slots
            .retain(|key, slot| is_kept(key, slot.now.as_deref()));
    }

    /// The rows that are not what they were.
    pub(crate) fn changed(&self) -> Vec<(K, Option<Arc<T>>)> {
        let slots = self.slots.iter();
        let changed = slots.filter(|(_, slot)| slot.is_changed());
        changed
            .map(|(key, slot)| (key.clone(), slot.now.clone()))
            .collect()
    }

    /// The rows of which something was so that is not so any more.
    pub(crate) fn ceased(&self, is_so: impl Fn(&T) -> bool) -> Vec<K> {
        let slots = self.slots.iter().filter(|(_, slot)| {
            let is_so = |row: &Option<Arc<T>>| row.as_ref().is_some_and(|row| is_so(row));
            is_so(&slot.before) && !is_so(&slot.now)
        });
        slots.map(|(key, _)| key.clone()).collect()
    }

    /// The rows that are not what they were; from now on they are.
    pub(crate) fn flush(&mut self) -> Vec<(K, Option<Arc<T>>)> {
        let slots = self.slots.iter_mut();
        let changed = slots.filter(|(_, slot)| slot.is_changed());
        let flushed = changed.map(|(key, slot)| {
            slot.before.clone_from(&slot.now);
            (key.clone(), slot.now.clone())
        });
        flushed.collect()
    }
}
