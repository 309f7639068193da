//! TOML, edited in place: spaces, comments and the way tables are written stay.

use serde_json::{Map, Number, Value};
use toml_edit::{
    Array, ArrayOfTables, Decor, DocumentMut, InlineTable, Item, Table, TableLike, TomlError,
    Value as Written,
};

use super::MergeEdit;
use super::changes::{self, EditableMap};
use super::error::Error;

pub(super) fn read(text: &str) -> Result<Value, Error> {
    Ok(table_value(parse(text)?.as_table()))
}

pub(super) fn merge(edit: &MergeEdit<'_>) -> Result<String, Error> {
    // toml_edit ends its lines with `\n`, and its last one too.
    let crlf = edit.text.contains("\r\n") && !edit.text.replace("\r\n", "").contains('\n');
    let text = if crlf {
        edit.text.replace("\r\n", "\n")
    } else {
        edit.text.to_owned()
    };
    let mut document = parse(&text)?;
    let Some((before, changes)) = edit.maps() else {
        return Err(Error::new("a TOML file is a map, and stays one"));
    };
    let has_values = document.iter().any(|(_, item)| item.is_value());
    let root = document.as_table_mut();
    changes::edit(
        &mut TableLevel {
            table: root,
            shape: TableShape::Root,
        },
        before,
        changes,
    )?;
    if !has_values {
        raise_header(&mut document);
    }
    let mut written = document.to_string();
    let ended = text.is_empty() || text.ends_with('\n');
    if !ended && written.ends_with('\n') {
        written.pop();
    }
    Ok(if crlf {
        written.replace('\n', "\r\n")
    } else {
        written
    })
}

/// The form of a table, which decides the form of a map inside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TableShape {
    Root,
    Header,
    /// `{ … }` and `a.b = …`: a table inside it can have no header of its own.
    Inline,
}

struct TableLevel<'t> {
    table: &'t mut dyn TableLike,
    shape: TableShape,
}

impl EditableMap for TableLevel<'_> {
    fn set(&mut self, key: &str, value: &Value) -> Result<(), Error> {
        let new = self.item(key, value)?;
        match (self.table.get_mut(key), new) {
            (Some(Item::Value(old)), Item::Value(new)) => {
                let decor = old.decor().clone();
                *old = like(old, new);
                *old.decor_mut() = decor;
            }
            (Some(_), new) => {
                self.table.remove(key);
                self.table.insert(key, new);
            }
            (None, new) => {
                self.space_before_end("");
                self.table.insert(key, new);
            }
        }
        Ok(())
    }

    fn remove(&mut self, key: &str) {
        self.table.remove(key);
        self.space_before_end(" ");
    }

    fn append(&mut self, key: &str, items: &[Value]) -> Result<(), Error> {
        match self.table.get_mut(key) {
            Some(Item::Value(Written::Array(array))) => {
                for item in items {
                    push(array, plain(item)?);
                }
            }
            Some(Item::ArrayOfTables(tables)) if items.iter().all(Value::is_object) => {
                for item in items.iter().filter_map(Value::as_object) {
                    tables.push(table(item)?);
                }
            }
            Some(old) => {
                let mut all = item_value(old);
                if let Value::Array(all) = &mut all {
                    all.extend(items.iter().cloned());
                }
                *old = Item::Value(plain(&all)?);
            }
            None => {}
        }
        Ok(())
    }

    fn child(&mut self, key: &str) -> Option<Box<dyn EditableMap + '_>> {
        match self.table.get_mut(key)? {
            Item::Table(table) => {
                let shape = if table.is_dotted() {
                    TableShape::Inline
                } else {
                    TableShape::Header
                };
                Some(Box::new(TableLevel { table, shape }))
            }
            Item::Value(Written::InlineTable(table)) => Some(Box::new(TableLevel {
                table,
                shape: TableShape::Inline,
            })),
            _ => None,
        }
    }
}

