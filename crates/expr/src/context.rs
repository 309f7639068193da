//! The state of an evaluation: the limits left, the host's globals, and the undefined names it met.

use std::rc::Rc;

use crate::error::Error;
use crate::limits::Limits;
use crate::value::{JsObject, Value};

/// Stack left below which a nested call moves to a fresh stack segment, and the segment's size.
const STACK_RED_ZONE_BYTES: usize = 1 << 20;
const STACK_SEGMENT_BYTES: usize = 4 << 20;
/// One unit of fuel pays for this many bytes.
const BYTES_PER_FUEL_UNIT: usize = 16;

/// The state of one evaluation or render.
pub struct EvalContext<'h> {
    limits: Limits,
    fuel: u64,
    depth: u32,
    globals: &'h JsObject,
    now_ms: Option<f64>,
    undefined: Option<Vec<UndefinedName>>,
    lenient: bool,
}

/// A free name that neither the state nor the globals had, seen in strict mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndefinedName {
    pub name: Rc<str>,
    /// Byte offset in the expression that read it.
    pub offset: u32,
}

impl<'h> EvalContext<'h> {
    /// Makes a context whose free names fall back to `globals` (name helpers and the like).
    pub fn new(limits: Limits, globals: &'h JsObject) -> Self {
        Self {
            limits,
            fuel: limits.fuel_max,
            depth: 0,
            globals,
            now_ms: None,
            undefined: None,
            lenient: false,
        }
    }

    /// Hands in the time, without which `new Date()` and `Date.now()` are errors.
    #[must_use]
    pub fn with_now_ms(mut self, now_ms: f64) -> Self {
        self.now_ms = Some(now_ms);
        self
    }

    /// Makes every property and method of `undefined` and `null` read as `undefined`, as if each
    /// were reached by `?.`.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Returns true if a property of this value reads as `undefined` instead of being an error.
    pub(crate) fn forgives(&self, object: &Value) -> bool {
        self.lenient && object.is_nullish()
    }

    /// Starts noting undefined names; they still read as `undefined`.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.undefined = Some(Vec::new());
        self
    }

    /// Takes the undefined names noted since the last call.
    pub fn take_undefined(&mut self) -> Vec<UndefinedName> {
        self.undefined
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    pub fn is_strict(&self) -> bool {
        self.undefined.is_some()
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn now_ms(&self) -> Option<f64> {
        self.now_ms
    }

    /// Pays for work.
    #[inline]
    pub fn charge(&mut self, units: u64) -> Result<(), Error> {
        match self.fuel.checked_sub(units) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => {
                self.fuel = 0;
                Err(Error::limit(format!(
                    "this takes more than fuel_max = {} units of work; look for a loop that does not end, or raise the limit",
                    self.limits.fuel_max
                )))
            }
        }
    }

    /// Pays for producing or scanning bytes.
    #[inline]
    pub(crate) fn charge_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        self.charge((bytes / BYTES_PER_FUEL_UNIT) as u64 + 1)
    }

    /// Pays for a string about to be built, and refuses one that is too long.
    pub fn reserve_string(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes > self.limits.string_bytes_max {
            return Err(Error::limit(format!(
                "a string of {bytes} bytes is longer than string_bytes_max = {}",
                self.limits.string_bytes_max
            )));
        }
        self.charge_bytes(bytes)
    }

    /// Pays for a collection about to hold `items`, and refuses one that is too large.
    pub(crate) fn reserve_items(&mut self, items: usize) -> Result<(), Error> {
        if items > self.limits.items_max {
            return Err(Error::limit(format!(
                "a list of {items} items is longer than items_max = {}",
                self.limits.items_max
            )));
        }
        self.charge(items as u64 + 1)
    }

    /// Runs something one level deeper, on a stack that cannot overflow.
    pub fn deeper<R>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if self.depth >= self.limits.depth_max {
            return Err(Error::limit(format!(
                "calls and includes are nested deeper than depth_max = {}; look for something that includes or calls itself",
                self.limits.depth_max
            )));
        }
        self.depth += 1;
        let result = stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || run(self));
        self.depth -= 1;
        result
    }

    /// Reads a free name from the globals; notes it as undefined if they do not have it.
    pub(crate) fn global(&mut self, name: &Rc<str>, offset: u32) -> Value {
        match self.globals.get(name) {
            Some(value) => value,
            None => {
                if let Some(undefined) = &mut self.undefined {
                    undefined.push(UndefinedName {
                        name: name.clone(),
                        offset,
                    });
                }
                Value::Undefined
            }
        }
    }

    pub(crate) fn has_global(&self, name: &str) -> bool {
        self.globals.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use crate::{EvalContext, Frame, JsObject, Limits, NameScope, compile};
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn a_lenient_context_reads_nothing_of_nothing() {
        let state = serde_json::json!({ "a": { "list": [1] }, "none": null });
        for (source, expected) in [
            ("a.b.c", "undefined"),
            ("none.x.y", "undefined"),
            ("a.b.filter(x => x).length", "undefined"),
            ("nobody.at[1]", "undefined"),
            ("nobody.score >= 80", "boolean"),
            ("a.list.length", "number"),
        ] {
            let expr = compile(source, &mut NameScope::new()).unwrap();
            let globals = JsObject::new();
            let state = JsObject::from_json_map(state.as_object().unwrap());
            let frame = Frame::root(Rc::new(RefCell::new(state)), 0);
            let mut cx = EvalContext::new(Limits::default(), &globals).lenient();
            let value = expr.eval(&mut cx, &frame).unwrap();
            assert_eq!(value.type_of(), expected, "{source}");
        }
    }
}
