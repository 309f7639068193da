//! The values expressions work on: JavaScript's, shared by reference counting.
//!
//! Reference cycles (`a.self = a`) are possible and are freed with the process, not before; a
//! render is short and bounded by [`crate::Limits`].

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::context::EvalContext;
use crate::error::Error;
use crate::ir::ArrowFunction;
use crate::iterative_drop::dismantle;
use crate::property::array_index;
use crate::regex::JsRegex;

/// A JavaScript value.
#[derive(Clone, Default)]
pub enum Value {
    #[default]
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    BigInt(Rc<i128>),
    String(Rc<str>),
    Array(Rc<JsArray>),
    Object(Rc<RefCell<JsObject>>),
    Function(Rc<JsFunction>),
    /// A function or namespace of the standard library: `Math`, `String`, `parseInt`.
    Builtin(&'static Builtin),
    RegExp(Rc<JsRegex>),
    /// Milliseconds since the epoch, NaN when invalid.
    Date(Rc<Cell<f64>>),
    Map(Rc<RefCell<CollectionEntries>>),
    Set(Rc<RefCell<CollectionEntries>>),
    /// A property that is computed when it is read; never seen outside property storage.
    Lazy(Rc<LazyValue>),
}

/// The elements of an array, to be read and changed like any `RefCell<Vec<Value>>`.
#[derive(Default)]
pub struct JsArray(RefCell<Vec<Value>>);

/// A plain object: properties in JavaScript's order (integer keys ascending, then insertion).
#[derive(Clone, Default)]
pub struct JsObject {
    properties: IndexMap<Rc<str>, Value, FxBuildHasher>,
    integer_keys: bool,
}

/// The contents of a `Map` or `Set`, in insertion order. For a set the value repeats the key.
#[derive(Clone, Default)]
pub struct CollectionEntries {
    pub(crate) index: IndexMap<EntryKey, (Value, Value), FxBuildHasher>,
}

/// Identity of a `Map` key: two keys are the same by SameValueZero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EntryKey {
    Undefined,
    Null,
    Bool(bool),
    Number(u64),
    BigInt(i128),
    String(Rc<str>),
    Reference(usize),
}

/// Computes a property's value at each read, so that the host can see the read happen.
pub struct LazyValue(pub Box<dyn Fn() -> Value>);

/// A function value that is not part of the standard library.
pub enum JsFunction {
    /// An arrow function of an expression, with the variables it sees.
    Arrow {
        arrow: Rc<ArrowFunction>,
        frame: Rc<Frame>,
    },
    /// A function the host hands in: a name helper, a slot, `$props.get`.
    Host { name: Rc<str>, call: HostFn },
    /// A method read without being called: `"abc".trim`.
    Method { receiver: Value, name: Rc<str> },
}

/// A function of the host.
pub type HostFn = Box<dyn Fn(&mut EvalContext<'_>, &[Value]) -> Result<Value, Error>>;

/// A function of the standard library: context, `this`, arguments.
pub type NativeFn = fn(&mut EvalContext<'_>, &Value, &[Value]) -> Result<Value, Error>;

/// A global of the standard library. All of them are statics, so reading one allocates nothing.
pub struct Builtin {
    pub name: &'static str,
    pub call: Option<NativeFn>,
    pub construct: Option<NativeFn>,
    pub members: &'static [(&'static str, BuiltinMember)],
}

/// A member of a [`Builtin`]: `Math.PI`, `JsObject.keys`.
pub enum BuiltinMember {
    Number(f64),
    Function(&'static Builtin),
}

/// The variables of one activation: a template, a partial, a function call.
pub struct Frame {
    slots: RefCell<Vec<Value>>,
    parent: Option<Rc<Frame>>,
    state: Rc<RefCell<JsObject>>,
}

impl Value {
    pub fn string(text: impl Into<Rc<str>>) -> Self {
        Value::String(text.into())
    }

    pub fn array(items: Vec<Value>) -> Self {
        Value::Array(Rc::new(JsArray::from(items)))
    }

