//! `kit.yml` and `cookbook.yml`, typed.

use crate::error::Error;
use crate::fields::{FileProblems, ManifestFields, UnsupportedKey};
use crate::yaml::{self, ManifestNode};

/// The contents of a `kit.yml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KitManifest {
    pub name: String,
    pub description: Option<String>,
    pub version: Option<String>,
    pub author: Option<String>,
    pub license: Option<String>,
    pub keywords: Vec<String>,
    pub defaults: KitDefaults,
    /// Globs of `cookbook.yml` files.
    pub cookbooks: Vec<String>,
    /// Globs of recipes outside any cookbook.
    pub recipes: Vec<String>,
}

/// The contents of a `cookbook.yml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CookbookManifest {
    pub name: String,
    pub description: Option<String>,
    pub version: Option<String>,
    pub defaults: KitDefaults,
    pub recipes: Vec<String>,
}

/// The recipe that runs when only the kit or the cookbook is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KitDefaults {
    pub cookbook: Option<String>,
    pub recipe: Option<String>,
}

const KIT_KEYS: [&str; 11] = [
    "name",
    "description",
    "version",
    "author",
    "license",
    "keywords",
    "tags",
    "categories",
    "defaults",
    "cookbooks",
    "recipes",
];

const COOKBOOK_KEYS: [&str; 7] = [
    "name",
    "description",
    "version",
    "defaults",
    "recipes",
    "tags",
    "author",
];

const FOREIGN: [UnsupportedKey; 2] = [
    (
        "helpers",
        "name helpers are built in; a recipe declares its own under `helpers`",
    ),
    (
        "variables",
        "declare variables in the recipes that use them",
    ),
];

/// Reads a `kit.yml`; `file` is how errors name it.
pub fn parse_kit(file: &str, text: &str) -> Result<KitManifest, Error> {
    read(file, text, read_kit)
}

/// Reads a `cookbook.yml`; `file` is how errors name it.
pub fn parse_cookbook(file: &str, text: &str) -> Result<CookbookManifest, Error> {
    read(file, text, read_cookbook)
}

fn read<T>(
    file: &str,
    text: &str,
    read: impl Fn(&ManifestNode, &mut FileProblems<'_>) -> Option<T>,
) -> Result<T, Error> {
    let root = yaml::parse(file, text)?;
    let mut problems = FileProblems::new(file, text);
    let value = read(&root, &mut problems);
    problems.finish(value)
}

fn read_kit(root: &ManifestNode, problems: &mut FileProblems<'_>) -> Option<KitManifest> {
    let fields = ManifestFields::open(root, "a kit", problems)?;
    fields.only(&[&KIT_KEYS], &FOREIGN, problems);
    let name = fields.required("name", problems);
    Some(KitManifest {
        description: fields.string("description", problems),
        version: fields.string("version", problems),
        author: fields.string("author", problems),
        license: fields.string("license", problems),
        keywords: fields.strings("keywords", problems),
        defaults: read_defaults(&fields, problems),
        cookbooks: fields.strings("cookbooks", problems),
        recipes: fields.strings("recipes", problems),
        name: name?.text,
    })
}

fn read_cookbook(root: &ManifestNode, problems: &mut FileProblems<'_>) -> Option<CookbookManifest> {
    let fields = ManifestFields::open(root, "a cookbook", problems)?;
    fields.only(&[&COOKBOOK_KEYS], &FOREIGN, problems);
    let name = fields.required("name", problems);
    Some(CookbookManifest {
        description: fields.string("description", problems),
        version: fields.string("version", problems),
        defaults: read_defaults(&fields, problems),
        recipes: fields.strings("recipes", problems),
        name: name?.text,
    })
}

fn read_defaults(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> KitDefaults {
    let defaults = fields.node("defaults").and_then(|node| {
        let fields = ManifestFields::open(node, "`defaults`", problems)?;
        fields.only(&[&["cookbook", "recipe"]], &[], problems);
        Some(KitDefaults {
            cookbook: fields.string("cookbook", problems),
            recipe: fields.string("recipe", problems),
        })
    });
    defaults.unwrap_or_default()
}

impl KitManifest {
    /// Returns the name on the command line: `@kit/nextjs` is `nextjs`.
    pub fn short_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}
