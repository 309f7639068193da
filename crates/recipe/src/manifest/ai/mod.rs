//! `ai` steps: one question, what goes with it, what its answer must keep to, and where it goes.

mod context;
mod directives;
mod guardrails;

use diagnostics::suggestion;
use prompt::{AnswerKind, GuardedSyntax};

use super::variable::is_name;
use crate::fields::{FileProblems, ManifestFields, ManifestText, ManifestValue, UnsupportedKey};
use crate::frontmatter::Frontmatter;

pub use context::{AiContext, CONTEXT_TOKENS_DEFAULT, CONTEXT_TOKENS_MAX, ContextOverflow};
pub use guardrails::{AiGuardrails, SyntaxRule};

/// Asks one question; its answer becomes a variable, a file, or lines of a file.
#[derive(Clone, Debug)]
pub struct AiStep {
    /// The key of the answer; without it the step's name makes one.
    pub key: Option<ManifestText>,
    pub prompt: AiPrompt,
    /// The author's description of the answer's form.
    pub format: Option<ManifestText>,
    /// A kind of answer, as `@output` names them.
    pub kind: Option<ManifestText>,
    /// The choices, for the kinds that choose.
    pub from: Option<ManifestValue>,
    pub language: Option<String>,
    pub schema: Option<AiSchema>,
    pub required: bool,
    pub context: AiContext,
    pub examples: Vec<AiExample>,
    pub guardrails: AiGuardrails,
    /// Target of the text, in the attributes of a template's frontmatter.
    pub(crate) directives: Frontmatter,
    /// A variable that gets the answer.
    pub variable: Option<ManifestText>,
    /// Number of times the question is asked again when the answer is wrong.
    pub retries: Option<u32>,
}

#[derive(Clone, Debug)]
pub enum AiPrompt {
    Text(ManifestText),
    /// A template of the recipe.
    File(ManifestText),
}

#[derive(Clone, Debug)]
pub enum AiSchema {
    Inline(ManifestValue),
    /// A JSON file of the recipe.
    File(ManifestText),
}

#[derive(Clone, Debug)]
pub struct AiExample {
    pub label: Option<ManifestText>,
    pub input: Option<ManifestText>,
    pub output: ManifestText,
}

/// Keys of the step; all but the first few are allowed under `output` as well.
pub(super) const KEYS: [&str; 34] = [
    "prompt",
    "promptFile",
    "context",
    "examples",
    "guardrails",
    "output",
    "key",
    "type",
    "from",
    "language",
    "schema",
    "schemaFile",
    "format",
    "required",
    "variable",
    "to",
    "force",
    "unlessExists",
    "skipIf",
    "inject",
    "injectInto",
    "at",
    "before",
    "after",
    "atLine",
    "prepend",
    "append",
    "eofLast",
    "executable",
    "unless_exists",
    "skip_if",
    "at_line",
    "eof_last",
    "overwrite",
];

/// Number of leading [`KEYS`] that are not allowed under `output`.
const STEP_ONLY: usize = 6;

pub(super) const FOREIGN: [UnsupportedKey; 8] = [
    ("model", "set `ai.model` in drawloom.toml"),
    ("provider", "set `ai.provider` in drawloom.toml"),
    ("temperature", "set `ai.temperature` in drawloom.toml"),
    ("maxTokens", "set `ai.max_tokens` in drawloom.toml"),
    ("stream", "remove it; progress is shown anyway"),
    ("system", "write it into the `prompt` or the `context`"),
    (
        "budget",
        "limit what is sent with `context: { maxTokens: … }`, and money with `ai.budget` in drawloom.toml",
    ),
    (
        "fallback",
        "make the question `required: false` and write the fallback where the answer is used",
    ),
];

/// A step and its `output`, which may say the same things.
struct AiStepFields<'n, 's> {
    step: &'s ManifestFields<'n>,
    output: Option<ManifestFields<'n>>,
}

