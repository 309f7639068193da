//! The `prompt` step: a question to the person who runs the recipe.

use crate::fields::{FileProblems, ManifestFields, ManifestText, ManifestValue};

#[derive(Clone, Debug)]
pub struct PromptStep {
    pub variable: String,
    pub kind: PromptKind,
    pub message: Option<ManifestText>,
    pub default: Option<ManifestValue>,
    pub options: Vec<String>,
    /// A regular expression a text must match.
    pub validate: Option<ManifestText>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    Text,
    Confirm,
    Select,
    MultiSelect,
}

const PROMPT_KINDS: [(&str, PromptKind); 4] = [
    ("text", PromptKind::Text),
    ("confirm", PromptKind::Confirm),
    ("select", PromptKind::Select),
    ("multiselect", PromptKind::MultiSelect),
];

pub(super) fn read_prompt(
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Option<PromptStep> {
    let kind = fields.word("promptType", &PROMPT_KINDS, problems);
    let prompt = PromptStep {
        variable: fields.required("variable", problems)?.text,
        kind: kind.unwrap_or(PromptKind::Text),
        message: fields.text("message", problems),
        default: fields.datum("default", problems),
        options: read_options(fields, problems),
        validate: fields.text("validate", problems),
    };
    let chooses = matches!(prompt.kind, PromptKind::Select | PromptKind::MultiSelect);
    if chooses && prompt.options.is_empty() {
        let message = "a prompt to select needs `options`";
        problems.note(fields.key_at("promptType"), message);
    }
    Some(prompt)
}

/// Options are words, or maps with a `value`.
fn read_options(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Vec<String> {
    let mut options = Vec::new();
    for node in fields.list("options", problems) {
        if let Some(word) = node.written(problems.text) {
            options.push(word);
            continue;
        }
        let Some(option) = ManifestFields::open(node, "an option", problems) else {
            continue;
        };
        option.only(&[&["label", "value", "hint"]], &[], problems);
        let value = option
            .string("value", problems)
            .or_else(|| option.string("label", problems));
        options.extend(value);
    }
    options
}
