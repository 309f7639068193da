//! The front matter of a diagram: its title and its description. Mermaid shows the title and
//! ignores the description.

use flow::Workflow;

/// Key of the description.
const DESCRIPTION: &str = "description:";

/// Returns the description in a workflow's front matter.
pub(crate) fn description(workflow: &Workflow) -> Option<String> {
    let body = &workflow.document().front_matter()?.body;
    let line = body
        .lines()
        .find_map(|line| line.strip_prefix(DESCRIPTION))?;
    let written = line.trim();
    let text = serde_json::from_str(written).unwrap_or_else(|_| written.to_owned());
    (!text.is_empty()).then_some(text)
}

/// Returns the text with a name that neither its title nor its file has, and with a description if
/// it has none. A text that has both, or cannot take them, stays unchanged.
pub(crate) fn with(source: &str, (name, file): (&str, &str), about: Option<&str>) -> String {
    let Ok(before) = flow::parse(source) else {
        return source.to_owned();
    };
    let mut lines = String::new();
    if before.name().is_none() && name != file {
        lines.push_str(&format!("title: {}\n", scalar(name)));
    }
    let about = about.map(str::trim).filter(|about| !about.is_empty());
    if let (None, Some(about)) = (description(&before), about) {
        lines.push_str(&format!("{DESCRIPTION} {}\n", scalar(about)));
    }
    if lines.is_empty() {
        return source.to_owned();
    }
    let headed = match before.document().front_matter() {
        Some(_) => match source.split_once('\n') {
            Some((opening, rest)) => format!("{opening}\n{lines}{rest}"),
            None => source.to_owned(),
        },
        None => format!("---\n{lines}---\n{source}"),
    };
    let reads_back = |after: &Workflow| {
        let named = after
            .name()
            .is_none_or(|after| before.name().is_some() || after == name);
        named && after.steps().len() == before.steps().len()
    };
    match flow::parse(&headed) {
        Ok(after) if reads_back(&after) => headed,
        _ => source.to_owned(),
    }
}

/// Writes a YAML value on one line: plain if that is safe, else quoted.
fn scalar(text: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | '(' | ')');
    let begins = text.chars().next().is_some_and(char::is_alphanumeric);
    match begins && text.chars().all(is_plain) && text.trim() == text {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{description, with};

    #[test]
    fn a_missing_title_and_description_are_added_once() {
        for (source, name, about, expected) in [
            ("graph TD\n A\n", "f", None, "graph TD\n A\n"),
            (
                "graph TD\n A\n",
                "PR: review",
                Some("It \"helps\".\nMuch."),
                "---\ntitle: \"PR: review\"\ndescription: \"It \\\"helps\\\".\\nMuch.\"\n---\ngraph TD\n A\n",
            ),
            (
                "---\ntitle: T\n---\ngraph TD\n A\n",
                "other",
                Some("About it"),
                "---\ndescription: About it\ntitle: T\n---\ngraph TD\n A\n",
            ),
        ] {
            let headed = with(source, (name, "f"), about);
            assert_eq!(headed, expected);
            let workflow = flow::parse(&headed).unwrap();
            assert_eq!(description(&workflow).as_deref(), about);
            assert_eq!(with(&headed, (name, "f"), about), headed);
        }
    }
}
