//! Recipes found by name: the project's own, those of its kits, and those of further folders.

use std::path::{Path, PathBuf};

use recipe::kits::{self, KitLock, RecipeCatalog, RecipeListing};
use recipe::{CommandState, RECIPE_FILE, Recipe, RecipeOrigin, UnfinishedRun};
use workspace::{ChangeSet, RelPath, Root, fs};

use crate::{AppErrorCode, Error, Project};

/// A recipe, and how many words of the command line it took to name it.
#[derive(Debug)]
pub struct FoundRecipe {
    pub recipe: Recipe,
    pub words: usize,
}

/// Finds the recipe that `words` begin with; paths among them are relative to `cwd`.
pub fn find(project: &Project, cwd: &Path, words: &[String]) -> Result<FoundRecipe, Error> {
    match find_path(project, cwd, words) {
        Ok((path, words)) => Ok(FoundRecipe {
            recipe: recipe::load(&project.root, &path)?,
            words,
        }),
        Err(error) => match users_own(project, words.first())? {
            Some(recipe) => Ok(FoundRecipe { recipe, words: 1 }),
            None => Err(told_of_lock(project, words, error)),
        },
    }
}

/// Prefix of a user's own recipe in the records.
const USERS: &str = "user/";

/// Finds the user's own recipe of this name. It is trusted as the project's own are, because only
/// the user can put it there.
fn users_own(project: &Project, name: Option<&String>) -> Result<Option<Recipe>, Error> {
    let Some((folder, name)) = project.user_recipes.as_ref().zip(name) else {
        return Ok(None);
    };
    if RelPath::parse(name).is_err() || !fs::exists(&folder.join(name).join(RECIPE_FILE)) {
        return Ok(None);
    }
    let mut recipe = recipe::load(&project.root, &folder.join(name))?;
    recipe.origin = RecipeOrigin::Inside;
    recipe.id = format!("{USERS}{name}");
    Ok(Some(recipe))
}

/// Explains a missing recipe by its kit, if the kit is locked and not there.
fn told_of_lock(project: &Project, words: &[String], error: Error) -> Error {
    let first = words.first().map(String::as_str).unwrap_or_default();
    let kit = first.split('/').next().unwrap_or_default();
    let is_locked = KitLock::read(&project.root).is_ok_and(|lock| lock.kits.contains_key(kit));
    let is_there = fs::is_dir(&project.folder().join(kits::KITS_DIR).join(kit));
    match is_locked && !is_there {
        true => Error::new(
            AppErrorCode::NotFound,
            format!(
                "the kit `{kit}` is in {} and not in {}",
                kits::LOCK_FILE,
                kits::KITS_DIR
            ),
        )
        .hint("`drawloom kit restore` fetches it"),
        false => error,
    }
}

/// Finds the recipe that a workflow names: one of the project, of a kit or of the user. The text of a
/// workflow may come from others, and the name from data, so no other folder of the machine is looked
/// at: what is said about it would tell what is there.
pub(crate) fn find_named(project: &Project, name: &str) -> Result<FoundRecipe, Error> {
    let within = name.strip_prefix("./").unwrap_or(name);
    if RelPath::parse(within).is_err() {
        let message = format!("`{name}` is no recipe of the project");
        return Err(Error::new(AppErrorCode::NotFound, message)
            .hint("a workflow names a recipe, or a path within the project"));
    }
    find(project, project.folder(), &[name.to_owned()])
}

/// Finds the path of a recipe, and the number of words that name it.
fn find_path(project: &Project, cwd: &Path, words: &[String]) -> Result<(PathBuf, usize), Error> {
    let further = words
        .first()
        .and_then(|name| in_further_folder(project, name));
    match further {
        Some(path) => Ok((path, 1)),
        None => {
            let resolved = kits::resolve(&project.root, cwd, words)?;
            Ok((resolved.path, resolved.words))
        }
    }
}

/// Lists everything that can be run by name, broken recipes included.
pub fn catalog(project: &Project) -> Result<RecipeCatalog, Error> {
    let mut catalog = kits::discover(&project.root)?;
    for dir in &project.settings.recipes.dirs {
        catalog.recipes.extend(listed(project, dir)?);
    }
    let taken: Vec<String> = catalog.all().map(|listing| listing.id.clone()).collect();
    let own = users_list(project)?.into_iter();
    catalog
        .recipes
        .extend(own.filter(|listing| !taken.contains(&listing.id)));
    Ok(catalog)
}

