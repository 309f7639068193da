//! The options of `@ai` and `@output`, read and checked.

use std::rc::Rc;

use expr::{EvalContext, Value};
use prompt::{AnswerKind, ItemCount};

/// The options `@ai` takes.
pub(crate) const AI_KEYS: &[&str] = &["key"];
/// The options `@output` takes.
const OUTPUT_KEYS: &[&str] = &[
    "key", "type", "from", "schema", "language", "required", "min", "max",
];

/// The parsed options.
pub(crate) struct Options {
    pub(crate) key: Option<Rc<str>>,
    pub(crate) kind: AnswerKind,
    pub(crate) schema: Option<serde_json::Value>,
    pub(crate) items: ItemCount,
    pub(crate) required: bool,
}

/// Options that make no sense.
pub(crate) struct RefusedOptions {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            key: None,
            kind: AnswerKind::Any,
            schema: None,
            items: ItemCount::default(),
            required: true,
        }
    }
}

impl RefusedOptions {
    fn new(message: impl Into<String>) -> Self {
        RefusedOptions {
            code: "E_AI_OUTPUT_INVALID",
            message: message.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<expr::Error> for RefusedOptions {
    fn from(error: expr::Error) -> Self {
        RefusedOptions {
            code: crate::parser::code_name(error.code()),
            ..RefusedOptions::new(error.message())
        }
    }
}

/// Reads a key, or an object with the options named in `known`.
pub(crate) fn read(
    cx: &mut EvalContext<'_>,
    value: &Value,
    known: &[&str],
) -> Result<Options, RefusedOptions> {
    let mut options = Options::default();
    let object = match value {
        Value::String(key) => {
            options.key = Some(key.clone());
            return Ok(options);
        }
        Value::Object(object) => object.borrow().clone(),
        other => {
            let message = format!("the options are a {}, not an object", other.type_of());
            return Err(RefusedOptions::new(message).hint("write 'key' or { key: 'key' }"));
        }
    };
    for name in object.keys() {
        if !known.contains(&&*name) {
            return Err(unknown(&name, known));
        }
    }
    options.key = text(&object, "key")?;
    options.required = match object.get("required") {
        None | Some(Value::Undefined) => true,
        Some(value) => value.is_truthy(),
    };
    options.schema = match object.get("schema") {
        None | Some(Value::Undefined) => None,
        Some(schema) => Some(schema.to_json(cx)?),
    };
    Ok(options)
}

/// Reads the options of `@output`; `suffix` is the language after its parentheses.
pub(crate) fn read_output(
    cx: &mut EvalContext<'_>,
    value: &Value,
    suffix: Option<&str>,
) -> Result<Options, RefusedOptions> {
    let mut options = read(cx, value, OUTPUT_KEYS)?;
    let Value::Object(object) = value else {
        return Ok(options);
    };
    let object = object.borrow().clone();
    let language = text(&object, "language")?.or_else(|| suffix.map(Rc::from));
    let from = match object.get("from") {
        None | Some(Value::Undefined) => None,
        Some(Value::Array(items)) => {
            let items = items.borrow().clone();
            let json: Result<Vec<_>, _> = items.iter().map(|item| item.to_json(cx)).collect();
            Some(json?)
        }
        // A stand-in for a list may be empty text; it offers no choice yet.
        Some(Value::String(text)) if text.is_empty() => Some(Vec::new()),
        Some(other) => {
            let message = format!("`from` is a {}, not a list", other.type_of());
            return Err(RefusedOptions::new(message));
        }
    };
    let chooses = |name: &str| matches!(name, "select" | "pick" | "order");
    options.kind = match text(&object, "type")? {
        Some(name) => {
            if chooses(&name) && from.is_none() {
                let message = format!("type '{name}' needs a list to choose from");
                return Err(RefusedOptions::new(message).hint("add from: [ … ]"));
            }
            if !chooses(&name) && from.is_some() && AnswerKind::NAMES.contains(&&*name) {
                let message = format!("type '{name}' does not choose from a list");
                return Err(RefusedOptions::new(message).hint("use 'select', 'pick' or 'order'"));
            }
            let language = language.map(|language| language.to_string());
            AnswerKind::named(&name, from.unwrap_or_default(), language)
                .map_err(|error| RefusedOptions::new(error.to_string()))?
        }
        None if from.is_some() => {
            let message = "`from` needs a type that chooses from it";
            return Err(RefusedOptions::new(message).hint("add type: 'select', 'pick' or 'order'"));
        }
        None if object.contains("language") => AnswerKind::Code {
            language: language.map(|language| language.to_string()),
        },
        None => AnswerKind::Any,
    };
    options.items = ItemCount {
        min: count(&object, "min")?,
        max: count(&object, "max")?,
    };
    let counts = matches!(options.kind, AnswerKind::Pick { .. } | AnswerKind::List);
    if options.items != ItemCount::default() && !counts {
        let message = "`min` and `max` count the items of type 'pick' or 'list'";
        return Err(RefusedOptions::new(message).hint("use a `schema` for other kinds"));
    }
    if let (Some(min), Some(max)) = (options.items.min, options.items.max)
        && min > max
    {
        return Err(RefusedOptions::new(format!(
            "`min` {min} is greater than `max` {max}"
        )));
    }
    Ok(options)
}

/// Reads a number of items.
fn count(object: &expr::JsObject, name: &str) -> Result<Option<u64>, RefusedOptions> {
    match object.get(name) {
        None | Some(Value::Undefined) => Ok(None),
        Some(Value::Number(number)) if number >= 0.0 && number.fract() == 0.0 => {
            // Far beyond any list that is allowed.
            Ok(Some(number.min(f64::from(u32::MAX)) as u64))
        }
        Some(other) => {
            let message = format!("`{name}` is a {}, not a number of items", other.type_of());
            Err(RefusedOptions::new(message))
        }
    }
}

/// Prints an answer: text unchanged, anything with structure as JSON.
pub(crate) fn shown(cx: &mut EvalContext<'_>, answer: &Value) -> Result<String, expr::Error> {
    let text = match answer {
        Value::Array(_) | Value::Object(_) => format!("{:#}", answer.to_json(cx)?),
        other => expr::to_text(cx, other)?.replace("\r\n", "\n"),
    };
    Ok(text.trim_matches('\n').to_owned())
}

fn text(object: &expr::JsObject, name: &str) -> Result<Option<Rc<str>>, RefusedOptions> {
    match object.get(name) {
        None | Some(Value::Undefined) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            let message = format!("`{name}` is a {}, not text", other.type_of());
            Err(RefusedOptions::new(message))
        }
    }
}

fn unknown(name: &str, known: &[&str]) -> RefusedOptions {
    let list = known
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let message = format!("`{name}` is not an option here; there are {list}");
    match diagnostics::nearest(name, known.iter().copied()) {
        Some(near) => RefusedOptions::new(message).hint(format!("did you mean `{near}`?")),
        None => RefusedOptions::new(message),
    }
}
