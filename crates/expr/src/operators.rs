//! JavaScript's operators on values.

use std::rc::Rc;

use crate::context::EvalContext;
use crate::convert::{
    PrimitiveHint, compare_strings, loose_equals, number_to_string, strict_equals, to_int32,
    to_number, to_primitive, to_text, to_uint32,
};
use crate::error::Error;
use crate::property;
use crate::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    BitAnd,
    BitOr,
    BitXor,
    Equal,
    NotEqual,
    StrictEqual,
    StrictNotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    InstanceOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOperator {
    Minus,
    Plus,
    Not,
    BitNot,
    Void,
}

impl BinaryOperator {
    /// Computes the four operations and the remainder of numbers; `None` for other operators.
    #[inline]
    pub(crate) fn of_numbers(self, left: f64, right: f64) -> Option<f64> {
        Some(match self {
            BinaryOperator::Add => left + right,
            BinaryOperator::Subtract => left - right,
            BinaryOperator::Multiply => left * right,
            BinaryOperator::Divide => left / right,
            BinaryOperator::Remainder => left % right,
            _ => return None,
        })
    }

    /// Computes comparisons and equalities of numbers; `None` for other operators.
    #[inline]
    pub(crate) fn compares_numbers(self, left: f64, right: f64) -> Option<bool> {
        Some(match self {
            BinaryOperator::Less => left < right,
            BinaryOperator::LessEqual => left <= right,
            BinaryOperator::Greater => left > right,
            BinaryOperator::GreaterEqual => left >= right,
            BinaryOperator::Equal | BinaryOperator::StrictEqual => left == right,
            BinaryOperator::NotEqual | BinaryOperator::StrictNotEqual => left != right,
            _ => return None,
        })
    }
}

pub(crate) fn binary(
    cx: &mut EvalContext<'_>,
    operator: BinaryOperator,
    left: &Value,
    right: &Value,
) -> Result<Value, Error> {
    use BinaryOperator as Op;
    if let (Value::Number(left), Value::Number(right)) = (left, right) {
        if let Some(number) = operator.of_numbers(*left, *right) {
            return Ok(Value::Number(number));
        }
        if let Some(truth) = operator.compares_numbers(*left, *right) {
            return Ok(Value::Bool(truth));
        }
    }
    match operator {
        Op::Add => add(cx, left, right),
        Op::StrictEqual => Ok(Value::Bool(strict_equals(left, right))),
        Op::StrictNotEqual => Ok(Value::Bool(!strict_equals(left, right))),
        Op::Equal => Ok(Value::Bool(loose_equals(cx, left, right)?)),
        Op::NotEqual => Ok(Value::Bool(!loose_equals(cx, left, right)?)),
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
            relational(cx, operator, left, right).map(Value::Bool)
        }
        Op::In => contains(cx, left, right).map(Value::Bool),
        Op::InstanceOf => instance_of(left, right).map(Value::Bool),
        _ => arithmetic(cx, operator, left, right),
    }
}

pub(crate) fn unary(
    cx: &mut EvalContext<'_>,
    operator: UnaryOperator,
    operand: &Value,
) -> Result<Value, Error> {
    match (operator, operand) {
        (UnaryOperator::Not, value) => Ok(Value::Bool(!value.is_truthy())),
        (UnaryOperator::Void, _) => Ok(Value::Undefined),
        (UnaryOperator::Minus, Value::BigInt(value)) => Ok(Value::BigInt(Rc::new(
            value.checked_neg().ok_or_else(big_int_overflow)?,
        ))),
        (UnaryOperator::BitNot, Value::BigInt(value)) => Ok(Value::BigInt(Rc::new(!**value))),
        (UnaryOperator::Plus, Value::BigInt(_)) => {
            Err(Error::runtime("Cannot convert a BigInt value to a number"))
        }
        (UnaryOperator::Minus, value) => Ok(Value::Number(-to_number(cx, value)?)),
        (UnaryOperator::Plus, value) => Ok(Value::Number(to_number(cx, value)?)),
        (UnaryOperator::BitNot, value) => Ok(Value::Number(f64::from(!to_int32(cx, value)?))),
    }
}

fn add(cx: &mut EvalContext<'_>, left: &Value, right: &Value) -> Result<Value, Error> {
    let left = to_primitive(cx, left, PrimitiveHint::Default)?;
    let right = to_primitive(cx, right, PrimitiveHint::Default)?;
    if !matches!(left, Value::String(_)) && !matches!(right, Value::String(_)) {
        return arithmetic(cx, BinaryOperator::Add, &left, &right);
    }
    let left = to_text(cx, &left)?;
    let right = to_text(cx, &right)?;
    cx.reserve_string(left.len() + right.len())?;
    let mut text = String::with_capacity(left.len() + right.len());
    text.push_str(&left);
    text.push_str(&right);
    Ok(Value::from(text))
}

