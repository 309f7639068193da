//! `ai` steps: one question, what goes with it, what its answer must keep to, and where it goes.

use indexmap::IndexMap;
use prompt::{AnswerKind, Syntax, limits};
use serde_json::Value;

use super::variable::is_name;
use crate::fields::{Datum, Fields, Foreign, Problems, Text};
use crate::frontmatter::Frontmatter;
use crate::nearest::suggestion;
use crate::yaml::Data;

/// Tokens of context when nobody says otherwise.
pub const CONTEXT_TOKENS_DEFAULT: usize = 20_000;
/// Most tokens of context one question may have.
pub const CONTEXT_TOKENS_MAX: usize = 1_000_000;

/// Asks one question; its answer becomes a variable, a file, or lines of a file.
#[derive(Clone, Debug)]
pub struct AiStep {
    /// The key of the answer; without it the step's name makes one.
    pub key: Option<Text>,
    pub prompt: AiPrompt,
    /// What the answer should look like, in words.
    pub format: Option<Text>,
    /// A kind of answer, as `@output` names them.
    pub kind: Option<Text>,
    /// What there is to choose from, for the kinds that choose.
    pub from: Option<Datum>,
    pub language: Option<String>,
    pub schema: Option<AiSchema>,
    pub required: bool,
    pub context: AiContext,
    pub examples: Vec<AiExample>,
    pub guardrails: AiGuardrails,
    /// Where the text goes, in the words of a template's frontmatter.
    pub(crate) directives: Frontmatter,
    /// A variable that gets the answer.
    pub variable: Option<Text>,
    /// How often whoever answers is asked again when the answer is wrong.
    pub retries: Option<u32>,
}

#[derive(Clone, Debug)]
pub enum AiPrompt {
    Text(Text),
    /// A template of the recipe.
    File(Text),
}

#[derive(Clone, Debug)]
pub enum AiSchema {
    Inline(Datum),
    /// A JSON file of the recipe.
    File(Text),
}

/// What whoever answers should know.
#[derive(Clone, Debug, Default)]
pub struct AiContext {
    pub texts: Vec<Text>,
    /// Files of the project, by path or glob, in the order of the patterns.
    pub files: Vec<Text>,
    pub tokens_max: Option<usize>,
    pub overflow: Overflow,
}

/// What becomes of context over its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// Files are cut or left out, and it is said which.
    #[default]
    Truncate,
    Error,
}

#[derive(Clone, Debug)]
pub struct AiExample {
    pub label: Option<Text>,
    pub input: Option<Text>,
    pub output: Text,
}

/// Rules for a written answer.
#[derive(Clone, Debug, Default)]
pub struct AiGuardrails {
    pub syntax: SyntaxRule,
    pub allowed_imports: Option<Vec<Text>>,
    pub blocked_imports: Vec<Text>,
    pub length_min: Option<usize>,
    pub length_max: Option<usize>,
}

/// Which syntax an answer is checked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyntaxRule {
    /// That of the file it becomes.
    #[default]
    OfTarget,
    Unchecked,
    Of(Syntax),
}

/// Keys of the step; all but the first few may stand under `output` as well.
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

/// How many of [`KEYS`] cannot stand under `output`.
const STEP_ONLY: usize = 6;

