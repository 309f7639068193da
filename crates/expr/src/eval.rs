//! Evaluates the tree.

use std::rc::Rc;

use crate::builtins;
use crate::call::construct;
use crate::context::Context;
use crate::convert::{to_number, to_text};
use crate::error::Error;
use crate::ir::{Index, Item, Member, Node, Property, TemplatePart};
use crate::operators;
use crate::property;
use crate::value::{Frame, Function, Object, Value};

impl Node {
    pub(crate) fn eval(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        cx.charge(1)?;
        match self {
            Node::Constant(value) => Ok(value.clone()),
            Node::Variable { hops, slot } => Ok(frame.up(*hops).get(slot.index())),
            Node::State { name, at } => Ok(read_state(cx, frame, name, *at)),
            Node::Member(member) => {
                if let Some(value) = self.peek(frame, Value::clone) {
                    return Ok(value.forced());
                }
                let object = member.object.eval(cx, frame)?;
                member.read(cx, &object)
            }
            Node::Index(index) => {
                let object = index.object.eval(cx, frame)?;
                index.read(cx, frame, &object)
            }
            Node::MethodCall(call) => {
                let object = call.object.eval(cx, frame)?;
                call.finish(cx, frame, &object)
                    .map(Option::unwrap_or_default)
            }
            Node::Call(call) => {
                let callee = call.callee.eval(cx, frame)?;
                call.finish(cx, frame, &callee)
            }
            Node::NativeCall(call) => call.eval(cx, frame),
            Node::Binary(binary) => {
                let left = binary.left.eval(cx, frame)?;
                let right = binary.right.eval(cx, frame)?;
                operators::binary(cx, binary.operator, &left, &right).map_err(|e| e.at(binary.at))
            }
            Node::And(pair) => {
                let left = pair[0].eval(cx, frame)?;
                if left.is_truthy() {
                    pair[1].eval(cx, frame)
                } else {
                    Ok(left)
                }
            }
            Node::Or(pair) => {
                let left = pair[0].eval(cx, frame)?;
                if left.is_truthy() {
                    Ok(left)
                } else {
                    pair[1].eval(cx, frame)
                }
            }
            Node::Conditional(three) => {
                let branch = if three[0].test(cx, frame)? {
                    &three[1]
                } else {
                    &three[2]
                };
                branch.eval(cx, frame)
            }
            Node::Template(parts) => eval_template(cx, frame, parts),
            Node::Chain(inner) => inner.chain(cx, frame).map(Option::unwrap_or_default),
            _ => self.eval_rare(cx, frame),
        }
    }

    /// The kinds of node that are seldom on a hot path.
    fn eval_rare(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        match self {
            Node::RegExp(regex) => Ok(Value::RegExp(Rc::new(regex.fresh()))),
            Node::Ended { name, at } => Err(not_defined(name, *at)),
            Node::StateObject => Ok(Value::Object(frame.state().clone())),
            Node::This => Ok(Value::object(Object::new())),
            Node::Array(items) => {
                let mut values = Vec::with_capacity(items.len());
                collect(cx, frame, items, |value| values.push(value))?;
                cx.reserve_items(values.len())?;
                Ok(Value::array(values))
            }
            Node::Object(properties) => eval_object(cx, frame, properties),
            Node::Arrow(arrow) => Ok(Value::Function(Rc::new(Function::Arrow {
                arrow: arrow.clone(),
                frame: frame.clone(),
            }))),
            Node::Assign(assign) => assign.eval(cx, frame),
            Node::Update(update) => update.eval(cx, frame),
            Node::Unary {
                operator,
                operand,
                at,
            } => {
                let value = operand.eval(cx, frame)?;
                operators::unary(cx, *operator, &value).map_err(|e| e.at(*at))
            }
            Node::TypeOf(operand) => {
                let value = operand.eval_quietly(cx, frame)?;
                Ok(Value::from(value.type_of()))
            }
            Node::Delete(target) => target.delete(cx, frame).map(Value::Bool),
            Node::Coalesce(pair) => {
                let left = pair[0].eval_quietly(cx, frame)?;
                if left.is_nullish() {
                    pair[1].eval(cx, frame)
                } else {
                    Ok(left)
                }
            }
            Node::Sequence(nodes) => {
                let mut last = Value::Undefined;
                for node in nodes {
                    last = node.eval(cx, frame)?;
                }
                Ok(last)
            }
            Node::New(call) => construct(cx, frame, call),
            // The remaining kinds are all handled by `eval`.
            other => other.chain(cx, frame).map(Option::unwrap_or_default),
        }
    }

    /// Evaluates where an undefined name is expected (`typeof x`, `x ?? y`) and not to be noted.
    fn eval_quietly(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        match self {
            Node::State { name, .. } if !cx.has_global(name) => {
                Ok(frame.state().borrow().get(name).unwrap_or_default())
            }
            other => other.eval(cx, frame),
        }
    }

