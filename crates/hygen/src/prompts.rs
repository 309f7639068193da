//! `prompt.js`: the questions of an action, as far as they are plain data.

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use serde_json::Value;

use super::module::{JsModule, ModuleData, ModuleItem};
use super::script::{NESTING_MAX, nesting};

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HygenPrompt {
    pub(super) name: String,
    pub(super) kind: HygenPromptKind,
    pub(super) message: Option<String>,
    pub(super) default: Option<Value>,
    pub(super) choices: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HygenPromptKind {
    Text,
    Number,
    Confirm,
    Select,
    MultiSelect,
}

/// The questions of a file, and what else it does.
#[derive(Debug, Default)]
pub(super) struct HygenPrompts {
    pub(super) questions: Vec<HygenPrompt>,
    pub(super) warnings: Vec<(u32, String)>,
}

const TYPES: [(&str, HygenPromptKind); 19] = [
    ("input", HygenPromptKind::Text),
    ("text", HygenPromptKind::Text),
    ("password", HygenPromptKind::Text),
    ("invisible", HygenPromptKind::Text),
    ("secret", HygenPromptKind::Text),
    ("editor", HygenPromptKind::Text),
    ("string", HygenPromptKind::Text),
    ("number", HygenPromptKind::Number),
    ("numeral", HygenPromptKind::Number),
    ("confirm", HygenPromptKind::Confirm),
    ("toggle", HygenPromptKind::Confirm),
    ("select", HygenPromptKind::Select),
    ("list", HygenPromptKind::Select),
    ("rawlist", HygenPromptKind::Select),
    ("autocomplete", HygenPromptKind::Select),
    ("expand", HygenPromptKind::Select),
    ("multiselect", HygenPromptKind::MultiSelect),
    ("checkbox", HygenPromptKind::MultiSelect),
    ("sort", HygenPromptKind::MultiSelect),
];

/// The keys of a prompt that the import understands.
const KNOWN: [&str; 9] = [
    "type", "name", "message", "default", "initial", "choices", "required", "hint", "prefix",
];

/// Reads a file of questions.
pub(super) fn read(path: &str, text: &str) -> HygenPrompts {
    let mut asked = HygenPrompts::default();
    if nesting(text) > NESTING_MAX {
        let message = format!("this file is nested deeper than NESTING_MAX = {NESTING_MAX}");
        asked.warn(1, message);
        return asked;
    }
    let allocator = Allocator::default();
    let kind = if path.ends_with(".ts") {
        SourceType::ts()
    } else {
        SourceType::unambiguous()
    };
    let parsed = Parser::new(&allocator, text, kind).parse();
    if let Some(error) = parsed.diagnostics.iter().next() {
        asked.warn(
            1,
            format!("this JavaScript cannot be read: {}", error.message),
        );
        return asked;
    }
    let module = JsModule::of(&parsed.program, text);
    match &module.exported {
        None => asked.warn(
            1,
            "nothing is exported here; declare the variables in recipe.yml",
        ),
        Some(ModuleItem {
            data: ModuleData::List(items),
            ..
        }) => asked.questions(items),
        Some(ModuleItem {
            data: ModuleData::Map(entries),
            line,
        }) => {
            asked.hooks(entries, &module);
            if entries.is_empty() {
                asked.warn(
                    *line,
                    "nothing is exported here; declare the variables in recipe.yml",
                );
            }
        }
        Some(ModuleItem { line, .. }) => asked.warn(
            *line,
            "only a list of questions is carried over; declare the variables in recipe.yml",
        ),
    }
    asked
}

impl HygenPrompts {
    /// Reads `{ prompt, params }`.
    fn hooks(&mut self, entries: &[(String, ModuleItem)], module: &JsModule) {
        for (key, item) in entries {
            match key.as_str() {
                "prompt" => {
                    for call in &module.prompts {
                        match &call.data {
                            ModuleData::List(items) => self.questions(items),
                            ModuleData::Map(_) => self.question(call),
                            _ => self.warn(
                                call.line,
                                "these questions are not written out; declare the variables in recipe.yml",
                            ),
                        }
                    }
                    if !module.prompt_is_plain || module.prompts.is_empty() {
                        self.warn(
                            item.line,
                            "the code around the questions was not carried over: give computed values as \
                             variables with a `default` that is a template",
                        );
                    }
                }
                "params" => self.warn(
                    item.line,
                    "`params` was not carried over: give its values as variables with a `default` that is \
                     a template",
                ),
                other => self.warn(item.line, format!("`{other}` was not carried over")),
            }
        }
    }

    fn questions(&mut self, items: &[ModuleItem]) {
        for item in items {
            self.question(item);
        }
    }

    fn question(&mut self, item: &ModuleItem) {
        let ModuleData::Map(entries) = &item.data else {
            self.warn(
                item.line,
                "this question is not written out; declare its variable in recipe.yml",
            );
            return;
        };
        let get = |key: &str| {
            entries
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, item)| item)
        };
        let Some(name) = get("name").and_then(|item| item.data.text()) else {
            self.warn(
                item.line,
                "this question has no plain `name`; declare its variable in recipe.yml",
            );
            return;
        };
        let kind = self.kind(&name, item.line, get("type"));
        let message = get("message").and_then(|item| match item.data.text() {
            Some(text) => Some(text),
            None => {
                self.warn(
                    item.line,
                    format!("the message of `{name}` is computed: write a plain `prompt`"),
                );
                None
            }
        });
        let default = get("initial")
            .or_else(|| get("default"))
            .and_then(|item| match &item.data {
                ModuleData::Value(value) => Some(value.clone()),
                _ => {
                    let problem = format!(
                        "the default of `{name}` is computed: write it as a template in recipe.yml"
                    );
                    self.warn(item.line, problem);
                    None
                }
            });
        let choices = get("choices")
            .map(|item| self.choices(&name, item))
            .unwrap_or_default();
        for (key, item) in entries {
            if !KNOWN.contains(&key.as_str()) {
                self.warn(item.line, dropped(&name, key));
            }
        }
        self.questions.push(HygenPrompt {
            name,
            kind,
            message,
            default,
            choices,
        });
    }

    fn kind(&mut self, name: &str, line: u32, item: Option<&ModuleItem>) -> HygenPromptKind {
        let written = item.and_then(|item| item.data.text());
        let written = written.as_deref().unwrap_or("input");
        if let Some((_, kind)) = TYPES.iter().find(|(word, _)| *word == written) {
            return *kind;
        }
        let problem = format!("questions of type `{written}` are asked as text (`{name}`)");
        self.warn(line, problem);
        HygenPromptKind::Text
    }

    fn choices(&mut self, name: &str, item: &ModuleItem) -> Vec<String> {
        let ModuleData::List(items) = &item.data else {
            self.warn(
                item.line,
                format!("the choices of `{name}` are computed: list them as `values`"),
            );
            return Vec::new();
        };
        let mut choices = Vec::new();
        for item in items {
            let choice = match &item.data {
                ModuleData::Map(entries) => {
                    ["name", "value", "title"].into_iter().find_map(|key| {
                        entries
                            .iter()
                            .find(|(name, _)| name == key)
                            .and_then(|(_, item)| item.data.text())
                    })
                }
                other => other.text(),
            };
            match choice {
                Some(choice) => choices.push(choice),
                None => self.warn(
                    item.line,
                    format!("a choice of `{name}` is computed: add it to `values`"),
                ),
            }
        }
        choices
    }

    fn warn(&mut self, line: u32, message: impl Into<String>) {
        self.warnings.push((line, message.into()));
    }
}

