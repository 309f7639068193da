//! The fast ways to use an expression: its text appended to the output, its truth.

use std::rc::Rc;

use crate::context::Context;
use crate::convert::write_text;
use crate::error::Error;
use crate::ir::{Node, TemplatePart};
use crate::operators::UnaryOperator;
use crate::value::{Frame, Object, Value};

impl Node {
    pub(crate) fn test(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<bool, Error> {
        cx.charge(1)?;
        match self {
            Node::Unary {
                operator: UnaryOperator::Not,
                operand,
                ..
            } => operand.test(cx, frame).map(|truth| !truth),
            Node::And(pair) => Ok(pair[0].test(cx, frame)? && pair[1].test(cx, frame)?),
            Node::Or(pair) => Ok(pair[0].test(cx, frame)? || pair[1].test(cx, frame)?),
            other => match other.peek(frame, Value::is_truthy) {
                Some(truth) => Ok(truth),
                None => other.eval(cx, frame).map(|value| value.is_truthy()),
            },
        }
    }

    pub(crate) fn emit(
        &self,
        cx: &mut Context<'_>,
        frame: &Rc<Frame>,
        out: &mut String,
    ) -> Result<(), Error> {
        let written = self.peek(frame, |value| match value {
            Value::String(text) => {
                out.push_str(text);
                Some(text.len())
            }
            _ => None,
        });
        if let Some(Some(bytes)) = written {
            return cx.charge_bytes(bytes);
        }
        match self {
            Node::Template(parts) => {
                for part in parts {
                    match part {
                        TemplatePart::Text(text) => out.push_str(text),
                        TemplatePart::Node(node) => node.emit(cx, frame, out)?,
                    }
                }
                Ok(())
            }
            Node::Conditional(three) => {
                let branch = if three[0].test(cx, frame)? {
                    &three[1]
                } else {
                    &three[2]
                };
                branch.emit(cx, frame, out)
            }
            other => {
                let value = other.eval(cx, frame)?;
                write_text(cx, &value, out)
            }
        }
    }

    /// Looks at a value through a path of variables and plain properties, without cloning it.
    ///
    /// `None` when the path is of another kind, or meets anything out of the ordinary; the caller
    /// then evaluates the long way.
    pub(crate) fn peek<R>(&self, frame: &Rc<Frame>, read: impl FnOnce(&Value) -> R) -> Option<R> {
        match self {
            Node::Constant(value) => Some(read(value)),
            Node::Variable { hops, slot } => frame.up(*hops).with(slot.index(), |value| {
                if matches!(value, Value::Lazy(_)) {
                    None
                } else {
                    Some(read(value))
                }
            }),
            Node::State { name, .. } => match frame.state().borrow().peek(name) {
                None | Some(Value::Lazy(_)) => None,
                Some(value) => Some(read(value)),
            },
            Node::Member(member) => {
                let read = &mut Some(read);
                member.object.peek_object(frame, &mut |object| match (
                    object.peek(&member.name),
                    read.take(),
                ) {
                    (None | Some(Value::Lazy(_)), _) | (_, None) => None,
                    (Some(value), Some(read)) => Some(read(value)),
                })
            }
            _ => None,
        }
    }

    fn peek_object<R>(
        &self,
        frame: &Rc<Frame>,
        read: &mut dyn FnMut(&Object) -> Option<R>,
    ) -> Option<R> {
        let mut inspect = |value: &Value| match value {
            Value::Object(object) => read(&object.borrow()),
            _ => None,
        };
        match self {
            Node::Variable { hops, slot } => frame.up(*hops).with(slot.index(), inspect),
            Node::State { name, .. } => inspect(frame.state().borrow().peek(name)?),
            Node::Member(member) => member
                .object
                .peek_object(frame, &mut |object| inspect(object.peek(&member.name)?)),
            _ => None,
        }
    }
}
