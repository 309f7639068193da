//! `recipe.yml`, typed: what a recipe declares, with the place of everything that can go wrong later.
//!
//! All problems of a manifest are reported at once.

mod ai;
mod order;
mod prompt_step;
mod step;
mod tool;
mod variable;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::error::{Diagnostic, Error};
use crate::fields::{Fields, Foreign, Problems};
use crate::yaml;

pub use crate::fields::{Datum, Text};
pub use ai::{
    AiContext, AiExample, AiGuardrails, AiPrompt, AiSchema, AiStep, CONTEXT_TOKENS_DEFAULT,
    CONTEXT_TOKENS_MAX, Overflow, SyntaxRule,
};
pub use order::Order;
pub use prompt_step::{PromptKind, PromptStep};
pub use step::{ForEach, STEPS_MAX, Step};
pub use tool::{
    Action, Check, EnsureDirs, Format, Group, Install, Patch, Query, Replace, Shell, ShellCommand,
    SubRecipe, TemplateStep, Tool,
};
pub use variable::{Type, Variable};

/// Everything a `recipe.yml` says.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub name: String,
    pub description: Option<String>,
    pub version: Option<String>,
    pub author: Option<String>,
    pub category: Option<String>,
    pub tags: Vec<String>,
    pub variables: IndexMap<String, Variable>,
    pub steps: Vec<Step>,
    pub order: Order,
    pub examples: Vec<Example>,
    /// What the recipe hands to recipes that follow it; documentation for now.
    pub provides: Vec<String>,
    pub on_success: Option<Text>,
    pub on_error: Option<Text>,
    /// What an update carries over from older versions.
    pub migrations: Vec<Migration>,
}

/// What became different with a version.
#[derive(Clone, Debug)]
pub struct Migration {
    pub version: String,
    /// The old name of a variable and the new one.
    pub variables: Vec<(String, String)>,
    /// Where a generated file was and where it goes; templates over the variables.
    pub files: Vec<(Text, Text)>,
}

/// A worked example: values, and what they give.
#[derive(Clone, Debug)]
pub struct Example {
    pub title: String,
    pub description: Option<String>,
    pub variables: Map<String, Value>,
}

const KEYS: [&str; 15] = [
    "name",
    "description",
    "version",
    "author",
    "category",
    "tags",
    "variables",
    "steps",
    "examples",
    "provides",
    "outputs",
    "onSuccess",
    "onError",
    "migrations",
    "engines",
];

/// What Hypergen reads and never acts on; silently ignoring it here as well would be a lie.
const FOREIGN: [Foreign; 4] = [
    (
        "hooks",
        "write the commands as `shell` steps; `onSuccess` and `onError` are texts",
    ),
    (
        "settings",
        "put `timeout`, `retries` and `continueOnError` on the steps they concern",
    ),
    (
        "composition",
        "use a step with `recipe:` to include another recipe",
    ),
    (
        "dependencies",
        "use a step with `recipe:` for each recipe this one needs",
    ),
];

/// Reads a manifest; `file` is how errors name it.
pub fn parse(file: &str, text: &str) -> Result<Manifest, Error> {
    let root = yaml::parse(file, text)?;
    let mut problems = Problems::new(file, text);
    let manifest = read(&root, &mut problems);
    problems.finish(manifest)
}

/// Reads as much of a manifest as can be read, with everything that is wrong with it.
pub(crate) fn parse_all(
    file: &str,
    text: &str,
) -> Result<(Option<Manifest>, Vec<Diagnostic>), Error> {
    let root = yaml::parse(file, text)?;
    let mut problems = Problems::new(file, text);
    let manifest = read(&root, &mut problems);
    Ok((manifest, problems.into_diagnostics()))
}

fn read(root: &yaml::Node, problems: &mut Problems<'_>) -> Option<Manifest> {
    let fields = Fields::open(root, "a recipe", problems)?;
    fields.only(&[&KEYS], &FOREIGN, problems);
    let name = fields.required("name", problems);
    let variables = variable::read_all(&fields, problems);
    if !fields.has("steps") {
        problems.note_with_hint(
            fields.at,
            "`steps` is missing in a recipe",
            Some("a recipe needs at least one step".to_owned()),
        );
    }
    let (steps, order) = step::read_ordered(&fields, "steps", problems);
    let manifest = Manifest {
        name: name.clone().unwrap_or_default().text,
        description: fields.string("description", problems),
        version: fields.string("version", problems),
        author: fields.string("author", problems),
        category: fields.string("category", problems),
        tags: fields.strings("tags", problems),
        variables,
        steps,
        order: order.clone().unwrap_or_default(),
        examples: read_examples(&fields, problems),
        provides: read_provides(&fields, problems),
        on_success: fields.text("onSuccess", problems),
        on_error: fields.text("onError", problems),
        migrations: read_migrations(&fields, problems),
    };
    (name.is_some() && order.is_some()).then_some(manifest)
}

fn read_migrations(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Vec<Migration> {
    let mut migrations = Vec::new();
    for node in fields.list("migrations", problems) {
        let Some(fields) = Fields::open(node, "a migration", problems) else {
            continue;
        };
        fields.only(&[&["version", "variables", "files"]], &[], problems);
        let place = fields.at;
        let Some(version) = fields.required("version", problems) else {
            continue;
        };
        if !fields.has("variables") && !fields.has("files") {
            problems.note(
                place,
                "this migration says nothing to do: add `variables` or `files`",
            );
        }
        let variables = fields.text_map("variables", problems).into_iter();
        let files = fields.text_map("files", problems).into_iter();
        migrations.push(Migration {
            version: version.text,
            variables: variables.map(|(old, new)| (old, new.text)).collect(),
            files: files
                .map(|(old, new)| {
                    let place = new.place;
                    (Text { text: old, place }, new)
                })
                .collect(),
        });
    }
    migrations
}

fn read_examples(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Vec<Example> {
    let keys = ["title", "description", "variables", "expectedResult"];
    let mut examples = Vec::new();
    for node in fields.list("examples", problems) {
        let Some(fields) = Fields::open(node, "an example", problems) else {
            continue;
        };
        fields.only(&[&keys], &[], problems);
        examples.push(Example {
            title: fields.string("title", problems).unwrap_or_default(),
            description: fields.string("description", problems),
            variables: fields.json_map("variables", problems),
        });
    }
    examples
}

fn read_provides(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Vec<String> {
    let mut provides = Vec::new();
    for node in fields.list("provides", problems) {
        if let Some(name) = node.written(problems.text) {
            provides.push(name);
            continue;
        }
        let Some(fields) = Fields::open(node, "an entry of `provides`", problems) else {
            continue;
        };
        fields.only(&[&["name", "type", "description"]], &[], problems);
        provides.extend(fields.required("name", problems).map(|name| name.text));
    }
    provides
}
