//! The functions every template has beside the standard library: name helpers, JSON, HTML.

use std::cell::RefCell;
use std::rc::Rc;

use expr::text_functions::{self, FunctionArg, FunctionOutput, NameFn};
use expr::{Error, EvalContext, JsObject, Value, to_text};

use crate::attributes;

/// Returns all of them. Filters are the same functions, called as `{{ name :: value }}`.
pub(crate) fn all() -> JsObject {
    let mut globals = JsObject::new();
    for helper in text_functions::all() {
        globals.insert(helper.name, name_function(helper));
    }
    globals.insert("h", Value::lazy(hygen_helpers));
    globals.insert("inspect", Value::host("inspect", inspect));
    globals.insert("json", Value::host("json", json));
    globals.insert("nl2br", Value::host("nl2br", nl2br));
    let mut js = JsObject::new();
    js.insert("stringify", Value::host("stringify", js_stringify));
    globals.insert("js", Value::object(js));
    globals.insert("html", Value::object(html()));
    globals
}

/// Makes `provide(key, value)`, which exports a value from the template and prints nothing.
pub(crate) fn provide(provided: Rc<RefCell<JsObject>>) -> Value {
    Value::host("provide", move |cx, arguments| {
        let key = to_text(cx, &argument(arguments, 0))?;
        provided.borrow_mut().insert(key, argument(arguments, 1));
        Ok(Value::from(""))
    })
}

/// Returns the helpers that hygen's templates call `h`.
fn hygen_helpers() -> Value {
    let mut h = JsObject::new();
    for set in ["changeCase", "inflection"] {
        let helpers = text_functions::set_named(set).unwrap_or_default();
        let helpers = helpers
            .iter()
            .map(|helper| (Rc::from(helper.name), name_function(helper)));
        h.insert(set, Value::object(helpers.collect()));
    }
    for helper in text_functions::set_named("helpers").unwrap_or_default() {
        h.insert(helper.name, name_function(helper));
    }
    Value::object(h)
}

fn name_function(function: &'static NameFn) -> Value {
    Value::host(function.name, |cx, arguments| {
        let texts: Result<Vec<OwnedArgument>, Error> =
            arguments.iter().map(|value| given(cx, value)).collect();
        let texts = texts?;
        let arguments: Vec<FunctionArg<'_>> = texts.iter().map(OwnedArgument::arg).collect();
        match (function.call)(&arguments) {
            Ok(FunctionOutput::Str(text)) => {
                cx.reserve_string(text.len())?;
                Ok(Value::from(text))
            }
            Ok(FunctionOutput::Num(number)) => Ok(Value::Number(number)),
            Ok(FunctionOutput::Null) => Ok(Value::Null),
            Err(message) => Err(Error::runtime(message)),
        }
    })
}

/// An argument with the texts it borrows kept alive.
enum OwnedArgument {
    Text(Rc<str>),
    Number(f64),
    Bool(bool),
    List(Vec<String>),
    Options(Vec<(String, OwnedArgument)>),
    Undefined,
}

impl OwnedArgument {
    fn arg(&self) -> FunctionArg<'_> {
        match self {
            OwnedArgument::Text(text) => FunctionArg::Str(text),
            OwnedArgument::Number(number) => FunctionArg::Num(*number),
            OwnedArgument::Bool(value) => FunctionArg::Bool(*value),
            OwnedArgument::List(items) => FunctionArg::List(items.clone()),
            OwnedArgument::Options(options) => {
                let options = options
                    .iter()
                    .map(|(name, value)| (name.clone(), value.arg()));
                FunctionArg::Opts(options.collect())
            }
            OwnedArgument::Undefined => FunctionArg::Undefined,
        }
    }
}

