//! A recipe ready to run: its files, its engine, and the templates read so far.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use sha2::{Digest, Sha256};
use template::{Compiled, Layout};
use workspace::{RelPath, Root};

use crate::error::{Error, Kind, Place};
use crate::evaluate::{Evaluator, Settings, Site};
use crate::frontmatter::{self, Frontmatter};
use crate::kits;
use crate::load::{self, Recipe};
use crate::loader::Files;

/// One recipe of a run.
pub(crate) struct Unit {
    pub(crate) recipe: Rc<Recipe>,
    /// The recipe, or one that calls it, comes from outside the project: what it does needs trust.
    pub(crate) is_foreign: bool,
    pub(crate) files: Files,
    pub(crate) evaluator: Evaluator,
    templates: RefCell<HashMap<RelPath, Rc<TemplateFile>>>,
}

/// A template file, taken apart and compiled once.
pub(crate) struct TemplateFile {
    /// How messages name it.
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) frontmatter: Frontmatter,
    pub(crate) body: Compiled,
    pub(crate) executable: bool,
    pub(crate) hash: String,
}

/// The recipes of a run, each loaded once, whatever the number of rounds.
pub(crate) struct Library {
    root: Root,
    settings: Settings,
    /// By file, and by whether a recipe from outside calls it.
    units: RefCell<HashMap<(String, bool), Rc<Unit>>>,
}

impl Library {
    pub(crate) fn new(root: &Root, settings: Settings) -> Result<Self, Error> {
        let root = Root::open(root.path())?;
        Ok(Self {
            root,
            settings,
            units: RefCell::default(),
        })
    }

    /// The unit of a loaded recipe that a person calls.
    pub(crate) fn unit(&self, recipe: &Rc<Recipe>) -> Result<Rc<Unit>, Error> {
        self.unit_for(recipe, recipe.is_outside())
    }

    fn unit_for(&self, recipe: &Rc<Recipe>, is_foreign: bool) -> Result<Rc<Unit>, Error> {
        let key = (recipe.file.clone(), is_foreign);
        if let Some(unit) = self.units.borrow().get(&key) {
            return Ok(unit.clone());
        }
        let files = Files::of(recipe)?;
        let evaluator = Evaluator::new(&files, self.settings);
        let templates = RefCell::default();
        let unit = Rc::new(Unit {
            recipe: recipe.clone(),
            is_foreign,
            files,
            evaluator,
            templates,
        });
        self.units.borrow_mut().insert(key, unit.clone());
        Ok(unit)
    }

    /// The recipe that a step of another recipe names: beside it, in its kit, or by name. Called by
    /// a recipe from outside, it has no more permission than its caller, who chooses its values.
    pub(crate) fn sub(&self, from: &Unit, name: &str) -> Result<Rc<Unit>, Error> {
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

    fn called(&self, from: &Unit, path: &Path) -> Result<Rc<Unit>, Error> {
        let recipe = Rc::new(load::load(&self.root, path)?);
        let is_foreign = from.is_foreign || recipe.is_outside();
        self.unit_for(&recipe, is_foreign)
    }
}

impl Unit {
    /// Where texts of the manifest stand.
    pub(crate) fn site(&self) -> Site<'_> {
        Site {
            file: &self.recipe.file,
            source: &self.recipe.text,
        }
    }

    /// An error at a text of the manifest.
    pub(crate) fn error(&self, kind: Kind, place: Place, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(&self.recipe.file, &self.recipe.text, place)
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
                Kind::NotFound,
                format!("there is no template `{file}`"),
            ));
        };
        let split = frontmatter::split(&text);
        let parsed = match split.matter {
            Some(matter) => frontmatter::parse(&file, matter)?,
            None => Frontmatter::default(),
        };
        let layout = match path.extension() {
            Some("edge") => Layout::Edge,
            _ => Layout::Jig,
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

/// A comment as long as the frontmatter, so that lines of the body keep their numbers.
fn lines_above(body_line: u32) -> String {
    match body_line.checked_sub(3) {
        Some(between) => format!("{{{{--\n{}--}}}}\n", "\n".repeat(between as usize)),
        None => String::new(),
    }
}
