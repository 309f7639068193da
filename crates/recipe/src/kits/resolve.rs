//! From the words of a command line to a recipe.

use std::path::{Path, PathBuf};

use diagnostics::nearest;
use workspace::{RelPath, Root};

use super::RECIPES_DIR;
use super::catalog::{Cookbook, Kit, RecipeCatalog, RecipeListing, discover};
use crate::error::{Error, RecipeErrorKind};

/// The recipe that was found, and the number of words that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedRecipe {
    /// The recipe's file or directory, to be given to [`crate::load`].
    pub path: PathBuf,
    /// Number of words that name the recipe; the rest are values.
    pub words: usize,
}

/// Finds the recipe that `words` begin with: a path, a recipe of the project, or
/// `kit [cookbook] [recipe]`, in one word with `/` or in several.
pub fn resolve(root: &Root, cwd: &Path, words: &[String]) -> Result<ResolvedRecipe, Error> {
    let Some(first) = words.first() else {
        return Err(Error::new(RecipeErrorKind::Usage, "no recipe is named"));
    };
    let as_path = ResolvedRecipe {
        path: cwd.join(first),
        words: 1,
    };
    if is_path(first) {
        return Ok(as_path);
    }
    if let Some(path) = own_recipe(root, first)? {
        return Ok(ResolvedRecipe { path, words: 1 });
    }
    let catalog = discover(root)?;
    let split: Vec<&str> = first.split('/').filter(|word| !word.is_empty()).collect();
    let found = match split.len() {
        // `kit/recipe` says everything in one word.
        2.. => by_words(&catalog, &split, RemainingWords::Values).map(|(listing, _)| (listing, 1)),
        _ => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            by_words(&catalog, &words, RemainingWords::Words)
        }
    };
    if let Some((listing, words)) = found {
        return Ok(ResolvedRecipe {
            path: root.path().join(listing.path.as_path()),
            words,
        });
    }
    let is_recipe = workspace::fs::exists(&as_path.path.join(crate::load::RECIPE_FILE));
    if is_recipe {
        return Ok(as_path);
    }
    by_name_alone(&catalog, first, root)
}

/// Finds the project's own recipe with this name, without reading any other.
fn own_recipe(root: &Root, name: &str) -> Result<Option<PathBuf>, Error> {
    for ending in ["", ".yml", ".yaml"] {
        let Ok(path) = RelPath::parse(&format!("{RECIPES_DIR}/{name}{ending}")) else {
            return Ok(None);
        };
        if let Some(file) = crate::load::find_file(root, &path)? {
            return Ok(Some(root.path().join(file.as_path())));
        }
    }
    Ok(None)
}

fn is_path(word: &str) -> bool {
    word.starts_with("./")
        || word.starts_with("../")
        || word.starts_with('/')
        || matches!(word, "." | "..")
        || word.ends_with(".yml")
        || word.ends_with(".yaml")
}

/// The meaning of the words after the first: they may still name the recipe, or they are values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RemainingWords {
    Words,
    Values,
}

fn by_words<'c>(
    catalog: &'c RecipeCatalog,
    words: &[&str],
    rest: RemainingWords,
) -> Option<(&'c RecipeListing, usize)> {
    let whole = words.join("/");
    let own = catalog.recipes.iter().find(|listing| match rest {
        RemainingWords::Values => listing.id == whole,
        RemainingWords::Words => listing.id == words[0],
    });
    if let Some(listing) = own {
        return Some((
            listing,
            if rest == RemainingWords::Values {
                words.len()
            } else {
                1
            },
        ));
    }
    let kit = catalog.kits.iter().find(|kit| is_named(kit, words[0]))?;
    in_kit(kit, &words[1..])
        .map(|(listing, used)| (listing, used + 1))
        .filter(|(_, used)| rest == RemainingWords::Words || *used == words.len())
}

fn is_named(kit: &Kit, word: &str) -> bool {
    kit.name == word || kit.manifest.short_name() == word
}

