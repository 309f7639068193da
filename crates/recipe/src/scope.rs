//! The values a step sees, by name.

use std::collections::BTreeMap;
use std::rc::Rc;

use expr::{EvalContext, JsObject, Limits, Value};
use serde_json::Map;

use crate::unknown_values::{ReadTracker, UnknownReason};

/// Variables, exports and what the run itself puts there.
///
/// Values are shared, not copied, when a scope is cloned, so a step that runs for each of ten
/// thousand items costs what the items cost.
#[derive(Clone, Default)]
pub(crate) struct VariableScope {
    state: JsObject,
    /// The names among them whose values are not known yet, with their lazy values.
    unknown: BTreeMap<String, (UnknownReason, Value)>,
}

impl VariableScope {
    pub(crate) fn of(values: &Map<String, serde_json::Value>) -> Self {
        Self {
            state: JsObject::from_json_map(values),
            unknown: BTreeMap::new(),
        }
    }

    /// Returns the variables that templates are rendered over.
    pub(crate) fn state(&self) -> &JsObject {
        &self.state
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.unknown.remove(name);
        self.state.insert(name, value);
    }

    pub(crate) fn set_json(&mut self, name: &str, value: &serde_json::Value) {
        self.set(name, Value::from_json(value));
    }

    /// Says that a value will be known later.
    pub(crate) fn set_unknown(
        &mut self,
        name: &str,
        why: UnknownReason,
        stand_in: Value,
        tracker: &Rc<ReadTracker>,
    ) {
        let value = tracker.unknown(why, stand_in);
        self.unknown.insert(name.to_owned(), (why, value.clone()));
        self.state.insert(name, value);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.state.contains(name)
    }

    /// Returns why the value is unknown, with its stand-in.
    pub(crate) fn unknown(&self, name: &str) -> Option<&(UnknownReason, Value)> {
        self.unknown.get(name)
    }

    /// Takes a name over from another scope, unknown or not.
    pub(crate) fn take_over(&mut self, name: &str, from: &VariableScope, as_name: &str) {
        if let Some((why, value)) = from.unknown.get(name) {
            self.unknown
                .insert(as_name.to_owned(), (*why, value.clone()));
            self.state.insert(as_name, value.clone());
        } else if let Some(value) = from.state.get(name) {
            self.set(as_name, value);
        }
    }

    /// Returns every known value that is data, by name: variables, exports, values set by prompts
    /// and queries.
    pub(crate) fn variables(&self) -> Map<String, serde_json::Value> {
        let names = self.state.keys();
        let names = names
            .into_iter()
            .filter(|name| !matches!(&**name, "recipe" | "step" | "fileExists" | "dirExists"));
        let values = names.filter_map(|name| {
            let value = self.json(&name)?;
            (!value.is_null()).then(|| (name.to_string(), value))
        });
        values.collect()
    }

    /// Returns a known value as data.
    pub(crate) fn json(&self, name: &str) -> Option<serde_json::Value> {
        if self.unknown.contains_key(name) {
            return None;
        }
        to_json(&self.state.get(name)?)
    }
}

/// Converts a value to data; a part that JSON cannot express is `null`.
pub(crate) fn to_json(value: &Value) -> Option<serde_json::Value> {
    let globals = JsObject::new();
    let mut cx = EvalContext::new(Limits::default(), &globals);
    value.to_json(&mut cx).ok()
}
