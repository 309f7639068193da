//! `kit.yml` and `cookbook.yml`, typed.

use crate::error::Error;
use crate::fields::{Fields, Foreign, Problems};
use crate::yaml::{self, Node};

/// What a `kit.yml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KitManifest {
    pub name: String,
    pub description: Option<String>,
    pub version: Option<String>,
    pub author: Option<String>,
    pub license: Option<String>,
    pub keywords: Vec<String>,
    pub defaults: Defaults,
    /// Globs of `cookbook.yml` files.
    pub cookbooks: Vec<String>,
    /// Globs of recipes outside any cookbook.
    pub recipes: Vec<String>,
}

/// What a `cookbook.yml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CookbookManifest {
    pub name: String,
    pub description: Option<String>,
    pub version: Option<String>,
    pub defaults: Defaults,
    pub recipes: Vec<String>,
}

/// What runs when only the kit or the cookbook is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
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

const FOREIGN: [Foreign; 2] = [
    (
        "helpers",
        "name helpers are built in; put other logic into templates or an `action`",
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
    read: impl Fn(&Node, &mut Problems<'_>) -> Option<T>,
) -> Result<T, Error> {
    let root = yaml::parse(file, text)?;
    let mut problems = Problems::new(file, text);
    let value = read(&root, &mut problems);
    problems.finish(value)
}

fn read_kit(root: &Node, problems: &mut Problems<'_>) -> Option<KitManifest> {
    let fields = Fields::open(root, "a kit", problems)?;
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

fn read_cookbook(root: &Node, problems: &mut Problems<'_>) -> Option<CookbookManifest> {
    let fields = Fields::open(root, "a cookbook", problems)?;
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

fn read_defaults(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Defaults {
    let defaults = fields.node("defaults").and_then(|node| {
        let fields = Fields::open(node, "`defaults`", problems)?;
        fields.only(&[&["cookbook", "recipe"]], &[], problems);
        Some(Defaults {
            cookbook: fields.string("cookbook", problems),
            recipe: fields.string("recipe", problems),
        })
    });
    defaults.unwrap_or_default()
}

impl KitManifest {
    /// The name on the command line: `@kit/nextjs` is `nextjs`.
    pub fn short_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}
