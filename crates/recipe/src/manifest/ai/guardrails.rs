//! The guardrails of a question, as a manifest writes them.

use diagnostics::suggestion;
use prompt::{GuardedSyntax, limits};

use crate::fields::{FileProblems, ManifestFields, ManifestText, UnsupportedKey};
use crate::yaml::ManifestData;

/// Rules for a written answer.
#[derive(Clone, Debug, Default)]
pub struct AiGuardrails {
    pub syntax: SyntaxRule,
    pub allowed_imports: Option<Vec<ManifestText>>,
    pub blocked_imports: Vec<ManifestText>,
    pub length_min: Option<usize>,
    pub length_max: Option<usize>,
}

/// Syntax that an answer is checked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyntaxRule {
    /// That of the file it becomes.
    #[default]
    OfTarget,
    Unchecked,
    Of(GuardedSyntax),
}

const GUARDRAIL_KEYS: [&str; 9] = [
    "syntax",
    "validateSyntax",
    "allowedImports",
    "blockedImports",
    "minLength",
    "maxLength",
    "maxOutputLength",
    "retries",
    "retryOnFailure",
];

const GUARDRAIL_FOREIGN: [UnsupportedKey; 4] = [
    (
        "onFailure",
        "remove it; a wrong answer is always sent back with what is wrong, `retries` times",
    ),
    (
        "fallback",
        "make the question `required: false` and write the fallback where the answer is used",
    ),
    (
        "customValidator",
        "use `schema`, or a `shell` step that checks the file",
    ),
    (
        "requireKnownImports",
        "list the packages under `allowedImports`",
    ),
];

/// Reads the rules, and the number of times a wrong answer is asked for again.
pub(super) fn read(
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> (AiGuardrails, Option<u32>) {
    let mut rails = AiGuardrails::default();
    let Some(node) = fields.node("guardrails") else {
        return (rails, None);
    };
    let Some(map) = ManifestFields::open(node, "guardrails", problems) else {
        return (rails, None);
    };
    map.only(&[&GUARDRAIL_KEYS], &GUARDRAIL_FOREIGN, problems);
    rails.syntax = read_syntax(&map, problems);
    if map.has("allowedImports") {
        rails.allowed_imports = Some(map.texts("allowedImports", problems));
    }
    rails.blocked_imports = map.texts("blockedImports", problems);
    let mut count = |key: &str| map.count(key, problems);
    let (min, max) = (count("minLength"), count("maxLength"));
    let max = max.or(count("maxOutputLength"));
    let retries = count("retries").or(count("retryOnFailure"));
    rails.length_min = min.map(|min| min as usize);
    rails.length_max = max.map(|max| max as usize);
    if rails
        .length_max
        .is_some_and(|max| max > limits::ANSWER_BYTES_MAX)
    {
        let bytes = limits::ANSWER_BYTES_MAX;
        let message = format!("`maxLength` is more than any answer: ANSWER_BYTES_MAX = {bytes}");
        problems.note(map.at, message);
    }
    (rails, retries)
}

/// Reads a language, `true` for that of the target, or `false` for no check.
fn read_syntax(map: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> SyntaxRule {
    let key = match map.has("syntax") {
        true => "syntax",
        false => "validateSyntax",
    };
    let Some(node) = map.node(key) else {
        return SyntaxRule::OfTarget;
    };
    match node.data {
        ManifestData::Bool(true) => return SyntaxRule::OfTarget,
        ManifestData::Bool(false) => return SyntaxRule::Unchecked,
        _ => {}
    }
    let Some(text) = map.text(key, problems) else {
        return SyntaxRule::OfTarget;
    };
    match GuardedSyntax::named(&text.text) {
        Ok(syntax) => SyntaxRule::Of(syntax),
        Err(_) if text.text == "none" => SyntaxRule::Unchecked,
        Err(_) => {
            let message = format!("`{}` is no language whose syntax is checked", text.text);
            let hint = suggestion(&text.text, GuardedSyntax::NAMES);
            problems.note_at(text.place, message, hint);
            SyntaxRule::OfTarget
        }
    }
}
