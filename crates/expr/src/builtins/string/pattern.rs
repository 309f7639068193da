//! Text and regular expressions: `match`, `matchAll`, `search`, `split`.

use std::rc::Rc;

use super::super::args::arg;
use super::super::regexp::{self, from_pattern};
use super::super::text;
use crate::context::EvalContext;
use crate::convert::{to_text, to_uint32};
use crate::error::Error;
use crate::regex::JsRegex;
use crate::value::Value;

pub(super) fn r#match(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let regex = from_pattern(cx, arg(args, 0), "")?;
    if !regex.has_flag('g') {
        return regexp::exec_on(cx, &regex, this);
    }
    let mut found = Vec::new();
    regex.last_index.set(0);
    regexp::each_match(cx, &regex, this, |cx, search, whole| {
        text::one_more(cx, found.len())?;
        found.push(Value::String(search.part(whole)));
        Ok(())
    })?;
    Ok(if found.is_empty() {
        Value::Null
    } else {
        Value::array(found)
    })
}

/// Returns all matches, as an array rather than an iterator.
pub(super) fn match_all(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    if let Value::RegExp(regex) = arg(args, 0)
        && !regex.has_flag('g')
    {
        return Err(Error::runtime(
            "String.prototype.matchAll called with a non-global RegExp argument",
        ));
    }
    let given = from_pattern(cx, arg(args, 0), "g")?;
    // The expression's own lastIndex is where the search starts, and is left alone.
    let regex = given.fresh();
    regex.last_index.set(given.last_index.get());
    let mut found = Vec::new();
    regexp::each_match(cx, &regex, this, |cx, search, _| {
        text::one_more(cx, found.len())?;
        found.push(regexp::match_array(cx, &regex, search, this)?);
        Ok(())
    })?;
    Ok(Value::array(found))
}

pub(super) fn search(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let regex = from_pattern(cx, arg(args, 0), "")?;
    cx.charge_bytes(this.len())?;
    let mut search = regex.search(this);
    let found = search.find(cx, 0, regex.has_flag('y'))?;
    let start = search.group(0).filter(|_| found);
    Ok(Value::Number(
        start.map_or(-1.0, |whole| whole.start as f64),
    ))
}

pub(super) fn split(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let limit = match arg(args, 1) {
        Value::Undefined => usize::MAX,
        limit => to_uint32(cx, limit)? as usize,
    };
    cx.charge_bytes(this.len())?;
    let parts = match arg(args, 0) {
        Value::RegExp(regex) => split_by_regex(cx, this, regex, limit)?,
        Value::Undefined if limit == 0 => Vec::new(),
        Value::Undefined => vec![Value::String(this.clone())],
        separator => {
            let separator = to_text(cx, separator)?;
            split_by_text(cx, this, &separator, limit)?
        }
    };
    Ok(Value::array(parts))
}

fn split_by_text(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    separator: &str,
    limit: usize,
) -> Result<Vec<Value>, Error> {
    if separator.is_empty() {
        let count = text::len(this).min(limit);
        cx.reserve_items(count)?;
        return Ok(this.encode_utf16().take(count).map(text::of_unit).collect());
    }
    let count = this.matches(separator).count().saturating_add(1).min(limit);
    cx.reserve_items(count)?;
    Ok(this.split(separator).take(limit).map(Value::from).collect())
}

fn split_by_regex(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    regex: &JsRegex,
    limit: usize,
) -> Result<Vec<Value>, Error> {
    let mut parts = Vec::new();
    if limit == 0 {
        return Ok(parts);
    }
    let mut search = regex.search(this);
    let size = search.len();
    if size == 0 {
        if !search.find(cx, 0, true)? {
            parts.push(Value::String(this.clone()));
        }
        return Ok(parts);
    }
    let (mut part_start, mut from) = (0, 0);
    while from < size && search.find(cx, from, false)? {
        let Some(whole) = search.group(0) else { break };
        if whole.start >= size {
            break;
        }
        if whole.end == part_start {
            from = search.advance(from);
            continue;
        }
        for part in std::iter::once(Some(part_start..whole.start))
            .chain((1..regex.groups()).map(|group| search.group(group)))
        {
            text::one_more(cx, parts.len())?;
            parts.push(part.map_or(Value::Undefined, |part| Value::String(search.part(part))));
            if parts.len() == limit {
                return Ok(parts);
            }
        }
        part_start = whole.end;
        from = if whole.is_empty() {
            search.advance(whole.end)
        } else {
            whole.end
        };
    }
    parts.push(Value::String(search.part(part_start..size)));
    Ok(parts)
}
