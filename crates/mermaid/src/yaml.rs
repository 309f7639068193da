//! YAML as Mermaid's reader takes it: its scalars, its tags, its way with keys.
//!
//! The parser is granit's; what its events mean is decided here, because readers differ in exactly
//! that: `1_000` is text, a list may be a key, an unknown tag is an error.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, StructureStyle, Tag};

/// Depth to which maps and lists may nest.
pub(crate) const YAML_DEPTH_MAX: usize = 100;

/// Number of values in a text, those that aliases repeat included.
const YAML_VALUES_MAX: usize = 100_000;

/// Reads one document, or says why not.
pub(crate) fn read(yaml: &str) -> Result<Value, String> {
    compose(yaml, yaml).or_else(|why| {
        // YAML allows a tab inside brackets and where a text continues.
        let spaced = with_spaces_for_tabs(yaml);
        if spaced == yaml {
            return Err(why);
        }
        compose(&spaced, yaml)
    })
}

fn with_spaces_for_tabs(yaml: &str) -> String {
    let lines = yaml.split_inclusive('\n').map(|line| {
        let text = line.trim_start_matches([' ', '\t']);
        format!("{}{text}", " ".repeat(line.len() - text.len()))
    });
    lines.collect()
}

/// Reads a text that differs from the written one in its indentation at most.
fn compose(yaml: &str, written: &str) -> Result<Value, String> {
    let mut options = Options::default();
    options.emit_comments = false;
    let mut composer = YamlComposer::default();
    for next in Parser::new_from_str_with_options(yaml, options) {
        let (event, span) = next.map_err(|error| error.info())?;
        if composer.begins_line(&event) {
            // The parser lets these pass.
            if span.start.index() == span.end.index() && matches!(event, Event::Scalar(..)) {
                return Err("a `:` has no key before it".to_owned());
            }
            let before = written.get(..span.start.byte_offset().unwrap_or(0));
            let line = before.and_then(|before| before.rsplit('\n').next());
            if line.is_some_and(|line| line.contains('\t')) {
                return Err("a tab cannot indent YAML".to_owned());
            }
        }
        composer.take(event)?;
    }
    Ok(composer.root.unwrap_or(Value::Null))
}

/// Formats a number as JavaScript does.
pub(crate) fn shown(number: &Number) -> String {
    let Some(value) = number.as_f64() else {
        return number.to_string();
    };
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if (1e-6..1e21).contains(&size) {
        value.to_string()
    } else {
        let written = format!("{value:e}");
        match written.split_once('e') {
            Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power}"),
            _ => written,
        }
    }
}

/// Builds values from events, without recursion.
#[derive(Default)]
struct YamlComposer {
    root: Option<Value>,
    documents: usize,
    open: Vec<OpenCollection>,
    /// The value of each anchor, and the number of values in it.
    anchors: HashMap<usize, (Value, usize)>,
    values: usize,
}

/// A map or list that is being read.
struct OpenCollection {
    items: CollectionItems,
    anchor: usize,
    /// Number of values read before it.
    before: usize,
}

enum CollectionItems {
    List(Vec<Value>),
    Map {
        pairs: Map<String, Value>,
        key: Option<String>,
        style: StructureStyle,
    },
}

