//! TOML, edited in place.

use serde_json::{Map, Number, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

pub(super) fn read(text: &str) -> Result<Value, String> {
    let document: DocumentMut = text.parse().map_err(broken)?;
    Ok(table_value(document.as_table()))
}

pub(super) fn merge(text: &str, values: &Map<String, Value>) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(broken)?;
    merge_table(document.as_table_mut(), values, Nesting::Tables)?;
    Ok(document.to_string())
}

fn broken(error: toml_edit::TomlError) -> String {
    format!("this is not valid TOML: {}", error.to_string().trim_end())
}

/// New objects become `[tables]` at the top and inline tables inside tables, as people write them.
#[derive(Clone, Copy)]
enum Nesting {
    Tables,
    Inline,
}

fn merge_table(
    table: &mut dyn TableLike,
    values: &Map<String, Value>,
    nesting: Nesting,
) -> Result<(), String> {
    for (key, value) in values {
        let existing = table.get_mut(key);
        if let (Some(item), Value::Object(values)) = (existing, value)
            && let Some(inner) = item.as_table_like_mut()
        {
            merge_table(inner, values, Nesting::Inline)?;
            continue;
        }
        let equal = table
            .get(key)
            .map(item_value)
            .is_some_and(|old| super::same(&old, value));
        if equal {
            continue;
        }
        let item = match (nesting, value) {
            (Nesting::Tables, Value::Object(map)) => Item::Table(new_table(map)?),
            _ => Item::Value(new_value(value)?),
        };
        put(table, key, item);
    }
    Ok(())
}

/// Replaces a value and keeps what stands around it: spaces, and a comment behind it.
fn put(table: &mut dyn TableLike, key: &str, item: Item) {
    match (table.get_mut(key), item) {
        (Some(Item::Value(old)), Item::Value(mut new)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        (Some(old), item) => *old = item,
        (None, item) => {
            table.insert(key, item);
        }
    }
}

fn new_table(map: &Map<String, Value>) -> Result<Table, String> {
    let mut table = Table::new();
    for (key, value) in map {
        table.insert(key, Item::Value(new_value(value)?));
    }
    Ok(table)
}

fn new_value(value: &Value) -> Result<toml_edit::Value, String> {
    Ok(match value {
        Value::Null => return Err("TOML has no null; leave the key out of `merge`".to_owned()),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            let mut array = Array::new();
            for item in items {
                array.push(new_value(item)?);
            }
            array.into()
        }
        Value::Object(map) => {
            let mut table = InlineTable::new();
            for (key, value) in map {
                table.insert(key, new_value(value)?);
            }
            table.into()
        }
    })
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
        Item::Value(value) => plain(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_value(table)).collect(),
    }
}

fn plain(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => {
            Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        toml_edit::Value::Boolean(value) => Value::Bool(*value.value()),
        toml_edit::Value::Datetime(time) => Value::String(time.value().to_string()),
        toml_edit::Value::Array(items) => items.iter().map(plain).collect(),
        toml_edit::Value::InlineTable(table) => table_value(table),
    }
}
