//! `Math`. There is no `Math.random`: an evaluation with the same input gives the same output.
//!
//! Functions like `sin` and `exp` are computed the same way on every platform; they may differ
//! from node's in the last digit.

use super::args::arg;
use crate::context::EvalContext;
use crate::convert::{to_int32, to_number, to_uint32};
use crate::error::Error;
use crate::operators::power;
use crate::value::{Builtin, BuiltinMember, Value};

use std::f64::consts;

pub(super) static MATH: Builtin = Builtin {
    name: "Math",
    call: None,
    construct: None,
    members: &[
        ("E", BuiltinMember::Number(consts::E)),
        ("LN10", BuiltinMember::Number(consts::LN_10)),
        ("LN2", BuiltinMember::Number(consts::LN_2)),
        ("LOG10E", BuiltinMember::Number(consts::LOG10_E)),
        ("LOG2E", BuiltinMember::Number(consts::LOG2_E)),
        ("PI", BuiltinMember::Number(consts::PI)),
        ("SQRT1_2", BuiltinMember::Number(consts::FRAC_1_SQRT_2)),
        ("SQRT2", BuiltinMember::Number(consts::SQRT_2)),
        ("abs", BuiltinMember::Function(&ABS)),
        ("acos", BuiltinMember::Function(&ACOS)),
        ("acosh", BuiltinMember::Function(&ACOSH)),
        ("asin", BuiltinMember::Function(&ASIN)),
        ("asinh", BuiltinMember::Function(&ASINH)),
        ("atan", BuiltinMember::Function(&ATAN)),
        ("atan2", BuiltinMember::Function(&ATAN2)),
        ("atanh", BuiltinMember::Function(&ATANH)),
        ("cbrt", BuiltinMember::Function(&CBRT)),
        ("ceil", BuiltinMember::Function(&CEIL)),
        ("clz32", BuiltinMember::Function(&CLZ32)),
        ("cos", BuiltinMember::Function(&COS)),
        ("cosh", BuiltinMember::Function(&COSH)),
        ("exp", BuiltinMember::Function(&EXP)),
        ("expm1", BuiltinMember::Function(&EXPM1)),
        ("floor", BuiltinMember::Function(&FLOOR)),
        ("fround", BuiltinMember::Function(&FROUND)),
        ("hypot", BuiltinMember::Function(&HYPOT)),
        ("imul", BuiltinMember::Function(&IMUL)),
        ("log", BuiltinMember::Function(&LOG)),
        ("log10", BuiltinMember::Function(&LOG10)),
        ("log1p", BuiltinMember::Function(&LOG1P)),
        ("log2", BuiltinMember::Function(&LOG2)),
        ("max", BuiltinMember::Function(&MAX)),
        ("min", BuiltinMember::Function(&MIN)),
        ("pow", BuiltinMember::Function(&POW)),
        ("random", BuiltinMember::Function(&RANDOM)),
        ("round", BuiltinMember::Function(&ROUND)),
        ("sign", BuiltinMember::Function(&SIGN)),
        ("sin", BuiltinMember::Function(&SIN)),
        ("sinh", BuiltinMember::Function(&SINH)),
        ("sqrt", BuiltinMember::Function(&SQRT)),
        ("tan", BuiltinMember::Function(&TAN)),
        ("tanh", BuiltinMember::Function(&TANH)),
        ("trunc", BuiltinMember::Function(&TRUNC)),
    ],
};

/// Defines functions of one number.
macro_rules! unary {
    ($($constant:ident $name:literal $function:expr;)*) => {
        $(static $constant: Builtin = super::function($name, |cx, _, args| {
            let function: fn(f64) -> f64 = $function;
            to_number(cx, arg(args, 0)).map(|number| Value::Number(function(number)))
        });)*
    };
}