/// Lists the user's own recipes.
fn users_list(project: &Project) -> Result<Vec<RecipeListing>, Error> {
    let folder = project
        .user_recipes
        .as_ref()
        .filter(|folder| fs::is_dir(folder));
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in Root::open(folder)?.list(&RelPath::root())? {
        let name = entry.path.as_str().to_owned();
        let (recipe, problem) = match users_own(project, Some(&name)) {
            Ok(Some(recipe)) => (Some(recipe), None),
            Ok(None) => continue,
            Err(Error::Recipe(error)) => (None, Some(error)),
            Err(error) => return Err(error),
        };
        let manifest = recipe.map(|recipe| recipe.manifest);
        found.push(RecipeListing {
            id: name.clone(),
            description: manifest.as_ref().and_then(|read| read.description.clone()),
            version: manifest.and_then(|read| read.version),
            path: RelPath::parse(&format!("{USERS}{name}/{RECIPE_FILE}"))?,
            name,
            problem,
        });
    }
    Ok(found)
}

/// Writes the first files of a recipe of the project, an example or one made of a file; their paths.
pub fn begin(project: &Project, name: &str, from: Option<&Path>) -> Result<Vec<String>, Error> {
    let folder = RelPath::parse(&format!("{}/{name}", kits::RECIPES_DIR))?;
    if project.root.kind(&folder)?.is_some() {
        let message = format!("{folder} exists already");
        return Err(Error::new(AppErrorCode::File, message)
            .hint("choose another name, or edit what is there"));
    }
    let files = match from {
        None => recipe::scaffold(name),
        Some(path) => {
            if !fs::exists(path) {
                let message = format!("there is no file {}", path.display());
                return Err(Error::new(AppErrorCode::File, message).hint(
                    "name a file of the project; a path is taken from the folder you are in",
                ));
            }
            let inside = fs::canonical(path)?;
            let inside = inside.strip_prefix(project.folder()).map_err(|_| {
                let message = format!("{} is not in the project", path.display());
                Error::new(AppErrorCode::File, message).hint("a recipe writes files of the project")
            })?;
            let inside = RelPath::parse(&inside.to_string_lossy())?;
            let text = project.root.read_text(&inside)?.unwrap_or_default();
            recipe::scaffold_from(name, &inside, &text)
        }
    };
    let mut changes = ChangeSet::new();
    let mut written = Vec::new();
    for (file, text) in files {
        let path = folder.join(&RelPath::parse(&file)?)?;
        written.push(path.to_string());
        changes.write(path, text);
    }
    project.root.apply(&changes)?;
    Ok(written)
}

/// Finds a recipe by name in the further folders: a folder with a manifest, or a manifest beside
/// the folders.
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

fn listed(project: &Project, dir: &Path) -> Result<Vec<RecipeListing>, Error> {
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

fn listing(project: &Project, dir: &RelPath, path: RelPath) -> RecipeListing {
    let folder = path.parent().unwrap_or_else(RelPath::root);
    let id = folder.strip_prefix(dir).unwrap_or_else(|| folder.clone());
    let (description, version, problem) =
        match recipe::load(&project.root, &project.folder().join(path.as_path())) {
            Ok(recipe) => (recipe.manifest.description, recipe.manifest.version, None),
            Err(error) => (None, None, Some(error)),
        };
    let name = id.file_name().unwrap_or_default().to_owned();
    RecipeListing {
        id: id.as_str().to_owned(),
        name,
        description,
        version,
        path,
        problem,
    }
}

/// Describes in one sentence how far a run that was killed had come.
pub fn cut_off_sentence(run: &UnfinishedRun) -> String {
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

/// Returns the commands that resume or undo it.
pub fn settle_advice(run: &UnfinishedRun) -> &'static str {
    match run.can_resume() {
        true => {
            "`drawloom run --resume` runs what is left, `drawloom run --undo` puts the files back"
        }
        false => "`drawloom run --undo` puts the files back; then run it again",
    }
}

/// Finds the recipe of a run that was killed.
pub fn of_unfinished(project: &Project, run: &UnfinishedRun) -> Result<Recipe, Error> {
    Ok(recipe::load(
        &project.root,
        &project.folder().join(run.id()),
    )?)
}

/// Reads a recipe and everything it names, and reports what is wrong.
pub fn check(project: &Project, cwd: &Path, name: &str) -> Result<(), Error> {
    let (path, _) = find_path(project, cwd, &[name.to_owned()])?;
    Ok(recipe::validate(&path, &project.root)?)
}
