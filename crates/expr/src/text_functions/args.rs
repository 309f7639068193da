//! Arguments and results of a helper, with JavaScript's conversions of both.

use std::borrow::Cow;

use super::js_text;

/// One argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum FunctionArg<'a> {
    Str(&'a str),
    Num(f64),
    Bool(bool),
    List(Vec<String>),
    /// An options object, as in `truncate(text, 10, { suffix: '' })`.
    Opts(Vec<(String, FunctionArg<'a>)>),
    Undefined,
}

/// Result of a helper.
#[derive(Debug, Clone, PartialEq)]
pub enum FunctionOutput {
    Str(String),
    Num(f64),
    /// Edge's byte helpers answer `null` where there is nothing to say.
    Null,
}

impl FunctionArg<'_> {
    /// Returns the argument as `String(value)` prints it.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            FunctionArg::Str(text) => Cow::Borrowed(text),
            FunctionArg::Num(number) => Cow::Owned(js_text::print(*number)),
            FunctionArg::Bool(true) => Cow::Borrowed("true"),
            FunctionArg::Bool(false) => Cow::Borrowed("false"),
            FunctionArg::List(items) => Cow::Owned(items.join(",")),
            FunctionArg::Opts(_) => Cow::Borrowed("[object Object]"),
            FunctionArg::Undefined => Cow::Borrowed("undefined"),
        }
    }

    pub(super) fn is_truthy(&self) -> bool {
        match self {
            FunctionArg::Str(text) => !text.is_empty(),
            FunctionArg::Num(number) => *number != 0.0 && !number.is_nan(),
            FunctionArg::Bool(value) => *value,
            FunctionArg::List(_) | FunctionArg::Opts(_) => true,
            FunctionArg::Undefined => false,
        }
    }

    /// Returns the argument as `Number(value)` reads it.
    pub(super) fn number(&self) -> f64 {
        match self {
            FunctionArg::Num(number) => *number,
            FunctionArg::Bool(value) => f64::from(u8::from(*value)),
            FunctionArg::Str(text) => js_text::number(text),
            FunctionArg::List(_) => js_text::number(&self.text()),
            FunctionArg::Opts(_) | FunctionArg::Undefined => f64::NAN,
        }
    }

    /// Returns an option of an options object; `None` if it is absent or undefined.
    pub(super) fn option(&self, key: &str) -> Option<&Self> {
        let FunctionArg::Opts(options) = self else {
            return None;
        };
        // The last of two equal keys wins, as in an object literal.
        let (_, value) = options.iter().rev().find(|(name, _)| name == key)?;
        (*value != FunctionArg::Undefined).then_some(value)
    }
}