impl YamlComposer {
    /// True if a line of a map or list begins with this: a key, or the first item.
    fn begins_line(&self, event: &Event<'_>) -> bool {
        let open = self.open.last().map(|open| &open.items);
        let style = StructureStyle::Block;
        match event {
            Event::SequenceStart(kind, ..) if *kind == style => true,
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => {
                matches!(open, Some(CollectionItems::Map { key: None, style: kind, .. }) if *kind == style)
            }
            _ => false,
        }
    }

    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("a second document begins in it".to_owned());
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref())?;
                self.count(1)?;
                self.add(value, anchor, self.values - 1)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(CollectionItems::List(Vec::new()), anchor, tag.as_deref())?;
            }
            Event::MappingStart(style, anchor, tag) => {
                let items = CollectionItems::Map {
                    pairs: Map::new(),
                    key: None,
                    style,
                };
                self.begin(items, anchor, tag.as_deref())?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            Event::Alias(anchor) => {
                let Some((value, count)) = self.anchors.get(&anchor).cloned() else {
                    return Err("an alias is inside the value it names".to_owned());
                };
                let before = self.values;
                self.count(count)?;
                self.add(value, 0, before)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, values: usize) -> Result<(), String> {
        self.values += values;
        if self.values > YAML_VALUES_MAX {
            return Err(format!(
                "it has more values than YAML_VALUES_MAX = {YAML_VALUES_MAX}"
            ));
        }
        if self.open.len() >= YAML_DEPTH_MAX {
            return Err(format!(
                "it nests deeper than YAML_DEPTH_MAX = {YAML_DEPTH_MAX}"
            ));
        }
        Ok(())
    }

    fn begin(
        &mut self,
        items: CollectionItems,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), String> {
        let fits = match items {
            CollectionItems::List(_) => "seq",
            CollectionItems::Map { .. } => "map",
        };
        match tag {
            Some(tag) if !is_bare(tag) && tag.core_suffix() != Some(fits) => {
                return Err(unfit(tag));
            }
            _ => {}
        }
        let before = self.values;
        self.count(1)?;
        self.open.push(OpenCollection {
            items,
            anchor,
            before,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = match open.items {
            CollectionItems::List(items) => Value::Array(items),
            CollectionItems::Map { pairs, .. } => Value::Object(pairs),
        };
        self.add(value, open.anchor, open.before)
    }

    /// Puts a value where it belongs: into the list or map that is open, as a key, or at the top.
    fn add(&mut self, value: Value, anchor: usize, before: usize) -> Result<(), String> {
        if anchor > 0 {
            let count = self.values - before;
            self.anchors.insert(anchor, (value.clone(), count));
        }
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(value),
            Some(CollectionItems::List(items)) => items.push(value),
            Some(CollectionItems::Map { pairs, key, .. }) => match key.take() {
                None => *key = Some(name(&value)?),
                Some(key) if pairs.contains_key(&key) => {
                    return Err(format!("the key `{key}` is given twice"));
                }
                Some(key) => {
                    pairs.insert(key, value);
                }
            },
        }
        Ok(())
    }
}

/// Converts a key to text as JavaScript does.
fn name(key: &Value) -> Result<String, String> {
    Ok(match key {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => shown(number),
        Value::String(text) => text.clone(),
        Value::Object(_) => "[object Object]".to_owned(),
        Value::Array(items) => {
            if items.iter().any(Value::is_array) {
                return Err("a list of lists cannot be a key".to_owned());
            }
            let parts: Result<Vec<String>, String> = items
                .iter()
                .map(|item| match item {
                    Value::Null => Ok(String::new()),
                    item => name(item),
                })
                .collect();
            parts?.join(",")
        }
    })
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let absent = style == ScalarStyle::Plain && text.is_empty();
    let Some(tag) = tag else {
        return Ok(match style {
            ScalarStyle::Plain => plain(text),
            _ => Value::String(text.to_owned()),
        });
    };
    if is_bare(tag) {
        return Ok(match absent {
            true => Value::Null,
            false => Value::String(text.to_owned()),
        });
    }
    let value = plain(text);
    let fits = match tag.core_suffix() {
        Some("str") => return Ok(Value::String(text.to_owned())),
        Some("map") if absent => return Ok(Value::Object(Map::new())),
        Some("seq") if absent => return Ok(Value::Array(Vec::new())),
        Some("null") => value.is_null() && (absent || !text.is_empty()),
        Some("bool") => value.is_boolean(),
        Some("int") => integer(text).is_some(),
        Some("float") => float(text).is_some(),
        _ => false,
    };
    if fits { Ok(value) } else { Err(unfit(tag)) }
}

/// True for `!` alone, which means the text unchanged.
fn is_bare(tag: &Tag) -> bool {
    tag.handle() == "!" && tag.suffix().is_empty() || tag.handle().is_empty() && tag.suffix() == "!"
}

fn unfit(tag: &Tag) -> String {
    match tag.core_suffix() {
        Some(known) => format!("its value does not fit the tag `!!{known}`"),
        None => format!("unknown tag `{}{}`", tag.handle(), tag.suffix()),
    }
}

/// Returns the value of a text without quotes.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let number = integer(text).or_else(|| float(text));
    number.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn integer(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, radix) = match digits.get(..2) {
        Some("0b") => (&digits[2..], 2),
        Some("0o") => (&digits[2..], 8),
        Some("0x") => (&digits[2..], 16),
        _ => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let size = match radix {
        10 => digits.parse().ok()?,
        _ => {
            let digits = digits.chars().filter_map(|c| c.to_digit(radix));
            digits.fold(0.0, |sum, digit| sum * f64::from(radix) + f64::from(digit))
        }
    };
    finite(if text.starts_with('-') { -size } else { size })
}

fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => return Some("-Infinity".into()),
        ".inf" | ".Inf" | ".INF" => return Some("Infinity".into()),
        ".nan" | ".NaN" | ".NAN" if unsigned == text => return Some(Value::Null),
        _ => {}
    }
    let (digits, power) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let power = power.strip_prefix(['-', '+']).unwrap_or(power);
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mantissa = match digits.split_once('.') {
        None => number(digits),
        // Without a digit before the point, there is no sign either.
        Some(("", fraction)) => number(fraction) && unsigned == text,
        Some((whole, fraction)) => number(whole) && (fraction.is_empty() || number(fraction)),
    };
    if !mantissa || !number(power) {
        return None;
    }
    finite(text.parse().ok()?)
}

/// Keeps a whole number as an integer if it is exact.
fn finite(value: f64) -> Option<Value> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        let whole = format!("{value:.0}").parse::<i64>();
        return whole.ok().map(Value::from);
    }
    Number::from_f64(value).map(Value::Number)
}