fn given(cx: &mut EvalContext<'_>, value: &Value) -> Result<OwnedArgument, Error> {
    cx.charge(1)?;
    Ok(match value {
        Value::Undefined => OwnedArgument::Undefined,
        Value::Number(number) => OwnedArgument::Number(*number),
        Value::Bool(value) => OwnedArgument::Bool(*value),
        Value::Array(items) => {
            let items = items.borrow().clone();
            let texts = items
                .iter()
                .map(|item| to_text(cx, item).map(|text| text.to_string()));
            OwnedArgument::List(texts.collect::<Result<_, _>>()?)
        }
        Value::Object(object) => {
            let entries = object.borrow().entries();
            let mut options = Vec::with_capacity(entries.len());
            for (name, value) in entries {
                // Options are flat; anything deeper is as good as its text.
                let value = match value {
                    Value::Object(_) | Value::Array(_) => OwnedArgument::Text(to_text(cx, &value)?),
                    flat => given(cx, &flat)?,
                };
                options.push((name.to_string(), value));
            }
            OwnedArgument::Options(options)
        }
        other => OwnedArgument::Text(to_text(cx, other)?),
    })
}

/// Prints a value for reading: as indented JSON, and by its text if JSON leaves it out.
fn inspect(cx: &mut EvalContext<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let value = argument(arguments, 0);
    let text = match &value {
        Value::Array(_) | Value::Object(_) | Value::String(_) => {
            format!("{:#}", value.to_json(cx)?)
        }
        Value::Map(_) | Value::Set(_) => {
            let items = expr::iterate(cx, &value)?.unwrap_or_default();
            format!("{:#}", Value::array(items).to_json(cx)?)
        }
        other => to_text(cx, other)?.to_string(),
    };
    cx.reserve_string(text.len())?;
    Ok(Value::from(text))
}

/// Implements `json(value, indent?)`.
fn json(cx: &mut EvalContext<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let value = argument(arguments, 0);
    if matches!(value, Value::Undefined) || value.is_callable() {
        return Ok(Value::Undefined);
    }
    let json = value.to_json(cx)?;
    let indent = match argument(arguments, 1) {
        Value::Undefined | Value::Null => return Ok(Value::from(json.to_string())),
        Value::Number(width) => " ".repeat((width as usize).min(10)),
        other => to_text(cx, &other)?.chars().take(10).collect(),
    };
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(&json, &mut serializer)
        .map_err(|error| Error::runtime(error.to_string()))?;
    cx.reserve_string(bytes.len())?;
    Ok(Value::from(String::from_utf8_lossy(&bytes).as_ref()))
}

/// Prints JSON that is safe inside an HTML script.
fn js_stringify(cx: &mut EvalContext<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let value = argument(arguments, 0);
    if matches!(value, Value::Undefined) || value.is_callable() {
        return Ok(Value::from("undefined"));
    }
    let json = value.to_json(cx)?.to_string();
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            '<' => safe.push_str("\\u003C"),
            '>' => safe.push_str("\\u003E"),
            '/' => safe.push_str("\\u002F"),
            c => safe.push(c),
        }
    }
    cx.reserve_string(safe.len())?;
    let is_date = matches!(value, Value::Date(_));
    Ok(Value::from(if is_date {
        format!("new Date({safe})")
    } else {
        safe
    }))
}

fn nl2br(cx: &mut EvalContext<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let value = argument(arguments, 0);
    if !value.is_truthy() {
        return Ok(Value::Undefined);
    }
    let text = to_text(cx, &value)?;
    cx.reserve_string(text.len() * 4)?;
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Ok(Value::from(text.replace('\n', "<br>")))
}

fn html() -> JsObject {
    let mut html = JsObject::new();
    let escape = Value::host("escape", |cx, arguments| {
        let text = to_text(cx, &argument(arguments, 0))?;
        cx.reserve_string(text.len() * 6)?;
        Ok(Value::from(escaped(&text)))
    });
    html.insert("escape", escape);
    html.insert(
        "safe",
        Value::host("safe", |_, arguments| Ok(argument(arguments, 0))),
    );
    let class_names = Value::host("classNames", |cx, arguments| {
        attributes::class_names(cx, arguments).map(Value::from)
    });
    html.insert("classNames", class_names);
    let attrs = Value::host("attrs", |cx, arguments| {
        let values = crate::props::own_properties(&argument(arguments, 0));
        attributes::of(cx, &values).map(Value::from)
    });
    html.insert("attrs", attrs);
    html
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("&quot;"),
            '&' => escaped.push_str("&amp;"),
            '\'' => escaped.push_str("&#x27;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '`' => escaped.push_str("&#x60;"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn argument(arguments: &[Value], at: usize) -> Value {
    arguments.get(at).cloned().unwrap_or_default()
}
