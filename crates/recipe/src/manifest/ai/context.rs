//! The context of a question: texts, files, and how much of them.

use diagnostics::suggestion;

use crate::fields::{FileProblems, ManifestFields, ManifestText, UnsupportedKey};
use crate::yaml::ManifestData;

/// Default budget for context, in tokens.
pub const CONTEXT_TOKENS_DEFAULT: usize = 20_000;
/// Most tokens of context one question may have.
pub const CONTEXT_TOKENS_MAX: usize = 1_000_000;

/// Context of a question, for the person or model that answers it.
#[derive(Clone, Debug, Default)]
pub struct AiContext {
    pub texts: Vec<ManifestText>,
    /// Files of the project, by path or glob, in the order of the patterns.
    pub files: Vec<ManifestText>,
    pub tokens_max: Option<usize>,
    pub overflow: ContextOverflow,
}

/// Policy for context over its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextOverflow {
    /// Files are cut or left out, and the document lists them.
    #[default]
    Truncate,
    Error,
}

const CONTEXT_KEYS: [&str; 7] = [
    "text",
    "include",
    "files",
    "projectConfig",
    "maxTokens",
    "maxContextTokens",
    "overflow",
];

const CONTEXT_FOREIGN: [UnsupportedKey; 1] = [(
    "fromSteps",
    "give the value a name with the other step's `exports`, and write `{{ name }}` in `text`",
)];

const OVERFLOWS: [(&str, ContextOverflow); 2] = [
    ("truncate", ContextOverflow::Truncate),
    ("error", ContextOverflow::Error),
];

/// Files that say how a project is set up, by the name that asks for them. All are patterns: a
/// pattern may match nothing.
const CONFIGS: [(&str, &str); 6] = [
    ("package.json", "{package.json}"),
    ("tsconfig", "tsconfig*.json"),
    ("eslint", "{eslint.config.*,.eslintrc*}"),
    (".editorconfig", "{.editorconfig}"),
    ("cargo", "{Cargo.toml}"),
    ("pyproject", "{pyproject.toml}"),
];

/// Reads a text, several texts, or a map of texts and files.
pub(super) fn read(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> AiContext {
    let mut context = AiContext::default();
    let Some(node) = fields.node("context") else {
        return context;
    };
    if !matches!(node.data, ManifestData::Map(_)) {
        context.texts = fields.texts("context", problems);
        return context;
    }
    let Some(map) = ManifestFields::open(node, "the context of an `ai` step", problems) else {
        return context;
    };
    map.only(&[&CONTEXT_KEYS], &CONTEXT_FOREIGN, problems);
    context.texts = map.texts("text", problems);
    context.files = read_configs(&map, problems);
    context.files.extend(map.texts("include", problems));
    context.files.extend(map.texts("files", problems));
    let own = ["maxTokens", "maxContextTokens"].map(|key| read_tokens(&map, key, problems));
    context.tokens_max = own[0].or(own[1]);
    let overflow = map.text("overflow", problems);
    if overflow
        .as_ref()
        .is_some_and(|word| word.text == "summarize")
    {
        let message = "`overflow: summarize` is not supported";
        let hint = "use `truncate` or `error`; an earlier `ai` step can summarize".to_owned();
        problems.note_with_hint(map.key_at("overflow"), message, Some(hint));
    } else {
        let word = map.word("overflow", &OVERFLOWS, problems);
        context.overflow = word.unwrap_or_default();
    }
    context
}

fn read_tokens(
    fields: &ManifestFields<'_>,
    key: &str,
    problems: &mut FileProblems<'_>,
) -> Option<usize> {
    let tokens = fields.count(key, problems)? as usize;
    if tokens > CONTEXT_TOKENS_MAX {
        let message = format!("`{key}` is more than CONTEXT_TOKENS_MAX = {CONTEXT_TOKENS_MAX}");
        problems.note(fields.key_at(key), message);
    }
    Some(tokens)
}

/// Reads `projectConfig: true`, or some of the names.
fn read_configs(map: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Vec<ManifestText> {
    let Some(node) = map.node("projectConfig") else {
        return Vec::new();
    };
    let place = node.at.place(problems.text);
    let glob = |(_, glob): &(&str, &str)| ManifestText {
        text: (*glob).to_owned(),
        place,
    };
    if let ManifestData::Bool(all) = node.data {
        return CONFIGS.iter().filter(|_| all).map(glob).collect();
    }
    let mut globs = Vec::new();
    for name in map.texts("projectConfig", problems) {
        match CONFIGS.iter().find(|(known, _)| *known == name.text) {
            Some(config) => globs.push(glob(config)),
            None => {
                let message = format!("`{}` is no project configuration", name.text);
                let hint = suggestion(&name.text, CONFIGS.map(|(known, _)| known));
                problems.note_at(name.place, message, hint);
            }
        }
    }
    globs
}