impl TableLevel<'_> {
    /// Sets the space between the last value and the closing brace.
    fn space_before_end(&mut self, space: &str) {
        let last = self
            .table
            .iter_mut()
            .filter_map(|(_, item)| item.as_value_mut())
            .last();
        if let Some(decor) = last
            .map(Written::decor_mut)
            .filter(|_| self.shape == TableShape::Inline)
            && decor
                .suffix()
                .and_then(|raw| raw.as_str())
                .is_none_or(|raw| raw.trim().is_empty())
        {
            decor.set_suffix(space);
        }
    }

    /// Makes a value as people would write it in this table.
    fn item(&self, key: &str, value: &Value) -> Result<Item, Error> {
        let beside_values = || {
            self.shape == TableShape::Header && self.table.iter().any(|(_, item)| item.is_value())
        };
        let was_value = self.table.get(key).is_some_and(Item::is_value);
        match value {
            Value::Object(map) if self.shape != TableShape::Inline && !was_value => {
                let flat = !map.is_empty() && !map.values().any(Value::is_object);
                match flat && beside_values() {
                    true => Ok(Item::Value(plain(value)?)),
                    false => Ok(Item::Table(table(map)?)),
                }
            }
            Value::Array(items) if self.table.get(key).is_some_and(Item::is_array_of_tables) => {
                array_of_tables(items)
            }
            _ => Ok(Item::Value(plain(value)?)),
        }
    }
}

/// Moves a comment at the top of the file above the first value, so that it stays at the top.
fn raise_header(document: &mut DocumentMut) {
    let Some(first) = document.iter().find(|(_, item)| item.is_value()) else {
        return;
    };
    let first = first.0.to_owned();
    let header = first_table(document.as_table_mut()).and_then(take_header);
    if let (Some(header), Some(mut key)) = (header, document.key_mut(&first)) {
        key.leaf_decor_mut().set_prefix(header);
    }
}

/// Returns the table whose header comes first in the text.
fn first_table(table: &mut Table) -> Option<&mut Table> {
    let mut first: Option<&mut Table> = None;
    for (_, item) in table.iter_mut() {
        let inner = match item {
            Item::Table(table) => match table.is_implicit() {
                true => first_table(table),
                false => Some(table),
            },
            Item::ArrayOfTables(tables) => tables.get_mut(0),
            _ => None,
        };
        let before = |table: &Table| table.position().unwrap_or(isize::MAX);
        if let Some(inner) = inner
            && first
                .as_ref()
                .is_none_or(|first| before(inner) < before(first))
        {
            first = Some(inner);
        }
    }
    first
}

/// Cuts the comment above a table where a blank line ends its first part.
fn take_header(table: &mut Table) -> Option<String> {
    let prefix = table.decor().prefix()?.as_str()?.to_owned();
    let (header, own) = prefix.split_at(prefix.rfind("\n\n")? + 2);
    table.decor_mut().set_prefix(format!("\n{own}"));
    Some(header.to_owned())
}

/// Gives the new value the style of the old one: quotes of a string, one item a line in an array.
fn like(old: &Written, new: Written) -> Written {
    match (old, new) {
        (Written::String(old), Written::String(new)) => {
            let literal = old.as_repr().and_then(|repr| repr.as_raw().as_str());
            let literal =
                literal.is_some_and(|raw| raw.starts_with('\'') && !raw.starts_with("'''"));
            let text = new.value();
            if literal && !text.contains('\'') && !text.chars().any(char::is_control) {
                return format!("'{text}'").parse().unwrap_or(Written::String(new));
            }
            Written::String(new)
        }
        (Written::Array(old), Written::Array(mut new)) => {
            let indent = old
                .iter()
                .next()
                .and_then(|first| line_indent(first.decor()));
            if let Some(indent) = indent {
                for item in new.iter_mut() {
                    item.decor_mut().set_prefix(&indent);
                }
                new.set_trailing("\n");
                new.set_trailing_comma(true);
            }
            Written::Array(new)
        }
        (_, new) => new,
    }
}

