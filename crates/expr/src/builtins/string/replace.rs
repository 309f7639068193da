//! `replace` and `replaceAll`, with functions and with `$1`-style replacement text.

use std::ops::Range;
use std::rc::Rc;

use super::super::args::arg;
use super::super::regexp;
use super::super::text;
use crate::context::EvalContext;
use crate::convert::{to_text, write_text};
use crate::error::Error;
use crate::regex::{JsRegex, RegexSearch};
use crate::value::Value;

/// The occurrences of a text to replace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplaceScope {
    First,
    All,
}

pub(super) fn replace(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    match arg(args, 0) {
        Value::RegExp(regex) => replace_matches(cx, this, regex, arg(args, 1)),
        _ => replace_text(cx, this, args, ReplaceScope::First),
    }
}

pub(super) fn replace_all(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    match arg(args, 0) {
        Value::RegExp(regex) if regex.has_flag('g') => {
            replace_matches(cx, this, regex, arg(args, 1))
        }
        Value::RegExp(_) => Err(Error::runtime(
            "String.prototype.replaceAll called with a non-global RegExp argument",
        )),
        _ => replace_text(cx, this, args, ReplaceScope::All),
    }
}

/// The replacement of a match.
enum ReplacementValue<'a> {
    Function(&'a Value),
    /// Text without `$`.
    Plain(Rc<str>),
    Template(Rc<str>),
}

impl<'a> ReplacementValue<'a> {
    fn of(cx: &mut EvalContext<'_>, value: &'a Value) -> Result<Self, Error> {
        if value.is_callable() {
            return Ok(ReplacementValue::Function(value));
        }
        let text = to_text(cx, value)?;
        Ok(if text.contains('$') {
            ReplacementValue::Template(text)
        } else {
            ReplacementValue::Plain(text)
        })
    }
}

fn replace_text(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
    which: ReplaceScope,
) -> Result<Value, Error> {
    let pattern = to_text(cx, arg(args, 0))?;
    let replacement = ReplacementValue::of(cx, arg(args, 1))?;
    cx.charge_bytes(this.len())?;
    let mut out = String::new();
    let (mut rest, mut changed) = (0, false);
    let take = if which == ReplaceScope::All {
        usize::MAX
    } else {
        1
    };
    for (start, found) in this.match_indices(&*pattern).take(take) {
        let end = start + found.len();
        text::push(cx, &mut out, &this[rest..start])?;
        (rest, changed) = (end, true);
        match &replacement {
            ReplacementValue::Plain(text) => text::push(cx, &mut out, text)?,
            ReplacementValue::Function(function) => {
                let offset = Value::Number(text::len(&this[..start]) as f64);
                let arguments = [Value::from(found), offset, Value::String(this.clone())];
                let made = cx.call(function, &Value::Undefined, &arguments)?;
                write_text(cx, &made, &mut out)?;
                text::check(cx, &out)?;
            }
            ReplacementValue::Template(template) => {
                let whole = start..end;
                expand(cx, template, &PlainMatch { text: this, whole }, &mut out)?;
            }
        }
    }
    if !changed {
        return Ok(Value::String(this.clone()));
    }
    text::push(cx, &mut out, &this[rest..])?;
    Ok(Value::from(out))
}

fn replace_matches(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    regex: &JsRegex,
    replacement: &Value,
) -> Result<Value, Error> {
    let replacement = ReplacementValue::of(cx, replacement)?;
    let mut out = String::new();
    // The end of the text that is done, and the text's length once there is a match.
    let (mut rest, mut len) = (0, None);
    if regex.has_flag('g') {
        regex.last_index.set(0);
    }
    regexp::each_match(cx, regex, this, |cx, search, whole| {
        let before = out.len();
        search.write(rest..whole.start, &mut out);
        cx.charge_bytes(out.len() - before)?;
        rest = whole.end;
        match &replacement {
            ReplacementValue::Plain(text) => text::push(cx, &mut out, text),
            ReplacementValue::Function(function) => {
                cx.charge(regex.groups() as u64)?;
                let arguments = regexp::replacer_arguments(regex, search, this);
                let made = cx.call(function, &Value::Undefined, &arguments)?;
                write_text(cx, &made, &mut out)?;
                text::check(cx, &out)
            }
            ReplacementValue::Template(template) => expand(
                cx,
                template,
                &RegexMatch {
                    regex,
                    search,
                    whole,
                },
                &mut out,
            ),
        }?;
        len = Some(search.len());
        Ok(())
    })?;
    let Some(len) = len else {
        return Ok(Value::String(this.clone()));
    };
    let tail = text::slice(this, rest, len);
    text::push(cx, &mut out, &tail)?;
    Ok(Value::from(out))
}