unary! {
    ABS "abs" f64::abs;
    ACOS "acos" libm::acos;
    ACOSH "acosh" libm::acosh;
    ASIN "asin" libm::asin;
    ASINH "asinh" libm::asinh;
    ATAN "atan" libm::atan;
    ATANH "atanh" libm::atanh;
    CBRT "cbrt" libm::cbrt;
    CEIL "ceil" f64::ceil;
    COS "cos" libm::cos;
    COSH "cosh" libm::cosh;
    EXP "exp" |number| if number == 1.0 { consts::E } else { libm::exp(number) };
    EXPM1 "expm1" libm::expm1;
    FLOOR "floor" f64::floor;
    FROUND "fround" |number| f64::from(number as f32);
    LOG "log" libm::log;
    LOG10 "log10" libm::log10;
    LOG1P "log1p" libm::log1p;
    LOG2 "log2" libm::log2;
    ROUND "round" round;
    SIGN "sign" |number| if number == 0.0 || number.is_nan() { number } else { number.signum() };
    SIN "sin" libm::sin;
    SINH "sinh" libm::sinh;
    SQRT "sqrt" f64::sqrt;
    TAN "tan" libm::tan;
    TANH "tanh" libm::tanh;
    TRUNC "trunc" f64::trunc;
}

static ATAN2: Builtin = super::function("atan2", |cx, _, args| {
    let (y, x) = (to_number(cx, arg(args, 0))?, to_number(cx, arg(args, 1))?);
    Ok(Value::Number(libm::atan2(y, x)))
});
static CLZ32: Builtin = super::function("clz32", |cx, _, args| {
    let bits = to_uint32(cx, arg(args, 0))?;
    Ok(Value::Number(f64::from(bits.leading_zeros())))
});
static IMUL: Builtin = super::function("imul", |cx, _, args| {
    let (left, right) = (to_int32(cx, arg(args, 0))?, to_int32(cx, arg(args, 1))?);
    Ok(Value::Number(f64::from(left.wrapping_mul(right))))
});
static POW: Builtin = super::function("pow", |cx, _, args| {
    let (base, exponent) = (to_number(cx, arg(args, 0))?, to_number(cx, arg(args, 1))?);
    Ok(Value::Number(power(base, exponent)))
});
static HYPOT: Builtin = super::function("hypot", hypot);
static MAX: Builtin = super::function("max", |cx, _, args| {
    extreme(cx, args, f64::NEG_INFINITY, |left, right| {
        left > right || (left == right && left == 0.0 && right.is_sign_negative())
    })
});
static MIN: Builtin = super::function("min", |cx, _, args| {
    extreme(cx, args, f64::INFINITY, |left, right| {
        left < right || (left == right && left == 0.0 && left.is_sign_negative())
    })
});
static RANDOM: Builtin = super::function("random", |_, _, _| {
    Err(Error::runtime(
        "Math.random is not available: no randomness is handed in, so that the same input always gives the same output; pass a value in instead",
    ))
});

/// Rounds to the nearest whole number, halves upward.
fn round(number: f64) -> f64 {
    let floor = number.floor();
    let rounded = if number - floor >= 0.5 {
        floor + 1.0
    } else {
        floor
    };
    if rounded == 0.0 {
        rounded.copysign(number)
    } else {
        rounded
    }
}

fn hypot(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let mut numbers = Vec::with_capacity(args.len());
    for value in args {
        cx.charge(1)?;
        numbers.push(to_number(cx, value)?.abs());
    }
    if numbers.contains(&f64::INFINITY) {
        return Ok(Value::Number(f64::INFINITY));
    }
    let largest = numbers.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 || numbers.iter().any(|number| number.is_nan()) {
        let unknown = numbers.iter().any(|number| number.is_nan());
        return Ok(Value::Number(if unknown { f64::NAN } else { 0.0 }));
    }
    // Kahan summation: the rounding error of an addition is carried into the next one.
    let (mut sum, mut lost) = (0.0, 0.0);
    for number in numbers {
        let share: f64 = number / largest;
        let term = share * share - lost;
        let next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    Ok(Value::Number(f64::sqrt(sum) * largest))
}

fn extreme(
    cx: &mut EvalContext<'_>,
    args: &[Value],
    start: f64,
    better: impl Fn(f64, f64) -> bool,
) -> Result<Value, Error> {
    let mut best = start;
    let mut unknown = false;
    for value in args {
        cx.charge(1)?;
        let number = to_number(cx, value)?;
        unknown |= number.is_nan();
        if better(number, best) {
            best = number;
        }
    }
    Ok(Value::Number(if unknown { f64::NAN } else { best }))
}
