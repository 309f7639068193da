//! Recipes found by name: the project's own, those of its kits, and those of further folders.

use std::path::{Path, PathBuf};

use recipe::kits::{self, Catalog, Listing};
use recipe::{CommandState, Recipe, Unfinished};
use workspace::{RelPath, fs};

use crate::{Error, Project};

/// A recipe, and how many words of the command line it took to name it.
#[derive(Debug)]
pub struct Found {
    pub recipe: Recipe,
    pub words: usize,
}

/// The recipe that `words` begin with; paths among them are relative to `cwd`.
pub fn find(project: &Project, cwd: &Path, words: &[String]) -> Result<Found, Error> {
    let further = words
        .first()
        .and_then(|name| in_further_folder(project, name));
    let (path, words) = match further {
        Some(path) => (path, 1),
        None => {
            let resolved = kits::resolve(&project.root, cwd, words)?;
            (resolved.path, resolved.words)
        }
    };
    Ok(Found {
        recipe: recipe::load(&project.root, &path)?,
        words,
    })
}

/// Everything that can be run by name, broken recipes included.
pub fn catalog(project: &Project) -> Result<Catalog, Error> {
    let mut catalog = kits::discover(&project.root)?;
    for dir in &project.settings.recipes.dirs {
        catalog.recipes.extend(listed(project, dir)?);
    }
    Ok(catalog)
}

/// A name stands for a folder with a manifest, or for a manifest beside the folders.
fn in_further_folder(project: &Project, name: &str) -> Option<PathBuf> {
    RelPath::parse(name).ok()?;
    let dirs = project.settings.recipes.dirs.iter();
    let candidates = dirs.flat_map(|dir| {
        let base = project.folder().join(dir);
        ["/recipe.yml", "/recipe.yaml", ".yml", ".yaml"]
            .map(|ending| base.join(format!("{name}{ending}")))
    });
    candidates.into_iter().find(|path| fs::exists(path))
}

fn listed(project: &Project, dir: &Path) -> Result<Vec<Listing>, Error> {
    let dir = RelPath::parse(&dir.to_string_lossy())?;
    let mut found = Vec::new();
    for entry in project.root.walk(&dir)? {
        let name = entry.path.file_name().unwrap_or_default();
        if matches!(name, "recipe.yml" | "recipe.yaml") {
            found.push(listing(project, &dir, entry.path));
        }
    }
    Ok(found)
}

fn listing(project: &Project, dir: &RelPath, path: RelPath) -> Listing {
    let folder = path.parent().unwrap_or_else(RelPath::root);
    let id = folder.strip_prefix(dir).unwrap_or_else(|| folder.clone());
    let (description, version, problem) =
        match recipe::load(&project.root, &project.folder().join(path.as_path())) {
            Ok(recipe) => (recipe.manifest.description, recipe.manifest.version, None),
            Err(error) => (None, None, Some(error)),
        };
    let name = id.file_name().unwrap_or_default().to_owned();
    Listing {
        id: id.as_str().to_owned(),
        name,
        description,
        version,
        path,
        problem,
    }
}

/// What is half done of a run that was killed, in one sentence.
pub fn cut_off_sentence(run: &Unfinished) -> String {
    let files = run.files().count();
    let written = match files {
        0 => "no file was written".to_owned(),
        1 => "1 file is written".to_owned(),
        count => format!("{count} files are written"),
    };
    let of = |wanted: CommandState| {
        let commands = run.commands().iter().filter(|one| one.state == wanted);
        commands
            .map(|one| format!("`{}`", one.command))
            .collect::<Vec<_>>()
    };
    let told = [
        ("done", of(CommandState::Done)),
        ("cut off", of(CommandState::Interrupted)),
        ("failed", of(CommandState::Failed)),
        ("not started", of(CommandState::NotStarted)),
    ];
    let told = told.iter().filter(|(_, commands)| !commands.is_empty());
    let told: Vec<String> = told
        .map(|(word, commands)| format!("{word}: {}", commands.join(", ")))
        .collect();
    format!(
        "`{}` was killed: {written}; {}",
        run.command(),
        told.join("; ")
    )
}

/// The commands that settle it.
pub fn settle_advice(run: &Unfinished) -> &'static str {
    match run.can_resume() {
        true => {
            "`drawloom run --resume` runs what is left, `drawloom run --undo` puts the files back"
        }
        false => "`drawloom run --undo` puts the files back; then run it again",
    }
}

/// The recipe of a run that was killed.
pub fn of_unfinished(project: &Project, run: &Unfinished) -> Result<Recipe, Error> {
    Ok(recipe::load(
        &project.root,
        &project.folder().join(run.id()),
    )?)
}

/// Reads a recipe and everything it names, and reports what is wrong.
pub fn check(project: &Project, cwd: &Path, name: &str) -> Result<(), Error> {
    let found = find(project, cwd, &[name.to_owned()])?;
    Ok(recipe::validate(&found.recipe, &project.root)?)
}
