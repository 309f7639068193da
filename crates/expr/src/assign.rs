//! Assignment: to names, members and patterns.

use std::rc::Rc;

use crate::builtins;
use crate::context::Context;
use crate::convert::to_text;
use crate::error::Error;
use crate::eval::{not_defined, own_entries, step};
use crate::ir::{Assign, Binding, Key, Target, Update};
use crate::operators;
use crate::property;
use crate::value::{Frame, Object, Value};

impl Target {
    /// Puts a value where the target says.
    pub(crate) fn assign(
        &self,
        cx: &mut Context<'_>,
        frame: &Rc<Frame>,
        value: Value,
    ) -> Result<(), Error> {
        cx.charge(1)?;
        match self {
            Target::Variable { hops, slot } => {
                frame.up(*hops).set(slot.index(), value);
                Ok(())
            }
            Target::Ended { name, at } => Err(not_defined(name, *at)),
            Target::State { name } => {
                property::set(cx, &Value::Object(frame.state().clone()), name, value)
            }
            Target::Member { object, name, at } => {
                let object = object.eval(cx, frame)?;
                property::set(cx, &object, name, value).map_err(|e| e.at(*at))
            }
            Target::Index { object, index, at } => {
                let object = object.eval(cx, frame)?;
                let index = index.eval(cx, frame)?;
                let key = to_text(cx, &index)?;
                property::set(cx, &object, &key, value).map_err(|e| e.at(*at))
            }
            Target::Object {
                properties,
                rest,
                at,
            } => take_apart_object(cx, frame, (properties, rest.as_deref()), &value)
                .map_err(|e| e.at(*at)),
            Target::Array { elements, rest, at } => {
                take_apart_array(cx, frame, (elements, rest.as_deref()), &value)
                    .map_err(|e| e.at(*at))
            }
        }
    }

    /// Reads the target's present value, for `+=` and `++`.
    fn read(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        match self {
            Target::Variable { hops, slot } => Ok(frame.up(*hops).get(slot.index())),
            Target::Ended { name, at } => Err(not_defined(name, *at)),
            Target::State { name } => {
                let own = frame.state().borrow().get(name);
                Ok(own.unwrap_or_else(|| cx.global(name, 0)))
            }
            Target::Member { object, name, at } => {
                let object = object.eval(cx, frame)?;
                property::get(&object, name).map_err(|e| e.at(*at))
            }
            Target::Index { object, index, at } => {
                let object = object.eval(cx, frame)?;
                let index = index.eval(cx, frame)?;
                property::get_index(cx, &object, &index).map_err(|e| e.at(*at))
            }
            Target::Object { .. } | Target::Array { .. } => Ok(Value::Undefined),
        }
    }

    /// `delete target`
    pub(crate) fn delete(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<bool, Error> {
        match self {
            Target::Member { object, name, .. } => {
                let object = object.eval(cx, frame)?;
                Ok(property::delete(&object, name))
            }
            Target::Index { object, index, .. } => {
                let object = object.eval(cx, frame)?;
                let index = index.eval(cx, frame)?;
                let key = to_text(cx, &index)?;
                Ok(property::delete(&object, &key))
            }
            Target::State { name } => Ok(property::delete(
                &Value::Object(frame.state().clone()),
                name,
            )),
            _ => Ok(false),
        }
    }
}

impl Binding {
    pub(crate) fn assign(
        &self,
        cx: &mut Context<'_>,
        frame: &Rc<Frame>,
        value: Value,
    ) -> Result<(), Error> {
        let value = match (&self.default, value) {
            (Some(default), Value::Undefined) => default.eval(cx, frame)?,
            (_, value) => value,
        };
        self.target.assign(cx, frame, value)
    }
}

impl Assign {
    pub(crate) fn eval(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        let value = match self.operator {
            None => self.value.eval(cx, frame)?,
            Some(operator) => {
                let old = self.target.read(cx, frame)?;
                let operand = self.value.eval(cx, frame)?;
                operators::binary(cx, operator, &old, &operand).map_err(|e| e.at(self.at))?
            }
        };
        self.target.assign(cx, frame, value.clone())?;
        Ok(value)
    }
}

impl Update {
    pub(crate) fn eval(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        let old = self.target.read(cx, frame)?;
        let (old, new) = step(cx, &old, self.increment).map_err(|e| e.at(self.at))?;
        self.target.assign(cx, frame, new.clone())?;
        Ok(if self.prefix { new } else { old })
    }
}

fn take_apart_object(
    cx: &mut Context<'_>,
    frame: &Rc<Frame>,
    (properties, rest): (&[(Key, Binding)], Option<&Target>),
    value: &Value,
) -> Result<(), Error> {
    if value.is_nullish() {
        let text = to_text(cx, value)?;
        return Err(Error::runtime(format!(
            "Cannot destructure '{text}' as it is {text}."
        )));
    }
    let mut taken = Vec::with_capacity(properties.len());
    for (key, binding) in properties {
        let key = match key {
            Key::Named(name) => name.clone(),
            Key::Computed(node) => {
                let key = node.eval(cx, frame)?;
                to_text(cx, &key)?
            }
        };
        let part = property::get(value, &key)?;
        taken.push(key);
        binding.assign(cx, frame, part)?;
    }
    if let Some(rest) = rest {
        let left: Object = own_entries(cx, value)?
            .into_iter()
            .filter(|(key, _)| !taken.contains(key))
            .collect();
        rest.assign(cx, frame, Value::object(left))?;
    }
    Ok(())
}

fn take_apart_array(
    cx: &mut Context<'_>,
    frame: &Rc<Frame>,
    (elements, rest): (&[Option<Binding>], Option<&Target>),
    value: &Value,
) -> Result<(), Error> {
    let Some(values) = builtins::iterate(cx, value)? else {
        let text = to_text(cx, value)?;
        return Err(Error::runtime(format!("{text} is not iterable")));
    };
    let mut values = values.into_iter();
    for element in elements {
        let part = values.next().unwrap_or_default();
        if let Some(binding) = element {
            binding.assign(cx, frame, part)?;
        }
    }
    match rest {
        Some(rest) => rest.assign(cx, frame, Value::array(values.collect())),
        None => Ok(()),
    }
}