impl<'n, 's> AiStepFields<'n, 's> {
    /// Returns the map that has the key, `output` first.
    fn by(&self, key: &str) -> &ManifestFields<'n> {
        let output = self.output.as_ref().filter(|output| output.has(key));
        output.unwrap_or(self.step)
    }

    fn has(&self, key: &str) -> bool {
        self.by(key).has(key)
    }

    fn text(&self, key: &str, problems: &mut FileProblems<'_>) -> Option<ManifestText> {
        self.by(key).text(key, problems)
    }
}

pub(super) fn read(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Option<AiStep> {
    let output = match fields.node("output") {
        Some(node) => Some(ManifestFields::open(
            node,
            "the output of an `ai` step",
            problems,
        )?),
        None => None,
    };
    let said = AiStepFields {
        step: fields,
        output,
    };
    check_output(&said, problems);
    let prompt = read_prompt(fields, problems);
    let kind = read_kind(&said, problems);
    let (guardrails, retries) = guardrails::read(fields, problems);
    let required = said.by("required").flag("required", problems);
    let step = AiStep {
        key: said.text("key", problems),
        format: said.text("format", problems),
        from: said.by("from").datum("from", problems),
        language: said.text("language", problems).map(|text| text.text),
        schema: read_schema(&said, problems),
        required: required.unwrap_or(true),
        context: context::read(fields, problems),
        examples: read_examples(fields, problems),
        directives: directives::read(&said, problems),
        variable: said.text("variable", problems),
        kind,
        guardrails,
        retries,
        prompt: prompt?,
    };
    check(&step, &said, problems);
    Some(step)
}

/// Reports keys that contradict each other.
fn check(step: &AiStep, said: &AiStepFields<'_, '_>, problems: &mut FileProblems<'_>) {
    if let Some(variable) = step.variable.as_ref().filter(|name| !is_name(&name.text)) {
        let message = format!("`{}` cannot be the name of a variable", variable.text);
        problems.note_at(variable.place, message, None);
    }
    let kind = step.kind.as_ref().map(|kind| kind.text.as_str());
    let chooses = matches!(kind, Some("select" | "pick" | "order"));
    if chooses && step.from.is_none() {
        let message = format!("a `{}` needs `from`", kind.unwrap_or_default());
        let hint = "list the values to choose from".to_owned();
        problems.note_with_hint(said.by("type").key_at("type"), message, Some(hint));
    }
    if step.from.is_some() && !chooses {
        let message = "`from` has no meaning without `type: select`, `pick` or `order`";
        problems.note(said.by("from").key_at("from"), message);
    }
    let rails = &step.guardrails;
    let speaks = matches!(kind, None | Some("text" | "code"));
    let ruled = rails.allowed_imports.is_some()
        || !rails.blocked_imports.is_empty()
        || rails.length_min.is_some()
        || rails.length_max.is_some();
    if ruled && !speaks {
        let message = format!(
            "guardrails are for text and code, not for an answer of type {}",
            kind.unwrap_or_default()
        );
        let hint = "describe the value with `schema`".to_owned();
        problems.note_with_hint(said.step.key_at("guardrails"), message, Some(hint));
    }
    let limits_imports = rails.allowed_imports.is_some() || !rails.blocked_imports.is_empty();
    let language = step.language.as_deref().map(GuardedSyntax::named);
    let has_imports = match rails.syntax {
        SyntaxRule::Of(syntax) => syntax.has_imports(),
        SyntaxRule::Unchecked => false,
        SyntaxRule::OfTarget => {
            step.directives.attributes.contains_key("to")
                || language.is_some_and(|named| named.is_ok_and(GuardedSyntax::has_imports))
        }
    };
    if limits_imports && !has_imports {
        let message = "imports can only be checked in a language that has them";
        let hint = "add `syntax: typescript`, `rust`, `python` or the like".to_owned();
        problems.note_with_hint(said.step.key_at("guardrails"), message, Some(hint));
    }
    if let (Some(min), Some(max)) = (rails.length_min, rails.length_max)
        && min > max
    {
        let message = format!("`minLength` {min} is greater than `maxLength` {max}");
        problems.note(said.step.key_at("guardrails"), message);
    }
}

/// Reports unknown keys of `output`, and keys that both it and the step have.
fn check_output(said: &AiStepFields<'_, '_>, problems: &mut FileProblems<'_>) {
    let Some(output) = &said.output else { return };
    output.only(&[&KEYS[STEP_ONLY..]], &[], problems);
    for key in &KEYS[STEP_ONLY..] {
        if output.has(key) && said.step.has(key) {
            let message = format!("`{key}` is said twice, by the step and by its `output`");
            problems.note(output.key_at(key), message);
        }
    }
}

fn read_prompt(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Option<AiPrompt> {
    match (fields.has("prompt"), fields.has("promptFile")) {
        (true, true) => {
            let message = "`prompt` and `promptFile` are two prompts";
            problems.note(fields.key_at("promptFile"), message);
            None
        }
        (false, true) => fields.required("promptFile", problems).map(AiPrompt::File),
        _ => fields.required("prompt", problems).map(AiPrompt::Text),
    }
}

/// Reads `type`, the kind of the answer. Under `output` it may also name the target, which other
/// keys decide already.
fn read_kind(said: &AiStepFields<'_, '_>, problems: &mut FileProblems<'_>) -> Option<ManifestText> {
    let text = said.text("type", problems)?;
    let goes = match text.text.as_str() {
        "variable" => Some(("variable", &["variable"][..])),
        "file" => Some(("file", &["to"][..])),
        "inject" => Some(("inject", &["injectInto", "inject"][..])),
        _ => None,
    };
    if let Some((name, keys)) = goes.filter(|_| said.output.is_some()) {
        if !keys.iter().any(|key| said.has(key)) {
            let message = format!("`type: {name}` needs `{}`", keys[0]);
            problems.note_at(text.place, message, None);
        }
        return None;
    }
    if AnswerKind::NAMES.contains(&text.text.as_str()) {
        return Some(text);
    }
    let hint = match text.text.as_str() {
        "stdout" => Some("give it to a variable and say it in `onSuccess`".to_owned()),
        word => suggestion(word, AnswerKind::NAMES),
    };
    let message = format!("`{}` is not a type of answer", text.text);
    problems.note_at(text.place, message, hint);
    None
}

fn read_schema(said: &AiStepFields<'_, '_>, problems: &mut FileProblems<'_>) -> Option<AiSchema> {
    if said.has("schemaFile") {
        if said.has("schema") {
            let message = "`schema` and `schemaFile` are two schemas";
            problems.note(said.by("schemaFile").key_at("schemaFile"), message);
        }
        return said.text("schemaFile", problems).map(AiSchema::File);
    }
    let schema = said.by("schema").datum("schema", problems)?;
    if !schema.value.is_object() {
        let hint = "a JSON Schema is a map; a file goes under `schemaFile`".to_owned();
        problems.note_at(schema.place, "`schema` must be a map", Some(hint));
        return None;
    }
    Some(AiSchema::Inline(schema))
}

/// Reads the examples: each is a text, or a map with `output` and perhaps `input`.
fn read_examples(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Vec<AiExample> {
    let mut examples = Vec::new();
    for node in fields.list("examples", problems) {
        if let Some(text) = node.written(problems.text) {
            let place = node.at.place(problems.text);
            examples.push(AiExample {
                label: None,
                input: None,
                output: ManifestText { text, place },
            });
            continue;
        }
        let Some(example) = ManifestFields::open(node, "an example", problems) else {
            continue;
        };
        example.only(&[&["label", "input", "output"]], &[], problems);
        let Some(output) = example.required("output", problems) else {
            continue;
        };
        examples.push(AiExample {
            label: example.text("label", problems),
            input: example.text("input", problems),
            output,
        });
    }
    examples
}
