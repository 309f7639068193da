//! Frontmatter: what a template file says about where and how its text is put.

use indexmap::IndexMap;
use serde_json::Value;

use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};
use crate::fields::{FileProblems, ManifestFields, ManifestValue, UnsupportedKey};
use crate::inject::InjectPosition;
use crate::manifest::{ManifestText, ShellCommand};
use crate::yaml::{self, ManifestData};

/// A template file cut in two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitTemplate<'t> {
    /// From the opening `---` up to the closing one, both lines' marks left out of the values.
    pub(crate) matter: Option<&'t str>,
    pub(crate) body: &'t str,
    /// The line of the file the body begins on.
    pub(crate) body_line: u32,
}

/// The attributes as written: their strings are templates still.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frontmatter {
    pub(crate) attributes: IndexMap<String, ManifestValue>,
}

/// The attributes after rendering, typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileDirectives {
    pub(crate) to: ToDirective,
    pub(crate) force: bool,
    pub(crate) unless_exists: bool,
    pub(crate) skip_if: Option<String>,
    pub(crate) inject: Option<InjectPosition>,
    pub(crate) eof_last: Option<bool>,
    pub(crate) from: Option<String>,
    /// `sh` or `argv` says something.
    pub(crate) runs: bool,
    pub(crate) sh_ignore_exit: bool,
    pub(crate) message: Option<String>,
    pub(crate) executable: bool,
}

/// Target of a template's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ToDirective {
    /// No `to`: the template's own path, without `.jig`.
    #[default]
    Mirror,
    /// `to:` with nothing, or `null`: no file this time.
    Nowhere,
    Path(String),
}

const KEYS: [&str; 18] = [
    "to",
    "force",
    "unless_exists",
    "skip_if",
    "inject",
    "before",
    "after",
    "at_line",
    "prepend",
    "append",
    "eof_last",
    "from",
    "sh",
    "argv",
    "sh_ignore_exit",
    "message",
    "echo",
    "executable",
];

const FOREIGN: [UnsupportedKey; 4] = [
    ("setup", "use a `shell` step"),
    ("spinner", "remove it; progress is shown anyway"),
    ("when", "put `when:` on the step, or `skip_if:` here"),
    (
        "title",
        "this looks like the file's own frontmatter: put an empty one, `---` twice, above it",
    ),
];

const POSITIONS: [&str; 5] = ["before", "after", "at_line", "prepend", "append"];

const FENCE: &str = "---";

/// Finds the frontmatter: `---`, lines, `---` at the very beginning of a file.
pub(crate) fn split(text: &str) -> SplitTemplate<'_> {
    let whole = SplitTemplate {
        matter: None,
        body: text,
        body_line: 1,
    };
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == FENCE) else {
        return whole;
    };
    let mut at = first.len();
    for (index, line) in lines.enumerate() {
        if line.trim_end() == FENCE {
            return SplitTemplate {
                matter: Some(&text[..at]),
                body: &text[at + line.len()..],
                body_line: u32::try_from(index + 3).unwrap_or(u32::MAX),
            };
        }
        at += line.len();
    }
    whole
}

/// Number of lines searched for frontmatter that begins too far down to count.
const MISPLACED_LINES_MAX: usize = 10;

/// Finds the line of a `---` that seems to begin frontmatter below other text, as after a comment.
pub(crate) fn misplaced(text: &str) -> Option<u32> {
    let mut lines = text.lines().take(MISPLACED_LINES_MAX).enumerate();
    if lines.next()?.1.trim_end() == FENCE {
        return None;
    }
    let (index, _) = lines.find(|(_, line)| line.trim_end() == FENCE)?;
    let (_, next) = lines.next()?;
    let is_ours = next
        .split_once(':')
        .is_some_and(|(key, _)| KEYS.contains(&key.trim_end()));
    is_ours.then(|| u32::try_from(index + 1).unwrap_or(u32::MAX))
}

