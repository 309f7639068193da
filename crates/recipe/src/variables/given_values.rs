//! Values from a command line: words by position and by name, matched to declared variables.

use diagnostics::suggestion;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::value::from_words;
use crate::error::{Diagnostic, Error, RecipeErrorKind};
use crate::manifest::{RecipeVariable, VariableType};

/// Values as they were typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenValues {
    pub positional: Vec<String>,
    /// `--name value` as often as it was given; no words for a bare `--name`.
    pub named: Vec<(String, Vec<String>)>,
}

/// Typed values by the name of their variable.
pub(crate) type AssignedValues = Map<String, Value>;

/// Matches given values to declared variables; reports every problem at once.
pub(crate) fn assign(
    variables: &IndexMap<String, RecipeVariable>,
    given: &GivenValues,
) -> Result<AssignedValues, Error> {
    let mut words: IndexMap<&str, Vec<String>> = IndexMap::new();
    let mut objects: IndexMap<&str, Map<String, Value>> = IndexMap::new();
    let mut problems = Vec::new();
    assign_positional(variables, given, &mut words, &mut problems);
    for (name, values) in &given.named {
        match find(variables, name) {
            NamedOption::Variable(name) => words
                .entry(name)
                .or_default()
                .extend(values.iter().cloned()),
            NamedOption::Negated(name) if values.is_empty() => {
                words.entry(name).or_default().push("false".to_owned());
            }
            NamedOption::Member(name, path) => {
                let value = values
                    .last()
                    .cloned()
                    .map_or(Value::Bool(true), Value::String);
                if let Err(message) = put(objects.entry(name).or_default(), path, value) {
                    problems.push(Diagnostic::new(format!("`--{name}.{path}` {message}")));
                }
            }
            NamedOption::Negated(_) | NamedOption::Nothing => {
                problems.push(unknown(variables, name))
            }
        }
    }
    let mut assigned = AssignedValues::new();
    for (name, words) in words {
        match from_words(&variables[name], &words) {
            Ok(value) => {
                assigned.insert(name.to_owned(), value);
            }
            Err(wrong) => problems.push(Diagnostic::new(format!("`{name}` {wrong}"))),
        }
    }
    for (name, members) in objects {
        match assigned
            .entry(name)
            .or_insert_with(|| Value::Object(Map::new()))
        {
            Value::Object(map) => map.extend(members),
            other => *other = Value::Object(members),
        }
    }
    if problems.is_empty() {
        Ok(assigned)
    } else {
        Err(Error::of(RecipeErrorKind::Usage, problems))
    }
}

enum NamedOption<'v, 'n> {
    Variable(&'v str),
    /// `--no-flag`
    Negated(&'v str),
    /// `--db.host`
    Member(&'v str, &'n str),
    Nothing,
}

fn find<'v, 'n>(
    variables: &'v IndexMap<String, RecipeVariable>,
    name: &'n str,
) -> NamedOption<'v, 'n> {
    let named = |wanted: &str| {
        let exact = variables.get_key_value(wanted);
        exact.or_else(|| variables.iter().find(|(name, _)| kebab(name) == wanted))
    };
    if let Some((name, _)) = named(name) {
        return NamedOption::Variable(name);
    }
    if let Some((owner, path)) = name.split_once('.')
        && let Some((owner, variable)) = named(owner)
        && variable.kind == VariableType::Object
    {
        return NamedOption::Member(owner, path);
    }
    match name.strip_prefix("no-").and_then(named) {
        Some((name, variable)) if variable.kind == VariableType::Boolean => {
            NamedOption::Negated(name)
        }
        _ => NamedOption::Nothing,
    }
}

/// Converts to kebab case, because `--main-field` is as good as `--mainField`.
fn kebab(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        match c {
            '_' => kebab.push('-'),
            c if c.is_uppercase() => {
                kebab.push('-');
                kebab.extend(c.to_lowercase());
            }
            c => kebab.push(c),
        }
    }
    kebab
}

fn assign_positional<'v>(
    variables: &'v IndexMap<String, RecipeVariable>,
    given: &GivenValues,
    words: &mut IndexMap<&'v str, Vec<String>>,
    problems: &mut Vec<Diagnostic>,
) {
    let mut places: Vec<(u32, &str, &RecipeVariable)> = variables
        .iter()
        .filter_map(|(name, variable)| Some((variable.position?, name.as_str(), variable)))
        .collect();
    places.sort_by_key(|(position, ..)| *position);
    let mut left = given.positional.iter();
    let last = places.len().saturating_sub(1);
    for (index, (_, name, variable)) in places.iter().enumerate() {
        let takes_rest =
            index == last && (variable.kind == VariableType::Array || variable.multiple);
        let taken: Vec<String> = match takes_rest {
            true => left.by_ref().cloned().collect(),
            false => left.by_ref().take(1).cloned().collect(),
        };
        if !taken.is_empty() {
            words.insert(name, taken);
        }
    }
    let extra: Vec<&str> = left.map(String::as_str).collect();
    if !extra.is_empty() {
        let taken = match places.len() {
            0 => "takes no positional values".to_owned(),
            1 => "takes one positional value".to_owned(),
            count => format!("takes {count} positional values"),
        };
        let what = match extra.len() {
            1 => "argument",
            _ => "arguments",
        };
        let message = format!(
            "unexpected {what} `{}`: the recipe {taken}",
            extra.join(" ")
        );
        let names: Vec<String> = variables.keys().map(|name| format!("--{name}")).collect();
        let diagnostic = Diagnostic::new(message);
        problems.push(match names.is_empty() {
            true => diagnostic,
            false => diagnostic.hint(format!("give values by name: {}", names.join(", "))),
        });
    }
}

fn unknown(variables: &IndexMap<String, RecipeVariable>, name: &str) -> Diagnostic {
    let diagnostic = Diagnostic::new(format!("the recipe has no variable `{name}`"));
    if variables.is_empty() {
        return diagnostic.hint("it declares no variables");
    }
    diagnostic.maybe_hint(suggestion(name, variables.keys().map(String::as_str)))
}

fn put(map: &mut Map<String, Value>, path: &str, value: Value) -> Result<(), String> {
    match path.split_once('.') {
        None if path.is_empty() => Err("names nothing after the dot".to_owned()),
        None => {
            map.insert(path.to_owned(), value);
            Ok(())
        }
        Some((first, rest)) => {
            let inner = map
                .entry(first)
                .or_insert_with(|| Value::Object(Map::new()));
            match inner {
                Value::Object(inner) => put(inner, rest, value),
                _ => Err(format!("and `{first}` contradict each other")),
            }
        }
    }
}
