//! Evaluates the tree.

use std::rc::Rc;

use crate::builtins;
use crate::call::construct;
use crate::context::EvalContext;
use crate::convert::{to_number, to_text};
use crate::error::Error;
use crate::ir::{ElementNode, ExprNode, IndexNode, MemberNode, PropertyNode, TemplatePart};
use crate::operators;
use crate::property;
use crate::value::{Frame, JsFunction, JsObject, Value};

impl ExprNode {
    pub(crate) fn eval(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        cx.charge(1)?;
        match self {
            ExprNode::Constant(value) => Ok(value.clone()),
            ExprNode::Variable { hops, slot } => Ok(frame.up(*hops).get(slot.index())),
            ExprNode::State { name, at } => Ok(read_state(cx, frame, name, *at)),
            ExprNode::Member(member) => {
                if let Some(value) = self.peek(frame, Value::clone) {
                    return Ok(value.forced());
                }
                let object = member.object.eval(cx, frame)?;
                member.read(cx, &object)
            }
            ExprNode::Index(index) => {
                let object = index.object.eval(cx, frame)?;
                index.read(cx, frame, &object)
            }
            ExprNode::MethodCall(call) => {
                let object = call.object.eval(cx, frame)?;
                call.finish(cx, frame, &object)
                    .map(Option::unwrap_or_default)
            }
            ExprNode::Call(call) => {
                let callee = call.callee.eval(cx, frame)?;
                call.finish(cx, frame, &callee)
            }
            ExprNode::NativeCall(call) => call.eval(cx, frame),
            ExprNode::Binary(binary) => {
                let left = binary.left.eval(cx, frame)?;
                let right = binary.right.eval(cx, frame)?;
                operators::binary(cx, binary.operator, &left, &right).map_err(|e| e.at(binary.at))
            }
            ExprNode::And(pair) => {
                let left = pair[0].eval(cx, frame)?;
                if left.is_truthy() {
                    pair[1].eval(cx, frame)
                } else {
                    Ok(left)
                }
            }
            ExprNode::Or(pair) => {
                let left = pair[0].eval(cx, frame)?;
                if left.is_truthy() {
                    Ok(left)
                } else {
                    pair[1].eval(cx, frame)
                }
            }
            ExprNode::Conditional(three) => {
                let branch = if three[0].test(cx, frame)? {
                    &three[1]
                } else {
                    &three[2]
                };
                branch.eval(cx, frame)
            }
            ExprNode::Template(parts) => eval_template(cx, frame, parts),
            ExprNode::Chain(inner) => inner.chain(cx, frame).map(Option::unwrap_or_default),
            _ => self.eval_rare(cx, frame),
        }
    }

    /// Evaluates the kinds of node that are seldom on a hot path.
    fn eval_rare(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        match self {
            ExprNode::RegExp(regex) => Ok(Value::RegExp(Rc::new(regex.fresh()))),
            ExprNode::Ended { name, at } => Err(not_defined(name, *at)),
            ExprNode::StateObject => Ok(Value::Object(frame.state().clone())),
            ExprNode::This => Ok(Value::object(JsObject::new())),
            ExprNode::Array(items) => {
                let mut values = Vec::with_capacity(items.len());
                collect(cx, frame, items, |value| values.push(value))?;
                cx.reserve_items(values.len())?;
                Ok(Value::array(values))
            }
            ExprNode::Object(properties) => eval_object(cx, frame, properties),
            ExprNode::Arrow(arrow) => Ok(Value::Function(Rc::new(JsFunction::Arrow {
                arrow: arrow.clone(),
                frame: frame.clone(),
            }))),
            ExprNode::Assign(assign) => assign.eval(cx, frame),
            ExprNode::Update(update) => update.eval(cx, frame),
            ExprNode::Unary {
                operator,
                operand,
                at,
            } => {
                let value = operand.eval(cx, frame)?;
                operators::unary(cx, *operator, &value).map_err(|e| e.at(*at))
            }
            ExprNode::TypeOf(operand) => {
                let value = operand.eval_quietly(cx, frame)?;
                Ok(Value::from(value.type_of()))
            }
            ExprNode::Delete(target) => target.delete(cx, frame).map(Value::Bool),
            ExprNode::Coalesce(pair) => {
                let left = pair[0].eval_quietly(cx, frame)?;
                if left.is_nullish() {
                    pair[1].eval(cx, frame)
                } else {
                    Ok(left)
                }
            }
            ExprNode::Sequence(nodes) => {
                let mut last = Value::Undefined;
                for node in nodes {
                    last = node.eval(cx, frame)?;
                }
                Ok(last)
            }
            ExprNode::New(call) => construct(cx, frame, call),
            // The remaining kinds are all handled by `eval`.
            other => other.chain(cx, frame).map(Option::unwrap_or_default),
        }
    }