/// Reads the attributes of a frontmatter found by [`split`].
pub(crate) fn parse(file: &str, matter: &str) -> Result<Frontmatter, Error> {
    let text = quote_mustaches(matter);
    let root = yaml::parse(file, &text)?;
    if root.is_null() {
        return Ok(Frontmatter::default());
    }
    let mut problems = FileProblems::new(file, &text);
    let Some(fields) = ManifestFields::open(&root, "frontmatter", &mut problems) else {
        return problems.finish(None);
    };
    fields.only(&[&KEYS], &FOREIGN, &mut problems);
    let mut attributes = IndexMap::new();
    let ManifestData::Map(entries) = &root.data else {
        return problems.finish(None);
    };
    for entry in entries {
        let is_argv = entry.key == "argv" && matches!(entry.value.data, ManifestData::List(_));
        if !is_argv
            && matches!(
                entry.value.data,
                ManifestData::List(_) | ManifestData::Map(_)
            )
        {
            let message = format!(
                "`{}` must be one value, found {}",
                entry.key,
                entry.value.kind()
            );
            problems.note(entry.value.at, message);
        }
        let value = match entry.value.written(&text) {
            Some(written) if entry.value.to_json().is_number() => Value::String(written),
            _ => entry.value.to_json(),
        };
        let place = entry.value.at.place(&text);
        attributes.insert(entry.key.clone(), ManifestValue { value, place });
    }
    problems.finish(Some(Frontmatter { attributes }))
}

/// Quotes values such as `to: {{ name }}.ts`, which is not YAML but can only mean one thing.
fn quote_mustaches(matter: &str) -> String {
    let quote = |line: &str| {
        let bare = line.trim_end();
        let (key, value) = bare.split_once(':')?;
        let value = value.trim_start();
        let is_key = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_plain = !value.starts_with(['"', '\'', '|', '>']);
        let last = value
            .rfind("}}")
            .filter(|_| is_key && is_plain && value.contains("{{"))?;
        let (value, comment) = match value[last..].find(" #") {
            Some(at) => value.split_at(last + at),
            None => (value, ""),
        };
        let quoted = value.trim_end().replace('\'', "''");
        Some(format!("{key}: '{quoted}'{comment}{}", &line[bare.len()..]))
    };
    matter
        .split_inclusive('\n')
        .map(|line| quote(line).unwrap_or_else(|| line.to_owned()))
        .collect()
}

impl Frontmatter {
    /// Returns the command that `sh` or `argv` gives, as written.
    pub(crate) fn command(&self) -> Option<ShellCommand> {
        let text = |value: &Value, place| {
            let text = as_text(value)?;
            (!text.trim().is_empty()).then_some(ManifestText { text, place })
        };
        if let Some(datum) = self.attributes.get("argv") {
            let place = datum.place;
            let words = match &datum.value {
                Value::Array(items) => items.iter().filter_map(as_text).collect(),
                one => as_text(one).into_iter().collect::<Vec<_>>(),
            };
            let words: Vec<ManifestText> = words
                .into_iter()
                .map(|text| ManifestText { text, place })
                .collect();
            return (!words.is_empty()).then_some(ShellCommand::Words(words));
        }
        let datum = self.attributes.get("sh")?;
        text(&datum.value, datum.place).map(ShellCommand::Line)
    }

    /// Makes the directives of the rendered attributes.
    pub(crate) fn directives(
        &self,
        file: &str,
        rendered: &IndexMap<String, Value>,
    ) -> Result<FileDirectives, Error> {
        let reader = DirectiveReader {
            file,
            source: self,
            rendered,
        };
        reader.read()
    }
}

struct DirectiveReader<'r> {
    file: &'r str,
    source: &'r Frontmatter,
    rendered: &'r IndexMap<String, Value>,
}

