//! One-off uses: an expression over JSON, and `{{ }}` in a plain string.

use std::cell::RefCell;
use std::rc::Rc;

use crate::builtins;
use crate::context::Context;
use crate::error::Error;
use crate::ir::Expr;
use crate::limits::Limits;
use crate::parse::{compile, compile_filtered};
use crate::scope::Scope;
use crate::value::{Frame, Object, Value};

/// Evaluates one expression over a JSON object and gives its value as JSON.
pub fn evaluate(
    source: &str,
    state: &serde_json::Value,
    limits: &Limits,
) -> Result<serde_json::Value, Error> {
    let expr = compile(source, &mut Scope::new())?;
    let globals = Object::new();
    let mut cx = Context::new(*limits, &globals);
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
    let globals = Object::new();
    let mut cx = Context::new(*limits, &globals);
    parts.render(&mut cx, &frame_over(state))
}

/// What spread, `for…of` and `@each` see in a value; `None` when it cannot be iterated.
pub fn iterate(cx: &mut Context<'_>, value: &Value) -> Result<Option<Vec<Value>>, Error> {
    builtins::iterate(cx, value)
}

/// A piece of a string with `{{ }}` in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    Text(&'t str),
    /// What stands between the braces, and the byte at which it does.
    Expression {
        source: &'t str,
        offset: usize,
    },
}

/// Splits a text at its `{{ }}`, without compiling what is inside.
pub fn pieces(text: &str) -> Result<Vec<Piece<'_>>, Error> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let start = text.len() - rest.len() + open;
        if open > 0 {
            pieces.push(Piece::Text(&rest[..open]));
        }
        let inside = &rest[open + 2..];
        let Some(close) = closing_braces(inside) else {
            let offset = u32::try_from(start).unwrap_or(u32::MAX);
            return Err(Error::new(crate::Code::Parser, "Missing token \"}}\"").at(offset));
        };
        pieces.push(Piece::Expression {
            source: &inside[..close],
            offset: start + 2,
        });
        rest = &inside[close + 2..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

/// A string with `{{ }}` in it, compiled.
#[derive(Debug)]
pub struct Interpolation {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Expr { expr: Expr, offset: u32 },
}

impl Interpolation {
    /// Splits `text` at `{{ }}` and compiles what is inside. Offsets in errors count from the
    /// start of `text`.
    pub fn compile(text: &str) -> Result<Self, Error> {
        let mut parts = Vec::new();
        for piece in pieces(text)? {
            parts.push(match piece {
                Piece::Text(text) => Part::Text(text.to_owned()),
                Piece::Expression { source, offset } => {
                    let offset = u32::try_from(offset).unwrap_or(u32::MAX);
                    let expr = compile_filtered(source, &mut Scope::new())
                        .map_err(|error| error.shifted(offset))?;
                    Part::Expr { expr, offset }
                }
            });
        }
        Ok(Self { parts })
    }

    /// Whether there is anything to evaluate.
    pub fn is_plain(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    pub fn render(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<String, Error> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Expr { expr, offset } => {
                    expr.emit(cx, frame, &mut out)
                        .map_err(|error| error.shifted(*offset))?;
                }
            }
            cx.reserve_string(out.len())?;
        }
        Ok(out)
    }
}

/// Where the `}}` that closes an opened `{{` stands, strings and inner braces understood.
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
        serde_json::Value::Object(map) => Object::from_json_map(map),
        _ => Object::new(),
    };
    Frame::root(Rc::new(RefCell::new(object)), 0)
}
