//! Loads a recipe from disk: its manifest, the directory of its templates, and its origin.

use std::path::Path;
use std::rc::Rc;

use indexmap::IndexMap;
use workspace::{PathKind, RelPath, Root};

use crate::error::{Diagnostic, Error, RecipeErrorKind};
use crate::kits;
use crate::manifest::{self, RecipeManifest, RecipeVariable};
use crate::session::with_prompts;

/// The file that makes a directory a recipe.
pub const RECIPE_FILE: &str = "recipe.yml";
const RECIPE_FILES: [&str; 2] = [RECIPE_FILE, "recipe.yaml"];

/// Origin of a recipe, which decides if it must be trusted before it runs commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipeOrigin {
    /// Part of the project, and thus the user's own.
    Inside,
    /// From a kit, or from a path outside the project.
    Outside { kit: Option<String> },
}

/// A loaded recipe.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub manifest: RecipeManifest,
    pub origin: RecipeOrigin,
    /// Names the recipe in records: its path without the file's name.
    pub id: String,
    /// Name of the manifest in messages.
    pub file: String,
    pub(crate) text: String,
    pub(crate) base: Rc<Root>,
    /// The recipe's directory, seen from `base`.
    pub(crate) dir: RelPath,
}

/// Loads a recipe from its directory or its file.
pub fn load(root: &Root, path: &Path) -> Result<Recipe, Error> {
    whole(load_with_problems(root, path)?)
}

/// Makes one error of everything that is wrong with a recipe's manifest, in the order of its lines.
pub(crate) fn sorted(mut problems: Vec<Diagnostic>) -> Error {
    problems.sort_by_key(|problem| {
        let line = problem.place.map(|place| place.line);
        (problem.file.clone(), line)
    });
    problems.dedup();
    Error::of(RecipeErrorKind::Manifest, problems)
}

/// A recipe, as far as its manifest can be read, and the problems found in it.
pub(crate) type PartialLoad = (Option<Recipe>, Vec<Diagnostic>);

pub(crate) fn load_with_problems(root: &Root, path: &Path) -> Result<PartialLoad, Error> {
    let path = workspace::fs::canonical(path).map_err(|_| {
        let message = format!("there is no recipe at `{}`", path.display());
        Error::new(RecipeErrorKind::NotFound, message)
            .hint("`drawloom recipe list` shows what there is")
    })?;
    if let Ok(inside) = path.strip_prefix(root.path()) {
        let inside = RelPath::parse(&inside.to_string_lossy()).or_else(|_| RelPath::parse("."))?;
        return open_inside(root, &inside);
    }
    let (dir, name) = match workspace::fs::is_dir(&path) {
        true => (path.as_path(), None),
        false => (path.parent().unwrap_or(&path), path.file_name()),
    };
    let base = Rc::new(Root::open(dir)?);
    let at = match name {
        Some(name) => RelPath::parse(&name.to_string_lossy())?,
        None => RelPath::root(),
    };
    let shown = |file: &RelPath| dir.join(file.as_path()).display().to_string();
    let origin = RecipeOrigin::Outside { kit: None };
    open(
        RecipeSource {
            base,
            at,
            origin,
            id: path.display().to_string(),
        },
        &shown,
    )
}

/// Loads a recipe of the project or of one of its kits by its path in the project.
pub(crate) fn load_inside(root: &Root, path: &RelPath) -> Result<Recipe, Error> {
    whole(open_inside(root, path)?)
}

/// Returns the recipe, or an error if anything is wrong with it.
fn whole(partly: PartialLoad) -> Result<Recipe, Error> {
    match partly {
        (Some(recipe), problems) if problems.is_empty() => Ok(recipe),
        (_, problems) => Err(sorted(problems)),
    }
}

fn open_inside(root: &Root, path: &RelPath) -> Result<PartialLoad, Error> {
    let base = Root::open(root.path())?;
    let id = without_file(path);
    let shown = |file: &RelPath| file.to_string();
    let Some((kit, kit_dir)) = kits::kit_of(path) else {
        let origin = RecipeOrigin::Inside;
        return open(
            RecipeSource {
                base: Rc::new(base),
                at: path.clone(),
                origin,
                id,
            },
            &shown,
        );
    };
    // A kit's templates see the kit and nothing else of the project.
    let base = Root::open(&root.path().join(kit_dir.as_path()))?;
    let at = path.strip_prefix(&kit_dir).unwrap_or_else(RelPath::root);
    let shown = |file: &RelPath| format!("{kit_dir}/{file}");
    let origin = RecipeOrigin::Outside { kit: Some(kit) };
    open(
        RecipeSource {
            base: Rc::new(base),
            at,
            origin,
            id,
        },
        &shown,
    )
}

impl Recipe {
    /// Returns the name, for messages, of a file below the recipe's base directory.
    pub(crate) fn shown(&self, path: &RelPath) -> String {
        let manifest = self.manifest_path().to_string();
        let prefix = self.file.strip_suffix(&manifest).unwrap_or("");
        format!("{prefix}{path}")
    }

    fn manifest_path(&self) -> RelPath {
        let name = self.file.rsplit('/').next().unwrap_or(RECIPE_FILE);
        let name = RelPath::parse(name).unwrap_or_else(|_| RelPath::root());
        self.dir.join(&name).unwrap_or(name)
    }

    /// Returns every variable that a command line may give: the declared ones, and those of
    /// `prompt` steps.
    pub fn variables(&self) -> IndexMap<String, RecipeVariable> {
        with_prompts(self)
    }

    pub fn is_outside(&self) -> bool {
        matches!(self.origin, RecipeOrigin::Outside { .. })
    }
}

struct RecipeSource {
    base: Rc<Root>,
    at: RelPath,
    origin: RecipeOrigin,
    id: String,
}

fn open(source: RecipeSource, shown: &dyn Fn(&RelPath) -> String) -> Result<PartialLoad, Error> {
    let RecipeSource {
        base,
        at,
        origin,
        id,
    } = source;
    let file = find_file(&base, &at)?.ok_or_else(|| {
        let message = format!("`{}` has no {RECIPE_FILE}", shown(&at));
        Error::new(RecipeErrorKind::NotFound, message)
    })?;
    let label = shown(&file);
    let Some(text) = base.read_text(&file)? else {
        return Err(Error::new(
            RecipeErrorKind::NotFound,
            format!("there is no `{label}`"),
        ));
    };
    let (manifest, problems) = manifest::parse_all(&label, &text)?;
    let dir = file.parent().unwrap_or_else(RelPath::root);
    let recipe = manifest.map(|manifest| Recipe {
        manifest,
        origin,
        id,
        file: label,
        text,
        base,
        dir,
    });
    Ok((recipe, problems))
}

/// Finds the manifest at a path: the file itself, or the one in the directory.
pub(crate) fn find_file(base: &Root, at: &RelPath) -> Result<Option<RelPath>, Error> {
    if !base.is_dir(at)? {
        let is_file = base.kind(at)?.is_some_and(|kind| kind != PathKind::Other);
        return Ok(is_file.then(|| at.clone()));
    }
    for name in RECIPE_FILES {
        let file = at.join(&RelPath::parse(name)?)?;
        if base.exists(&file)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn without_file(path: &RelPath) -> String {
    let text = path.as_str();
    let bare = RECIPE_FILES
        .iter()
        .find_map(|name| text.strip_suffix(&format!("/{name}")));
    bare.unwrap_or(text).to_owned()
}
