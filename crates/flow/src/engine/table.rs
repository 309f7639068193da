//! Rows as they were and as they are: what was read, what was changed, and what that comes to.

use std::collections::BTreeMap;

/// Rows of one kind by their key. A row that is not here is not known; one that is `None` is known
/// not to exist.
#[derive(Clone, Debug)]
pub(crate) struct Table<K, T> {
    slots: BTreeMap<K, Slot<T>>,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    before: Option<T>,
    now: Option<T>,
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
    pub(crate) fn get(&self, key: &K) -> Option<Option<&T>> {
        self.slots.get(key).map(|slot| slot.now.as_ref())
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut T> {
        self.slots.get_mut(key).and_then(|slot| slot.now.as_mut())
    }

    /// Whether there is a row that was not there before.
    pub(crate) fn is_new(&self, key: &K) -> bool {
        let slot = self.slots.get(key);
        slot.is_some_and(|slot| slot.before.is_none() && slot.now.is_some())
    }

    /// What was found of a key, unless more is known already.
    pub(crate) fn learn(&mut self, key: K, found: Option<T>) {
        self.slots.entry(key).or_insert_with(|| Slot {
            before: found.clone(),
            now: found,
        });
    }

    pub(crate) fn set(&mut self, key: K, now: Option<T>) {
        match self.slots.get_mut(&key) {
            Some(slot) => slot.now = now,
            None => {
                self.slots.insert(key, Slot { before: None, now });
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &T)> {
        let slots = self.slots.iter();
        slots.filter_map(|(key, slot)| slot.now.as_ref().map(|now| (key, now)))
    }

    /// Forgets what is known of keys that are not to be kept.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&K, Option<&T>) -> bool) {
        self.slots
            .retain(|key, slot| is_kept(key, slot.now.as_ref()));
    }

    /// The rows that are not what they were.
    pub(crate) fn changed(&self) -> Vec<(K, Option<T>)> {
        let slots = self.slots.iter();
        let changed = slots.filter(|(_, slot)| slot.before != slot.now);
        changed
            .map(|(key, slot)| (key.clone(), slot.now.clone()))
            .collect()
    }

    /// The rows that are not what they were; from now on they are.
    pub(crate) fn flush(&mut self) -> Vec<(K, Option<T>)> {
        let changed = self.changed();
        for (key, now) in &changed {
            if let Some(slot) = self.slots.get_mut(key) {
                slot.before.clone_from(now);
            }
        }
        changed
    }
}