impl DirectiveReader<'_> {
    fn read(&self) -> Result<FileDirectives, Error> {
        Ok(FileDirectives {
            to: self.to(),
            force: self.flag("force")?,
            unless_exists: self.flag("unless_exists")?,
            skip_if: self.text("skip_if"),
            inject: self.position()?,
            eof_last: self.optional_flag("eof_last")?,
            from: self.text("from"),
            runs: self.text("sh").is_some() || self.text("argv").is_some(),
            sh_ignore_exit: self.flag("sh_ignore_exit")?,
            message: self.text("message").or_else(|| self.text("echo")),
            executable: self.flag("executable")?,
        })
    }

    fn to(&self) -> ToDirective {
        match self.rendered.get("to") {
            None => ToDirective::Mirror,
            Some(value) => match as_text(value) {
                Some(path) if !path.trim().is_empty() && path.trim() != "null" => {
                    ToDirective::Path(path.trim().to_owned())
                }
                _ => ToDirective::Nowhere,
            },
        }
    }

    fn position(&self) -> Result<Option<InjectPosition>, Error> {
        let given: Vec<&str> = POSITIONS
            .into_iter()
            .filter(|key| self.text(key).is_some_and(|text| text != "false"))
            .collect();
        if !self.flag("inject")? {
            return match given.first() {
                Some(key) if !self.rendered.contains_key("inject") => Err(self.wrong(
                    key,
                    format!("`{key}` has no meaning without `inject: true`"),
                )),
                _ => Ok(None),
            };
        }
        let [key] = given[..] else {
            let message = match given.get(1) {
                None => "`inject` does not say where".to_owned(),
                Some(second) => format!("`{}` and `{second}` name two places", given[0]),
            };
            let hint = format!("use exactly one of {}", POSITIONS.join(", "));
            return Err(self
                .wrong(given.get(1).unwrap_or(&"inject"), message)
                .hint(hint));
        };
        let text = self.text(key).unwrap_or_default();
        Ok(Some(match key {
            "before" => InjectPosition::Before(text),
            "after" => InjectPosition::After(text),
            "prepend" => InjectPosition::Prepend,
            "append" => InjectPosition::Append,
            _ => InjectPosition::AtLine(text.trim().parse().map_err(|_| {
                self.wrong(
                    key,
                    format!("`at_line` must be a line index from 0, found `{text}`"),
                )
            })?),
        }))
    }

    /// Returns a text that is not blank; `null` counts as blank.
    fn text(&self, key: &str) -> Option<String> {
        let text = as_text(self.rendered.get(key)?)?;
        (!text.trim().is_empty()).then_some(text)
    }

    fn flag(&self, key: &str) -> Result<bool, Error> {
        Ok(self.optional_flag(key)?.unwrap_or(false))
    }

    fn optional_flag(&self, key: &str) -> Result<Option<bool>, Error> {
        match self.text(key).as_deref().map(str::trim) {
            None | Some("undefined" | "null") => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => {
                let message = format!("`{key}` must be `true` or `false`, found `{other}`");
                Err(self.wrong(key, message))
            }
        }
    }

    fn wrong(&self, key: &str, message: String) -> Error {
        let place = self.source.attributes.get(key).map(|datum| datum.place);
        let place = place.unwrap_or(FileSpan {
            line: 1,
            column: 1,
            width: 3,
        });
        let diagnostic = Diagnostic::new(message).in_file(self.file, Some(place));
        Error::of(RecipeErrorKind::Manifest, vec![diagnostic])
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Returns true if a rendered `skip_if` of a file that is added means "skip".
pub(crate) fn says_skip(text: &str) -> bool {
    !matches!(text.trim(), "" | "false" | "null" | "undefined" | "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Just, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};

    #[track_caller]
    fn check(matter: &str, expected: Result<FileDirectives, &str>) {
        let text = format!("---\n{matter}---\nbody\n");
        let cut = split(&text);
        let found = parse("t.jig", cut.matter.unwrap()).and_then(|parsed| {
            let rendered = parsed
                .attributes
                .iter()
                .map(|(k, d)| (k.clone(), d.value.clone()));
            parsed.directives("t.jig", &rendered.collect())
        });
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => {
                assert!(found.to_string().contains(expected), "{found}");
            }
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn attributes_become_typed_directives() {
        let path = |text: &str| ToDirective::Path(text.to_owned());
        check(
            "to: a/b.ts\n",
            Ok(FileDirectives {
                to: path("a/b.ts"),
                ..FileDirectives::default()
            }),
        );
        check(
            "to:\n",
            Ok(FileDirectives {
                to: ToDirective::Nowhere,
                ..FileDirectives::default()
            }),
        );
        check(
            "to: 'null'\n",
            Ok(FileDirectives {
                to: ToDirective::Nowhere,
                ..FileDirectives::default()
            }),
        );
        check("", Ok(FileDirectives::default()));
        check(
            "to: {{ name }}/it's.ts\nforce: true\n",
            Ok(FileDirectives {
                to: path("{{ name }}/it's.ts"),
                force: true,
                ..FileDirectives::default()
            }),
        );
        check(
            "to: src/{{ kebabCase :: name }}/x.ts # where\n",
            Ok(FileDirectives {
                to: path("src/{{ kebabCase :: name }}/x.ts"),
                ..FileDirectives::default()
            }),
        );
        check(
            "inject: true\nat_line: 010\nto: a\n",
            Ok(FileDirectives {
                to: path("a"),
                inject: Some(InjectPosition::AtLine(10)),
                ..FileDirectives::default()
            }),
        );
        check(
            "inject: true\nprepend: false\nafter: x\neof_last: false\n",
            Ok(FileDirectives {
                inject: Some(InjectPosition::After("x".to_owned())),
                eof_last: Some(false),
                ..FileDirectives::default()
            }),
        );
    }

    #[test]
    fn contradictions_are_errors_with_a_place() {
        check("inject: true\nto: a\n", Err("does not say where"));
        check("inject: true\nafter: x\nbefore: y\n", Err("two places"));
        check("after: x\n", Err("without `inject: true`"));
        check("force: maybe\n", Err("t.jig:2:8: `force` must be"));
        check("unless_exist: true\n", Err("did you mean `unless_exists`?"));
        check("inject: true\nat_line: last\n", Err("line index"));
        check("to: [a]\n", Err("must be one value"));
        check("title: Hello\n", Err("file's own frontmatter"));
    }

    #[test]
    fn only_a_closed_fence_at_the_top_is_frontmatter() {
        for (text, matter, body, line) in [
            ("---\nto: a\n---\nx\n", Some("---\nto: a\n"), "x\n", 4),
            (
                "---\r\nto: a\r\n---\r\nx\r\n",
                Some("---\r\nto: a\r\n"),
                "x\r\n",
                4,
            ),
            (
                "---\n---\n---\ntitle: x\n---\n",
                Some("---\n"),
                "---\ntitle: x\n---\n",
                3,
            ),
            ("---\nto: a\n", None, "---\nto: a\n", 1),
            ("x\n---\na\n---\n", None, "x\n---\na\n---\n", 1),
            ("", None, "", 1),
        ] {
            let expected = SplitTemplate {
                matter,
                body,
                body_line: line,
            };
            assert_eq!(split(text), expected, "{text:?}");
        }
    }

    fn lines() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just("---".to_owned()),
            Just("to: a".to_owned()),
            Just("to: {{ name }}".to_owned()),
            Just(String::new()),
            "[ -~é]{0,12}",
        ];
        let end = prop_oneof![Just("\n"), Just("\r\n")];
        (proptest::collection::vec(line, 0..8), end).prop_map(|(lines, end)| lines.join(end))
    }

    proptest! {
        #[test]
        fn nothing_of_a_file_is_lost_and_lines_keep_their_numbers(text in lines()) {
            let cut = split(&text);
            prop_assert!(text.ends_with(cut.body));
            let above = &text[..text.len() - cut.body.len()];
            // A file may end with the closing mark, and then has no body to count.
            if above.is_empty() || above.ends_with('\n') {
                prop_assert_eq!(above.matches('\n').count() + 1, cut.body_line as usize);
            }
            if let Some(matter) = cut.matter {
                prop_assert!(above.starts_with(matter));
            } else {
                prop_assert!(above.is_empty());
            }
        }

        #[test]
        fn any_frontmatter_is_read_or_refused_with_a_place(text in lines()) {
            let text = format!("---\n{text}\n---\n");
            let Some(matter) = split(&text).matter else { return Ok(()) };
            if let Err(error) = parse("t.jig", matter) {
                prop_assert!(error.diagnostics().iter().all(|found| found.file.is_some()));
            }
        }
    }
}