pub(super) const FOREIGN: [Foreign; 8] = [
    ("model", "set `ai.model` in drawloom.toml"),
    ("provider", "set `ai.provider` in drawloom.toml"),
    ("temperature", "set it for the model in drawloom.toml"),
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

const CONTEXT_KEYS: [&str; 7] = [
    "text",
    "include",
    "files",
    "projectConfig",
    "maxTokens",
    "maxContextTokens",
    "overflow",
];

const CONTEXT_FOREIGN: [Foreign; 1] = [(
    "fromSteps",
    "give the value a name with the other step's `exports`, and write `{{ name }}` in `text`",
)];

const OVERFLOWS: [(&str, Overflow); 2] =
    [("truncate", Overflow::Truncate), ("error", Overflow::Error)];

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

const GUARDRAIL_FOREIGN: [Foreign; 4] = [
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

/// The directives of a template's frontmatter that a step may give, in both spellings.
const DIRECTIVES: [(&str, &[&str]); 12] = [
    ("to", &["to", "injectInto"]),
    ("force", &["force", "overwrite"]),
    ("unless_exists", &["unlessExists", "unless_exists"]),
    ("skip_if", &["skipIf", "skip_if"]),
    ("inject", &["inject"]),
    ("before", &["before"]),
    ("after", &["after"]),
    ("at_line", &["atLine", "at_line"]),
    ("prepend", &["prepend"]),
    ("append", &["append"]),
    ("eof_last", &["eofLast", "eof_last"]),
    ("executable", &["executable"]),
];

/// A step and its `output`, which may say the same things.
struct Said<'n, 's> {
    step: &'s Fields<'n>,
    output: Option<Fields<'n>>,
}

impl<'n, 's> Said<'n, 's> {
    /// Whoever says it, `output` first.
    fn by(&self, key: &str) -> &Fields<'n> {
        let output = self.output.as_ref().filter(|output| output.has(key));
        output.unwrap_or(self.step)
    }

    fn has(&self, key: &str) -> bool {
        self.by(key).has(key)
    }

    fn text(&self, key: &str, problems: &mut Problems<'_>) -> Option<Text> {
        self.by(key).text(key, problems)
    }
}

pub(super) fn read(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<AiStep> {
    let output = match fields.node("output") {
        Some(node) => Some(Fields::open(node, "the output of an `ai` step", problems)?),
        None => None,
    };
    let said = Said {
        step: fields,
        output,
    };
    check_output(&said, problems);
    let prompt = read_prompt(fields, problems);
    let kind = read_kind(&said, problems);
    let guardrails = read_guardrails(fields, problems);
    let required = said.by("required").flag("required", problems);
    let step = AiStep {
        key: said.text("key", problems),
        format: said.text("format", problems),
        from: said.by("from").datum("from", problems),
        language: said.text("language", problems).map(|text| text.text),
        schema: read_schema(&said, problems),
        required: required.unwrap_or(true),
        context: read_context(fields, problems),
        examples: read_examples(fields, problems),
        directives: read_directives(&said, problems),
        variable: said.text("variable", problems),
        kind,
        guardrails: guardrails.0,
        retries: guardrails.1,
        prompt: prompt?,
    };
    check(&step, &said, problems);
    Some(step)
}

/// What cannot be meant together.
fn check(step: &AiStep, said: &Said<'_, '_>, problems: &mut Problems<'_>) {
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
    let language = step.language.as_deref().map(Syntax::named);
    let has_imports = match rails.syntax {
        SyntaxRule::Of(syntax) => syntax.has_imports(),
        SyntaxRule::Unchecked => false,
        SyntaxRule::OfTarget => {
            step.directives.attributes.contains_key("to")
                || language.is_some_and(|named| named.is_ok_and(Syntax::has_imports))
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

/// Unknown keys of `output`, and keys that both it and the step have.
fn check_output(said: &Said<'_, '_>, problems: &mut Problems<'_>) {
    let Some(output) = &said.output else { return };
    output.only(&[&KEYS[STEP_ONLY..]], &[], problems);
    for key in &KEYS[STEP_ONLY..] {
        if output.has(key) && said.step.has(key) {
            let message = format!("`{key}` is said twice, by the step and by its `output`");
            problems.note(output.key_at(key), message);
        }
    }
}

fn read_prompt(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<AiPrompt> {
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

/// `type` says what kind of answer is wanted; under `output` it may also name where it goes, which
/// the other keys say already.
fn read_kind(said: &Said<'_, '_>, problems: &mut Problems<'_>) -> Option<Text> {
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

fn read_schema(said: &Said<'_, '_>, problems: &mut Problems<'_>) -> Option<AiSchema> {
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

/// Text, several texts, or a map of texts and files.
fn read_context(fields: &Fields<'_>, problems: &mut Problems<'_>) -> AiContext {
    let mut context = AiContext::default();
    let Some(node) = fields.node("context") else {
        return context;
    };
    if !matches!(node.data, Data::Map(_)) {
        context.texts = fields.texts("context", problems);
        return context;
    }
    let Some(map) = Fields::open(node, "the context of an `ai` step", problems) else {
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

fn read_tokens(fields: &Fields<'_>, key: &str, problems: &mut Problems<'_>) -> Option<usize> {
    let tokens = fields.count(key, problems)? as usize;
    if tokens > CONTEXT_TOKENS_MAX {
        let message = format!("`{key}` is more than CONTEXT_TOKENS_MAX = {CONTEXT_TOKENS_MAX}");
        problems.note(fields.key_at(key), message);
    }
    Some(tokens)
}

/// `projectConfig: true`, or some of the names.
fn read_configs(map: &Fields<'_>, problems: &mut Problems<'_>) -> Vec<Text> {
    let Some(node) = map.node("projectConfig") else {
        return Vec::new();
    };
    let place = node.at.place(problems.text);
    let glob = |(_, glob): &(&str, &str)| Text {
        text: (*glob).to_owned(),
        place,
    };
    if let Data::Bool(all) = node.data {
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

/// An example is a text, or a map with `output` and perhaps `input`.
fn read_examples(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Vec<AiExample> {
    let mut examples = Vec::new();
    for node in fields.list("examples", problems) {
        if let Some(text) = node.written(problems.text) {
            let place = node.at.place(problems.text);
            examples.push(AiExample {
                label: None,
                input: None,
                output: Text { text, place },
            });
            continue;
        }
        let Some(example) = Fields::open(node, "an example", problems) else {
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

fn read_guardrails(
    fields: &Fields<'_>,
    problems: &mut Problems<'_>,
) -> (AiGuardrails, Option<u32>) {
    let mut rails = AiGuardrails::default();
    let Some(node) = fields.node("guardrails") else {
        return (rails, None);
    };
    let Some(map) = Fields::open(node, "guardrails", problems) else {
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

/// A language, `true` for that of the target, `false` for no check.
fn read_syntax(map: &Fields<'_>, problems: &mut Problems<'_>) -> SyntaxRule {
    let key = match map.has("syntax") {
        true => "syntax",
        false => "validateSyntax",
    };
    let Some(node) = map.node(key) else {
        return SyntaxRule::OfTarget;
    };
    match node.data {
        Data::Bool(true) => return SyntaxRule::OfTarget,
        Data::Bool(false) => return SyntaxRule::Unchecked,
        _ => {}
    }
    let Some(text) = map.text(key, problems) else {
        return SyntaxRule::OfTarget;
    };
    match Syntax::named(&text.text) {
        Ok(syntax) => SyntaxRule::Of(syntax),
        Err(_) if text.text == "none" => SyntaxRule::Unchecked,
        Err(_) => {
            let message = format!("`{}` is no language whose syntax is checked", text.text);
            let hint = suggestion(&text.text, Syntax::NAMES);
            problems.note_at(text.place, message, hint);
            SyntaxRule::OfTarget
        }
    }
}

/// Where the text goes, as a template's frontmatter would say it.
fn read_directives(said: &Said<'_, '_>, problems: &mut Problems<'_>) -> Frontmatter {
    let mut attributes: IndexMap<String, Datum> = IndexMap::new();
    for (name, spellings) in DIRECTIVES {
        let given: Vec<&&str> = spellings.iter().filter(|key| said.has(key)).collect();
        if let [first, second, ..] = given[..] {
            let message = format!("`{first}` and `{second}` say the same");
            problems.note(said.by(second).key_at(second), message);
        }
        let Some(key) = given.first() else { continue };
        let fields = said.by(key);
        let Some(node) = fields.node(key) else {
            continue;
        };
        let place = node.at.place(problems.text);
        let Some(written) = node.written(problems.text) else {
            problems.note(
                node.at,
                format!("`{key}` must be one value, found {}", node.kind()),
            );
            continue;
        };
        let value = Value::String(written);
        attributes.insert(name.to_owned(), Datum { value, place });
    }
    let yes = |place| Datum {
        value: Value::Bool(true),
        place,
    };
    if said.has("injectInto") {
        let place = said
            .by("injectInto")
            .key_at("injectInto")
            .place(problems.text);
        attributes.entry("inject".to_owned()).or_insert(yes(place));
    }
    let ends = [("start", "prepend"), ("end", "append")];
    if let Some(end) = said.by("at").word("at", &ends, problems) {
        let place = said.by("at").key_at("at").place(problems.text);
        attributes.insert(end.to_owned(), yes(place));
    }
    if !attributes.contains_key("to") {
        for (name, datum) in &attributes {
            let message = format!("`{name}` has no meaning without `to`");
            problems.note_at(datum.place, message, None);
        }
    }
    Frontmatter { attributes }
}