/// The match that a replacement template refers to. Positions are in the units of the
/// implementation.
trait MatchSource {
    fn whole(&self) -> Range<usize>;
    fn len(&self) -> usize;
    fn groups(&self) -> usize;
    fn group(&self, number: usize) -> Option<Range<usize>>;
    /// Returns the number of a named group; `None` when the pattern names no groups at all.
    fn named(&self, name: &str) -> Option<Option<usize>>;
    fn write(&self, range: Range<usize>, out: &mut String);
}

/// A plain text that was found, in bytes.
struct PlainMatch<'a> {
    text: &'a str,
    whole: Range<usize>,
}

impl MatchSource for PlainMatch<'_> {
    fn whole(&self) -> Range<usize> {
        self.whole.clone()
    }
    fn len(&self) -> usize {
        self.text.len()
    }
    fn groups(&self) -> usize {
        1
    }
    fn group(&self, _: usize) -> Option<Range<usize>> {
        None
    }
    fn named(&self, _: &str) -> Option<Option<usize>> {
        None
    }
    fn write(&self, range: Range<usize>, out: &mut String) {
        out.push_str(&self.text[range]);
    }
}

/// A regular expression's match, in UTF-16 code units.
struct RegexMatch<'a, 's> {
    regex: &'a JsRegex,
    search: &'a RegexSearch<'s>,
    whole: Range<usize>,
}

impl MatchSource for RegexMatch<'_, '_> {
    fn whole(&self) -> Range<usize> {
        self.whole.clone()
    }
    fn len(&self) -> usize {
        self.search.len()
    }
    fn groups(&self) -> usize {
        self.regex.groups()
    }
    fn group(&self, number: usize) -> Option<Range<usize>> {
        self.search.group(number)
    }
    fn named(&self, name: &str) -> Option<Option<usize>> {
        let names = self.regex.names();
        if names.is_empty() {
            return None;
        }
        let mut same = names.iter().filter(|(known, _)| **known == *name);
        Some(
            same.find(|(_, number)| self.search.group(*number).is_some())
                .map(|found| found.1),
        )
    }
    fn write(&self, range: Range<usize>, out: &mut String) {
        self.search.write(range, out);
    }
}

/// Appends a replacement template with its `$` references filled in.
fn expand(
    cx: &mut EvalContext<'_>,
    template: &str,
    source: &impl MatchSource,
    out: &mut String,
) -> Result<(), Error> {
    let mut rest = template;
    while let Some(dollar) = rest.find('$') {
        text::push(cx, out, &rest[..dollar])?;
        rest = &rest[dollar..];
        let before = out.len();
        let used = reference(rest, source, out);
        cx.charge_bytes(out.len() - before)?;
        text::check(cx, out)?;
        rest = &rest[used..];
    }
    text::push(cx, out, rest)
}

/// Appends the text of the reference at the start of `rest`; returns the reference's length in
/// bytes.
fn reference(rest: &str, source: &impl MatchSource, out: &mut String) -> usize {
    let whole = source.whole();
    match rest.as_bytes().get(1) {
        Some(b'$') => out.push('$'),
        Some(b'&') => source.write(whole, out),
        Some(b'`') => source.write(0..whole.start, out),
        Some(b'\'') => source.write(whole.end..source.len(), out),
        Some(b'0'..=b'9') => return numbered(rest, source, out),
        Some(b'<') => return named(rest, source, out),
        _ => {
            out.push('$');
            return 1;
        }
    }
    2
}

/// Appends `$1` or `$12`: two digits if there is such a group, else one.
fn numbered(rest: &str, source: &impl MatchSource, out: &mut String) -> usize {
    let digit = |at: usize| {
        rest.as_bytes()
            .get(at)
            .filter(|byte| byte.is_ascii_digit())
            .map(|b| usize::from(b - b'0'))
    };
    let first = digit(1).unwrap_or(0);
    let two = digit(2).map(|second| (first * 10 + second, 3));
    for (number, used) in two.into_iter().chain([(first, 2)]) {
        if number > 0 && number < source.groups() {
            if let Some(group) = source.group(number) {
                source.write(group, out);
            }
            return used;
        }
    }
    out.push('$');
    1
}

/// Appends `$<name>`.
fn named(rest: &str, source: &impl MatchSource, out: &mut String) -> usize {
    let name = rest[2..].find('>').map(|end| &rest[2..2 + end]);
    let Some((name, group)) = name.and_then(|name| Some((name, source.named(name)?))) else {
        out.push('$');
        return 1;
    };
    if let Some(group) = group.and_then(|number| source.group(number)) {
        source.write(group, out);
    }
    name.len() + 3
}
