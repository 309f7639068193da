//! The inputs of a workflow on the command line: by position, by name, and of the declared types.

use std::collections::BTreeSet;

use app::workflows::LoadedWorkflow;
use flow::{EdgeCondition, Workflow, WorkflowStep};
use serde_json::{Map, Value};

use super::database_args::value_of;
use crate::arguments;
use crate::command::run::no_option;
use crate::exit::CliError;
use crate::values;

/// The names that a workflow takes: those it declares with `@input`, and those it only reads.
#[derive(Debug, Default)]
pub(crate) struct DeclaredInputs {
    properties: Map<String, Value>,
    reads: BTreeSet<String>,
}

impl DeclaredInputs {
    pub(crate) fn of(sheet: Option<&LoadedWorkflow>) -> Self {
        let Some(workflow) = sheet.and_then(|sheet| sheet.workflow.as_ref()) else {
            return Self::default();
        };
        let schema = workflow.input_schema();
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        Self {
            properties: properties.cloned().unwrap_or_default(),
            reads: names_read(workflow),
        }
    }

    /// Returns the declared names.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.properties.keys().map(String::as_str).collect()
    }

    /// Reads the words behind a workflow's name, and those of `--set`, as values by name.
    pub(crate) fn values(
        &self,
        words: &[String],
        set: &[String],
    ) -> Result<Vec<(String, Value)>, CliError> {
        let mut given = values::read(words, |name| self.is_flag(name))?;
        values::read_set(set, &mut given)?;
        let mut named: Vec<(String, String)> = Vec::new();
        let mut positional = Vec::new();
        for word in given.positional {
            match word.split_once('=') {
                Some((name, text)) if is_name(name) => {
                    named.push((name.to_owned(), text.to_owned()))
                }
                _ => positional.push(word),
            }
        }
        for (name, texts) in given.named {
            let (name, flag) = self.flag(&name);
            self.check_option(&name)?;
            named.push((name, texts.into_iter().next().unwrap_or(flag)));
        }
        self.place(positional, &mut named)?;
        Ok(self.typed(named))
    }

    /// Gives positional values to the declared inputs that no name was given for, in order.
    fn place(
        &self,
        positional: Vec<String>,
        named: &mut Vec<(String, String)>,
    ) -> Result<(), CliError> {
        let free = self.properties.keys();
        let free: Vec<String> = free
            .filter(|name| {
                !named
                    .iter()
                    .any(|(given, _)| self.resolved(given) == **name)
            })
            .cloned()
            .collect();
        let mut free = free.into_iter();
        for word in positional {
            let Some(name) = free.next() else {
                let error = CliError::usage(format!("there is no input for the value `{word}`"));
                return Err(
                    error.hint(match self.known().collect::<Vec<_>>().as_slice() {
                        [] => "write NAME=VALUE, or give `--input JSON`".to_owned(),
                        names => {
                            format!("write NAME=VALUE; the workflow takes: {}", names.join(", "))
                        }
                    }),
                );
            };
            named.push((name, word));
        }
        Ok(())
    }

    /// Makes values of the declared types; a name that is given more than once is a list.
    fn typed(&self, named: Vec<(String, String)>) -> Vec<(String, Value)> {
        let mut values: Vec<(String, Vec<Value>)> = Vec::new();
        for (name, text) in named {
            let name = self.resolved(&name);
            let value = self.value(&name, &text);
            match values.iter_mut().find(|(known, _)| *known == name) {
                Some((_, several)) => several.push(value),
                None => values.push((name, vec![value])),
            }
        }
        let values = values.into_iter().map(|(name, mut several)| {
            let is_list = self.type_of(&name) == Some("array");
            match (several.len(), several.pop()) {
                (1, Some(Value::Array(items))) => (name, Value::Array(items)),
                (1, Some(one)) if !is_list => (name, one),
                (_, last) => {
                    several.extend(last);
                    (name, Value::Array(several))
                }
            }
        });
        values.collect()
    }

    /// Reads a text as JSON where it is some, unless a text is wanted.
    pub(super) fn value(&self, name: &str, text: &str) -> Value {
        match self.type_of(name) {
            Some("string") => Value::String(text.to_owned()),
            _ => value_of(text),
        }
    }

    fn type_of(&self, name: &str) -> Option<&str> {
        self.properties.get(name)?.get("type")?.as_str()
    }

    /// Returns a name as the workflow spells it: `--pr-number` is `prNumber`.
    fn resolved(&self, name: &str) -> String {
        let folded = arguments::folded(name);
        let mut known = self.known();
        let exact = self.properties.contains_key(name) || self.reads.contains(name);
        let found = known.find(|known| !exact && arguments::folded(known) == folded);
        found.unwrap_or(name).to_owned()
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        let read = self
            .reads
            .iter()
            .filter(|name| !self.properties.contains_key(*name));
        self.properties.keys().chain(read).map(String::as_str)
    }

    fn is_flag(&self, name: &str) -> bool {
        let is_boolean = |name: &str| self.type_of(&self.resolved(name)) == Some("boolean");
        is_boolean(name) || name.strip_prefix("no-").is_some_and(is_boolean)
    }

    /// Returns the name that a flag sets, and the value that it stands for alone.
    fn flag(&self, name: &str) -> (String, String) {
        match name.strip_prefix("no-") {
            Some(rest) if self.known().all(|known| known != name) && self.is_flag(rest) => {
                (rest.to_owned(), "false".to_owned())
            }
            _ => (name.to_owned(), "true".to_owned()),
        }
    }

    /// Reports a mistyped option of drawloom, or a mistyped input, instead of passing it on.
    fn check_option(&self, name: &str) -> Result<(), CliError> {
        let resolved = self.resolved(name);
        if self.known().any(|known| known == resolved) {
            return Ok(());
        }
        if let Some(near) = app::nearest(name, self.known()) {
            let error = CliError::usage(format!("the workflow reads no input `{name}`"));
            return Err(error.hint(format!("did you mean `{near}`?")));
        }
        let options = arguments::options_of_run();
        match app::nearest(name, options.iter().map(String::as_str)) {
            Some(meant) => Err(no_option(name, meant)),
            None => Ok(()),
        }
    }
}

