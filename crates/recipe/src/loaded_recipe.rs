//! A recipe ready to run: its files, its engine, and the templates read so far.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use expr::JsObject;
use sha2::{Digest, Sha256};
use template::{CompiledTemplate, TemplateLayout};
use workspace::{RelPath, Root};

use crate::error::{Error, FileSpan, RecipeErrorKind};
use crate::evaluate::{AnswerValues, EngineSettings, EvalInputs, SourceText, TextEvaluator};
use crate::file_finder::FileFinder;
use crate::frontmatter::{self, Frontmatter};
use crate::kits;
use crate::load::{self, Recipe};

/// One recipe of a run.
pub(crate) struct LoadedRecipe {
    pub(crate) recipe: Rc<Recipe>,
    /// The recipe, or one that calls it, comes from outside the project: its commands need trust.
    pub(crate) is_foreign: bool,
    pub(crate) files: FileFinder,
    pub(crate) evaluator: TextEvaluator,
    templates: RefCell<HashMap<RelPath, Rc<TemplateFile>>>,
}

/// A template file, taken apart and compiled once.
pub(crate) struct TemplateFile {
    /// Its name in messages.
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) frontmatter: Frontmatter,
    pub(crate) body: CompiledTemplate,
    pub(crate) executable: bool,
    pub(crate) hash: String,
}

/// The recipes of a run, each loaded only once for all rounds.
pub(crate) struct RecipeLibrary {
    root: Root,
    settings: EngineSettings,
    /// By file, and by whether a recipe from outside calls it.
    units: RefCell<HashMap<(String, bool), Rc<LoadedRecipe>>>,
}

impl RecipeLibrary {
    pub(crate) fn new(root: &Root, settings: EngineSettings) -> Result<Self, Error> {
        let root = Root::open(root.path())?;
        Ok(Self {
            root,
            settings,
            units: RefCell::default(),
        })
    }

    /// Loads the unit of a recipe that a person calls.
    pub(crate) fn unit(&self, recipe: &Rc<Recipe>) -> Result<Rc<LoadedRecipe>, Error> {
        self.unit_for(recipe, recipe.is_outside())
    }

    fn unit_for(&self, recipe: &Rc<Recipe>, is_foreign: bool) -> Result<Rc<LoadedRecipe>, Error> {
        let key = (recipe.file.clone(), is_foreign);
        if let Some(unit) = self.units.borrow().get(&key) {
            return Ok(unit.clone());
        }
        let files = FileFinder::of(recipe)?;
        let evaluator = TextEvaluator::new(&files, self.settings);
        let templates = RefCell::default();
        let unit = Rc::new(LoadedRecipe {
            recipe: recipe.clone(),
            is_foreign,
            files,
            evaluator,
            templates,
        });
        self.units.borrow_mut().insert(key, unit.clone());
        Ok(unit)
    }

    /// Loads the recipe that a step of another recipe names: beside it, in its kit, or by name.
    /// Called by a recipe from outside, it has no more permission than its caller, who chooses its
    /// values.
    pub(crate) fn sub(&self, from: &LoadedRecipe, name: &str) -> Result<Rc<LoadedRecipe>, Error> {
        let base = from.files.base();
        for candidate in from.sub_candidates(name) {
            let Some(file) = load::find_file(base, &candidate)? else {
                continue;
            };
            let path = base.path().join(file.as_path());
            return self.called(from, &path);
        }
        let resolved = kits::resolve(&self.root, self.root.path(), &[name.to_owned()])?;
        self.called(from, &resolved.path)
    }

    fn called(&self, from: &LoadedRecipe, path: &Path) -> Result<Rc<LoadedRecipe>, Error> {
        let recipe = Rc::new(load::load(&self.root, path)?);
        let is_foreign = from.is_foreign || recipe.is_outside();
        self.unit_for(&recipe, is_foreign)
    }
}

