//! `RegExp`: the constructor, `exec` and `test`, and what a match looks like.

use std::ops::Range;
use std::rc::Rc;

use super::args::arg;
use super::match_result;
use super::methods::BuiltinMethod;
use crate::context::EvalContext;
use crate::convert::to_text;
use crate::error::Error;
use crate::regex::{JsRegex, RegexSearch};
use crate::value::{Builtin, JsObject, Value};

/// A method of regular expressions.
type RegexMethod = fn(&mut EvalContext<'_>, &Rc<JsRegex>, &[Value]) -> Result<Value, Error>;

pub(super) fn method(method: BuiltinMethod) -> Option<RegexMethod> {
    Some(match method {
        BuiltinMethod::Exec => exec,
        BuiltinMethod::Test => test,
        BuiltinMethod::ToString => |_, regex, _| Ok(Value::from(literal(regex))),
        _ => return None,
    })
}

pub(super) static REG_EXP: Builtin = Builtin {
    name: "RegExp",
    call: Some(create),
    construct: Some(create),
    members: &[],
};

/// `new RegExp(pattern, flags)`
fn create(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let flags = match arg(args, 1) {
        Value::Undefined => None,
        flags => Some(to_text(cx, flags)?),
    };
    let regex = match (arg(args, 0), flags) {
        (Value::RegExp(regex), None) => regex.fresh(),
        (Value::RegExp(regex), Some(flags)) => {
            let source = regex.source.clone();
            compiled(cx, &source, &flags)?
        }
        (pattern, flags) => {
            let source = match pattern {
                Value::Undefined => Rc::from(""),
                pattern => to_text(cx, pattern)?,
            };
            compiled(cx, &source, flags.as_deref().unwrap_or(""))?
        }
    };
    Ok(Value::RegExp(Rc::new(regex)))
}

/// Compiles a pattern and charges for it: patterns may be made in a loop.
fn compiled(cx: &mut EvalContext<'_>, source: &str, flags: &str) -> Result<JsRegex, Error> {
    const FUEL_PER_PATTERN: u64 = 200;
    const FUEL_PER_PATTERN_BYTE: u64 = 20;
    cx.charge(FUEL_PER_PATTERN + FUEL_PER_PATTERN_BYTE * source.len() as u64)?;
    JsRegex::new(source, flags)
}

/// Returns the regular expression of an argument: itself, or a compiled pattern.
pub(super) fn from_pattern(
    cx: &mut EvalContext<'_>,
    pattern: &Value,
    flags: &str,
) -> Result<Rc<JsRegex>, Error> {
    match pattern {
        Value::RegExp(regex) => Ok(regex.clone()),
        Value::Undefined => compiled(cx, "", flags).map(Rc::new),
        pattern => {
            let source = to_text(cx, pattern)?;
            compiled(cx, &source, flags).map(Rc::new)
        }
    }
}

/// Prints a regular expression: `/source/flags`.
pub(super) fn literal(regex: &JsRegex) -> String {
    format!("/{}/{}", regex.source, regex.flags)
}

/// Returns a property of a regular expression.
pub(super) fn property(regex: &JsRegex, name: &str) -> Option<Value> {
    let flag = match name {
        "source" => return Some(Value::String(regex.source.clone())),
        "flags" => return Some(Value::String(regex.flags.clone())),
        "lastIndex" => return Some(Value::Number(regex.last_index.get() as f64)),
        "global" => 'g',
        "ignoreCase" => 'i',
        "multiline" => 'm',
        "dotAll" => 's',
        "unicode" => 'u',
        "unicodeSets" => 'v',
        "sticky" => 'y',
        "hasIndices" => 'd',
        _ => return None,
    };
    Some(Value::Bool(regex.has_flag(flag)))
}

fn exec(cx: &mut EvalContext<'_>, regex: &Rc<JsRegex>, args: &[Value]) -> Result<Value, Error> {
    let text = to_text(cx, arg(args, 0))?;
    exec_on(cx, regex, &text)
}

fn test(cx: &mut EvalContext<'_>, regex: &Rc<JsRegex>, args: &[Value]) -> Result<Value, Error> {
    let text = to_text(cx, arg(args, 0))?;
    let mut search = regex.search(&text);
    next_match(cx, regex, &mut search).map(|found| Value::Bool(found.is_some()))
}

/// Implements `regex.exec(text)`: returns a match array or `null`.
pub(super) fn exec_on(
    cx: &mut EvalContext<'_>,
    regex: &JsRegex,
    text: &Rc<str>,
) -> Result<Value, Error> {
    let mut search = regex.search(text);
    match next_match(cx, regex, &mut search)? {
        Some(_) => match_array(cx, regex, &search, text),
        None => Ok(Value::Null),
    }
}

/// Finds the next match; keeps its position in `lastIndex` if the flags ask for it.
fn next_match(
    cx: &mut EvalContext<'_>,
    regex: &JsRegex,
    search: &mut RegexSearch<'_>,
) -> Result<Option<Range<usize>>, Error> {
    cx.charge_bytes(search.len())?;
    let remembers = regex.has_flag('g') || regex.has_flag('y');
    let from = if remembers { regex.last_index.get() } else { 0 };
    let found = search.find(cx, from, regex.has_flag('y'))?;
    let whole = search.group(0).filter(|_| found);
    if remembers {
        regex
            .last_index
            .set(whole.as_ref().map_or(0, |whole| whole.end));
    }
    Ok(whole)
}

/// Visits every match of a global expression, or the one match of another.
pub(super) fn each_match(
    cx: &mut EvalContext<'_>,
    regex: &JsRegex,
    text: &Rc<str>,
    mut visit: impl FnMut(&mut EvalContext<'_>, &RegexSearch<'_>, Range<usize>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut search = regex.search(text);
    if !regex.has_flag('g') {
        if let Some(whole) = next_match(cx, regex, &mut search)? {
            visit(cx, &search, whole)?;
        }
        return Ok(());
    }
    cx.charge_bytes(text.len())?;
    let sticky = regex.has_flag('y');
    let mut from = regex.last_index.get();
    while search.find(cx, from, sticky)? {
        let Some(whole) = search.group(0) else { break };
        from = if whole.is_empty() {
            search.advance(whole.end)
        } else {
            whole.end
        };
        visit(cx, &search, whole)?;
    }
    regex.last_index.set(0);
    Ok(())
}

/// Makes the array of a match: the groups, with `index`, `input` and `groups` beside them.
pub(super) fn match_array(
    cx: &mut EvalContext<'_>,
    regex: &JsRegex,
    search: &RegexSearch<'_>,
    input: &Rc<str>,
) -> Result<Value, Error> {
    // Each group may become a string of its own.
    const FUEL_PER_GROUP: u64 = 4;
    cx.charge(FUEL_PER_GROUP * regex.groups() as u64)?;
    let mut items = Vec::with_capacity(regex.groups());
    let mut bytes = 0;
    for group in 0..regex.groups() {
        items.push(match search.group(group) {
            Some(range) => {
                bytes += range.len();
                Value::String(search.part(range))
            }
            None => Value::Undefined,
        });
    }
    cx.charge_bytes(bytes)?;
    let details = match_result::MatchDetails {
        index: search.group(0).map_or(0, |whole| whole.start),
        input: input.clone(),
        groups: named_groups(regex, |group| items[group].clone()),
        indices: regex.has_flag('d').then(|| indices(regex, search)),
    };
    Ok(match_result::array(items, details))
}

/// Makes an object of the named groups; `undefined` if none is named.
fn named_groups(regex: &JsRegex, value: impl Fn(usize) -> Value) -> Value {
    if regex.names().is_empty() {
        return Value::Undefined;
    }
    let mut groups = JsObject::new();
    for (name, number) in regex.names() {
        let value = value(*number);
        // Of groups with the same name in different alternatives, the one that matched counts.
        if !groups.contains(name) || !matches!(value, Value::Undefined) {
            groups.insert(&**name, value);
        }
    }
    Value::object(groups)
}

/// Returns the positions of all groups, for the `d` flag.
fn indices(regex: &JsRegex, search: &RegexSearch<'_>) -> Value {
    let pair = |group: usize| match search.group(group) {
        Some(range) => Value::array(vec![
            Value::Number(range.start as f64),
            Value::Number(range.end as f64),
        ]),
        None => Value::Undefined,
    };
    let items = (0..regex.groups()).map(pair).collect();
    let groups = named_groups(regex, pair);
    match_result::array(
        items,
        match_result::MatchDetails {
            index: 0,
            input: "".into(),
            groups,
            indices: None,
        },
    )
}

/// Returns the arguments of a replacement function.
pub(super) fn replacer_arguments(
    regex: &JsRegex,
    search: &RegexSearch<'_>,
    text: &Rc<str>,
) -> Vec<Value> {
    let group = |group: usize| match search.group(group) {
        Some(range) => Value::String(search.part(range)),
        None => Value::Undefined,
    };
    let mut arguments: Vec<Value> = (0..regex.groups()).map(group).collect();
    let start = search.group(0).map_or(0, |whole| whole.start);
    arguments.push(Value::Number(start as f64));
    arguments.push(Value::String(text.clone()));
    if !regex.names().is_empty() {
        arguments.push(named_groups(regex, group));
    }
    arguments
}
