//! The YAML of a kit: manifests, and values of attributes.

use serde_json::Value;

use super::variables::HygenVariable;
use recipe::read_entries;

pub(super) fn kit(name: &str) -> String {
    format!(
        "name: {}\ndescription: Generators that were written for hygen\nversion: 1.0.0\ncookbooks: ['*/cookbook.yml']\n",
        scalar(name, 0)
    )
}

pub(super) fn cookbook(generator: &str, default: Option<&str>) -> String {
    let defaults = default
        .map(|name| format!("defaults: {{ recipe: {name} }}\n"))
        .unwrap_or_default();
    format!("name: {}\n{defaults}", scalar(generator, 0))
}

pub(super) fn recipe(
    (generator, action): (&str, &str),
    variables: &[HygenVariable],
    templates: &[&str],
) -> String {
    let mut out = format!("name: {}\n", scalar(action, 0));
    out.push_str(&format!(
        "description: {}\n",
        scalar(&format!("{generator} {action}, as hygen did it"), 0)
    ));
    out.push_str("version: 1.0.0\n");
    if !variables.is_empty() {
        out.push_str("\nvariables:\n");
    }
    for variable in variables {
        out.push_str(&format!("  {}:\n", scalar(&variable.name, 2)));
        for (key, value) in &variable.fields {
            out.push_str(&format!("    {key}: {}\n", value_text(value, 4)));
        }
    }
    out.push_str("\nsteps:\n");
    for template in templates {
        let name = template.strip_suffix(".jig").unwrap_or(template);
        out.push_str(&format!("  - name: {}\n", scalar(name, 4)));
        out.push_str(&format!("    template: {}\n", scalar(template, 4)));
    }
    out
}

fn value_text(value: &Value, indent: usize) -> String {
    match value {
        Value::String(text) => scalar(text, indent),
        Value::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| match item {
                    Value::String(text) if is_word(text) => text.clone(),
                    other => other.to_string(),
                })
                .collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// Writes a string as YAML: plain, in quotes, or as a block of lines.
pub(super) fn scalar(text: &str, indent: usize) -> String {
    let quoted = format!("'{}'", text.replace('\'', "''"));
    let json = Value::String(text.to_owned()).to_string();
    let pad = " ".repeat(indent + 2);
    let keep = if text.ends_with('\n') { "|" } else { "|-" };
    let lines: Vec<String> = text
        .trim_end_matches('\n')
        .split('\n')
        .map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{pad}{line}")
            }
        })
        .collect();
    let block = format!("{keep}\n{}", lines.join("\n"));
    let ways = match text.contains('\n') {
        true => [block, json.clone()],
        false => [text.to_owned(), quoted],
    };
    ways.into_iter()
        .find(|way| reads_as(way, text, indent))
        .unwrap_or(json)
}

fn reads_as(way: &str, text: &str, indent: usize) -> bool {
    let pad = " ".repeat(indent);
    let entries = read_entries(&format!("{pad}k: {way}\n{pad}l: 1\n"));
    matches!(entries.as_deref(), Ok([first, _]) if first.value == text)
}

fn is_word(text: &str) -> bool {
    scalar(text, 0) == text && !text.contains([',', '[', ']', '{', '}'])
}