    pub fn object(object: JsObject) -> Self {
        Value::Object(Rc::new(RefCell::new(object)))
    }

    pub fn host(
        name: &str,
        call: impl Fn(&mut EvalContext<'_>, &[Value]) -> Result<Value, Error> + 'static,
    ) -> Self {
        Value::Function(Rc::new(JsFunction::Host {
            name: name.into(),
            call: Box::new(call),
        }))
    }

    pub fn lazy(read: impl Fn() -> Value + 'static) -> Self {
        Value::Lazy(Rc::new(LazyValue(Box::new(read))))
    }

    pub(crate) fn is_nullish(&self) -> bool {
        matches!(self, Value::Undefined | Value::Null)
    }

    /// Returns JavaScript's truthiness.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Undefined | Value::Null => false,
            Value::Bool(value) => *value,
            Value::Number(value) => *value != 0.0 && !value.is_nan(),
            Value::BigInt(value) => **value != 0,
            Value::String(text) => !text.is_empty(),
            _ => true,
        }
    }

    /// Returns the result of `typeof`.
    pub fn type_of(&self) -> &'static str {
        match self {
            Value::Undefined => "undefined",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::BigInt(_) => "bigint",
            Value::String(_) => "string",
            Value::Function(_) => "function",
            Value::Builtin(builtin) if builtin.call.is_some() || builtin.construct.is_some() => {
                "function"
            }
            _ => "object",
        }
    }

    pub fn is_callable(&self) -> bool {
        self.type_of() == "function"
    }

    /// Returns the value of a lazy property, or any other value unchanged.
    pub(crate) fn forced(self) -> Value {
        match self {
            Value::Lazy(lazy) => (lazy.0)(),
            other => other,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::String(text) => write!(f, "{text:?}"),
            Value::Number(number) => write!(f, "{number}"),
            other => write!(f, "<{}>", other.type_of()),
        }
    }
}

impl From<Vec<Value>> for JsArray {
    fn from(items: Vec<Value>) -> Self {
        JsArray(RefCell::new(items))
    }
}

impl Deref for JsArray {
    type Target = RefCell<Vec<Value>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for JsArray {
    fn drop(&mut self) {
        dismantle(self.0.get_mut().drain(..));
    }
}

impl Drop for JsObject {
    fn drop(&mut self) {
        dismantle(self.properties.drain(..).map(|(_, value)| value));
    }
}

impl Drop for CollectionEntries {
    fn drop(&mut self) {
        dismantle(
            self.index
                .drain(..)
                .flat_map(|(_, (key, value))| [key, value]),
        );
    }
}

impl Drop for JsFunction {
    fn drop(&mut self) {
        if let JsFunction::Method { receiver, .. } = self {
            dismantle(std::iter::once(std::mem::take(receiver)));
        }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        dismantle(self.slots.get_mut().drain(..));
    }
}

impl JsObject {
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a property, computing it if it is lazy.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.properties.get(key).map(|value| value.clone().forced())
    }

    /// Looks at a stored property without computing it.
    pub(crate) fn peek(&self, key: &str) -> Option<&Value> {
        self.properties.get(key)
    }

    /// Looks at a stored property first where it was `seen` last.
    pub(crate) fn peek_near(&self, key: &Rc<str>, seen: &Cell<usize>) -> Option<&Value> {
        if let Some((found, value)) = self.properties.get_index(seen.get())
            && found == key
        {
            return Some(value);
        }
        let (index, _, value) = self.properties.get_full(&**key)?;
        seen.set(index);
        Some(value)
    }

    pub fn contains(&self, key: &str) -> bool {
        self.properties.contains_key(key)
    }

