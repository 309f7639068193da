//! Conditions, paths and `{{ }}` over what a run knows, on the one expression language.

use std::cell::RefCell;
use std::rc::Rc;

use expr::{Context, Frame, Limits, Object, Piece, Reference, Scope};
use serde_json::{Map, Value};

use crate::context;
use crate::id::TextHash;

/// How much one condition or one prompt may cost. Routing waits for it inside of a transaction.
const LIMITS: Limits = Limits {
    fuel_max: 2_000_000,
    depth_max: 100,
    string_bytes_max: 4 << 20,
    items_max: 100_000,
};

/// How many bytes of one value are filled in; what is longer is cut, and says so.
pub const REFERENCE_BYTES_MAX: usize = 32 << 10;

/// A text with its `{{ }}` filled in, and those that could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    pub text: String,
    /// What stood between the braces, as it was written.
    pub unknown: Vec<String>,
    /// The same of values that were too long.
    pub cut: Vec<String>,
}

/// Whether a condition holds. An unknown path is `undefined`.
///
/// # Errors
///
/// When the condition cannot be parsed or evaluated.
pub fn condition(source: &str, state: &Map<String, Value>) -> Result<bool, expr::Error> {
    evaluate(source, state, |_, value| Ok(value.is_truthy()))
}

/// The value of an expression; nothing when it is `undefined`.
///
/// # Errors
///
/// When the expression cannot be parsed or evaluated.
pub fn value(source: &str, state: &Map<String, Value>) -> Result<Option<Value>, expr::Error> {
    // A plain path is followed as it is, so that what it leads to comes back to the last digit.
    if let Some(path) = plain_path(source) {
        return Ok(follow(&path, state).cloned());
    }
    evaluate(source, state, |cx, value| match value {
        expr::Value::Undefined => Ok(None),
        value => value.to_json(cx).map(Some),
    })
}

/// Fills in every `{{ }}` of a text. Objects are pretty JSON; what is unknown stays as written.
///
/// # Errors
///
/// When a `{{` is not closed or what is inside cannot be parsed or evaluated.
pub fn fill(text: &str, state: &Map<String, Value>) -> Result<Filled, expr::Error> {
    fill_with(text, |source| value(source, state))
}

fn fill_with(
    text: &str,
    find: impl Fn(&str) -> Result<Option<Value>, expr::Error>,
) -> Result<Filled, expr::Error> {
    let mut filled = Filled::default();
    for piece in expr::pieces(text)? {
        match piece {
            Piece::Text(text) => filled.text.push_str(text),
            Piece::Expression { source, offset } => {
                let offset = u32::try_from(offset).unwrap_or(u32::MAX);
                match find(source).map_err(|error| error.shifted(offset))? {
                    None => {
                        filled.unknown.push(source.trim().to_owned());
                        filled.text.push_str(&format!("{{{{{source}}}}}"));
                    }
                    Some(value) => filled.add(source, &value),
                }
            }
        }
    }
    Ok(filled)
}

impl Filled {
    fn add(&mut self, source: &str, value: &Value) {
        let shown = context::excerpt(value, REFERENCE_BYTES_MAX);
        self.text.push_str(&shown.text);
        if let Some(left_out) = shown.left_out {
            self.cut.push(source.trim().to_owned());
            self.text.push_str(&format!(
                "\n[{left_out} left out: more than REFERENCE_BYTES_MAX = {REFERENCE_BYTES_MAX}; SHA-256 {}]",
                TextHash::of(&context::pretty(value))
            ));
        }
    }
}

/// Fills in a prompt: as [`fill`], and `{{input.name}}` that the run's input lacks is taken from the
/// step before. Conditions and commands read only what the run was started with as `input`.
///
/// # Errors
///
/// As [`fill`].
pub fn fill_prompt(text: &str, state: &Map<String, Value>) -> Result<Filled, expr::Error> {
    fill_with(text, |source| {
        Ok(value(source, state)?.or_else(|| from_before(source, state)))
    })
}

/// What the step before gave under the name that the run's input lacks.
fn from_before(source: &str, state: &Map<String, Value>) -> Option<Value> {
    let mut path = plain_path(source)?;
    match path.as_mut_slice() {
        [first, _, ..] if first == "input" => "output".clone_into(first),
        _ => return None,
    }
    follow(&path, state).cloned()
}

/// The begin of a text, up to some bytes and to a whole character.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

/// What an expression, or every `{{ }}` of a text, reads. What does not parse reads nothing.
#[must_use]
pub fn reads(source: &str) -> Vec<Reference> {
    expr::references(source).unwrap_or_default()
}

/// What the `{{ }}` of a text read.
#[must_use]
pub fn text_reads(text: &str) -> Vec<Reference> {
    let pieces = expr::pieces(text).unwrap_or_default();
    let sources = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Expression { source, .. } => Some(reads(source)),
        Piece::Text(_) => None,
    });
    sources.flatten().collect()
}

/// The value at the end of a path.
pub(crate) fn follow<'s>(path: &[String], state: &'s Map<String, Value>) -> Option<&'s Value> {
    let (first, rest) = path.split_first()?;
    let mut value = state.get(first)?;
    for key in rest {
        value = match value {
            Value::Object(map) => map.get(key)?,
            Value::Array(items) => items.get(key.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

/// `output.files[0]` and the like, and nothing more. What JavaScript adds to values by itself, as
/// `length`, is left to the evaluator.
fn plain_path(source: &str) -> Option<Vec<String>> {
    let source = source.trim();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    if !source.chars().all(plain) || source.ends_with(".length") {
        return None;
    }
    let references = expr::references(source).ok()?;
    match references.as_slice() {
        [only] if only.exact && only.path.join(".") == source => Some(only.path.clone()),
        _ => None,
    }
}

fn evaluate<T>(
    source: &str,
    state: &Map<String, Value>,
    read: impl FnOnce(&mut Context<'_>, &expr::Value) -> Result<T, expr::Error>,
) -> Result<T, expr::Error> {
    let compiled = expr::compile(source, &mut Scope::new())?;
    let state = Object::from_json_map(state);
    let frame = Frame::root(Rc::new(RefCell::new(state)), 0);
    let globals = Object::new();
    let mut cx = Context::new(LIMITS, &globals).lenient();
    let value = compiled.eval(&mut cx, &frame)?;
    read(&mut cx, &value)
}
