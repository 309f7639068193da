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
use crate::fields::{FileProblems, ManifestFields, UnsupportedKey};
use crate::yaml;

pub use crate::fields::{ManifestText, ManifestValue};
pub use ai::{
    AiContext, AiExample, AiGuardrails, AiPrompt, AiSchema, AiStep, CONTEXT_TOKENS_DEFAULT,
    CONTEXT_TOKENS_MAX, ContextOverflow, SyntaxRule,
};
pub use order::StepOrder;
pub use prompt_step::{PromptKind, PromptStep};
pub use step::{ForEach, RecipeStep, STEPS_MAX};
pub use tool::{
    ActionStep, DataFormat, EnsureDirs, GroupStep, InstallStep, PatchStep, QueryCheck, QueryStep,
    ReplaceStep, ShellCommand, ShellStep, StepTool, SubRecipe, TemplateStep,
};
pub use variable::{RecipeVariable, VariableType};

/// Everything a `recipe.yml` says.
#[derive(Clone, Debug)]
pub struct RecipeManifest {
    pub name: String,
    pub description: Option<String>,
    pub version: Option<String>,
    pub author: Option<String>,
    pub category: Option<String>,
    pub tags: Vec<String>,
    pub variables: IndexMap<String, RecipeVariable>,
    /// Functions that templates and conditions may call, by name.
    pub helpers: Vec<(String, ManifestText)>,
    pub steps: Vec<RecipeStep>,
    pub order: StepOrder,
    pub examples: Vec<RecipeExample>,
    /// Names the recipe hands to recipes that follow it; documentation for now.
    pub provides: Vec<String>,
    pub on_success: Option<ManifestText>,
    pub on_error: Option<ManifestText>,
    /// Changes that an update carries over from older versions.
    pub migrations: Vec<RecipeMigration>,
}

/// Variables and files that were renamed with a version.
#[derive(Clone, Debug)]
pub struct RecipeMigration {
    pub version: String,
    /// The old name of a variable and the new one.
    pub variables: Vec<(String, String)>,
    /// Old and new path of a generated file; templates over the variables.
    pub files: Vec<(ManifestText, ManifestText)>,
}

/// A worked example: a title and values.
#[derive(Clone, Debug)]
pub struct RecipeExample {
    pub title: String,
    pub description: Option<String>,
    pub variables: Map<String, Value>,
}

const KEYS: [&str; 16] = [
    "name",
    "description",
    "version",
    "author",
    "category",
    "tags",
    "variables",
    "helpers",
    "steps",
    "examples",
    "provides",
    "outputs",
    "onSuccess",
    "onError",
    "migrations",
    "engines",
];

/// Keys that Hypergen reads and never acts on. Ignoring them here as well would mislead the author,
/// so they are errors.
const FOREIGN: [UnsupportedKey; 4] = [
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
pub fn parse(file: &str, text: &str) -> Result<RecipeManifest, Error> {
    let root = yaml::parse(file, text)?;
    let mut problems = FileProblems::new(file, text);
    let manifest = read(&root, &mut problems);
    problems.finish(
        manifest
            .filter(|read| read.is_whole)
            .map(|read| read.manifest),
    )
}

/// Reads as much of a manifest as can be read, with everything that is wrong with it.
pub(crate) fn parse_all(
    file: &str,
    text: &str,
) -> Result<(Option<RecipeManifest>, Vec<Diagnostic>), Error> {
    let root = yaml::parse(file, text)?;
    let mut problems = FileProblems::new(file, text);
    let manifest = read(&root, &mut problems);
    let manifest = manifest.map(|read| read.manifest);
    Ok((manifest, problems.into_diagnostics()))
}

/// The parts of a manifest that could be read.
struct ReadManifest {
    manifest: RecipeManifest,
    /// False if its name or one of its steps could not be read.
    is_whole: bool,
}

fn read(root: &yaml::ManifestNode, problems: &mut FileProblems<'_>) -> Option<ReadManifest> {
    let fields = ManifestFields::open(root, "a recipe", problems)?;
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
    let helpers = read_helpers(&fields, &variables, problems);
    let (steps, order) = step::read_ordered(&fields, "steps", problems);
    let manifest = RecipeManifest {
        name: name.clone().unwrap_or_default().text,
        description: fields.string("description", problems),
        version: fields.string("version", problems),
        author: fields.string("author", problems),
        category: fields.string("category", problems),
        tags: fields.strings("tags", problems),
        variables,
        helpers,
        steps,
        order: order.clone().unwrap_or_default(),
        examples: read_examples(&fields, problems),
        provides: read_provides(&fields, problems),
        on_success: fields.text("onSuccess", problems),
        on_error: fields.text("onError", problems),
        migrations: read_migrations(&fields, problems),
    };
    Some(ReadManifest {
        manifest,
        is_whole: name.is_some() && order.is_some(),
    })
}

fn read_helpers(
    fields: &ManifestFields<'_>,
    variables: &IndexMap<String, RecipeVariable>,
    problems: &mut FileProblems<'_>,
) -> Vec<(String, ManifestText)> {
    let helpers = fields.text_map("helpers", problems);
    for (name, text) in &helpers {
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
        let is_name =
            name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit());
        if !is_name {
            let message = format!("the helper `{name}` cannot be called by this name");
            let hint = "a name has letters, digits, `_` and `$`".to_owned();
            problems.note_at(text.place, message, Some(hint));
        } else if variables.contains_key(name) {
            let message = format!("`{name}` is a helper and a variable; rename one of them");
            problems.note_at(text.place, message, None);
        }
    }
    helpers
}

fn read_migrations(
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Vec<RecipeMigration> {
    let mut migrations = Vec::new();
    for node in fields.list("migrations", problems) {
        let Some(fields) = ManifestFields::open(node, "a migration", problems) else {
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
        migrations.push(RecipeMigration {
            version: version.text,
            variables: variables.map(|(old, new)| (old, new.text)).collect(),
            files: files
                .map(|(old, new)| {
                    let place = new.place;
                    (ManifestText { text: old, place }, new)
                })
                .collect(),
        });
    }
    migrations
}

fn read_examples(
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Vec<RecipeExample> {
    let keys = ["title", "description", "variables", "expectedResult"];
    let mut examples = Vec::new();
    for node in fields.list("examples", problems) {
        let Some(fields) = ManifestFields::open(node, "an example", problems) else {
            continue;
        };
        fields.only(&[&keys], &[], problems);
        examples.push(RecipeExample {
            title: fields.string("title", problems).unwrap_or_default(),
            description: fields.string("description", problems),
            variables: fields.json_map("variables", problems),
        });
    }
    examples
}

fn read_provides(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Vec<String> {
    let mut provides = Vec::new();
    for node in fields.list("provides", problems) {
        if let Some(name) = node.written(problems.text) {
            provides.push(name);
            continue;
        }
        let Some(fields) = ManifestFields::open(node, "an entry of `provides`", problems) else {
            continue;
        };
        fields.only(&[&["name", "type", "description"]], &[], problems);
        provides.extend(fields.required("name", problems).map(|name| name.text));
    }
    provides
}