fn arithmetic(
    cx: &mut EvalContext<'_>,
    operator: BinaryOperator,
    left: &Value,
    right: &Value,
) -> Result<Value, Error> {
    use BinaryOperator as Op;
    let left = to_primitive(cx, left, PrimitiveHint::Number)?;
    let right = to_primitive(cx, right, PrimitiveHint::Number)?;
    match (&left, &right) {
        (Value::BigInt(left), Value::BigInt(right)) => return big_int(operator, **left, **right),
        (Value::BigInt(_), _) | (_, Value::BigInt(_)) => {
            return Err(Error::runtime(
                "Cannot mix BigInt and other types, use explicit conversions",
            ));
        }
        _ => {}
    }
    let number = match operator {
        Op::ShiftLeft => f64::from(to_int32(cx, &left)? << (to_uint32(cx, &right)? & 31)),
        Op::ShiftRight => f64::from(to_int32(cx, &left)? >> (to_uint32(cx, &right)? & 31)),
        Op::ShiftRightUnsigned => f64::from(to_uint32(cx, &left)? >> (to_uint32(cx, &right)? & 31)),
        Op::BitAnd => f64::from(to_int32(cx, &left)? & to_int32(cx, &right)?),
        Op::BitOr => f64::from(to_int32(cx, &left)? | to_int32(cx, &right)?),
        Op::BitXor => f64::from(to_int32(cx, &left)? ^ to_int32(cx, &right)?),
        _ => {
            let (left, right) = (to_number(cx, &left)?, to_number(cx, &right)?);
            match operator.of_numbers(left, right) {
                Some(number) => number,
                None => power(left, right),
            }
        }
    };
    Ok(Value::Number(number))
}

/// Computes `**`, which differs from IEEE `pow` if the base is ±1 and the exponent infinite or NaN.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    if exponent.is_nan() || (base.abs() == 1.0 && exponent.is_infinite()) {
        f64::NAN
    } else {
        libm::pow(base, exponent)
    }
}

fn big_int(operator: BinaryOperator, left: i128, right: i128) -> Result<Value, Error> {
    use BinaryOperator as Op;
    let by_zero = || Error::runtime("Division by zero");
    let shift = |amount: i128| u32::try_from(amount).map_err(|_| big_int_overflow());
    let value = match operator {
        Op::Add => left.checked_add(right),
        Op::Subtract => left.checked_sub(right),
        Op::Multiply => left.checked_mul(right),
        Op::Divide if right == 0 => return Err(by_zero()),
        Op::Divide => left.checked_div(right),
        Op::Remainder if right == 0 => return Err(by_zero()),
        Op::Remainder => left.checked_rem(right),
        Op::Power => left.checked_pow(shift(right)?),
        Op::ShiftLeft => {
            let amount = shift(right)?;
            left.checked_shl(amount)
                .filter(|shifted| shifted >> amount == left)
        }
        Op::ShiftRight => Some(left >> shift(right)?.min(127)),
        Op::BitAnd => Some(left & right),
        Op::BitOr => Some(left | right),
        Op::BitXor => Some(left ^ right),
        _ => {
            return Err(Error::runtime(
                "BigInts have no unsigned right shift, use >> instead",
            ));
        }
    };
    Ok(Value::BigInt(Rc::new(value.ok_or_else(big_int_overflow)?)))
}

fn big_int_overflow() -> Error {
    Error::limit("a BigInt of more than 127 bits is over big_int_bits_max = 127")
}

fn relational(
    cx: &mut EvalContext<'_>,
    operator: BinaryOperator,
    left: &Value,
    right: &Value,
) -> Result<bool, Error> {
    use BinaryOperator as Op;
    let left = to_primitive(cx, left, PrimitiveHint::Number)?;
    let right = to_primitive(cx, right, PrimitiveHint::Number)?;
    if let (Value::String(left), Value::String(right)) = (&left, &right) {
        cx.charge_bytes(left.len().min(right.len()))?;
        let ordering = compare_strings(left, right);
        return Ok(match operator {
            Op::Less => ordering.is_lt(),
            Op::LessEqual => ordering.is_le(),
            Op::Greater => ordering.is_gt(),
            _ => ordering.is_ge(),
        });
    }
    if let (Value::BigInt(left), Value::BigInt(right)) = (&left, &right) {
        return Ok(match operator {
            Op::Less => left < right,
            Op::LessEqual => left <= right,
            Op::Greater => left > right,
            _ => left >= right,
        });
    }
    let (left, right) = (to_number(cx, &left)?, to_number(cx, &right)?);
    Ok(match operator {
        Op::Less => left < right,
        Op::LessEqual => left <= right,
        Op::Greater => left > right,
        _ => left >= right,
    })
}

fn contains(cx: &mut EvalContext<'_>, key: &Value, target: &Value) -> Result<bool, Error> {
    let key = to_text(cx, key)?;
    match target {
        Value::Object(_)
        | Value::Array(_)
        | Value::Builtin(_)
        | Value::Function(_)
        | Value::Map(_)
        | Value::Set(_)
        | Value::Date(_)
        | Value::RegExp(_) => Ok(property::has(target, &key)),
        other => Err(Error::runtime(format!(
            "Cannot use 'in' operator to search for '{key}' in {}",
            match other {
                Value::Number(number) => number_to_string(*number),
                other => to_text(cx, other)?.to_string(),
            }
        ))),
    }
}

fn instance_of(value: &Value, constructor: &Value) -> Result<bool, Error> {
    let Value::Builtin(builtin) = constructor else {
        return Err(Error::runtime(
            "Right-hand side of 'instanceof' is not callable",
        ));
    };
    let is_object = !matches!(
        value,
        Value::Undefined
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::BigInt(_)
            | Value::String(_)
    );
    Ok(match builtin.name {
        "Object" => is_object,
        "Array" => matches!(value, Value::Array(_)),
        "Function" => value.is_callable(),
        "Date" => matches!(value, Value::Date(_)),
        "RegExp" => matches!(value, Value::RegExp(_)),
        "Map" => matches!(value, Value::Map(_)),
        "Set" => matches!(value, Value::Set(_)),
        name => match value {
            Value::Object(object) => property::is_error_named(&object.borrow(), name),
            _ => false,
        },
    })
}
