//! JavaScript regular expressions for `pattern`, `before`, `after`, `skip_if` and `validate`.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use expr::{EvalContext, Expr, Frame, JsObject, Limits, NameScope, Value};

/// A compiled regular expression. It runs inside the expression language, so that it means exactly
/// what it means in a template and is bounded by the same limits.
pub(crate) struct RecipeRegex {
    pattern: String,
    regex: Value,
    search: Expr,
}

impl RecipeRegex {
    /// Compiles a pattern in which `^` and `$` match at every line.
    pub(crate) fn new(pattern: &str) -> Result<Self, expr::Error> {
        let make = expr::compile("new RegExp(pattern, 'm')", &mut NameScope::new())?;
        let regex = evaluate(&make, [("pattern", Value::from(pattern))])?;
        let source = "((m) => m ? [m.index, m[0].length] : null)(regex.exec(text))";
        let search = expr::compile(source, &mut NameScope::new())?;
        let pattern = pattern.to_owned();
        Ok(Self {
            pattern,
            regex,
            search,
        })
    }

    /// Returns the byte range of the first match.
    pub(crate) fn find(&self, text: &str) -> Result<Option<Range<usize>>, expr::Error> {
        let values = [("regex", self.regex.clone()), ("text", Value::from(text))];
        let Value::Array(found) = evaluate(&self.search, values)? else {
            return Ok(None);
        };
        let [Value::Number(index), Value::Number(length)] = found.borrow()[..] else {
            return Ok(None);
        };
        let start = byte_offset(text, index as usize);
        let end = start + byte_offset(&text[start..], length as usize);
        Ok(Some(start..end))
    }

    /// Replaces matches as JavaScript's `replace` does; returns the text and the number of matches.
    pub(crate) fn replace(
        &self,
        text: &str,
        with: &str,
        all: bool,
    ) -> Result<(String, usize), expr::Error> {
        let flags = if all { "gm" } else { "m" };
        let source = "((r) => [text.replace(r, substitute), (text.match(r) || []).length])\
                      (new RegExp(pattern, flags))";
        let replace = expr::compile(source, &mut NameScope::new())?;
        let values = [
            ("pattern", Value::from(self.pattern.as_str())),
            ("text", Value::from(text)),
            ("substitute", Value::from(with)),
            ("flags", Value::from(flags)),
        ];
        let Value::Array(found) = evaluate(&replace, values)? else {
            return Ok((text.to_owned(), 0));
        };
        let found = found.borrow();
        match &found[..] {
            [Value::String(new), Value::Number(count)] => {
                let count = if all {
                    *count as usize
                } else {
                    (*count as usize).min(1)
                };
                Ok((new.to_string(), count))
            }
            _ => Ok((text.to_owned(), 0)),
        }
    }

    pub(crate) fn is_match(&self, text: &str) -> Result<bool, expr::Error> {
        Ok(self.find(text)?.is_some())
    }
}

fn evaluate<const N: usize>(expr: &Expr, values: [(&str, Value); N]) -> Result<Value, expr::Error> {
    let state: JsObject = values
        .into_iter()
        .map(|(name, value)| (Rc::from(name), value))
        .collect();
    let globals = JsObject::new();
    let mut cx = EvalContext::new(Limits::default(), &globals);
    let frame = Frame::root(Rc::new(RefCell::new(state)), 0);
    expr.eval(&mut cx, &frame)
}

/// Converts an offset in UTF-16 units, which JavaScript counts, to bytes.
fn byte_offset(text: &str, units: usize) -> usize {
    let mut seen = 0;
    for (offset, c) in text.char_indices() {
        if seen >= units {
            return offset;
        }
        seen += c.len_utf16();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_found_at_their_bytes() {
        for (pattern, text, expected) in [
            ("b+", "abbc", Some(1..3)),
            ("^b", "a\nb", Some(2..3)),
            ("é", "😀é!", Some(4..6)),
            ("(?<=x)y", "ay xy", Some(4..5)),
            ("z", "abc", None),
            ("a\\nb", "a\nb", Some(0..3)),
        ] {
            let found = RecipeRegex::new(pattern).unwrap().find(text).unwrap();
            assert_eq!(found, expected, "{pattern}");
        }
        assert!(RecipeRegex::new("(").is_err());
    }
}
