//! Values, the one expression language of Drawloom, and `{{ }}` interpolation.
//!
//! An expression is a JavaScript expression: parsed by `oxc`, lowered to a small tree with
//! resolved variables, and evaluated natively over JSON-like values. There is no I/O, no clock
//! and no randomness unless the host hands them in, and every evaluation is bounded by
//! [`Limits`]: work, depth, string and list sizes.
//!
//! The pipeline is the list of modules: `parse` (text → tree) → `ir` (the tree) → `eval`
//! (tree → value), with `scope` deciding at compile time where a name lives.
//!
//! ```
//! let state = serde_json::json!({ "user": { "name": "Ada" }, "tags": ["a", "b"] });
//! let value = expr::evaluate("user.name.toUpperCase() + ' ' + tags.length", &state, &expr::Limits::default())?;
//! assert_eq!(value, serde_json::json!("ADA 2"));
//! # Ok::<(), expr::Error>(())
//! ```

mod assign;
mod builtins;
mod call;
mod context;
mod convert;
mod emit;
mod error;
mod estree;
mod eval;
mod interpolate;
mod ir;
mod iterative_drop;
mod json;
mod limits;
mod lower;
mod lower_function;
mod lower_target;
mod nesting;
mod operators;
mod parse;
mod property;
mod references;
mod regex;
mod scope;
pub mod shell;
pub mod text_functions;
mod value;

pub use context::{EvalContext, UndefinedName};
pub use convert::{number_to_string, same_value_zero, strict_equals, to_number, to_text};
pub use error::{Error, ExprErrorCode, ExprPosition};
pub use interpolate::{Interpolation, InterpolationPiece, evaluate, interpolate, iterate, pieces};
pub use ir::{ArrowFunction, DestructurePattern, Expr, ExprKind};
pub use limits::Limits;
pub use parse::{
    EachHead, LetHead, ParsedArgument, compile, compile_arguments, compile_each, compile_filtered,
    compile_let,
};
pub use property::get as get_property;
pub use references::{NameReference, references};
pub use regex::JsRegex;
pub use scope::{NameScope, Slot};
pub use value::{
    Builtin, BuiltinMember, Frame, HostFn, JsArray, JsFunction, JsObject, LazyValue, NativeFn,
    Value,
};
