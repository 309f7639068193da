//! A table of cached rows that knows both the state it read and the present state, and so the
//! changes.
//!
//! Rows are shared, and copied when they are changed: most are read many times on their way from
//! the store through the cache into a decision, and few are changed.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Cached rows of one kind by their key. A key without an entry is unknown; an entry that is `None`
/// says that the row does not exist.
#[derive(Clone, Debug)]
pub(crate) struct RowTable<K, T> {
    slots: BTreeMap<K, TableSlot<T>>,
}

/// One row: as it was read or last flushed, and as it is now.
#[derive(Clone, Debug)]
struct TableSlot<T> {
    before: Option<Arc<T>>,
    now: Option<Arc<T>>,
}

impl<T: PartialEq> TableSlot<T> {
    fn is_changed(&self) -> bool {
        match (&self.before, &self.now) {
            (Some(before), Some(now)) => !Arc::ptr_eq(before, now) && before != now,
            (before, now) => before.is_some() != now.is_some(),
        }
    }
}

impl<K: Ord, T> Default for RowTable<K, T> {
    fn default() -> Self {
        RowTable {
            slots: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone, T: Clone + PartialEq> RowTable<K, T> {
    /// Returns the entry of a key; `None` if the key is unknown.
    pub(crate) fn get(&self, key: &K) -> Option<Option<&Arc<T>>> {
        self.slots.get(key).map(|slot| slot.now.as_ref())
    }

    /// Returns a row before any change.
    pub(crate) fn was(&self, key: &K) -> Option<&T> {
        self.slots.get(key)?.before.as_deref()
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut T> {
        let slot = self.slots.get_mut(key)?;
        slot.now.as_mut().map(Arc::make_mut)
    }

    /// Tells whether the row exists now and did not before.
    pub(crate) fn is_new(&self, key: &K) -> bool {
        let slot = self.slots.get(key);
        slot.is_some_and(|slot| slot.before.is_none() && slot.now.is_some())
    }

    /// Adds the result of a lookup, unless the key has an entry already.
    pub(crate) fn learn(&mut self, key: K, found: Option<Arc<T>>) {
        self.slots.entry(key).or_insert_with(|| TableSlot {
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
                self.slots.insert(key, TableSlot { before: None, now });
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &Arc<T>)> {
        let slots = self.slots.iter();
        slots.filter_map(|(key, slot)| slot.now.as_ref().map(|now| (key, now)))
    }

    /// Drops the entries of all keys for which `is_kept` is false.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&K, Option<&T>) -> bool) {
        self.slots
            .retain(|key, slot| is_kept(key, slot.now.as_deref()));
    }

    /// Returns the changed rows.
    pub(crate) fn changed(&self) -> Vec<(K, Option<Arc<T>>)> {
        let slots = self.slots.iter();
        let changed = slots.filter(|(_, slot)| slot.is_changed());
        changed
            .map(|(key, slot)| (key.clone(), slot.now.clone()))
            .collect()
    }

    /// Returns the rows for which `is_so` was true before the changes and is not now.
    pub(crate) fn ceased(&self, is_so: impl Fn(&T) -> bool) -> Vec<K> {
        let slots = self.slots.iter().filter(|(_, slot)| {
            let is_so = |row: &Option<Arc<T>>| row.as_ref().is_some_and(|row| is_so(row));
            is_so(&slot.before) && !is_so(&slot.now)
        });
        slots.map(|(key, _)| key.clone()).collect()
    }

    /// Returns the changed rows, and takes their present state as the stored one.
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