fn in_kit<'c>(kit: &'c Kit, words: &[&str]) -> Option<(&'c RecipeListing, usize)> {
    let cookbook = |name: &str| kit.cookbooks.iter().find(|cookbook| cookbook.name == name);
    if let Some(word) = words.first() {
        if let Some(found) = cookbook(word) {
            return in_cookbook(found, &words[1..]).map(|(listing, used)| (listing, used + 1));
        }
        if let Some(listing) = kit.recipes.iter().find(|listing| listing.name == *word) {
            return Some((listing, 1));
        }
        if let Some(default) = kit.manifest.defaults.cookbook.as_deref().and_then(cookbook)
            && let Some(listing) = default.recipes.iter().find(|listing| listing.name == *word)
        {
            return Some((listing, 1));
        }
    }
    let defaults = &kit.manifest.defaults;
    let listing = match (
        defaults.cookbook.as_deref().and_then(cookbook),
        &defaults.recipe,
    ) {
        (Some(cookbook), Some(name)) => cookbook.recipes.iter().find(|found| found.name == *name),
        (Some(cookbook), None) => in_cookbook(cookbook, &[]).map(|(listing, _)| listing),
        (None, Some(name)) => kit.all().find(|listing| listing.name == *name),
        (None, None) => None,
    };
    listing.map(|listing| (listing, 0))
}

fn in_cookbook<'c>(cookbook: &'c Cookbook, words: &[&str]) -> Option<(&'c RecipeListing, usize)> {
    let named = |name: &str| cookbook.recipes.iter().find(|listing| listing.name == name);
    if let Some(listing) = words.first().and_then(|word| named(word)) {
        return Some((listing, 1));
    }
    let default = cookbook.defaults.recipe.as_deref().and_then(named);
    let only = match &cookbook.recipes[..] {
        [only] => Some(only),
        _ => None,
    };
    default.or(only).map(|listing| (listing, 0))
}

/// Finds a recipe by its own name, if only one recipe of all kits has it.
fn by_name_alone(
    catalog: &RecipeCatalog,
    word: &str,
    root: &Root,
) -> Result<ResolvedRecipe, Error> {
    let named: Vec<&RecipeListing> = catalog
        .all()
        .filter(|listing| listing.name == word)
        .collect();
    match named[..] {
        [only] => Ok(ResolvedRecipe {
            path: root.path().join(only.path.as_path()),
            words: 1,
        }),
        [] => Err(not_found(catalog, word)),
        _ => {
            let ids: Vec<&str> = named.iter().map(|listing| listing.id.as_str()).collect();
            let message = format!("several recipes are named `{word}`");
            Err(Error::new(RecipeErrorKind::NotFound, message)
                .hint(format!("say which: {}", ids.join(", "))))
        }
    }
}

fn not_found(catalog: &RecipeCatalog, word: &str) -> Error {
    let kit = catalog
        .kits
        .iter()
        .find(|kit| is_named(kit, word.split('/').next().unwrap_or(word)));
    if let Some(kit) = kit {
        let ids: Vec<&str> = kit.all().map(|listing| listing.id.as_str()).collect();
        let message = format!("`{word}` names a kit, not a recipe of it");
        let hint = match ids.is_empty() {
            true => "the kit has no recipes".to_owned(),
            false => format!("its recipes: {}", ids.join(", ")),
        };
        return Error::new(RecipeErrorKind::NotFound, message).hint(hint);
    }
    let error = Error::new(
        RecipeErrorKind::NotFound,
        format!("there is no recipe `{word}`"),
    );
    let known: Vec<&str> = catalog
        .all()
        .flat_map(|l| [l.id.as_str(), l.name.as_str()])
        .collect();
    // hygen's users name the generator first: `comp` of `hygen/comp/new`.
    let holds = catalog
        .all()
        .find(|listing| listing.id.split('/').any(|part| part == word));
    let near = nearest(word, known.iter().copied()).map(str::to_owned);
    match near.or_else(|| holds.map(|listing| listing.id.clone())) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`drawloom recipe list` shows what there is; a path needs `./`"),
    }
}
