//! Recipes run straight from a git repository, without becoming part of the project.

use recipe::RECIPE_FILE;
use workspace::{RelPath, Root, fs};

use crate::recipes::FoundRecipe;
use crate::{AppErrorCode, CommandCancel, Error, Project};

/// Folders of a repository in which a recipe may be, beginning with its root.
const PLACES: [&str; 3] = ["", "recipes/", ".drawloom/recipes/"];

/// A recipe of a repository, with the folder that holds it while it runs.
pub struct FetchedRecipe {
    pub found: FoundRecipe,
    /// Removed when dropped.
    pub scratch: fs::TempDir,
}

/// Returns true if a word names a repository rather than a recipe.
pub fn is_address(word: &str) -> bool {
    word.starts_with("gh:") || crate::kits::is_address(word)
}

/// Fetches a repository and finds the recipe in it: the one at its root, or the one that the next word
/// names. `#REV` after the address is a branch, tag or commit; `gh:owner/name` is one of GitHub's.
pub fn fetch(
    project: &Project,
    words: &[String],
    cancel: &CommandCancel,
) -> Result<FetchedRecipe, Error> {
    let word = words.first().map(String::as_str).unwrap_or_default();
    let (address, rev) = address_of(word);
    let scratch = fs::scratch_dir()?;
    let place = scratch.path().join("repository");
    let git = vcs::GitProgram::at(&place).cancel(cancel.clone());
    git.fetch_at(&address, rev)?;
    let root = Root::open(&place)?;
    let (dir, used) = recipe_in(&root, words.get(1).map(String::as_str), &address)?;
    let mut recipe = recipe::load(&project.root, &place.join(dir.as_path()))?;
    // Records are kept under the address: the scratch folder has another name each time.
    recipe.id = match dir.is_root() {
        true => address,
        false => format!("{address}/{dir}"),
    };
    let found = FoundRecipe {
        recipe,
        words: used,
    };
    Ok(FetchedRecipe { found, scratch })
}

/// Splits a word into the address of a repository and the revision behind `#`.
fn address_of(word: &str) -> (String, Option<&str>) {
    let (address, rev) = match word.split_once('#') {
        Some((address, rev)) => (address, Some(rev)),
        None => (word, None),
    };
    let address = match address.strip_prefix("gh:") {
        Some(name) => format!("https://github.com/{name}.git"),
        None => address.to_owned(),
    };
    (address, rev)
}

/// Finds the folder of the recipe, and the number of words of the command line that name it.
fn recipe_in(root: &Root, name: Option<&str>, address: &str) -> Result<(RelPath, usize), Error> {
    let has_recipe = |dir: &RelPath| -> Result<bool, Error> {
        Ok(root.exists(&dir.join(&RelPath::parse(RECIPE_FILE)?)?)?)
    };
    if let Some(name) = name.filter(|name| !name.starts_with('-')) {
        for place in PLACES {
            if let Ok(dir) = RelPath::parse(&format!("{place}{name}"))
                && has_recipe(&dir)?
            {
                return Ok((dir, 2));
            }
        }
    }
    if has_recipe(&RelPath::root())? {
        return Ok((RelPath::root(), 1));
    }
    let files = root.walk(&RelPath::root())?.into_iter();
    let recipes = files.filter(|entry| entry.path.file_name() == Some(RECIPE_FILE));
    let names: Vec<String> = recipes
        .filter_map(|entry| entry.path.parent())
        .map(|dir| dir.to_string())
        .collect();
    let message = match name {
        Some(name) => format!("{address} has no recipe `{name}`"),
        None => format!("{address} has no {RECIPE_FILE} at its root"),
    };
    let hint = match names.is_empty() {
        true => "it has no recipes".to_owned(),
        false => format!("name one after the address: {}", names.join(", ")),
    };
    Err(Error::new(AppErrorCode::NotFound, message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::address_of;

    #[test]
    fn an_address_may_be_short_and_have_a_revision() {
        for (word, address, rev) in [
            ("gh:octo/kit", "https://github.com/octo/kit.git", None),
            (
                "gh:octo/kit#v1.2",
                "https://github.com/octo/kit.git",
                Some("v1.2"),
            ),
            (
                "https://host/a.git#main",
                "https://host/a.git",
                Some("main"),
            ),
            ("file:///srv/kit", "file:///srv/kit", None),
        ] {
            assert_eq!(address_of(word), (address.to_owned(), rev));
        }
    }
}
