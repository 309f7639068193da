//! Frontmatter, found and read as hygen finds and reads it.

use serde_json::Value;

use recipe::read_entries;

/// A template file, cut.
#[derive(Debug, PartialEq)]
pub(super) struct HygenFrontmatter<'t> {
    pub(super) attributes: Vec<HygenAttribute>,
    pub(super) comments: Vec<&'t str>,
    pub(super) body: &'t str,
    pub(super) body_line: u32,
    /// Reason why the attributes had to be read line by line.
    pub(super) problem: Option<(u32, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct HygenAttribute {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) line: u32,
}

/// Cuts a file whose line ends are `\n`.
pub(super) fn cut(text: &str) -> HygenFrontmatter<'_> {
    let whole = HygenFrontmatter {
        attributes: Vec::new(),
        comments: Vec::new(),
        body: text,
        body_line: 1,
        problem: None,
    };
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = bare.split_inclusive('\n');
    let Some(first) = lines
        .next()
        .filter(|line| matches!(line.trim_end_matches('\n'), "---" | "= yaml ="))
    else {
        return whole;
    };
    let fence = first.trim_end_matches('\n');
    let mut end = first.len();
    let mut count = 1;
    for line in lines {
        count += 1;
        if [fence, "..."].contains(&line.trim_end()) {
            let matter = &bare[first.len()..end];
            let (body, skipped) = without_blank_lines(&bare[end + line.len()..]);
            let (attributes, problem) = attributes(matter);
            let comments = matter
                .lines()
                .filter(|line| line.starts_with('#'))
                .collect();
            return HygenFrontmatter {
                attributes,
                comments,
                body,
                body_line: count + 1 + skipped,
                problem,
            };
        }
        end += line.len();
    }
    whole
}

/// Drops the blank lines below the frontmatter, as hygen does.
fn without_blank_lines(body: &str) -> (&str, u32) {
    let mut rest = body;
    let mut skipped = 0;
    while let Some((line, after)) = rest.split_once('\n') {
        if !line.trim().is_empty() {
            break;
        }
        rest = after;
        skipped += 1;
    }
    (if rest.trim().is_empty() { "" } else { rest }, skipped)
}

fn attributes(matter: &str) -> (Vec<HygenAttribute>, Option<(u32, String)>) {
    match read_entries(matter) {
        Ok(entries) => {
            let attributes = entries.into_iter().map(|entry| HygenAttribute {
                value: entry.value,
                line: entry.line + 1,
                key: entry.key,
            });
            (attributes.collect(), None)
        }
        Err(error) => {
            let found = error.diagnostics().first();
            let line = found
                .and_then(|found| found.place)
                .map_or(1, |place| place.line);
            let message = found.map(|found| found.message.clone()).unwrap_or_default();
            (by_lines(matter), Some((line + 1, message)))
        }
    }
}

/// Attributes of a text that is not quite YAML.
fn by_lines(matter: &str) -> Vec<HygenAttribute> {
    let mut attributes = Vec::new();
    for (index, line) in matter.lines().enumerate() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_key {
            continue;
        }
        let value = match value.trim() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "" | "null" | "~" => Value::Null,
            text => {
                let inner = ['"', '\'']
                    .into_iter()
                    .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
                Value::String(inner.unwrap_or(text).to_owned())
            }
        };
        let line = u32::try_from(index + 2).unwrap_or(u32::MAX);
        attributes.push(HygenAttribute {
            key: key.to_owned(),
            value,
            line,
        });
    }
    attributes
}

/// Colours of messages, which hygen writes as `{bold text}`.
pub(super) fn without_colours(text: &str) -> String {
    let mut out = String::new();
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let is_open = rest[at..].starts_with('{');
        rest = &rest[at + 1..];
        let styles = rest
            .find([' ', '\n'])
            .map(|end| &rest[..end])
            .filter(|word| is_style(word));
        match (is_open, styles) {
            (true, Some(styles)) => {
                rest = &rest[styles.len() + 1..];
                open.push(true);
            }
            (true, None) => {
                out.push('{');
                open.push(false);
            }
            (false, _) => {
                if open.pop() != Some(true) {
                    out.push('}');
                }
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_style(word: &str) -> bool {
    const STYLES: [&str; 17] = [
        "bold",
        "dim",
        "italic",
        "underline",
        "inverse",
        "hidden",
        "strikethrough",
        "black",
        "red",
        "green",
        "yellow",
        "blue",
        "magenta",
        "cyan",
        "white",
        "gray",
        "grey",
    ];
    let known = |style: &str| {
        let base = style.strip_suffix("Bright").unwrap_or(style);
        let base = base
            .strip_prefix("bg")
            .map_or(base.to_owned(), str::to_lowercase);
        STYLES.contains(&base.as_str())
    };
    !word.is_empty() && word.split('.').all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_below_the_frontmatter_go() {
        let matter = cut("---\nto: a\n---\n\n  \n  x\n");
        assert_eq!((matter.body, matter.body_line), ("  x\n", 6));
        assert_eq!(cut("---\nto: a\n---\n\n").body, "");
        assert_eq!(cut("x\n").body, "x\n");
        assert_eq!(cut("---\nno end\n").attributes, []);
    }

    #[test]
    fn attributes_that_are_not_yaml_are_read_by_lines() {
        let matter = cut("---\nto: <%= a ? 'x: y' : '' %>\ninject: true\n---\n");
        assert_eq!(matter.attributes.len(), 2);
        assert_eq!(matter.problem.unwrap().0, 2);
    }

    #[test]
    fn colours_are_taken_off() {
        assert_eq!(
            without_colours("{bold hygen {green x}} {a} }"),
            "hygen x {a} }"
        );
    }
}
