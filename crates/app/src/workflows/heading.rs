//! What stands above a diagram: its title and its description, in the front matter, where Mermaid shows
//! the one and leaves the other alone.

use flow::Workflow;

/// What introduces the description.
const DESCRIPTION: &str = "description:";

/// The description in a workflow's front matter.
pub(crate) fn description(workflow: &Workflow) -> Option<String> {
    let body = &workflow.document().front_matter()?.body;
    let line = body
        .lines()
        .find_map(|line| line.strip_prefix(DESCRIPTION))?;
    let written = line.trim();
    let text = serde_json::from_str(written).unwrap_or_else(|_| written.to_owned());
    (!text.is_empty()).then_some(text)
}

/// The text with a name that neither its title nor its file says, and with a description it does not
/// have. A text that has both, or cannot take them, stays as it is.
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

/// A value of YAML on one line: as it is where that is safe, else quoted.
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
    fn what_the_text_does_not_say_is_put_above_it_once() {
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
