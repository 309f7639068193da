//! Assignment: to names, members and patterns.

use std::rc::Rc;

use crate::builtins;
use crate::context::EvalContext;
use crate::convert::to_text;
use crate::error::Error;
use crate::eval::{not_defined, own_entries, step};
use crate::ir::{AssignNode, AssignTarget, BindingNode, MemberKey, UpdateNode};
use crate::operators;
use crate::property;
use crate::value::{Frame, JsObject, Value};

impl AssignTarget {
    /// Puts a value where the target says.
    pub(crate) fn assign(
        &self,
        cx: &mut EvalContext<'_>,
        frame: &Rc<Frame>,
        value: Value,
    ) -> Result<(), Error> {
        cx.charge(1)?;
        match self {
            AssignTarget::Variable { hops, slot } => {
                frame.up(*hops).set(slot.index(), value);
                Ok(())
            }
            AssignTarget::Ended { name, at } => Err(not_defined(name, *at)),
            AssignTarget::State { name } => {
                property::set(cx, &Value::Object(frame.state().clone()), name, value)
            }
            AssignTarget::Member { object, name, at } => {
                let object = object.eval(cx, frame)?;
                property::set(cx, &object, name, value).map_err(|e| e.at(*at))
            }
            AssignTarget::Index { object, index, at } => {
                let object = object.eval(cx, frame)?;
                let index = index.eval(cx, frame)?;
                let key = to_text(cx, &index)?;
                property::set(cx, &object, &key, value).map_err(|e| e.at(*at))
            }
            AssignTarget::Object {
                properties,
                rest,
                at,
            } => take_apart_object(cx, frame, (properties, rest.as_deref()), &value)
                .map_err(|e| e.at(*at)),
            AssignTarget::Array { elements, rest, at } => {
                take_apart_array(cx, frame, (elements, rest.as_deref()), &value)
                    .map_err(|e| e.at(*at))
            }
        }
    }

    /// Reads the target's present value, for `+=` and `++`.
    fn read(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        match self {
            AssignTarget::Variable { hops, slot } => Ok(frame.up(*hops).get(slot.index())),
            AssignTarget::Ended { name, at } => Err(not_defined(name, *at)),
            AssignTarget::State { name } => {
                let own = frame.state().borrow().get(name);
                Ok(own.unwrap_or_else(|| cx.global(name, 0)))
            }
            AssignTarget::Member { object, name, at } => {
                let object = object.eval(cx, frame)?;
                property::get(&object, name).map_err(|e| e.at(*at))
            }
            AssignTarget::Index { object, index, at } => {
                let object = object.eval(cx, frame)?;
                let index = index.eval(cx, frame)?;
                property::get_index(cx, &object, &index).map_err(|e| e.at(*at))
            }
            AssignTarget::Object { .. } | AssignTarget::Array { .. } => Ok(Value::Undefined),
        }
    }

    /// `delete target`
    pub(crate) fn delete(
        &self,
        cx: &mut EvalContext<'_>,
        frame: &Rc<Frame>,
    ) -> Result<bool, Error> {
        match self {
            AssignTarget::Member { object, name, .. } => {
                let object = object.eval(cx, frame)?;
                Ok(property::delete(&object, name))
            }
            AssignTarget::Index { object, index, .. } => {
                let object = object.eval(cx, frame)?;
                let index = index.eval(cx, frame)?;
                let key = to_text(cx, &index)?;
                Ok(property::delete(&object, &key))
            }
            AssignTarget::State { name } => Ok(property::delete(
                &Value::Object(frame.state().clone()),
                name,
            )),
            _ => Ok(false),
        }
    }
}

impl BindingNode {
    pub(crate) fn assign(
        &self,
        cx: &mut EvalContext<'_>,
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

impl AssignNode {
    pub(crate) fn eval(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
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

impl UpdateNode {
    pub(crate) fn eval(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        let old = self.target.read(cx, frame)?;
        let (old, new) = step(cx, &old, self.increment).map_err(|e| e.at(self.at))?;
        self.target.assign(cx, frame, new.clone())?;
        Ok(if self.prefix { new } else { old })
    }
}

fn take_apart_object(
    cx: &mut EvalContext<'_>,
    frame: &Rc<Frame>,
    (properties, rest): (&[(MemberKey, BindingNode)], Option<&AssignTarget>),
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
            MemberKey::Named(name) => name.clone(),
            MemberKey::Computed(node) => {
                let key = node.eval(cx, frame)?;
                to_text(cx, &key)?
            }
        };
        let part = property::get(value, &key)?;
        taken.push(key);
        binding.assign(cx, frame, part)?;
    }
    if let Some(rest) = rest {
        let left: JsObject = own_entries(cx, value)?
            .into_iter()
            .filter(|(key, _)| !taken.contains(key))
            .collect();
        rest.assign(cx, frame, Value::object(left))?;
    }
    Ok(())
}

fn take_apart_array(
    cx: &mut EvalContext<'_>,
    frame: &Rc<Frame>,
    (elements, rest): (&[Option<BindingNode>], Option<&AssignTarget>),
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
