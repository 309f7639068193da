//! The catalog of recipes: the project's own, and those of its kits.

use serde::Serialize;
use workspace::{PathKind, RelPath, Root};

use super::manifest::{KitDefaults, KitManifest, parse_cookbook, parse_kit};
use super::{COOKBOOK_FILE, KIT_FILE, KITS_DIR, RECIPES_DIR};
use crate::error::Error;
use crate::load;

/// Every recipe that can be run by name.
#[derive(Debug, Default)]
pub struct RecipeCatalog {
    /// The project's own recipes.
    pub recipes: Vec<RecipeListing>,
    pub kits: Vec<Kit>,
}

/// A kit of the project.
#[derive(Debug)]
pub struct Kit {
    /// Its name on the command line: that of its directory.
    pub name: String,
    pub dir: RelPath,
    pub manifest: KitManifest,
    pub cookbooks: Vec<Cookbook>,
    /// Recipes outside any cookbook.
    pub recipes: Vec<RecipeListing>,
    /// Reason why its manifest could not be read.
    pub problem: Option<Error>,
}

/// Recipes of a kit that belong together.
#[derive(Debug)]
pub struct Cookbook {
    pub name: String,
    pub dir: RelPath,
    pub description: Option<String>,
    pub defaults: KitDefaults,
    pub recipes: Vec<RecipeListing>,
    pub problem: Option<Error>,
}

/// One recipe of the catalog.
#[derive(Clone, Debug, Serialize)]
pub struct RecipeListing {
    /// The argument of `run`: `hello`, `kit/recipe`, `kit/cookbook/recipe`.
    pub id: String,
    /// The last word of the id.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The manifest's path in the project.
    pub path: RelPath,
    /// Reason why the recipe cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Error>,
}

const COOKBOOKS_DEFAULT: &str = "cookbooks/*/cookbook.yml";
const KIT_RECIPES_DEFAULT: [&str; 2] = ["recipes/*/recipe.yml", "*/recipe.yml"];
const COOKBOOK_RECIPES_DEFAULT: &str = "*/recipe.yml";

/// Lists the recipes and kits of a project. A broken recipe is listed with its error.
pub fn discover(root: &Root) -> Result<RecipeCatalog, Error> {
    Ok(RecipeCatalog {
        recipes: own_recipes(root)?,
        kits: kits(root)?,
    })
}

impl RecipeCatalog {
    /// Returns every recipe, the project's own first.
    pub fn all(&self) -> impl Iterator<Item = &RecipeListing> {
        let of_kits = self.kits.iter().flat_map(Kit::all);
        self.recipes.iter().chain(of_kits)
    }
}

impl Kit {
    pub fn all(&self) -> impl Iterator<Item = &RecipeListing> {
        let cooked = self.cookbooks.iter().flat_map(|cookbook| &cookbook.recipes);
        self.recipes.iter().chain(cooked)
    }
}

