//! The fast ways to use an expression: its text appended to the output, its truth.

use std::rc::Rc;

use crate::builtins;
use crate::context::EvalContext;
use crate::convert::{write_number, write_text};
use crate::error::Error;
use crate::ir::{ArgumentList, ExprNode, MethodCall, MethodName, TemplatePart};
use crate::operators::UnaryOperator;
use crate::value::{Frame, JsObject, Value};

impl ExprNode {
    pub(crate) fn test(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<bool, Error> {
        cx.charge(1)?;
        match self {
            ExprNode::Unary {
                operator: UnaryOperator::Not,
                operand,
                ..
            } => operand.test(cx, frame).map(|truth| !truth),
            ExprNode::And(pair) => Ok(pair[0].test(cx, frame)? && pair[1].test(cx, frame)?),
            ExprNode::Or(pair) => Ok(pair[0].test(cx, frame)? || pair[1].test(cx, frame)?),
            ExprNode::Binary(binary) => {
                let left = binary.left.number(cx, frame);
                let right = left.and_then(|_| binary.right.number(cx, frame));
                let compared = left
                    .zip(right)
                    .and_then(|(left, right)| binary.operator.compares_numbers(left, right));
                match compared {
                    Some(truth) => Ok(truth),
                    None => self.eval(cx, frame).map(|value| value.is_truthy()),
                }
            }
            other => match other.peek(frame, Value::is_truthy) {
                Some(truth) => Ok(truth),
                None => other.eval(cx, frame).map(|value| value.is_truthy()),
            },
        }
    }

    pub(crate) fn emit(
        &self,
        cx: &mut EvalContext<'_>,
        frame: &Rc<Frame>,
        out: &mut String,
    ) -> Result<(), Error> {
        match self {
            ExprNode::Variable { .. }
            | ExprNode::Member(_)
            | ExprNode::State { .. }
            | ExprNode::Constant(_) => {
                let written = self.peek(frame, |value| match value {
                    Value::String(text) => {
                        out.push_str(text);
                        Some(text.len())
                    }
                    Value::Number(number) => {
                        write_number(*number, out);
                        Some(0)
                    }
                    _ => None,
                });
                if let Some(Some(bytes)) = written {
                    return cx.charge_bytes(bytes);
                }
            }
            ExprNode::Binary(_) => {
                if let Some(number) = self.number(cx, frame) {
                    write_number(number, out);
                    return Ok(());
                }
            }
            ExprNode::MethodCall(call) => {
                if let Some(written) = call.write(cx, frame, out) {
                    return written;
                }
            }
            ExprNode::Template(parts) => {
                for part in parts {
                    match part {
                        TemplatePart::Text(text) => out.push_str(text),
                        TemplatePart::Node(node) => node.emit(cx, frame, out)?,
                    }
                }
                return Ok(());
            }
            ExprNode::Conditional(three) => {
                let branch = if three[0].test(cx, frame)? {
                    &three[1]
                } else {
                    &three[2]
                };
                return branch.emit(cx, frame, out);
            }
            _ => {}
        }
        let value = self.eval(cx, frame)?;
        write_text(cx, &value, out)
    }

    /// Computes the number of a path, or of a calculation with numbers.
    ///
    /// `None` for anything else; then there were no side effects, and the caller evaluates the long
    /// way.
    fn number(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Option<f64> {
        cx.charge(1).ok()?;
        match self {
            ExprNode::Binary(binary) => {
                let left = binary.left.number(cx, frame)?;
                let right = binary.right.number(cx, frame)?;
                binary.operator.of_numbers(left, right)
            }
            path => path.peek(frame, |value| match value {
                Value::Number(number) => Some(*number),
                _ => None,
            })?,
        }
    }

    /// Looks at a value through a path of variables and plain properties, without cloning it.
    ///
    /// `None` when the path is of another kind, or meets anything out of the ordinary; the caller
    /// then evaluates the long way.
    pub(crate) fn peek<R>(&self, frame: &Rc<Frame>, read: impl FnOnce(&Value) -> R) -> Option<R> {
        match self {
            ExprNode::Constant(value) => Some(read(value)),
            ExprNode::Variable { hops, slot } => frame.up(*hops).with(slot.index(), |value| {
                if matches!(value, Value::Lazy(_)) {
                    None
                } else {
                    Some(read(value))
                }
            }),
            ExprNode::State { name, .. } => match frame.state().borrow().peek(name) {
                None | Some(Value::Lazy(_)) => None,
                Some(value) => Some(read(value)),
            },
            ExprNode::Member(member) => {
                let inspect = |object: &JsObject| match object.peek_near(&member.name, &member.seen)
                {
                    None | Some(Value::Lazy(_)) => None,
                    Some(value) => Some(read(value)),
                };
                if let ExprNode::Variable { hops, slot } = member.object {
                    return frame.up(hops).with(slot.index(), |value| match value {
                        Value::Object(object) => inspect(&object.borrow()),
                        _ => None,
                    });
                }
                let inspect = &mut Some(inspect);
                member
                    .object
                    .peek_object(frame, &mut |object| inspect.take()?(object))
            }
            _ => None,
        }
    }

    fn peek_object<R>(
        &self,
        frame: &Rc<Frame>,
        read: &mut dyn FnMut(&JsObject) -> Option<R>,
    ) -> Option<R> {
        let mut inspect = |value: &Value| match value {
            Value::Object(object) => read(&object.borrow()),
            _ => None,
        };
        match self {
            ExprNode::Variable { hops, slot } => frame.up(*hops).with(slot.index(), inspect),
            ExprNode::State { name, .. } => inspect(frame.state().borrow().peek(name)?),
            ExprNode::Member(member) => member.object.peek_object(frame, &mut |object| {
                inspect(object.peek_near(&member.name, &member.seen)?)
            }),
            _ => None,
        }
    }
}

impl MethodCall {
    /// Appends what a built-in method gives for a receiver that is a plain path; `None` when the
    /// call is of another kind, and nothing has happened then.
    fn write(
        &self,
        cx: &mut EvalContext<'_>,
        frame: &Rc<Frame>,
        out: &mut String,
    ) -> Option<Result<(), Error>> {
        let MethodName::Named {
            method: Some(method),
            ..
        } = self.name
        else {
            return None;
        };
        let ArgumentList::Known(args) = &self.arguments else {
            return None;
        };
        let written = self.object.peek(frame, |object| {
            builtins::write_method(cx, object, (method, args), out)
        })??;
        Some(written.map_err(|error| error.at(self.at)))
    }
}
