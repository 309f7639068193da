//! Checking a recipe without running it: every template it names, every sub-recipe, every text.

use std::collections::BTreeSet;
use std::rc::Rc;

use workspace::{Kind as PathKind, Root};

use crate::error::{Diagnostic, Error, Kind};
use crate::evaluate::{Settings, is_plain};
use crate::load::Recipe;
use crate::loader::{Meant, is_template};
use crate::manifest::{Step, Text, Tool};
use crate::unit::{Library, Unit};

/// Everything that is wrong with a recipe and can be known without values.
pub fn validate(recipe: &Recipe, root: &Root) -> Result<(), Error> {
    let library = Library::new(root, Settings::default())?;
    let mut check = Check {
        library,
        found: Vec::new(),
        seen: BTreeSet::new(),
    };
    let unit = check.library.unit(&Rc::new(recipe.clone()))?;
    check.unit(&unit);
    match check.found.is_empty() {
        true => Ok(()),
        false => Err(Error::of(Kind::Manifest, check.found)),
    }
}

struct Check {
    library: Library,
    found: Vec<Diagnostic>,
    seen: BTreeSet<String>,
}

impl Check {
    fn unit(&mut self, unit: &Rc<Unit>) {
        if !self.seen.insert(unit.recipe.file.clone()) {
            return;
        }
        self.steps(unit, &unit.recipe.manifest.steps);
        let manifest = &unit.recipe.manifest;
        for text in manifest.on_success.iter().chain(&manifest.on_error) {
            let compiled = unit.evaluator.check_text(unit.site(), text);
            self.note(compiled);
        }
    }

    fn steps(&mut self, unit: &Rc<Unit>, steps: &[Step]) {
        for step in steps {
            if let Some(when) = &step.when {
                self.note(unit.evaluator.check_expression(unit.site(), when));
            }
            match &step.tool {
                Tool::Template(tool) => {
                    for text in &tool.templates {
                        let checked = self.template(unit, text);
                        self.note(checked);
                    }
                }
                Tool::Shell(tool) => {
                    self.note(unit.evaluator.check_text(unit.site(), &tool.command));
                }
                Tool::Recipe(tool) if is_plain(&tool.recipe.text) => {
                    match self.library.sub(unit, tool.recipe.text.trim()) {
                        Ok(sub) => self.unit(&sub),
                        Err(error) => {
                            let (file, text) = (&unit.recipe.file, &unit.recipe.text);
                            self.note(Err(error.at(file, text, tool.recipe.place)));
                        }
                    }
                }
                Tool::Sequence(group) | Tool::Parallel(group) => self.steps(unit, &group.steps),
                _ => {}
            }
        }
    }

    /// Compiles every template that a name without `{{ }}` means.
    fn template(&mut self, unit: &Rc<Unit>, text: &Text) -> Result<(), Error> {
        if !is_plain(&text.text) {
            return unit.evaluator.check_text(unit.site(), text);
        }
        let paths = match unit.files.find(&text.text)? {
            Some(Meant::File(path)) => vec![path],
            Some(Meant::Dir(dir)) => {
                let entries = unit.files.base().walk(&dir)?.into_iter();
                let files = entries.filter(|entry| entry.kind == PathKind::File);
                let files = files.filter(|entry| is_template(entry.path.as_str()));
                files.map(|entry| entry.path).collect()
            }
            None => unit.files.glob(&text.text)?,
        };
        if paths.is_empty() {
            let message = format!("there is no template `{}`", text.text);
            let error = unit.error(Kind::NotFound, text.place, message);
            return Err(error.hint(unit.files.advice(&text.text)));
        }
        for path in paths {
            self.note(unit.template(&path).map(drop));
        }
        Ok(())
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.found.extend(error.diagnostics().iter().cloned());
        }
    }
}