    pub fn insert(&mut self, key: impl Into<Rc<str>>, value: Value) {
        let key = key.into();
        let new = self.properties.insert(key.clone(), value).is_none();
        if new && array_index(&key).is_some() {
            self.integer_keys = true;
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.properties.shift_remove(key)
    }

    pub fn len(&self) -> usize {
        self.properties.len()
    }

    pub fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// Returns the keys in JavaScript's order.
    pub fn keys(&self) -> Vec<Rc<str>> {
        if !self.integer_keys {
            return self.properties.keys().cloned().collect();
        }
        let (mut integers, names): (Vec<_>, Vec<_>) = self
            .properties
            .keys()
            .cloned()
            .partition(|key| array_index(key).is_some());
        integers.sort_by_key(|key| key.parse::<u32>().unwrap_or(u32::MAX));
        integers.extend(names);
        integers
    }

    /// Returns the properties in JavaScript's order, lazy ones computed.
    pub fn entries(&self) -> Vec<(Rc<str>, Value)> {
        self.keys()
            .into_iter()
            .map(|key| {
                let value = self.get(&key).unwrap_or_default();
                (key, value)
            })
            .collect()
    }
}

impl FromIterator<(Rc<str>, Value)> for JsObject {
    fn from_iter<I: IntoIterator<Item = (Rc<str>, Value)>>(iter: I) -> Self {
        let mut object = JsObject::new();
        for (key, value) in iter {
            object.insert(key, value);
        }
        object
    }
}

impl EntryKey {
    pub(crate) fn of(value: &Value) -> EntryKey {
        fn address<T: ?Sized>(rc: &Rc<T>) -> EntryKey {
            EntryKey::Reference(Rc::as_ptr(rc).cast::<()>() as usize)
        }
        match value {
            Value::Undefined => EntryKey::Undefined,
            Value::Null => EntryKey::Null,
            Value::Bool(value) => EntryKey::Bool(*value),
            Value::Number(number) if number.is_nan() => EntryKey::Number(f64::NAN.to_bits()),
            // `+ 0.0` folds -0 into 0.
            Value::Number(number) => EntryKey::Number((number + 0.0).to_bits()),
            Value::BigInt(value) => EntryKey::BigInt(**value),
            Value::String(text) => EntryKey::String(text.clone()),
            Value::Array(rc) => address(rc),
            Value::Object(rc) => address(rc),
            Value::Function(rc) => address(rc),
            Value::Builtin(builtin) => EntryKey::Reference(std::ptr::from_ref(*builtin) as usize),
            Value::RegExp(rc) => address(rc),
            Value::Date(rc) => address(rc),
            Value::Map(rc) => address(rc),
            Value::Set(rc) => address(rc),
            Value::Lazy(rc) => address(rc),
        }
    }
}

impl Frame {
    /// Makes the frame of a template: its variables and the state its free names are read from.
    pub fn root(state: Rc<RefCell<JsObject>>, slots: usize) -> Rc<Frame> {
        Rc::new(Frame {
            slots: RefCell::new(vec![Value::Undefined; slots]),
            parent: None,
            state,
        })
    }

    /// Makes a frame inside another: a partial, an iteration, a function call.
    pub fn child(parent: &Rc<Frame>, slots: usize) -> Rc<Frame> {
        Rc::new(Frame {
            slots: RefCell::new(vec![Value::Undefined; slots]),
            parent: Some(parent.clone()),
            state: parent.state.clone(),
        })
    }

    pub fn state(&self) -> &Rc<RefCell<JsObject>> {
        &self.state
    }

    pub fn set(&self, slot: usize, value: Value) {
        let mut slots = self.slots.borrow_mut();
        if slots.len() <= slot {
            slots.resize(slot + 1, Value::Undefined);
        }
        slots[slot] = value;
    }

    pub fn get(&self, slot: usize) -> Value {
        self.slots.borrow().get(slot).cloned().unwrap_or_default()
    }

    pub(crate) fn with<R>(&self, slot: usize, read: impl FnOnce(&Value) -> R) -> R {
        match self.slots.borrow().get(slot) {
            Some(value) => read(value),
            None => read(&Value::Undefined),
        }
    }

    /// Returns the frame `hops` levels up.
    pub(crate) fn up(self: &Rc<Self>, hops: u16) -> &Rc<Frame> {
        let mut frame = self;
        for _ in 0..hops {
            match &frame.parent {
                Some(parent) => frame = parent,
                None => break,
            }
        }
        frame
    }
}