fn dropped(name: &str, key: &str) -> String {
    match key {
        "validate" => {
            format!("`validate` of `{name}` was not carried over: use `pattern`, `min` or `max`")
        }
        "when" | "skip" => {
            format!(
                "`{key}` of `{name}` was not carried over: give the variable a `default` instead"
            )
        }
        "format" | "result" | "filter" | "transformer" => {
            format!("`{key}` of `{name}` was not carried over: change the value in the templates")
        }
        other => format!("`{other}` of `{name}` was not carried over"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn question(name: &str, kind: HygenPromptKind) -> HygenPrompt {
        HygenPrompt {
            name: name.to_owned(),
            kind,
            message: None,
            default: None,
            choices: Vec::new(),
        }
    }

    #[track_caller]
    fn check(text: &str, questions: &[HygenPrompt], warnings: &[(u32, &str)]) {
        let asked = read("prompt.js", text);
        assert_eq!(asked.questions, questions, "{text}");
        assert_eq!(asked.warnings.len(), warnings.len(), "{:?}", asked.warnings);
        for ((line, message), (expected, says)) in asked.warnings.iter().zip(warnings) {
            assert_eq!(line, expected, "{message}");
            assert!(message.contains(says), "{message}");
        }
    }

    #[test]
    fn lists_of_questions_are_read() {
        let a = HygenPrompt {
            message: Some("What?".to_owned()),
            default: Some(json!("x")),
            ..question("a", HygenPromptKind::Text)
        };
        let b = HygenPrompt {
            choices: vec!["p".to_owned(), "q".to_owned()],
            ..question("b", HygenPromptKind::Select)
        };
        let list = "[{ type: 'input', name: 'a', message: \"What?\", default: 'x' },\n\
                    { type: 'select', name: 'b', choices: ['p', { name: 'q', message: 'Q' }] }]";
        check(
            &format!("module.exports = {list}"),
            &[a.clone(), b.clone()],
            &[],
        );
        check(
            &format!("const all = {list}\nmodule.exports = all"),
            &[a.clone(), b.clone()],
            &[],
        );
        check(
            &format!("export default {list}"),
            &[a.clone(), b.clone()],
            &[],
        );
        let hook = format!(
            "module.exports = {{ prompt: ({{ prompter, args }}) => prompter.prompt({list}) }}"
        );
        check(&hook, &[a.clone(), b.clone()], &[]);
        let hook = format!(
            "module.exports = {{\n prompt({{ inquirer }}) {{\n  const q = {list}\n  return inquirer.prompt(q).then(a => ({{ ...a, c: 1 }}))\n }}\n}}"
        );
        check(&hook, &[a, b], &[(2, "code around")]);
    }

    #[test]
    fn computed_values_are_warned_about() {
        check(
            "module.exports = [\n { type: 'input', name: 'a',\n   validate: v => v.length > 0,\n   default: f() },\n q,\n]",
            &[question("a", HygenPromptKind::Text)],
            &[
                (4, "default of `a`"),
                (3, "`validate` of `a`"),
                (5, "not written out"),
            ],
        );
        check(
            "module.exports = { params: ({ args }) => ({ x: 1 }) }",
            &[],
            &[(1, "params")],
        );
        check("module.exports = [", &[], &[(1, "cannot be read")]);
        check("const x = 1", &[], &[(1, "nothing is exported")]);
    }
}
