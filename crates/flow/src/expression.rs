//! Evaluates conditions, paths and `{{ }}` over the state of a run, with the shared expression
//! language.

use std::cell::RefCell;
use std::rc::Rc;

use expr::{EvalContext, Frame, InterpolationPiece, JsObject, Limits, NameReference, NameScope};
use serde_json::{Map, Value};

use crate::context;
use crate::id::TextHash;

/// Limits the cost of one condition or one prompt, because routing evaluates it inside a
/// transaction.
const LIMITS: Limits = Limits {
    fuel_max: 2_000_000,
    depth_max: 100,
    string_bytes_max: 4 << 20,
    items_max: 100_000,
};

/// Limits the bytes of one filled-in value; a longer one is cut, with a remark.
pub(crate) const REFERENCE_BYTES_MAX: usize = 32 << 10;

/// A text with its `{{ }}` filled in, and the references that could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilledText {
    pub text: String,
    /// The text between the braces of each unknown reference, as it was written.
    pub unknown: Vec<String>,
    /// The references whose values were cut.
    pub cut: Vec<String>,
}

/// Evaluates a condition. An unknown path is `undefined`.
///
/// # Errors
///
/// When the condition cannot be parsed or evaluated.
pub fn condition(source: &str, state: &Map<String, Value>) -> Result<bool, expr::Error> {
    evaluate(source, state, |_, value| Ok(value.is_truthy()))
}

/// Evaluates an expression; `None` when it is `undefined`.
///
/// # Errors
///
/// When the expression cannot be parsed or evaluated.
pub fn value(source: &str, state: &Map<String, Value>) -> Result<Option<Value>, expr::Error> {
    // Follows a plain path directly, so that a number comes back to the last digit.
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
pub fn fill(text: &str, state: &Map<String, Value>) -> Result<FilledText, expr::Error> {
    fill_with(text, |source| value(source, state))
}

fn fill_with(
    text: &str,
    find: impl Fn(&str) -> Result<Option<Value>, expr::Error>,
) -> Result<FilledText, expr::Error> {
    let mut filled = FilledText::default();
    for piece in expr::pieces(text)? {
        match piece {
            InterpolationPiece::Text(text) => filled.text.push_str(text),
            InterpolationPiece::Expression { source, offset } => {
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

impl FilledText {
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

/// Fills in a prompt like [`fill`], and takes an `{{input.name}}` that the run's input lacks from
/// the previous step. Conditions and commands read only the run's own input as `input`.
///
/// # Errors
///
/// As [`fill`].
pub fn fill_prompt(text: &str, state: &Map<String, Value>) -> Result<FilledText, expr::Error> {
    fill_with(text, |source| {
        Ok(value(source, state)?.or_else(|| from_before(source, state)))
    })
}

/// Returns the value that the previous step gave under a name that the run's input lacks.
fn from_before(source: &str, state: &Map<String, Value>) -> Option<Value> {
    let mut path = plain_path(source)?;
    match path.as_mut_slice() {
        [first, _, ..] if first == "input" => "output".clone_into(first),
        _ => return None,
    }
    follow(&path, state).cloned()
}

/// Returns the beginning of a text, up to some bytes and to a whole character.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

/// Returns the references of an expression, or of every `{{ }}` of a text. Text that does not parse
/// has no references.
#[must_use]
pub fn reads(source: &str) -> Vec<NameReference> {
    expr::references(source).unwrap_or_default()
}

/// Returns the references in the `{{ }}` of a text.
#[must_use]
pub fn text_reads(text: &str) -> Vec<NameReference> {
    let pieces = expr::pieces(text).unwrap_or_default();
    let sources = pieces.into_iter().filter_map(|piece| match piece {
        InterpolationPiece::Expression { source, .. } => Some(reads(source)),
        InterpolationPiece::Text(_) => None,
    });
    sources.flatten().collect()
}

/// Returns the value at the end of a path.
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

/// Parses a plain path such as `output.files[0]`. Properties that JavaScript adds, such as
/// `length`, are left to the evaluator.
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
    read: impl FnOnce(&mut EvalContext<'_>, &expr::Value) -> Result<T, expr::Error>,
) -> Result<T, expr::Error> {
    let compiled = expr::compile(source, &mut NameScope::new())?;
    let state = JsObject::from_json_map(state);
    let frame = Frame::root(Rc::new(RefCell::new(state)), 0);
    let globals = JsObject::new();
    let mut cx = EvalContext::new(LIMITS, &globals).lenient();
    let value = compiled.eval(&mut cx, &frame)?;
    read(&mut cx, &value)
}