/// True if a word before `=` is a name and not the beginning of a value.
fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_')
        && letters.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Returns the names of the input that steps and conditions read.
fn names_read(workflow: &Workflow) -> BTreeSet<String> {
    names_in(workflow, |step| step.reads.clone())
}

/// Returns the names that a run's input must have. What only the prompt of a later step names may be in the
/// output of the step before it, which is searched as well.
pub(super) fn names_needed(workflow: &Workflow) -> BTreeSet<String> {
    names_in(workflow, |step| {
        let asked = step.config.prompt.as_deref().filter(|_| {
            let mut edges = workflow.edges().iter();
            edges.any(|edge| edge.to == step.id)
        });
        let asked = asked.map(flow::expression::text_reads).unwrap_or_default();
        let reads = step.reads.iter();
        let reads = reads.filter(|read| !asked.iter().any(|other| other.path == read.path));
        reads.cloned().collect()
    })
}

fn names_in(
    workflow: &Workflow,
    reads_of: impl Fn(&WorkflowStep) -> Vec<flow::NameReference>,
) -> BTreeSet<String> {
    let steps = workflow.steps().iter().flat_map(reads_of);
    let edges = workflow.steps().iter().flat_map(|step| {
        let conditions = workflow
            .outgoing(&step.id)
            .filter_map(|edge| match &edge.when {
                EdgeCondition::Condition(condition) => Some(flow::expression::reads(condition)),
                _ => None,
            });
        conditions.flatten().collect::<Vec<_>>()
    });
    let names = steps
        .chain(edges)
        .filter_map(|read| match read.path.as_slice() {
            [first, name, ..] if first == "input" => Some(name.clone()),
            _ => None,
        });
    names.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::DeclaredInputs;

    fn inputs() -> DeclaredInputs {
        let schema = json!({
            "version": { "type": "string" }, "prNumber": { "type": "integer" },
            "loud": { "type": "boolean" }, "files": { "type": "array" },
        });
        DeclaredInputs {
            properties: schema.as_object().cloned().unwrap(),
            reads: ["note".to_owned()].into(),
        }
    }

    #[track_caller]
    fn check(words: &str, expected: &Value) {
        let words = shlex::split(words).unwrap();
        let given = inputs().values(&words, &[]).unwrap();
        assert_eq!(Value::Object(given.into_iter().collect()), *expected);
    }

    #[track_caller]
    fn check_wrong(words: &str, message: &str) {
        let words = shlex::split(words).unwrap();
        let error = inputs().values(&words, &[]).unwrap_err();
        assert!(
            error.to_json().to_string().contains(message),
            "{}",
            error.to_json()
        );
    }

    #[test]
    fn values_are_given_by_position_and_by_name() {
        check("1.2 7", &json!({ "version": "1.2", "prNumber": 7 }));
        check("7 version=1", &json!({ "version": "1", "prNumber": 7 }));
        check(
            "--pr-number 7 --loud",
            &json!({ "prNumber": 7, "loud": true }),
        );
        check("--no-loud --note=x", &json!({ "loud": false, "note": "x" }));
        check("'a b=c'", &json!({ "version": "a b=c" }));
        check("other=[1]", &json!({ "other": [1] }));
    }

    #[test]
    fn a_name_that_is_given_twice_is_a_list() {
        check("files=a", &json!({ "files": ["a"] }));
        check("files=a files=b", &json!({ "files": ["a", "b"] }));
        check(r#"files='["a"]'"#, &json!({ "files": ["a"] }));
    }

    #[test]
    fn slips_are_told_with_the_name_that_was_meant() {
        check_wrong("--verson 1", "did you mean `version`?");
        check_wrong("--no-wiat", "did you mean `--no-wait`?");
        check_wrong("a 1 true [] e", "there is no input for the value `e`");
    }
}
