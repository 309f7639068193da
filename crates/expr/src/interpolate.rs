//! One-off uses: an expression over JSON, and `{{ }}` in a plain string.

use std::cell::RefCell;
use std::rc::Rc;

use crate::builtins;
use crate::context::EvalContext;
use crate::error::Error;
use crate::ir::Expr;
use crate::limits::Limits;
use crate::parse::{compile, compile_filtered};
use crate::scope::NameScope;
use crate::value::{Frame, JsObject, Value};

/// Evaluates one expression over a JSON object and gives its value as JSON.
pub fn evaluate(
    source: &str,
    state: &serde_json::Value,
    limits: &Limits,
) -> Result<serde_json::Value, Error> {
    let expr = compile(source, &mut NameScope::new())?;
    let globals = JsObject::new();
    let mut cx = EvalContext::new(*limits, &globals);
    let value = expr.eval(&mut cx, &frame_over(state))?;
    value.to_json(&mut cx)
}

/// Replaces every `{{ expression }}` in `text`.
pub fn interpolate(
    text: &str,
    state: &serde_json::Value,
    limits: &Limits,
) -> Result<String, Error> {
    let parts = Interpolation::compile(text)?;
    let globals = JsObject::new();
    let mut cx = EvalContext::new(*limits, &globals);
    parts.render(&mut cx, &frame_over(state))
}

/// Returns the elements that spread, `for…of` and `@each` visit; `None` if the value cannot be
/// iterated.
pub fn iterate(cx: &mut EvalContext<'_>, value: &Value) -> Result<Option<Vec<Value>>, Error> {
    builtins::iterate(cx, value)
}

/// A piece of a string with `{{ }}` in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpolationPiece<'t> {
    Text(&'t str),
    /// The text between the braces, and its byte offset.
    Expression {
        source: &'t str,
        offset: usize,
    },
}

/// Splits a text at its `{{ }}`, without compiling the expressions.
pub fn pieces(text: &str) -> Result<Vec<InterpolationPiece<'_>>, Error> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let start = text.len() - rest.len() + open;
        if open > 0 {
            pieces.push(InterpolationPiece::Text(&rest[..open]));
        }
        let inside = &rest[open + 2..];
        let Some(close) = closing_braces(inside) else {
            let offset = u32::try_from(start).unwrap_or(u32::MAX);
            return Err(
                Error::new(crate::ExprErrorCode::Parser, "Missing token \"}}\"").at(offset),
            );
        };
        pieces.push(InterpolationPiece::Expression {
            source: &inside[..close],
            offset: start + 2,
        });
        rest = &inside[close + 2..];
    }
    if !rest.is_empty() {
        pieces.push(InterpolationPiece::Text(rest));
    }
    Ok(pieces)
}

/// A string with `{{ }}` in it, compiled.
#[derive(Debug)]
pub struct Interpolation {
    parts: Vec<CompiledPiece>,
}

#[derive(Debug)]
enum CompiledPiece {
    Text(String),
    Expr { expr: Expr, offset: u32 },
}

impl Interpolation {
    /// Splits `text` at `{{ }}` and compiles the expressions. Offsets in errors count from the
    /// start of `text`.
    pub fn compile(text: &str) -> Result<Self, Error> {
        let mut parts = Vec::new();
        for piece in pieces(text)? {
            parts.push(match piece {
                InterpolationPiece::Text(text) => CompiledPiece::Text(text.to_owned()),
                InterpolationPiece::Expression { source, offset } => {
                    let offset = u32::try_from(offset).unwrap_or(u32::MAX);
                    let expr = compile_filtered(source, &mut NameScope::new())
                        .map_err(|error| error.shifted(offset))?;
                    CompiledPiece::Expr { expr, offset }
                }
            });
        }
        Ok(Self { parts })
    }

    /// Returns true if there is nothing to evaluate.
    pub fn is_plain(&self) -> bool {
        self.parts
            .iter()
            .all(|part| matches!(part, CompiledPiece::Text(_)))
    }

    pub fn render(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<String, Error> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                CompiledPiece::Text(text) => out.push_str(text),
                CompiledPiece::Expr { expr, offset } => {
                    expr.emit(cx, frame, &mut out)
                        .map_err(|error| error.shifted(*offset))?;
                }
            }
            cx.reserve_string(out.len())?;
        }
        Ok(out)
    }
}

/// Returns the position of the `}}` that closes an opened `{{`; skips strings and inner braces.
fn closing_braces(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut quote = None;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match quote {
            Some(_) if byte == b'\\' => at += 1,
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None => match byte {
                b'"' | b'\'' | b'`' => quote = Some(byte),
                b'{' => depth += 1,
                b'}' if depth > 0 => depth -= 1,
                b'}' if bytes.get(at + 1) == Some(&b'}') => return Some(at),
                _ => {}
            },
        }
        at += 1;
    }
    None
}

fn frame_over(state: &serde_json::Value) -> Rc<Frame> {
    let object = match state {
        serde_json::Value::Object(map) => JsObject::from_json_map(map),
        _ => JsObject::new(),
    };
    Frame::root(Rc::new(RefCell::new(object)), 0)
}