    /// Evaluates where an undefined name is expected (`typeof x`, `x ?? y`) and not to be noted.
    fn eval_quietly(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        match self {
            ExprNode::State { name, .. } if !cx.has_global(name) => {
                Ok(frame.state().borrow().get(name).unwrap_or_default())
            }
            other => other.eval(cx, frame),
        }
    }

    /// Evaluates a link of an optional chain; `None` when a `?.` before it found nothing.
    fn chain(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<Option<Value>, Error> {
        match self {
            ExprNode::Member(member) => {
                let Some(object) = member.object.chain(cx, frame)? else {
                    return Ok(None);
                };
                if member.optional && object.is_nullish() {
                    return Ok(None);
                }
                member.read(cx, &object).map(Some)
            }
            ExprNode::Index(index) => {
                let Some(object) = index.object.chain(cx, frame)? else {
                    return Ok(None);
                };
                if index.optional && object.is_nullish() {
                    return Ok(None);
                }
                index.read(cx, frame, &object).map(Some)
            }
            ExprNode::MethodCall(call) => {
                let Some(object) = call.object.chain(cx, frame)? else {
                    return Ok(None);
                };
                if call.optional_object && object.is_nullish() {
                    return Ok(None);
                }
                call.finish(cx, frame, &object)
            }
            ExprNode::Call(call) => {
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

impl MemberNode {
    fn read(&self, cx: &EvalContext<'_>, object: &Value) -> Result<Value, Error> {
        if cx.forgives(object) {
            return Ok(Value::Undefined);
        }
        property::get(object, &self.name).map_err(|e| e.at(self.at))
    }
}

impl IndexNode {
    fn read(
        &self,
        cx: &mut EvalContext<'_>,
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

fn read_state(cx: &mut EvalContext<'_>, frame: &Rc<Frame>, name: &Rc<str>, at: u32) -> Value {
    let own = frame.state().borrow().get(name);
    own.unwrap_or_else(|| cx.global(name, at))
}

pub(crate) fn not_defined(name: &str, at: u32) -> Error {
    Error::runtime(format!("{name} is not defined")).at(at)
}

pub(crate) fn collect(
    cx: &mut EvalContext<'_>,
    frame: &Rc<Frame>,
    items: &[ElementNode],
    mut push: impl FnMut(Value),
) -> Result<(), Error> {
    for item in items {
        match item {
            ElementNode::One(node) => push(node.eval(cx, frame)?),
            ElementNode::Hole => push(Value::Undefined),
            ElementNode::Spread(node) => {
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
    cx: &mut EvalContext<'_>,
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
    cx: &mut EvalContext<'_>,
    frame: &Rc<Frame>,
    properties: &[PropertyNode],
) -> Result<Value, Error> {
    let mut object = JsObject::new();
    for property in properties {
        match property {
            PropertyNode::Named { key, value } => {
                object.insert(key.clone(), value.eval(cx, frame)?);
            }
            PropertyNode::Computed { key, value } => {
                let key = key.eval(cx, frame)?;
                let key = to_text(cx, &key)?;
                object.insert(key, value.eval(cx, frame)?);
            }
            PropertyNode::Spread(node) => {
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

/// Returns the own enumerable properties of any value: what spread and`JsObject.entries` see.
pub(crate) fn own_entries(
    cx: &mut EvalContext<'_>,
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

/// Computes `value++` as a number or a BigInt.
pub(crate) fn step(
    cx: &mut EvalContext<'_>,
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
