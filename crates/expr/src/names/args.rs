//! What a helper is given and what it gives back, with JavaScript's readings of both.

use std::borrow::Cow;

use super::js_text;

/// One argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg<'a> {
    Str(&'a str),
    Num(f64),
    Bool(bool),
    List(Vec<String>),
    /// An options object, as in `truncate(text, 10, { suffix: '' })`.
    Opts(Vec<(String, Arg<'a>)>),
    Undefined,
}

/// What a helper answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Out {
    Str(String),
    Num(f64),
    /// Edge's byte helpers answer `null` where there is nothing to say.
    Null,
}

impl Arg<'_> {
    /// The argument as `String(value)` prints it.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Arg::Str(text) => Cow::Borrowed(text),
            Arg::Num(number) => Cow::Owned(js_text::print(*number)),
            Arg::Bool(true) => Cow::Borrowed("true"),
            Arg::Bool(false) => Cow::Borrowed("false"),
            Arg::List(items) => Cow::Owned(items.join(",")),
            Arg::Opts(_) => Cow::Borrowed("[object Object]"),
            Arg::Undefined => Cow::Borrowed("undefined"),
        }
    }

    pub(super) fn is_truthy(&self) -> bool {
        match self {
            Arg::Str(text) => !text.is_empty(),
            Arg::Num(number) => *number != 0.0 && !number.is_nan(),
            Arg::Bool(value) => *value,
            Arg::List(_) | Arg::Opts(_) => true,
            Arg::Undefined => false,
        }
    }

    /// The argument as `Number(value)` reads it.
    pub(super) fn number(&self) -> f64 {
        match self {
            Arg::Num(number) => *number,
            Arg::Bool(value) => f64::from(u8::from(*value)),
            Arg::Str(text) => js_text::number(text),
            Arg::List(_) => js_text::number(&self.text()),
            Arg::Opts(_) | Arg::Undefined => f64::NAN,
        }
    }

    /// An option of an options object; nothing where it is absent or undefined.
    pub(super) fn option(&self, key: &str) -> Option<&Self> {
        let Arg::Opts(options) = self else {
            return None;
        };
        // The last of two equal keys wins, as in an object literal.
        let (_, value) = options.iter().rev().find(|(name, _)| name == key)?;
        (*value != Arg::Undefined).then_some(value)
    }
}