fn own_recipes(root: &Root) -> Result<Vec<RecipeListing>, Error> {
    let dir = RelPath::parse(RECIPES_DIR)?;
    if !root.is_dir(&dir)? {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in root.walk(&dir)? {
        let name = entry.path.file_name().unwrap_or_default();
        let is_manifest = matches!(name, "recipe.yml" | "recipe.yaml");
        // A single file beside the directories is a recipe as well.
        let is_single = entry.path.parent().as_ref() == Some(&dir)
            && (name.ends_with(".yml") || name.ends_with(".yaml"));
        if entry.kind == PathKind::File && (is_manifest || is_single) {
            files.push(entry.path);
        }
    }
    // A recipe inside a recipe's directory is a part of it, reached by its own path.
    files.sort();
    Ok(files
        .into_iter()
        .map(|file| list(root, file, &dir, &[]))
        .collect())
}

fn kits(root: &Root) -> Result<Vec<Kit>, Error> {
    let dir = RelPath::parse(KITS_DIR)?;
    if !root.is_dir(&dir)? {
        return Ok(Vec::new());
    }
    let mut kits = Vec::new();
    for entry in root.list(&dir)? {
        let file = entry.path.join(&RelPath::parse(KIT_FILE)?)?;
        if root.exists(&file)? {
            kits.push(read_kit(root, entry.path, &file)?);
        }
    }
    Ok(kits)
}

fn read_kit(root: &Root, dir: RelPath, file: &RelPath) -> Result<Kit, Error> {
    let name = dir.file_name().unwrap_or_default().to_owned();
    let text = root.read_text(file)?.unwrap_or_default();
    let (manifest, problem) = match parse_kit(&file.to_string(), &text) {
        Ok(manifest) => (manifest, None),
        Err(error) => (
            KitManifest {
                name: name.clone(),
                ..KitManifest::default()
            },
            Some(error),
        ),
    };
    let globs = or_default(&manifest.cookbooks, &[COOKBOOKS_DEFAULT]);
    let mut cookbooks = Vec::new();
    for file in matching(root, &dir, &globs, COOKBOOK_FILE)? {
        cookbooks.push(read_cookbook(root, &name, &file)?);
    }
    let globs = or_default(&manifest.recipes, &KIT_RECIPES_DEFAULT);
    let in_cookbook = |file: &RelPath| {
        cookbooks
            .iter()
            .any(|book: &Cookbook| file.is_within(&book.dir))
    };
    let mut recipes = Vec::new();
    for file in matching(root, &dir, &globs, load::RECIPE_FILE)? {
        if !in_cookbook(&file) {
            recipes.push(list(root, file, &dir, &[&name]));
        }
    }
    Ok(Kit {
        name,
        dir,
        manifest,
        cookbooks,
        recipes,
        problem,
    })
}

fn read_cookbook(root: &Root, kit: &str, file: &RelPath) -> Result<Cookbook, Error> {
    let dir = file.parent().unwrap_or_else(RelPath::root);
    let name = dir.file_name().unwrap_or_default().to_owned();
    let text = root.read_text(file)?.unwrap_or_default();
    let (manifest, problem) = match parse_cookbook(&file.to_string(), &text) {
        Ok(manifest) => (manifest, None),
        Err(error) => (super::CookbookManifest::default(), Some(error)),
    };
    let globs = or_default(&manifest.recipes, &[COOKBOOK_RECIPES_DEFAULT]);
    let mut recipes = Vec::new();
    for file in matching(root, &dir, &globs, load::RECIPE_FILE)? {
        recipes.push(list(root, file, &dir, &[kit, &name]));
    }
    Ok(Cookbook {
        name,
        description: manifest.description,
        defaults: manifest.defaults,
        recipes,
        problem,
        dir,
    })
}

fn or_default(given: &[String], default: &[&str]) -> Vec<String> {
    match given {
        [] => default.iter().map(|glob| (*glob).to_owned()).collect(),
        given => given.to_vec(),
    }
}

/// Finds the files that globs of a manifest mean; a glob that names a directory means the file in
/// it.
fn matching(
    root: &Root,
    dir: &RelPath,
    globs: &[String],
    file_name: &str,
) -> Result<Vec<RelPath>, Error> {
    let whole = |glob: &String| {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        match glob.ends_with(".yml") || glob.ends_with(".yaml") {
            true => glob.to_owned(),
            false => format!("{}/{file_name}", glob.trim_end_matches('/')),
        }
    };
    let globs: Vec<String> = globs.iter().map(whole).collect();
    let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
    let mut found = root.glob(dir, &globs)?;
    found.sort();
    found.dedup();
    Ok(found)
}

fn list(root: &Root, file: RelPath, dir: &RelPath, prefix: &[&str]) -> RecipeListing {
    let inside = file.strip_prefix(dir).unwrap_or_else(|| file.clone());
    let inside = inside.as_str();
    let bare = inside
        .strip_suffix("/recipe.yml")
        .or_else(|| inside.strip_suffix("/recipe.yaml"))
        .or_else(|| inside.strip_suffix(".yml"))
        .or_else(|| inside.strip_suffix(".yaml"))
        .unwrap_or(inside);
    // A recipe is called by its own name, in whichever folder of the kit it is.
    let bare = match prefix {
        [] => bare,
        _ => bare.rsplit('/').next().unwrap_or(bare),
    };
    let words: Vec<&str> = prefix.iter().copied().chain([bare]).collect();
    let loaded = load::load_inside(root, &file);
    let (description, version, problem) = match loaded {
        Ok(recipe) => (recipe.manifest.description, recipe.manifest.version, None),
        Err(error) => (None, None, Some(error)),
    };
    RecipeListing {
        id: words.join("/"),
        name: bare.rsplit('/').next().unwrap_or(bare).to_owned(),
        description,
        version,
        path: file,
        problem,
    }
}