/// Adds an item on a line of its own where the others have one.
fn push(array: &mut Array, mut item: Written) {
    let indent = array
        .iter()
        .last()
        .and_then(|last| line_indent(last.decor()));
    let Some(indent) = indent else {
        array.push(item);
        return;
    };
    // A comment behind the last item is stored before the closing bracket: it stays with its line.
    let trailing = array.trailing().as_str().unwrap_or("").to_owned();
    let (comment, rest) = trailing.split_at(trailing.rfind('\n').unwrap_or(0));
    let comment = if comment.trim().is_empty() {
        ""
    } else {
        comment
    };
    item.decor_mut().set_prefix(format!("{comment}{indent}"));
    item.decor_mut().set_suffix("");
    array.set_trailing(rest.to_owned());
    array.push_formatted(item);
}

/// Returns the line break and spaces before an item that begins a line.
fn line_indent(decor: &Decor) -> Option<String> {
    let prefix = decor.prefix()?.as_str()?;
    prefix.rfind('\n').map(|at| prefix[at..].to_owned())
}

fn table(map: &Map<String, Value>) -> Result<Table, Error> {
    let mut table = Table::new();
    for (key, value) in map {
        let item = match value {
            Value::Object(map) => Item::Table(self::table(map)?),
            value => Item::Value(plain(value)?),
        };
        table.insert(key, item);
    }
    let only_tables = !table.is_empty() && table.iter().all(|(_, item)| item.is_table());
    table.set_implicit(only_tables);
    Ok(table)
}

fn array_of_tables(items: &[Value]) -> Result<Item, Error> {
    let maps: Option<Vec<_>> = items.iter().map(Value::as_object).collect();
    let Some(maps) = maps.filter(|maps| !maps.is_empty()) else {
        return Ok(Item::Value(plain(&Value::Array(items.to_vec()))?));
    };
    let mut tables = ArrayOfTables::new();
    for map in maps {
        tables.push(table(map)?);
    }
    Ok(Item::ArrayOfTables(tables))
}

fn plain(value: &Value) -> Result<Written, Error> {
    Ok(match value {
        Value::Null => {
            return Err(
                Error::new("TOML has no null").hint("write {\"$delete\": true} to remove the key")
            );
        }
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), _, _) => whole.into(),
            (None, None, Some(real)) => real.into(),
            _ => {
                return Err(Error::new(format!(
                    "TOML has no whole number as large as {number}"
                )));
            }
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            let mut array = Array::new();
            for item in items {
                array.push(plain(item)?);
            }
            array.into()
        }
        Value::Object(map) => {
            let mut table = InlineTable::new();
            for (key, value) in map {
                table.insert(key, plain(value)?);
            }
            table.into()
        }
    })
}

fn parse(text: &str) -> Result<DocumentMut, Error> {
    text.parse::<DocumentMut>()
        .map_err(|error| broken(text, &error))
}

fn broken(text: &str, error: &TomlError) -> Error {
    let reason = error.message().lines().next().unwrap_or("").trim();
    let wrong = Error::new(format!("this is not valid TOML: {reason}"));
    wrong.at_byte(text, error.span().map_or(0, |span| span.start))
}

fn table_value(table: &dyn TableLike) -> Value {
    let pairs = table
        .iter()
        .map(|(key, item)| (key.to_owned(), item_value(item)));
    Value::Object(pairs.collect())
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => value_of(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_value(table)).collect(),
    }
}

fn value_of(value: &Written) -> Value {
    match value {
        Written::String(text) => Value::String(text.value().clone()),
        Written::Integer(number) => Value::from(*number.value()),
        Written::Float(number) => {
            Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        Written::Boolean(value) => Value::Bool(*value.value()),
        Written::Datetime(time) => Value::String(time.value().to_string()),
        Written::Array(items) => items.iter().map(value_of).collect(),
        Written::InlineTable(table) => table_value(table),
    }
}