    /// Evaluates a link of an optional chain; `None` when a `?.` before it found nothing.
    fn chain(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<Option<Value>, Error> {
        match self {
            Node::Member(member) => {
                let Some(object) = member.object.chain(cx, frame)? else {
                    return Ok(None);
                };
                if member.optional && object.is_nullish() {
                    return Ok(None);
                }
                member.read(cx, &object).map(Some)
            }
            Node::Index(index) => {
                let Some(object) = index.object.chain(cx, frame)? else {
                    return Ok(None);
                };
                if index.optional && object.is_nullish() {
                    return Ok(None);
                }
                index.read(cx, frame, &object).map(Some)
            }
            Node::MethodCall(call) => {
                let Some(object) = call.object.chain(cx, frame)? else {
                    return Ok(None);
                };
                if call.optional_object && object.is_nullish() {
                    return Ok(None);
                }
                call.finish(cx, frame, &object)
            }
            Node::Call(call) => {
                let Some(callee) = call.callee.chain(cx, frame)? else {
                    return Ok(None);
                };
                if call.optional && callee.is_nullish() {
                    return Ok(None);
                }
                call.finish(cx, frame, &callee).map(Some)
            }
            other => other.eval(cx, frame).map(Some),
        }
    }
}

impl Member {
    fn read(&self, cx: &Context<'_>, object: &Value) -> Result<Value, Error> {
        if cx.forgives(object) {
            return Ok(Value::Undefined);
        }
        property::get(object, &self.name).map_err(|e| e.at(self.at))
    }
}

impl Index {
    fn read(
        &self,
        cx: &mut Context<'_>,
        frame: &Rc<Frame>,
        object: &Value,
    ) -> Result<Value, Error> {
        let index = self.index.eval(cx, frame)?;
        if cx.forgives(object) {
            return Ok(Value::Undefined);
        }
        property::get_index(cx, object, &index).map_err(|e| e.at(self.at))
    }
}

fn read_state(cx: &mut Context<'_>, frame: &Rc<Frame>, name: &Rc<str>, at: u32) -> Value {
    let own = frame.state().borrow().get(name);
    own.unwrap_or_else(|| cx.global(name, at))
}

pub(crate) fn not_defined(name: &str, at: u32) -> Error {
    Error::runtime(format!("{name} is not defined")).at(at)
}

pub(crate) fn collect(
    cx: &mut Context<'_>,
    frame: &Rc<Frame>,
    items: &[Item],
    mut push: impl FnMut(Value),
) -> Result<(), Error> {
    for item in items {
        match item {
            Item::One(node) => push(node.eval(cx, frame)?),
            Item::Hole => push(Value::Undefined),
            Item::Spread(node) => {
                let value = node.eval(cx, frame)?;
                let Some(values) = builtins::iterate(cx, &value)? else {
                    let text = to_text(cx, &value)?;
                    return Err(Error::runtime(format!("{text} is not iterable")));
                };
                cx.reserve_items(values.len())?;
                values.into_iter().for_each(&mut push);
            }
        }
    }
    Ok(())
}

fn eval_template(
    cx: &mut Context<'_>,
    frame: &Rc<Frame>,
    parts: &[TemplatePart],
) -> Result<Value, Error> {
    let mut text = String::new();
    for part in parts {
        match part {
            TemplatePart::Text(part) => text.push_str(part),
            TemplatePart::Node(node) => node.emit(cx, frame, &mut text)?,
        }
        cx.reserve_string(text.len())?;
    }
    Ok(Value::from(text))
}

fn eval_object(
    cx: &mut Context<'_>,
    frame: &Rc<Frame>,
    properties: &[Property],
) -> Result<Value, Error> {
    let mut object = Object::new();
    for property in properties {
        match property {
            Property::Named { key, value } => {
                object.insert(key.clone(), value.eval(cx, frame)?);
            }
            Property::Computed { key, value } => {
                let key = key.eval(cx, frame)?;
                let key = to_text(cx, &key)?;
                object.insert(key, value.eval(cx, frame)?);
            }
            Property::Spread(node) => {
                let value = node.eval(cx, frame)?;
                let entries = own_entries(cx, &value)?;
                cx.reserve_items(entries.len() + object.len())?;
                for (key, value) in entries {
                    object.insert(key, value);
                }
            }
        }
    }
    Ok(Value::object(object))
}

/// The own enumerable properties of any value: what spread and `Object.entries` see.
pub(crate) fn own_entries(
    cx: &mut Context<'_>,
    value: &Value,
) -> Result<Vec<(Rc<str>, Value)>, Error> {
    let len = match value {
        Value::Object(object) => object.borrow().len(),
        Value::Array(items) => items.borrow().len(),
        // At most: characters of several bytes make fewer units.
        Value::String(text) => text.len(),
        _ => return Ok(Vec::new()),
    };
    cx.reserve_items(len)?;
    let indexed = |values: Vec<Value>| {
        values
            .into_iter()
            .enumerate()
            .map(|(index, value)| (Rc::from(index.to_string()), value))
            .collect::<Vec<_>>()
    };
    Ok(match value {
        Value::Object(object) => object.borrow().entries(),
        Value::Array(items) => indexed(items.borrow().clone()),
        Value::String(text) => indexed(
            text.encode_utf16()
                .map(|unit| Value::from(String::from_utf16_lossy(&[unit])))
                .collect(),
        ),
        _ => Vec::new(),
    })
}

/// `value++` as a number or a BigInt.
pub(crate) fn step(
    cx: &mut Context<'_>,
    value: &Value,
    increment: bool,
) -> Result<(Value, Value), Error> {
    if let Value::BigInt(old) = value {
        let change = if increment { 1 } else { -1 };
        return Ok((
            value.clone(),
            Value::BigInt(Rc::new(old.saturating_add(change))),
        ));
    }
    let old = to_number(cx, value)?;
    let change = if increment { 1.0 } else { -1.0 };
    Ok((Value::Number(old), Value::Number(old + change)))
}