impl LoadedRecipe {
    /// Returns the manifest as the file that its texts are written in.
    pub(crate) fn site(&self) -> SourceText<'_> {
        SourceText {
            file: &self.recipe.file,
            source: &self.recipe.text,
        }
    }

    /// Makes an error at a text of the manifest.
    pub(crate) fn error(
        &self,
        kind: RecipeErrorKind,
        place: FileSpan,
        message: impl Into<String>,
    ) -> Error {
        Error::new(kind, message).at(&self.recipe.file, &self.recipe.text, place)
    }

    /// Makes functions of the helpers that the manifest declares. Each sees those before it and its
    /// own parameters, no variables.
    pub(crate) fn helpers(&self) -> Result<JsObject, Error> {
        let mut helpers = JsObject::new();
        for (name, text) in &self.recipe.manifest.helpers {
            let over = EvalInputs {
                state: &helpers,
                answers: &AnswerValues::default(),
            };
            let (value, _) = self.evaluator.expression(self.site(), text, over)?;
            if !value.is_callable() {
                let message = format!("the helper `{name}` is not a function");
                let error = self.error(RecipeErrorKind::Manifest, text.place, message);
                return Err(error.hint("write it with an arrow: `text => text.toUpperCase()`"));
            }
            helpers.insert(name.as_str(), value);
        }
        Ok(helpers)
    }

    /// Reads and compiles a template file, once.
    pub(crate) fn template(&self, path: &RelPath) -> Result<Rc<TemplateFile>, Error> {
        if let Some(template) = self.templates.borrow().get(path) {
            return Ok(template.clone());
        }
        let template = Rc::new(self.read_template(path)?);
        self.templates
            .borrow_mut()
            .insert(path.clone(), template.clone());
        Ok(template)
    }

    fn read_template(&self, path: &RelPath) -> Result<TemplateFile, Error> {
        let base = self.files.base();
        let file = self.files.shown(path);
        let Some(text) = base.read_text(path)? else {
            return Err(Error::new(
                RecipeErrorKind::NotFound,
                format!("there is no template `{file}`"),
            ));
        };
        let split = frontmatter::split(&text);
        let parsed = match split.matter {
            Some(matter) => frontmatter::parse(&file, matter)?,
            None => Frontmatter::default(),
        };
        let layout = match path.extension() {
            Some("edge") => TemplateLayout::Edge,
            _ => TemplateLayout::Jig,
        };
        let body = format!("{}{}", lines_above(split.body_line), split.body);
        let body = self.evaluator.compile(&file, &body, layout)?;
        let digest = Sha256::digest(text.as_bytes());
        let hash = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let executable = base.is_executable(path)?;
        Ok(TemplateFile {
            file,
            frontmatter: parsed,
            body,
            executable,
            hash,
            text,
        })
    }

    fn sub_candidates(&self, name: &str) -> Vec<RelPath> {
        let dir = &self.recipe.dir;
        let beside = dir.parent().unwrap_or_else(RelPath::root);
        let join = |dir: &RelPath, name: &str| {
            let name = name.strip_prefix("./").unwrap_or(name);
            match name.strip_prefix("../") {
                Some(rest) => dir.parent()?.join(&RelPath::parse(rest).ok()?).ok(),
                None => dir.join(&RelPath::parse(name).ok()?).ok(),
            }
        };
        let names = [
            name.to_owned(),
            format!("{name}.yml"),
            format!("recipes/{name}"),
        ];
        [dir, &beside]
            .into_iter()
            .flat_map(|dir| names.iter().filter_map(move |name| join(dir, name)))
            .filter(|path| path != dir)
            .collect()
    }
}

/// Returns a comment as long as the frontmatter, so that lines of the body keep their numbers.
fn lines_above(body_line: u32) -> String {
    match body_line.checked_sub(3) {
        Some(between) => format!("{{{{--\n{}--}}}}\n", "\n".repeat(between as usize)),
        None => String::new(),
    }
}
